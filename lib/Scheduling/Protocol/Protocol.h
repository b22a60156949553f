//===- Protocol.h - Barrier protocols of roles ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose author wrote barriers, phases and roles by hand, as the list of
// steps that each role takes for one number of iterations. Following the lists
// shows errors before any code exists: a wait that nothing ends, a slot that
// is filled while it is read, bytes that no arrival announced. Where the lists for
// all small numbers have the shape of rings, the event graph (Roles.h) then
// answers for every number.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOL_H
#define PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOL_H

#include "Hardware/Queues.h"
#include "Scheduling/Protocol/Roles.h"

#include <array>

namespace penstock::sched {

/// A box of a tile; dimensions beyond the rank are ignored.
struct ProtocolBox {
  static constexpr unsigned maxRank = 4;
  unsigned tile = 0;
  unsigned rank = 0;
  std::array<int64_t, maxRank> begin = {}, end = {};
  bool overlaps(const ProtocolBox &other) const;
  friend bool operator==(const ProtocolBox &, const ProtocolBox &) = default;
};

struct ProtocolAccess {
  ProtocolBox box;
  bool write = false;
  /// Whether it happens, or where, is not known: it proves that a tile may have
  /// been written, and nothing else.
  bool maybe = false;
  /// Of threads of several roles, each for its own part: threads of one scope
  /// divide a tile among them, and who has what is not modeled. Scopes are
  /// numbered from 0; negative: by one thread or engine.
  int64_t scope = -1;
};

/// The engines of a role that work on their own and finish in groups.
using ProtocolQueue = hw::Queue;

struct ProtocolStep {
  enum class Kind : uint8_t {
    Touch,       ///< the role's threads access tiles themselves
    Wait,        ///< for the phase of `barrier` with this parity
    Arrive,      ///< `count` times on `barrier`, which then expects `bytes` more
    Copy,        ///< an engine accesses tiles, then brings `bytes` to `barrier`
    Start,       ///< an engine accesses tiles; completed through `queue`
    Commit,      ///< arrives on `barrier`, `count` times, when `queue` has done all before
    CloseGroup,  ///< of `queue`
    AwaitGroups, ///< until at most `count` groups of `queue` are under way
    Sync         ///< of the roles of sync `barrier`
  };
  Kind kind = Kind::Touch;
  ProtocolQueue queue = ProtocolQueue::Tensor;
  bool parity = false;
  bool relaxed = false; ///< a wait or an arrival that does not order memory
  /// An arrival at a block of the cluster, by its number. Even if it is relaxed, it signals which
  /// asynchronous accesses have completed, so that their tiles may be overwritten.
  bool sent = false;
  bool remote = false; ///< an arrival of another block than the barrier's
  bool narrow = false; ///< a wait that acquires only completions from remote arrivals
  /// A wait for the phase in which the role itself arrived last, as at named
  /// barriers, whatever its parity.
  bool own = false;
  unsigned source = 0;
  unsigned barrier = 0;
  int64_t count = 0;
  int64_t bytes = 0;
  /// Which iteration of the role's loop takes it; negative outside.
  int64_t iteration = -1;
  std::vector<ProtocolAccess> accesses = {};
};

struct ProtocolRole {
  std::string name; ///< "warp 0"
  std::vector<ProtocolStep> steps = {};
};

struct ProtocolBarrier {
  std::string name; ///< "full[2]"
  unsigned array = 0;
  int64_t slot = 0;
  int64_t count = 1;
};

struct Protocol {
  struct Source {
    std::string name; ///< of the operation
    SourceLocation location;
  };
  struct Tile {
    std::string name;
    std::string where; ///< " of block 1"
    /// In tensor memory. Relaxed waits and arrivals order its uses, too: the compiler puts
    /// the fences of tcgen05 beside them.
    bool tensor = false;
  };
  std::vector<Source> sources;
  std::vector<ProtocolBarrier> barriers;
  std::vector<std::string> arrays; ///< names of arrays of barriers
  std::vector<Tile> tiles;
  /// The roles that meet at each sync.
  std::vector<std::vector<unsigned>> syncs;
  std::vector<ProtocolRole> roles;
  /// "K = 256", for messages.
  std::string assignment;
  std::vector<std::string> zeroSizes; ///< names of sizes that are 0 in it
};

/// Returns the errors of the roles' steps under all orders that the lists and the barriers allow;
/// empty if there are none. If phases of barriers depend on the timing, all orders are searched,
/// unless \p search is false; if that takes too long, the finding is PhaseNotExact.
std::vector<Diagnostic> simulateProtocol(const Protocol &, bool search = true);

/// The loops of a kernel as a system of roles, from what it does for 0, 1, 2, ..
/// iterations; no value if its steps do not have the shape of rings.
std::optional<RoleSystem> rolesOf(const std::vector<Protocol> &byIterations);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOL_H
