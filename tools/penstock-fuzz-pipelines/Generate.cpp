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
#include "Generate.h"
#include "OrderOracle.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

using Form = ProgramStatement::Form;
using OpKind = Operation::Kind;
using BufferKind = LoopBuffer::Kind;
using Motion = Span::Motion;

Span still(int64_t offset, int64_t length) { return {Motion::Affine, 0, offset, length, 1}; }

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  Program run() {
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

private:
  // Buffers

  int addBuffer(BufferKind kind, std::vector<int64_t> extents, bool narrow) {
    ProgramBuffer buffer;
    buffer.kind = kind;
    buffer.extents = std::move(extents);
    buffer.narrow = narrow;
    buffer.local = kind == BufferKind::Variable || random.chance(40);
    buffer.readAfter = kind != BufferKind::Tensor && random.chance(22);
    program.buffers.push_back(buffer);
    return int(program.buffers.size()) - 1;
  }

  void makeBuffers() {
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

  ProgramBuffer &buffer(int b) { return program.buffers[size_t(b)]; }

  /// A buffer for which the test holds, or -1.
  template <class Test> int pick(Test test) {
    std::vector<int> found;
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (test(program.buffers[b]))
        found.push_back(int(b));
    return found.empty() ? -1 : random.of(found);
  }
  int pickTile(size_t rank, bool narrow) {
    return pick([&](const ProgramBuffer &b) {
      return b.kind == BufferKind::Tile && b.extents.size() == rank && b.narrow == narrow;
    });
  }
  int pickTensor(size_t rank, bool narrow) {
    return pick([&](const ProgramBuffer &b) {
      return b.kind == BufferKind::Tensor && b.extents.size() == rank && b.narrow == narrow;
    });
  }

  // Boxes

  /// A offset along one dimension of a tensor.
  Span alongTensor(int64_t length) {
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

  Box tensorBox(int b, const std::vector<int64_t> &shape) {
    Box box;
    box.spans.push_back(alongTensor(shape[0]));
    if (buffer(b).extents.size() == 2)
      box.spans.push_back(still(random.chance(70) ? 0 : 4, shape[1]));
    return box;
  }

  /// A part of a tile with a given shape.
  Box tileBox(int b, const std::vector<int64_t> &shape) {
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

  /// A shape that some part of the tile has.
  std::vector<int64_t> shapeIn(int b) {
    const std::vector<int64_t> &extents = buffer(b).extents;
    if (extents.size() == 2)
      return random.chance(85) ? std::vector<int64_t>{4, 4} : std::vector<int64_t>{2, 4};
    if (extents[0] == 64)
      return {random.chance(80) ? 8 : 4};
    return {random.chance(82) ? 8 : 4};
  }

  Touch touch(int b, const std::vector<int64_t> &shape) {
    return {b, buffer(b).kind == BufferKind::Tensor ? tensorBox(b, shape) : tileBox(b, shape)};
  }

  /// One cell of a buffer of rank 1, or a variable.
  Touch cell(int b) {
    if (buffer(b).kind == BufferKind::Variable)
      return {b, {}};
    if (buffer(b).kind == BufferKind::Tensor)
      return {b, {{alongTensor(1)}}};
    return {b, {{still(random.of({0, 3, 5, 7}), 1)}}};
  }

  // Operations

  /// A value that statements outside of a condition may use.
  static bool definesScalar(const ProgramStatement &s) {
    return s.form == Form::Plain &&
           (s.operations[0].kind == OpKind::Load || s.operations[0].kind == OpKind::Atomic);
  }

  void plainPart(Operation &op) {
    op.constant = random.between(1, 9);
    op.replayed = random.chance(40) ? int(random.between(1, 2)) : 0;
    std::vector<int> scalars;
    for (size_t i = 0; i < program.statements.size(); ++i)
      if (definesScalar(program.statements[i]))
        scalars.push_back(int(i));
    if (!scalars.empty() && random.chance(45))
      op.scalar = random.of(scalars);
  }

  bool makeCopy(Operation &op, int from, int to) {
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

  bool makeMap(Operation &op, int to) {
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

  bool makeGemm(Operation &op) {
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

  bool makeReduce(Operation &op) {
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

  /// An operation that completes when it returns and needs no scalar.
  bool makeSimple(Operation &op) {
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

  // Statements

  ProgramStatement &push(Form form) {
    ProgramStatement &s = program.statements.emplace_back();
    s.form = form;
    if (program.conditions && random.chance(30))
      s.guard = randomGuard();
    return s;
  }
  std::vector<Term> randomGuard() {
    std::vector<Term> guard{{int(random.below(program.conditions)), random.chance(30)}};
    if (program.conditions > 1 && random.chance(15))
      guard.push_back({1 - guard[0].condition, random.chance(50)});
    return guard;
  }

  /// One statement, or several that belong together.
  void addStatements(int64_t count) {
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

  void addPlain() {
    Operation op;
    if (!makeSimple(op))
      return;
    ProgramStatement &s = push(Form::Plain);
    s.operations = {op};
    if ((op.kind == OpKind::Copy || op.kind == OpKind::Gemm) && random.chance(35))
      makeAsync(program.statements.size() - 1);
  }

  /// Bodies that run side by side; where each of them reads and writes, nobody knows.
  void addParallel() {
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

  void makeAsync(size_t i) {
    program.statements[i].async =
        names > 0 && random.chance(10) ? int(random.below(names)) : names++;
  }

  /// A wait for something that has been issued, or will be in a later position.
  void addWait() {
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

  /// Fill a tile from memory, wait if need be, use it.
  void addTileInAndOut() {
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

  /// Fill, use, fill, use: the two uses of one tile could trade offsets.
  void addTwoUses() {
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
      out.target = {pickTensor(1, false),
                    {{{Motion::Affine, 2 * length, use * length, length, 1}}}};
      s.operations = {out};
      program.statements.push_back(s);
    }
  }

  /// A product, often asynchronous and awaited some iterations later.
  void addProduct() {
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

  void addScalar() {
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

  void addGroup() {
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

  /// A part of a buffer of rank 1 that moves on in each round, or stays.
  Touch movingPart(int b, int64_t length, int64_t rounds) {
    if (buffer(b).kind == BufferKind::Tensor) {
      Span span = alongTensor(length);
      span.perRound = random.of({int64_t(0), length, int64_t(8)});
      return {b, {{span}}};
    }
    // Where parts that move come by within the iterations that are tried.
    int64_t room = std::min<int64_t>(buffer(b).extents[0], 40) - length;
    int64_t move =
        std::min(random.of({length, length, length / 2, int64_t(0)}), room / (rounds - 1));
    Span span = still(random.between(0, (room - move * (rounds - 1)) / 2) * 2, length);
    span.perRound = move;
    return {b, {{span}}};
  }

  bool makeMovingPart(Operation &op, int64_t length, int64_t rounds) {
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

  /// Operations on parts of tiles, which together are often the whole.
  void addRepeat() {
    ProgramStatement s;
    s.form = Form::Repeat;
    s.roundsLoaded = random.chance(20);
    s.rounds = random.chance(60) ? 2 : random.between(3, 4);
    int64_t length = s.rounds == 2 ? 4 : 2;
    for (int64_t i = s.roundsLoaded ? 1 : random.between(1, 3); i > 0; --i) {
      Operation op;
      if (s.roundsLoaded || random.chance(15) ? makeSimple(op)
                                              : makeMovingPart(op, length, s.rounds))
        s.operations.push_back(op);
    }
    if (s.operations.empty())
      return;
    if (program.conditions && random.chance(20))
      s.guard = randomGuard();
    program.statements.push_back(s);
  }

  /// A loop that fills a tile and uses it, round by round, where the loop around it often
  /// does the same.
  void addInnerPipeline() {
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

  void addChoice() {
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

  // Repairs

  void dropScalarUse(int statement) {
    for (ProgramStatement &s : program.statements)
      for (auto *list : {&s.operations, &s.otherwise})
        for (Operation &op : *list)
          if (op.scalar == statement)
            op.scalar = -1;
  }

  /// Removes what refers to nothing.
  void tidy() {
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

  void annotate() {
    Loop loop = loopOf(program);
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].kind == BufferKind::Tile && !program.buffers[b].readAfter &&
          mayHaveVersions(loop, int(b)))
        program.buffers[b].filledBefore = random.chance(50);
    if (random.chance(12)) {
      program.numStages = random.between(1, 4);
      return pipelineInnerLoops(program, random);
    }
    // Loads need no entries where they are part of another statement.
    if (Loop joined = joinedLoopOf(program); joined.size() < loop.size() && random.chance(40)) {
      loop = std::move(joined);
      program.olderEntries = false;
    }
    program.plan = randomPlan(loop, random);
    if (twoUses >= 0 && twoUses + 4 <= loop.size() &&
        loop.size() == int(program.statements.size()) && random.chance(25)) {
      program.plan = sourceOrder(loop.size());
      for (int i = 0; i < 4; ++i)
        program.plan->order[size_t(twoUses + i)] = twoUses + (i + 2) % 4;
    }
    if (random.chance(12))
      stateVersions(loop);
    pipelineInnerLoops(program, random);
  }

  void stateVersions(const Loop &loop) {
    OrderVerdict verdict = checkOrder(loop, *program.plan);
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].kind == BufferKind::Tile && random.chance(60)) {
        int64_t needed = verdict.versions.empty() ? 1 : verdict.versions[b];
        program.buffers[b].statedVersions =
            std::max<int64_t>(1, needed + random.of({-1, 0, 0, 1, 2}));
      }
  }

  Random random;
  Program program;
  bool relative = false; ///< offsets depend on numbers that are fixed before the loop
  int names = 0;
  int twoUses = -1; ///< where a tile is filled and used, and again
};

} // namespace

Program penstock::fuzz::generateProgram(uint64_t seed) {
  for (uint64_t attempt = 0;; ++attempt) {
    Program program = Generator(derive(seed, attempt)).run();
    if (wellFormed(program))
      return program;
  }
}
