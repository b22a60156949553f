//===- RunGrids.cpp - Grids that run at the same time ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programmatic dependent launch: a grid starts when all blocks of the previous one have
// executed griddepcontrol.launch_dependents or have ended, and griddepcontrol.wait waits
// for the end of the previous grid. Only this wait orders accesses of the two, so that a
// missing one is a finding in every timing that executes both accesses.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Decode/Names.h"
#include "Emulator/Exec/ExecCall.h"
#include "Emulator/Races/HappensBefore.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

namespace penstock::emu {
namespace {

/// Turns that a grid has before its predecessor in the eager timing. It may poll what the
/// predecessor writes.
constexpr unsigned turnsAhead = 256;

/// Clusters that do not talk to each other: each host thread takes the next.
void runParallel(Grid &grid) {
  unsigned threads = grid.options.threads ? grid.options.threads
                                          : std::max(1u, std::thread::hardware_concurrency());
  threads = std::min(threads, grid.numClusters);
  uint32_t first = 0, end = grid.numClusters;
  if (grid.options.timing == Timing::Paced && grid.options.onlyTraced) {
    first = std::min(grid.tracedCluster, grid.numClusters - 1);
    end = first + 1;
  }
  std::atomic<uint32_t> next{first};
  auto work = [&] {
    while (!grid.abort.load(std::memory_order_relaxed)) {
      uint32_t index = next.fetch_add(1);
      if (index >= end)
        return;
      Cluster cluster;
      cluster.grid = &grid;
      cluster.index = index;
      cluster.start();
      cluster.run(false);
    }
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
}

/// A grid whose clusters take turns. As many are resident as the device has room for.
class Turns {
public:
  explicit Turns(Grid &grid) : grid(grid) {
    room = std::max(1u, grid.device->numSms / grid.ctasPerCluster);
    // Launch control is only of use if some clusters have to wait.
    if (grid.program->usesLaunchControl)
      room = std::min(room, std::max(1u, grid.numClusters / 3));
    random.seed(grid.options.seed * 0x9e3779b97f4a7c15 + grid.firstCluster);
    chooseOrder();
  }

  Grid &grid;

  /// Gives each cluster a turn, and starts as many as there is room for. False if nothing
  /// could be done.
  bool run() {
    start();
    bool worked = false;
    for (size_t i = 0; i < resident.size();) {
      Cluster &cluster = *resident[i].cluster;
      if (waits(resident[i])) {
        ++i;
        continue;
      }
      uint64_t before = cluster.instructions + cluster.progress;
      cluster.run(true);
      worked |= cluster.instructions + cluster.progress != before;
      if (cluster.finished)
        resident.erase(resident.begin() + int64_t(i));
      else
        ++i;
    }
    if (resident.empty() && allStarted() && !grid.abort)
      end();
    return worked;
  }

  /// Makes room for all blocks that can be resident on the GPU at the same time, ignoring register
  /// use. Returns whether more clusters can start than before.
  bool addRoom() {
    if (allStarted())
      return false;
    const Device &device = *grid.device;
    uint32_t perSm = std::min({32u, 2048 / (grid.warpsPerCta * 32),
                               (device.maxShared + sharedReserved) / grid.sharedBytes});
    uint32_t most = std::max(room, device.numSms * std::max(1u, perSm) / grid.ctasPerCluster);
    if (std::exchange(room, most) != most)
      return true;
    // A block may wait for blocks with lower numbers. Kernels rely on GPUs starting those first,
    // although CUDA does not guarantee it. So the remaining clusters start in the order of their
    // numbers, while the waiting ones stay resident.
    std::lock_guard<std::mutex> lock(grid.launchMutex);
    if (grid.startOrder.empty() || inOrder)
      return false;
    inOrder = true;
    std::sort(grid.startOrder.begin() + grid.nextCluster, grid.startOrder.end());
    room *= 2;
    return true;
  }

  void addTo(std::vector<Cluster *> &clusters) const {
    for (const Resident &each : resident)
      clusters.push_back(each.cluster.get());
  }

  /// Lets waiting threads test their conditions again after progress in another grid.
  void wake() {
    for (Resident &each : resident)
      ++each.cluster->progress;
  }

private:
  struct Resident {
    std::unique_ptr<Cluster> cluster;
    uint64_t slowness = 1; ///< rounds per turn, on average
  };

  /// Chooses the order in which clusters start. Acquires and releases synchronize in the order of
  /// the run, so lazy reverses the order of eager: each pair of blocks then runs in both orders.
  void chooseOrder() {
    Timing timing = grid.options.timing;
    if (timing != Timing::Lazy && timing != Timing::Random)
      return;
    std::vector<uint32_t> &order = grid.startOrder;
    order.resize(grid.numClusters);
    std::iota(order.begin(), order.end(), 0);
    if (timing == Timing::Lazy)
      std::reverse(order.begin(), order.end());
    else
      std::shuffle(order.begin(), order.end(), random);
  }

  /// Returns whether a cluster has no turn in this round.
  bool waits(const Resident &each) { return each.slowness > 1 && random() % each.slowness; }

  bool allStarted() {
    std::lock_guard<std::mutex> lock(grid.launchMutex);
    return grid.allTaken();
  }

  void start() {
    while (resident.size() < room) {
      auto cluster = std::make_unique<Cluster>();
      {
        std::lock_guard<std::mutex> lock(grid.launchMutex);
        if (grid.allTaken())
          return;
        cluster->index = grid.takeCluster();
      }
      cluster->grid = &grid;
      cluster->start();
      uint64_t slowness = 1;
      // Even seeds give all clusters equally many turns, so that they overlap. Odd seeds delay some
      // clusters as a whole, except in runs with a starved warp, which must run last.
      if (grid.options.timing == Timing::Random && grid.options.seed % 2 &&
          grid.options.starvedWarp < 0)
        slowness = uint64_t(1) << 2 * (random() % 4);
      resident.push_back({std::move(cluster), slowness});
    }
  }

  void end() {
    grid.ended = true;
    grid.endView.seen.setAgent(grid.endAgent(), 1);
    // It cannot have ended before a grid that one of its threads waited for.
    if (grid.previous && grid.waited)
      grid.endView.join(grid.previous->endView);
  }

  uint32_t room;
  bool inOrder = false; ///< the remaining clusters start in the order of their numbers
  std::mt19937_64 random;
  std::vector<Resident> resident;
};

/// Grids, and clusters that may wait for each other, take turns on this thread.
class Together {
public:
  explicit Together(GlobalState &state) {
    for (Grid *grid : state.grids)
      all.emplace_back(*grid);
    random.seed(all[0].grid.options.seed);
  }

  void run() {
    // A starved warp gets its turn when no cluster has anything else to do.
    bool starving = all[0].grid.options.starvedWarp >= 0;
    bool onlyOthers = starving;
    // A grid that does not wait may end before those that precede it.
    while (std::ranges::any_of(all, [](const Turns &turns) { return !turns.grid.ended; })) {
      bool worked = false;
      for (Turns *turns : order()) {
        turns->grid.onlyOthers = onlyOthers;
        unsigned left = runsAhead(turns->grid) ? turnsAhead : 1;
        while (left-- && !turns->grid.ended && turns->run())
          worked = true;
        if (turns->grid.abort)
          return stopAll();
        if (turns->grid.ended)
          for (Turns &other : all)
            other.wake();
      }
      onlyOthers = starving && worked;
      if (stands())
        return stopAll();
    }
  }

private:
  /// Looks for a deadlock of threads that poll, from time to time.
  bool stands() {
    std::vector<Cluster *> clusters;
    for (const Turns &turns : all)
      turns.addTo(clusters);
    uint64_t instructions = 0, progress = 0;
    for (const Cluster *cluster : clusters) {
      instructions += cluster->instructions;
      progress += cluster->progress;
    }
    if (clusters.empty() || all[0].grid.options.timing == Timing::Paced ||
        !standstill.due(instructions, progress) || !standstill.reached(clusters))
      return false;
    // Threads that have not started yet may write.
    bool starts = false;
    for (Turns &turns : all) {
      starts |= turns.addRoom();
      starts |= !hurry && turns.grid.previous && !turns.grid.ended && mayStart(turns.grid);
    }
    hurry = true;
    if (starts) {
      standstill.lookAgain();
      return false;
    }
    const Grid *grid = clusters[0]->grid;
    std::erase_if(clusters, [&](const Cluster *cluster) { return cluster->grid != grid; });
    reportDeadlock(clusters, noMoreWrites);
    return true;
  }

  static bool mayStart(const Grid &grid) {
    return !grid.previous || grid.previous->triggered == grid.previous->numBlocks();
  }

  /// Which grids have a turn now. Eager: each runs ahead of those before it. Lazy: each
  /// starts when the one before has ended.
  std::vector<Turns *> order() {
    std::vector<Turns *> list;
    for (Turns &turns : all) {
      const Grid &grid = turns.grid;
      if (grid.ended || !mayStart(grid))
        continue;
      bool mustWait = grid.previous && !grid.previous->ended;
      if (mustWait && grid.options.timing == Timing::Lazy && !hurry)
        continue;
      if (mustWait && grid.options.timing == Timing::Random && random() % 2)
        continue;
      list.push_back(&turns);
    }
    std::reverse(list.begin(), list.end());
    if (all[0].grid.options.timing == Timing::Random) {
      std::shuffle(list.begin(), list.end(), random);
      list.resize(1 + random() % list.size());
    }
    return list;
  }

  static bool runsAhead(const Grid &grid) {
    return grid.options.timing == Timing::Eager && grid.previous && !grid.previous->ended;
  }

  void stopAll() {
    std::vector<Cluster *> clusters;
    for (Turns &turns : all) {
      turns.grid.abort = true;
      turns.addTo(clusters);
    }
    for (Cluster *cluster : clusters) {
      cluster->grid->instructions += cluster->instructions - cluster->counted;
      cluster->grid->spent += cluster->spent() - cluster->charged;
      cluster->counted = cluster->instructions;
      cluster->charged = cluster->spent();
    }
  }

  std::deque<Turns> all;
  std::mt19937_64 random;
  Standstill standstill;
  bool hurry = false; ///< grids start as soon as they may: others wait for them
};

} // namespace

void runGrids(GlobalState &state) {
  const Grid &first = *state.grids[0];
  bool alone = first.options.timing == Timing::Paced && first.options.onlyTraced;
  if (state.grids.size() == 1 && (alone || !first.program->crossCta))
    runParallel(*state.grids[0]);
  else
    Together(state).run();
}

void trigger(Grid &grid, Cta &cta) {
  if (!cta.triggered)
    ++grid.triggered;
  cta.triggered = true;
}

void runLaunchDependents(Exec &ex, const DInst &) {
  trigger(ex.grid, ex.cta);
  ex.yield = true;
}

void runWaitForPrevious(Exec &ex, const DInst &) {
  Grid *previous = ex.grid.previous;
  if (!previous)
    return;
  if (!previous->ended)
    return ex.block("the end of kernel `" + demangled(previous->program->kernel->name) + "`");
  ex.grid.waited = true;
  if (ex.grid.checks())
    acquire(ex, ex.mask, previous->endView);
}

} // namespace penstock::emu
