//===- SmallIntegers.cpp - Conversions of small integers to f32 -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/SmallIntegers.h"
#include "Analysis/Value/UpperBounds.h"
#include "Target/NVPTX/Threads/InlinePtx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;

namespace {

/// An integer from 0 to 2^22 as the significand of an f32 from 2^23 on, whose ULP is 1. A
/// difference removes 2^23, and what is added to the integer. Bits that are divided by a power of
/// two stay where they are: an FMA divides.
struct SmallInteger : OpRewritePattern<arith::SIToFPOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SIToFPOp op, PatternRewriter &b) const override {
    constexpr int64_t most = 1 << 22;
    Value integer = op.getIn();
    if (!op.getType().isF32() || !integer.getType().isInteger(32))
      return failure();
    int64_t added = 0, divisor = 1;
    if (auto sum = integer.getDefiningOp<arith::AddIOp>()) {
      added = getConstantIntValue(sum.getRhs()).value_or(0);
      integer = added ? sum.getLhs() : integer;
    } else if (auto difference = integer.getDefiningOp<arith::SubIOp>()) {
      added = -getConstantIntValue(difference.getRhs()).value_or(0);
      integer = added ? difference.getLhs() : integer;
    }
    if (auto division = integer.getDefiningOp<arith::DivSIOp>())
      if (auto by = getConstantIntValue(division.getRhs());
          by && *by > 0 && llvm::isPowerOf2_64(uint64_t(*by)) &&
          maskOf(division.getLhs()).value_or(1) % *by == 0) {
        divisor = *by;
        integer = division.getLhs();
      }
    // Bounds of extents do not matter: they are larger.
    auto bound = UpperBounds(std::numeric_limits<int64_t>::max()).mostOf(integer);
    if (!bound || *bound >= most || std::abs(added) >= most / divisor)
      return failure();
    Location loc = op.getLoc();
    Value sum = arith::BitcastOp::create(b, loc, op.getType(), significand(b, loc, integer));
    auto real = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
    };
    double excess = 0x1p23 / double(divisor) - double(added);
    if (divisor == 1)
      b.replaceOpWithNewOp<arith::SubFOp>(op, sum, real(excess));
    else
      b.replaceOpWithNewOp<math::FmaOp>(op, sum, real(1 / double(divisor)), real(-excess));
    return success();
  }

private:
  static std::optional<int64_t> maskOf(Value integer) {
    auto masked = integer.getDefiningOp<arith::AndIOp>();
    return masked ? getConstantIntValue(masked.getRhs()) : std::nullopt;
  }

  /// Returns the bits of 2^23 plus an integer. ptxas does not merge two operations with constants.
  static Value significand(OpBuilder &b, Location loc, Value integer) {
    Value exponent = arith::ConstantIntOp::create(b, loc, 0x4b000000, 32);
    if (!maskOf(integer))
      return arith::OrIOp::create(b, loc, integer, exponent);
    auto masked = integer.getDefiningOp<arith::AndIOp>();
    return nvptx::InlinePtx(b, loc)
        .output(b.getI32Type())
        .inputs({masked.getLhs(), masked.getRhs(), exponent})
        .emit("lop3.b32 $0, $1, $2, $3, 0xea;", nvptx::PtxEffects::None)[0]; // (a & b) | c
  }
};

} // namespace

void nvptx::populateSmallIntegerPatterns(RewritePatternSet &patterns) {
  patterns.add<SmallInteger>(patterns.getContext());
}
