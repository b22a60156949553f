//===- Generate.cpp - Random kernels --------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bodies look like those that people pipeline (tiles are filled, used, and what
// comes out is stored) with everything thrown in that makes analysis err: parts
// of tiles, recurrences through memory, conditions, scalars, waits. Offsets move
// so that boxes of different speed meet while a loop is run.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"
#include "OrderOracle.h"

#include <algorithm>

using namespace penstock::fuzz;

using Form = ProgramStatement::Form;
using OpKind = Operation::Kind;
using BufferKind = LoopBuffer::Kind;
using Motion = Span::Motion;

Program Generator::run() {
  program.shareScalars = random.chance(60);
  program.bindScalars = random.chance(30);
  program.mergeConditions = random.chance(50);
  program.sliceTwice = random.chance(15);
  program.conditions = random.chance(60) ? 0 : int(random.between(1, 2));
  relative = random.chance(25);
  program.again = random.chance(15);
  program.waitAfter = random.chance(15);
  program.olderEntries = random.chance(30);
  makeBuffers();
  int64_t count = random.chance(15) ? random.between(1, 2) : random.between(3, 12);
  while (int64_t(program.statements.size()) < count)
    addStatements(count);
  program.statements.resize(size_t(count));
  addEarlyCopies(program, random);
  tidy();
  if (random.chance(20)) {
    program.first = random.of({0, 1, 5});
    program.step = 2;
    if (!wellFormed(program))
      program.step = 1;
  }
  if (relative)
    addOrigins(program, random);
  settle(program);
  annotate();
  return std::move(program);
}

int Generator::addBuffer(BufferKind kind, std::vector<int64_t> extents, bool narrow) {
  ProgramBuffer buffer;
  buffer.kind = kind;
  buffer.extents = std::move(extents);
  buffer.narrow = narrow;
  buffer.local = kind == BufferKind::Variable || random.chance(40);
  buffer.readAfter = kind != BufferKind::Tensor && random.chance(22);
  program.buffers.push_back(buffer);
  return int(program.buffers.size()) - 1;
}

void Generator::makeBuffers() {
  int64_t most = random.between(1, 6);
  addBuffer(BufferKind::Tensor, {1}, false);
  bool products = random.chance(35);
  if (products) {
    most = std::max<int64_t>(most, 4);
    addBuffer(BufferKind::Tensor, {1, 1}, true);
    addBuffer(BufferKind::Tile, {random.chance(70) ? 4 : 12, 4}, true);
    addBuffer(BufferKind::Tile, {4, 4}, false);
  }
  while (int64_t(program.buffers.size()) < most) {
    int64_t kind = random.below(100);
    if (kind < 25)
      addBuffer(BufferKind::Tensor, {1}, false);
    else if (kind < 75)
      addBuffer(BufferKind::Tile, {relative && random.chance(70) ? 64 : 8}, false);
    else if (kind < 82)
      addBuffer(BufferKind::Tile, {64}, false);
    else if (kind < 90 && products)
      addBuffer(BufferKind::Tile, {4, 4}, random.chance(60));
    else if (kind < 95)
      addBuffer(BufferKind::Variable, {}, false);
    else
      addBuffer(BufferKind::Tile, {8}, false);
  }
}

int Generator::pickTile(size_t rank, bool narrow) {
  return pick([&](const ProgramBuffer &b) {
    return b.kind == BufferKind::Tile && b.extents.size() == rank && b.narrow == narrow;
  });
}

int Generator::pickTensor(size_t rank, bool narrow) {
  return pick([&](const ProgramBuffer &b) {
    return b.kind == BufferKind::Tensor && b.extents.size() == rank && b.narrow == narrow;
  });
}

Span Generator::alongTensor(int64_t length) {
  int64_t kind = random.below(100);
  if (kind < 6)
    return {Motion::Modulo, 8, random.of({0, 4}), length, random.between(2, 3)};
  if (kind < 10)
    return {Motion::Loaded, 8, 0, length, 4};
  if (kind < 15)
    return {Motion::Wrapped, 1, random.of({0, 4}), length, random.of({128, 128, 64, 96})};
  if (kind < 24)
    return still(random.of({16, 24}), length);
  if (kind < 29)
    return {Motion::Affine, -4, 64, length, 1};
  int64_t scale = random.of({8, 8, 8, 8, 4, 2});
  return {Motion::Affine, scale, random.of({0, 0, 0, 8, 16, 4, 24}), length, 1};
}

Box Generator::tensorBox(int b, const std::vector<int64_t> &shape) {
  Box box;
  box.spans.push_back(alongTensor(shape[0]));
  if (buffer(b).extents.size() == 2)
    box.spans.push_back(still(random.chance(70) ? 0 : 4, shape[1]));
  return box;
}

Box Generator::tileBox(int b, const std::vector<int64_t> &shape) {
  const std::vector<int64_t> &extents = buffer(b).extents;
  if (shape == extents)
    return {};
  Box box;
  int64_t length = shape[0], extent = extents[0];
  if (extent == 64 && length <= 8 && random.chance(60)) {
    int64_t scale = random.of({2, 3});
    box.spans.push_back({Motion::Affine, scale, random.of({0, 0, 2, 4, 6}), length, 1});
  } else if (extent >= 2 * length && random.chance(extent == 12 ? 50 : relative ? 25 : 12)) {
    int64_t parts = std::min<int64_t>(extent / length, 3);
    Motion motion = random.chance(70) ? Motion::Modulo : Motion::Loaded;
    box.spans.push_back({motion, length, 0, length, parts});
  } else {
    int64_t step = shape.size() == 2 ? length : length / 2;
    int64_t offsets = std::min<int64_t>((extent - length) / std::max<int64_t>(step, 1), 6);
    box.spans.push_back(still(step * random.between(0, offsets), length));
  }
  if (extents.size() == 2)
    box.spans.push_back(still(0, shape[1]));
  return box;
}

std::vector<int64_t> Generator::shapeIn(int b) {
  const std::vector<int64_t> &extents = buffer(b).extents;
  if (extents.size() == 2)
    return random.chance(85) ? std::vector<int64_t>{4, 4} : std::vector<int64_t>{2, 4};
  if (extents[0] == 64)
    return {random.chance(80) ? 8 : 4};
  return {random.chance(82) ? 8 : 4};
}

Touch Generator::touch(int b, const std::vector<int64_t> &shape) {
  return {b, buffer(b).kind == BufferKind::Tensor ? tensorBox(b, shape) : tileBox(b, shape)};
}

Touch Generator::cell(int b) {
  if (buffer(b).kind == BufferKind::Variable)
    return {b, {}};
  if (buffer(b).kind == BufferKind::Tensor)
    return {b, {{alongTensor(1)}}};
  return {b, {{still(random.of({0, 3, 5, 7}), 1)}}};
}

bool Generator::definesScalar(const ProgramStatement &s) {
  return s.form == Form::Plain &&
         (s.operations[0].kind == OpKind::Load || s.operations[0].kind == OpKind::Atomic);
}

void Generator::plainPart(Operation &op) {
  op.constant = random.between(1, 9);
  op.replayed = random.chance(40) ? int(random.between(1, 2)) : 0;
  std::vector<int> scalars;
  for (size_t i = 0; i < program.statements.size(); ++i)
    if (definesScalar(program.statements[i]))
      scalars.push_back(int(i));
  if (!scalars.empty() && random.chance(45))
    op.scalar = random.of(scalars);
}

bool Generator::makeCopy(Operation &op, int from, int to) {
  if (from < 0 || to < 0)
    return false;
  op.kind = OpKind::Copy;
  std::vector<int64_t> shape = shapeIn(buffer(to).kind == BufferKind::Tensor ? from : to);
  if (buffer(from).extents.size() == 2 && buffer(to).extents.size() == 2 &&
      shape != std::vector<int64_t>{4, 4} && random.chance(50))
    shape = {4, 4};
  op.sources = {touch(from, shape)};
  op.target = touch(to, shape);
  if (shape == std::vector<int64_t>{4, 4} && buffer(from).kind == BufferKind::Tile)
    op.transposed = random.chance(20);
  return true;
}

bool Generator::makeMap(Operation &op, int to) {
  if (to < 0)
    return false;
  op.kind = OpKind::Map;
  std::vector<int64_t> shape = shapeIn(to);
  op.target = touch(to, shape);
  if (random.chance(55))
    op.sources.push_back(op.target);
  for (int64_t i = random.between(0, 2); i > 0; --i) {
    int from = pickTile(shape.size(), buffer(to).narrow);
    if (from < 0 || from == to)
      continue;
    if (shape == std::vector<int64_t>{4, 4} && random.chance(20))
      op.transposed |= 1u << op.sources.size();
    op.sources.push_back(touch(from, shape));
  }
  plainPart(op);
  return true;
}

bool Generator::makeGemm(Operation &op) {
  int a = pickTile(2, true), b = pickTile(2, true);
  int c = pick([](const ProgramBuffer &x) {
    return x.kind == BufferKind::Tile && x.extents.size() == 2 && !x.narrow;
  });
  if (a < 0 || b < 0 || c < 0)
    return false;
  op.kind = OpKind::Gemm;
  op.sources = {touch(a, {4, 4}), touch(b, {4, 4})};
  op.target = touch(c, {4, 4});
  op.transposed = random.chance(70) ? 0 : unsigned(random.between(1, 3));
  op.overwrite = random.chance(20);
  return true;
}

bool Generator::makeReduce(Operation &op) {
  int from = pickTile(2, false), to = pickTile(1, false);
  if (from < 0 || to < 0)
    return false;
  op.kind = OpKind::Reduce;
  op.sources = {touch(from, {4, 4})};
  op.transposed = random.chance(25);
  op.target = touch(to, {4});
  op.overwrite = random.chance(50);
  return true;
}

bool Generator::makeSimple(Operation &op) {
  int64_t kind = random.below(100);
  bool narrow = random.chance(20);
  size_t rank = narrow || random.chance(15) ? 2 : 1;
  if (kind < 25)
    return makeCopy(op, pickTensor(rank, narrow), pickTile(rank, narrow));
  if (kind < 40)
    return makeCopy(op, pickTile(1, false), pickTensor(1, false));
  if (kind < 48) {
    int from = pickTile(rank, narrow), to = pickTile(rank, narrow);
    return from != to && makeCopy(op, from, to);
  }
  if (kind < 56) {
    int to = pickTile(rank, narrow);
    if (to < 0)
      return false;
    op.kind = OpKind::Fill;
    op.target = touch(to, shapeIn(to));
    plainPart(op);
    return true;
  }
  if (kind < 65)
    return makeGemm(op);
  if (kind < 74)
    return makeReduce(op);
  return makeMap(op, pickTile(rank, narrow));
}

void Generator::dropScalarUse(int statement) {
  for (ProgramStatement &s : program.statements)
    for (auto *list : {&s.operations, &s.otherwise})
      for (Operation &op : *list)
        if (op.scalar == statement)
          op.scalar = -1;
}

void Generator::tidy() {
  for (size_t i = 0; i < program.statements.size(); ++i) {
    ProgramStatement &s = program.statements[i];
    if (s.form == Form::Plain && s.operations[0].kind == OpKind::Load &&
        !written(program, s.operations[0].sources[0].buffer)) {
      // It would be no statement; make it one that writes instead.
      Operation op;
      op.kind = OpKind::Store;
      op.target = s.operations[0].sources[0];
      dropScalarUse(int(i));
      for (ProgramStatement &other : program.statements)
        if (other.choiceScalar == int(i)) {
          other.choiceScalar = -1;
          other.form = Form::Group;
          other.otherwise.clear();
        }
      s.operations = {op};
    }
    if (s.form == Form::Wait)
      std::erase_if(s.names, [&](int name) { return !issued(program, name); });
  }
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    // Only what the loop touches is of interest afterwards.
    if (!written(program, int(b)))
      program.buffers[b].readAfter = false;
  }
}

void Generator::annotate() {
  Loop loop = loopOf(program);
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].kind == BufferKind::Tile && !program.buffers[b].readAfter &&
        mayHaveVersions(loop, int(b)))
      program.buffers[b].filledBefore = random.chance(50);
  if (random.chance(12)) {
    program.numStages = random.between(1, 4);
    // By numbers of its own, so that seeds keep their programs.
    program.optimal = Random(random).chance(40);
    return pipelineInnerLoops(program, random);
  }
  // Loads need no entries where they are part of another statement.
  if (Loop joined = joinedLoopOf(program); joined.size() < loop.size() && random.chance(40)) {
    loop = std::move(joined);
    program.olderEntries = false;
  }
  program.plan = randomPlan(loop, random);
  if (twoUses >= 0 && twoUses + 4 <= loop.size() && loop.size() == int(program.statements.size()) &&
      random.chance(25)) {
    program.plan = sourceOrder(loop.size());
    for (int i = 0; i < 4; ++i)
      program.plan->order[size_t(twoUses) + size_t(i)] = twoUses + (i + 2) % 4;
  }
  if (random.chance(12))
    stateVersions(loop);
  pipelineInnerLoops(program, random);
}

void Generator::stateVersions(const Loop &loop) {
  OrderVerdict verdict = checkOrder(loop, *program.plan);
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].kind == BufferKind::Tile && random.chance(60)) {
      int64_t needed = verdict.versions.empty() ? 1 : verdict.versions[b];
      program.buffers[b].statedVersions =
          std::max<int64_t>(1, needed + random.of({-1, 0, 0, 1, 2}));
    }
}

Program penstock::fuzz::generateProgram(uint64_t seed, bool solved) {
  for (uint64_t attempt = 0;; ++attempt) {
    Program program = Generator(derive(seed, attempt)).run();
    if (!wellFormed(program))
      continue;
    if (solved) {
      program.plan.reset();
      program.olderEntries = false;
      program.optimal = true;
      program.numStages = 1 + int64_t(seed % 4);
    }
    return program;
  }
}
