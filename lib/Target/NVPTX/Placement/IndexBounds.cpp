//===- IndexBounds.cpp - Bounds of indices -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Placement/IndexBounds.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock;
using nvptx::Bounds;

static constexpr int64_t mostLaunched = (int64_t(1) << 31) - 1; ///< size of a tensor or grid
static constexpr int64_t farAway = int64_t(1) << 58;

static std::optional<Bounds> within(__int128 low, __int128 high) {
  if (low < -farAway || high > farAway)
    return std::nullopt;
  return Bounds{int64_t(low), int64_t(high)};
}

/// All values of a type, if it is narrow.
static std::optional<Bounds> boundsOfType(Type type) {
  if (!type.isInteger() || type.getIntOrFloatBitWidth() > 32)
    return std::nullopt;
  int64_t half = int64_t(1) << (type.getIntOrFloatBitWidth() - 1);
  return Bounds{-half, half - 1};
}

static std::optional<Bounds> boundsOf(Value value, unsigned depth);

static std::optional<Bounds> boundsOfOp(Operation *op, unsigned depth) {
  auto operand = [&](unsigned i) { return boundsOf(op->getOperand(i), depth + 1); };
  if (isa<memref::DimOp, tile::GridOp>(op))
    return Bounds{0, mostLaunched};
  if (isa<tile::BindOp, arith::IndexCastOp, arith::TruncIOp>(op))
    return operand(0);
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<Bounds> x = operand(0), y = operand(1);
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return within(__int128(x->low) + y->low, __int128(x->high) + y->high);
  if (isa<arith::SubIOp>(op))
    return within(__int128(x->low) - y->high, __int128(x->high) - y->low);
  if (isa<arith::MulIOp>(op)) {
    __int128 ends[] = {__int128(x->low) * y->low, __int128(x->low) * y->high,
                       __int128(x->high) * y->low, __int128(x->high) * y->high};
    auto [low, high] = std::minmax_element(std::begin(ends), std::end(ends));
    return within(*low, *high);
  }
  if (isa<arith::MinSIOp>(op))
    return Bounds{std::min(x->low, y->low), std::min(x->high, y->high)};
  if (isa<arith::MaxSIOp>(op))
    return Bounds{std::max(x->low, y->low), std::max(x->high, y->high)};
  if (isa<arith::CeilDivSIOp, arith::FloorDivSIOp, arith::DivSIOp>(op) && y->low > 0)
    return Bounds{std::min<int64_t>(llvm::divideFloorSigned(x->low, y->low), 0),
                  std::max<int64_t>(llvm::divideCeilSigned(x->high, y->low), 0)};
  return std::nullopt;
}

static std::optional<Bounds> boundsOfExact(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return within(constant.getSExtValue(), constant.getSExtValue());
  constexpr unsigned deepest = 16;
  if (depth > deepest)
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return std::nullopt;
    auto first = boundsOf(loop.getLowerBound(), depth + 1);
    auto end = boundsOf(loop.getUpperBound(), depth + 1);
    if (!first || !end)
      return std::nullopt;
    return Bounds{first->low, std::max(first->low, end->high - 1)};
  }
  return boundsOfOp(value.getDefiningOp(), depth);
}

/// A value that does not fit in a narrow type wraps around, so it has the bounds of its type.
static std::optional<Bounds> boundsOf(Value value, unsigned depth) {
  if (!value.getType().isIntOrIndex())
    return std::nullopt;
  auto exact = boundsOfExact(value, depth), narrow = boundsOfType(value.getType());
  bool fits = !narrow || (exact && narrow->low <= exact->low && exact->high <= narrow->high);
  return fits ? exact : narrow;
}

std::optional<Bounds> nvptx::boundsOf(Value value) { return ::boundsOf(value, 0); }
