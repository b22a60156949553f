//===- Pipelines.cpp - The passes of each target, in order ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Pipelines.h"
#include "Analysis/Passes.h"
#include "Compiler/PassOrder.h"
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

//===----------------------------------------------------------------------===//
// CPUs
//===----------------------------------------------------------------------===//

/// Adds a pass on each function of the module.
static void addNested(OpPassManager &passes, std::unique_ptr<Pass> pass) {
  passes.addNestedPass<func::FuncOp>(std::move(pass));
}

void penstock::buildSchedulePipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                     bool plain) {
  addNested(passes, createAttachTarget({architecture.name}));
  addNested(passes, createFlattenTiles());
  bool scales = architecture.scales != hw::BlockScales::None;
  if (scales && !plain)
    addNested(passes, createPadOperands());
  addNested(passes, createExpandScaledProducts({/*unpadded=*/scales}));
  addNested(passes, createResolveSchedules());
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
  else
    passes.addNestedPass<func::FuncOp>(createDropSchedules());
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

//===----------------------------------------------------------------------===//
// GPUs
//
// Each pass declares the phase that it requires (Target/NVPTX/*Passes.td). PassOrder.cpp has
// the rules, with reasons, for passes of one phase. Neighbors that neither orders can be
// swapped: docs/contributing/pass-order.md lists all pairs.
//===----------------------------------------------------------------------===//

/// Ends a phase: checks what the passes of the next one rely on. \p after is the last pass.
static void endPhase(OpPassManager &passes, const DevicePipelineOptions &options, nv::Phase phase,
                     const char *after) {
  if (options.verifyPhases)
    addNested(passes, createVerifyPhase({nv::stringifyPhase(phase).str(), after}));
}

void penstock::buildTilePipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                 const DevicePipelineOptions &options) {
  addNested(passes, createStartKernel({/*alignedRows=*/!options.plain, /*isExplicit=*/false}));
  addNested(passes, createOpenStatements());
  buildSchedulePipeline(passes, architecture, options.plain);
  addNested(passes, createChooseThreads());
  addNested(passes, createTakeOverBlocks());
  addNested(passes, createAssignSpaces());
  addNested(passes, createBindEngines());
  endPhase(passes, options, nv::Phase::Bound, "nv-bind-engines");
}

void penstock::buildBlockPipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                  const DevicePipelineOptions &options) {
  buildTilePipeline(passes, architecture, options);
  addNested(passes, createOverlapProducts());
  addNested(passes, createPlaceAccumulators());
  addNested(passes, createPlaceOperands());
  addNested(passes, createAssignRoles());
  addNested(passes, createShareCopies());
  endPhase(passes, options, nv::Phase::Bound, "nv-share-copies");
  addNested(passes, createWritePlans({options.omittedPoint}));
  endPhase(passes, options, nv::Phase::Pipelined, "nv-write-plans");
  addNested(passes, createExecuteInOrder());
  addNested(passes, createLoadTiles());
  addNested(passes, createAddTiles());
  addNested(passes, createZeroAccumulators());
  addNested(passes, createStageStores());
  addNested(passes, createHintCaches());
  addNested(passes, createRequestBlocks());
  endPhase(passes, options, nv::Phase::Ordered, "nv-request-blocks");
}

void penstock::buildMemoryPipeline(OpPassManager &passes) {
  addNested(passes, createAssignLayouts());
  addNested(passes, createPlanMemory());
  addNested(passes, createInsertSyncs());
}

void penstock::buildDevicePipeline(OpPassManager &passes, const hw::Architecture &architecture,
                                   const DevicePipelineOptions &options) {
  if (options.contract)
    addNested(passes, createAllowContraction());
  if (options.warpSpecialize) {
    buildBlockPipeline(passes, architecture, options);
  } else {
    addNested(passes, createAttachTarget({architecture.name}));
    addNested(passes, createStartKernel({/*alignedRows=*/false, /*isExplicit=*/true}));
    addNested(passes, createFlattenTiles());
  }
  buildMemoryPipeline(passes);
  endPhase(passes, options, nv::Phase::Placed, "nv-insert-syncs");
  if (options.checkBarriers)
    addNested(passes, createCheckBarriers());
  addNested(passes, createPrefetchScalars());
  addNested(passes, createAdvanceSlots());
  addNested(passes, createNarrowMasks());
  addNested(passes, createSkipIdentities());
  addNested(passes, createNarrowIndexCasts());
  addNested(passes, createUnrollLoops());
  endPhase(passes, options, nv::Phase::Placed, "tile-unroll-loops");
  passes.addPass(createLowerLaunch({/*requirements=*/true, /*clusters=*/options.warpSpecialize}));
  // Explicit kernels slice rings in their innermost loops; what is outside reads as zero.
  passes.addPass(createGuardFaults(
      {/*keepElements=*/true, /*memoryIn=*/nv::NVDialect::tileProgramAttr.str()}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLowerThreads());
  passes.addPass(createExpandNarrowFloats({/*convertsBf16=*/true}));
  passes.addPass(createLowerThreadsToLLVM());
  // Locations in the user's source become `.loc` lines of the PTX. With any other kind
  // of debug information the assembler would not optimize.
  passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass({LLVM::DIEmissionKind::DebugDirectivesOnly}));
  assert(!brokenRule(passes) && "passes are in an order that PassOrder.cpp forbids");
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

  Option<bool> contract{*this, "contract", llvm::cl::desc("allow fused multiply-adds"),
                        llvm::cl::init(false)};

  NativePipelineOptions get() const {
    NativePipelineOptions result;
    result.contract = contract;
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
  Option<bool> contract{*this, "contract", llvm::cl::desc("allow fused multiply-adds"),
                        llvm::cl::init(false)};
};

} // namespace

void penstock::registerPasses() {
  registerPenstockAnalysisPasses();
  registerPenstockTransformsPasses();
  registerPenstockX86Passes();
  registerPenstockNVPTXPasses();
  registerTransformsPasses(); // upstream's canonicalize, cse, ...
  LLVM::registerLLVMPasses(); // so that the text of a pipeline can be parsed again
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
                            {.warpSpecialize = !options.isExplicit,
                             .plain = options.plain,
                             .contract = options.contract,
                             .verifyPhases = true});
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
