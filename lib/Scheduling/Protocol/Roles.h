//===- Roles.h - Groups of warps that hand tokens round ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles run the same loop side by side and pass tiles through rings of slots.
// A role's iteration is a list of events on rings; an event may belong to an
// earlier iteration than the step in which it runs (a stage), as a release does
// that trails its wait, and the code at both ends of the loop is then peeled.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_ROLES_H
#define PENSTOCK_SCHEDULING_PROTOCOL_ROLES_H

#include "Scheduling/Plan/EventGraph.h"

namespace penstock::sched {

/// `slots` tiles with a full and an empty barrier each. Token t uses slot
/// t mod slots.
struct Ring {
  std::string name;
  int64_t slots = 1;
};

enum class RoleEventKind {
  Acquire, ///< producer: waits until token t - slots has been released
  Commit,  ///< producer: fills token t
  Wait,    ///< consumer: waits until token t has been filled
  Release, ///< consumer: gives token t back
  Signal,  ///< arrives on link `ring`, for this iteration
  Await    ///< waits for iteration k - distance of the signal of link `ring`
};

struct RoleEvent {
  RoleEventKind kind = RoleEventKind::Commit;
  /// Index of a ring, or of a link.
  unsigned ring = 0;
  /// Which of the tokens of its iteration it handles, from 0.
  int64_t token = 0;
  /// Runs `stage` steps after its iteration began.
  int64_t stage = 0;
  SourceLocation location;
  int64_t latency = 0;
};

/// One signal and one wait per iteration, outside any ring.
struct Link {
  std::string name;
  int64_t distance = 0;
  /// Barriers that carry it, token t on barrier t mod slots. 0: not realized yet, so
  /// that it orders events and has no phases.
  int64_t slots = 0;
};

struct Role {
  std::string name;
  /// In the order in which a step runs them.
  std::vector<RoleEvent> events;
  /// The role runs factor * max(n, leastTrips) + extra iterations.
  int64_t factor = 1;
  int64_t extra = 0;
  /// 0 if peeled code is guarded, that is, runs min(stagger, n) times.
  /// Otherwise as many iterations as it was written for, however few the loop
  /// has.
  int64_t leastTrips = 0;

  /// An inner loop, run once per iteration before event `innerAt` of `events`.
  std::vector<RoleEvent> inner;
  size_t innerAt = 0;
  int64_t innerLeastTrips = 0;
};

struct RoleSystem {
  std::vector<Ring> rings;
  std::vector<Link> links;
  std::vector<Role> roles;
  /// Events depend on data in a way that is not modeled here.
  bool outsideModel = false;

  bool nested() const;
};

struct RolesVerdict {
  /// No role waits for ever, for any number of iterations, and every ring ends
  /// as it began.
  bool live = true;
  /// Otherwise which rule is broken, and the message.
  Diagnostic reason;
  /// The events of the cycle, by name, if that is the reason.
  std::vector<std::string> cycle;
};

/// Decides for all trip counts together; the time does not depend on it.
RolesVerdict checkRoles(const RoleSystem &);

struct ParityVerdict {
  /// Every wait by parity returns exactly when its phase is complete.
  bool exact = true;
  /// It follows from the discipline of the rings, without looking at paths.
  bool byDiscipline = false;
  Diagnostic reason;
};

/// \p system must be live. Inner loops are accepted only where their rings keep
/// the discipline.
ParityVerdict checkParity(const RoleSystem &system);

/// The event graph of a system without inner loops whose roles agree on tokens,
/// each role unrolled to the common period.
EventGraph eventGraph(const RoleSystem &);

/// The same system as one loop over tiles in which the inner loop has
/// \p innerTrips iterations and is unrolled.
RoleSystem flattened(const RoleSystem &, int64_t innerTrips);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_ROLES_H
