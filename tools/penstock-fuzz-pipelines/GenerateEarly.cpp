//===- GenerateEarly.cpp - Copies that are issued before the loop ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first tile of a pipeline is often loaded before the loop, under the name of the
// copies inside of it or another one. The wait that ends it may have any position in the
// body, as long as nothing meets the copy earlier.
//
//===----------------------------------------------------------------------===//
#include "Generate.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

using Form = ProgramStatement::Form;

std::vector<int> rowsOf(const Program &program, LoopBuffer::Kind kind) {
  std::vector<int> found;
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (const ProgramBuffer &buffer = program.buffers[b];
        buffer.extents.size() == 1 && !buffer.narrow && buffer.kind == kind)
      found.push_back(int(b));
  return found;
}

/// Tiles that statements behind \p wait touch come first: only they can be disturbed.
void preferUsedBehind(const Program &program, size_t wait, std::vector<int> &tiles) {
  std::partition(tiles.begin(), tiles.end(), [&](int tile) {
    bool used = false;
    for (size_t i = wait + 1; i < program.statements.size(); ++i)
      forEachTouchIn(program.statements[i],
                     [&](const Touch &touch) { used |= touch.buffer == tile; });
    return used;
  });
}

/// Issues a copy that \p wait ends, if there is one that nothing meets earlier.
void addEarlyCopy(Program &program, size_t wait, int name, Random &random) {
  std::vector<int> tiles = rowsOf(program, LoopBuffer::Kind::Tile),
                   tensors = rowsOf(program, LoopBuffer::Kind::Tensor);
  if (tensors.empty())
    return;
  preferUsedBehind(program, wait, tiles);
  for (int tile : tiles) {
    EarlyCopy early;
    early.name = name;
    early.copy.kind = Operation::Kind::Copy;
    early.copy.target = {tile, {}};
    early.copy.sources = {{random.of(tensors),
                           {{Span{Span::Motion::Affine, 0, random.of({0, 8, 24}),
                                  program.buffers[size_t(tile)].extents[0], 1}}}}};
    program.early.push_back(early);
    if (earlyIsSafe(program, early))
      return;
    program.early.pop_back();
  }
}

} // namespace

void penstock::fuzz::addEarlyCopies(Program &program, Random &random) {
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const ProgramStatement &wait = program.statements[i];
    if (wait.form != Form::Wait)
      continue;
    // Waits for nothing else need a copy; others may share their name with one.
    for (int name : std::vector<int>(wait.names))
      if (!issued(program, name) || random.chance(25))
        addEarlyCopy(program, i, name, random);
  }
}
