//===- ProtocolFindings.cpp - Diagnostics of a protocol -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/ProtocolFindings.h"
#include "Diagnostics/Codes.h"

#include <algorithm>

namespace penstock::sched {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;

Diagnostic *ProtocolFindings::report(unsigned code, unsigned source) {
  if (!known.insert({code, source}).second)
    return nullptr;
  found.emplace_back();
  found.back().code = code;
  found.back().location = protocol->sources[source].location;
  return &found.back();
}

std::string ProtocolFindings::nameOf(const ProtocolBox &box) const {
  std::string text = protocol->tiles[box.tile].name;
  // The slot of a ring of tiles is what its author thinks in.
  if (box.rank > 2 && box.end[0] == box.begin[0] + 1)
    text += "[" + std::to_string(box.begin[0]) + "]";
  return "`" + text + "`" + protocol->tiles[box.tile].where;
}

void ProtocolFindings::unordered(StepRef first, const ProtocolAccess &firstAccess, StepRef second,
                                 const ProtocolAccess &secondAccess, bool inTime) {
  Diagnostic *d = report(ProtocolOrder, numbers->step(second).source);
  if (!d)
    return;
  d->message = nameOf(second) + (secondAccess.write ? " may overwrite " : " may read ") +
               nameOf(secondAccess.box) + " before an earlier " + nameOf(first) + " has " +
               (firstAccess.write ? "written" : "read") + " it" + when();
  d->label = "by " + roleName(second);
  bool byEngine = numbers->step(first).kind != Kind::Touch;
  d->notes.push_back({location(first),
                      std::string(firstAccess.write ? "written" : "read") + " here by " +
                          nameOf(first) + " of " + roleName(first) +
                          (byEngine ? ", asynchronously" : ""),
                      ""});
  if (const StepRef relaxed = inTime ? relaxedBefore(first, second) : StepRef();
      relaxed.role != noStep) {
    bool waits = numbers->step(relaxed).kind == Kind::Wait;
    if (!numbers->step(relaxed).relaxed) {
      d->notes.push_back({location(relaxed),
                          "this wait comes between them, but has scope `Cta`: it acquires nothing "
                          "from arrivals of other blocks",
                          ""});
      d->helps.push_back("wait with scope `Cluster` for arrivals of other blocks");
      return;
    }
    d->notes.push_back({location(relaxed),
                        std::string(waits ? "this wait" : "this arrival") +
                            " comes between them, but is `Relaxed`: it does not order memory",
                        ""});
    d->helps.push_back(waits
                           ? "wait with `Acquire`, the default, before shared memory is accessed"
                           : "arrive with `Release`, the default, after shared memory is accessed");
    return;
  }
  d->helps.push_back(!secondAccess.write ? "wait, before reading, for a barrier that the writer "
                                           "arrives on"
                     : firstAccess.write ? "wait for the earlier write to complete before writing "
                                           "again"
                                         : "release the slot when the read completes, and wait "
                                           "for the release before refilling it");
}

StepRef ProtocolFindings::relaxedBefore(StepRef first, StepRef second) const {
  for (unsigned i = second.index; i-- > 0;)
    if (const Step &step = numbers->step({second.role, i});
        step.kind == Kind::Wait &&
        (step.relaxed || (step.narrow && hasRemoteArrival(step.barrier))))
      return {second.role, i};
  const auto &steps = protocol->roles[first.role].steps;
  for (unsigned i = first.index + 1; i < steps.size(); ++i)
    if (steps[i].kind == Kind::Arrive && steps[i].relaxed)
      return {first.role, i};
  return {};
}

bool ProtocolFindings::hasRemoteArrival(unsigned barrier) const {
  return std::ranges::any_of(protocol->roles, [&](const ProtocolRole &role) {
    return std::ranges::any_of(role.steps, [&](const Step &step) {
      return step.kind == Kind::Arrive && step.remote && step.barrier == barrier;
    });
  });
}

StepRef ProtocolFindings::relaxedWaitFor(StepRef copy) const {
  for (unsigned role = 0; role < protocol->roles.size(); ++role) {
    const auto &steps = protocol->roles[role].steps;
    for (unsigned i = 0; i < steps.size(); ++i)
      if (steps[i].kind == Kind::Wait && steps[i].relaxed &&
          steps[i].barrier == numbers->step(copy).barrier)
        return {role, i};
  }
  return {};
}

void ProtocolFindings::uninitialized(StepRef step, const ProtocolAccess &access) {
  if (Diagnostic *d = report(ProtocolUninitialized, numbers->step(step).source)) {
    d->message =
        nameOf(step) + " reads " + nameOf(access.box) + ", which nothing has written" + when();
    d->label = "by " + roleName(step);
    d->helps.push_back("write it first, or leave out the read where the loop that writes it "
                       "has no iterations");
    for (const std::string &size : protocol->zeroSizes) {
      bool named = size.find(' ') == std::string::npos; // by the signature
      d->helps.push_back(
          "if " + size + " is never 0, state that" +
          (named ? ": b.require(" + size + " > 0, \"" + size + " is 0\")" : " with b.require"));
    }
  }
}

void ProtocolFindings::overflow(StepRef step, int64_t room) {
  const Step &arrives = numbers->step(step);
  int64_t counts = protocol->barriers[arrives.barrier].count;
  if (Diagnostic *d = report(ProtocolArrivals, arrives.source)) {
    d->message = nameOf(step) + " arrives " + std::to_string(arrives.count) + " times on " +
                 barrierName(arrives.barrier) + ", which counts " + std::to_string(counts) +
                 (room < counts ? " and has room for " + std::to_string(room) : "") + when();
    d->helps.push_back("every thread of the scope arrives: put it into elect_one, or count "
                       "all of them");
  }
}

void ProtocolFindings::deadlock(const ProtocolMachine &machine, const ProtocolState &state) {
  // The cause is a wait; what else stands still follows from it.
  std::vector<StepRef> waiting, standing;
  for (unsigned role = 0; role < protocol->roles.size(); ++role)
    if (!machine.finished(state, role)) {
      StepRef at{role, machine.next(state, role)};
      (numbers->step(at).kind == Kind::Wait ? waiting : standing).push_back(at);
    }
  auto missing = [&](StepRef at) {
    unsigned index = numbers->step(at).barrier;
    auto [pending, bytes, phase] = machine.barrier(state, index);
    int64_t count = protocol->barriers[index].count;
    return barrierName(index) + " has " + std::to_string(count - pending) + " of " +
           std::to_string(count) + " arrivals" +
           (bytes > 0   ? " and lacks " + std::to_string(bytes) + " bytes"
            : bytes < 0 ? " and " + std::to_string(-bytes) + " bytes that no arrival announced"
                        : "");
  };
  if (waiting.empty()) { // roles that meet at different syncs
    if (Diagnostic *d = report(ProtocolDeadlock, numbers->step(standing.front()).source)) {
      d->message = "this wait never ends: other threads do not arrive" + when();
      d->label = "by " + roleName(standing.front());
      d->helps.push_back("all threads of the scope must reach it, equally often");
    }
    return;
  }
  StepRef first = waiting.front();
  Diagnostic *d = report(ProtocolDeadlock, numbers->step(first).source);
  if (!d)
    return;
  d->message = "this wait never ends: " + missing(first) + when();
  d->label = "by " + roleName(first);
  if (!numbers->step(first).own)
    d->label += ", for the phase of parity " + std::to_string(numbers->step(first).parity);
  int64_t count = protocol->barriers[numbers->step(first).barrier].count;
  d->helps.push_back("each phase needs " + std::to_string(count) +
                     (count == 1 ? " arrival" : " arrivals") +
                     "; a consumer starts with phase 0, a producer with phase 1");
  for (size_t i = 1; i < waiting.size(); ++i)
    d->notes.push_back(
        {location(waiting[i]),
         "nor does this one, by " + roleName(waiting[i]) + ": " + missing(waiting[i]), ""});
}

void ProtocolFindings::unfinished(StepRef copy) {
  if (Diagnostic *d = report(ProtocolUnfinished, numbers->step(copy).source)) {
    const StepRef relaxed = relaxedWaitFor(copy);
    bool waits = relaxed.role != noStep;
    d->message = nameOf(copy) + " may still be under way when the kernel ends" +
                 (waits ? "" : ": no role waits for it") + when();
    d->label = "by " + roleName(copy);
    if (waits) {
      d->notes.push_back(
          {location(relaxed), "this wait for it is `Relaxed`: it does not order memory", ""});
      d->helps.push_back("wait with `Acquire`, the default");
      return;
    }
    d->helps.push_back("wait for its barrier, or do not copy what is not used");
  }
}

std::string ProtocolFindings::textOf(const PhaseDoubt &doubt) const {
  std::string barrier = barrierName(doubt.barrier);
  switch (doubt.kind) {
  case PhaseDoubt::Kind::EarlyArrival:
    return "this arrival can come while the phase of " + barrier + " before it is still open";
  case PhaseDoubt::Kind::EarlyWait:
    return "this wait can begin while the phase of " + barrier +
           " before it is still open, and return at once";
  case PhaseDoubt::Kind::MissedPhase:
    return "this wait can miss its phase: nothing keeps the next phase of " + barrier +
           " from being over before it returns";
  }
  return "";
}

void ProtocolFindings::doubt(const PhaseDoubt &doubt) {
  if (Diagnostic *d = report(PhaseNotExact, numbers->step(doubt.step).source)) {
    d->message = textOf(doubt) + when();
    d->label = "by " + roleName(doubt.step);
    d->notes.push_back({location(doubt.other),
                        "nothing orders it with this one, by " + roleName(doubt.other), ""});
    d->helps.push_back("wait, before an arrival, for what awaits the phase before");
  }
}

void ProtocolFindings::explain(const PhaseDoubt &doubt) {
  if (found.empty())
    return;
  Diagnostic &d = found.front();
  d.notes.push_back({location(doubt.step),
                     "in some timings: " + textOf(doubt) + " (by " + roleName(doubt.step) + ")",
                     ""});
  d.notes.push_back(
      {location(doubt.other), "nothing orders it with this one, by " + roleName(doubt.other), ""});
}

std::vector<Diagnostic> ProtocolFindings::take() {
  std::vector<Diagnostic> ordered;
  for (unsigned code : {ProtocolArrivals, ProtocolOrder, ProtocolDeadlock, PhaseNotExact,
                        ProtocolUninitialized, ProtocolUnfinished})
    for (Diagnostic &d : found)
      if (d.code == code)
        ordered.push_back(std::move(d));
  found.clear();
  return ordered;
}

std::vector<Diagnostic> wrongBytes(const Protocol &protocol) {
  struct Sum {
    int64_t expected = 0, brought = 0;
    unsigned expectedAt = noStep, broughtAt = noStep; ///< sources
    bool negative = false;
  };
  std::vector<Sum> sums(protocol.barriers.size());
  for (const ProtocolRole &role : protocol.roles)
    for (const Step &step : role.steps)
      if (step.kind == Kind::Arrive && step.count > protocol.barriers[step.barrier].count) {
        return {}; // every thread announces where one was meant: that is the error
      } else if (step.kind == Kind::Arrive && step.bytes) {
        sums[step.barrier].expected += step.bytes;
        sums[step.barrier].expectedAt = step.source;
        sums[step.barrier].negative |= step.bytes < 0;
      } else if (step.kind == Kind::Copy) {
        sums[step.barrier].brought += step.bytes;
        sums[step.barrier].broughtAt = step.source;
      }
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sum &sum = sums[i];
    if (sum.expected == sum.brought && !sum.negative)
      continue;
    unsigned at = sum.expectedAt != noStep ? sum.expectedAt : sum.broughtAt;
    Diagnostic d;
    d.code = ProtocolBytes;
    d.location = protocol.sources[at].location;
    d.message = "`" + protocol.barriers[i].name + "` is told to expect " +
                std::to_string(sum.expected) + " bytes in all, and copies bring " +
                std::to_string(sum.brought) +
                (protocol.assignment.empty() ? "" : ", with " + protocol.assignment);
    if (sum.broughtAt != noStep && sum.broughtAt != at)
      d.notes.push_back(
          {protocol.sources[sum.broughtAt].location, "the last copy that arrives on it", ""});
    d.helps.push_back("announce, for each phase, the bytes of all tiles that are copied in it");
    return {d}; // those of other slots say the same
  }
  return {};
}

} // namespace penstock::sched
