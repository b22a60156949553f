//===- LowerThreadsToLLVM.cpp - To the LLVM dialect for NVPTX -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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

namespace penstock {
#define GEN_PASS_DEF_LOWERTHREADSTOLLVM
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Powers by the one instruction that there is for them; its error is two units
/// in the last place (docs/numerics.md).
template <class Op> struct PowerPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Value exponent = op.getOperand();
    if (std::is_same_v<Op, math::ExpOp>) {
      Value log2e = arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(1.44269504f));
      exponent = arith::MulFOp::create(rewriter, loc, exponent, log2e);
    }
    auto power = LLVM::InlineAsmOp::create(
        rewriter, loc, TypeRange(op.getType()), ValueRange{exponent}, "ex2.approx.ftz.f32 $0, $1;",
        "=f,f", /*has_side_effects=*/false,
        /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    rewriter.replaceOp(op, power.getResults());
    return success();
  }
};

struct LowerThreadsToLLVM : penstock::impl::LowerThreadsToLLVMBase<LowerThreadsToLLVM> {
  /// LLVM subtracts whole multiples of the divisor, which makes +0 of -0.
  void keepSignsOfRemainders() {
    SmallVector<arith::RemFOp> remainders;
    getOperation().walk([&](arith::RemFOp op) { remainders.push_back(op); });
    for (arith::RemFOp op : remainders) {
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(op);
      Value signedResult =
          math::CopySignOp::create(builder, op.getLoc(), op.getResult(), op.getLhs());
      op.getResult().replaceAllUsesExcept(signedResult, signedResult.getDefiningOp());
    }
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    keepSignsOfRemainders();
    RewritePatternSet simpler(context);
    arith::populateCeilFloorDivExpandOpsPatterns(simpler);
    simpler.add<PowerPattern<math::ExpOp>, PowerPattern<math::Exp2Op>>(context);
    populateMathPolynomialApproximationPatterns(simpler, [](StringRef name) {
      name.consume_front("math.");
      return llvm::is_contained({"log", "log2", "tanh", "erf", "sin", "cos"}, name);
    });
    math::populateExpansionPatterns(simpler, {"rsqrt"});
    OpPassManager toBranches(ModuleOp::getOperationName());
    toBranches.addPass(createSCFToControlFlowPass());
    if (failed(applyPatternsGreedily(getOperation(), std::move(simpler))) ||
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
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
