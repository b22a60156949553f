//===- Launch.h - Running kernels on the emulator ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator as a library: a Device owns memory, loads parsed modules and
// launches their kernels. A launch returns its findings as data; it never
// throws, prints or aborts, whatever the kernel does.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_LAUNCH_H
#define PENSTOCK_EMULATOR_LAUNCH_H

#include "Diagnostics/Diagnostic.h"
#include "Emulator/Decode/Program.h"
#include "Emulator/Memory.h"
#include "Emulator/Time/Pace.h"

#include <array>
#include <functional>
#include <mutex>
#include <set>

namespace penstock::emu {

struct ExecutionProfile;

/// When asynchronous work completes.
enum class Timing : uint8_t {
  Eager,    ///< as soon as it is issued
  Lazy,     ///< only when no thread can run any more
  Random,   ///< drawn from the seed, as is the order of warps
  Targeted, ///< one operation as late as possible, all others eagerly
  Paced     ///< when a GPU would, on a clock of cycles
};

/// From when to when something was under way, on the clock of Timing::Paced.
struct TraceEvent {
  enum Kind : uint8_t {
    Operation, ///< asynchronous, from its issue to its completion
    Wait,      ///< of a warp, at one instruction
    Probe,     ///< a test of an mbarrier that no loop repeats, when it began
    Work       ///< of a warp: instructions of one source line, from the first to the last
  };
  Kind kind = Operation;
  uint32_t block = 0; ///< in its cluster
  uint32_t warp = 0;  ///< in its block: who issued it, or waits
  std::string what;
  uint32_t ptxLine = 0, sourceLine = 0;
  uint32_t instruction = 0; ///< its number in the program; a line may have several
  uint64_t start = 0, end = 0;
  uint64_t busyUntil = 0; ///< Operation: when its engine takes the next one
  /// Of the operation, or of the one that ended the wait; None: another warp did.
  AsyncWork::Engine engine = AsyncWork::Engine::None;
  bool succeeded = false; ///< Probe: the phase was complete
  bool special = false;   ///< Work: exponentials, reciprocals or the like are among them
};

/// An access to a slot of a shared tile, on the clock of Timing::Paced.
struct SlotAccess {
  uint32_t block = 0; ///< of the memory, in its cluster
  std::string tile;   ///< the name of the symbol
  uint64_t slot = 0;
  bool isWrite = false;
  bool isAsync = false;     ///< by an engine; its operation is traced with the same issuer and line
  uint32_t issuerBlock = 0; ///< in the cluster
  uint32_t issuerWarp = 0;
  uint32_t ptxLine = 0;
  uint64_t time = 0; ///< of the instruction
  friend bool operator==(const SlotAccess &, const SlotAccess &) = default;
};

/// Operation of a thread or engine on an mbarrier, for tools that check arrivals.
struct BarrierEvent {
  enum Kind : uint8_t {
    Arrive, ///< an arrival in phase `phase`
    Observe ///< a wait that found phase `phase` over
  };
  Kind kind = Arrive;
  uint64_t barrier = 0; ///< the same for all events of one object of a launch
  uint64_t phase = 0;
  uint32_t line = 0; ///< of the PTX text
};

struct LaunchOptions {
  Timing timing = Timing::Eager;
  uint64_t seed = 1;
  /// Targeted: the ordinal of the delayed operation in its cluster.
  uint32_t target = 0;
  /// A warp of each cluster, counted through its blocks, that runs only when no other
  /// warp and no engine can; negative: none. Paced does not take it.
  int32_t starvedWarp = -1;
  /// Races, initialization, misuse. Without checks only what stops execution
  /// is reported (bounds, deadlock, illegal operands).
  bool checks = true;
  unsigned threads = 0; ///< host threads; 0: as many as the host has
  /// Of warps, in the whole launch. Much work for one instruction, as large copies
  /// and long lists of readers are, counts as more of them.
  uint64_t maxInstructions = uint64_t(1) << 33;
  unsigned maxFindings = 50;
  /// Reports registers of tcgen05.ld that are touched before tcgen05.wait::ld.
  /// That is the contract of Penstock's own kernels; the ISA lets a read of such
  /// a register wait by itself, and kernels of others rely on it.
  bool waitBeforeUse = false;
  /// Requires a proxy fence after generic reads, too, before an engine overwrites what was read.
  /// From sm_100 on it is always required; kernels for Hopper often omit it.
  bool fenceReads = false;
  std::function<void(const std::string &)> print; ///< output of printf
  /// Findings of conflicts have the synchronization between the two accesses (the fact `timeline`).
  bool timeline = false;
  /// Fills Report::executed.
  bool coverage = false;
  /// Receives what warps execute and compute; requires `threads` to be 1.
  ExecutionProfile *profile = nullptr;
  /// Receives what happens to mbarriers, from several host threads.
  std::function<void(const BarrierEvent &)> onBarrier;
  /// Paced: how long everything takes; must not be null then.
  const Pace *pace = nullptr;
  /// Paced: receives what the cluster of block `traceBlock` does.
  std::function<void(const TraceEvent &)> onTrace;
  /// Paced: receives accesses of that cluster to symbols with slots. Requires `checks`.
  std::function<void(const SlotAccess &)> onSlotAccess;
  uint32_t traceBlock = 0; ///< of the grid, x first
  /// Paced: runs no other cluster than that one, for which it may wait in vain.
  bool onlyTraced = false;
  /// Paced: receives, for each of its SMs, what that cluster occupied.
  std::function<void(const PacedTotals &)> onTotals;
};

/// A name for a piece of memory or for a barrier, for messages. Whoever compiled the
/// kernel knows them; without them messages name variables of the PTX and offsets.
struct Symbol {
  enum Kind : uint8_t {
    Shared,      ///< bytes from the start of the block's dynamic shared memory
    Tensor,      ///< columns of tensor memory
    NamedBarrier ///< the numbers of bar.sync
  };
  Kind kind = Shared;
  std::string name;
  uint32_t first = 0, size = 0;
  uint32_t slot = 0; ///< the size of each element of an array; 0: there is one
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {0, 0, 0}; ///< 0: the kernel's own, or 1
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> params; ///< laid out as the kernel declares them
  std::vector<Symbol> symbols;
};

struct LaunchStats {
  uint64_t instructions = 0; ///< executed by warps
  uint64_t spent = 0;        ///< of LaunchOptions::maxInstructions
  uint64_t asyncOps = 0;
  uint64_t blocks = 0;
  double seconds = 0;
};

/// Instructions that a finding is about, by their lines of the PTX; the second is 0
/// where there is one.
struct FindingSite {
  unsigned code = 0;
  uint32_t line = 0, otherLine = 0;
  /// Of both accesses; a finding of one access has its warp twice.
  std::set<std::pair<uint32_t, uint32_t>> warps;
};

/// Lines of the PTX that have instructions, of the kernel and of what it calls.
struct LineCoverage {
  std::vector<uint32_t> lines, reached; ///< in order; `reached` by a thread whose guard holds
};

struct Report {
  /// Those of one code and one pair of source lines are one, in the order of lines.
  std::vector<Diagnostic> findings;
  /// The same, instruction by instruction.
  std::vector<FindingSite> sites;
  LaunchStats stats;
  LineCoverage executed; ///< if LaunchOptions::coverage asks for it
  /// All blocks ran to their end, whatever was found on the way.
  bool completed = false;
  bool ok() const {
    for (const Diagnostic &d : findings)
      if (d.severity == Severity::Error)
        return false;
    return true;
  }
  bool has(unsigned code) const {
    for (const Diagnostic &d : findings)
      if (d.code == code)
        return true;
    return false;
  }
};

/// A module with its variables in device memory.
struct LoadedModule {
  std::shared_ptr<const ptx::Module> module;
  std::vector<uint64_t> globals; ///< device address of each variable
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Program>> programs;
};

struct Launch {
  LoadedModule *module = nullptr;
  std::string kernel;
  LaunchConfig config;
  LaunchOptions options;
};

class Device {
public:
  DeviceMemory memory;
  // Both are 0 until a module is loaded, whose target then decides.
  unsigned numSms = 0;
  /// Bytes of shared memory a block may have, beside the reserved part.
  uint32_t maxShared = 0;

  /// Allocates and initializes the module's variables.
  std::shared_ptr<LoadedModule> load(std::shared_ptr<const ptx::Module> module,
                                     std::vector<Diagnostic> &diagnostics);
  std::shared_ptr<LoadedModule> load(const std::string &text, const std::string &name,
                                     std::vector<Diagnostic> &diagnostics);

  Report launch(LoadedModule &module, const std::string &kernel, const LaunchConfig &config,
                const LaunchOptions &options = {});
  /// Runs consecutive kernels of one stream, at least one. Each after the first was launched
  /// to overlap the one before it (programmatic dependent launch). If one cannot be run,
  /// those after it are not run either.
  std::vector<Report> launchOverlapping(const std::vector<Launch> &launches);

  // Copies by the host; false if the range is not in device memory.
  bool write(uint64_t address, const void *from, uint64_t size);
  bool read(uint64_t address, void *to, uint64_t size) const;
};

/// "eager", "lazy", "random:SEED", "delay:OPERATION", "starve:WARP".
bool parseTiming(const std::string &text, LaunchOptions &options);
/// The timings that kernels are tried in: `count` that are eager, lazy and then random
/// from `seed` on, and before the random ones each of the warps of a cluster starved.
struct TimingSequence {
  uint64_t count = 1;
  uint32_t warps = 0;
  uint64_t seed = 1;

  uint64_t size() const { return count + warps; }
  LaunchOptions operator[](uint64_t index) const;
};
/// For messages: "eager timing that starves warp 3".
std::string timingName(const LaunchOptions &options, uint32_t warpsPerBlock);

/// The lines of a finding, in order, without columns: with its code they tell it from
/// others.
std::array<SourceLocation, 2> findingLines(const Diagnostic &finding);
/// By source line, then code.
void sortFindings(std::vector<Diagnostic> &findings);

/// Lays out arguments: append values in order, each aligned to its size.
class ParamPacker {
public:
  template <class T> ParamPacker &add(const T &value) {
    return addBytes(&value, sizeof(T), alignof(T) > 16 ? alignof(T) : sizeof(T));
  }
  ParamPacker &addBytes(const void *data, size_t size, size_t align) {
    bytes.resize((bytes.size() + align - 1) / align * align);
    auto *from = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), from, from + size);
    return *this;
  }
  std::vector<uint8_t> bytes;
};

/// Returns whether the emulator has code for a row of the instruction table.
bool isExecuted(const ptx::InstructionForm &form);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_LAUNCH_H
