//===- ModuloFromLoop.cpp - Times and engines of a loop -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Problem/LoopModel.h"
#include "Scheduling/Schedule/Modulo.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace penstock::sched {
namespace {

/// More versions than this gain nothing on any machine we know, and keep the
/// search of the exact solver small.
constexpr unsigned maxUsefulVersions = 8;

/// Returns the cycles required between the start of `pair.first` and the start of `pair.second`:
/// its whole latency, or only its time in the queue if the hardware keeps the two in order.
int64_t latencyOf(const Problem &problem, const Pair &pair) {
  const Statement &first = problem.statements[pair.first];
  const Statement &second = problem.statements[pair.second];
  bool queued = first.async && second.async && first.queue != none && first.queue == second.queue &&
                problem.queues[first.queue].inOrder;
  if (queued) {
    const auto &orders = problem.queues[first.queue].orders;
    if (std::find(orders.begin(), orders.end(), pair.buffer) != orders.end())
      return std::max<int64_t>(1, first.busy);
  }
  return std::max({int64_t(1), first.busy, first.latency});
}

} // namespace

ModuloFromLoop moduloProblem(const Problem &problem) {
  ModuloFromLoop result;
  for (const Statement &s : problem.statements)
    if (s.kind != StatementKind::Compute && s.kind != StatementKind::Copy) {
      Diagnostic d;
      d.code = NoModuloSchedule;
      d.location = s.location;
      d.message = "`" + s.name + "` is a " + kindName(s.kind) +
                  " statement, which fixes more of the order than a solver "
                  "that works with times can express";
      d.helps.push_back("state stage and order, or leave waits to the compiler");
      result.diagnostics.push_back(std::move(d));
      return result;
    }
  LoopModel model(problem);
  ModuloProblem modulo;
  modulo.capacity = problem.capacity;
  std::map<std::string, unsigned> resources;
  for (const Statement &s : problem.statements) {
    ModuloOperation op{s.name, none, 0};
    if (!s.engine.empty()) {
      auto [at, fresh] = resources.emplace(s.engine, unsigned(modulo.resources.size()));
      if (fresh)
        modulo.resources.push_back(s.engine);
      op.resource = at->second;
      op.busy = std::max<int64_t>(1, s.busy);
    }
    modulo.operations.push_back(std::move(op));
  }
  std::vector<unsigned> storageOf(problem.buffers.size(), none);
  for (BufferId b = 0; b < problem.buffers.size(); ++b) {
    const Buffer &buffer = problem.buffers[b];
    int64_t &capacity = modulo.capacity[size_t(buffer.space)];
    if (!model.versionable[b]) {
      if (capacity)
        capacity = std::max<int64_t>(1, capacity - buffer.bytes);
      continue;
    }
    ModuloStorage storage{buffer.name, buffer.space, buffer.bytes, 1, maxUsefulVersions};
    if (buffer.statedVersions)
      storage.minVersions = storage.maxVersions = buffer.statedVersions;
    else if (capacity && buffer.bytes)
      storage.maxVersions =
          unsigned(std::clamp<int64_t>(capacity / buffer.bytes, 1, maxUsefulVersions));
    storageOf[b] = unsigned(modulo.storages.size());
    modulo.storages.push_back(std::move(storage));
    result.bufferOf.push_back(b);
  }
  // Of parallel dependences only the longest counts.
  std::map<std::tuple<unsigned, unsigned, int64_t, unsigned>, int64_t> longest;
  for (const Pair &pair : model.pairs) {
    int64_t latency = latencyOf(problem, pair);
    auto add = [&](int64_t distance, unsigned storage) {
      int64_t &l = longest[{pair.first, pair.second, distance, storage}];
      l = std::max(l, latency);
    };
    if (pair.occursAt(0))
      add(0, none);
    if (storageOf[pair.buffer] != none) {
      add(0, storageOf[pair.buffer]);
      continue;
    }
    for (int64_t d = 1; d <= maxDistance; ++d)
      if (pair.occursAt(d)) {
        add(d, none);
        break;
      }
  }
  for (auto &[key, latency] : longest) {
    auto [from, to, distance, storage] = key;
    modulo.dependences.push_back({from, to, latency, distance, storage});
  }
  result.problem = std::move(modulo);
  return result;
}

Problem withVersions(const Problem &problem, const ModuloFromLoop &from,
                     const ModuloSchedule &schedule) {
  Problem stated = problem;
  for (size_t s = 0; s < from.bufferOf.size(); ++s)
    stated.buffers[from.bufferOf[s]].statedVersions = schedule.versions[s];
  return stated;
}

RoleAssignment assignRoles(const Problem &problem, const ModuloSchedule &schedule) {
  size_t count = problem.statements.size();
  int64_t interval = schedule.interval;
  // Cycles that a statement occupies the issuing warps.
  auto holds = [&](size_t s) {
    const Statement &statement = problem.statements[s];
    return statement.async ? int64_t(1) : std::max({int64_t(1), statement.busy, statement.latency});
  };
  auto overlap = [&](size_t a, size_t b) {
    int64_t gap = (((schedule.start[b] - schedule.start[a]) % interval) + interval) % interval;
    return gap < holds(a) || interval - gap < holds(b);
  };
  std::vector<std::string> engines;
  for (const Statement &s : problem.statements)
    if (std::find(engines.begin(), engines.end(), s.engine) == engines.end())
      engines.push_back(s.engine);
  RoleAssignment result;
  result.roleOf.assign(count, 0);
  std::vector<std::vector<size_t>> members;
  for (const std::string &engine : engines) {
    std::vector<size_t> mine;
    for (size_t s = 0; s < count; ++s)
      if (problem.statements[s].engine == engine)
        mine.push_back(s);
    size_t role = 0;
    for (; role < members.size(); ++role) {
      bool clash = false;
      for (size_t a : members[role])
        for (size_t b : mine)
          clash |= overlap(a, b);
      if (!clash)
        break;
    }
    if (role == members.size()) {
      members.emplace_back();
      result.names.emplace_back();
    }
    for (size_t s : mine) {
      members[role].push_back(s);
      result.roleOf[s] = unsigned(role);
    }
    result.names[role] +=
        (result.names[role].empty() ? "" : "+") + (engine.empty() ? std::string("other") : engine);
  }
  return result;
}

} // namespace penstock::sched
