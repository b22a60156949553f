//===- GenerateEarly.cpp - Copies that are issued before the loop ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first tile of a pipeline is often loaded before the loop, under the name of the
// copies inside of it or another one. The wait that ends it may have any place in the
// body, as long as nothing meets the copy earlier.
//
//===----------------------------------------------------------------------===//
#include "Generate.h"

using namespace penstock::fuzz;

namespace {

using Form = ProgramStatement::Form;

template <class Test> std::vector<int> buffersWith(const Program &program, Test test) {
  std::vector<int> found;
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].extents.size() == 1 && !program.buffers[b].narrow &&
        test(program.buffers[b].kind))
      found.push_back(int(b));
  return found;
}

} // namespace

void penstock::fuzz::addEarlyCopies(Program &program, Random &random, int &names) {
  if (!random.chance(20))
    return;
  auto tiles = buffersWith(program, [](auto kind) { return kind == LoopBuffer::Kind::Tile; });
  auto tensors = buffersWith(program, [](auto kind) { return kind == LoopBuffer::Kind::Tensor; });
  std::vector<size_t> waits;
  for (size_t i = 0; i < program.statements.size(); ++i)
    if (program.statements[i].form == Form::Wait && program.statements[i].guard.empty())
      waits.push_back(i);
  if (tiles.empty() || tensors.empty() || waits.empty())
    return;
  for (int64_t more = random.between(1, 2); more > 0; --more) {
    Program with = program;
    ProgramStatement &wait = with.statements[random.of(waits)];
    EarlyCopy early;
    early.name = random.chance(50) ? wait.names[0] : names;
    if (early.name == names)
      wait.names.push_back(names++);
    int tile = random.of(tiles);
    early.copy.kind = Operation::Kind::Copy;
    early.copy.target = {tile, {}};
    early.copy.sources = {{random.of(tensors),
                           {{Span{Span::Motion::Affine, 0, random.of({0, 8, 24}),
                                  with.buffers[size_t(tile)].extents[0], 1}}}}};
    with.early.push_back(early);
    if (wellFormed(with))
      program = with;
  }
}
