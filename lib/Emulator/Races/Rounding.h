//===- Rounding.h - Stores of values that differ by rounding ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All lanes of a warp add their values by shuffles, and all store the sum. LLVM
// contracts the first step, `x * x + shfl(x * x)`, to an fma, which rounds its
// lane's square and not that of the other lane: sums differ in the last bits.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_ROUNDING_H
#define PENSTOCK_EMULATOR_RACES_ROUNDING_H

#include <cstdint>

namespace penstock::emu {

struct Program;

/// Returns whether the bytes of \p mask, from \p at on, are whole words of f32 that are equal in
/// both or differ by at most 32 units in the last place. Numbers below 2^-100 must be equal.
bool differByRounding(const uint8_t *a, const uint8_t *b, uint64_t at, unsigned mask);

/// Returns whether all that a store writes are results of f32 arithmetic.
bool storesArithmetic(const Program &program, uint32_t pc);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_ROUNDING_H
