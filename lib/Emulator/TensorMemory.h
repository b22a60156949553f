//===- TensorMemory.h - Access to tensor memory -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSORMEMORY_H
#define PENSTOCK_EMULATOR_TENSORMEMORY_H

#include "Emulator/HappensBefore.h"

namespace penstock::emu {

inline constexpr unsigned tensorLanes = 128, tensorColumns = 512;

/// The tensor memory of a block, made on first use.
TensorMemory &tensorMemory(Grid &grid, Cta &cta);

/// Whether [column, column + count) is allocated; reports if not.
bool columnsAllocated(Exec &ex, Cta &cta, unsigned column, unsigned count);

/// The pipe of a thread's tcgen05 operations and commits.
Cta::Pipe &tensorPipe(Exec &ex, unsigned lane);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSORMEMORY_H
