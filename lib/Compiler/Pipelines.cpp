//===- Pipelines.cpp - The passes of each target, in order ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Pipelines.h"
#include "Analysis/Passes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "Interpreter/Interpreter.h"
#include "Target/NVPTX/Passes.h"
#include "Target/X86/Passes.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/AllExtensions.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace penstock;

void penstock::buildSchedulePipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                     bool plain) {
  passes.addNestedPass<func::FuncOp>(createFlattenTiles());
  bool scales = architecture.limits.tensorColumns; // only tcgen05 multiplies with them
  if (scales && !plain)
    passes.addNestedPass<func::FuncOp>(createPadOperands());
  passes.addNestedPass<func::FuncOp>(createExpandScaledProducts({/*unpadded=*/scales}));
  passes.addNestedPass<func::FuncOp>(createResolveSchedules({architecture.name}));
}

void penstock::buildNativeLoopPipeline(OpPassManager &passes,
                                       const NativePipelineOptions &options) {
  if (options.contract)
    passes.addNestedPass<func::FuncOp>(createAllowContraction());
  buildSchedulePipeline(passes, *hw::findArchitecture("x86"));
  // Without late completion every copy is complete when it returns: a legal
  // schedule then only reorders, and writing it out would cost compile time.
  if (options.lateCompletion)
    passes.addNestedPass<func::FuncOp>(createExpandPipelines());
  passes.addNestedPass<func::FuncOp>(createNarrowIndexCasts());
  passes.addNestedPass<func::FuncOp>(createUnrollLoops());
  passes.addPass(createLowerLaunch());
  passes.addPass(createOutlineAsync({options.lateCompletion}));
  passes.addNestedPass<func::FuncOp>(createLowerGemm(
      {options.cpu.vectorBits, options.cpu.tiles, options.cpu.tilesF16, options.cpu.dotBf16,
       options.cpu.dotI8, options.cpu.l1Bytes, options.cpu.l2Bytes, options.report}));
  passes.addNestedPass<func::FuncOp>(createFuseElements());
  passes.addPass(createLowerToLoops());
  passes.addPass(createGuardFaults());
  passes.addNestedPass<func::FuncOp>(createPlaceTiles());
  passes.addPass(createExpandNarrowFloats());
}

void penstock::buildNativeLLVMPipeline(OpPassManager &passes, const NativeCpu &cpu) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLowerToLLVM({cpu.vectorBits}));
  passes.addPass(createPackArguments());
}

void penstock::buildBlockPipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                  const DevicePipelineOptions &options) {
  passes.addNestedPass<func::FuncOp>(
      createAttachTarget({architecture.name, /*alignedRows=*/!options.plain}));
  passes.addNestedPass<func::FuncOp>(createChooseThreads({architecture.name}));
  passes.addNestedPass<func::FuncOp>(createTakeOverBlocks());
  passes.addNestedPass<func::FuncOp>(createAssignSpaces());
  passes.addNestedPass<func::FuncOp>(createBindEngines({architecture.name, options.plain}));
  passes.addNestedPass<func::FuncOp>(createOverlapProducts());
  passes.addNestedPass<func::FuncOp>(createPlaceAccumulators());
  passes.addNestedPass<func::FuncOp>(createPlaceOperands());
  passes.addNestedPass<func::FuncOp>(createAssignRoles());
  passes.addNestedPass<func::FuncOp>(createShareCopies());
  passes.addNestedPass<func::FuncOp>(createWritePlans({options.omittedPoint}));
  passes.addNestedPass<func::FuncOp>(createExecuteInOrder());
  passes.addNestedPass<func::FuncOp>(createAddTiles());
  passes.addNestedPass<func::FuncOp>(createStageStores());
  passes.addNestedPass<func::FuncOp>(createRequestBlocks());
}

void penstock::buildDevicePipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                   const DevicePipelineOptions &options) {
  if (options.contract)
    passes.addNestedPass<func::FuncOp>(createAllowContraction());
  if (options.warpSpecialize) {
    passes.addNestedPass<func::FuncOp>(createOpenStatements());
    buildSchedulePipeline(passes, architecture, options.plain);
    buildBlockPipeline(passes, architecture, options);
  } else {
    passes.addNestedPass<func::FuncOp>(createFlattenTiles());
    passes.addNestedPass<func::FuncOp>(createAttachTarget({architecture.name, false}));
  }
  passes.addNestedPass<func::FuncOp>(createAssignLayouts());
  passes.addNestedPass<func::FuncOp>(createPlanMemory());
  passes.addNestedPass<func::FuncOp>(createInsertSyncs());
  if (options.checkBarriers)
    passes.addNestedPass<func::FuncOp>(createCheckBarriers());
  passes.addNestedPass<func::FuncOp>(createAdvanceSlots());
  passes.addNestedPass<func::FuncOp>(createNarrowMasks());
  passes.addNestedPass<func::FuncOp>(createSkipIdentities());
  passes.addNestedPass<func::FuncOp>(createNarrowIndexCasts());
  passes.addNestedPass<func::FuncOp>(createUnrollLoops());
  passes.addPass(createLowerLaunch({/*requirements=*/true, /*clusters=*/options.warpSpecialize}));
  // Explicit kernels slice rings in their innermost loops; what is outside reads as zero.
  passes.addPass(
      createGuardFaults({/*keepElements=*/true, /*memoryIn=*/nv::NVDialect::inOrderAttr.str()}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // From here on LLVM finds what is common: upstream's CSE looks at everything
  // between two loads, and there are thousands of them.
  passes.addPass(createLowerThreads({architecture.name}));
  passes.addPass(createExpandNarrowFloats({/*convertsBf16=*/true}));
  passes.addPass(createLowerThreadsToLLVM());
  // Locations in the user's source become `.loc` lines of the PTX. With any other kind
  // of debug information the assembler would not optimize.
  passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass({LLVM::DIEmissionKind::DebugDirectivesOnly}));
}

namespace {

struct NativeOptions : PassPipelineOptions<NativeOptions> {
  Option<bool> late{*this, "late", llvm::cl::desc("let asynchronous operations complete late"),
                    llvm::cl::init(false)};
  Option<unsigned> vectorBits{*this, "vector-bits",
                              llvm::cl::desc("width of the target's vector registers"),
                              llvm::cl::init(512)};
  Option<bool> tiles{*this, "tiles", llvm::cl::desc("the target has AMX"), llvm::cl::init(false)};
  Option<bool> tilesF16{*this, "tiles-f16", llvm::cl::desc("the target has AMX for f16"),
                        llvm::cl::init(false)};
  Option<bool> dots{*this, "dots", llvm::cl::desc("the target has AVX-512 BF16 and VNNI"),
                    llvm::cl::init(false)};

  NativePipelineOptions get() const {
    NativePipelineOptions result;
    result.lateCompletion = late;
    result.cpu.vectorBits = vectorBits;
    result.cpu.tiles = tiles;
    result.cpu.tilesF16 = tilesF16;
    result.cpu.dotBf16 = result.cpu.dotI8 = dots;
    return result;
  }
};

struct GpuOptions : PassPipelineOptions<GpuOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("sm_80 to sm_120a"),
                             llvm::cl::init("sm_90a")};
  Option<bool> isExplicit{*this, "explicit",
                          llvm::cl::desc("the kernel says itself what threads do"),
                          llvm::cl::init(false)};
  Option<bool> plain{*this, "plain", llvm::cl::desc("no row is a multiple of 16 bytes"),
                     llvm::cl::init(false)};
};

} // namespace

void penstock::registerPasses() {
  registerPenstockAnalysisPasses();
  registerPenstockTransformsPasses();
  registerPenstockX86Passes();
  registerPenstockNVPTXPasses();
  registerTransformsPasses(); // upstream's canonicalize, cse, ...
  PassPipelineRegistration<NativeOptions>("penstock-native-loops",
                                          "From a tile program to loops over elements",
                                          [](OpPassManager &passes, const NativeOptions &options) {
                                            buildNativeLoopPipeline(passes, options.get());
                                          });
  PassPipelineRegistration<NativeOptions>("penstock-native",
                                          "From a tile program to the LLVM dialect for the host",
                                          [](OpPassManager &passes, const NativeOptions &options) {
                                            buildNativeLoopPipeline(passes, options.get());
                                            buildNativeLLVMPipeline(passes, options.get().cpu);
                                          });
  registerPassPipeline(
      "penstock-gpu", "From a tile program or an explicit kernel to the LLVM dialect for a GPU",
      [](OpPassManager &passes, StringRef text,
         llvm::function_ref<LogicalResult(const Twine &)> refuse) -> LogicalResult {
        GpuOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        const hw::Architecture *architecture = hw::findArchitecture(options.target);
        if (!architecture || architecture->family == hw::Architecture::Family::X86)
          return refuse("unknown GPU `" + Twine(options.target.getValue()) + "`");
        buildDevicePipeline(passes, *architecture,
                            {.warpSpecialize = !options.isExplicit, .plain = options.plain});
        return success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> list) { list(GpuOptions()); });
}

void penstock::registerDialects(DialectRegistry &registry) {
  registry.insert<nv::NVDialect, tile::TileDialect, affine::AffineDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  func::registerAllExtensions(registry);
  registerInterpreterModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void penstock::loadRecordedDialects(MLIRContext &context) {
  context.loadDialect<nv::NVDialect, tile::TileDialect, arith::ArithDialect, func::FuncDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect>();
}
