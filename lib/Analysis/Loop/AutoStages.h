//===- AutoStages.h - The depth of `num_stages = Auto` ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_AUTOSTAGES_H
#define PENSTOCK_ANALYSIS_LOOP_AUTOSTAGES_H

#include "Dialect/Tile/TileDialect.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock {

/// Deepest schedule that `auto` tries.
inline constexpr int64_t mostAutoStages = 8;

/// Largest depth that a loop with this schedule can get.
inline int64_t mostStages(tile::ScheduleAttr schedule) {
  return schedule.isAuto() ? mostAutoStages : schedule.getNumStages();
}

/// Replaces `num_stages = auto` of every loop by the largest depth, up to mostAutoStages, at which
/// copies run that far ahead and all versions fit on \p architecture. Loops with a stated depth
/// reserve their memory first. Tiles of loops that run one after the other count as if they did
/// not share memory. Without an architecture, memory is unlimited.
void chooseStages(mlir::func::FuncOp kernel, const hw::Architecture *architecture);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_AUTOSTAGES_H
