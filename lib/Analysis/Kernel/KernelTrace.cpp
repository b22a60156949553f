//===- KernelTrace.cpp - Steps of every role of a kernel ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is run once for each role that execute the same code; in a
// pair of blocks, for each block. Data is not computed: a branch on data is
// simulated only if it has nothing to do with barriers.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelTrace.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

#include <set>

using namespace mlir;

namespace penstock {

using Kind = sched::ProtocolStep::Kind;

/// Operations that a warp role may execute; more than any kernel needs that uses each
/// slot of its rings a few times.
static constexpr int64_t mostOperations = 200000;

/// Steps that all roles may take together; each takes a fraction of a microsecond.
static constexpr size_t mostSteps = 20000;

/// Iterations of a loop without barriers that are simulated if they differ: as many as
/// a tile has rows, and more.
static constexpr int64_t mostPlainIterations = 1024;

bool touchesBarriers(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        auto hardware = dyn_cast<nv::HardwareOpInterface>(inner);
        // The result of such an operation depends on how often the role executed it.
        return hardware && (hardware.getSynchronization() != nv::Synchronization::None ||
                            hardware.getCompletion() != nv::Completion::Immediate ||
                            isa<nv::ClcAnswerOp>(inner))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool hasKnownLength(scf::ForOp loop) {
  return getConstantIntValue(loop.getLowerBound()) && getConstantIntValue(loop.getUpperBound()) &&
         getConstantIntValue(loop.getStep());
}

int64_t tripCount(int64_t begin, int64_t end, int64_t step) {
  if (end <= begin || step <= 0)
    return 0;
  uint64_t last = (uint64_t(end) - uint64_t(begin) - 1) / uint64_t(step);
  return int64_t(std::min<uint64_t>(last, INT64_MAX - 1)) + 1;
}

KernelTrace::KernelTrace(func::FuncOp kernel, TraceLimits limits)
    : kernel(kernel), limits(limits), pair(nv::isPaired(kernel.getBody().front().getTerminator())),
      ranks(nv::clusterSize(kernel)), scalars(kernel) {
  findWarpRoles();
}

void KernelTrace::findWarpRoles() {
  int64_t warps = nv::scopeOf(kernel.getBody().front().getTerminator()).warps;
  std::set<int64_t> cuts = {0, warps};
  kernel.walk([&](nv::WarpsOp op) {
    cuts.insert(op.getFirst());
    cuts.insert(op.getFirst() + op.getCount());
  });
  // Warpgroups that ask for their number may differ in what they wait for.
  kernel.walk([&](nv::WarpgroupOp op) {
    nv::ThreadScope scope = nv::scopeOf(op);
    for (int64_t warp = 0; warp < scope.warps; warp += nv::warpgroupWarps)
      cuts.insert(scope.firstWarp + warp);
  });
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (auto cut = cuts.begin(); *cut < warps; ++cut)
      warpRoles.push_back({*cut, *std::next(cut) - *cut, rank});
}

std::optional<sched::Protocol> KernelTrace::simulate(const SizeAssignment &assignment) {
  now = assignment;
  protocol = {};
  sources.clear();
  tiles.clear();
  arrays.clear();
  syncs.clear();
  whileTrips.clear();
  operations.clear();
  tensorReads.clear();
  trueInner = trueOuter = 0;
  numberBarriers();
  for (auto &[name, value] : now.sizes) {
    protocol.assignment +=
        (protocol.assignment.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    if (value == 0 && !KnownScalars::isCoordinate(name))
      protocol.zeroSizes.push_back(name);
  }
  if (now.grants)
    protocol.assignment +=
        (protocol.assignment.empty() ? "" : ", ") + std::to_string(now.grants + 1) + " tiles";
  for (const WarpRole &one : warpRoles) {
    std::string name = one.warps == 1 ? "warp " + std::to_string(one.firstWarp)
                                      : "warps " + std::to_string(one.firstWarp) + " to " +
                                            std::to_string(one.firstWarp + one.warps - 1);
    name += ofBlock(one.rank);
    protocol.roles.push_back({name});
  }
  size_t taken = 0;
  for (auto [i, one] : llvm::enumerate(warpRoles)) {
    warpRole = one;
    steps = &protocol.roles[i].steps;
    scalars.begin(now);
    variables.clear();
    openings.clear();
    loopDepth = answers = 0;
    iteration = -1;
    budget = mostOperations;
    uncertain = false;
    if (!run(kernel.getBody().front()))
      return std::nullopt;
    taken += steps->size();
    if (taken > mostSteps) {
      refuse(kernel, "its roles take more than " + std::to_string(mostSteps) + " steps");
      return std::nullopt;
    }
  }
  return std::move(protocol);
}

void KernelTrace::addBarriers(Value barriers, StringRef label, ArrayRef<int64_t> counts) {
  // `auto [loaded, multiplied] = ..` names each of them.
  SmallVector<StringRef> names;
  label.split(names, ", ");
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto array = unsigned(protocol.arrays.size());
    protocol.arrays.push_back(label.str() + ofBlock(rank));
    arrays[{barriers, rank}] = unsigned(protocol.barriers.size());
    for (auto [i, count] : llvm::enumerate(counts)) {
      std::string name = names.size() == counts.size()
                             ? names[i].str()
                             : label.str() + "[" + std::to_string(i) + "]";
      protocol.barriers.push_back({name + ofBlock(rank), array, int64_t(i), count});
    }
  }
}

/// All of them, in the order of the text: their numbers do not depend on sizes.
void KernelTrace::numberBarriers() {
  std::map<unsigned, unsigned> unnamed; // by line
  auto labelOf = [&](Operation *alloc) {
    std::string label = tile::nameOf(alloc->getResult(0));
    if (!label.empty())
      return label;
    unsigned line = tile::sourceLocationOf(alloc->getLoc()).line;
    label = "barriers of line " + std::to_string(line);
    if (unsigned number = ++unnamed[line]; number > 1)
      label += " (" + std::to_string(number) + ")";
    return label;
  };
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<nv::BarrierAllocOp>(op))
      addBarriers(alloc.getResult(), labelOf(op), alloc.getCounts());
    if (auto alloc = dyn_cast<nv::NamedBarrierAllocOp>(op))
      addBarriers(alloc.getResult(), labelOf(op), {alloc.getResult().getType().getThreads()});
  });
}

bool KernelTrace::refuse(Operation *op, std::string reason) {
  unsupported = op;
  why = std::move(reason);
  return false;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

bool KernelTrace::concernsBarriers(Operation *op) {
  auto [found, isNew] = concerning.try_emplace(op, false);
  if (isNew)
    found->second = touchesBarriers(op);
  return found->second;
}

bool KernelTrace::run(mlir::Block &block) {
  for (Operation &op : block)
    if (!run(&op))
      return false;
  return true;
}

bool KernelTrace::run(Operation *op) {
  if (--budget < 0)
    return refuse(op, "it does not end within " + std::to_string(mostOperations) + " operations");
  if (isa<arith::ArithDialect>(op->getDialect())) { // most of them are
    scalars.evaluate(op);
    return true;
  }
  if (auto warps = dyn_cast<nv::WarpsOp>(op)) {
    auto first = int64_t(warps.getFirst()), count = int64_t(warps.getCount());
    bool inside = warpRole.firstWarp >= first && warpRole.firstWarp < first + count;
    return !inside || run(warps.getBody().front());
  }
  if (auto elect = dyn_cast<nv::ElectOp>(op))
    return !leads(op) || run(elect.getBody().front());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return runWhile(loop);
  if (auto condition = dyn_cast<scf::IfOp>(op))
    return runIf(condition);
  if (auto group = dyn_cast<nv::WarpgroupOp>(op)) {
    scalars.set(group->getResult(0), groupOf(op));
    return true;
  }
  if (auto rank = dyn_cast<nv::ClusterRankOp>(op)) {
    scalars.set(rank->getResult(0), warpRole.rank);
    return true;
  }
  if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op))
    return runHardwareOp(hardware);
  if (isa<tile::TileDialect>(op->getDialect()) && !isa<tile::GridOp>(op))
    return runTileOp(op);
  if (op->getNumRegions() && concernsBarriers(op))
    return refuse(op, "`" + op->getName().getStringRef().str() + "` holds barriers");
  scalars.evaluate(op);
  return true;
}

SmallVector<std::optional<int64_t>> KernelTrace::valuesOf(ValueRange values) const {
  return llvm::map_to_vector(values, [&](Value v) { return scalars.get(v); });
}

void KernelTrace::assign(ValueRange to, ArrayRef<std::optional<int64_t>> values) {
  for (auto [value, integer] : llvm::zip_equal(to, values))
    scalars.set(value, integer);
}

bool KernelTrace::runFor(scf::ForOp loop) {
  bool concerned = concernsBarriers(loop);
  auto begin = scalars.get(loop.getLowerBound()), end = scalars.get(loop.getUpperBound()),
       step = scalars.get(loop.getStep());
  auto carried = valuesOf(loop.getInitArgs());
  if (!begin || !end || !step || *step <= 0) {
    if (concerned)
      return refuse(loop, "how often this loop runs depends on data");
    // Once, as something that may happen.
    llvm::SaveAndRestore maybe(uncertain, true);
    carried.assign(carried.size(), std::nullopt);
    scalars.set(loop.getInductionVar(), std::nullopt);
    assign(loop.getRegionIterArgs(), carried);
    if (!run(*loop.getBody()))
      return false;
    assign(loop.getResults(), carried);
    return true;
  }
  bool repeats = !concerned && !iterationsDiffer(loop) && !limits.plainSteps;
  int64_t count = tripCount(*begin, *end, *step);
  if (!concerned && !repeats && count > mostPlainIterations)
    return refuse(loop, "it touches other parts of tiles in each of more than " +
                            std::to_string(mostPlainIterations) + " iterations");
  std::set<std::vector<int64_t>> touched;
  // A loop whose length is known is no more than what it does, written shorter.
  bool counts = concerned && !hasKnownLength(loop);
  if (counts) {
    bool around = isOverTiles(loop);
    int64_t &longest = around ? trueOuter : trueInner;
    longest = std::max(longest, count);
    count = std::min(count, around ? limits.outer : limits.inner);
  }
  nestedLoops |= counts && loopDepth > 0;
  loopDepth += counts;
  size_t first = steps->size();
  for (int64_t number = 0; number < count; ++number) {
    auto i = int64_t(uint64_t(*begin) + uint64_t(number) * uint64_t(*step));
    if (number == 0)
      enteredLoops.insert(loop);
    if (counts && loopDepth == 1)
      iteration = number;
    scalars.set(loop.getInductionVar(), i);
    assign(loop.getRegionIterArgs(), carried);
    if (!run(*loop.getBody()))
      return false;
    carried = valuesOf(loop.getBody()->getTerminator()->getOperands());
    if (repeats)
      break;
    if (!concerned && !limits.plainSteps)
      first = dropRepeated(first, touched);
  }
  loopDepth -= counts;
  if (loopDepth == 0)
    iteration = -1;
  assign(loop.getResults(), carried);
  return true;
}

bool KernelTrace::holdsLoops(Operation *loop) {
  auto [found, isNew] = holding.try_emplace(loop, false);
  if (isNew) {
    bool holds = false;
    loop->walk([&](scf::ForOp inner) {
      holds |= inner != loop && !hasKnownLength(inner) && touchesBarriers(inner);
    });
    holding[loop] = holds;
  }
  return holding[loop];
}

/// Returns whether two values are the same expression. Each role computes its own loop bounds.
static bool isSameExpression(Value a, Value b) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  return left && right && left->getName() == right->getName() && left->getNumResults() == 1 &&
         isMemoryEffectFree(left) && left->getAttrDictionary() == right->getAttrDictionary() &&
         left->getNumOperands() == right->getNumOperands() &&
         llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()), [](auto pair) {
           return isSameExpression(std::get<0>(pair), std::get<1>(pair));
         });
}

bool KernelTrace::isOverTiles(scf::ForOp loop) {
  if (holdsLoops(loop))
    return true;
  if (auto known = overTiles.find(loop); known != overTiles.end())
    return known->second;
  // The store role of a persistent kernel has no loop inside its tile loop.
  auto hasSameBounds = [&](scf::ForOp other) {
    return isSameExpression(other.getLowerBound(), loop.getLowerBound()) &&
           isSameExpression(other.getUpperBound(), loop.getUpperBound()) &&
           isSameExpression(other.getStep(), loop.getStep());
  };
  bool found = false;
  kernel.walk([&](scf::ForOp other) {
    found |= other != loop && hasSameBounds(other) && holdsLoops(other);
  });
  return overTiles[loop] = found;
}

void KernelTrace::recordRead(Operation *op, ValueRange offsets) {
  if (llvm::any_of(tensorReads, [&](const TraceRead &read) {
        return read.op == op && read.rank == warpRole.rank;
      }))
    return;
  TraceRead &read = tensorReads.emplace_back();
  read.op = op;
  read.rank = warpRole.rank;
  read.repeated = loopDepth > 0;
  for (Value offset : offsets)
    read.offsets.push_back(scalars.get(offset));
}

bool KernelTrace::runWhile(scf::WhileOp loop) {
  auto carried = valuesOf(loop.getInits());
  enteredLoops.insert(loop);
  nestedLoops |= loopDepth > 0;
  ++loopDepth;
  for (int64_t number = 0;; ++number) {
    if (loopDepth == 1)
      iteration = number;
    assign(loop.getBeforeArguments(), carried);
    if (!run(loop.getBefore().front()))
      return false;
    auto condition = loop.getConditionOp();
    auto goesOn = scalars.get(condition.getCondition());
    if (!goesOn)
      return refuse(loop, "how often this loop runs depends on data");
    carried = valuesOf(condition.getArgs());
    if (!*goesOn)
      break;
    int64_t &trips = whileTrips[loop];
    trips = std::max(trips, number + 1);
    assign(loop.getAfterArguments(), carried);
    if (!run(loop.getAfter().front()))
      return false;
    carried = valuesOf(loop.getYieldOp()->getOperands());
  }
  if (--loopDepth == 0)
    iteration = -1;
  assign(loop.getResults(), carried);
  return true;
}

bool KernelTrace::runIf(scf::IfOp op) {
  auto taken = scalars.get(op.getCondition());
  if (!taken && concernsBarriers(op))
    return refuse(op, "whether this is done depends on data");
  for (bool side : {true, false}) {
    Region &region = side ? op.getThenRegion() : op.getElseRegion();
    if (region.empty() || (taken && (*taken != 0) != side))
      continue;
    llvm::SaveAndRestore maybe(uncertain, uncertain || !taken);
    if (!run(region.front()))
      return false;
    if (taken)
      assign(op.getResults(), valuesOf(region.front().getTerminator()->getOperands()));
  }
  if (!taken)
    assign(op.getResults(), SmallVector<std::optional<int64_t>>(op.getNumResults(), std::nullopt));
  return true;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

int64_t KernelTrace::groupOf(Operation *op) const {
  return (warpRole.firstWarp - nv::scopeOf(op).firstWarp) / nv::warpgroupWarps;
}

bool KernelTrace::leads(Operation *op) const {
  return nv::scopeOf(op).firstWarp == warpRole.firstWarp;
}

std::string KernelTrace::ofBlock(int64_t rank) const {
  return ranks > 1 ? " of block " + std::to_string(rank) : "";
}

unsigned KernelTrace::sourceOf(Operation *op) {
  auto [found, isNew] = sources.try_emplace(op, unsigned(protocol.sources.size()));
  if (isNew) {
    operations.push_back(op);
    protocol.sources.push_back(
        {op->getName().stripDialect().str(), tile::sourceLocationOf(op->getLoc())});
  }
  return found->second;
}

unsigned KernelTrace::tileOf(Value root, int64_t rank) {
  auto [found, isNew] = tiles.try_emplace({root, rank}, unsigned(protocol.tiles.size()));
  if (isNew) {
    std::string name = tile::nameOf(root);
    protocol.tiles.push_back(
        {name.empty() ? "a tile" : name, ofBlock(rank),
         tile::spaceOf(cast<MemRefType>(root.getType())) == tile::Space::Tensor});
  }
  return found->second;
}

unsigned KernelTrace::syncOf(Operation *op) {
  nv::ThreadScope scope = nv::scopeOf(op);
  bool all = isa<nv::ClusterSyncOp>(op);
  int64_t rank = all ? -1 : warpRole.rank;
  auto [found, isNew] =
      syncs.try_emplace({scope.firstWarp, scope.warps, rank}, unsigned(protocol.syncs.size()));
  if (isNew) {
    protocol.syncs.emplace_back();
    for (auto [i, one] : llvm::enumerate(warpRoles))
      if ((all || one.rank == rank) && one.firstWarp >= scope.firstWarp &&
          one.firstWarp < scope.firstWarp + scope.warps)
        protocol.syncs.back().push_back(unsigned(i));
  }
  return found->second;
}

int64_t KernelTrace::scopeOf(Operation *op) {
  nv::ThreadScope scope = nv::scopeOf(op);
  if (scope.oneThread)
    return -1;
  return scopes.try_emplace({scope.firstWarp, scope.warps}, int64_t(scopes.size())).first->second *
             ranks +
         warpRole.rank;
}

std::optional<unsigned> KernelTrace::barrierOf(Value barriers, Value index, int64_t rank) {
  auto slot = scalars.get(index);
  auto alloc = barriers.getDefiningOp<nv::BarrierAllocOp>();
  if (!slot || !alloc || *slot < 0 || *slot >= int64_t(alloc.getCounts().size()))
    return std::nullopt;
  return arrays.lookup({barriers, rank}) + unsigned(*slot);
}

} // namespace penstock
