//===- OverlapProducts.cpp - The pass nv-overlap-products -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In attention, softmax needs the first product of an iteration, and the second product
// needs softmax. In source order the tensor core is idle while threads compute.
//
// By tcgen05 the first product runs one iteration ahead: it multiplies under the softmax
// before. By wgmma, whose accumulators are registers, two versions of the scores would not
// fit. There the second product trails by an iteration and multiplies under the softmax
// that follows; only its left operand, half as large as the scores, is kept that long.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/StatementSchedule.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"

namespace penstock {
#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using sched::Engine;

namespace {

/// Returns whether the compiler inferred the schedule of a loop, for several warp roles.
bool isInferred(scf::ForOp loop) {
  auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
  auto form = loop->getAttrOfType<StringAttr>(tile::TileDialect::formAttr);
  return schedule && schedule.isInferred() &&
         (!form || form == tile::TileDialect::warpSpecializedForm);
}

class Overlapper {
public:
  Overlapper(func::FuncOp kernel, const hw::Architecture &architecture)
      : kernel(kernel), architecture(architecture) {}

  /// Returns whether the kernel may have changed.
  bool run() {
    bool tensor = architecture.limits.tensorColumns > 0;
    Engine engine = tensor ? Engine::Tcgen05Mma : Engine::Wgmma;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      int64_t products = llvm::count_if(loop.getBody()->getOperations(), [&](Operation &op) {
        return isa<tile::GemmOp>(op) && nvptx::engineOf(&op) == engine;
      });
      if (isInferred(loop) && products > 1)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      tile::GemmOp first = firstProduct(loop, engine);
      if (first && tensor)
        runAhead(loop, first);
      else if (tile::GemmOp last = first ? lastProduct(loop, engine) : tile::GemmOp())
        trail(loop, first, last);
    }
    return !loops.empty();
  }

private:
  /// Statements of a loop that write a tile.
  static SmallVector<Operation *> writersOf(scf::ForOp loop, Value tile) {
    SmallVector<Operation *> writers;
    Value root = tile::rootOf(tile);
    loop.walk([&](tile::TileAccessOpInterface op) {
      SmallVector<tile::TileAccess> accesses;
      op.getAccesses(accesses);
      for (const tile::TileAccess &access : accesses)
        if ((access.writes || access.atomic) && tile::rootOf(access.memref) == root)
          writers.push_back(op);
    });
    return writers;
  }

  /// Copies of the loop that bring operands of a product; nothing if other statements write
  /// them, too.
  static std::optional<SmallVector<Operation *>> copiesFor(scf::ForOp loop, ValueRange operands) {
    SmallVector<Operation *> copies;
    for (Value operand : operands)
      for (Operation *writer : writersOf(loop, operand)) {
        auto copy = dyn_cast<tile::CopyOp>(writer);
        if (!copy || !copy.readsTensor() || copy->getParentOp() != loop)
          return std::nullopt;
        copies.push_back(copy);
      }
    return copies;
  }

  /// A product that needs nothing but copies.
  static tile::GemmOp firstProduct(scf::ForOp loop, Engine engine) {
    for (Operation &op : *loop.getBody()) {
      auto product = dyn_cast<tile::GemmOp>(op);
      if (product && nvptx::engineOf(product) == engine && product.getOverwrite() &&
          copiesFor(loop, {product.getA(), product.getB()}))
        return product;
    }
    return {};
  }

  /// A product that adds to its accumulator, of a tile in registers that threads compute for it
  /// alone, and of copies.
  static tile::GemmOp lastProduct(scf::ForOp loop, Engine engine) {
    for (Operation &op : llvm::reverse(*loop.getBody())) {
      auto product = dyn_cast<tile::GemmOp>(op);
      if (!product || nvptx::engineOf(product) != engine)
        continue;
      auto left = product.getA().getDefiningOp<tile::AllocOp>();
      bool own =
          left && tile::spaceOf(left.getType()) == tile::Space::Local &&
          llvm::all_of(left->getUsers(), [&](Operation *user) {
            return loop->isProperAncestor(user) && (user == product || !isa<tile::GemmOp>(user));
          });
      return own && !product.getOverwrite() && copiesFor(loop, product.getB()) ? product
                                                                               : tile::GemmOp();
    }
    return {};
  }

  /// Columns of tensor memory that remain beside all accumulators and the left operands that
  /// threads compute.
  int64_t freeColumns(scf::ForOp loop) {
    llvm::SmallSetVector<Value, 8> tiles;
    kernel.walk([&](tile::GemmOp gemm) {
      if (!nvptx::multipliesByTcgen05(gemm))
        return;
      tiles.insert(gemm.getAcc());
      if (!copiesFor(loop, gemm.getA()))
        tiles.insert(tile::rootOf(gemm.getA()));
    });
    int64_t columns = architecture.limits.tensorColumns;
    for (Value each : tiles)
      columns -= nvptx::takenColumns(each);
    return columns;
  }

  /// Returns whether the registers of the threads that compute hold all local tiles.
  bool hasRegisters() {
    int64_t threads = nv::scopeOf(kernel.getBody().front().getTerminator()).warps * nv::warpSize;
    int64_t warpgroup = nv::warpgroupWarps * nv::warpSize;
    int64_t registers = architecture.limits.registersPerBlock / (threads + warpgroup);
    if (threads == 2 * warpgroup)
      registers = nvptx::registersTaken;
    constexpr int64_t mostOfThread = 255;
    return nvptx::localWords(kernel) <=
           threads * (std::min(registers, mostOfThread) - nvptx::otherRegisters);
  }

  void runAhead(scf::ForOp loop, tile::GemmOp product) {
    SmallVector<Operation *> ahead = *copiesFor(loop, {product.getA(), product.getB()});
    sortByPosition(ahead);
    ahead.push_back(product);
    Operation *user = nullptr;
    // One version is enough if threads have loaded the sums before: they do so for the first
    // statement that uses these.
    if (freeColumns(loop) < nvptx::takenColumns(product.getAcc())) {
      user = nvptx::firstUserAfter(product, product.getAcc());
      if (!user)
        return;
    }
    PipelineLoop body = analyzeLoop(loop);
    SavedPositions before(body);
    for (const PipelineStatement &statement : body.statements)
      if (!llvm::is_contained(ahead, statement.op))
        setStage(statement.op, stageOf(statement.op) + 1);
    if (user) {
      llvm::erase_if(ahead, [&](Operation *op) { return orderOf(op) >= orderOf(user); });
      moveAfter(loop, ahead, user);
    }
    if (isLegal(loop, architecture, /*tensorMemory=*/false))
      divideStatements(loop);
    else
      before.restore();
  }

  /// Returns whether threads branch in a loop: in control flow of their own, or where they copy
  /// tensors, whose rows may not be aligned.
  static bool branches(scf::ForOp loop) {
    return loop.getBody()
        ->walk([](Operation *op) {
          auto copy = dyn_cast<tile::CopyOp>(op);
          bool byThreads = copy && nvptx::engineOf(copy) == Engine::Threads &&
                           (copy.readsTensor() || copy.writesTensor());
          bool branch = byThreads || isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op);
          return branch ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// LLVM copies registers at the end of branches, which the product in flight would own.
  void trail(scf::ForOp loop, tile::GemmOp first, tile::GemmOp last) {
    if (!hasRegisters() || branches(loop))
      return;
    SavedPositions before(analyzeLoop(loop));
    SmallVector<Operation *> trailing = *copiesFor(loop, last.getB());
    sortByPosition(trailing);
    trailing.insert(trailing.begin(), last);
    for (Operation *op : trailing)
      setStage(op, stageOf(op) + 1);
    moveAfter(loop, trailing, first);
    if (!isLegal(loop, architecture))
      return before.restore();
    divideStatements(loop);
    keepLeft(loop, last);
  }

  /// Threads compute the left operand of a product that trails in a tile of its own: the
  /// product reads the one of the iteration before until they have.
  void keepLeft(scf::ForOp loop, tile::GemmOp product) {
    auto left = product.getA().getDefiningOp<tile::AllocOp>();
    OpBuilder b(left);
    auto next = cast<tile::AllocOp>(b.clone(*left));
    left.getResult().replaceUsesWithIf(next.getResult(),
                                       [&](OpOperand &use) { return use.getOwner() != product; });
    b.setInsertionPoint(product);
    auto copy = tile::CopyOp::create(b, product.getLoc(), next, ValueRange{}, left, ValueRange{},
                                     Value(), Value(), DenseI64ArrayAttr(), StringAttr());
    nvptx::setEngine(copy, Engine::Threads);
    // The last statement of a step, of the iteration before the product's.
    int64_t last = int64_t(analyzeLoop(loop).statements.size());
    copy->setAttr(tile::TileDialect::scheduledAttr,
                  tile::ScheduledAttr::get(copy.getContext(), stageOf(product) - 1, last,
                                           /*async=*/false, /*group=*/-1));
    renumberStatements(loop);
  }

  /// Sorts operations of a block by their position in the source.
  static void sortByPosition(SmallVector<Operation *> &ops) {
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  /// Makes statements of what the user grouped as one: each then waits for what it needs.
  static void divideStatements(scf::ForOp loop) {
    for (auto group : llvm::make_early_inc_range(loop.getBody()->getOps<tile::StatementOp>())) {
      for (Operation &op :
           llvm::make_early_inc_range(group.getBody().front().without_terminator())) {
        op.moveBefore(group);
        if (!isMemoryEffectFree(&op))
          inheritPosition(&op, group);
      }
      group.erase();
    }
    renumberStatements(loop);
  }

  func::FuncOp kernel;
  const hw::Architecture &architecture;
};

struct OverlapProducts : penstock::impl::OverlapProductsBase<OverlapProducts> {
  void runOnKernel() override {
    if (!Overlapper(getOperation(), nvptx::architectureOf(getOperation())).run())
      markAllAnalysesPreserved();
  }
};

} // namespace
