//===- Types.cpp - Scalar types and state spaces of PTX -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/Types.h"

namespace penstock::ptx {
namespace {

struct TypeRow {
  const char *name;
  Type type;
  unsigned bits;
};

constexpr TypeRow typeRows[] = {
    {"pred", Type::Pred, 1},      {"b8", Type::B8, 8},          {"b16", Type::B16, 16},
    {"b32", Type::B32, 32},       {"b64", Type::B64, 64},       {"b128", Type::B128, 128},
    {"u8", Type::U8, 8},          {"u16", Type::U16, 16},       {"u32", Type::U32, 32},
    {"u64", Type::U64, 64},       {"s8", Type::S8, 8},          {"s16", Type::S16, 16},
    {"s32", Type::S32, 32},       {"s64", Type::S64, 64},       {"f16", Type::F16, 16},
    {"f16x2", Type::F16x2, 32},   {"bf16", Type::BF16, 16},     {"bf16x2", Type::BF16x2, 32},
    {"tf32", Type::TF32, 32},     {"f32", Type::F32, 32},       {"f32x2", Type::F32x2, 64},
    {"f64", Type::F64, 64},       {"e4m3", Type::E4M3, 8},      {"e5m2", Type::E5M2, 8},
    {"e4m3x2", Type::E4M3x2, 16}, {"e5m2x2", Type::E5M2x2, 16}, {"e2m1x2", Type::E2M1x2, 8},
    {"e2m3x2", Type::E2M3x2, 16}, {"e3m2x2", Type::E3M2x2, 16}, {"ue8m0x2", Type::UE8M0x2, 16},
    {"e2m3", Type::E2M3, 6},      {"e3m2", Type::E3M2, 6},      {"e2m1", Type::E2M1, 4},
    {"ue8m0", Type::UE8M0, 8},    {"ue4m3", Type::UE4M3, 8},
};

} // namespace

Type typeFromName(std::string_view name) {
  if (!name.empty() && name[0] == '.')
    name.remove_prefix(1);
  for (const TypeRow &row : typeRows)
    if (name == row.name)
      return row.type;
  return Type::None;
}

const char *typeName(Type type) {
  for (const TypeRow &row : typeRows)
    if (row.type == type)
      return row.name;
  return "none";
}

unsigned typeBits(Type type) {
  for (const TypeRow &row : typeRows)
    if (row.type == type)
      return row.bits;
  return 0;
}

const char *spaceName(Space space) {
  switch (space) {
  case Space::Generic:
    return "generic";
  case Space::Reg:
    return "register";
  case Space::Const:
    return "constant";
  case Space::Global:
    return "global";
  case Space::Local:
    return "local";
  case Space::Param:
    return "parameter";
  case Space::Shared:
    return "shared";
  }
  return "generic";
}

} // namespace penstock::ptx
