//===- EmitValues.cpp - Random scalars and elementwise expressions --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace penstock;
using namespace penstock::fuzz;

Ref Emitter::number(Element element, int64_t value) {
  if (isFloat(element))
    return detail::literal(element, static_cast<double>(value), at);
  return detail::literal(element, value, at);
}

Ref Emitter::literal(Element element) {
  if (isFloat(element))
    return detail::literal(element,
                           random.chance(5)   ? 1.0 / 0.0
                           : random.chance(5) ? 1e30
                                              : random.between(-32, 32) / 4.0,
                           at);
  if (element == Element::i1)
    return detail::literal(element, random.below(2), at);
  if (element != Element::index && random.chance(15))
    return detail::literal(element, static_cast<int64_t>(random.next()), at);
  return detail::literal(element, random.between(-8, 8), at);
}

Ref Emitter::combine(Element element, Ref a, Ref b) {
  if (element == Element::i1)
    return binary(random.of({Op::And, Op::Or, Op::Xor, Op::Eq, Op::Ne}), a, b);
  if (isFloat(element))
    return binary(random.of({Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Div, Op::Rem, Op::Min,
                             Op::Max}),
                  a, b);
  if (element == Element::index && !tensors.empty() && !target && random.chance(10))
    return divideFast(a); // not of elements of tiles
  Op op = random.of({Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::CeilDiv, Op::Min, Op::Max,
                     Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr});
  if (op == Op::CeilDiv && element != Element::index)
    op = Op::Sub;
  if (op == Op::Shl && element == Element::index)
    op = Op::Add;
  // Most divisions have a divisor that is not zero; the rest are faults.
  // A constant one is refused when it is recorded, so none is a constant.
  if (op == Op::Div || op == Op::Rem || op == Op::CeilDiv)
    b = random.chance(85) ? binary(Op::Or, b, number(element, 1))
                          : binary(Op::Add, b, number(element, 0));
  return binary(op, a, b, random.chance(25));
}

/// Divides by a launch constant. Most are positive; some are negative, and division by 0 is a
/// fault.
Ref Emitter::divideFast(Ref a) {
  size_t i = static_cast<size_t>(random.below(static_cast<int64_t>(tensors.size())));
  const std::vector<int64_t> &sizes = program.tensors[i].sizes;
  int64_t dim = random.below(static_cast<int64_t>(sizes.size()));
  int64_t size = sizes[static_cast<size_t>(dim)];
  Ref divisor = detail::size(tensors[i], static_cast<int>(dim), at);
  if (!size || random.chance(30))
    divisor = binary(Op::Sub, divisor, index(size + random.of<int64_t>({-7, -1, 0, 1, 3})));
  Ref results[2];
  detail::divmod(a, divisor, results, at);
  return results[random.below(2)];
}

Ref Emitter::decorate(Element element, Ref a) {
  if (element == Element::i1)
    return detail::unary(Op::Not, a, at);
  if (!isFloat(element))
    return detail::unary(random.of({Op::Neg, Op::Abs}), a, at);
  return detail::unary(random.of({Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Ceil, Op::Round}), a,
                       at);
}

Ref Emitter::value(Element element, int depth) {
  if (depth <= 0 || random.chance(15))
    return leaf(element);
  if (element == Element::i1 && random.chance(70)) {
    Element of = random.of(
        {Element::i32, Element::f32, Element::index, Element::i64, Element::f16, Element::i8});
    Ref a = value(of, depth - 1), b = value(of, depth - 1);
    return binary(random.of({Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge}), a, b,
                  !isFloat(of) && random.chance(25));
  }
  // Through a narrow integer and back: the low bits with their sign, which folds tend to forget.
  if (element == Element::index && random.chance(15)) {
    Element narrow = random.of({Element::i8, Element::i16, Element::i32});
    Ref wide = binary(Op::Mul, value(element, depth - 1),
                      index(random.of<int64_t>({1, 100, 30000, int64_t(1) << 30})));
    return detail::convert(detail::convert(wide, narrow, false, at), element, random.chance(25),
                           at);
  }
  switch (random.below(6)) {
  case 0:
    return decorate(element, value(element, depth - 1));
  case 1: {
    Ref c = condition(depth - 1), a = value(element, depth - 1), b = value(element, depth - 1);
    return detail::select(c, a, b, at);
  }
  case 2: {
    if (element == Element::i1)
      break;
    Element from = random.of({Element::i32, Element::f32, Element::i64, Element::f64, Element::f16,
                              Element::bf16, Element::f8e4m3, Element::f8e5m2, Element::i8,
                              Element::i16, Element::i1, Element::index});
    return detail::convert(value(from, depth - 1), element,
                           !isFloat(from) && from != Element::index && random.chance(25), at);
  }
  default:
    break;
  }
  Ref a = value(element, depth - 1), b = value(element, depth - 1);
  return combine(element, a, b);
}

Ref Emitter::condition(int depth) { return value(Element::i1, depth); }

Ref Emitter::leaf(Element element) {
  switch (random.below(4)) {
  case 0:
    break;
  case 1: {
    std::vector<Ref> fitting;
    for (const Known &known : scalars)
      if (known.element == element)
        fitting.push_back(known.ref);
    if (!fitting.empty())
      return random.of(fitting);
    break;
  }
  case 2:
    if (Ref loaded = loadLeaf(element); loaded.id)
      return loaded;
    break;
  default:
    if (target)
      if (Ref own = elementLeaf(element); own.id)
        return own;
    break;
  }
  return literal(element);
}

Ref Emitter::indexInto(int64_t size) {
  if (random.chance(3)) // outside: a fault, but not one that the verifier sees
    return binary(Op::Add, index(random.of<int64_t>({-1, size, size + 2})), index(0));
  if (random.chance(40) || size <= 1)
    return index(random.below(size));
  Ref any =
      target && random.chance(70)
          ? detail::elementIndex(
                static_cast<int>(random.below(static_cast<int64_t>(target->shape.size()))), at)
          : value(Element::index, 1);
  // ((any % size) + size) % size
  Ref wrapped = binary(Op::Rem, any, index(size));
  return binary(Op::Rem, binary(Op::Add, wrapped, index(size)), index(size));
}

/// One element of a tile or tensor.
Ref Emitter::loadLeaf(Element element) {
  std::vector<int> fromTiles, fromTensors;
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const TileDecl &tile = program.tiles[i];
    bool written = target && target->tile == static_cast<int>(i);
    if (tile.element == element && tile.holds != Class::Rounded && !lockedTiles[i] && !written &&
        !(inParallel && tile.holds == Class::Counter))
      fromTiles.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorDecl &tensor = program.tensors[i];
    bool empty = false;
    for (int64_t size : tensor.sizes)
      empty |= size == 0;
    if (tensor.element == element && readable(tensor) && !lockedTensors[i] && !empty &&
        tensor.holds != Class::Rounded &&
        (tensor.holds != Class::Counter || (!program.manyBlocks() && !inParallel)))
      fromTensors.push_back(static_cast<int>(i));
  }
  bool tile = !fromTiles.empty() && (fromTensors.empty() || random.chance(50));
  if (!tile && fromTensors.empty())
    return {};
  int chosen = random.of(tile ? fromTiles : fromTensors);
  const std::vector<int64_t> &sizes =
      tile ? program.tiles[chosen].shape : program.tensors[chosen].sizes;
  std::vector<Ref> indices;
  for (int64_t size : sizes)
    indices.push_back(indexInto(size));
  return detail::load(tile ? tiles[chosen] : tensors[chosen], indices, at);
}

/// What belongs to the element of the map's target.
Ref Emitter::elementLeaf(Element element) {
  int64_t rank = static_cast<int64_t>(target->shape.size());
  if (element == Element::index)
    return detail::elementIndex(static_cast<int>(random.below(rank)), at);
  struct Leaf {
    int tile;
    std::vector<int64_t> dims;
  };
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const TileDecl &tile = program.tiles[i];
    if (tile.element != element || lockedTiles[i] || tile.holds == Class::Rounded ||
        static_cast<int>(i) == target->tile)
      continue;
    if (tile.shape == target->shape)
      leaves.push_back({static_cast<int>(i), {}});
    if (tile.shape.size() == 1)
      for (int64_t d = 0; d < rank; ++d)
        if (tile.shape[0] == target->shape[static_cast<size_t>(d)])
          leaves.push_back({static_cast<int>(i), {d}});
  }
  bool own = program.tiles[target->tile].element == element &&
             program.tiles[target->tile].holds != Class::Rounded;
  if (own && (leaves.empty() || random.chance(30)))
    return detail::elements(target->ref, {}, at);
  if (leaves.empty())
    return {};
  const Leaf &chosen = random.of(leaves);
  return detail::elements(tiles[chosen.tile], chosen.dims, at);
}

Ref Emitter::small(Element element, Ref value) {
  if (element == Element::i1)
    return value;
  Ref low = number(element, -8), high = number(element, 8);
  if (!isFloat(element))
    return binary(Op::Max, binary(Op::Min, value, high), low);
  Ref rounded = detail::unary(Op::Round, value, at);
  Ref bounded = binary(Op::Max, binary(Op::Min, rounded, high), low);
  return detail::select(binary(Op::Eq, value, value), bounded, number(element, 0), at);
}

Ref Emitter::mathematical(Element element, Ref value) {
  Ref bounded = binary(Op::Max, binary(Op::Min, value, number(element, 4)), number(element, -4));
  Op op = random.of(
      {Op::Exp, Op::Exp2, Op::Log, Op::Log2, Op::Rsqrt, Op::Tanh, Op::Erf, Op::Sin, Op::Cos});
  if (op == Op::Log || op == Op::Log2 || op == Op::Rsqrt)
    bounded = binary(Op::Max, bounded, detail::literal(element, 0.0625, at));
  return detail::unary(op, bounded, at);
}
