//===- AtomicOps.h - Read-modify-write on one value -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by atom, red and the reducing bulk copies.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_ATOMICOPS_H
#define PENSTOCK_EMULATOR_ATOMICOPS_H

#include "PTX/Module.h"

namespace penstock::emu {

enum class AtomicOp : uint8_t { And, Or, Xor, Exchange, Min, Max, Inc, Dec, Add, CompareSwap };

bool atomicOpFromModifiers(const ptx::Instruction &inst, AtomicOp &op);

/// The new value; \p c is only used by CompareSwap.
uint64_t applyAtomic(AtomicOp op, ptx::Type type, uint64_t old, uint64_t b, uint64_t c);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_ATOMICOPS_H
