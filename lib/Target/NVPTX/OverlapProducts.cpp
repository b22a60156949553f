//===- OverlapProducts.cpp - The pass nv-overlap-products -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In attention, softmax needs the first product of an iteration, and the second product
// needs softmax. In source order the tensor core is idle while threads compute. If the
// first product runs one iteration ahead, it multiplies under the softmax before.
//
//===----------------------------------------------------------------------===//
#include "Analysis/TileMemory.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Verify.h"
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/KernelArchitecture.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/ScheduleEntries.h"

namespace penstock {
#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Whether the compiler chose the schedule of a loop, for warps of several roles.
bool isInferred(scf::ForOp loop) {
  auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
  auto form = loop->getAttrOfType<StringAttr>(tile::TileDialect::formAttr);
  return schedule && schedule.getResolved() && schedule.getInferred() &&
         (!form || form == tile::TileDialect::warpSpecializedForm);
}

class Overlapper {
public:
  Overlapper(func::FuncOp kernel, const hw::Architecture &architecture)
      : kernel(kernel), architecture(architecture) {}

  void run() {
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      int64_t products = llvm::count_if(loop.getBody()->getOperations(), [](Operation &op) {
        return nvptx::multipliesByTcgen05(&op);
      });
      if (isInferred(loop) && products > 1)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      if (tile::GemmOp product = firstProduct(loop))
        overlap(loop, product);
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

  /// Copies of the loop that bring the operands of a product; nothing if other statements
  /// write them, too.
  static std::optional<SmallVector<Operation *>> copiesFor(scf::ForOp loop, tile::GemmOp product) {
    SmallVector<Operation *> copies;
    for (Value operand : {product.getA(), product.getB()})
      for (Operation *writer : writersOf(loop, operand)) {
        auto copy = dyn_cast<tile::CopyOp>(writer);
        if (!copy || !copy.readsTensor() || copy->getParentOp() != loop)
          return std::nullopt;
        copies.push_back(copy);
      }
    return copies;
  }

  /// A product that needs nothing but copies.
  static tile::GemmOp firstProduct(scf::ForOp loop) {
    for (Operation &op : *loop.getBody()) {
      auto product = dyn_cast<tile::GemmOp>(op);
      if (product && nvptx::multipliesByTcgen05(product) && product.getOverwrite() &&
          copiesFor(loop, product))
        return product;
    }
    return {};
  }

  /// Whether tensor memory has room for a second version of an accumulator.
  bool hasRoom(Value accumulator) {
    llvm::SmallSetVector<Value, 8> accumulators;
    kernel.walk([&](tile::GemmOp gemm) {
      if (nvptx::multipliesByTcgen05(gemm))
        accumulators.insert(gemm.getAcc());
    });
    int64_t columns = nvptx::allocatedColumns(accumulator);
    for (Value each : accumulators)
      columns += nvptx::allocatedColumns(each);
    return columns <= architecture.limits.tensorColumns;
  }

  void overlap(scf::ForOp loop, tile::GemmOp product) {
    if (!hasRoom(product.getAcc()))
      return;
    Attribute before = loop->getAttr(tile::TileDialect::scheduleAttr);
    nvptx::ScheduleEntries entries(kernel);
    SmallVector<Operation *> ahead = *copiesFor(loop, product);
    ahead.push_back(product);
    for (const PipelineStatement &statement : analyzeLoop(loop).statements)
      entries.at(loop, statement.op).stage += !llvm::is_contained(ahead, statement.op);
    entries.write();
    if (!isLegal(loop)) {
      loop->setAttr(tile::TileDialect::scheduleAttr, before);
      return;
    }
    divideStatements(loop);
  }

  bool isLegal(scf::ForOp loop) {
    PipelineLoop body = analyzeLoop(loop);
    assignCapacity(body, architecture);
    auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
    sched::Schedule chosen{{schedule.getStage().begin(), schedule.getStage().end()},
                           {schedule.getOrder().begin(), schedule.getOrder().end()}};
    return sched::verify(body.problem, chosen).legal();
  }

  /// Makes statements of what the user grouped as one: each then waits for what it needs.
  void divideStatements(scf::ForOp loop) {
    nvptx::ScheduleEntries entries(kernel);
    for (auto group : llvm::make_early_inc_range(loop.getBody()->getOps<tile::StatementOp>())) {
      nvptx::ScheduleEntries::Entry entry = entries.at(loop, group);
      double next = 0;
      for (Operation &op :
           llvm::make_early_inc_range(group.getBody().front().without_terminator())) {
        op.moveBefore(group);
        entries.at(loop, &op) = entry;
        entries.at(loop, &op).order += next;
        next += 1.0 / 1024;
      }
      group.erase();
    }
    entries.write();
  }

  func::FuncOp kernel;
  const hw::Architecture &architecture;
};

struct OverlapProducts : penstock::impl::OverlapProductsBase<OverlapProducts> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    const hw::Architecture *architecture = nvptx::architectureOf(kernel);
    if (kernel->hasAttr(nv::NVDialect::inOrderAttr) && architecture &&
        architecture->limits.tensorColumns > 0)
      Overlapper(kernel, *architecture).run();
  }
};

} // namespace
