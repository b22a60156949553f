//===- Program.h - Random tile programs -------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is decided by its seed: first what it works on and the tree of its
// statements, then, when it is recorded, what each statement says. Each
// statement has a seed of its own, so that one can be left out without changing
// the others much.
//
// Two targets may differ in nothing but the order of a floating-point sum and
// the last bits of mathematical functions. Tiles and tensors therefore have a
// class that says what is stored in them:
//
//   Wild     anything, NaN and infinities included; exact: every operation that
//            computes it rounds each element by itself
//   Small    multiples of 1/4 up to 8 (integers up to 8 for the f8 types), so
//            that sums over them are exact in any order
//   Sum      sums of products of small numbers: exact, only accumulated to
//   Counter  updated by one kind of atomic only, in any order
//   Rounded  computed with exp, sin, ..: compared with a tolerance, and used by
//            nothing but other values of this class
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PROGRAM_H
#define PENSTOCK_FUZZ_PROGRAM_H

#include "Random.h"
#include "penstock/compile.h"

#include <set>

namespace penstock::fuzz {

enum class Class : uint8_t { Wild, Small, Sum, Counter, Rounded };

struct TileDecl {
  Element element;
  detail::Space space;
  std::vector<int64_t> shape; ///< empty: a mutable scalar
  Class holds;
};

struct TensorDecl {
  Element element;
  Access access;
  std::vector<int64_t> sizes;
  int64_t padding = 0; ///< elements between rows
  Class holds;
  /// Several blocks write only their own box of this shape.
  std::vector<int64_t> box = {};
  detail::Kind counter = detail::Kind::Add;
};

struct ScalarDecl {
  Element element;
  int64_t value;
};

struct Statement {
  enum Kind : uint8_t {
    Fill,
    CopyIn,
    CopyOut,
    CopyTile,
    Gemm,
    Reduce,
    Layouts, ///< tiles that need several layouts in registers
    Map,
    Store,
    Scalar,
    SetVar,
    Atomic,
    Print,
    Assert,
    Loop,
    Pipeline,
    Condition,
    Group,
    Parallel,
    AsyncCopy,
    AsyncGemm,
    Ring
  };
  Kind kind;
  unsigned id; ///< also its line in messages
  uint64_t seed;
  std::vector<Statement> body, otherwise;
};

struct Program {
  uint64_t seed;
  std::vector<TileDecl> tiles;
  std::vector<TensorDecl> tensors;
  std::vector<ScalarDecl> scalars;
  std::vector<int64_t> grid; ///< empty: not stated
  int64_t swizzle = 0;
  std::vector<Statement> body;
  unsigned statements = 0;
  int layoutTensor = -1; ///< the output of Statement::Layouts; negative: there are none

  bool manyBlocks() const;
  bool asynchronous(const std::set<unsigned> &dropped) const;
};

Program makeProgram(uint64_t seed);

/// The program as a kernel, without the statements in \p dropped.
detail::KernelSource sourceOf(const Program &program, const std::set<unsigned> &dropped);

bool isFloat(Element element);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PROGRAM_H
