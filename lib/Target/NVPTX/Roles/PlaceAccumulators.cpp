//===- PlaceAccumulators.cpp - Accumulators in tensor memory --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05 adds to tiles in tensor memory, where threads cannot compute. Copies
// between an accumulator's registers and its tensor tile are inserted around the
// largest loop in which nothing but products uses it. In a loop that first computes
// with the accumulator and then adds a product to it, like attention, they are inserted
// around what computes, so that threads await the product only there. Otherwise they
// are inserted around each product. As statements of pipelined loops they have the stage
// of what they stand beside, so that plans order them like everything else.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/PipelineLoop.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace penstock {
#define GEN_PASS_DEF_PLACEACCUMULATORS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using sched::Engine;

namespace {

class Placer {
public:
  explicit Placer(func::FuncOp kernel) : kernel(kernel) {}

  /// Returns whether the kernel has changed.
  bool run() {
    llvm::MapVector<Value, SmallVector<tile::GemmOp>> products;
    kernel.walk([&](tile::GemmOp gemm) {
      if (nvptx::multipliesByTcgen05(gemm))
        products[gemm.getAcc()].push_back(gemm);
    });
    if (products.empty())
      return false;
    for (auto &[acc, gemms] : products) {
      place(acc, gemms);
      for (tile::GemmOp gemm : gemms)
        if (gemm.isScaled())
          placeScales(gemm);
    }
    renumberStatements(kernel);
    return true;
  }

private:
  void place(Value acc, ArrayRef<tile::GemmOp> gemms) {
    auto type = cast<MemRefType>(acc.getType());
    OpBuilder b(acc.getDefiningOp());
    Value cells = nv::TensorAllocOp::create(
        b, acc.getLoc(),
        tile::tileType(type.getShape(), type.getElementType(), tile::Space::Tensor),
        cast<tile::AllocOp>(acc.getDefiningOp()).getLabelAttr());
    // The loops are chosen before any use changes.
    llvm::SmallSetVector<Operation *, 4> around;
    for (tile::GemmOp gemm : gemms)
      around.insert(scopeOf(gemm, acc));
    auto [first, last] = computedBefore(acc, gemms);
    for (tile::GemmOp gemm : gemms)
      gemm.getAccMutable().assign(cells);
    if (first) {
      Operation *loop = first->getParentOp();
      b.setInsertionPoint(loop);
      copy(b, loop, acc, cells, Engine::Tcgen05Store);
      // Registers of the loop's own may be those of another role.
      Value own = b.clone(*acc.getDefiningOp())->getResult(0);
      acc.replaceUsesWithIf(own,
                            [&](OpOperand &use) { return loop->isProperAncestor(use.getOwner()); });
      b.setInsertionPoint(first);
      copy(b, first, cells, own, Engine::Tcgen05Load);
      b.setInsertionPointAfter(last);
      copy(b, last, own, cells, Engine::Tcgen05Store);
      b.setInsertionPointAfter(loop);
      copy(b, loop, cells, acc, Engine::Tcgen05Load);
      return;
    }
    for (Operation *op : around) {
      auto gemm = dyn_cast<tile::GemmOp>(op);
      b.setInsertionPoint(op);
      auto loop = dyn_cast<scf::ForOp>(op);
      bool starts = loop && startsAtZero(loop, acc, gemms);
      if (!starts && (!gemm || !gemm.getOverwrite()))
        copy(b, op, acc, cells, Engine::Tcgen05Store);
      b.setInsertionPointAfter(op);
      if (starts) { // without iterations, nothing has been written
        Value some = arith::CmpIOp::create(b, op->getLoc(), arith::CmpIPredicate::sgt,
                                           loop.getUpperBound(), loop.getLowerBound());
        b.setInsertionPointToStart(scf::IfOp::create(b, op->getLoc(), some, false).thenBlock());
      }
      // The registers are written when they are needed: the product may be far ahead.
      if (Operation *user = gemm ? firstUserAfter(gemm, acc) : nullptr) {
        b.setInsertionPoint(user);
        op = user;
      }
      copy(b, op, cells, acc, Engine::Tcgen05Load);
    }
  }

  /// Allocates the tiles to which the scales of a product are copied where it is issued. Both are
  /// in one queue, which executes them in order, so that a product never reads the scales of the
  /// next one.
  void placeScales(tile::GemmOp gemm) {
    OpBuilder b(kernel.getContext());
    b.setInsertionPointToStart(&kernel.getBody().front());
    for (auto [operand, scales] : llvm::enumerate(ArrayRef{gemm.getScaleA(), gemm.getScaleB()})) {
      auto type = cast<MemRefType>(scales.getType());
      std::string name = tile::nameOf(scales);
      auto cells = nv::TensorAllocOp::create(
          b, gemm.getLoc(),
          tile::tileType(type.getShape(), type.getElementType(), tile::Space::Tensor),
          name.empty() ? StringAttr() : b.getStringAttr(name));
      cells->setAttr(nv::NVDialect::scalesAttr,
                     b.getI64IntegerAttr(2 * scaledProducts + int64_t(operand)));
    }
    gemm->setAttr(nv::NVDialect::scalesAttr, b.getI64IntegerAttr(scaledProducts++));
  }

  /// The first statement of a pipelined loop that uses the registers of a product's accumulator
  /// after it; null if there is none.
  static Operation *firstUserAfter(tile::GemmOp gemm, Value acc) {
    auto loop = dyn_cast<scf::ForOp>(gemm->getParentOp());
    if (!loop || !loop->hasAttr(tile::TileDialect::scheduleAttr))
      return nullptr;
    Operation *first = nvptx::firstUserAfter(gemm, acc);
    return isa_and_nonnull<tile::TileAccessOpInterface, tile::StatementOp>(first) ? first : nullptr;
  }

  /// The first and the last statement of a pipelined loop that compute with an accumulator, if
  /// all of them come before the products that are added to it.
  static std::pair<Operation *, Operation *> computedBefore(Value acc,
                                                            ArrayRef<tile::GemmOp> gemms) {
    auto loop = dyn_cast<scf::ForOp>(gemms.front()->getParentOp());
    if (!loop || !loop->hasAttr(tile::TileDialect::scheduleAttr))
      return {};
    for (tile::GemmOp gemm : gemms)
      if (gemm->getParentOp() != loop || gemm.getOverwrite())
        return {};
    Operation *first = nullptr, *last = nullptr;
    for (OpOperand &use : acc.getUses()) {
      Operation *at = loop.getBody()->findAncestorOpInBlock(*use.getOwner());
      auto gemm = dyn_cast<tile::GemmOp>(use.getOwner());
      if (!at || (gemm && llvm::is_contained(gemms, gemm) && &use == &gemm.getAccMutable()))
        continue;
      if (!isa<tile::TileAccessOpInterface, tile::StatementOp>(at))
        return {};
      for (tile::GemmOp product : gemms)
        if (!at->isBeforeInBlock(product))
          return {};
      first = !first || at->isBeforeInBlock(first) ? at : first;
      last = !last || last->isBeforeInBlock(at) ? at : last;
    }
    return {first, last};
  }

  /// Returns whether a loop adds its only product to zeros. The product then overwrites the
  /// accumulator in the first iteration.
  static bool startsAtZero(scf::ForOp loop, Value acc, ArrayRef<tile::GemmOp> gemms) {
    Operation *before = loop->getPrevNode();
    auto uses = [&](Operation *op) {
      return llvm::any_of(acc.getUsers(), [&](Operation *user) { return op->isAncestor(user); });
    };
    while (before && !uses(before))
      before = before->getPrevNode();
    auto fill = dyn_cast_or_null<tile::FillOp>(before);
    if (!fill || fill.getTarget() != acc ||
        !(matchPattern(fill.getValue(), m_AnyZeroFloat()) ||
          matchPattern(fill.getValue(), m_Zero())))
      return false;
    SmallVector<tile::GemmOp> inside;
    for (tile::GemmOp gemm : gemms)
      if (loop->isAncestor(gemm))
        inside.push_back(gemm);
    if (inside.size() != 1 || inside.front()->getParentOp() != loop ||
        inside.front().getOverwrite() || !loop->hasAttr(tile::TileDialect::scheduleAttr))
      return false;
    inside.front().setStarts(true);
    return true;
  }

  /// The largest loop around a product in which only products use the accumulator; the
  /// product if there is none.
  static Operation *scopeOf(tile::GemmOp gemm, Value acc) {
    Operation *scope = gemm;
    for (Operation *op = gemm->getParentOp(); op && !isa<func::FuncOp>(op);
         op = op->getParentOp()) {
      bool only = llvm::all_of(acc.getUses(), [&](OpOperand &use) {
        auto product = dyn_cast<tile::GemmOp>(use.getOwner());
        return !op->isAncestor(use.getOwner()) ||
               (product && nvptx::multipliesByTcgen05(product) && &use == &product.getAccMutable());
      });
      if (!only)
        break;
      if (isa<scf::ForOp>(op))
        scope = op;
    }
    return scope;
  }

  void copy(OpBuilder &b, Operation *parent, Value from, Value to, Engine engine) {
    auto copy = tile::CopyOp::create(b, parent->getLoc(), from, ValueRange{}, to, ValueRange{},
                                     Value(), Value(), DenseI64ArrayAttr(), StringAttr());
    nvptx::setEngine(copy, engine);
    // Around a loop there is nothing to schedule.
    if (parent->getBlock() == copy->getBlock())
      inheritPosition(copy, parent);
  }

  func::FuncOp kernel;
  int64_t scaledProducts = 0;
};

struct PlaceAccumulators : penstock::impl::PlaceAccumulatorsBase<PlaceAccumulators> {
  void runOnKernel() override {
    if (!Placer(getOperation()).run())
      markAllAnalysesPreserved();
  }
};

} // namespace
