//===- ExpandNarrowFloats.cpp - f8 and bf16 by integer arithmetic ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace penstock {
#define GEN_PASS_DEF_EXPANDNARROWFLOATS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

bool isPower(Type type) { return isa<Float8E8M0FNUType>(getElementTypeOrSelf(type)); }
bool isF8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type)); }

/// Arithmetic on scalars and vectors alike.
class Bits {
public:
  Bits(OpBuilder &b, Location loc, Type like) : b(b), loc(loc), like(like) {}

  Type of(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return VectorType::get(vector.getShape(), element);
    return element;
  }
  Type i8() const { return of(b.getI8Type()); }
  Type i16() const { return of(b.getI16Type()); }
  Type i32() const { return of(b.getI32Type()); }
  Type f16() const { return of(b.getF16Type()); }
  Type f32() const { return of(b.getF32Type()); }

  Value constant(Type type, uint64_t value) {
    Type element = getElementTypeOrSelf(type);
    TypedAttr attr;
    if (element.isF32())
      attr = b.getF32FloatAttr(llvm::bit_cast<float>(static_cast<uint32_t>(value)));
    else
      attr = b.getIntegerAttr(
          element, APInt(element.getIntOrFloatBitWidth(), value, false, /*implicitTrunc=*/true));
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value number(uint32_t value) { return constant(i32(), value); }
  Value cast(Type type, Value value) { return arith::BitcastOp::create(b, loc, type, value); }
  Value widen(Type type, Value value) { return arith::ExtUIOp::create(b, loc, type, value); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value shl(Value x, Value y) { return arith::ShLIOp::create(b, loc, x, y); }
  Value shr(Value x, Value y) { return arith::ShRUIOp::create(b, loc, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
  Value compare(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }

  OpBuilder &b;
  Location loc;
  Type like;
};

/// e5m2 is the upper half of f16. e4m3 has f16's mantissa bits further up and
/// an exponent that is off by 8: reading it as f16 and multiplying by 2^8 is
/// exact, subnormals included; only NaN needs a look.
struct ExtendF8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isF8(op.getIn().getType()))
      return failure();
    Bits bits(rewriter, op.getLoc(), op.getIn().getType());
    Value raw = bits.widen(bits.i16(), bits.cast(bits.i8(), op.getIn()));
    Value result;
    auto extend = [&](Value half) -> Value {
      return arith::ExtFOp::create(rewriter, op.getLoc(), bits.f32(), half);
    };
    if (isa<Float8E5M2Type>(getElementTypeOrSelf(op.getIn().getType()))) {
      Value half = bits.shl(raw, bits.constant(bits.i16(), 8));
      result = extend(bits.cast(bits.f16(), half));
    } else {
      Value magnitude = bits.both(raw, bits.constant(bits.i16(), 0x7f));
      Value half = bits.shl(magnitude, bits.constant(bits.i16(), 7));
      Value scaled =
          arith::MulFOp::create(rewriter, op.getLoc(), extend(bits.cast(bits.f16(), half)),
                                bits.constant(bits.f32(), 0x43800000)); // 256
      Value isNaN =
          bits.compare(arith::CmpIPredicate::eq, magnitude, bits.constant(bits.i16(), 0x7f));
      Value word = bits.select(isNaN, bits.number(0x7fc00000), bits.cast(bits.i32(), scaled));
      Value sign =
          bits.shl(bits.both(bits.widen(bits.i32(), raw), bits.number(0x80)), bits.number(24));
      result = bits.cast(bits.f32(), bits.either(word, sign));
    }
    convertFromF32(op, result, rewriter);
    return success();
  }

  static void convertFromF32(Operation *op, Value value, PatternRewriter &rewriter) {
    Type type = op->getResult(0).getType();
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    if (type == value.getType())
      rewriter.replaceOp(op, value);
    else if (width > 32)
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, type, value);
    else
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, value);
  }
};

/// Rounds the magnitude to nearest even by integer addition; below the smallest
/// normal number, adding a power of two whose last bit is the target's does it.
struct TruncateToF8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isF8(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Bits bits(rewriter, loc, op.getType());
    Value in = toF32(op.getIn(), bits);
    bool e5m2 = isa<Float8E5M2Type>(getElementTypeOrSelf(op.getType()));
    uint32_t mantissa = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
    uint32_t shift = 23 - mantissa;
    uint32_t smallestNormal = (127 - bias + 1) << 23;
    uint32_t magic = (127 - bias + 1 - mantissa + 23) << 23;
    uint32_t largest = e5m2 ? 0x7b : 0x7e, overflow = e5m2 ? 0x7c : 0x7f;
    uint32_t nan = e5m2 ? 0x7e : 0x7f;

    Value word = bits.cast(bits.i32(), in);
    Value magnitude = bits.both(word, bits.number(0x7fffffff));
    Value odd = bits.both(bits.shr(magnitude, bits.number(shift)), bits.number(1));
    Value rounded = bits.add(bits.add(magnitude, bits.number((1u << (shift - 1)) - 1)), odd);
    Value normal =
        bits.sub(bits.shr(rounded, bits.number(shift)), bits.number((127 - bias) << mantissa));
    Value shifted = arith::AddFOp::create(rewriter, loc, bits.cast(bits.f32(), magnitude),
                                          bits.constant(bits.f32(), magic));
    Value subnormal = bits.sub(bits.cast(bits.i32(), shifted), bits.number(magic));
    using P = arith::CmpIPredicate;
    Value small = bits.compare(P::ult, magnitude, bits.number(smallestNormal));
    Value result = bits.select(small, subnormal, normal);
    result = bits.select(bits.compare(P::ugt, result, bits.number(largest)), bits.number(overflow),
                         result);
    result = bits.select(bits.compare(P::ugt, magnitude, bits.number(0x7f800000)), bits.number(nan),
                         result);
    Value sign = bits.both(bits.shr(word, bits.number(24)), bits.number(0x80));
    Value byte = arith::TruncIOp::create(rewriter, loc, bits.i8(), bits.either(result, sign));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }

  static Value toF32(Value in, Bits &bits) {
    unsigned width = getElementTypeOrSelf(in.getType()).getIntOrFloatBitWidth();
    if (width < 32)
      return arith::ExtFOp::create(bits.b, bits.loc, bits.f32(), in);
    if (width > 32)
      return arith::TruncFOp::create(bits.b, bits.loc, bits.f32(), in);
    return in;
  }
};

/// e8m0 is the exponent of f32. Its smallest power is subnormal there, and 255 is NaN.
struct ExtendPower : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isPower(op.getIn().getType()))
      return failure();
    Bits bits(rewriter, op.getLoc(), op.getIn().getType());
    Value raw = bits.widen(bits.i32(), bits.cast(bits.i8(), op.getIn()));
    auto is = [&](uint32_t number) {
      return bits.compare(arith::CmpIPredicate::eq, raw, bits.number(number));
    };
    Value word = bits.shl(raw, bits.number(23));
    word = bits.select(is(0), bits.number(0x00400000), word);
    word = bits.select(is(255), bits.number(0x7fc00000), word);
    ExtendF8::convertFromF32(op, bits.cast(bits.f32(), word), rewriter);
    return success();
  }
};

/// Rounds the magnitude to the nearest power of two, upward from the middle, but from the middle
/// below 2^-126 downward. Infinity and NaN become NaN.
struct TruncateToPower : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isPower(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Bits bits(rewriter, loc, op.getType());
    Value word = bits.cast(bits.i32(), TruncateToF8::toF32(op.getIn(), bits));
    Value exponent = bits.both(bits.shr(word, bits.number(23)), bits.number(255));
    using P = arith::CmpIPredicate;
    auto asNumber = [&](Value condition) { return bits.widen(bits.i32(), condition); };
    Value normal = bits.compare(P::ne, exponent, bits.number(0));
    Value rest = bits.add(bits.both(word, bits.number(0x7fffff)), asNumber(normal));
    Value up = asNumber(bits.compare(P::ugt, rest, bits.number(0x400000)));
    Value finite = bits.compare(P::ne, exponent, bits.number(255));
    Value result = bits.select(finite, bits.add(exponent, up), exponent);
    Value byte = arith::TruncIOp::create(rewriter, loc, bits.i8(), result);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

/// From f64 to anything below f32 goes through f32, on every target.
struct TruncateInSteps : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!from.isF64() || to.isF32())
      return failure();
    Bits bits(rewriter, op.getLoc(), op.getType());
    Value middle = arith::TruncFOp::create(rewriter, op.getLoc(), bits.f32(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), middle);
    return success();
  }
};

/// From bf16 to f64, and between narrow types, upstream wants f32 in between.
struct ExtendInSteps : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isBF16() ||
        getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Bits bits(rewriter, op.getLoc(), op.getType());
    Value middle = arith::ExtFOp::create(rewriter, op.getLoc(), bits.f32(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), middle);
    return success();
  }
};

/// Returns whether an operation is one that the pass, or a pass that it runs, rewrites.
bool isConcerned(Operation *op) {
  auto isNarrow = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    auto real = dyn_cast<FloatType>(element);
    return real && real.getWidth() < 32 &&
           (!element.isF16() || isa<math::MathDialect>(op->getDialect()));
  };
  return llvm::any_of(op->getOperandTypes(), isNarrow) ||
         llvm::any_of(op->getResultTypes(), isNarrow) ||
         (isa<arith::TruncFOp>(op) && getElementTypeOrSelf(op->getOperand(0).getType()).isF64());
}

/// Integers of 8 bits are exact in bf16, so that nothing is rounded.
struct TruncateSmallInteger : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Operation *from = op.getIn().getDefiningOp();
    if (!getElementTypeOrSelf(op.getType()).isBF16() ||
        !isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(from) ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32() ||
        getElementTypeOrSelf(from->getOperand(0).getType()).getIntOrFloatBitWidth() > 8)
      return failure();
    Bits bits(rewriter, op.getLoc(), op.getType());
    Value upper = bits.shr(bits.cast(bits.i32(), op.getIn()), bits.number(16));
    Value half = arith::TruncIOp::create(rewriter, op.getLoc(), bits.i16(), upper);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), half);
    return success();
  }
};

struct ExpandNarrowFloats : penstock::impl::ExpandNarrowFloatsBase<ExpandNarrowFloats> {
  using Base = penstock::impl::ExpandNarrowFloatsBase<ExpandNarrowFloats>;
  using Base::Base;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // Most programs have none, and thousands of operations.
    if (!getOperation()
             ->walk([](Operation *op) {
               return isConcerned(op) ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted())
      return;
    // Arithmetic on narrow types first: it leaves extensions and truncations.
    OpPassManager emulate(ModuleOp::getOperationName());
    arith::ArithEmulateUnsupportedFloatsOptions options;
    options.sourceTypeStrs = {"bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"};
    options.targetTypeStr = "f32";
    emulate.addPass(arith::createArithEmulateUnsupportedFloats(options));
    math::MathExtendToSupportedTypesOptions mathOptions;
    emulate.addPass(math::createMathExtendToSupportedTypes(mathOptions));
    if (failed(runPipeline(emulate, getOperation())))
      return signalPassFailure();
    // Upstream lets its conversions be contracted; each operation rounds here.
    getOperation()->walk([](arith::ArithFastMathInterface op) {
      if (isa<arith::TruncFOp, arith::ExtFOp>(op))
        op->setAttr(op.getFastMathAttrName(),
                    arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none));
    });
    RewritePatternSet patterns(context);
    patterns
        .add<ExtendF8, TruncateToF8, ExtendPower, TruncateToPower, TruncateInSteps, ExtendInSteps>(
            context);
    if (!convertsBf16) {
      patterns.add<TruncateSmallInteger>(context, /*benefit=*/2);
      arith::populateExpandBFloat16Patterns(patterns);
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
