//===- GenerateOrigins.cpp - Offsets that only the launch decides ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets of one buffer that begin at the same number can be compared without
// knowing it; those that do not may lie anywhere. Most kernels have such offsets:
// the rows of their block.
//
//===----------------------------------------------------------------------===//
#include "Generate.h"

using namespace penstock::fuzz;

namespace {

Origin drawMultiples(Random &random) {
  return random.of(
      {Origin{0, 1, 0}, Origin{0, 1, 0}, Origin{0, 0, 1}, Origin{0, 1, 1}, Origin{0, 2, 0}});
}

/// Lets an offset begin at numbers of the launch, if it stays inside of its buffer.
void move(Touch &touch, const Origin &usual, const Program &program, int64_t rounds,
          Random &random) {
  if (touch.box.whole())
    return;
  Touch moved = touch;
  Span &span = moved.box.spans[0];
  span.origin = random.chance(85) ? usual : random.chance(50) ? drawMultiples(random) : Origin();
  // Before the number as well as behind it.
  for (size_t i = 0; i < origins; ++i)
    if (random.chance(70))
      span.offset -= span.origin[i] * originChoices[i][0];
  if (staysInside(program, moved, rounds))
    touch = moved;
}

void beginAtRunTime(Program &program) {
  int64_t first = program.first;
  program.first = 0;
  program.firstAtRunTime = true;
  settle(program);
  if (wellFormed(program))
    return;
  program.first = first;
  program.firstAtRunTime = false;
}

} // namespace

void penstock::fuzz::addOrigins(Program &program, Random &random) {
  std::vector<Origin> usual;
  for (size_t b = 0; b < program.buffers.size(); ++b)
    usual.push_back(random.chance(60) ? drawMultiples(random) : Origin());
  for (ProgramStatement &s : program.statements)
    for (auto *list : {&s.operations, &s.otherwise})
      for (Operation &op : *list) {
        Touch target = op.target;
        move(op.target, usual[size_t(target.buffer)], program, s.rounds, random);
        for (Touch &source : op.sources)
          if (source == target)
            source = op.target; // it is updated
          else
            move(source, usual[size_t(source.buffer)], program, s.rounds, random);
      }
  if (random.chance(40))
    beginAtRunTime(program);
}
