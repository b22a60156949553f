//===- KernelSizes.cpp - For which sizes a kernel is simulated ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelSizes.h"
#include "Dialect/Tile/TileDialect.h"

using namespace mlir;

namespace penstock {

/// Rounds of loops around others: none, one, and enough for a second one to find what
/// the first left, and a third what the second did.
static constexpr int64_t mostRounds = 3;

KernelSizes::KernelSizes(func::FuncOp kernel, KernelTrace &trace)
    : kernel(kernel), trace(trace), scalars(kernel) {
  findLoops();
  findRequirements();
}

//===----------------------------------------------------------------------===//
// Loops and the sizes that decide
//===----------------------------------------------------------------------===//

void KernelSizes::findSizes(Value value, Names &found, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    // The counter of a loop around, or what a loop carries.
    auto argument = cast<BlockArgument>(value);
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        findSizes(bound, found, seen);
      if (OpOperand *init = loop.getTiedLoopInit(argument)) {
        findSizes(init->get(), found, seen);
        findSizes(loop.getTiedLoopYieldedValue(argument)->get(), found, seen);
      }
    }
    if (auto loop = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp()))
      for (ValueRange from : {ValueRange(loop.getInits()), ValueRange(loop.getYieldedValues()),
                              ValueRange(loop.getConditionOp().getArgs())})
        for (Value value : from)
          findSizes(value, found, seen);
    return;
  }
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    // A variable has its assigned value; other memory holds data.
    if (isVariable(load.getSource()))
      for (Operation *user : load.getSource().getUsers())
        if (auto store = dyn_cast<tile::StoreOp>(user))
          findSizes(store.getValue(), found, seen);
    return;
  }
  if (isa<nv::NVDialect>(op->getDialect()))
    return; // answers of the hardware
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    auto index = dim.getConstantIndex();
    if (argument && index && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
        cast<MemRefType>(argument.getType()).isDynamicDim(unsigned(*index)))
      found.insert(scalars.sizeName(argument, *index));
    return;
  }
  if (isa<tile::GridOp>(op)) {
    found.insert(KnownScalars::coordinateName(cast<OpResult>(value).getResultNumber()));
    return;
  }
  for (Value operand : op->getOperands())
    findSizes(operand, found, seen);
}

/// All groups with a size of this one become one.
void KernelSizes::addGroup(Group group) {
  for (auto other = groups.begin(); other != groups.end();)
    if (llvm::any_of(other->sizes, [&](auto &name) { return group.sizes.contains(name); })) {
      group.loops.append(other->loops);
      group.whiles.append(other->whiles);
      group.sizes.merge(other->sizes);
      other = groups.erase(other);
    } else {
      ++other;
    }
  groups.push_back(std::move(group));
}

void KernelSizes::findLoops() {
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<nv::BarrierAllocOp>(op))
      slots = std::max(slots, int64_t(alloc.getCounts().size()));
    asksForWork |= isa<nv::ClcRequestOp>(op);
    Group group;
    llvm::DenseSet<Value> seen;
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !hasKnownLength(loop)) {
      group.loops.push_back(loop);
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        findSizes(bound, group.sizes, seen);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      group.whiles.push_back(loop);
      findSizes(loop.getConditionOp().getCondition(), group.sizes, seen);
    }
    if (!group.sizes.empty() && touchesBarriers(op))
      addGroup(std::move(group));
  });
  for (Group &group : groups)
    for (scf::ForOp loop : group.loops)
      if (llvm::none_of(group.different, [&](scf::ForOp other) {
            return loop.getLowerBound() == other.getLowerBound() &&
                   loop.getUpperBound() == other.getUpperBound() &&
                   loop.getStep() == other.getStep();
          }))
        group.different.push_back(loop);
  auto operations = [](const Group &group) {
    SmallVector<Operation *> all(group.loops.begin(), group.loops.end());
    all.append(group.whiles.begin(), group.whiles.end());
    return all;
  };
  for (Group &group : groups)
    for (const Group &other : groups)
      for (Operation *inner : operations(other))
        for (Operation *outer : operations(group))
          if (outer->isProperAncestor(inner))
            (&group == &other ? group.nested : group.around) = true;
}

/// Finds the requirements on sizes that determine trip counts; others make no difference here.
void KernelSizes::findRequirements() {
  Names decide;
  for (const Group &group : groups)
    decide.insert(group.sizes.begin(), group.sizes.end());
  SmallVector<Value> conditions;
  for (auto op : kernel.getBody().getOps<tile::AssertOp>())
    conditions.push_back(op.getCondition());
  while (!conditions.empty()) {
    Requirement requirement{conditions.pop_back_val(), {}};
    if (auto both = requirement.condition.getDefiningOp<arith::AndIOp>()) {
      conditions.append({both.getLhs(), both.getRhs()});
      continue;
    }
    llvm::DenseSet<Value> seen;
    findSizes(requirement.condition, requirement.sizes, seen);
    if (llvm::all_of(requirement.sizes, [&](auto &name) { return decide.contains(name); }))
      requirements.push_back(std::move(requirement));
  }
}

bool KernelSizes::holds(const Sizes &given) {
  SizeAssignment assignment;
  assignment.sizes = given;
  scalars.begin(assignment);
  return llvm::all_of(requirements, [&](const Requirement &requirement) {
    bool known = llvm::all_of(requirement.sizes, [&](auto &name) { return given.contains(name); });
    return !known || scalars.compute(requirement.condition).value_or(1) != 0;
  });
}

bool KernelSizes::permit(Sizes &given, ArrayRef<std::string> movers) {
  if (holds(given))
    return true;
  // No tile is larger.
  constexpr int64_t mostTried = 512;
  auto counts = [&](const Sizes &sizes) {
    std::vector<int64_t> all;
    for (const Group &group : groups)
      for (const Counter &trips : countersOf(group))
        all.push_back(trips(sizes));
    return all;
  };
  auto wanted = counts(given);
  for (const std::string &name : movers) {
    Sizes raised = given;
    for (int64_t tried = 0; tried < mostTried; ++tried) {
      ++raised[name];
      if (counts(raised) != wanted)
        break;
      if (holds(raised)) {
        given = std::move(raised);
        return true;
      }
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sizes for numbers of iterations
//===----------------------------------------------------------------------===//

int64_t KernelSizes::trips(scf::ForOp loop, const Sizes &given) {
  SmallVector<scf::ForOp> around;
  for (Operation *op = loop->getParentOp(); op; op = op->getParentOp())
    if (auto outer = dyn_cast<scf::ForOp>(op))
      around.insert(around.begin(), outer);
  SizeAssignment assignment;
  assignment.sizes = given;
  int64_t rounds = 0;
  auto count = [&](scf::ForOp one) {
    auto begin = scalars.compute(one.getLowerBound()), end = scalars.compute(one.getUpperBound()),
         step = scalars.compute(one.getStep());
    return begin && end && step ? tripCount(*begin, *end, *step) : 0;
  };
  for (bool last : {false, true}) {
    scalars.begin(assignment);
    for (scf::ForOp outer : around) {
      auto begin = scalars.compute(outer.getLowerBound()), step = scalars.compute(outer.getStep());
      int64_t number = last ? std::max<int64_t>(count(outer), 1) - 1 : 0;
      if (begin && step)
        scalars.set(outer.getInductionVar(),
                    int64_t(uint64_t(*begin) + uint64_t(number) * uint64_t(*step)));
      for (auto [argument, init] : llvm::zip_equal(outer.getRegionIterArgs(), outer.getInitArgs()))
        if (init.getType().isIntOrIndex())
          scalars.set(argument, scalars.compute(init));
    }
    rounds = std::max(rounds, count(loop));
    if (around.empty())
      break;
  }
  return rounds;
}

/// There is no formula for them: the kernel is simulated, with other loops kept short.
int64_t KernelSizes::tripsOfWhiles(const Group &group, const Sizes &given) {
  SizeAssignment assignment;
  assignment.sizes = given;
  for (const Group &other : groups)
    for (const std::string &name : other.sizes)
      assignment.sizes.insert({name, KnownScalars::isCoordinate(name) ? 0 : 1});
  int64_t most = 0;
  trace.simulate(assignment); // as far as it goes
  for (scf::WhileOp loop : group.whiles)
    most = std::max(most, trace.trips(loop));
  return most;
}

std::vector<KernelSizes::Counter> KernelSizes::countersOf(const Group &group) {
  std::vector<Counter> each;
  for (scf::ForOp loop : group.different)
    each.push_back([this, loop](const Sizes &given) { return trips(loop, given); });
  if (!group.whiles.empty())
    each.push_back([this, &group](const Sizes &given) { return tripsOfWhiles(group, given); });
  if (group.sizes.size() > 1 || each.size() == 1)
    return each;
  return {[each](const Sizes &given) {
    int64_t most = 0;
    for (const Counter &one : each)
      most = std::max(most, one(given));
    return most;
  }};
}

std::optional<int64_t> KernelSizes::sizeFor(const Counter &trips, Sizes given,
                                            const std::string &name, int64_t iterations,
                                            int64_t atLeast) {
  constexpr int64_t largest = 1 << 20;
  auto enough = [&](int64_t size) {
    given[name] = size;
    return trips(given) >= iterations;
  };
  int64_t high = std::max<int64_t>(atLeast, 1);
  while (!enough(high))
    if ((high *= 2) > largest)
      return std::nullopt;
  int64_t low = atLeast;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (enough(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

KernelSizes::Sizes KernelSizes::allLarge() const {
  Sizes given;
  for (const Group &group : groups)
    for (const std::string &name : group.sizes)
      given[name] = SizeAssignment().defaultSize;
  return given;
}

std::optional<KernelSizes::Variant> KernelSizes::variant(const Group &group, const Counter &trips,
                                                         const std::string &mover, bool largeOthers,
                                                         bool exact, int64_t most) {
  Sizes others;
  for (const std::string &name : group.sizes) {
    if (name == mover)
      continue;
    if (largeOthers) // no larger than it must be, for messages
      others[name] =
          sizeFor(trips, allLarge(), name, most, 0).value_or(SizeAssignment().defaultSize);
    else // the first block, or one tile
      others[name] = KnownScalars::isCoordinate(name) ? 0 : 1;
  }
  Variant made;
  made.mover = mover;
  int64_t size = 0, last = -1;
  for (int64_t n = 0; n <= most; ++n) {
    Sizes given = others;
    auto found = n == 0 ? 0 : sizeFor(trips, given, mover, n, size);
    if (!found)
      break;
    size = given[mover] = *found;
    made.byTrips.emplace_back();
    int64_t have = trips(given);
    // A loop that runs much more often than it was asked to is decided by others.
    if (have == n || (!exact && have != last && have <= 2 * most))
      made.byTrips.back() = std::move(given);
    last = have;
  }
  bool any = llvm::any_of(llvm::drop_begin(made.byTrips), [](auto &sizes) { return bool(sizes); });
  if (!any || (exact && !made.of(1) && !made.of(2)))
    return std::nullopt;
  return made;
}

std::vector<KernelSizes::Variant> KernelSizes::variants(const Group &group, int64_t most) {
  std::vector<Variant> result;
  for (bool exact : {true, false}) {
    for (const Counter &trips : countersOf(group))
      for (const std::string &mover : group.sizes)
        for (bool largeOthers : {true, false}) {
          if (largeOthers && !group.whiles.empty())
            continue; // they would be simulated for long
          auto made = variant(group, trips, mover, largeOthers, exact, most);
          if (!made)
            continue;
          if (llvm::none_of(result, [&](const Variant &other) {
                return other.mover == made->mover && other.byTrips == made->byTrips;
              }))
            result.push_back(std::move(*made));
          break;
        }
    if (!result.empty())
      break;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

void KernelSizes::add(const Sizes &sizes, ArrayRef<std::string> movers, int64_t iterations,
                      int64_t rounds) {
  Choice choice;
  choice.assignment.sizes = sizes;
  choice.iterations = iterations;
  choice.rounds = rounds;
  if (!permit(choice.assignment.sizes, movers)) {
    leftOut = true;
    return;
  }
  // Work that is granted is a loop around the others, too.
  int64_t grants = asksForWork ? mostRounds - 1 : 0;
  if (asksForWork && iterations == 1)
    grants = 2 * mostRounds - 1; // two rounds of two accumulators, and more
  for (choice.assignment.grants = 0; choice.assignment.grants <= grants; ++choice.assignment.grants)
    chosen.push_back(choice);
}

void KernelSizes::addCombined(ArrayRef<Variant> variants, int64_t most) {
  for (const Variant &one : variants)
    for (const Variant &other : variants)
      for (int64_t rounds : {2, 3})
        for (int64_t n : {int64_t(1), int64_t(2), slots, slots + 1, most}) {
          const Sizes *sizes = one.of(n), *second = other.of(rounds);
          if (&one == &other || !sizes || !second)
            continue;
          Sizes both = *sizes;
          both[other.mover] = second->at(other.mover);
          add(both, {one.mover, other.mover}, n, rounds);
        }
}

void KernelSizes::addAround(const Group &inner, ArrayRef<Variant> innerVariants, int64_t most) {
  for (const Group &outer : groups) {
    if (&outer == &inner)
      continue;
    // Groups that are not concerned run once, or as often as they like.
    Sizes rest;
    for (const Group &other : groups)
      if (&other != &inner && &other != &outer)
        for (const Variant &variant : variants(other, 1))
          if (const Sizes *once = variant.of(1))
            rest.insert(once->begin(), once->end());
    bool first = true;
    for (const Variant &around : variants(outer, outer.whiles.empty() ? most : mostRounds)) {
      for (int64_t rounds : {1, 2, 3, 0, 4, 5, 6}) {
        const Sizes *outerSizes = around.of(rounds);
        if (!outerSizes || rounds > most)
          continue;
        for (const Variant &variant : innerVariants)
          for (int64_t i = 0; i <= most; ++i) {
            // An empty loop comes last: an error shows more in one that is not.
            int64_t n = (i + 1) % (most + 1);
            const Sizes *innerSizes = variant.of(n);
            // All combinations of few rounds; more of them, for rings that advance once
            // in a round, with one iteration each. Long rings show the same at their
            // ends, and other sizes that make as many rounds with few iterations.
            bool end = n < 4 || n + 4 > most || (n > slots - 2 && n < slots + 2);
            bool few = rounds == 1 || (rounds <= mostRounds && rounds > 0 && (most <= 12 || end));
            if (!innerSizes || !(n == 1 || (few && (first || n < 3))))
              continue;
            Sizes sizes = *innerSizes;
            sizes.insert(outerSizes->begin(), outerSizes->end());
            sizes.insert(rest.begin(), rest.end());
            add(sizes, {variant.mover, around.mover}, n, rounds);
          }
      }
      first = false;
    }
  }
}

std::vector<KernelSizes::Choice> KernelSizes::choices() {
  // Every slot is used twice, and then once more; of rings that are longer than any
  // that fits tiles, as often as there is time for.
  constexpr int64_t longestRing = 16;
  int64_t most = 2 * std::min(slots, longestRing) + 2;
  llvm::erase_if(groups, [&](const Group &group) { return variants(group, 1).empty(); });
  if (groups.empty()) {
    add({}, {}, 0, 0);
    return std::move(chosen);
  }
  auto inner = llvm::find_if(groups, [](const Group &group) { return !group.around; });
  if (inner == groups.end())
    inner = groups.begin();
  std::vector<Variant> innerVariants = variants(*inner, most);
  if (groups.size() > 1) {
    addAround(*inner, innerVariants, most);
  } else {
    for (const Variant &variant : innerVariants)
      for (int64_t n = 0; n <= most; ++n)
        if (const Sizes *sizes = variant.of(n))
          add(*sizes, {variant.mover}, n, 0);
    if (inner->nested)
      addCombined(innerVariants, most);
    oneLoop = inner->sizes.size() == 1 && inner->whiles.empty() && !asksForWork &&
              int64_t(chosen.size()) > most;
  }
  return std::move(chosen);
}

} // namespace penstock
