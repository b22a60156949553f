//===- LowerBarriers.cpp - Barriers, and what precedes the kernel ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/Lowering.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// An allocation has a power of two of columns. Tiles have one each, which other blocks can use
/// better, unless these are too many: then all of a tile program are allocated at once.
void Lowering::divideTensorMemory() {
  auto allocatedColumns = [](int64_t columns) {
    return int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(32, columns))));
  };
  TensorAllocation all{0, {}};
  int64_t sum = 0;
  kernel.walk([&](nv::TensorAllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    int64_t columns = allocatedColumns(nv::tensorColumns(type));
    // The hardware forbids an allocation that is larger than the one before it.
    auto *behind = llvm::find_if(
        tensorAllocations, [&](const TensorAllocation &other) { return other.columns < columns; });
    tensorAllocations.insert(behind, {columns, {op}});
    sum += columns;
    all.tiles.push_back(op);
    all.columns += takenColumns(type);
  });
  if (inOrder && sum > architecture.limits.tensorColumns) {
    all.columns = allocatedColumns(all.columns);
    tensorAllocations = {all};
  }
}

/// Barriers are initialized by one thread, tensor memory is allocated by one
/// warp; all threads see both before anything else runs.
void Lowering::initialize() {
  SmallVector<nv::BarrierAllocOp> barriers;
  kernel.walk([&](nv::BarrierAllocOp op) { barriers.push_back(op); });
  // Each gets the first columns that are free.
  int64_t column = 0;
  for (TensorAllocation &allocation : tensorAllocations) {
    int64_t offset = column;
    for (nv::TensorAllocOp op : allocation.tiles) {
      bool alone = allocation.tiles.size() == 1;
      int64_t columns = alone ? allocation.columns : takenColumns(op.getResult());
      nameStorage(op, StorageName::Tensor, offset, columns, 0);
      offset += columns;
    }
    column += allocation.columns;
  }
  if (barriers.empty() && tensorAllocations.empty())
    return; // nothing that other threads or blocks must find ready
  if (!barriers.empty())
    when(cmp(arith::CmpIPredicate::eq, thread, i32(0)), [&] {
      for (nv::BarrierAllocOp op : barriers)
        for (auto [i, count] : llvm::enumerate(op.getCounts()))
          ptx("mbarrier.init.shared::cta.b64 [$0], $1;",
              {sharedAddress(i32(barrierOffsets.lookup(op.getResult()) + int64_t(i) * 8)),
               i32(count)});
      ptx("fence.mbarrier_init.release.cluster;");
    });
  if (!tensorAllocations.empty())
    when(cmp(arith::CmpIPredicate::ult, thread, i32(nv::warpSize)), [&] {
      for (TensorAllocation &allocation : tensorAllocations) {
        // Who forgets to free it is shown where it was asked for.
        llvm::SaveAndRestore<Location> here(loc, allocation.tiles.front().getLoc());
        ptx("tcgen05.alloc" + ctaGroup() + ".sync.aligned.shared::cta.b32 [$0], $1;",
            {sharedAddress(i32(allocation.slot)), i32(allocation.columns)});
      }
      ptx("tcgen05.relinquish_alloc_permit" + ctaGroup() + ".sync.aligned;");
    });
  if (cluster > 1)
    lowerClusterSync();
  else
    lowerSync(ExecutionScope());
  for (TensorAllocation &allocation : tensorAllocations) {
    Value base = LLVM::LoadOp::create(builder, loc, builder.getI32Type(),
                                      sharedPointer(i32(allocation.slot)));
    int64_t offset = 0;
    for (nv::TensorAllocOp op : allocation.tiles) {
      tensorBases[op.getResult()] = add(base, offset);
      offset += takenColumns(op.getResult());
    }
  }
}

void Lowering::lowerTensorDealloc(nv::TensorDeallocOp op) {
  for (TensorAllocation &allocation : tensorAllocations)
    if (allocation.tiles.front().getResult() == op.getTile()) // the first stands for all
      when(cmp(arith::CmpIPredicate::ult, thread, i32(nv::warpSize)), [&] {
        ptx("tcgen05.dealloc" + ctaGroup() + ".sync.aligned.b32 $0, $1;",
            {tensorBases.lookup(op.getTile()), i32(allocation.columns)});
      });
}

// Barriers that release and acquire order tcgen05 operations like all others; only
// relaxed ones need tcgen05.fence beside them.

void Lowering::lowerClusterSync() {
  ptx("barrier.cluster.arrive.release.aligned;");
  ptx("barrier.cluster.wait.acquire.aligned;");
}

void Lowering::lowerSync(const ExecutionScope &by) {
  if (by.scope.wholeBlock)
    ptx("bar.sync 0;");
  else
    ptx(("bar.sync " + Twine(by.barrier) + ", " + Twine(by.scope.warps * nv::warpSize) + ";")
            .str()); // as constants, or the assembler would reserve all barriers
}

LogicalResult Lowering::takeBarrier(Operation *op) {
  if (++nextBarrier <= 16)
    return success();
  return tile::emitCoded(op, HardwareBarrier)
         << "the kernel needs more than the 16 barriers of a block";
}

void Lowering::lowerNamedBarrier(Operation *op) {
  Value barrier = op->getOperand(0);
  bool waits = isa<nv::NamedBarrierSyncOp>(op);
  ptx(((waits ? "bar.sync " : "bar.arrive ") + Twine(namedBarriers.lookup(barrier)) + ", " +
       Twine(cast<nv::NamedBarrierType>(barrier.getType()).getThreads()) + ";")
          .str());
}

void Lowering::lowerArrive(nv::ArriveOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  if (op.getCta())
    barrier = ptxValue(builder.getI32Type(), "mapa.shared::cluster.u32 $0, $1, $2;",
                       {barrier, asI32(op.getCta())});
  if (usesTensorMemory && op.getRelaxed())
    ptx("tcgen05.fence::before_thread_sync;");
  std::string semantics = op.getRelaxed() ? ".relaxed" : ".release";
  semantics += op.getCluster() || op.getCta() ? ".cluster" : ".cta";
  semantics += op.getCta() ? ".shared::cluster" : ".shared::cta";
  if (op.getBytes())
    ptx("mbarrier.arrive.expect_tx" + semantics + ".b64 _, [$0], $1;",
        {barrier, asI32(op.getBytes())});
  else
    ptx(op.getEachWarp() ? "{ .reg .pred one; elect.sync _|one, 0xffffffff; @one mbarrier.arrive" +
                               semantics + ".b64 _, [$0]; }"
                         : "mbarrier.arrive" + semantics + ".b64 _, [$0];",
        {barrier});
}

void Lowering::lowerCommit(nv::TensorCommitOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  std::string commit =
      "@issuer tcgen05.commit" + ctaGroup() + ".mbarrier::arrive::one.shared::cluster";
  if (op.getMulticast())
    ptx(commit + ".multicast::cluster.b64 [$0], $1;", {barrier, blockMask(op.getMulticast())});
  else if (pair) // on the same barrier of both blocks
    ptx(commit + ".multicast::cluster.b64 [$0], $1;", {barrier, blockMask(i32(3))});
  else
    ptx(commit + ".b64 [$0];", {barrier});
}

void Lowering::lowerTryWait(nv::TryWaitOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  std::string scope = op.getCluster() ? ".cluster" : ".cta";
  std::string time = op.getNanoseconds() ? ", " + std::to_string(*op.getNanoseconds()) : "";
  Value complete =
      inlinePtx()
          .output(builder.getI32Type())
          .inputs({barrier, op.getPhase()})
          .emit("{ .reg .pred done; mbarrier.try_wait.parity.acquire" + scope +
                    ".shared::cta.b64 done, [$1], $2" + time + "; selp.b32 $0, 1, 0, done; }",
                PtxEffects::Memory)[0];
  op.replaceAllUsesWith(cmp(arith::CmpIPredicate::ne, complete, i32(0)));
}

void Lowering::lowerWait(nv::WaitOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  std::string semantics = op.getRelaxed() ? ".relaxed" : ".acquire";
  semantics += op.getCluster() ? ".cluster" : ".cta";
  ptx("{ .reg .pred done; wait_${:uid}: mbarrier.try_wait.parity" + semantics +
          ".shared::cta.b64 done, [$0], $1; @!done bra wait_${:uid}; }",
      {barrier, op.getPhase()});
  if (op.getRelaxed() && usesTensorMemory)
    ptx("tcgen05.fence::after_thread_sync;");
}
