//===- PlanOracle.cpp - The plan that num_stages stands for ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlanOracle.h"
#include "Cells.h"

#include <algorithm>
#include <set>

using namespace penstock::fuzz;

namespace {

using Kind = LoopStatement::Kind;

bool touches(const std::vector<Touch> &list, int buffer) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Touch &touch) { return touch.buffer == buffer; });
}

/// Does \p read touch a cell of \p filled in the same iteration, in any one?
bool meets(const Loop &loop, const Touch &filled, const Touch &read) {
  const LoopBuffer &buffer = loop.buffers[size_t(filled.buffer)];
  for (int64_t k = 0; k < maxTrips; ++k) {
    std::set<int64_t> cells;
    forEachCell(buffer, filled.box, k, World(), [&](int64_t cell) { cells.insert(cell); });
    bool met = false;
    forEachCell(buffer, read.box, k, World(), [&](int64_t cell) { met |= cells.count(cell) != 0; });
    if (met)
      return true;
  }
  return false;
}

/// The last statement that reads cells that a copy fills in its iteration, if
/// the copy alone fills the tile, nothing of it is read before, and the positions
/// of all cells are known. A copy may be several, as a group or a loop.
std::optional<int> lastUse(const Loop &loop, int copy) {
  std::optional<int> last;
  for (const Action &part : loop.statements[size_t(copy)].actions) {
    const Touch &filled = part.writes[0];
    for (int i = 0; i < loop.size(); ++i)
      for (const Action &action : loop.statements[size_t(i)].actions) {
        if (i != copy && touches(action.writes, filled.buffer))
          return std::nullopt;
        for (const Touch &read : action.reads) {
          if (read.buffer != filled.buffer)
            continue;
          if (i <= copy || read.box.opaque() || filled.box.opaque())
            return std::nullopt;
          if (meets(loop, filled, read))
            last = std::max(last.value_or(i), i);
        }
      }
  }
  return last;
}

} // namespace

std::optional<Plan> penstock::fuzz::planByRule(const Loop &loop, int64_t numStages) {
  // Which copies follow each consumer.
  std::vector<std::vector<int>> after(loop.statements.size());
  size_t copies = 0;
  for (int i = 0; i < loop.size(); ++i) {
    const LoopStatement &s = loop.statements[size_t(i)];
    if (!s.guard.empty() || s.kind == Kind::Wait || s.kind == Kind::Scalar)
      return std::nullopt;
    if (s.kind != Kind::Copy)
      continue;
    std::optional<int> last = lastUse(loop, i);
    if (!last || loop.statements[size_t(*last)].kind == Kind::Copy)
      return std::nullopt;
    after[size_t(*last)].push_back(i);
    ++copies;
  }
  if (copies == 0 || copies == loop.statements.size())
    return std::nullopt;
  std::vector<int> sequence;
  for (int i = 0; i < loop.size(); ++i)
    if (loop.statements[size_t(i)].kind != Kind::Copy) {
      sequence.push_back(i);
      sequence.insert(sequence.end(), after[size_t(i)].begin(), after[size_t(i)].end());
    }
  bool copiesLast = std::all_of(sequence.end() - int64_t(copies), sequence.end(), [&](int i) {
    return loop.statements[size_t(i)].kind == Kind::Copy;
  });
  int64_t consumers = numStages;
  if (copiesLast && numStages >= 2) {
    std::rotate(sequence.begin(), sequence.end() - int64_t(copies), sequence.end());
    consumers = numStages - 1;
  }
  Plan plan;
  plan.stage.resize(loop.statements.size());
  plan.order.resize(loop.statements.size());
  for (size_t position = 0; position < sequence.size(); ++position) {
    size_t i = size_t(sequence[position]);
    plan.order[i] = int64_t(position);
    plan.stage[i] = loop.statements[i].kind == Kind::Copy ? 0 : consumers;
  }
  return plan;
}
