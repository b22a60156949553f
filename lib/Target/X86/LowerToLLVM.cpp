//===- LowerToLLVM.cpp - Loops, scalars and vectors to LLVM ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/ExpandExponentials.h"
#include "Target/X86/Passes.h"
#include "Transforms/Launch/KernelAbi.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERTOLLVM
#include "Target/X86/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct LowerToLLVM : penstock::impl::LowerToLLVMBase<LowerToLLVM> {
  using LowerToLLVMBase::LowerToLLVMBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    LowerToLLVMBase::getDependentDialects(registry);
    registry.insert<affine::AffineDialect>();
  }

  void runOnOperation() override {
    OpPassManager toBranches(ModuleOp::getOperationName());
    toBranches.addPass(createLowerAffinePass());
    toBranches.addPass(createSCFToControlFlowPass());
    if (failed(prepare()) || failed(runPipeline(toBranches, getOperation())) || failed(convert()))
      return signalPassFailure();
    markPointers();
  }

  /// Simplifies operations that the conversion does not support.
  LogicalResult prepare() {
    RewritePatternSet patterns(&getContext());
    populateExponentialPatterns(patterns, /*scales=*/vectorBits == 512);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    memref::populateExpandOpsPatterns(patterns);
    memref::populateExpandStridedMetadataPatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  LogicalResult convert() {
    MLIRContext *context = &getContext();
    mlir::LowerToLLVMOptions options(context);
    LLVMTypeConverter types(context, options);
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    // An instruction where there is one; libm has the rest (log, sin, ...).
    populateMathToLLVMConversionPatterns(types, patterns, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    return applyFullConversion(getOperation(), target, std::move(patterns));
  }

  /// Tensors, scratch memory and launch constants do not overlap; without this
  /// every store to a tile would end what is known about all tensors.
  void markPointers() {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (!function->hasAttr(abi::packAttr))
        continue;
      Type last;
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
        // A memref is its allocated and its aligned pointer; only the second
        // is used.
        bool aligned = isa<LLVM::LLVMPointerType>(type) && last && last == type;
        if (aligned && i + 1 < function.getNumArguments())
          function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                              UnitAttr::get(&getContext()));
        last = aligned ? Type() : type;
      }
    }
  }
};

} // namespace
