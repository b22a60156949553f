//===- LowerThreads.cpp - Say what each thread of a kernel does -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/LLVM/LaunchAttribute.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Plans/RegisterPool.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "Transforms/Launch/Faults.h"
#include "Transforms/Launch/KernelAbi.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERTHREADS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Initializes barriers and tensor memory. All threads see both before anything else runs.
static void startBlock(LoweringContext &c) {
  nameTensorTiles(c);
  if (c.shared.barriers.empty() && c.tensorMemory.allocations.empty())
    return; // nothing that other threads or blocks must find ready
  initializeBarriers(c);
  allocateTensorMemory(c);
  if (c.mode.cluster > 1)
    syncCluster(c);
  else
    syncThreads(c, ExecutionScope());
  loadTensorBases(c);
}

/// Reads the parameter, and assigns storage to tiles and barriers.
static LogicalResult startKernel(LoweringContext &c) {
  mlir::Block &body = c.kernel.getBody().front();
  MLIRContext *context = c.kernel.getContext();
  c.parameters.address = body.insertArgument(0u, LLVM::LLVMPointerType::get(context), c.loc);
  c.builder.setInsertionPointToStart(&body);
  layOutParameter(c);
  {
    OpBuilder::InsertionGuard guard(c.builder);
    c.builder.setInsertionPointToStart(c.kernel->getParentOfType<ModuleOp>().getBody());
    auto bytes = LLVM::LLVMArrayType::get(c.builder.getI8Type(), 0);
    LLVM::GlobalOp::create(c.builder, c.loc, bytes, /*isConstant=*/false, LLVM::Linkage::External,
                           "penstock_shared", Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  }
  c.shared.base = LLVM::AddressOfOp::create(
      c.builder, c.loc, LLVM::LLVMPointerType::get(context, 3), "penstock_shared");
  for (BlockArgument argument : body.getArguments().slice(1, c.mode.ownArguments))
    if (auto bytes = c.kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber() - 1,
                                                            nv::NVDialect::rowBytesAttr))
      needRows(c, argument, unsigned(bytes.getInt()), /*multiple=*/unsigned(bytes.getInt()));
  c.shared.base32 =
      LLVM::PtrToIntOp::create(c.builder, c.loc, c.builder.getI32Type(), c.shared.base);
  c.thread = c.ptxValue(c.builder.getI32Type(), "mov.u32 $0, %tid.x;");
  if (failed(placeShared(c)))
    return failure();
  allocateRegisters(c);
  c.table.prepare(c);

  // The block's number replaces the launch's extra argument.
  Value block = c.ptxValue(c.builder.getI32Type(), "mov.u32 $0, %ctaid.x;");
  body.getArgument(1 + c.mode.ownArguments + abi::Block).replaceAllUsesWith(c.asIndex(block));
  for (BlockArgument argument : body.getArguments().slice(1, c.mode.ownArguments))
    if (!isa<MemRefType>(argument.getType()) && !argument.use_empty())
      argument.replaceAllUsesWith(
          parameter(c, ParameterField::Scalar, argument.getArgNumber() - 1));
  return success();
}

/// Records the first fault of a launch; threads go on after it.
static void lowerFaults(LoweringContext &c) {
  SmallVector<func::CallOp> calls;
  c.kernel.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    c.builder.setInsertionPoint(call);
    c.loc = call.getLoc();
    Value record = LLVM::IntToPtrOp::create(c.builder, c.loc,
                                            LLVM::LLVMPointerType::get(c.kernel.getContext(), 1),
                                            parameter(c, ParameterField::Faults, 0));
    Value number = arith::AddIOp::create(c.builder, c.loc, call.getOperand(1), c.i32(1));
    LLVM::AtomicCmpXchgOp::create(c.builder, c.loc, record, c.i32(0), number,
                                  LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic,
                                  "device");
    call.erase();
  }
  if (Operation *function = c.kernel->getParentOfType<ModuleOp>().lookupSymbol(abi::faultFn))
    function->erase();
}

/// Erases views and allocations whose users have been lowered, then the arguments.
static void eraseDead(LoweringContext &c) {
  bool changed = true;
  while (changed) {
    changed = false;
    c.kernel.walk([&](Operation *op) {
      if (!op->use_empty())
        return;
      if (isa<memref::CastOp, memref::SubViewOp, memref::TransposeOp, memref::DimOp, tile::AllocOp,
              nv::BarrierAllocOp, nv::NamedBarrierAllocOp, nv::TensorAllocOp>(op)) {
        op->erase();
        changed = true;
      }
    });
  }
  mlir::Block &body = c.kernel.getBody().front();
  while (body.getNumArguments() > 1)
    body.eraseArgument(body.getNumArguments() - 1);
  c.kernel.removeArgAttrsAttr();
}

/// Lowers a kernel, and erases the function that its launch evaluates.
static LogicalResult lowerKernel(func::FuncOp kernel, func::FuncOp launch,
                                 const LoweringTable &table, DeviceKernel &result) {
  const hw::Architecture &architecture = architectureOf(kernel);
  auto threads = kernel->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr);
  if (!threads)
    return tile::emitCoded(kernel, HardwareScope)
           << "the kernel does not say how many threads a block has";
  result.name = kernel.getName().str();
  result.architecture = architecture.name;
  result.threads = unsigned(threads.getInt());
  result.cluster = {unsigned(nv::clusterSize(kernel)), 1, 1};
  if (failed(nv::checkArchitecture(kernel, architecture)) ||
      failed(shareRegisters(kernel, architecture, result)) || failed(readLaunch(launch, result)))
    return failure();
  result.faults = faultsOf(kernel->getParentOfType<ModuleOp>());

  LoweringContext c(kernel, architecture, table, result);
  if (failed(startKernel(c)))
    return failure();
  ExecutionScope all;
  all.scope.warps = result.threads / nv::warpSize;
  Value first = c.cmp(arith::CmpIPredicate::ult, c.thread, c.i32(nv::warpSize));
  all.leader = arith::AndIOp::create(c.builder, c.loc, electedThread(c), first);
  all.group = warpgroupOf(c, kernel, 0, all.scope.warps);
  startBlock(c);
  if (failed(lowerBlock(c, kernel.getBody().front(), all)))
    return failure();
  prefetchTensorMaps(c);
  lowerFaults(c);
  eraseDead(c);
  // The time of later passes grows superlinearly with the code.
  size_t operations = 0;
  kernel.walk([&](Operation *) { ++operations; });
  if (operations > 60000) {
    auto diagnostic = tile::emitCoded(kernel, TooLarge)
                      << "the kernel becomes more than 60000 operations of each thread";
    tile::attachHelp(diagnostic) << "unroll less, or let more threads share a tile: each executes "
                                    "its elements one by one";
    return diagnostic;
  }
  result.parameterBytes = (result.parameterBytes + 63) / 64 * 64;
  kernel.setType(c.builder.getFunctionType({c.parameters.address.getType()}, {}));
  // The kernel becomes an ordinary function; the result has the launch data.
  for (NamedAttribute attribute : llvm::to_vector(kernel->getDiscardableAttrs()))
    if (isa_and_nonnull<nv::NVDialect, tile::TileDialect>(attribute.getNameDialect()))
      kernel->removeAttr(attribute.getName());
  for (StringRef attribute : {abi::packAttr, abi::launchSizeAttr})
    kernel->removeAttr(attribute);
  launch.erase();
  return success();
}

namespace {

struct LowerThreads : penstock::impl::LowerThreadsBase<LowerThreads> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(tile::TileDialect::kernelAttr))
        kernels.push_back(function);
    LoweringTable table = allLowerings();
    for (func::FuncOp kernel : kernels) {
      if (failed(enterPhase(kernel, nv::Phase::Placed, getArgument())))
        return signalPassFailure();
      std::string launchName = (kernel.getName() + abi::launchSuffix).str();
      auto launch = module.lookupSymbol<func::FuncOp>(launchName);
      if (!launch) {
        kernel.emitError() << "`" << getArgument() << "` requires `@" << launchName
                           << "`, which `tile-lower-launch` creates";
        return signalPassFailure();
      }
      DeviceKernel result;
      if (failed(lowerKernel(kernel, launch, table, result)))
        return signalPassFailure();
      setLaunchData(module, result);
    }
  }
};

} // namespace
