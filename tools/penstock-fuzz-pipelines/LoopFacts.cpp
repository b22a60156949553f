//===- LoopFacts.cpp - Facts of a loop under any schedule -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the order oracle that needs no schedule: which buffers may have versions,
// what waits name, what a statement shows to others, and whether a loop is well formed.
//
//===----------------------------------------------------------------------===//
#include "Cells.h"
#include "OrderOracle.h"

#include <algorithm>
#include <bitset>

using namespace penstock::fuzz;

using Kind = LoopStatement::Kind;

namespace {

/// Cells of a tile in an unbounded row-major numbering. Relative to an origin some
/// have negative numbers.
using CellSet = std::bitset<1024>;
constexpr int64_t firstCell = -128;

bool coversExtents(const LoopBuffer &buffer, const Box &box) {
  if (box.whole())
    return true;
  if (box.opaque())
    return false;
  for (size_t d = 0; d < box.spans.size(); ++d)
    if (box.spans[d].scale != 0 || box.spans[d].offset != 0 ||
        box.spans[d].length != buffer.extents[d])
      return false;
  return true;
}

CellSet cellsOf(const LoopBuffer &buffer, const Box &box, int64_t k) {
  CellSet cells;
  forEachCell(buffer, box, k, World(), [&](int64_t cell) {
    if (cell >= firstCell && cell < int64_t(cells.size()) + firstCell)
      cells.set(size_t(cell - firstCell));
  });
  return cells;
}

/// Is everything that iteration \p k reads of a buffer written before, in the
/// same iteration, and everything that is read afterwards written at all?
bool ownWrites(const Loop &loop, int b, const World &world, int64_t k) {
  const LoopBuffer &buffer = loop.buffers[size_t(b)];
  CellSet written;
  for (const LoopStatement &statement : loop.statements) {
    if (!world.holds(statement.guard, 0))
      continue;
    for (const Action &action : statement.actions) {
      if (!world.holds(action.when, 0))
        continue;
      for (const Touch &touch : action.reads) {
        if (touch.buffer != b)
          continue;
        // Of an offset that nobody knows, any cell may be read.
        if (touch.box.opaque() && !buffer.absolute)
          return false;
        Box box = touch.box.opaque() ? Box() : touch.box;
        if ((cellsOf(buffer, box, k) & ~written).any())
          return false;
      }
      for (const Touch &touch : action.writes) {
        if (touch.buffer != b)
          continue;
        if (coversExtents(buffer, touch.box))
          written.set();
        else if (!touch.box.opaque())
          written |= cellsOf(buffer, touch.box, k);
      }
    }
  }
  return !buffer.readAfter || (cellsOf(buffer, Box(), k) & ~written).none();
}

bool sameTerms(const std::vector<Term> &a, const std::vector<Term> &b) {
  return holdsAll(a, b) && holdsAll(b, a);
}

} // namespace

bool penstock::fuzz::holdsAll(const std::vector<Term> &strong, const std::vector<Term> &weak) {
  return std::all_of(weak.begin(), weak.end(), [&](const Term &term) {
    return std::find(strong.begin(), strong.end(), term) != strong.end();
  });
}

bool penstock::fuzz::mayHaveVersions(const Loop &loop, int b) {
  const LoopBuffer &buffer = loop.buffers[size_t(b)];
  if (buffer.kind != LoopBuffer::Kind::Tile)
    return false;
  bool moves = false;
  for (const LoopStatement &statement : loop.statements)
    for (const Action &action : statement.actions)
      for (const auto *side : {&action.reads, &action.writes})
        for (const Touch &touch : *side)
          for (const Span &span : touch.box.spans)
            moves |= touch.buffer == b && span.scale != 0;
  for (unsigned choice = 0; choice < 1u << loop.conditions; ++choice) {
    World world;
    for (int c = 0; c < loop.conditions; ++c)
      world.conditions.push_back({(choice >> c & 1) != 0});
    for (int64_t k = 0; k < (moves ? 24 : 1); ++k)
      if (!ownWrites(loop, b, world, k))
        return false;
  }
  return true;
}

std::vector<Naming> penstock::fuzz::namedBy(const Loop &loop, int wait) {
  const LoopStatement &w = loop.statements[size_t(wait)];
  std::vector<Naming> names = w.names;
  if (w.count < 0)
    return names;
  auto isCommit = [&](int i) {
    const LoopStatement &s = loop.statements[size_t(i)];
    return s.kind == LoopStatement::Kind::Commit && s.queue == w.queue;
  };
  for (int i = 0; i < loop.size(); ++i) {
    int c = commitOf(loop, i);
    if (c < 0 || !isCommit(c))
      continue;
    for (int64_t a = c < wait ? 0 : 1;; ++a) {
      // Commits that stand between iteration -a of c and iteration 0 of the wait.
      int64_t between = 0;
      for (int64_t k = -a; k <= 0; ++k)
        for (int other = 0; other < loop.size(); ++other)
          between += isCommit(other) && (k > -a || other > c) && (k < 0 || other < wait);
      if (between >= w.count) {
        names.push_back({i, a, true, !w.countReadsOnly});
        break;
      }
    }
  }
  return names;
}

int penstock::fuzz::commitOf(const Loop &loop, int statement) {
  const LoopStatement &s = loop.statements[size_t(statement)];
  if (!s.async || s.queue < 0)
    return -1;
  for (int c = statement + 1; c < loop.size(); ++c)
    if (loop.statements[size_t(c)].kind == Kind::Commit &&
        loop.statements[size_t(c)].queue == s.queue)
      return c;
  return -1;
}

std::vector<Touch> penstock::fuzz::visibleWrites(const Loop &loop, int statement) {
  std::vector<Touch> all;
  for (const Action &action : loop.statements[size_t(statement)].actions)
    all.insert(all.end(), action.writes.begin(), action.writes.end());
  return all;
}

/// Do two boxes keep their distance while the loop runs?
static bool moveAlike(const Box &a, const Box &b) {
  auto scaleOf = [](const Box &box, size_t d) { return box.whole() ? 0 : box.spans[d].scale; };
  if (a.opaque() || b.opaque())
    return false;
  for (size_t d = 0; d < std::max(a.spans.size(), b.spans.size()); ++d)
    if (scaleOf(a, d) != scaleOf(b, d))
      return false;
  return true;
}

/// A part of a box: one of its cells in iteration 0, and those that follow it.
static Touch cellOf(const Touch &touch, const LoopBuffer &buffer, int64_t cell) {
  Touch one = touch;
  if (one.box.whole())
    one.box.spans.resize(buffer.extents.size());
  for (Span &span : one.box.spans)
    span.length = 1;
  one.box.spans[0].offset = cell;
  if (one.box.spans.size() == 2) {
    int64_t columns = buffer.extents[1], column = (cell % columns + columns) % columns;
    one.box.spans[0].offset = (cell - column) / columns;
    one.box.spans[1].offset = column;
  }
  return one;
}

std::vector<Touch> penstock::fuzz::visibleReads(const Loop &loop, int statement) {
  std::vector<Touch> all;
  const auto &actions = loop.statements[size_t(statement)].actions;
  for (size_t a = 0; a < actions.size(); ++a)
    for (const Touch &touch : actions[a].reads) {
      const LoopBuffer &buffer = loop.buffers[size_t(touch.buffer)];
      // Of an offset that nobody knows, any cell may be read.
      if (touch.box.opaque() && !buffer.absolute) {
        all.push_back(touch);
        continue;
      }
      Box box = touch.box.opaque() ? Box() : touch.box;
      std::set<int64_t> cells;
      forEachCell(buffer, box, 0, World(), [&](int64_t cell) { cells.insert(cell); });
      size_t before = cells.size();
      for (size_t earlier = 0; earlier < a; ++earlier)
        for (const Touch &write : actions[earlier].writes) {
          if (write.buffer != touch.buffer || !sameTerms(actions[earlier].when, actions[a].when))
            continue;
          if (coversExtents(buffer, write.box))
            cells.clear();
          else if (moveAlike(write.box, box))
            forEachCell(buffer, write.box, 0, World(), [&](int64_t cell) { cells.erase(cell); });
        }
      if (cells.empty())
        continue;
      if (cells.size() == before || touch.box.opaque()) {
        all.push_back(touch);
        continue;
      }
      for (int64_t cell : cells)
        all.push_back(cellOf(touch, buffer, cell));
    }
  return all;
}

std::set<unsigned> penstock::fuzz::checkForm(const Loop &loop) {
  std::set<unsigned> codes;
  auto at = [&](int i) -> const LoopStatement & { return loop.statements[size_t(i)]; };
  for (int i = 0; i < loop.size(); ++i) {
    const LoopStatement &s = at(i);
    if (s.kind == Kind::Commit && !s.guard.empty())
      codes.insert(1221);
    if (s.async && s.queue >= 0 && commitOf(loop, i) < 0 &&
        std::any_of(loop.statements.begin(), loop.statements.end(), [&](const LoopStatement &c) {
          return c.kind == Kind::Commit && c.queue == s.queue;
        }))
      codes.insert(1223);
    for (int user : s.users)
      if (user < i)
        codes.insert(1226);
    if (s.kind != Kind::Wait)
      continue;
    bool counts = s.count >= 0 && std::any_of(loop.statements.begin(), loop.statements.end(),
                                              [&](const LoopStatement &c) {
                                                return c.kind == Kind::Commit && c.queue == s.queue;
                                              });
    if (!counts && s.names.empty() && !s.before)
      codes.insert(1224);
    if (s.before && !s.guard.empty())
      codes.insert(1222);
    for (const Naming &name : namedBy(loop, i))
      if (!s.guard.empty() && (name.distance != 0 || !holdsAll(at(name.statement).guard, s.guard)))
        codes.insert(1222);
    for (const Naming &name : s.names)
      if (name.distance == 0 && name.statement > i)
        codes.insert(1225);
  }
  return codes;
}
