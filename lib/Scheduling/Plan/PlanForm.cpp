//===- PlanForm.cpp - Is a plan well formed -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/PlanForm.h"
#include "Scheduling/Plan/Mechanisms.h"

namespace penstock::sched::verifier {
namespace {

/// Stages, distances and counts beyond this come from a bug, not from a kernel.
constexpr int64_t most = 4 * maxDistance;

class Form {
public:
  explicit Form(const Plan &plan) : plan(plan), issues(plan.bound.statements.size(), 0) {}

  std::vector<Uncovered> run() {
    if (plan.slots.size() != plan.bound.buffers.size())
      say("a plan has one number of slots per buffer");
    for (int64_t slots : plan.slots)
      if (slots < 1 || slots > most)
        say("a buffer has at least one slot");
    for (const PlanRole &role : plan.roles) {
      for (const PlanPoint &point : role.points)
        checkPoint(role, point);
      for (const PlanPoint &point : role.drain)
        checkDrain(role, point);
    }
    for (StatementId s = 0; s < issues.size(); ++s)
      if (issues[s] != 1)
        say("`" + plan.bound.statements[s].name + "` is issued " + std::to_string(issues[s]) +
            " times");
    if (found.empty())
      for (BarrierId b = 0; b < plan.barriers.size(); ++b)
        checkBarrier(b);
    return std::move(found);
  }

private:
  void say(std::string what) {
    Uncovered u;
    u.kind = Uncovered::Malformed;
    u.what = std::move(what);
    found.push_back(std::move(u));
  }
  void checkPoint(const PlanRole &role, const PlanPoint &point);
  void checkDrain(const PlanRole &role, const PlanPoint &point);
  void checkBarrier(BarrierId b);

  const Plan &plan;
  std::vector<int> issues;
  std::vector<Uncovered> found;
};

void Form::checkPoint(const PlanRole &role, const PlanPoint &point) {
  if (point.at >= plan.bound.statements.size())
    return say("a point of `" + role.name + "` names an unknown statement");
  const Statement &statement = plan.bound.statements[point.at];
  std::string name = "a point of `" + role.name + "` at `" + statement.name + "` ";
  if (point.barrier != none && point.barrier >= plan.barriers.size())
    return say(name + "names an unknown barrier");
  if (point.stage < 0 || point.stage > most || point.distance < 0 || point.distance > most ||
      point.pending < 0 || point.pending > most)
    return say(name + "has a stage, distance or count out of range");
  bool conditional = point.kind == PlanPoint::Fence || point.kind == PlanPoint::Join ||
                     point.kind == PlanPoint::WaitGroup;
  if (point.guarded && !conditional)
    return say(name + "must be unconditional");
  const Mechanism &mechanism = mechanismOf(statement.executedBy);
  switch (point.kind) {
  case PlanPoint::Issue:
    ++issues[point.at];
    if (point.leader != mechanism.leader)
      say(name + "is issued by the wrong threads");
    if ((point.barrier != none) != (mechanism.ends == Mechanism::Bytes))
      say(name + "must signal a barrier if and only if it is a TMA load");
    return;
  case PlanPoint::WaitBarrier:
  case PlanPoint::Arrive:
  case PlanPoint::Expect:
    if (point.barrier == none)
      say(name + "names no barrier");
    if (point.kind == PlanPoint::Expect && !point.leader)
      say(name + "announces bytes in all threads");
    return;
  case PlanPoint::Join:
    if (point.leader)
      say(name + "joins the leader only");
    return;
  case PlanPoint::WaitGroup:
  case PlanPoint::Commit: {
    Mechanism::Ends ends = mechanismOf(point.engine).ends;
    bool groups = ends == Mechanism::Groups && point.barrier == none;
    bool waits = point.kind == PlanPoint::WaitGroup && ends == Mechanism::WaitAll &&
                 point.pending == 0 && point.barrier == none;
    bool arrives = point.kind == PlanPoint::Commit && point.barrier != none &&
                   (ends == Mechanism::Committed || point.engine == Engine::CpAsync);
    if (!groups && !waits && !arrives)
      say(name + "is not how " + engineName(point.engine) + " ends");
    if (point.leader != mechanismOf(point.engine).leader)
      say(name + "runs in other threads than the engine's");
    if (point.readsOnly && !mechanismOf(point.engine).readsEndFirst)
      say(name + "awaits only the reads of " + engineName(point.engine));
    return;
  }
  case PlanPoint::Fence:
    return;
  }
}

void Form::checkDrain(const PlanRole &role, const PlanPoint &point) {
  std::string name = "a point of the drain of `" + role.name + "` ";
  bool barrier = point.kind == PlanPoint::WaitBarrier;
  if (!barrier && point.kind != PlanPoint::WaitGroup && point.kind != PlanPoint::Fence &&
      point.kind != PlanPoint::Join)
    say(name + "issues or arrives");
  if (point.guarded || point.pending != 0 || point.distance < 0 || point.distance > most)
    say(name + "has a condition, a count or a distance out of range");
  if (barrier && point.barrier >= plan.barriers.size())
    return say(name + "names an unknown barrier");
  // An older token than that shares its parity with a newer one.
  if (barrier && point.distance >= plan.barriers[point.barrier].slots)
    say(name + "awaits a token whose slot may have been used again");
  if (point.kind == PlanPoint::Join && point.leader)
    say(name + "joins the leader only");
}

void Form::checkBarrier(BarrierId b) {
  const PlanBarrier &barrier = plan.barriers[b];
  if (barrier.slots < 1 || barrier.slots > most)
    return say("barrier `" + barrier.name + "` has no slot");
  int64_t arrivals = 0, expected = 0, bytes = 0, waits = 0;
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.drain)
      waits += point.barrier == b;
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.points) {
      if (point.barrier != b)
        continue;
      waits += point.kind == PlanPoint::WaitBarrier;
      if (point.kind == PlanPoint::Issue)
        bytes += point.bytes;
      if (point.kind != PlanPoint::Arrive && point.kind != PlanPoint::Expect &&
          point.kind != PlanPoint::Commit)
        continue;
      arrivals += point.count;
      if (point.kind == PlanPoint::Expect)
        expected += point.bytes;
      if (point.count != (point.leader ? 1 : 32 * role.warps))
        say("barrier `" + barrier.name + "`: the arrivals of `" + role.name +
            "` are not its threads");
    }
  if (arrivals != barrier.arrivals || arrivals == 0)
    say("barrier `" + barrier.name + "` counts " + std::to_string(barrier.arrivals) +
        " arrivals and gets " + std::to_string(arrivals));
  if (bytes != expected || bytes != barrier.bytes)
    say("barrier `" + barrier.name + "` expects " + std::to_string(expected) + " bytes of " +
        std::to_string(barrier.bytes) + " and gets " + std::to_string(bytes));
  if (waits == 0)
    say("barrier `" + barrier.name + "` is awaited by no point");
}

} // namespace

std::vector<Uncovered> malformedPoints(const Plan &plan) { return Form(plan).run(); }

} // namespace penstock::sched::verifier
