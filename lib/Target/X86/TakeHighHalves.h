//===- TakeHighHalves.h - Rounding to bf16 in fewer shuffles ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_TAKEHIGHHALVES_H
#define PENSTOCK_TARGET_X86_TAKEHIGHHALVES_H

namespace llvm {
class Module;
}

namespace penstock {

/// Replaces the upper halves of 32-bit lanes, shifted and truncated, by a shuffle of 16-bit
/// lanes. All conversions to bf16 end with them. On AVX-512 two vectors take one instruction
/// (vpermt2w) instead of two shifts, two truncations of two each, and an insertion.
void takeHighHalves(llvm::Module &module);

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_TAKEHIGHHALVES_H
