//===- KernelWork.cpp - Work of a GPU kernel, for timing ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelWork.h"
#include "Analysis/Kernel/KernelTrace.h"
#include "Analysis/Kernel/StepCosts.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileTypes.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace penstock {
namespace {

using Kind = sched::ProtocolStep::Kind;
using timing::Engine;

/// Iterations that reach the steady state of any ring that fits an SM, and of each of
/// several tiles.
constexpr int64_t steadyIterations = 48, tileIterations = 64;
/// Longer cycles of slots are not kept whole.
constexpr int64_t longestCycle = 128;
/// Tiles that show what a persistent block does between two of them.
constexpr int64_t severalTiles = 3;
/// Tiles whose strips are listed: a few waves, or more where that is cheap.
constexpr int64_t mostSimulated = 640, mostListed = 2048;
/// Blocks that are asked how long their loops are.
constexpr int64_t sampledBlocks = 17;
/// Registers per thread beside the accumulators, and what a loop needs at least.
constexpr int64_t otherRegisters = 40, loopRegisters = 24, mostRegisters = 255;
constexpr double spillWait = 128;

/// The box of a tensor that an engine reads.
std::optional<nv::HardwareAccess> tensorRead(Operation *op) {
  SmallVector<nv::HardwareAccess> accesses;
  if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op))
    hardware.getAccesses(accesses);
  for (const nv::HardwareAccess &access : accesses)
    if (access.reads && !access.offsets.empty())
      return access;
  return std::nullopt;
}

class Builder {
public:
  Builder(func::FuncOp kernel, const std::map<std::string, int64_t> &sizes, const hw::Chip &chip)
      : kernel(kernel), sizes(sizes), chip(chip), scalars(kernel) {}

  KernelWork run() {
    kernel.walk([&](tile::GridOp op) { grid = op; });
    kernel.walk([&](Operation *op) {
      asksForWork |= isa<nv::ClcRequestOp>(op);
      multiplies |= isa<nv::WgmmaOp, nv::TensorMmaOp>(op);
    });
    if (!grid)
      return refuse(kernel, "it has no grid");
    if (!multiplies)
      return refuse(kernel, "it has no product on the tensor core; only kernels whose loops "
                            "multiply are predicted");
    if (!findGrid())
      return refuse(grid, "the grid depends on data");
    if (Operation *violated = violatedRequirement())
      return refuse(violated, "the sizes violate a requirement of the kernel");
    if (!simulate())
      return std::move(work);
    findResources();
    listStrips();
    return std::move(work);
  }

private:
  KernelWork refuse(Operation *op, std::string why) {
    work.unsupported = std::move(why);
    work.unsupportedAt = tile::sourceLocationOf(op->getLoc());
    return std::move(work);
  }

  bool findGrid() {
    scalars.begin({sizes});
    for (Value extent : grid.getExtents()) {
      auto value = scalars.compute(extent);
      if (!value || *value < 1)
        return false;
      extents.push_back(*value);
      blocks *= *value;
    }
    return blocks > 0;
  }

  Operation *violatedRequirement() {
    for (auto op : kernel.getBody().getOps<tile::AssertOp>())
      if (auto holds = scalars.compute(op.getCondition()); holds && !*holds)
        return op;
    return nullptr;
  }

  std::optional<sched::Protocol> trace(KernelTrace &run, int64_t grants, int64_t block) {
    SizeAssignment assignment{sizes};
    assignment.grants = grants;
    setCoordinates(assignment, block);
    auto protocol = run.simulate(assignment);
    if (!protocol)
      refuse(run.unsupportedAt() ? run.unsupportedAt() : kernel, run.reason());
    return protocol;
  }

  bool simulate() {
    // One iteration of some blocks first: they tell how many there are. Blocks differ
    // where a mask ends their loops, and in a last round over tiles that not all take part in.
    KernelTrace first(kernel, {1, 1, false});
    int64_t trips = 1, longest = 0, clusters = blocks / nv::clusterSize(kernel);
    int64_t samples = std::min(clusters, sampledBlocks);
    int64_t mostTiles = 1;
    double allTrips = 0, allTiles = 0;
    for (int64_t i = 0; i < samples; ++i) {
      int64_t at = samples > 1 ? (clusters - 1) * i / (samples - 1) : 0;
      at *= nv::clusterSize(kernel);
      if (!trace(first, 0, at))
        return false;
      allTrips += double(std::max<int64_t>(1, first.innerTrips()));
      allTiles += double(std::max<int64_t>(1, first.outerTrips()));
      mostTiles = std::max(mostTiles, first.outerTrips());
      if (first.innerTrips() > trips) {
        trips = first.innerTrips();
        longest = at;
      }
    }
    bool loopsOverTiles = mostTiles > 1;
    bool several = asksForWork || loopsOverTiles;
    timing::Kernel &k = work.kernel;
    k.persistent = several;
    auto timed = std::make_shared<timing::TimedProtocol>();
    timed->iterations = cutTo(several ? tileIterations : steadyIterations, trips);
    timed->tiles = several ? severalTiles : 1;
    if (loopsOverTiles)
      timed->tiles = std::min(timed->tiles, mostTiles);
    KernelTrace full(kernel, {timed->iterations, timed->tiles, true});
    auto protocol = trace(full, asksForWork ? timed->tiles - 1 : 0, longest);
    if (!protocol)
      return false;
    timed->ranks = nv::clusterSize(kernel);
    timed->pair = nv::isPaired(kernel.getBody().front().getTerminator());
    for (Operation *op : full.sourceOps())
      timed->costs.push_back(stepCost(op, chip));
    for (const KernelTrace::WarpRole &role : full.roles())
      timed->roles.push_back({role.warps, role.rank});
    timed->protocol = std::move(*protocol);
    for (const auto &role : timed->protocol.roles)
      work.roles.push_back(role.name);

    k.trips = allTrips / double(samples);
    k.blocksPerTile = timed->pair ? 2 : 1;
    k.raster.tilesN = 1;
    double teams = double(blocks) / double(k.blocksPerTile);
    k.raster.tilesM = std::llround(loopsOverTiles ? teams * allTiles / double(samples) : teams);
    countWork(*timed, full.sourceOps());
    auto times = timing::timesOf(*timed, chip, {});
    if (!times || times->fill <= 0) {
      refuse(kernel, times ? "a simulation of its first iterations reaches no MMA"
                           : "a simulation of its first iterations does not come to an end");
      return false;
    }
    k.protocol = std::move(timed);
    return true;
  }

  /// About \p wanted of \p trips iterations. What follows the loop, like the next tile of a
  /// persistent block, uses the slots and phases after the whole loop, so whole
  /// cycles of all rings are left out.
  int64_t cutTo(int64_t wanted, int64_t trips) {
    if (trips <= wanted)
      return trips;
    int64_t cycle = 2; // both phases of a barrier
    kernel.walk([&](nv::BarrierAllocOp op) {
      auto slots = int64_t(op.getCounts().size());
      if (int64_t both = std::lcm(cycle, 2 * slots); both <= longestCycle)
        cycle = both;
    });
    return wanted + (trips - wanted) % cycle;
  }

  /// Bytes and products of one iteration, from the steps of the first tile's loop.
  void countWork(const timing::TimedProtocol &timed, const std::vector<Operation *> &ops) {
    double bytes = 0, flop = 0, narrow = 0;
    double tensor = 0, general = 0, exponentials = 0; // cycles in the loop
    bool cut = double(timed.iterations) < work.kernel.trips;
    for (auto [r, role] : llvm::enumerate(timed.protocol.roles))
      for (const sched::ProtocolStep &step : role.steps) {
        const timing::StepCost &cost = timed.costs[step.source];
        double share = cost.scopeWarps ? double(timed.roles[r].warps) / double(cost.scopeWarps) : 1;
        if (step.kind == Kind::Touch && step.iteration >= 0) {
          general += cost.work.cycles * share;
          exponentials += cost.exponentialCycles * share;
        }
        if (step.kind != Kind::Copy && step.kind != Kind::Start)
          continue;
        // A loop that was cut short has too small a share of loads before it.
        if (cut && step.iteration < 0)
          continue;
        if (cost.work.engine == Engine::Tma) {
          double more = cost.work.bytes * share / double(cost.receivers);
          bytes += more;
          narrow += cost.work.rowBytes < 128 ? more : 0;
          Operation *op = ops[step.source];
          if (work.loadAt.line == 0)
            work.loadAt = tile::sourceLocationOf(op->getLoc());
        }
        if (cost.work.engine == Engine::Tensor) {
          tensor += cost.work.products * cost.work.productCycles * share;
          flop += share * flopOf(ops[step.source]);
          if (work.productAt.line == 0)
            work.productAt = tile::sourceLocationOf(ops[step.source]->getLoc());
        }
      }
    work.boundByThreads = std::max(general, exponentials) > tensor;
    double iterations = double(timed.iterations * timed.tiles);
    timing::Kernel &k = work.kernel;
    k.narrow = narrow > bytes / 2;
    k.fabricBytes = bytes / iterations / double(timed.ranks);
    work.loadBytes = k.fabricBytes;
    k.flop = flop / iterations * k.trips * double(k.raster.tilesM) *
             (timed.pair ? 1 : 1.0 / double(timed.ranks));
  }

  /// Floating-point operations of a product; in a pair, of both blocks.
  static double flopOf(Operation *op) {
    Value a = op->getOperand(0), b = op->getOperand(1), acc = op->getOperand(2);
    nv::Product p = nv::productOf(a, b, acc, nv::isPaired(op));
    return 2.0 * double(p.m) * double(p.n) * double(p.k);
  }

  void findResources() {
    timing::Resources &needs = work.kernel.needs;
    needs.threads = nv::scopeOf(kernel.getBody().front().getTerminator()).warps * nv::warpSize;
    int64_t held = 0, requested = 0, slots = 0;
    double accumulators = 0, steps = 0; // of 32 bytes of k, per iteration
    kernel.walk([&](tile::AllocOp alloc) {
      auto type = cast<MemRefType>(alloc.getResult().getType());
      if (!type.hasStaticShape() || type.getRank() == 0)
        return;
      if (tile::spaceOf(type) == tile::Space::Shared) {
        needs.sharedBytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
        if (type.getRank() == 3 && nv::sharedLayoutOf(type)) {
          slots = slots ? std::min(slots, type.getDimSize(0)) : type.getDimSize(0);
          work.ring += (work.ring.empty() ? "" : ", ") + tile::nameOf(alloc.getResult());
        }
      }
    });
    kernel.walk([&](nv::TensorAllocOp alloc) {
      needs.tensorColumns += nv::tensorColumns(cast<MemRefType>(alloc.getResult().getType()));
    });
    kernel.walk([&](nv::RegistersRequestOp op) {
      requested = std::max<int64_t>(requested, op.getCount());
    });
    kernel.walk([&](nv::WgmmaOp mma) {
      auto type = cast<MemRefType>(mma.getAcc().getType());
      int64_t threads = nv::scopeOf(mma).warps * nv::warpSize;
      held = std::max(held, type.getNumElements() / std::max<int64_t>(1, threads));
      accumulators = std::max(accumulators, double(held) * double(threads) / 128);
      auto a = cast<MemRefType>(mma.getA().getType());
      steps = std::max(steps, double(a.getShape().back() * a.getElementTypeBitWidth()) / 256);
    });
    work.stages = slots;
    needs.registers = std::min(mostRegisters, otherRegisters + held);
    if (requested) // the pool is divided anew: what was launched with counts
      needs.registers = std::min(needs.registers, chip.registers / needs.threads);
    if (held + loopRegisters > mostRegisters)
      work.kernel.spillCycles =
          steps * (2 * 4 * 128 * accumulators / chip.spillRate.value + spillWait);
    if (work.kernel.persistent)
      needs.fixed = 1;
  }

  /// Which boxes of tensors the blocks read, in their order.
  void listStrips() {
    timing::Raster &raster = work.kernel.raster;
    KernelTrace run(kernel, {1, 1, false});
    std::map<std::vector<int64_t>, uint32_t> strips;
    int64_t step = nv::clusterSize(kernel);
    int64_t clusters = std::min(blocks / step, mostListed);
    std::vector<std::vector<uint32_t>> tiles;
    double total = 0;
    bool unknown = false;
    for (int64_t c = 0; c < clusters; ++c) {
      if (simulateAll)
        clusters = std::min(clusters, mostSimulated);
      SizeAssignment assignment{sizes};
      setCoordinates(assignment, c * step);
      auto &tile = tiles.emplace_back();
      for (const TraceRead &read : readsOf(run, assignment)) {
        std::vector<int64_t> key = {
            int64_t(reinterpret_cast<intptr_t>(read.op->getOperand(0).getAsOpaquePointer()))};
        for (const auto &offset : read.offsets) {
          key.push_back(offset.value_or(-1));
          unknown |= !offset;
        }
        auto [found, isNew] = strips.try_emplace(key, uint32_t(raster.stripBytes.size()));
        if (isNew) {
          double bytes =
              stepCost(read.op, chip).work.bytes * (read.repeated ? work.kernel.trips : 1);
          raster.stripBytes.push_back(bytes);
          total += bytes;
        }
        tile.push_back(found->second);
      }
    }
    // Every block reads as many strips; where the reads of two differ, one is repeated.
    size_t most = 0;
    for (const auto &tile : tiles)
      most = std::max(most, tile.size());
    if (!most)
      return;
    raster.perTile = unsigned(most);
    for (auto &tile : tiles) {
      tile.resize(most, tile.empty() ? 0 : tile.front());
      raster.reads.insert(raster.reads.end(), tile.begin(), tile.end());
    }
    if (unknown)
      work.assumption = "offsets of loads depend on data: all blocks are taken to read the same";
    raster.totalBytes = total;
    if (clusters < blocks / step) // strips that no listed tile reads
      raster.totalBytes = tensorBytes();
  }

  /// Returns the reads of a block. Offsets that are plain arithmetic are computed without a
  /// simulation, which takes most of the time of a prediction.
  std::vector<TraceRead> readsOf(KernelTrace &run, const SizeAssignment &assignment) {
    if (plainReads.empty() && !simulateAll) {
      if (!run.simulate(assignment))
        return {};
      plainReads = run.reads();
      // Compare two blocks with what the simulation finds.
      SizeAssignment other{sizes};
      setCoordinates(other, blocks / 2);
      simulateAll = !run.simulate(other) || run.reads().size() != plainReads.size();
      std::vector<TraceRead> expected = run.reads(), found = computed(other);
      for (size_t i = 0; !simulateAll && i < found.size(); ++i)
        simulateAll = found[i].offsets != expected[i].offsets;
    }
    if (!simulateAll)
      return computed(assignment);
    if (!run.simulate(assignment))
      return {};
    return run.reads();
  }

  /// The first reads with the offsets of another block; what cannot be computed, such as
  /// offsets along a loop, stays.
  std::vector<TraceRead> computed(const SizeAssignment &assignment) {
    std::vector<TraceRead> reads = plainReads;
    for (TraceRead &read : reads) {
      scalars.begin(assignment);
      kernel.walk([&](nv::ClusterRankOp rank) { scalars.set(rank.getResult(), read.rank); });
      for (auto [i, offset] : llvm::enumerate(tensorRead(read.op)->offsets))
        if (auto value = scalars.compute(offset))
          read.offsets[i] = value;
    }
    return reads;
  }

  /// The tensors that the kernel reads.
  double tensorBytes() {
    double bytes = 0;
    llvm::SmallPtrSet<void *, 8> seen;
    kernel.walk([&](Operation *op) {
      auto read = tensorRead(op);
      auto tensor = read ? dyn_cast<BlockArgument>(read->memref) : BlockArgument();
      if (!tensor || !seen.insert(tensor.getAsOpaquePointer()).second)
        return;
      auto type = cast<MemRefType>(tensor.getType());
      double size = double(type.getElementTypeBitWidth()) / 8;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        auto found = sizes.find(scalars.sizeName(tensor, d));
        size *= double(found != sizes.end()             ? found->second
                       : type.isDynamicDim(unsigned(d)) ? 1
                                                        : type.getDimSize(unsigned(d)));
      }
      bytes += size;
    });
    return bytes;
  }

  void setCoordinates(SizeAssignment &assignment, int64_t block) {
    if (auto group = grid.getSwizzle(); group && extents.size() == 2) {
      int64_t perGroup = extents[0] * int64_t(*group);
      int64_t first = block / perGroup * int64_t(*group), rest = block % perGroup;
      int64_t width = std::min<int64_t>(*group, extents[1] - first);
      assignment.sizes[KnownScalars::coordinateName(0)] = rest / width;
      assignment.sizes[KnownScalars::coordinateName(1)] = first + rest % width;
      return;
    }
    for (auto [i, extent] : llvm::enumerate(extents)) {
      bool last = i + 1 == extents.size();
      assignment.sizes[KnownScalars::coordinateName(unsigned(i))] = last ? block : block % extent;
      block /= extent;
    }
  }

  func::FuncOp kernel;
  const std::map<std::string, int64_t> &sizes;
  const hw::Chip &chip;
  KnownScalars scalars;
  tile::GridOp grid;
  SmallVector<int64_t> extents;
  int64_t blocks = 1;
  bool asksForWork = false, multiplies = false;
  std::vector<TraceRead> plainReads;
  bool simulateAll = false;
  KernelWork work;
};

} // namespace

KernelWork kernelWork(func::FuncOp kernel, const std::map<std::string, int64_t> &sizes,
                      const hw::Chip &chip) {
  return Builder(kernel, sizes, chip).run();
}

} // namespace penstock
