//===- EmitLayouts.cpp - Tiles that need several layouts ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole tiles in registers: a product dictates the layout of one, the others are
// coalesced, and vectors go between them along rows and columns. Numbers are small
// integers, so that all is exact in any order.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace penstock;
using namespace penstock::fuzz;

/// Integers from -5 to 5 that differ from element to element.
static Ref pattern(Random &random, Element element, Loc at) {
  auto index = [&](int64_t value) { return detail::literal(Element::index, value, at); };
  auto binary = [&](Op op, Ref a, Ref b) { return detail::binary(op, false, a, b, at); };
  Ref row = binary(Op::Mul, detail::elementIndex(0, at), index(random.between(1, 9)));
  Ref column = binary(Op::Mul, detail::elementIndex(1, at), index(random.between(1, 9)));
  Ref sum = binary(Op::Rem, binary(Op::Add, row, column), index(11));
  Ref integer = detail::convert(binary(Op::Sub, sum, index(5)), Element::i32, false, at);
  if (element == Element::i32)
    return integer;
  if (!isFloat(element))
    return detail::convert(integer, element, false, at);
  Ref real = detail::convert(integer, Element::f32, false, at);
  return element == Element::f32 ? real : detail::convert(real, element, false, at);
}

void Emitter::layouts() {
  const TensorDecl &out = program.tensors[size_t(program.layoutTensor)];
  Element element = out.element;
  int64_t m = random.of<int64_t>({8, 16, 16, 32, 32});
  int64_t n = random.chance(50) ? m : random.of<int64_t>({8, 16, 24, 32});
  auto allocate = [&](detail::Space space, Element type, const std::vector<int64_t> &shape) {
    return detail::allocate(space, type, shape, 0, at);
  };
  auto local = [&](const std::vector<int64_t> &shape) {
    return allocate(detail::Space::Local, element, shape);
  };
  Ref t = local({m, n}), u = local({m, n}), rows = local({m}), columns = local({n});
  detail::assign(t, pattern(random, element, at), at);
  detail::assign(u, pattern(random, element, at), at);
  if (random.chance(75)) {
    Element operand = element == Element::i32
                          ? Element::i8
                          : random.of({Element::f16, Element::bf16, Element::f8e4m3});
    int64_t k = random.of<int64_t>({16, 32});
    Ref a = allocate(detail::Space::Shared, operand, {m, k});
    Ref b = allocate(detail::Space::Shared, operand, {k, n});
    detail::assign(a, pattern(random, operand, at), at);
    detail::assign(b, pattern(random, operand, at), at);
    detail::gemm({.a = a, .b = b, .acc = t, .accumulate = random.chance(50)}, at);
  }
  auto kind = [&] { return random.of({Kind::Sum, Kind::Max, Kind::Min}); };
  detail::reduce(kind(), t, 1, rows, false, at);
  detail::reduce(kind(), random.chance(50) ? t : u, 0, columns, false, at);
  // A vector of a square tile may run along the other dimension.
  bool turned = m == n && random.chance(60);
  const int64_t along[] = {turned ? 1 : 0}, across[] = {turned ? 0 : 1};
  Ref first = detail::elements(rows, along, at);
  Ref second = detail::elements(columns, across, at);
  Ref old = detail::elements(u, {}, at);
  detail::assign(u, small(element, binary(Op::Add, binary(Op::Sub, old, first), second)), at);
  if (random.chance(40))
    detail::assign(
        t,
        small(element, binary(Op::Sub, detail::elements(t, {}, at), detail::elements(u, {}, at))),
        at);

  std::vector<Ref> offsets;
  if (program.manyBlocks())
    offsets = ownBox(out);
  else
    for (int64_t size : out.sizes)
      offsets.push_back(offset(-3, size + 1));
  if (offsets.empty())
    return;
  detail::CopyArguments arguments{.source = random.chance(70) ? u : t,
                                  .target = tensors[size_t(program.layoutTensor)],
                                  .fill = {}};
  arguments.targetOffsets = offsets;
  detail::copy(arguments, at);
}
