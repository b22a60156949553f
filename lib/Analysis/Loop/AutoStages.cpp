//===- AutoStages.cpp - The depth of `num_stages = Auto` ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/AutoStages.h"
#include "Analysis/Loop/PipelineLoop.h"
#include "Analysis/Loop/TileMemory.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock;

namespace {

tile::ScheduleAttr scheduleOf(scf::ForOp loop) {
  return loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
}

class Chooser {
public:
  explicit Chooser(const hw::Architecture *architecture) : architecture(architecture) {}

  /// Reserves the memory of a scheduled loop: all versions but the first of each tile.
  void count(scf::ForOp loop) {
    PipelineLoop body = analyze(loop);
    sched::PipelinedLoop resolved = resolveSchedule(body);
    if (!resolved.schedule)
      return;
    for (auto [buffer, versions] :
         llvm::zip_equal(resolved.problem.buffers, resolved.verdict.versions))
      used[size_t(buffer.space)] += int64_t(versions.count - 1) * buffer.bytes;
  }

  void choose(scf::ForOp loop) {
    int64_t fits = 0;
    for (int64_t stages = mostAutoStages; stages > 0; --stages) {
      setStages(loop, stages);
      PipelineLoop body = analyze(loop);
      // The exact solver uses the depth as an upper bound.
      if (body.annotations.solverSeconds)
        return setStages(loop, 0);
      sched::PipelinedLoop resolved = resolveSchedule(body);
      if (resolved.schedule && !fits)
        fits = stages;
      if (resolved.schedule && resolved.diagnostics.empty())
        break;
      if (stages == 1) // all are shallower than their number, or none is possible
        setStages(loop, std::max<int64_t>(fits, 1));
    }
    count(loop);
  }

private:
  PipelineLoop analyze(scf::ForOp loop) const {
    PipelineLoop body = analyzeLoop(loop);
    if (!architecture)
      return body;
    assignCapacity(body, *architecture);
    for (auto [space, capacity] : llvm::enumerate(body.problem.capacity))
      if (capacity > 0)
        capacity = std::max<int64_t>(capacity - used[space], 1);
    return body;
  }

  static void setStages(scf::ForOp loop, int64_t stages) {
    tile::ScheduleAttr asked = scheduleOf(loop);
    loop->setAttr(tile::TileDialect::scheduleAttr,
                  tile::ScheduleAttr::get(loop.getContext(), stages, asked.getStage(),
                                          asked.getOrder(), asked.getAsyncStages(),
                                          asked.getAsyncProducers(), asked.getAsyncProducerGroups(),
                                          asked.getSolverSeconds()));
  }

  const hw::Architecture *architecture;
  std::array<int64_t, sched::numSpaces> used = {};
};

} // namespace

void penstock::chooseStages(func::FuncOp kernel, const hw::Architecture *architecture) {
  SmallVector<scf::ForOp> automatic, stated;
  kernel.walk([&](scf::ForOp loop) {
    if (tile::ScheduleAttr schedule = scheduleOf(loop))
      (schedule.isAuto() ? automatic : stated).push_back(loop);
  });
  if (automatic.empty())
    return;
  Chooser chooser(architecture);
  for (scf::ForOp loop : stated)
    chooser.count(loop);
  for (scf::ForOp loop : automatic)
    chooser.choose(loop);
}
