//===- Types.h - Scalar types and state spaces of PTX -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_TYPES_H
#define PENSTOCK_PTX_TYPES_H

#include <cstdint>
#include <string_view>

namespace penstock::ptx {

/// Types that a register or a variable may have, and those that only occur as
/// modifiers of instructions (the packed and the narrow floating formats).
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  E2M1x2,
  E2M3x2,
  E3M2x2,
  UE8M0x2,
  E2M3,
  E3M2,
  E2M1,
  UE8M0,
  UE4M3,
};

enum class Space : uint8_t { Generic, Reg, Const, Global, Local, Param, Shared };

/// The type named \p name, with or without its leading dot; None if there is
/// no such type.
Type typeFromName(std::string_view name);
const char *typeName(Type type);

/// Bits of one value; 1 for predicates, 0 for None.
unsigned typeBits(Type type);

inline bool isFloat(Type t) { return t >= Type::F16 && t <= Type::F64; }
inline bool isSigned(Type t) { return t >= Type::S8 && t <= Type::S64; }

const char *spaceName(Space space);

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_TYPES_H
