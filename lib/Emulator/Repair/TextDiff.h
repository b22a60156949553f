//===- TextDiff.h - Changes of a text, line by line -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_TEXTDIFF_H
#define PENSTOCK_EMULATOR_REPAIR_TEXTDIFF_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::emu {

/// Lines that replace others.
struct LineChange {
  size_t first = 0;   ///< the line before which the change begins, from 0
  size_t removed = 0; ///< lines
  std::vector<std::string> added;
};

std::vector<std::string> linesOf(std::string_view text);

/// The smallest set of changes from \p before to \p after, in order.
std::vector<LineChange> changesBetween(std::string_view before, std::string_view after);

/// \p text with these changes of its lines.
std::string applyChanges(std::string_view text, const std::vector<LineChange> &changes);

/// A unified diff with three lines of context. \p headingOf names the point of a change after its
/// `@@`, by the line of \p before, from 1.
std::string unifiedDiff(std::string_view before, const std::vector<LineChange> &changes,
                        const std::string &name,
                        const std::function<std::string(uint32_t)> &headingOf);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_TEXTDIFF_H
