//===- EmitTiles.cpp - Random operations on whole tiles -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace penstock;
using namespace penstock::fuzz;

//===----------------------------------------------------------------------===//
// Choosing tiles and tensors
//===----------------------------------------------------------------------===//

TileView Emitter::whole(int tile) { return {tiles[tile], tile, program.tiles[tile].shape}; }

Ref Emitter::offset(int64_t from, int64_t to) {
  if (random.chance(60))
    return index(random.between(from, to));
  Ref any = value(Element::index, 1);
  if (random.chance(5)) // perhaps outside, but not a constant
    return binary(Op::Add, any, index(0));
  return binary(Op::Max, binary(Op::Min, any, index(to)), index(from));
}

TileView Emitter::part(int tile) {
  TileView view = whole(tile);
  if (random.chance(35)) {
    std::vector<Ref> offsets;
    std::vector<int64_t> sizes;
    for (int64_t extent : view.shape) {
      sizes.push_back(random.between(1, extent));
      offsets.push_back(offset(0, extent - sizes.back()));
    }
    bool drop = sizes.size() > 1 && sizes[0] == 1;
    view.ref = detail::slice(view.ref, offsets, sizes, drop, at);
    if (drop)
      sizes.erase(sizes.begin());
    view.shape = sizes;
  }
  if (view.shape.size() == 2 && random.chance(25)) {
    view.ref = detail::transpose(view.ref, at);
    std::swap(view.shape[0], view.shape[1]);
  }
  return view;
}

TileView Emitter::partOf(int tile, std::vector<int64_t> shape) {
  TileView view = whole(tile);
  if (view.shape == shape)
    return view;
  if (view.shape.size() != shape.size())
    return {};
  auto fits = [&] {
    for (size_t d = 0; d < shape.size(); ++d)
      if (view.shape[d] < shape[d])
        return false;
    return true;
  };
  if (shape.size() == 2 && (!fits() || random.chance(20))) {
    view.ref = detail::transpose(view.ref, at);
    std::swap(view.shape[0], view.shape[1]);
  }
  if (!fits())
    return {};
  if (view.shape == shape)
    return view;
  std::vector<Ref> offsets;
  for (size_t d = 0; d < shape.size(); ++d)
    offsets.push_back(offset(0, view.shape[d] - shape[d]));
  view.ref = detail::slice(view.ref, offsets, shape, false, at);
  view.shape = std::move(shape);
  return view;
}

int Emitter::pickTensor(bool written, Class holds, Element element) {
  std::vector<int> fitting;
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorDecl &tensor = program.tensors[i];
    bool access = written ? tensor.access != Access::In : readable(tensor);
    bool type = tensor.element == element || (isFloat(tensor.element) && isFloat(element));
    bool kind = written ? tensor.holds == (holds == Class::Rounded ? Class::Rounded : Class::Wild)
                : holds == Class::Wild ? tensor.holds == Class::Wild || tensor.holds == Class::Small
                                       : tensor.holds == Class::Small;
    if (access && type && kind && !lockedTensors[i] && static_cast<int>(i) != program.layoutTensor)
      fitting.push_back(static_cast<int>(i));
  }
  return fitting.empty() ? -1 : random.of(fitting);
}

std::vector<Ref> Emitter::ownBox(const TensorDecl &tensor) {
  std::vector<Ref> offsets;
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    offsets.push_back(d < coordinates.size() ? binary(Op::Mul, coordinates[d], index(tensor.box[d]))
                                             : index(random.below(2)));
  for (size_t d = tensor.sizes.size(); d < program.grid.size(); ++d)
    if (program.grid[d] > 1)
      return {};
  return offsets;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void Emitter::fill() {
  int tile = pickTile([](const TileDecl &t) { return t.holds != Class::Counter; });
  if (tile < 0)
    return;
  Element element = program.tiles[tile].element;
  Class holds = program.tiles[tile].holds;
  Ref scalar = value(element, 2);
  if (holds == Class::Rounded || holds == Class::Sum || holds == Class::Small)
    scalar = small(element, scalar);
  detail::fill(part(tile).ref, scalar, at);
}

/// Which of the tensor's dimensions a tile of lower rank runs along.
static std::vector<int64_t> chooseDims(Random &random, size_t tile, size_t tensor) {
  std::vector<int64_t> dims;
  for (size_t d = 0; d < tensor; ++d) {
    size_t left = tensor - d, needed = tile - dims.size();
    if (needed && (needed == left || random.chance(50)))
      dims.push_back(static_cast<int64_t>(d));
  }
  return dims;
}

bool Emitter::copyIn(std::string_view async, int &tile, int &tensor) {
  tile = pickTile([](const TileDecl &t) { return t.holds != Class::Counter; });
  if (tile < 0)
    return false;
  const TileDecl &decl = program.tiles[tile];
  tensor = pickTensor(false, decl.holds, decl.element);
  if (tensor < 0)
    return false;
  const std::vector<int64_t> &sizes = program.tensors[tensor].sizes;
  TileView view = part(tile);
  if (view.shape.size() > sizes.size())
    return false;
  std::vector<Ref> offsets;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (d < coordinates.size() && random.chance(40))
      offsets.push_back(binary(Op::Mul, coordinates[d], index(random.between(1, 9))));
    else
      offsets.push_back(offset(-4, sizes[d] + 2));
  std::vector<int64_t> dims;
  if (random.chance(40))
    dims = chooseDims(random, view.shape.size(), sizes.size());
  detail::CopyArguments arguments{.source = tensors[tensor], .target = view.ref, .fill = {}};
  arguments.sourceOffsets = offsets;
  arguments.dims = dims;
  if (random.chance(40))
    arguments.fill = small(decl.element, literal(decl.element));
  arguments.async = async;
  detail::copy(arguments, at);
  return true;
}

bool Emitter::copyOut(std::string_view async, int &tile, int &tensor) {
  tile = pickTile([](const TileDecl &) { return true; });
  if (tile < 0)
    return false;
  const TileDecl &decl = program.tiles[tile];
  tensor = pickTensor(true, decl.holds, decl.element);
  if (tensor < 0)
    return false;
  const TensorDecl &to = program.tensors[tensor];
  if (!async.empty() && to.access != Access::Out)
    return false;
  detail::CopyArguments arguments{.source = {}, .target = tensors[tensor], .fill = {}};
  std::vector<Ref> offsets;
  std::vector<int64_t> dims;
  TileView view;
  if (!to.box.empty()) {
    size_t rank = decl.shape.size();
    if (rank > to.box.size())
      return false;
    view = partOf(tile, {to.box.end() - static_cast<int64_t>(rank), to.box.end()});
    offsets = ownBox(to);
    if (!view || offsets.empty())
      return false;
    // Inside its box a block may start anywhere, as long as it stays there.
    for (size_t d = coordinates.size(); d < offsets.size(); ++d)
      offsets[d] = index(0);
  } else {
    view = part(tile);
    if (view.shape.size() > to.sizes.size())
      return false;
    for (int64_t size : to.sizes)
      offsets.push_back(offset(-3, size + 1));
    if (random.chance(40))
      dims = chooseDims(random, view.shape.size(), to.sizes.size());
  }
  arguments.source = view.ref;
  arguments.targetOffsets = offsets;
  arguments.dims = dims;
  arguments.async = async;
  detail::copy(arguments, at);
  return true;
}

void Emitter::copyTile() {
  int from = pickTile([](const TileDecl &) { return true; });
  if (from < 0)
    return;
  const TileDecl &source = program.tiles[from];
  int to = pickTile([&](const TileDecl &t) {
    bool type = t.element == source.element || (isFloat(t.element) && isFloat(source.element));
    bool kind = t.holds == source.holds ? t.holds != Class::Counter && t.holds != Class::Sum
                                        : t.holds == Class::Wild && source.holds != Class::Rounded;
    return type && kind && t.shape.size() == source.shape.size();
  });
  if (to < 0)
    return;
  std::vector<int64_t> shape;
  for (size_t d = 0; d < source.shape.size(); ++d)
    shape.push_back(std::min(source.shape[d], program.tiles[to].shape[d]));
  TileView a = partOf(from, shape), b = partOf(to, shape);
  if (!a || !b)
    return;
  detail::CopyArguments arguments{.source = a.ref, .target = b.ref, .fill = {}};
  detail::copy(arguments, at);
}

//===----------------------------------------------------------------------===//
// Products, reductions, maps
//===----------------------------------------------------------------------===//

bool Emitter::gemm(std::string_view async, int (&chosen)[3]) {
  bool overwrite = random.chance(30);
  int acc = pickTile([&](const TileDecl &t) {
    return t.shape.size() == 2 && (t.element == Element::f32 || t.element == Element::i32) &&
           (t.holds == Class::Sum || (t.holds == Class::Wild && overwrite));
  });
  if (acc < 0)
    return false;
  bool ints = program.tiles[acc].element == Element::i32;
  auto operand = [&](const TileDecl &t) {
    return t.shape.size() == 2 && t.holds == Class::Small &&
           (ints ? t.element == Element::i8 : isFloat(t.element) && t.element != Element::f64);
  };
  int a = pickTile(operand);
  if (a < 0)
    return false;
  Element ea = program.tiles[a].element;
  auto f8 = [](Element e) { return e == Element::f8e4m3 || e == Element::f8e5m2; };
  int b = pickTile([&](const TileDecl &t) {
    return operand(t) && (t.element == ea || (f8(t.element) && f8(ea)));
  });
  if (b < 0 || a == acc || b == acc)
    return false;
  std::vector<int64_t> sa = program.tiles[a].shape, sb = program.tiles[b].shape,
                       sc = program.tiles[acc].shape;
  if (random.chance(50))
    std::swap(sa[0], sa[1]);
  if (random.chance(50))
    std::swap(sb[0], sb[1]);
  int64_t m = std::min(sa[0], sc[0]), n = std::min(sb[1], sc[1]), k = std::min(sa[1], sb[0]);
  TileView va = partOf(a, {m, k}), vb = partOf(b, {k, n}), vc = partOf(acc, {m, n});
  if (!va || !vb || !vc)
    return false;
  detail::gemm({.a = va.ref,
                .b = vb.ref,
                .acc = vc.ref,
                .accumulate = !overwrite,
                .tf32 = ea == Element::f32 && random.chance(40),
                .async = async},
               at);
  chosen[0] = a;
  chosen[1] = b;
  chosen[2] = acc;
  return true;
}

void Emitter::reduce() {
  Kind kind = random.of({Kind::Sum, Kind::Prod, Kind::Max, Kind::Min});
  bool adds = kind == Kind::Sum || kind == Kind::Prod;
  int from = pickTile([&](const TileDecl &t) {
    return t.shape.size() > 1 && t.element != Element::i1 && t.holds != Class::Rounded &&
           (!isFloat(t.element) || !adds || t.holds == Class::Small);
  });
  if (from < 0)
    return;
  TileView source = part(from);
  if (source.shape.size() < 2)
    return;
  int64_t dim = random.below(static_cast<int64_t>(source.shape.size()));
  const Element element = program.tiles[from].element;
  bool floating = isFloat(element);
  // In the order of their widths.
  auto isInteger = [](Element e) { return e >= Element::i8 && e <= Element::i64; };
  if (floating && kind == Kind::Prod && source.shape[static_cast<size_t>(dim)] > 3)
    return;
  int to = pickTile([&](const TileDecl &t) {
    bool exact = !floating || !adds || t.element == Element::f32 || t.element == Element::f64;
    return (t.holds == Class::Wild || (t.holds == Class::Sum && floating && kind == Kind::Sum)) &&
           exact &&
           (t.element == element || (isFloat(t.element) && floating) ||
            (isInteger(element) && isInteger(t.element) && element < t.element));
  });
  if (to < 0 || to == from)
    return;
  std::vector<int64_t> shape = source.shape;
  shape.erase(shape.begin() + dim);
  TileView result = partOf(to, shape);
  if (!result)
    return;
  bool accumulate =
      random.chance(40) && (!floating || !adds || program.tiles[to].holds == Class::Sum);
  detail::reduce(kind, source.ref, static_cast<int>(dim), result.ref, accumulate, at);
}

void Emitter::map() {
  int tile = pickTile([](const TileDecl &t) {
    return t.holds == Class::Wild || t.holds == Class::Small || t.holds == Class::Rounded;
  });
  if (tile < 0)
    return;
  TileView view = part(tile);
  const TileDecl &decl = program.tiles[tile];
  target = &view;
  Ref expression;
  if (decl.holds == Class::Rounded) {
    Ref old = detail::elements(view.ref, {}, at);
    Ref half = binary(Op::Mul, old, detail::literal(decl.element, 0.5, at));
    expression = binary(Op::Add, half, mathematical(decl.element, value(decl.element, 2)));
  } else {
    expression = value(decl.element, static_cast<int>(random.between(1, 4)));
    if (decl.holds == Class::Small)
      expression = small(decl.element, expression);
  }
  target = nullptr;
  detail::assign(view.ref, expression, at);
}

//===----------------------------------------------------------------------===//
// Asynchronous operations: what they touch is locked until their wait
//===----------------------------------------------------------------------===//

void Emitter::lock(int tile, int tensor, int change) {
  lockedTiles[tile] += change;
  // Others may read what nothing writes.
  if (program.tensors[tensor].access != Access::In)
    lockedTensors[tensor] += change;
}

void Emitter::asyncCopy(const Statement &statement) {
  std::string name = "copy" + std::to_string(statement.id);
  int tile = -1, tensor = -1;
  if (!(random.chance(70) ? copyIn(name, tile, tensor) : copyOut(name, tile, tensor)))
    return scoped(statement.body);
  lock(tile, tensor, 1);
  scoped(statement.body);
  at.line = statement.id;
  lock(tile, tensor, -1);
  std::string_view names[] = {name};
  detail::wait(names, 0, at);
}

void Emitter::asyncGemm(const Statement &statement) {
  std::string name = "gemm" + std::to_string(statement.id);
  int chosen[3];
  if (!gemm(name, chosen))
    return scoped(statement.body);
  for (int tile : chosen)
    ++lockedTiles[tile];
  scoped(statement.body);
  at.line = statement.id;
  for (int tile : chosen)
    --lockedTiles[tile];
  std::string_view names[] = {name};
  detail::wait(names, 0, at);
}

/// A loop that reads each slot of a ring some iterations after it was filled.
void Emitter::ring(const Statement &statement) {
  int tile = pickTile([](const TileDecl &t) {
    return t.shape.size() > 1 && t.shape[0] > 1 && t.holds == Class::Wild;
  });
  int tensor = tile < 0 ? -1 : pickTensor(false, Class::Wild, program.tiles[tile].element);
  if (tensor < 0 || program.tiles[tile].shape.size() - 1 > program.tensors[tensor].sizes.size())
    return scoped(statement.body);
  const TileDecl &decl = program.tiles[tile];
  int64_t slots = decl.shape[0], lag = random.below(std::min<int64_t>(slots, 4));
  std::string name = "ring" + std::to_string(statement.id);
  std::string_view names[] = {name};
  auto slot = [&](Ref k) {
    std::vector<Ref> offsets = {binary(Op::Rem, k, index(slots))};
    std::vector<int64_t> sizes = decl.shape;
    sizes[0] = 1;
    while (offsets.size() < sizes.size())
      offsets.push_back(index(0));
    return detail::slice(tiles[tile], offsets, sizes, true, at);
  };
  detail::LoopArguments arguments{
      .begin = index(0), .end = index(random.between(0, 6)), .step = index(1)};
  Ref k;
  detail::Scope scope = detail::openLoop(arguments, k, at);
  lock(tile, tensor, 1);
  std::vector<Ref> offsets;
  for (int64_t size : program.tensors[tensor].sizes)
    offsets.push_back(binary(Op::Add, k, index(random.between(-2, size))));
  Ref filled = slot(k);
  detail::CopyArguments copy{.source = tensors[tensor], .target = filled, .fill = {}};
  copy.sourceOffsets = offsets;
  copy.async = name;
  detail::copy(copy, at);
  scoped(statement.body);
  at.line = statement.id;
  detail::wait(names, static_cast<int>(lag), at);
  std::vector<int64_t> shape(decl.shape.begin() + 1, decl.shape.end());
  int to = pickTile([&](const TileDecl &t) {
    return t.holds == Class::Wild && t.element == decl.element && t.shape.size() == shape.size();
  });
  if (to >= 0 && to != tile)
    if (TileView view = partOf(to, shape)) {
      Ref read = slot(binary(Op::Add, k, index(slots * 4 - lag)));
      detail::CopyArguments out{.source = read, .target = view.ref, .fill = {}};
      detail::copy(out, at);
    }
  detail::close(scope);
  lock(tile, tensor, -1);
  detail::wait(names, 0, at);
}
