//===- StatementSchedule.cpp - Schedules on their statements --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/StatementSchedule.h"
#include "Analysis/Loop/TileMemory.h"
#include "Scheduling/Schedule/VerifySchedule.h"

#include <numeric>

using namespace mlir;
using namespace penstock;
using tile::ScheduledAttr;

ScheduledAttr penstock::positionOf(Operation *statement) {
  return statement->getAttrOfType<ScheduledAttr>(tile::TileDialect::scheduledAttr);
}

static void setPosition(Operation *statement, int64_t stage, int64_t order) {
  ScheduledAttr old = positionOf(statement);
  statement->setAttr(tile::TileDialect::scheduledAttr,
                     ScheduledAttr::get(statement->getContext(), stage, order,
                                        old && old.getAsync(), old ? old.getGroup() : -1));
}

int64_t penstock::stageOf(Operation *statement) {
  ScheduledAttr position = positionOf(statement);
  return position ? position.getStage() : 0;
}

int64_t penstock::orderOf(Operation *statement) {
  ScheduledAttr position = positionOf(statement);
  return position ? position.getOrder() : 0;
}

void penstock::setStage(Operation *statement, int64_t stage) {
  setPosition(statement, stage, orderOf(statement));
}

void penstock::inheritPosition(Operation *statement, Operation *beside) {
  if (ScheduledAttr position = positionOf(beside))
    statement->setAttr(tile::TileDialect::scheduledAttr, position);
}

Operation *penstock::findUnscheduled(const PipelineLoop &loop) {
  for (const PipelineStatement &statement : loop.statements)
    if (!positionOf(statement.op))
      return statement.op;
  return nullptr;
}

std::vector<int64_t> penstock::ranksOf(ArrayRef<ScheduledAttr> positions) {
  std::vector<size_t> sequence(positions.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  llvm::sort(sequence, [&](size_t a, size_t b) {
    return std::pair(positions[a].getOrder(), a) < std::pair(positions[b].getOrder(), b);
  });
  std::vector<int64_t> ranks(positions.size());
  for (auto [rank, number] : llvm::enumerate(sequence))
    ranks[number] = int64_t(rank);
  return ranks;
}

sched::Schedule penstock::scheduleOf(const PipelineLoop &loop) {
  sched::Schedule schedule;
  SmallVector<ScheduledAttr> positions;
  for (const PipelineStatement &statement : loop.statements) {
    positions.push_back(positionOf(statement.op));
    schedule.stage.push_back(positions.back().getStage());
  }
  schedule.order = ranksOf(positions);
  return schedule;
}

void penstock::setSchedule(const PipelineLoop &loop, const sched::Schedule &schedule,
                           ArrayRef<sched::Statement> marked) {
  for (auto [i, statement] : llvm::enumerate(loop.statements)) {
    auto access = dyn_cast<tile::TileAccessOpInterface>(statement.op);
    bool named = access && access.getAsyncName();
    auto position = ScheduledAttr::get(
        statement.op->getContext(), schedule.stage[i], schedule.order[i],
        !marked.empty() && marked[i].async && !named, marked.empty() ? -1 : marked[i].group);
    statement.op->setAttr(tile::TileDialect::scheduledAttr, position);
  }
}

static void renumber(const PipelineLoop &loop) {
  std::vector<int64_t> order = scheduleOf(loop).order;
  for (auto [i, statement] : llvm::enumerate(loop.statements))
    setPosition(statement.op, stageOf(statement.op), order[i]);
}

void penstock::renumberStatements(scf::ForOp loop) {
  if (PipelineLoop body = analyzeLoop(loop); !findUnscheduled(body))
    renumber(body);
}

void penstock::renumberStatements(func::FuncOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    if (loop->hasAttr(tile::TileDialect::scheduleAttr))
      renumberStatements(loop);
  });
}

void penstock::moveAfter(scf::ForOp loop, ArrayRef<Operation *> moved, Operation *statement) {
  PipelineLoop body = analyzeLoop(loop);
  if (findUnscheduled(body))
    return;
  renumber(body);
  int64_t order = orderOf(statement);
  // Later statements make room, and get adjacent numbers again in the end.
  for (const PipelineStatement &other : body.statements)
    if (orderOf(other.op) > order)
      setPosition(other.op, stageOf(other.op), orderOf(other.op) + int64_t(moved.size()));
  for (Operation *op : moved)
    setPosition(op, stageOf(op), ++order);
  renumber(body);
}

bool penstock::isLegal(scf::ForOp loop, const hw::Architecture &architecture, bool tensorMemory) {
  PipelineLoop body = analyzeLoop(loop);
  if (findUnscheduled(body))
    return false;
  assignCapacity(body, architecture);
  if (!tensorMemory)
    body.problem.capacity[size_t(sched::Space::Tensor)] = 0;
  return sched::verifySchedule(body.problem, scheduleOf(body)).legal();
}

SavedPositions::SavedPositions(const PipelineLoop &loop) {
  for (const PipelineStatement &statement : loop.statements)
    positions.push_back({statement.op, positionOf(statement.op)});
}

void SavedPositions::restore() const {
  for (auto [statement, position] : positions)
    if (position)
      statement->setAttr(tile::TileDialect::scheduledAttr, position);
}
