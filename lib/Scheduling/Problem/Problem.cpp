//===- Problem.cpp - A loop to be pipelined, as plain data ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Problem.h"

#include <algorithm>
#include <numeric>

namespace penstock::sched {
namespace {

template <typename T> unsigned findNamed(const std::vector<T> &all, const std::string &name) {
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name)
      return unsigned(i);
  return none;
}

} // namespace

bool implies(const Guard &strong, const Guard &weak) {
  return std::all_of(weak.begin(), weak.end(), [&](const Literal &literal) {
    return std::find(strong.begin(), strong.end(), literal) != strong.end();
  });
}

bool exclusive(const Guard &a, const Guard &b) {
  return std::any_of(a.begin(), a.end(), [&](const Literal &x) {
    return std::any_of(b.begin(), b.end(), [&](const Literal &y) {
      return x.condition == y.condition && x.negated != y.negated;
    });
  });
}

BufferId Problem::findBuffer(const std::string &n) const { return findNamed(buffers, n); }
QueueId Problem::findQueue(const std::string &n) const { return findNamed(queues, n); }
StatementId Problem::findStatement(const std::string &n) const { return findNamed(statements, n); }

int64_t Schedule::numStages() const {
  return stage.empty() ? 1 : *std::max_element(stage.begin(), stage.end()) + 1;
}

Schedule identitySchedule(const Problem &problem) {
  Schedule schedule;
  schedule.stage.assign(problem.statements.size(), 0);
  schedule.order.resize(problem.statements.size());
  std::iota(schedule.order.begin(), schedule.order.end(), 0);
  return schedule;
}

const char *spaceName(Space space) {
  switch (space) {
  case Space::Global:
    return "global";
  case Space::Shared:
    return "shared";
  case Space::Tensor:
    return "tensor";
  case Space::Local:
    return "local";
  }
  return "global";
}

const char *kindName(StatementKind kind) {
  switch (kind) {
  case StatementKind::Compute:
    return "compute";
  case StatementKind::Copy:
    return "copy";
  case StatementKind::Wait:
    return "wait";
  case StatementKind::Commit:
    return "commit";
  case StatementKind::Fence:
    return "fence";
  case StatementKind::Scalar:
    return "scalar";
  }
  return "compute";
}

const char *engineName(Engine engine) {
  switch (engine) {
  case Engine::Threads:
    return "threads";
  case Engine::MmaSync:
    return "mma.sync";
  case Engine::CpAsync:
    return "cp.async";
  case Engine::TmaLoad:
    return "tma.load";
  case Engine::TmaStore:
    return "tma.store";
  case Engine::Wgmma:
    return "wgmma";
  case Engine::Tcgen05Mma:
    return "tcgen05.mma";
  case Engine::Tcgen05Load:
    return "tcgen05.ld";
  case Engine::Tcgen05Store:
    return "tcgen05.st";
  }
  return "threads";
}

std::optional<Engine> findEngine(const std::string &name) {
  for (size_t e = 0; e < numEngines; ++e)
    if (name == engineName(Engine(e)))
      return Engine(e);
  return std::nullopt;
}

} // namespace penstock::sched
