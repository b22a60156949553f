//===- PlaceOperands.cpp - Left operands in tensor memory -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05 reads its left operand from shared or from tensor memory. One that threads
// compute, like the probabilities of attention, is better stored to tensor memory: each
// warp stores the rows that it has, so that threads need no barrier among themselves and no
// fence between proxies, and shared memory keeps its bandwidth for the right operand.
// This pass runs after nv-place-accumulators, which tensor memory is for in the first place.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/StatementSchedule.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "llvm/ADT/MapVector.h"

namespace penstock {
#define GEN_PASS_DEF_PLACEOPERANDS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using sched::Engine;

namespace {

/// A product, and the last statement of its block that writes its left operand before it.
struct Product {
  tile::GemmOp gemm;
  Operation *written;
};

class Placer {
public:
  Placer(func::FuncOp kernel, const hw::Architecture &architecture)
      : kernel(kernel), columns(architecture.limits.tensorColumns) {}

  /// Returns whether the kernel has changed.
  bool run() {
    llvm::MapVector<Value, SmallVector<Product>> operands;
    kernel.walk([&](tile::AllocOp tile) {
      if (auto products = productsOf(tile.getResult()))
        operands[tile.getResult()] = *products;
    });
    if (operands.empty())
      return false;
    kernel.walk([&](nv::TensorAllocOp op) { columns -= columnsWithVersions(op); });
    for (auto &[tile, products] : operands)
      place(tile, products);
    renumberStatements(kernel);
    return true;
  }

private:
  /// The products of a tile that only threads write and of which tcgen05 reads nothing but left
  /// operands; nothing if registers could not hold it, or if something else reads it.
  std::optional<SmallVector<Product>> productsOf(Value tile) {
    auto type = cast<MemRefType>(tile.getType());
    if (tile::spaceOf(type) != tile::Space::Shared || type.getRank() != 2 ||
        type.getDimSize(0) % nv::tensorLanes || type.getElementTypeBitWidth() != 16)
      return std::nullopt;
    SmallVector<Product> products;
    for (OpOperand &use : tile.getUses()) {
      Operation *user = use.getOwner();
      if (auto gemm = dyn_cast<tile::GemmOp>(user)) {
        Operation *written = lastWriteBefore(gemm, tile);
        if (!multipliesByTcgen05(gemm) || &use != &gemm.getAMutable() || !written)
          return std::nullopt;
        products.push_back({gemm, written});
        continue;
      }
      // Memory is better copied by an engine, which knows shared memory only.
      auto copy = dyn_cast<tile::CopyOp>(user);
      if (!takesRegisters(use) || (copy && copy.getTarget() == tile && !isCopyOfRegisters(copy)))
        return std::nullopt;
    }
    if (products.empty())
      return std::nullopt;
    return products;
  }

  static Operation *lastWriteBefore(tile::GemmOp gemm, Value tile) {
    Operation *last = nullptr;
    for (Operation *user : tile.getUsers()) {
      auto accessor = dyn_cast<tile::TileAccessOpInterface>(user);
      SmallVector<tile::TileAccess> accesses;
      if (accessor)
        accessor.getAccesses(accesses);
      bool writes = llvm::any_of(accesses, [&](const tile::TileAccess &access) {
        return access.writes && tile::rootOf(access.memref) == tile;
      });
      Operation *at = writes ? gemm->getBlock()->findAncestorOpInBlock(*user) : nullptr;
      if (at && at->isBeforeInBlock(gemm) && (!last || last->isBeforeInBlock(at)))
        last = at;
    }
    return isa_and_nonnull<tile::TileAccessOpInterface, tile::StatementOp>(last) ? last : nullptr;
  }

  /// Tiles that products overwrite have a version for each iteration that is loaded after the
  /// next product.
  int64_t columnsWithVersions(nv::TensorAllocOp op) {
    int64_t versions = 1;
    for (Operation *user : op.getResult().getUsers()) {
      auto gemm = dyn_cast<tile::GemmOp>(user);
      auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
      if (!gemm || !gemm.getOverwrite() || !loop || !loop->hasAttr(tile::TileDialect::scheduleAttr))
        continue;
      for (Operation *other : op.getResult().getUsers()) {
        if (engineOf(other) != Engine::Tcgen05Load || other->getParentOp() != loop)
          continue;
        versions = std::max(versions, stageOf(other) - stageOf(gemm) +
                                          (orderOf(gemm) <= orderOf(other) ? 1 : 0));
      }
    }
    return takenColumns(op.getResult()) * versions;
  }

  /// Versions that the stages of its statements ask for.
  int64_t versionsOf(ArrayRef<Product> products) {
    int64_t versions = 1;
    for (auto [gemm, written] : products)
      if (auto loop = dyn_cast<scf::ForOp>(gemm->getParentOp());
          loop && loop->hasAttr(tile::TileDialect::scheduleAttr))
        versions = std::max(versions, 1 + stageOf(gemm) - stageOf(written));
    return versions;
  }

  void place(Value tile, ArrayRef<Product> products) {
    auto type = cast<MemRefType>(tile.getType());
    auto tensor = tile::tileType(type.getShape(), type.getElementType(), tile::Space::Tensor);
    int64_t needed = takenColumns(tensor) * versionsOf(products);
    if (needed > columns)
      return;
    columns -= needed;
    setSpace(tile, tile::Space::Local);
    OpBuilder b(tile.getDefiningOp());
    Value cells = nv::TensorAllocOp::create(
        b, tile.getLoc(), tensor, cast<tile::AllocOp>(tile.getDefiningOp()).getLabelAttr());
    llvm::DenseSet<Operation *> stored;
    for (auto [gemm, written] : products) {
      gemm.getAMutable().assign(cells);
      if (!stored.insert(written).second)
        continue;
      b.setInsertionPointAfter(written);
      auto copy =
          tile::CopyOp::create(b, written->getLoc(), tile, ValueRange{}, cells, ValueRange{},
                               Value(), Value(), DenseI64ArrayAttr(), StringAttr());
      setEngine(copy, Engine::Tcgen05Store);
      inheritPosition(copy, written);
    }
  }

  func::FuncOp kernel;
  int64_t columns; ///< that are free
};

struct PlaceOperands : penstock::impl::PlaceOperandsBase<PlaceOperands> {
  void runOnKernel() override {
    if (!Placer(getOperation(), nvptx::architectureOf(getOperation())).run())
      markAllAnalysesPreserved();
  }
};

} // namespace
