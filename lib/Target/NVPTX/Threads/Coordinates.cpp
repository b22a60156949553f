//===- Coordinates.cpp - Coordinates of the elements of a thread ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

using layout::Distribution;

static SmallVector<Value> coordinateOf(LoweringContext &c, ArrayRef<Distribution::Digit> digits,
                                       Value number, size_t rank) {
  SmallVector<Value> at(rank, c.i32(0));
  int64_t weight = 1;
  for (const Distribution::Digit &digit : digits) {
    if (digit.dim >= 0)
      at[size_t(digit.dim)] = c.add(at[size_t(digit.dim)],
                                    c.mul(c.digitOf(number, weight, digit.extent), digit.stride));
    weight *= digit.extent;
  }
  return at;
}

SmallVector<Value> nvptx::baseOf(LoweringContext &c, const Distribution &layout,
                                 const ExecutionScope &by, bool inPlace) {
  Value thread = threadInScope(c, by);
  if (inPlace)
    thread = c.inlinePtx()
                 .output(c.builder.getI32Type())
                 .input(thread)
                 .emit("mov.b32 $0, $1;", PtxEffects::Ordered)[0];
  return coordinateOf(c, layout.threadDigits, thread, layout.rank());
}

Value nvptx::holdsElement(LoweringContext &c, const Distribution &layout, ArrayRef<Value> base,
                          ArrayRef<int64_t> offset) {
  if (layout.isFull())
    return {};
  Value held;
  for (size_t dim = 0; dim < layout.rank(); ++dim)
    held = c.both(held, c.cmp(arith::CmpIPredicate::ult, c.add(base[dim], offset[dim]),
                              c.i32(layout.shape[dim])));
  return held;
}

Value nvptx::holdsFirstCopy(LoweringContext &c, const Distribution &layout,
                            const ExecutionScope &by) {
  Value first;
  int64_t weight = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    if (digit.dim < 0)
      first = c.both(first, c.cmp(arith::CmpIPredicate::eq,
                                  c.digitOf(threadInScope(c, by), weight, digit.extent), c.i32(0)));
    weight *= digit.extent;
  }
  return first;
}

void nvptx::forElements(
    LoweringContext &c, const Distribution &layout, ArrayRef<Value> base, int64_t step,
    llvm::function_ref<void(ArrayRef<Value>, ArrayRef<int64_t>, const Distribution *)> body) {
  // This number is unrolled, for loads that overlap; a loop does the rest.
  constexpr int64_t unrolled = 8;
  int64_t low = 1;
  size_t digits = 0;
  while (digits < layout.registerDigits.size() && low < unrolled * step)
    low *= layout.registerDigits[digits++].extent;
  int64_t rounds = layout.registers() / low;
  if (rounds <= 2) {
    for (int64_t reg = 0; reg < layout.registers(); reg += step)
      body(base, layout.offsetOf(reg), &layout);
    return;
  }
  auto loop = scf::ForOp::create(c.builder, c.loc, c.i32(0), c.i32(rounds), c.i32(1));
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> round = coordinateOf(c, ArrayRef(layout.registerDigits).drop_front(digits),
                                          loop.getInductionVar(), layout.rank());
  for (size_t dim = 0; dim < layout.rank(); ++dim)
    round[dim] = c.add(base[dim], round[dim]);
  for (int64_t reg = 0; reg < low; reg += step)
    body(round, layout.offsetOf(reg), nullptr);
}
