//===- WarpRows.h - Rows of a timeline for warps ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps that do the same share a row, which is named by their role: it shows the
// source lines that they execute, and hatched where all of them wait.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_RUN_WARPROWS_H
#define PENSTOCK_TESTING_RUN_WARPROWS_H

#include "Draw/Timeline.h"
#include "Emulator/Launch.h"

#include <string>
#include <vector>

namespace penstock {

/// The kind of operation that an event of a run shows.
enum class Act : uint8_t { Load, Mma, Store, LaunchControl, Other };
Act actOf(const emu::TraceEvent &event);

/// Adds the rows of the warps of `block`; `note` names the block, or is empty.
void addWarpRows(draw::Timeline &timeline, const std::vector<emu::TraceEvent> &events,
                 uint32_t block, const std::string &note);

} // namespace penstock

#endif // PENSTOCK_TESTING_RUN_WARPROWS_H
