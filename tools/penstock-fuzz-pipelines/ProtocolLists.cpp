//===- ProtocolLists.cpp - Random step lists ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rings are what kernels have, and one error in a ring is what people make.
// Lists that are grown take, at each moment of some run, a step that is possible
// then: at least one timing is right, which is where a checker that tries a few
// timings is wrong. Lists without any rule are mostly wrong, in many ways.
//
//===----------------------------------------------------------------------===//
#include "ProtocolLists.h"

#include <algorithm>
#include <random>

using namespace penstock::fuzz;
using namespace penstock::sched;

namespace {

using Kind = ProtocolStep::Kind;
using Queue = ProtocolQueue;

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed * 0x9E3779B97F4A7C15 + 1) {}

  Protocol ring();
  Protocol grown();
  Protocol arbitrary();
  void spoil(Protocol &protocol);
  void divideAmongBlocks(Protocol &protocol);

  int64_t below(int64_t n) { return int64_t(random() % uint64_t(n)); }
  bool oneIn(int64_t n) { return below(n) == 0; }

private:
  static Protocol empty(int64_t tiles);
  static unsigned addBarriers(Protocol &p, const std::string &name, int64_t slots, int64_t count);
  static ProtocolAccess tile(int64_t index, bool write);
  static ProtocolStep make(Kind kind, int64_t barrier = 0);
  static ProtocolStep wait(int64_t barrier, bool parity);
  static ProtocolStep arrive(int64_t barrier, int64_t bytes = 0);
  static ProtocolStep engine(Kind kind, Queue queue, int64_t barrier = 0);

  void produce(ProtocolRole &role, int64_t slots, int64_t slot, int64_t full, int mode);
  void chain(Protocol &p, int64_t n, int64_t slots, int64_t firstTile);
  void addSecondProducer(Protocol &p, int64_t n, int64_t slots, int64_t full, int64_t freed);
  void consume(ProtocolRole &role, int64_t slots, int64_t n, int64_t full, int64_t emptyFirst);
  ProtocolStep anyStep(const Protocol &p);

  std::mt19937_64 random;
};

Protocol Generator::empty(int64_t tiles) {
  Protocol p;
  p.sources.push_back({"step", {}});
  for (int64_t t = 0; t < tiles; ++t)
    p.tiles.push_back({"t" + std::to_string(t), ""});
  return p;
}

unsigned Generator::addBarriers(Protocol &p, const std::string &name, int64_t slots,
                                int64_t count) {
  auto first = unsigned(p.barriers.size()), array = unsigned(p.arrays.size());
  p.arrays.push_back(name);
  for (int64_t s = 0; s < slots; ++s)
    p.barriers.push_back({name + std::to_string(s), array, s, count});
  return first;
}

ProtocolAccess Generator::tile(int64_t index, bool write) {
  ProtocolAccess access;
  access.box.tile = unsigned(index);
  access.box.rank = 1;
  access.box.end = {1, 0, 0, 0};
  access.write = write;
  return access;
}

ProtocolStep Generator::make(Kind kind, int64_t barrier) {
  ProtocolStep step;
  step.kind = kind;
  step.barrier = unsigned(barrier);
  return step;
}

ProtocolStep Generator::wait(int64_t barrier, bool parity) {
  ProtocolStep step = make(Kind::Wait, barrier);
  step.parity = parity;
  return step;
}

ProtocolStep Generator::arrive(int64_t barrier, int64_t bytes) {
  ProtocolStep step = make(Kind::Arrive, barrier);
  step.count = 1;
  step.bytes = bytes;
  return step;
}

ProtocolStep Generator::engine(Kind kind, Queue queue, int64_t barrier) {
  ProtocolStep step = make(kind, barrier);
  step.queue = queue;
  step.count = kind == Kind::Commit ? 1 : 0;
  return step;
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Fills a slot: by one or two copies, by the role's threads, or by an engine that
/// keeps order.
void Generator::produce(ProtocolRole &role, int64_t slots, int64_t slot, int64_t full, int mode) {
  if (mode == 0) {
    ProtocolStep copy = make(Kind::Copy, full);
    copy.bytes = 1;
    copy.accesses = {tile(slot, true)};
    std::vector<ProtocolStep> steps = {arrive(full, 1), copy};
    if (oneIn(4)) { // the other half of the slot
      steps[0].bytes = 2;
      copy.accesses = {tile(slots + slot, true)};
      steps.push_back(copy);
    }
    if (oneIn(4))
      std::rotate(steps.begin(), steps.begin() + 1, steps.end());
    role.steps.insert(role.steps.end(), steps.begin(), steps.end());
    return;
  }
  ProtocolStep fill = mode == 1 ? make(Kind::Touch) : engine(Kind::Start, Queue::AsyncCopy);
  fill.accesses = {tile(slot, true)};
  role.steps.push_back(fill);
  role.steps.push_back(mode == 1 ? arrive(full) : engine(Kind::Commit, Queue::AsyncCopy, full));
}

/// Reads slots by threads, by products that commit, or by groups of products that are
/// awaited one or no iteration later.
void Generator::consume(ProtocolRole &role, int64_t slots, int64_t n, int64_t full,
                        int64_t emptyFirst) {
  int64_t mode = below(3), lag = oneIn(3) ? 1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t slot = i % slots;
    role.steps.push_back(wait(full + slot, i / slots & 1));
    ProtocolStep use = mode == 0   ? make(Kind::Touch)
                       : mode == 1 ? engine(Kind::Start, Queue::Tensor)
                                   : engine(Kind::Start, Queue::Wgmma);
    use.accesses = {tile(slot, false)};
    role.steps.push_back(use);
    if (mode == 1) {
      role.steps.push_back(engine(Kind::Commit, Queue::Tensor, emptyFirst + slot));
      continue;
    }
    if (mode == 2) {
      role.steps.push_back(engine(Kind::CloseGroup, Queue::Wgmma));
      ProtocolStep ended = engine(Kind::AwaitGroups, Queue::Wgmma);
      ended.count = lag;
      role.steps.push_back(ended);
    }
    if (i >= lag)
      role.steps.push_back(arrive(emptyFirst + (i - lag) % slots));
  }
}

/// The last role puts what it makes of a slot into a second ring, which another one
/// reads.
void Generator::chain(Protocol &p, int64_t n, int64_t slots, int64_t firstTile) {
  int64_t full = addBarriers(p, "made", slots, 1), freed = addBarriers(p, "taken", slots, 1);
  std::vector<ProtocolStep> steps;
  int64_t i = 0;
  for (const ProtocolStep &step : p.roles.back().steps) {
    steps.push_back(step);
    if (step.kind != Kind::Wait || i == n)
      continue;
    ProtocolStep write = make(Kind::Touch);
    write.accesses = {tile(firstTile + i % slots, true)};
    steps.push_back(wait(freed + i % slots, !(i / slots & 1)));
    steps.push_back(write);
    steps.push_back(arrive(full + i % slots));
    ++i;
  }
  p.roles.back().steps = std::move(steps);
  ProtocolRole sink{"sink"};
  for (i = 0; i < n; ++i) {
    ProtocolStep read = make(Kind::Touch);
    read.accesses = {tile(firstTile + i % slots, false)};
    sink.steps.push_back(wait(full + i % slots, i / slots & 1));
    sink.steps.push_back(read);
    sink.steps.push_back(arrive(freed + i % slots));
  }
  p.roles.push_back(std::move(sink));
}

/// A second producer, as in a pair of blocks: its copies bring bytes to barriers on which it never
/// arrives. It has written a tile that the consumer also writes, with or without a sync in between.
void Generator::addSecondProducer(Protocol &p, int64_t n, int64_t slots, int64_t full,
                                  int64_t freed) {
  auto preloaded = int64_t(p.tiles.size());
  for (int64_t t = 0; t <= slots; ++t)
    p.tiles.push_back({"second" + std::to_string(t), ""});
  for (ProtocolStep &step : p.roles[0].steps)
    if (step.kind == Kind::Arrive)
      step.bytes += 1;
  ProtocolStep write = make(Kind::Touch);
  write.accesses = {tile(preloaded, true)};
  ProtocolRole second{"second producer"};
  second.steps.push_back(write);
  for (int64_t i = 0; i < n; ++i) {
    ProtocolStep copy = make(Kind::Copy, full + i % slots);
    copy.bytes = 1;
    copy.accesses = {tile(preloaded + 1 + i % slots, true)};
    second.steps.push_back(wait(freed + i % slots, !(i / slots & 1)));
    second.steps.push_back(copy);
  }
  std::vector<ProtocolStep> &consumer = p.roles.back().steps;
  auto used = std::find_if(consumer.begin(), consumer.end(), [](const ProtocolStep &step) {
    return step.kind == Kind::Touch || step.kind == Kind::Start;
  });
  used->accesses.push_back(tile(preloaded, true));
  p.roles.push_back(std::move(second));
  if (oneIn(2))
    return;
  auto sync = int64_t(p.syncs.size());
  p.syncs.push_back({});
  for (unsigned r = 0; r < p.roles.size(); ++r) {
    p.syncs.back().push_back(r);
    auto &steps = p.roles[r].steps;
    steps.insert(steps.begin() + (r + 1 == p.roles.size() ? 1 : 0), make(Kind::Sync, sync));
  }
}

Protocol Generator::ring() {
  bool chained = oneIn(5), large = !chained && oneIn(6);
  int64_t slots = 1 + below(chained ? 2 : large ? 4 : 3);
  int64_t n = 1 + below(chained ? 3 : large ? 9 : 6);
  int64_t consumers = 1 + (!chained && oneIn(3)), second = chained ? 1 + below(2) : 0;
  Protocol p = empty(2 * slots + 1 + second);
  int64_t full = addBarriers(p, "full", slots, 1);
  int64_t freed = addBarriers(p, "empty", slots, consumers);
  int mode = int(below(3));
  p.roles.push_back({"producer"});
  for (int64_t i = 0; i < n; ++i) {
    p.roles[0].steps.push_back(wait(freed + i % slots, !(i / slots & 1)));
    produce(p.roles[0], slots, i % slots, full + i % slots, mode);
  }
  for (int64_t c = 0; c < consumers; ++c) {
    p.roles.push_back({"consumer" + std::to_string(c)});
    consume(p.roles.back(), slots, n, full, freed);
  }
  if (mode == 0 && !chained && oneIn(3)) {
    addSecondProducer(p, n, slots, full, freed);
    return p;
  }
  if (chained)
    chain(p, n, second, 2 * slots + 1);
  // What comes behind the loop: a sync, a named barrier, or a barrier for a result.
  int64_t result = 2 * slots;
  ProtocolStep write = make(Kind::Touch), read = make(Kind::Touch);
  write.accesses = {tile(result, true)};
  read.accesses = {tile(result, false)};
  ProtocolRole &first = p.roles[0], &last = p.roles.back();
  switch (below(5)) {
  case 0: {
    p.syncs.push_back({});
    last.steps.push_back(write);
    for (unsigned r = 0; r < p.roles.size(); ++r) {
      p.syncs[0].push_back(r);
      p.roles[r].steps.push_back(make(Kind::Sync, 0));
    }
    first.steps.push_back(read);
    break;
  }
  case 1: {
    int64_t named = addBarriers(p, "named", 1, 2);
    ProtocolStep opened = wait(named, false);
    opened.own = true;
    for (int64_t round = 0; round < 1 + below(2); ++round) {
      last.steps.insert(last.steps.end(), {write, arrive(named), opened});
      first.steps.insert(first.steps.end(), {arrive(named), opened, read, arrive(named), opened});
      last.steps.insert(last.steps.end(), {arrive(named), opened});
    }
    break;
  }
  case 2: {
    int64_t done = addBarriers(p, "done", 1, 1);
    ProtocolStep product = engine(Kind::Start, Queue::Tensor);
    product.accesses = {tile(result, true)};
    last.steps.push_back(product);
    last.steps.push_back(engine(Kind::Commit, Queue::Tensor, done));
    first.steps.push_back(wait(done, false));
    first.steps.push_back(read);
    break;
  }
  default:
    break;
  }
  return p;
}

/// Puts roles and barriers into two blocks. Waits have the scope that they need, or the cluster.
void Generator::divideAmongBlocks(Protocol &p) {
  std::vector<bool> ofRole, ofArray, observed(p.barriers.size());
  for (size_t r = 0; r < p.roles.size(); ++r)
    ofRole.push_back(oneIn(2));
  for (size_t a = 0; a < p.arrays.size(); ++a)
    ofArray.push_back(oneIn(2));
  for (size_t r = 0; r < p.roles.size(); ++r)
    for (ProtocolStep &step : p.roles[r].steps)
      if (step.kind == Kind::Arrive && ofRole[r] != ofArray[p.barriers[step.barrier].array]) {
        step.remote = step.sent = true;
        observed[step.barrier] = true;
      }
  for (ProtocolRole &role : p.roles)
    for (ProtocolStep &step : role.steps)
      step.narrow = step.kind == Kind::Wait && !observed[step.barrier] && oneIn(2);
}

void Generator::spoil(Protocol &p) {
  std::vector<ProtocolStep> &steps = p.roles[size_t(below(int64_t(p.roles.size())))].steps;
  if (steps.empty())
    return;
  auto at = size_t(below(int64_t(steps.size())));
  auto pick = [&](auto is) { // another one, if this does not fit
    for (int tries = 0; tries < 20 && !is(steps[at].kind); ++tries)
      at = size_t(below(int64_t(steps.size())));
    return is(steps[at].kind);
  };
  auto waits = [](Kind kind) { return kind == Kind::Wait; };
  auto named = [](Kind kind) {
    return kind == Kind::Wait || kind == Kind::Arrive || kind == Kind::Commit || kind == Kind::Copy;
  };
  auto neighbor = [&](unsigned barrier) { // in its array
    unsigned first = barrier, count = 0;
    while (first > 0 && p.barriers[first - 1].array == p.barriers[barrier].array)
      --first;
    while (first + count < p.barriers.size() &&
           p.barriers[first + count].array == p.barriers[barrier].array)
      ++count;
    return first + (barrier - first + 1) % count;
  };
  switch (below(13)) {
  case 0:
    steps.erase(steps.begin() + std::ptrdiff_t(at));
    break;
  case 1:
    if (at + 1 < steps.size())
      std::swap(steps[at], steps[at + 1]);
    break;
  case 2:
    if (pick(waits))
      steps[at].parity = !steps[at].parity;
    break;
  case 3:
    if (pick(named))
      steps[at].barrier = neighbor(steps[at].barrier);
    break;
  case 4: { // somebody who is counted nowhere
    ProtocolRole spectator{"spectator"};
    for (const ProtocolStep &step : steps)
      if (step.kind == Kind::Wait)
        spectator.steps.push_back(step);
    p.roles.push_back(spectator);
    break;
  }
  case 5:
    for (ProtocolStep &step : steps)
      if (step.kind == Kind::Arrive || step.kind == Kind::Commit)
        step.barrier = neighbor(step.barrier);
    break;
  case 6: {
    ProtocolStep twice = steps[at];
    steps.insert(steps.begin() + std::ptrdiff_t(at), twice);
    break;
  }
  case 7: {
    auto b = size_t(below(int64_t(p.barriers.size())));
    p.barriers[b].count = 1 + below(2);
    break;
  }
  case 8:
    if (pick(named))
      steps[at].relaxed = steps[at].kind == Kind::Wait || steps[at].kind == Kind::Arrive;
    if (steps[at].kind == Kind::Arrive && steps[at].relaxed)
      steps[at].sent |= oneIn(2);
    break;
  case 9: {
    ProtocolStep moved = steps[at];
    steps.erase(steps.begin() + std::ptrdiff_t(at));
    auto &other = p.roles[size_t(below(int64_t(p.roles.size())))].steps;
    if (moved.kind != Kind::Sync)
      other.insert(other.begin() + below(int64_t(other.size()) + 1), moved);
    break;
  }
  case 10: // moved within its list
    std::rotate(steps.begin() + std::ptrdiff_t(std::min(at, at / 2)),
                steps.begin() + std::ptrdiff_t(at), steps.end());
    break;
  case 11:
    if (pick([](Kind kind) { return kind == Kind::AwaitGroups || kind == Kind::Arrive; })) {
      if (steps[at].kind == Kind::AwaitGroups)
        ++steps[at].count;
      else
        steps[at].bytes += oneIn(2) ? 1 : -steps[at].bytes;
    }
    break;
  case 12:
    if (pick(waits))
      steps[at].narrow = !steps[at].narrow;
    break;
  }
}

//===----------------------------------------------------------------------===//
// Other lists
//===----------------------------------------------------------------------===//

ProtocolStep Generator::anyStep(const Protocol &p) {
  int64_t barrier = below(int64_t(p.barriers.size()));
  ProtocolAccess access = tile(below(int64_t(p.tiles.size())), oneIn(2));
  if (oneIn(8))
    access.scope = 0;
  if (oneIn(12))
    access.maybe = true;
  switch (below(12)) {
  case 0:
  case 1:
  case 2:
    return wait(barrier, oneIn(2));
  case 3:
  case 4:
  case 5:
    return arrive(barrier);
  case 6: {
    ProtocolStep step = wait(barrier, false);
    step.own = true;
    return step;
  }
  case 7:
    return engine(Kind::Commit, oneIn(2) ? Queue::Tensor : Queue::AsyncCopy, barrier);
  case 8: {
    ProtocolStep step = engine(Kind::Start, Queue(below(int64_t(Queue::Count))));
    step.accesses = {access};
    return step;
  }
  case 9:
    return engine(oneIn(2) ? Kind::CloseGroup : Kind::AwaitGroups,
                  Queue(below(int64_t(Queue::Count))));
  default: {
    ProtocolStep step = make(Kind::Touch);
    step.accesses = {access};
    return step;
  }
  }
}

Protocol Generator::arbitrary() {
  Protocol p = empty(1 + below(2));
  for (int64_t b = 0, n = 1 + below(3); b < n; ++b)
    addBarriers(p, "b" + std::to_string(b) + ".", 1, 1 + below(2));
  for (int64_t r = 0, n = 2 + below(2); r < n; ++r) {
    p.roles.push_back({"role" + std::to_string(r)});
    if (r == 0) // something to read
      for (int64_t t = 0; t < int64_t(p.tiles.size()); ++t) {
        p.roles[0].steps.push_back(make(Kind::Touch));
        p.roles[0].steps.back().accesses = {tile(t, true)};
        p.roles[0].steps.back().accesses[0].maybe = true;
      }
    for (int64_t i = below(7); i > 0; --i)
      p.roles.back().steps.push_back(anyStep(p));
  }
  auto somewhere = [&](const ProtocolStep &step) {
    auto &steps = p.roles[size_t(below(int64_t(p.roles.size())))].steps;
    steps.insert(steps.begin() + below(int64_t(steps.size()) + 1), step);
  };
  for (int64_t i = below(3); i > 0; --i) {
    int64_t barrier = below(int64_t(p.barriers.size()));
    ProtocolStep copy = make(Kind::Copy, barrier);
    copy.bytes = 1;
    copy.accesses = {tile(below(int64_t(p.tiles.size())), true)};
    somewhere(arrive(barrier, 1));
    somewhere(copy);
  }
  if (oneIn(3)) {
    p.syncs.push_back({0, 1});
    for (unsigned role : p.syncs[0]) {
      auto &steps = p.roles[role].steps;
      steps.insert(steps.begin() + below(int64_t(steps.size()) + 1), make(Kind::Sync));
    }
  }
  return p;
}

Protocol Generator::grown() {
  Protocol p = empty(1 + below(2));
  int64_t barriers = 1 + below(3);
  for (int64_t b = 0; b < barriers; ++b)
    addBarriers(p, "b" + std::to_string(b) + ".", 1, 1 + below(2));
  int64_t roles = 2 + below(2);
  for (int64_t r = 0; r < roles; ++r)
    p.roles.push_back({"role" + std::to_string(r)});
  p.syncs.push_back({});
  for (unsigned r = 0; r < unsigned(roles); ++r)
    p.syncs[0].push_back(r);
  struct Barrier {
    int64_t pending, announced = 0, phase = 0;
  };
  std::vector<Barrier> now;
  for (const ProtocolBarrier &b : p.barriers)
    now.push_back({b.count});
  // Engines end at once in the run that the lists are grown along.
  auto came = [&](unsigned b) {
    if (now[b].pending == 0 && now[b].announced == 0) {
      now[b].pending = p.barriers[b].count;
      ++now[b].phase;
    }
  };
  for (int64_t i = 6 + below(14); i > 0; --i) {
    ProtocolRole &role = p.roles[size_t(below(roles))];
    auto b = unsigned(below(barriers));
    switch (below(9)) {
    case 0:
    case 1:
    case 2:
      role.steps.push_back(wait(b, !(now[b].phase & 1)));
      break;
    case 3:
    case 4:
      if (now[b].pending) {
        role.steps.push_back(arrive(b));
        --now[b].pending;
        came(b);
      }
      break;
    case 5:
      if (now[b].pending) {
        role.steps.push_back(engine(Kind::Commit, Queue::Tensor, b));
        --now[b].pending;
        came(b);
      }
      break;
    case 6:
      if (now[b].pending) {
        ProtocolStep copy = make(Kind::Copy, b);
        copy.bytes = 1;
        copy.accesses = {tile(below(int64_t(p.tiles.size())), true)};
        role.steps.push_back(arrive(b, 1));
        p.roles[size_t(below(roles))].steps.push_back(copy);
        --now[b].pending;
        came(b);
      }
      break;
    case 7: {
      ProtocolStep touch = make(Kind::Touch);
      touch.accesses = {tile(below(int64_t(p.tiles.size())), true)};
      role.steps.push_back(touch);
      break;
    }
    case 8:
      if (oneIn(4))
        for (ProtocolRole &each : p.roles)
          each.steps.push_back(make(Kind::Sync, 0));
      break;
    }
  }
  return p;
}

} // namespace

Protocol penstock::fuzz::generateLists(uint64_t seed) {
  Generator generator(seed);
  int64_t form = generator.below(5);
  Protocol p = form == 0 ? generator.arbitrary() : form == 1 ? generator.grown() : generator.ring();
  if (generator.oneIn(3))
    generator.divideAmongBlocks(p);
  if (form > 1 && !generator.oneIn(4))
    generator.spoil(p);
  return p;
}
