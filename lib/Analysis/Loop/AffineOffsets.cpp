//===- AffineOffsets.cpp - Offsets as functions of the iteration ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/AffineOffsets.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace penstock;

std::optional<AffineOffset> penstock::sum(std::optional<AffineOffset> x,
                                          std::optional<AffineOffset> y) {
  if (!x || !y)
    return std::nullopt;
  x->scale += y->scale;
  x->offset += y->offset;
  for (auto [value, factor] : y->invariants)
    if ((x->invariants[value] += factor) == 0)
      x->invariants.erase(value);
  return x;
}

namespace {

/// Beyond this, products are refused: sums of them stay far from overflow.
constexpr int64_t maxFactor = int64_t(1) << 31;

std::optional<AffineOffset> constant(int64_t value) {
  if (value > maxFactor || value < -maxFactor)
    return std::nullopt;
  return AffineOffset{0, value, {}};
}

std::optional<AffineOffset> scaled(std::optional<AffineOffset> x, int64_t factor) {
  auto fits = [&](int64_t value) {
    return factor == 0 || std::abs(value) <= maxFactor / std::abs(factor);
  };
  if (!x || factor > maxFactor || factor < -maxFactor || !fits(x->scale) || !fits(x->offset))
    return std::nullopt;
  x->scale *= factor;
  x->offset *= factor;
  for (auto it = x->invariants.begin(); it != x->invariants.end();) {
    if (!fits(it->second))
      return std::nullopt;
    it->second *= factor;
    it = it->second ? std::next(it) : x->invariants.erase(it);
  }
  return x;
}

std::optional<AffineOffset> affineForm(Value value, scf::ForOp loop, const KnownValues &known,
                                       ValueRanges &ranges, unsigned depth) {
  if (depth > 32)
    return std::nullopt;
  if (value == loop.getInductionVar()) {
    auto step = getConstantIntValue(loop.getStep());
    if (!step)
      return std::nullopt;
    return sum(AffineOffset{*step, 0, {}},
               affineForm(loop.getLowerBound(), loop, known, ranges, depth + 1));
  }
  if (auto number = getConstantIntValue(value))
    return constant(*number);
  if (auto now = known.find(value); now != known.end())
    return constant(now->second);
  if (loop.isDefinedOutsideOfLoop(value))
    return AffineOffset{0, 0, {{value.getAsOpaquePointer(), 1}}};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto operand = [&](unsigned i) {
    return affineForm(op->getOperand(i), loop, known, ranges, depth + 1);
  };
  if (isa<tile::BindOp>(op))
    return operand(0);
  bool cast = isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
                  arith::TruncIOp>(op);
  if (!cast && !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  // Arithmetic that can wrap around is not affine.
  if (!ranges.isExact(op))
    return std::nullopt;
  if (cast)
    return operand(0);
  if (isa<arith::AddIOp>(op))
    return sum(operand(0), operand(1));
  if (isa<arith::SubIOp>(op))
    return sum(operand(0), scaled(operand(1), -1));
  if (isa<arith::MulIOp>(op)) {
    if (auto factor = getConstantIntValue(op->getOperand(1)))
      return scaled(operand(0), *factor);
    if (auto factor = getConstantIntValue(op->getOperand(0)))
      return scaled(operand(1), *factor);
  }
  return std::nullopt;
}

} // namespace

std::optional<AffineOffset> penstock::affineOffset(OpFoldResult value, scf::ForOp loop,
                                                   const KnownValues &known, ValueRanges &ranges) {
  if (auto number = getConstantIntValue(value))
    return constant(*number);
  return affineForm(cast<Value>(value), loop, known, ranges, 0);
}
