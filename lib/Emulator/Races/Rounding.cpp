//===- Rounding.cpp - Stores of values that differ by rounding ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Rounding.h"
#include "Emulator/Decode/Program.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace penstock::emu {

bool differByRounding(const uint8_t *a, const uint8_t *b, uint64_t at, unsigned mask) {
  constexpr int64_t most = 32;
  for (unsigned word = 0; word < 32; word += 4) {
    unsigned bytes = mask >> word & 15;
    if (!bytes)
      continue;
    if (bytes != 15)
      return false;
    uint32_t x, y;
    memcpy(&x, a + at + word, 4);
    memcpy(&y, b + at + word, 4);
    if (x == y)
      continue;
    auto exponent = [](uint32_t bits) { return int(bits >> 23 & 255) - 127; };
    if ((x ^ y) >> 31 || std::min(exponent(x), exponent(y)) < -100 ||
        std::max(exponent(x), exponent(y)) == 128 || std::abs(int64_t(x) - int64_t(y)) > most)
      return false;
  }
  return true;
}

bool storesArithmetic(const Program &program, uint32_t pc) {
  using Kind = ptx::Operand::Kind;
  const ptx::Instruction *store = program.code[pc].source;
  if (!store || store->form->name != "st" || ptx::typeBits(store->type()) != 32)
    return false;
  const auto &body = program.kernel->body;
  auto isResult = [&](const ptx::Operand &value) {
    return value.kind == Kind::Register &&
           std::any_of(body.begin(), body.end(), [&](const auto &inst) {
             return !inst->operands.empty() && inst->operands[0].kind == Kind::Register &&
                    inst->operands[0].index == value.index &&
                    inst->form->family == "Floating point" && inst->type() == ptx::Type::F32;
           });
  };
  const ptx::Operand &values = store->operands[1];
  bool inKernel =
      std::any_of(body.begin(), body.end(), [&](const auto &inst) { return inst.get() == store; });
  return inKernel && (values.kind == Kind::Vector
                          ? std::all_of(values.elements.begin(), values.elements.end(), isResult)
                          : isResult(values));
}

} // namespace penstock::emu
