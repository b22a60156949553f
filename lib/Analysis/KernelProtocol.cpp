//===- KernelProtocol.cpp - For which sizes a kernel is followed ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/KernelProtocol.h"
#include "Analysis/KernelTrace.h"
#include "Dialect/Tile/Locations.h"

#include <set>

using namespace mlir;

namespace penstock {
namespace {

class Check {
public:
  explicit Check(func::FuncOp kernel) : kernel(kernel), trace(kernel), scalars(kernel) {}

  ProtocolReport run();

private:
  using Sizes = std::map<std::string, int64_t>;
  /// What the kernel asks of sizes.
  struct Requirement {
    Value condition;
    std::set<std::string> sizes;
  };

  void findLoops();
  void findRequirements();
  /// The sizes that a value depends on.
  void findSizes(Value value, std::set<std::string> &found, llvm::DenseSet<Value> &seen);
  /// The most iterations that a loop with barriers has.
  int64_t iterationsFor(const Sizes &given);
  /// The smallest size for which there are at least so many; 0 if none is.
  int64_t sizeFor(const std::string &name, int64_t iterations, int64_t atLeast);
  /// Whether the requirements hold on sizes that are given.
  bool holds(const Sizes &given);
  /// Raises one of the sizes, if there is one, until they do; false if the number of
  /// iterations would change before.
  bool permit(Sizes &given, const std::string &name);
  bool follow(const Circumstances &circumstances);

  func::FuncOp kernel;
  KernelTrace trace;
  KnownScalars scalars;
  SmallVector<scf::ForOp> loops;
  std::set<std::string> sizes; ///< that decide how often loops run
  std::vector<Requirement> requirements;
  int64_t slots = 1;
  bool asksForWork = false;
  std::vector<sched::Protocol> followed;
  ProtocolReport report;
};

void Check::findSizes(Value value, std::set<std::string> &found, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
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

void Check::findLoops() {
  llvm::DenseSet<Value> seen;
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<nv::BarrierAllocOp>(op))
      slots = std::max(slots, int64_t(alloc.getCounts().size()));
    asksForWork |= isa<nv::ClcRequestOp>(op);
    if (auto loop = dyn_cast<scf::ForOp>(op);
        loop && touchesBarriers(loop) && !hasKnownLength(loop)) {
      loops.push_back(loop);
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        findSizes(bound, sizes, seen);
    }
  });
}

/// Those on sizes that decide; what others have to be makes no difference here.
void Check::findRequirements() {
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
    if (llvm::all_of(requirement.sizes, [&](auto &name) { return sizes.contains(name); }))
      requirements.push_back(std::move(requirement));
  }
}

bool Check::holds(const Sizes &given) {
  Circumstances circumstances;
  circumstances.sizes = given;
  scalars.begin(circumstances);
  return llvm::all_of(requirements, [&](const Requirement &requirement) {
    bool known = llvm::all_of(requirement.sizes, [&](auto &name) { return given.contains(name); });
    return !known || scalars.compute(requirement.condition).value_or(1) != 0;
  });
}

bool Check::permit(Sizes &given, const std::string &name) {
  if (requirements.empty() || name.empty())
    return holds(given);
  // No tile is larger.
  constexpr int64_t mostTried = 512;
  int64_t iterations = iterationsFor(given), first = given[name];
  for (int64_t &size = given[name]; size < first + mostTried; ++size) {
    if (iterationsFor(given) != iterations)
      return false;
    if (holds(given))
      return true;
  }
  return false;
}

int64_t Check::iterationsFor(const Sizes &given) {
  Circumstances circumstances;
  circumstances.sizes = given;
  scalars.begin(circumstances);
  int64_t most = 0;
  for (scf::ForOp loop : loops) {
    auto begin = scalars.compute(loop.getLowerBound()), end = scalars.compute(loop.getUpperBound()),
         step = scalars.compute(loop.getStep());
    if (begin && end && step && *step > 0 && *end > *begin)
      most = std::max(most, (*end - *begin + *step - 1) / *step);
  }
  return most;
}

int64_t Check::sizeFor(const std::string &name, int64_t iterations, int64_t atLeast) {
  constexpr int64_t largest = 1 << 20;
  // Other coordinates of the block are large here, so that it is this one that counts.
  Sizes given;
  for (const std::string &other : sizes)
    given[other] = Circumstances().elsewhere;
  auto enough = [&](int64_t size) {
    given[name] = size;
    return iterationsFor(given) >= iterations;
  };
  int64_t high = std::max<int64_t>(atLeast, 1);
  while (!enough(high))
    if ((high *= 2) > largest)
      return 0;
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

/// False if there is no point in going on.
bool Check::follow(const Circumstances &circumstances) {
  std::optional<sched::Protocol> protocol = trace.follow(circumstances);
  if (!protocol) {
    report.lost = trace.lostAt();
    report.why = trace.reason();
    return false;
  }
  report.findings = sched::followProtocol(*protocol);
  followed.push_back(std::move(*protocol));
  return report.findings.empty();
}

ProtocolReport Check::run() {
  findLoops();
  findRequirements();
  // Every slot is used twice, and then once more; of rings that are longer than any
  // that fits tiles, as often as there is time for.
  constexpr int64_t longestRing = 16;
  int64_t most = sizes.empty() ? 0 : 2 * std::min(slots, longestRing) + 2;
  Circumstances circumstances;
  // Sizes that decide together are all tried, but not all combinations of them:
  // one moves while the others are large enough.
  SmallVector<std::string> moving(sizes.begin(), sizes.end());
  if (moving.empty())
    moving.push_back("");
  for (const std::string &name : moving) {
    circumstances.sizes.clear();
    for (const std::string &other : sizes)
      if (int64_t large = other == name ? 0 : sizeFor(other, most, 0)) {
        circumstances.sizes[other] = large;
        permit(circumstances.sizes, other);
      }
    followed.clear();
    int64_t size = 0;
    for (int64_t n = 0; n <= most; ++n) {
      if (n > 0 && (size = sizeFor(name, n, size)) == 0)
        break;
      if (!name.empty())
        circumstances.sizes[name] = size;
      if (!permit(circumstances.sizes, name)) {
        report.allAllowed = false;
        continue;
      }
      for (circumstances.grants = 0; circumstances.grants <= (asksForWork ? 2 : 0);
           ++circumstances.grants)
        if (!follow(circumstances))
          return std::move(report);
      report.iterations = std::max(report.iterations, n);
    }
  }
  if (followed.empty()) {
    report.lost = kernel;
    report.why = "its requirements exclude the sizes that were tried";
    return std::move(report);
  }
  if (moving.size() == 1 && !asksForWork && !trace.nested() && int64_t(followed.size()) > most)
    report.roles = sched::rolesOf(followed);
  if (!report.roles)
    return std::move(report);
  sched::RolesVerdict verdict = sched::checkRoles(*report.roles);
  if (!verdict.live) {
    report.findings.push_back(verdict.reason);
    return std::move(report);
  }
  sched::ParityVerdict parity = sched::checkParity(*report.roles);
  if (parity.exact)
    report.everyNumber = true;
  else
    report.findings.push_back(parity.reason);
  return std::move(report);
}

} // namespace

std::optional<ProtocolReport> checkProtocol(func::FuncOp kernel) {
  bool hasBarriers = false;
  kernel.walk(
      [&](Operation *op) { hasBarriers |= isa<nv::BarrierAllocOp, nv::NamedBarrierAllocOp>(op); });
  if (!hasBarriers || !kernel->hasAttr(nv::NVDialect::threadsAttr))
    return std::nullopt;
  return Check(kernel).run();
}

std::string describe(const ProtocolReport &report) {
  if (report.lost) {
    SourcePlace place = tile::placeOf(report.lost->getLoc());
    return "barriers are followed up to line " + std::to_string(place.line) + ": " + report.why +
           "; from there on they are for the emulator";
  }
  std::string upTo = "0 to " + std::to_string(report.iterations) + " iterations";
  if (!report.allAllowed)
    upTo += " where its requirements allow them";
  return report.everyNumber
             ? "barriers are right for every number of iterations, the use of tiles for " + upTo
             : "barriers and the use of tiles are right for " + upTo;
}

} // namespace penstock
