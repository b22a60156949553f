//===- BarrierRules.h - Named and cluster barriers --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_BARRIERRULES_H
#define PENSTOCK_EMULATOR_RACES_BARRIERRULES_H

#include "Emulator/Machine.h"

namespace penstock::emu {

/// Completes rounds that only waited for threads which have now exited: \p lanes of ex's warp.
void barriersAfterExit(Exec &ex, uint32_t lanes);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_BARRIERRULES_H
