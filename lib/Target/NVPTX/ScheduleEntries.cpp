//===- ScheduleEntries.cpp - Schedules, statement by statement ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/ScheduleEntries.h"
#include "Analysis/TileMemory.h"
#include "Dialect/Tile/TileDialect.h"
#include "Scheduling/Verify.h"

#include <numeric>

using namespace mlir;
using namespace penstock;
using nvptx::ScheduleEntries;

static tile::ScheduleAttr scheduleOf(scf::ForOp loop) {
  return loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
}

ScheduleEntries::ScheduleEntries(func::FuncOp kernel) {
  kernel.walk([&](scf::ForOp loop) {
    tile::ScheduleAttr schedule = scheduleOf(loop);
    if (!schedule || !schedule.getResolved())
      return;
    loops.push_back(loop);
    for (auto [i, statement] : llvm::enumerate(analyzeLoop(loop).statements)) {
      Entry entry{schedule.getStage()[i], double(schedule.getOrder()[i])};
      if (!schedule.getAsyncProducers().empty())
        entry.asyncProducer = schedule.getAsyncProducers()[i];
      if (!schedule.getAsyncProducerGroups().empty())
        entry.group = schedule.getAsyncProducerGroups()[i];
      entries[{loop, statement.op}] = entry;
    }
  });
}

void ScheduleEntries::add(Operation *statement, Operation *beside, bool before) {
  placed[statement] = {beside, before};
}

void ScheduleEntries::write() {
  for (scf::ForOp loop : loops) {
    tile::ScheduleAttr schedule = scheduleOf(loop);
    std::vector<Entry> all;
    for (const PipelineStatement &statement : analyzeLoop(loop).statements) {
      auto known = entries.find({loop, statement.op});
      if (known != entries.end()) {
        all.push_back(known->second);
        continue;
      }
      auto [beside, before] = placed.lookup(statement.op);
      Entry entry = entries.lookup({loop, beside});
      all.push_back({entry.stage, entry.order + (before ? -0.25 : 0.25)});
    }
    std::vector<size_t> sequence(all.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    llvm::sort(sequence, [&](size_t a, size_t b) {
      return std::pair(all[a].order, a) < std::pair(all[b].order, b);
    });
    SmallVector<int64_t> stage, order(all.size()), producers, groups;
    for (auto [position, statement] : llvm::enumerate(sequence))
      order[statement] = int64_t(position);
    for (const Entry &entry : all) {
      stage.push_back(entry.stage);
      producers.push_back(entry.asyncProducer);
      groups.push_back(entry.group);
    }
    if (schedule.getAsyncProducers().empty())
      producers.clear();
    if (schedule.getAsyncProducerGroups().empty())
      groups.clear();
    loop->setAttr(tile::TileDialect::scheduleAttr,
                  tile::ScheduleAttr::get(loop.getContext(), 0, stage, order, {}, producers, groups,
                                          /*resolved=*/true, schedule.getInferred(),
                                          schedule.getSolverSeconds()));
  }
}

bool nvptx::isLegal(scf::ForOp loop, const hw::Architecture &architecture, bool tensorMemory) {
  PipelineLoop body = analyzeLoop(loop);
  assignCapacity(body, architecture);
  if (!tensorMemory)
    body.problem.capacity[size_t(sched::Space::Tensor)] = 0;
  tile::ScheduleAttr schedule = scheduleOf(loop);
  sched::Schedule chosen{{schedule.getStage().begin(), schedule.getStage().end()},
                         {schedule.getOrder().begin(), schedule.getOrder().end()}};
  return sched::verify(body.problem, chosen).legal();
}
