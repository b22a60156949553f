//===- record.h - The seam between the headers and the recorder -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The public classes are thin and typed. Each of their calls ends in one of these
// functions, which do not depend on C++ types and are the only ones that the shared
// library exports for recording. Errors are not thrown: they are collected and reported
// after recording, and an invalid call returns a value that suppresses follow-up errors.
// Only a call on a block whose recording has finished throws.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RECORD_H
#define PENSTOCK_RECORD_H

#include "penstock/elements.h"
#include "penstock/export.h"
#include "penstock/location.h"

#include "penstock/list.h"
#include <initializer_list>
#include <string_view>

namespace penstock::detail {

/// Value of the kernel being recorded: a scalar, an expression over a tile, a tile or a
/// tensor. Empty if id is 0.
struct Ref {
  uint32_t recorder = 0;
  uint32_t id = 0;
};

enum class Op : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  CeilDiv,
  Min,
  Max,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Neg,
  Not,
  Abs,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Sin,
  Cos,
  Floor,
  Ceil,
  Round
};
enum class Space : uint8_t { Shared, Local };
enum class Kind : uint8_t { Sum, Prod, Max, Min, Add, Exchange };

using Refs = List<const Ref>;
using Ints = List<const int64_t>;

// Scalars and expressions.
PENSTOCK_EXPORT Ref literal(Element, int64_t, Loc);
PENSTOCK_EXPORT Ref literal(Element, double, Loc);
PENSTOCK_EXPORT Ref unary(Op, Ref, Loc);
PENSTOCK_EXPORT Ref binary(Op, bool isUnsigned, Ref, Ref, Loc);
PENSTOCK_EXPORT Ref select(Ref condition, Ref then, Ref otherwise, Loc);
/// \p isUnsigned: the source or target integer is unsigned.
PENSTOCK_EXPORT Ref convert(Ref, Element to, bool isUnsigned, Loc);
PENSTOCK_EXPORT Ref bind(Ref, std::string_view name, Loc);
/// The elements of a tile in an expression; dims[d] is the target's dimension
/// along which the tile's dimension d runs, or empty for the same.
PENSTOCK_EXPORT Ref elements(Ref tile, Ints dims, Loc);
PENSTOCK_EXPORT Ref elementIndex(int dim, Loc);
PENSTOCK_EXPORT void divmod(Ref dividend, Ref divisor, Ref result[2], Loc);

// Tiles and tensors.
PENSTOCK_EXPORT Ref allocate(Space, Element, Ints shape, int versions, Loc);
PENSTOCK_EXPORT void name(Ref tile, std::string_view, Loc);
PENSTOCK_EXPORT int64_t extent(Ref tile, int dim, Loc);
PENSTOCK_EXPORT Ref size(Ref tensor, int dim, Loc);
PENSTOCK_EXPORT Ref slice(Ref tile, Refs offsets, Ints sizes, bool dropFirst, Loc);
PENSTOCK_EXPORT Ref transpose(Ref tile, Loc);
PENSTOCK_EXPORT Ref asMatrix(Ref tile, Loc);
PENSTOCK_EXPORT Ref load(Ref memory, Refs indices, Loc);
PENSTOCK_EXPORT void store(Ref value, Ref memory, Refs indices, Loc);
PENSTOCK_EXPORT Ref atomic(Kind, Ref value, Ref memory, Refs indices, Loc);

// Operations on whole tiles.
struct CopyArguments {
  Ref source, target, fill;
  Refs sourceOffsets = {}, targetOffsets = {};
  Ints dims = {};
  std::string_view async = {};
};
PENSTOCK_EXPORT void copy(const CopyArguments &, Loc);
/// Reports a copy of packed elements with a fill value.
PENSTOCK_EXPORT void refuseFill(Loc);
PENSTOCK_EXPORT void fill(Ref tile, Ref value, Loc);
struct GemmArguments {
  Ref a, b, acc;
  Ref scaleA = {}, scaleB = {}; ///< empty: none
  bool accumulate = true, tf32 = false, unsignedA = false;
  Element elementA = Element::f32, elementB = Element::f32; ///< tell packed elements from bytes
  std::string_view async = {};
};
PENSTOCK_EXPORT void gemm(const GemmArguments &, Loc);
PENSTOCK_EXPORT void reduce(Kind, Ref source, int dim, Ref target, bool accumulate, Loc);
/// \p element: a packed one.
PENSTOCK_EXPORT void unpack(Ref packed, Element element, Ref values, Loc);
PENSTOCK_EXPORT void assign(Ref target, Ref expression, Loc);
PENSTOCK_EXPORT void wait(List<const std::string_view> names, int lag, Loc);
PENSTOCK_EXPORT void waitForPrevious(Loc);
PENSTOCK_EXPORT void launchDependents(Loc);
PENSTOCK_EXPORT void print(std::string_view text, Refs operands, Loc);
PENSTOCK_EXPORT void require(Ref condition, std::string_view message, Loc);

// The grid and scopes. An open scope is named by a token that closes it.
/// Group of a grid without swizzle.
inline constexpr int64_t noSwizzle = INT64_MIN;
PENSTOCK_EXPORT void grid(Refs extents, int64_t swizzle, List<Ref>, Loc);
PENSTOCK_EXPORT void prefer(Ints cluster, bool pair, bool launchControl, Loc);
struct LoopArguments {
  Ref begin, end, step;
  int unroll = -1; ///< -1: not stated
  bool pipelined = false;
  int numStages = 0;
  int solverSeconds = 0;      ///< time limit of the exact solver; 0: not used
  std::string_view form = {}; ///< stated form on GPUs; empty: not stated
  List<const int> stage = {}, order = {};
  List<const int> asyncStages = {}, asyncProducers = {}, asyncProducerGroups = {};
};
struct Scope {
  uint32_t recorder = 0;
  uint32_t token = 0;
};
PENSTOCK_EXPORT Scope openLoop(const LoopArguments &, Ref &index, Loc);
PENSTOCK_EXPORT Scope openCondition(Ref condition, bool hasElse, Loc);
PENSTOCK_EXPORT void openElse(Scope);
PENSTOCK_EXPORT Scope openStatement(std::string_view name, std::string_view role, Loc);
PENSTOCK_EXPORT Scope openParallel(Ints extents, List<Ref> indices, Loc);
PENSTOCK_EXPORT void close(Scope);
/// Reports a scope that was not closed.
PENSTOCK_EXPORT void abandon(Scope);

} // namespace penstock::detail

#endif // PENSTOCK_RECORD_H
