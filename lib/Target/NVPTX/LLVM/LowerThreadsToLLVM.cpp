//===- LowerThreadsToLLVM.cpp - To the LLVM dialect for NVPTX -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/DoubleMath.h"
#include "Target/NVPTX/LLVM/RoundedMath.h"
#include "Target/NVPTX/LLVM/SingleMath.h"
#include "Target/NVPTX/LLVM/SmallIntegers.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace penstock {
#define GEN_PASS_DEF_LOWERTHREADSTOLLVM
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// The exact remainder of f32, by f64: LLVM would subtract one rounded multiple of the
/// divisor. The quotient has up to 277 bits, of which each step takes off 50.
struct RemainderPattern : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &b) const override {
    if (!op.getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Type wide = b.getF64Type();
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
    };
    Value x = arith::ExtFOp::create(b, loc, wide, op.getLhs());
    Value divisor = math::AbsFOp::create(b, loc, arith::ExtFOp::create(b, loc, wide, op.getRhs()));
    Value rest = math::AbsFOp::create(b, loc, x);
    for (int step = 5; step >= 0; --step) {
      Value multiple = arith::MulFOp::create(b, loc, divisor, number(std::ldexp(1.0, 50 * step)));
      Value quotient = math::FloorOp::create(b, loc, arith::DivFOp::create(b, loc, rest, multiple));
      Value less =
          math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, quotient), multiple, rest);
      // The rounded quotient may be one too large.
      Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, less, number(0.0));
      less = arith::SelectOp::create(b, loc, below, arith::AddFOp::create(b, loc, less, multiple),
                                     less);
      Value applies = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, rest, multiple);
      rest = arith::SelectOp::create(b, loc, applies, less, rest);
    }
    // Nothing is divided by zero, and infinity has no remainder.
    Value zero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, divisor, number(0.0));
    Value infinite =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, math::AbsFOp::create(b, loc, x),
                              number(std::numeric_limits<double>::infinity()));
    Value unordered = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, divisor);
    Value none =
        arith::OrIOp::create(b, loc, arith::OrIOp::create(b, loc, zero, infinite), unordered);
    rest = arith::SelectOp::create(b, loc, none, number(std::nan("")), rest);
    rest = math::CopySignOp::create(b, loc, rest, x);
    b.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), rest);
    return success();
  }
};

struct LowerThreadsToLLVM : penstock::impl::LowerThreadsToLLVMBase<LowerThreadsToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet simpler(context);
    arith::populateCeilFloorDivExpandOpsPatterns(simpler);
    simpler.add<RemainderPattern>(context);
    nvptx::populateSingleMathPatterns(simpler);
    nvptx::populateRoundedMathPatterns(simpler);
    nvptx::populateDoubleMathPatterns(simpler);
    nvptx::populateSmallIntegerPatterns(simpler);
    populateMathPolynomialApproximationPatterns(simpler, [](StringRef name) {
      name.consume_front("math.");
      return llvm::is_contained({"log", "log2", "sin", "cos"}, name);
    });
    math::populateExpansionPatterns(simpler, {"rsqrt"});
    OpPassManager toBranches(ModuleOp::getOperationName());
    toBranches.addPass(createSCFToControlFlowPass());
    // LLVM looks for equal blocks and for dead code; here that would be done for each of
    // thousands of operations before most of them are gone.
    GreedyRewriteConfig once;
    once.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        .enableConstantCSE(false)
        .setUseTopDownTraversal();
    if (failed(applyPatternsGreedily(getOperation(), std::move(simpler), once)) ||
        failed(runPipeline(toBranches, getOperation())))
      return signalPassFailure();
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter types(context, options);
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    // Nothing is undone: a conversion that fails is an error of the compiler.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
