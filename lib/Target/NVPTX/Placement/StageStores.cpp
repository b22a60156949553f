//===- StageStores.cpp - The pass nv-stage-stores -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In accumulator layouts, one or a few threads hold pieces of a row, so direct stores use
// only a part of each memory transaction. Through shared memory, TMA stores whole rows.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/TileMemory.h"
#include "Analysis/Value/ValueRanges.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Placement/SharedTiles.h"
#include "mlir/IR/Verifier.h"

namespace penstock {
#define GEN_PASS_DEF_STAGESTORES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

MemRefType typeOf(Value memref) { return cast<MemRefType>(memref.getType()); }

class Stager {
public:
  Stager(func::FuncOp kernel, const hw::Architecture &architecture)
      : kernel(kernel), limit(architecture.limits.sharedBytesPerBlock), b(kernel.getContext()) {}

  void run() {
    findScratch();
    SmallVector<tile::CopyOp> copies;
    kernel.walk([&](tile::CopyOp copy) {
      if (canStage(copy))
        copies.push_back(copy);
    });
    for (tile::CopyOp copy : copies)
      stage(copy);
    for (auto [block, last] : ended) {
      b.setInsertionPointAfter(last);
      loc = last.getLoc();
      endStores();
    }
  }

private:
  /// Finds the largest tile that may be exchanged through shared memory.
  void findScratch() {
    kernel.walk([&](tile::AllocOp alloc) {
      auto type = typeOf(alloc.getResult());
      if (tile::spaceOf(type) == tile::Space::Local && type.getRank() != 0 &&
          mayBeExchanged(alloc.getResult()))
        scratch = std::max(scratch, type.getNumElements() * type.getElementTypeBitWidth() / 8);
    });
  }

  /// Shared memory that other tiles take while a result is stored, generously.
  int64_t usedBytes(tile::CopyOp copy) {
    constexpr int64_t alignment = 1024; // of tiles that engines access
    int64_t bytes = alignment;
    for (tile::AllocOp tile : nvptx::sharedTiles(kernel))
      if (!nvptx::isFreedBefore(tile, copy))
        bytes += llvm::alignTo(nvptx::allocationOf(tile).bytes(), alignment);
    kernel.walk(
        [&](nv::BarrierAllocOp barriers) { bytes += 8 * int64_t(barriers.getCounts().size()); });
    return bytes;
  }

  /// Returns whether threads may exchange elements of a local tile through shared memory: where
  /// they reduce it, or its layout differs from that of another tile.
  static bool mayBeExchanged(Value tile) {
    return !llvm::all_of(tile.getUsers(), [](Operation *user) {
      if (auto copy = dyn_cast<tile::CopyOp>(user))
        return copy.writesTensor();
      return isa<tile::FillOp>(user) || isa<nv::NVDialect>(user->getDialect());
    });
  }

  /// Returns whether a local tile is a result of the tensor core, or computed from one.
  bool holdsProduct(Value tile) {
    return llvm::any_of(tile.getUsers(), [&](Operation *user) {
      if (auto product = dyn_cast<nv::WgmmaOp>(user))
        return product.getAcc() == tile;
      if (auto load = dyn_cast<nv::TensorLoadOp>(user))
        return load.getTarget() == tile;
      return false;
    });
  }

  /// Returns whether only one operation accesses a tensor: engines take another path to memory than
  /// threads.
  bool isOnlyAccess(tile::CopyOp copy, Value tensor) {
    if (auto argument = dyn_cast<BlockArgument>(tensor);
        argument && kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr))
      return false;
    return llvm::all_of(tensor.getUsers(),
                        [&](Operation *user) { return user == copy || isa<memref::DimOp>(user); });
  }

  bool canStage(tile::CopyOp copy) {
    Value tile = copy.getSource();
    if (!copy.writesTensor() || !tile.getDefiningOp<tile::AllocOp>() ||
        tile::spaceOf(typeOf(tile)) != tile::Space::Local || typeOf(tile).getRank() != 2 ||
        !holdsProduct(tile) || !isOnlyAccess(copy, copy.getTarget()))
      return false;
    if (!llvm::all_of(copy.getTargetOffsets(), isNonNegative))
      return false;
    SmallVector<int64_t> dims = copy.getTensorDims();
    int64_t last = typeOf(copy.getTarget()).getRank() - 1;
    return dims.size() >= 2 && dims.back() == last;
  }

  /// The load of an accumulator whose registers are only there to be stored.
  nv::TensorLoadOp loadFor(tile::CopyOp copy) {
    nv::TensorLoadOp load;
    for (Operation *user : copy.getSource().getUsers()) {
      if (user == copy || isa<tile::FillOp>(user))
        continue;
      if (load || !(load = dyn_cast<nv::TensorLoadOp>(user)))
        return {};
    }
    if (!load)
      return {};
    return load->getBlock() == copy->getBlock() && load->isBeforeInBlock(copy) ? load
                                                                               : nv::TensorLoadOp();
  }

  void stage(tile::CopyOp copy) {
    auto type = typeOf(copy.getSource());
    Type stored = typeOf(copy.getTarget()).getElementType();
    nv::TensorLoadOp load = loadFor(copy);
    int64_t columns = stagedColumns(type, stored, /*inTensorMemory=*/bool(load));
    auto slabType = tile::tileType({type.getDimSize(0), columns}, stored, tile::Space::Shared);
    int64_t bytes =
        llvm::alignTo(slabType.getNumElements() * stored.getIntOrFloatBitWidth() / 8, 1024);
    if (usedBytes(copy) + bytes + (load ? 0 : scratch) > limit || !isLegal(copy, slabType))
      return;
    loc = copy.getLoc();
    Value slab = allocate(slabType, tile::nameOf(copy.getSource()) + " staged");
    b.setInsertionPoint(copy);
    bool repeated = bool(copy->getParentOfType<scf::ForOp>());
    if (!load) {
      moveTile(copy.getSource(), slab);
      store(copy, slab, 0, /*stagedAgain=*/repeated);
    } else {
      auto part =
          tile::tileType({type.getDimSize(0), columns}, type.getElementType(), tile::Space::Local);
      int64_t count = type.getDimSize(1) / columns;
      SmallVector<Value> slabs = {slab};
      if (count > 1 && usedBytes(copy) + bytes <= limit) // with the first one
        slabs.push_back(allocate(slabType, tile::nameOf(copy.getSource()) + " staged"));
      for (int64_t i = 0; i < count; ++i) {
        Value registers = allocate(part, "");
        loadColumns(load, registers, i * columns, columns);
        if (i + 1 == count)
          releaseAccumulator(copy);
        moveTile(registers, slabs[size_t(i) % slabs.size()]);
        if (slabs.size() > 1)
          storeInTurn(copy, slabs[size_t(i) % 2], i * columns, i, count, repeated);
        else
          store(copy, slab, i * columns, /*stagedAgain=*/repeated || i + 1 < count);
      }
      eraseLoad(load);
      for (Operation *user : llvm::make_early_inc_range(copy.getSource().getUsers()))
        if (user != copy)
          user->erase();
    }
    Operation *tile = copy.getSource().getDefiningOp();
    copy.erase();
    if (tile->use_empty())
      tile->erase();
  }

  /// Erases a load with its wait and fences.
  static void eraseLoad(nv::TensorLoadOp load) {
    if (auto before = dyn_cast_or_null<nv::TensorFenceOp>(load->getPrevNode()))
      before.erase();
    while (isa_and_nonnull<nv::TensorWaitLoadOp, nv::TensorFenceOp>(load->getNextNode()))
      load->getNextNode()->erase();
    load.erase();
  }

  /// Loads columns of an accumulator from \p n on.
  void loadColumns(nv::TensorLoadOp load, Value registers, int64_t n, int64_t columns) {
    SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), b.getIndexAttr(n)};
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(typeOf(registers).getDimSize(0)),
                                       b.getIndexAttr(columns)};
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    Value slice = memref::SubViewOp::create(b, loc, load.getSource(), offsets, sizes, strides);
    auto columnsLoad = nv::TensorLoadOp::create(b, loc, slice, registers);
    columnsLoad->setDiscardableAttrs(load->getDiscardableAttrDictionary());
    nv::TensorWaitLoadOp::create(b, loc);
  }

  Value allocate(MemRefType type, const Twine &label) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    return tile::AllocOp::create(b, loc, type, b.getStringAttr(label), IntegerAttr());
  }

  void moveTile(Value from, Value to) {
    tile::CopyOp::create(b, loc, from, ValueRange{}, to, ValueRange{}, Value(), Value(),
                         DenseI64ArrayAttr(), StringAttr());
  }

  nv::TmaStoreOp storeOp(tile::CopyOp copy, Value slab, int64_t n) {
    SmallVector<Value> offsets(copy.getTargetOffsets());
    if (n)
      offsets.back() = arith::AddIOp::create(b, copy.getLoc(), offsets.back(),
                                             arith::ConstantIndexOp::create(b, copy.getLoc(), n));
    return nv::TmaStoreOp::create(b, copy.getLoc(), slab, copy.getTarget(), offsets,
                                  copy.getDimsAttr(), copy.getRowsAttr());
  }

  void store(tile::CopyOp copy, Value slab, int64_t n, bool stagedAgain) {
    nv::ProxyFenceOp::create(b, loc);
    nv::SyncOp::create(b, loc);
    nv::TmaStoreOp last = storeOp(copy, slab, n);
    if (stagedAgain) {
      endStores();
      nv::SyncOp::create(b, loc); // before the next tile is staged
    } else {
      // While this tile is stored, others are staged elsewhere.
      ended[copy->getBlock()] = last;
    }
  }

  /// Stores a slab through one of two buffers in turn. Threads write one buffer while TMA reads the
  /// other, so each slab needs one barrier: after its buffer is written and the other one is read.
  void storeInTurn(tile::CopyOp copy, Value slab, int64_t n, int64_t i, int64_t count,
                   bool repeated) {
    nv::ProxyFenceOp::create(b, loc);
    if (i)
      nv::TmaWaitOp::create(b, loc, 0, /*read=*/true);
    nv::SyncOp::create(b, loc);
    nv::TmaStoreOp last = storeOp(copy, slab, n);
    if (i + 1 < count) {
      nv::TmaCommitOp::create(b, loc);
      return;
    }
    if (!repeated) {
      ended[copy->getBlock()] = last;
      return;
    }
    endStores();
    if (count % 2) // the next tile begins with the slab that was stored last
      nv::SyncOp::create(b, loc);
  }

  /// Lets the next products have the accumulator as soon as its last columns are in registers:
  /// moves the arrival behind the copy that says so.
  void releaseAccumulator(tile::CopyOp copy) {
    SmallVector<Operation *> ops;
    for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
      bool arrives = isa<nv::ArriveOp>(op);
      if (!arrives && !isPure(op) &&
          !isa<nv::TensorWaitLoadOp, nv::TensorFenceOp, nv::WarpSyncOp>(op))
        return;
      ops.push_back(op);
      if (arrives)
        break;
    }
    if (ops.empty() || !isa<nv::ArriveOp>(ops.back()))
      return;
    for (Operation *op : ops)
      op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  }

  /// Waits until all tiles that were to be stored have been read.
  void endStores() {
    nv::TmaCommitOp::create(b, loc);
    nv::TmaWaitOp::create(b, loc, 0, /*read=*/true);
  }

  /// Returns whether TMA can store such a tile to the tensor.
  bool isLegal(tile::CopyOp copy, MemRefType slab) {
    b.setInsertionPoint(copy);
    auto trial = tile::AllocOp::create(b, copy.getLoc(), slab, StringAttr(), IntegerAttr());
    nv::TmaStoreOp store = storeOp(copy, trial, 0);
    ScopedDiagnosticHandler silent(copy.getContext(), [](mlir::Diagnostic &) { return success(); });
    bool legal = succeeded(verify(store));
    store.erase();
    trial.erase();
    return legal;
  }

  func::FuncOp kernel;
  int64_t limit;       ///< bytes of shared memory of a block
  int64_t scratch = 0; ///< the largest tile that may be exchanged through shared memory
  /// The last store of each block of code whose tile is not staged again.
  llvm::MapVector<mlir::Block *, nv::TmaStoreOp> ended;
  OpBuilder b;
  Location loc = kernel.getLoc();
};

struct StageStores : penstock::impl::StageStoresBase<StageStores> {
  void runOnKernel() override {
    if (const hw::Architecture *architecture = nvptx::tmaOf(getOperation()))
      Stager(getOperation(), *architecture).run();
  }
};

} // namespace
