//===- PlaceAccumulators.cpp - Accumulators in tensor memory --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05 adds to tiles in tensor memory, where threads cannot compute. Copies
// between an accumulator's registers and its tensor tile are inserted around the
// largest loop in which nothing but products uses it, and around each product where
// there is no such loop. As statements of pipelined loops they have the stage of their
// product, so that plans order them like everything else.
//
//===----------------------------------------------------------------------===//
#include "Analysis/PipelineLoop.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Engines.h"
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

bool isTensorProduct(Operation *op) {
  return isa<tile::GemmOp>(op) && nvptx::engineOf(op) == Engine::Tcgen05Mma;
}

class Placer {
public:
  explicit Placer(func::FuncOp kernel) : kernel(kernel) {}

  void run() {
    llvm::MapVector<Value, SmallVector<tile::GemmOp>> products;
    kernel.walk([&](tile::GemmOp gemm) {
      if (isTensorProduct(gemm))
        products[gemm.getAcc()].push_back(gemm);
    });
    if (products.empty())
      return;
    readSchedules();
    for (auto &[acc, gemms] : products)
      place(acc, gemms);
    writeSchedules();
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
    for (tile::GemmOp gemm : gemms)
      gemm.getAccMutable().assign(cells);
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
      copy(b, op, cells, acc, Engine::Tcgen05Load);
    }
  }

  /// Whether a loop adds its only product to zeros. The product then overwrites the accumulator
  /// in the first iteration.
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
    inside.front()->setAttr(nv::NVDialect::startsAttr, UnitAttr::get(loop.getContext()));
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
               (product && isTensorProduct(product) && &use == &product.getAccMutable());
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
    parents[copy] = parent;
  }

  //===------------------------------------------------------------------===//
  // Schedules
  //===------------------------------------------------------------------===//

  struct Entry {
    int64_t stage = 0, order = 0, asyncProducer = 0, group = -1;
  };

  static std::vector<PipelineStatement> statementsOf(scf::ForOp loop) {
    return analyzeLoop(loop).statements;
  }

  void readSchedules() {
    kernel.walk([&](scf::ForOp loop) {
      auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
      if (!schedule || !schedule.getResolved())
        return;
      loops.push_back(loop);
      for (auto [i, statement] : llvm::enumerate(statementsOf(loop))) {
        Entry entry{schedule.getStage()[i], schedule.getOrder()[i]};
        if (!schedule.getAsyncProducers().empty())
          entry.asyncProducer = schedule.getAsyncProducers()[i];
        if (!schedule.getAsyncProducerGroups().empty())
          entry.group = schedule.getAsyncProducerGroups()[i];
        entries[{loop, statement.op}] = entry;
      }
    });
  }

  /// Copies have the stage of their product, and stand next to it.
  void writeSchedules() {
    for (scf::ForOp loop : loops) {
      auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
      std::vector<Entry> all;
      for (const PipelineStatement &statement : statementsOf(loop)) {
        auto known = entries.find({loop, statement.op});
        if (known != entries.end()) {
          all.push_back(known->second);
          all.back().order *= 3;
          continue;
        }
        Entry entry = entries.lookup({loop, parents.lookup(statement.op)});
        bool before = nvptx::engineOf(statement.op) == Engine::Tcgen05Store;
        all.push_back({entry.stage, entry.order * 3 + (before ? -1 : 1)});
      }
      SmallVector<int64_t> stage, order, producers, groups, sorted;
      for (const Entry &entry : all)
        sorted.push_back(entry.order);
      llvm::sort(sorted);
      for (const Entry &entry : all) {
        stage.push_back(entry.stage);
        order.push_back(llvm::lower_bound(sorted, entry.order) - sorted.begin());
        producers.push_back(entry.asyncProducer);
        groups.push_back(entry.group);
      }
      if (schedule.getAsyncProducers().empty())
        producers.clear();
      if (schedule.getAsyncProducerGroups().empty())
        groups.clear();
      loop->setAttr(tile::TileDialect::scheduleAttr,
                    tile::ScheduleAttr::get(kernel.getContext(), 0, stage, order, {}, producers,
                                            groups, /*resolved=*/true, schedule.getInferred()));
    }
  }

  func::FuncOp kernel;
  SmallVector<scf::ForOp> loops;
  llvm::DenseMap<std::pair<Operation *, Operation *>, Entry> entries; ///< by loop and statement
  llvm::DenseMap<Operation *, Operation *> parents;                   ///< of inserted copies
};

struct PlaceAccumulators : penstock::impl::PlaceAccumulatorsBase<PlaceAccumulators> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(nv::NVDialect::inOrderAttr))
      Placer(getOperation()).run();
  }
};

} // namespace
