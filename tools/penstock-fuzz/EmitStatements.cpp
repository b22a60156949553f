//===- EmitStatements.cpp - Random statements on elements, and scopes -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace penstock;
using namespace penstock::fuzz;

Emitter::Emitter(const Program &program, const std::set<unsigned> &dropped, detail::Refs arguments)
    : program(program), dropped(dropped),
      tensors(arguments.begin(), arguments.begin() + static_cast<int64_t>(program.tensors.size())),
      lockedTiles(program.tiles.size()), lockedTensors(program.tensors.size()),
      random(derive(program.seed, 1)), at{"fuzz.cpp", 100000} {
  for (size_t i = 0; i < program.scalars.size(); ++i)
    scalars.push_back({program.scalars[i].element, arguments[program.tensors.size() + i]});
}

void Emitter::run() {
  if (!program.grid.empty()) {
    std::vector<Ref> extents;
    for (int64_t extent : program.grid)
      extents.push_back(index(extent));
    coordinates.resize(extents.size());
    detail::grid(extents, program.swizzle ? program.swizzle : detail::noSwizzle, coordinates, at);
    for (Ref coordinate : coordinates)
      scalars.push_back({Element::index, coordinate});
  }
  for (const TileDecl &tile : program.tiles) {
    int versions = tile.shape.empty() || random.chance(80) ? 0 : int(random.between(1, 3));
    tiles.push_back(detail::allocate(tile.space, tile.element, tile.shape, versions, at));
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    Ref zero = number(program.tiles[i].element, 0);
    if (program.tiles[i].shape.empty())
      detail::store(zero, tiles[i], {}, at);
    else
      detail::fill(tiles[i], zero, at);
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t d = 0; d < program.tensors[i].sizes.size(); ++d)
      if (static_cast<int>(i) != program.layoutTensor && random.chance(30))
        scalars.push_back({Element::index, detail::size(tensors[i], static_cast<int>(d), at)});
  statements(program.body);
  // What was computed is seen outside.
  for (int i = 0; i < 4; ++i) {
    random = Random(derive(program.seed, 2 + static_cast<uint64_t>(i)));
    at.line = 100001;
    int tile, tensor;
    copyOut("", tile, tensor);
  }
}

void Emitter::statements(const std::vector<Statement> &body) {
  for (const Statement &one : body)
    if (!dropped.count(one.id))
      statement(one);
}

/// What a scope defines is unknown after it.
void Emitter::scoped(const std::vector<Statement> &body) {
  size_t known = scalars.size();
  statements(body);
  scalars.resize(known, {Element::index, {}});
}

void Emitter::statement(const Statement &one) {
  Random outer = random;
  random = Random(one.seed);
  at.line = one.id;
  int tile, tensor, chosen[3];
  switch (one.kind) {
  case Statement::Fill:
    fill();
    break;
  case Statement::CopyIn:
    copyIn("", tile, tensor);
    break;
  case Statement::CopyOut:
    copyOut("", tile, tensor);
    break;
  case Statement::CopyTile:
    copyTile();
    break;
  case Statement::Gemm:
    gemm("", chosen);
    break;
  case Statement::Reduce:
    reduce();
    break;
  case Statement::Layouts:
    layouts();
    break;
  case Statement::Map:
    map();
    break;
  case Statement::Store:
    store();
    break;
  case Statement::Scalar: {
    Element element = random.of({Element::index, Element::i32, Element::f32, Element::i1,
                                 Element::i64, Element::f16, Element::i8, Element::f64});
    Ref made = value(element, 3);
    if (random.chance(30))
      made = detail::bind(made, "name" + std::to_string(one.id), at);
    scalars.push_back({element, made});
    break;
  }
  case Statement::SetVar:
    setVar();
    break;
  case Statement::Atomic:
    atomic(true);
    break;
  case Statement::Print:
    print();
    break;
  case Statement::Assert:
    detail::require(condition(2), "assertion " + std::to_string(one.id), at);
    break;
  case Statement::Loop:
    loop(one);
    break;
  case Statement::Pipeline:
    pipeline(one);
    break;
  case Statement::Condition:
    conditional(one);
    break;
  case Statement::Group: {
    detail::Scope scope = detail::openStatement("group" + std::to_string(one.id), "", at);
    scoped(one.body);
    detail::close(scope);
    break;
  }
  case Statement::Parallel:
    parallel();
    break;
  case Statement::AsyncCopy:
    asyncCopy(one);
    break;
  case Statement::AsyncGemm:
    asyncGemm(one);
    break;
  case Statement::Ring:
    ring(one);
    break;
  }
  random = outer;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void Emitter::store() {
  std::vector<int> written;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (program.tiles[i].holds == Class::Wild && !lockedTiles[i])
      written.push_back(static_cast<int>(i));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (program.tensors[i].access != Access::In && program.tensors[i].box.empty() &&
        program.tensors[i].holds == Class::Wild && !lockedTensors[i])
      written.push_back(-1 - static_cast<int>(i));
  if (written.empty())
    return;
  int chosen = random.of(written);
  bool tile = chosen >= 0;
  const std::vector<int64_t> &sizes =
      tile ? program.tiles[chosen].shape : program.tensors[-1 - chosen].sizes;
  std::vector<Ref> indices;
  for (int64_t size : sizes) {
    if (size == 0)
      return;
    indices.push_back(indexInto(size));
  }
  Element element = tile ? program.tiles[chosen].element : program.tensors[-1 - chosen].element;
  Ref stored = value(element, 2);
  detail::store(stored, tile ? tiles[chosen] : tensors[-1 - chosen], indices, at);
}

void Emitter::setVar() {
  std::vector<int> vars;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (program.tiles[i].shape.empty())
      vars.push_back(static_cast<int>(i));
  if (vars.empty())
    return;
  int var = random.of(vars);
  Element element = program.tiles[var].element;
  Ref old = detail::load(tiles[var], {}, at);
  Ref changed = random.chance(60) ? combine(element, old, value(element, 1)) : value(element, 2);
  detail::store(changed, tiles[var], {}, at);
}

void Emitter::atomic(bool useResult) {
  std::vector<int> counters;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const TileDecl &tile = program.tiles[i];
    bool any = !inParallel && tile.holds == Class::Wild && !tile.shape.empty() &&
               (tile.element == Element::i32 || tile.element == Element::i64 ||
                tile.element == Element::f32 || tile.element == Element::f64);
    if ((tile.holds == Class::Counter || any) && !lockedTiles[i])
      counters.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (program.tensors[i].holds == Class::Counter && !lockedTensors[i])
      counters.push_back(-1 - static_cast<int>(i));
  if (counters.empty())
    return;
  int chosen = random.of(counters);
  bool tile = chosen >= 0;
  const std::vector<int64_t> &sizes =
      tile ? program.tiles[chosen].shape : program.tensors[-1 - chosen].sizes;
  Element element = tile ? program.tiles[chosen].element : program.tensors[-1 - chosen].element;
  Kind kind = tile ? program.tiles[chosen].holds == Class::Counter
                         ? Kind::Add
                         : random.of({Kind::Add, Kind::Max, Kind::Min, Kind::Exchange})
                   : program.tensors[-1 - chosen].counter;
  std::vector<Ref> indices;
  for (int64_t size : sizes) {
    if (size == 0)
      return;
    indices.push_back(indexInto(size));
  }
  Ref old = detail::atomic(kind, value(element, 1), tile ? tiles[chosen] : tensors[-1 - chosen],
                           indices, at);
  if (useResult && (tile || !program.manyBlocks()))
    scalars.push_back({element, old});
}

void Emitter::print() {
  std::vector<Ref> operands;
  std::string text = "line";
  int64_t count = random.below(3);
  for (int64_t i = 0; i < count; ++i) {
    Ref shown;
    if (random.chance(30)) {
      int tile = pickTile([](const TileDecl &t) { return t.holds != Class::Rounded; });
      if (tile < 0)
        continue;
      shown = part(tile).ref;
    } else {
      shown = value(random.of({Element::i32, Element::f32, Element::index, Element::i1,
                               Element::f16, Element::f64, Element::i8}),
                    1);
    }
    operands.push_back(shown);
    text += " {}";
  }
  detail::print(text, operands, at);
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void Emitter::loop(const Statement &one) {
  detail::LoopArguments arguments{};
  int64_t begin = random.between(-2, 2), trips = random.below(5), step = random.between(1, 3);
  arguments.begin = index(begin);
  bool constant = random.chance(60);
  if (constant) {
    arguments.end = index(begin + trips * step - random.below(step));
    arguments.step = index(step);
  } else {
    arguments.end = binary(Op::Min, value(Element::index, 1), index(begin + trips * step));
    Ref any = value(Element::index, 1);
    arguments.step =
        random.chance(8) ? binary(Op::Min, any, index(1)) : binary(Op::Max, any, index(step));
  }
  arguments.unroll = random.of({-1, -1, 1, 2, 3, 4, 7, constant ? 0 : 1});
  Ref k;
  detail::Scope scope = detail::openLoop(arguments, k, at);
  size_t known = scalars.size();
  scalars.push_back({Element::index, k});
  statements(one.body);
  scalars.resize(known, {Element::index, {}});
  detail::close(scope);
}

/// A pipeline has a copy that can run ahead, into a tile of its own. With a stated
/// schedule all else is one group, so that the number of statements is known.
void Emitter::pipeline(const Statement &one) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (program.tensors[i].access == Access::In)
      inputs.push_back(i);
  size_t input = random.of(inputs);
  const TensorDecl &from = program.tensors[input];
  std::vector<int64_t> shape(std::min<size_t>(from.sizes.size(), 2));
  for (int64_t &extent : shape)
    extent = random.between(1, 8);
  Ref stageTile = detail::allocate(random.of({detail::Space::Shared, detail::Space::Local}),
                                   from.element, shape, 0, at);

  detail::LoopArguments arguments{
      .begin = index(0), .end = index(random.below(6)), .step = index(1)};
  arguments.pipelined = true;
  bool stated = random.chance(25);
  int later = static_cast<int>(random.between(0, 3)), first = static_cast<int>(random.below(2));
  const std::vector<int> stage = {0, later}, order = {first, 1 - first};
  if (stated) {
    arguments.stage = stage;
    arguments.order = order;
  } else {
    arguments.numStages = random.chance(15) ? Auto : static_cast<int>(random.between(1, 4));
  }
  Ref k;
  detail::Scope scope = detail::openLoop(arguments, k, at), group;
  size_t known = scalars.size();
  scalars.push_back({Element::index, k});
  std::vector<Ref> offsets;
  for (int64_t size : from.sizes)
    offsets.push_back(binary(Op::Add, k, index(random.between(-2, size))));
  detail::CopyArguments copy{.source = tensors[input], .target = stageTile, .fill = {}};
  copy.sourceOffsets = offsets;
  detail::copy(copy, at);
  if (stated)
    group = detail::openStatement("rest" + std::to_string(one.id), "", at);
  std::vector<Ref> element;
  for (int64_t extent : shape)
    element.push_back(index(random.below(extent)));
  scalars.push_back({from.element, detail::load(stageTile, element, at)});
  statements(one.body);
  if (stated)
    detail::close(group);
  scalars.resize(known, {Element::index, {}});
  detail::close(scope);
}

void Emitter::conditional(const Statement &one) {
  Ref c = condition(2);
  detail::Scope scope = detail::openCondition(c, !one.otherwise.empty(), at);
  scoped(one.body);
  if (!one.otherwise.empty()) {
    detail::openElse(scope);
    scoped(one.otherwise);
  }
  detail::close(scope);
}

/// Every element of the shape writes its own element of one tile, and updates
/// counters.
void Emitter::parallel() {
  std::vector<int> fitting;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (program.tiles[i].holds == Class::Wild && !lockedTiles[i] && !program.tiles[i].shape.empty())
      fitting.push_back(static_cast<int>(i));
  if (fitting.empty())
    return;
  int own = random.of(fitting);
  const TileDecl &decl = program.tiles[own];
  std::vector<Ref> indices(decl.shape.size());
  detail::Scope scope = detail::openParallel(decl.shape, indices, at);
  size_t known = scalars.size();
  ++lockedTiles[own];
  inParallel = true;
  for (Ref i : indices)
    scalars.push_back({Element::index, i});
  scalars.push_back({decl.element, detail::load(tiles[own], indices, at)});
  int64_t count = random.between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    bool guarded = random.chance(40);
    detail::Scope inner;
    size_t outside = scalars.size();
    if (guarded)
      inner = detail::openCondition(condition(1), false, at);
    if (random.chance(50))
      atomic(false);
    else
      detail::store(value(decl.element, 2), tiles[own], indices, at);
    if (guarded) {
      detail::close(inner);
      scalars.resize(outside, {Element::index, {}});
    }
  }
  inParallel = false;
  --lockedTiles[own];
  scalars.resize(known, {Element::index, {}});
  detail::close(scope);
}

detail::KernelSource penstock::fuzz::sourceOf(const Program &program,
                                              const std::set<unsigned> &dropped) {
  detail::KernelSource source;
  source.name = "fuzzed";
  source.at = {"fuzz.cpp", 100002};
  for (const TensorDecl &tensor : program.tensors)
    source.arguments.push_back(
        {true, tensor.element, static_cast<int>(tensor.sizes.size()), tensor.access});
  for (const ScalarDecl &scalar : program.scalars)
    source.arguments.push_back({false, scalar.element, 0, Access::In});
  source.record = [&program, &dropped](Block &, detail::Refs refs) {
    Emitter(program, dropped, refs).run();
  };
  return source;
}
