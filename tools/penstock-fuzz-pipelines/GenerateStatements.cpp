//===- GenerateStatements.cpp - Statements of random kernels --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements and groups of statements as people write them: a tile that is filled and
// used, products, scalars, waits, loops inside of statements, choices.
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

ProgramStatement &Generator::push(Form form) {
  ProgramStatement &s = program.statements.emplace_back();
  s.form = form;
  if (program.conditions && random.chance(30))
    s.guard = randomGuard();
  return s;
}

std::vector<Term> Generator::randomGuard() {
  std::vector<Term> guard{{int(random.below(program.conditions)), random.chance(30)}};
  if (program.conditions > 1 && random.chance(15))
    guard.push_back({1 - guard[0].condition, random.chance(50)});
  return guard;
}

void Generator::addStatements(int64_t count) {
  int64_t kind = random.below(100);
  size_t before = program.statements.size();
  if (kind < 38)
    addTileInAndOut();
  else if (kind < 48)
    addProduct();
  else if (kind < 52)
    addTwoUses();
  else if (kind < 57)
    addScalar();
  else if (kind < 61)
    addGroup();
  else if (kind < 66)
    addRepeat();
  else if (kind < 69)
    addInnerPipeline();
  else if (kind < 73)
    addChoice();
  else if (kind < 76)
    addParallel();
  else if (kind < 78)
    push(Form::Print);
  else
    addPlain();
  if (program.conditions && random.chance(25)) {
    std::vector<Term> guard = randomGuard();
    for (size_t i = before; i < program.statements.size(); ++i)
      if (!definesScalar(program.statements[i]))
        program.statements[i].guard = guard;
  }
  if (int64_t(program.statements.size()) < count && random.chance(4))
    addWait();
  // A wait for something that is issued before the loop.
  if (int64_t(program.statements.size()) < count && random.chance(6))
    program.statements.push_back({.form = Form::Wait, .names = {names++}});
}

void Generator::addPlain() {
  Operation op;
  if (!makeSimple(op))
    return;
  ProgramStatement &s = push(Form::Plain);
  s.operations = {op};
  if ((op.kind == OpKind::Copy || op.kind == OpKind::Gemm) && random.chance(35))
    makeAsync(program.statements.size() - 1);
}

void Generator::addParallel() {
  auto isRow = [](const ProgramBuffer &b) {
    return b.kind == BufferKind::Tile && b.extents == std::vector<int64_t>{8};
  };
  int to = pick(isRow), from = pick(isRow);
  if (to < 0 || from < 0 || from == to)
    return;
  Operation op;
  op.kind = OpKind::Parallel;
  Box all{{Span{Motion::Modulo, 0, 0, 8, 1}}};
  op.target = {to, all};
  op.sources = {{from, all}};
  plainPart(op);
  push(Form::Plain).operations = {op};
}

void Generator::makeAsync(size_t i) {
  program.statements[i].async = names > 0 && random.chance(10) ? int(random.below(names)) : names++;
}

void Generator::addWait() {
  std::vector<int> issued;
  for (const ProgramStatement &s : program.statements)
    if (s.async >= 0)
      issued.push_back(s.async);
  if (issued.empty())
    return;
  ProgramStatement s;
  s.form = Form::Wait;
  s.names = {random.of(issued)};
  if (random.chance(15))
    s.names.push_back(random.of(issued));
  if (s.names.size() == 2 && s.names[0] == s.names[1])
    s.names.pop_back();
  s.lag = random.chance(65) ? 0 : random.between(1, 2);
  if (program.conditions && random.chance(5))
    s.guard = randomGuard();
  program.statements.push_back(s);
}

void Generator::addTileInAndOut() {
  bool narrow = random.chance(30) && pickTile(2, true) >= 0;
  size_t rank = narrow ? 2 : 1;
  Operation in;
  int tile = pickTile(rank, narrow);
  if (!makeCopy(in, pickTensor(rank, narrow), tile))
    return;
  ProgramStatement &s = push(Form::Plain);
  s.operations = {in};
  std::vector<Term> guard = s.guard;
  bool async = random.chance(45);
  if (async)
    makeAsync(program.statements.size() - 1);
  int name = program.statements.back().async;
  if (async && random.chance(80)) {
    ProgramStatement wait;
    wait.form = Form::Wait;
    wait.names = {name};
    wait.lag = random.chance(85) ? 0 : 1;
    if (random.chance(10))
      wait.guard = guard;
    program.statements.push_back(wait);
  }
  Operation use;
  use.kind = OpKind::Map;
  bool made = false;
  if (narrow)
    made = makeGemm(use);
  else if (random.chance(40))
    made = makeCopy(use, tile, pickTensor(1, false));
  else if (int to = pickTile(1, false); to >= 0) {
    made = makeMap(use, to);
    std::vector<int64_t> shape = {use.target.box.whole() ? buffer(to).extents[0]
                                                         : use.target.box.spans[0].length};
    if (made && to != tile && shape[0] <= buffer(tile).extents[0])
      use.sources.push_back(touch(tile, shape));
  }
  if (!made)
    return;
  ProgramStatement &u = program.statements.emplace_back();
  u.operations = {use};
  if (random.chance(70))
    u.guard = guard;
  if (use.kind == OpKind::Copy && random.chance(25))
    makeAsync(program.statements.size() - 1);
}

void Generator::addTwoUses() {
  int tile = pickTile(1, false), tensor = pickTensor(1, false);
  if (tile < 0 || tensor < 0)
    return;
  twoUses = int(program.statements.size());
  for (int use = 0; use < 2; ++use) {
    Operation in, out;
    if (random.chance(50)) {
      makeCopy(in, tensor, tile);
      in.target.box = {};
      in.sources[0].box.spans[0].length = buffer(tile).extents[0];
    } else {
      in.kind = OpKind::Fill;
      in.target = {tile, {}};
      plainPart(in);
    }
    ProgramStatement s;
    s.operations = {in};
    program.statements.push_back(s);
    out.kind = OpKind::Copy;
    out.sources = {{tile, {}}};
    int64_t length = buffer(tile).extents[0];
    out.target = {pickTensor(1, false), {{{Motion::Affine, 2 * length, use * length, length, 1}}}};
    s.operations = {out};
    program.statements.push_back(s);
  }
}

void Generator::addProduct() {
  Operation op;
  if (!makeGemm(op))
    return addPlain();
  push(Form::Plain).operations = {op};
  if (!random.chance(65))
    return;
  makeAsync(program.statements.size() - 1);
  if (!random.chance(75))
    return;
  ProgramStatement wait;
  wait.form = Form::Wait;
  wait.names = {program.statements.back().async};
  wait.lag = random.below(3);
  program.statements.push_back(wait);
}

void Generator::addScalar() {
  int b = pick([](const ProgramBuffer &x) { return !x.narrow && x.extents.size() < 2; });
  if (b < 0)
    return;
  Operation op;
  bool tensor = buffer(b).kind == BufferKind::Tensor;
  if (random.chance(45)) {
    op.kind = OpKind::Store;
    op.target = cell(b);
    plainPart(op);
    push(Form::Plain).operations = {op};
    return;
  }
  op.kind = tensor && random.chance(40) ? OpKind::Atomic : OpKind::Load;
  if (op.kind == OpKind::Load)
    op.sources = {cell(b)};
  else {
    op.target = cell(b);
    op.replayed = int(random.below(3));
  }
  ProgramStatement s;
  s.operations = {op};
  program.statements.push_back(s);
}

void Generator::addGroup() {
  ProgramStatement s;
  for (int64_t i = random.between(2, 3); i > 0; --i) {
    Operation op;
    if (makeSimple(op))
      s.operations.push_back(op);
  }
  if (s.operations.empty())
    return;
  s.form = Form::Group;
  if (program.conditions && random.chance(20))
    s.guard = randomGuard();
  program.statements.push_back(s);
}

Touch Generator::movingPart(int b, int64_t length, int64_t rounds) {
  if (buffer(b).kind == BufferKind::Tensor) {
    Span span = alongTensor(length);
    span.perRound = random.of({int64_t(0), length, int64_t(8)});
    return {b, {{span}}};
  }
  // Where parts that move come by within the iterations that are tried.
  int64_t room = std::min<int64_t>(buffer(b).extents[0], 40) - length;
  int64_t move = std::min(random.of({length, length, length / 2, int64_t(0)}), room / (rounds - 1));
  Span span = still(random.between(0, (room - move * (rounds - 1)) / 2) * 2, length);
  span.perRound = move;
  return {b, {{span}}};
}

bool Generator::makeMovingPart(Operation &op, int64_t length, int64_t rounds) {
  int tile = pickTile(1, false), tensor = pickTensor(1, false);
  if (tile < 0 || tensor < 0)
    return false;
  int64_t kind = random.below(100);
  op.kind = kind < 55 ? OpKind::Copy : kind < 70 ? OpKind::Fill : OpKind::Map;
  op.target = movingPart(kind >= 35 && kind < 55 ? tensor : tile, length, rounds);
  if (op.kind == OpKind::Copy)
    op.sources = {movingPart(kind < 35 ? tensor : tile, length, rounds)};
  else
    plainPart(op);
  if (op.kind == OpKind::Map && random.chance(50))
    op.sources.push_back(op.target);
  if (int from = pickTile(1, false); op.kind == OpKind::Map && from != tile)
    op.sources.push_back(movingPart(from, length, rounds));
  return true;
}

void Generator::addRepeat() {
  ProgramStatement s;
  s.form = Form::Repeat;
  s.roundsLoaded = random.chance(20);
  s.rounds = random.chance(60) ? 2 : random.between(3, 4);
  int64_t length = s.rounds == 2 ? 4 : 2;
  for (int64_t i = s.roundsLoaded ? 1 : random.between(1, 3); i > 0; --i) {
    Operation op;
    if (s.roundsLoaded || random.chance(15) ? makeSimple(op) : makeMovingPart(op, length, s.rounds))
      s.operations.push_back(op);
  }
  if (s.operations.empty())
    return;
  if (program.conditions && random.chance(20))
    s.guard = randomGuard();
  program.statements.push_back(s);
}

void Generator::addInnerPipeline() {
  int tensor = pickTensor(1, false), tile = pickTile(1, false), sum = pickTile(1, false);
  if (tensor < 0 || tile < 0 || sum == tile || buffer(tile).extents[0] > buffer(sum).extents[0])
    return;
  int64_t length = buffer(tile).extents[0];
  Operation fill, use;
  fill.kind = OpKind::Copy;
  fill.sources = {{tensor, {{Span{Motion::Affine, 8, random.of({0, 8, 16}), length, 1}}}}};
  fill.target = {tile, {}};
  use.kind = OpKind::Map;
  use.target = touch(sum, {length});
  if (use.target.box.opaque())
    return;
  use.sources = {use.target, {tile, {}}};
  if (random.chance(60)) {
    push(Form::Plain).operations = {fill};
    push(Form::Plain).operations = {use};
  }
  ProgramStatement &s = push(Form::Repeat);
  s.rounds = random.between(2, 4);
  fill.sources[0].box.spans[0].perRound = 8;
  s.operations = {fill, use};
}

void Generator::addChoice() {
  std::vector<int> scalars;
  for (size_t i = 0; i < program.statements.size(); ++i)
    if (program.statements[i].form == Form::Plain &&
        program.statements[i].operations[0].kind == OpKind::Load)
      scalars.push_back(int(i));
  ProgramStatement s;
  s.form = Form::Choice;
  Operation then, otherwise;
  if (!makeSimple(then))
    return;
  s.operations = {then};
  if (makeSimple(otherwise) && random.chance(60))
    s.otherwise = {otherwise};
  if (!scalars.empty() && random.chance(60))
    s.choiceScalar = random.of(scalars);
  else if (program.conditions && !s.otherwise.empty())
    s.choice = int(random.below(program.conditions));
  else
    return;
  program.statements.push_back(s);
}
