//===- Driver.h - The state of the emulated driver --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices, contexts, streams, events and modules of libcuda.so.1. Streams are queues
// that run when somebody waits, in an order drawn at random among the orders that
// streams and events allow, so that a program that lacks a wait computes something else.
// One lock protects everything: calls of several threads are serialized.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDASHIM_DRIVER_H
#define PENSTOCK_CUDASHIM_DRIVER_H

#include "Cuda/DriverTypes.h"
#include "CudaShim/FatBinary.h"
#include "Emulator/Launch.h"
#include "Emulator/Races/Tier.h"
#include "Hardware/Chip.h"

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <thread>

#define PENSTOCK_DRIVER_ENTRY extern "C" __attribute__((visibility("default"))) int

namespace penstock::shim {

using namespace penstock::cuda;

struct Context;
struct Capture;
struct Queue;

/// Everything that `queue` had been given when it had issued `count` pieces of work.
struct Dependency {
  std::shared_ptr<Queue> queue;
  uint64_t count = 0;
};

using Action = std::function<int()>;

struct Device;

/// A launch that waits in a stream or graph.
struct KernelLaunch {
  Device *device = nullptr;
  std::shared_ptr<emu::LoadedModule> module;
  std::string name;
  emu::LaunchConfig config;
  bool overlapsPrevious = false; ///< programmatic dependent launch
};

/// Either an action or a launch.
struct Work {
  Action run;
  std::vector<Dependency> after;
  std::shared_ptr<const KernelLaunch> launch = {};

  bool overlaps() const { return launch && launch->overlapsPrevious; }
};

/// A stream.
struct Queue {
  Context *context = nullptr;
  bool waitsForLegacy = true; ///< as all streams do that are not non-blocking
  std::deque<Work> pending;
  uint64_t issued = 0, done = 0;
  Capture *capture = nullptr;
  std::vector<size_t> frontier; ///< of the capture: nodes that the next one follows
};

struct GraphNode {
  Action run;
  std::vector<size_t> after;
  std::shared_ptr<const KernelLaunch> launch = {};
};

struct Graph {
  std::vector<GraphNode> nodes;
};

/// From cuStreamBeginCapture to cuStreamEndCapture.
struct Capture {
  std::shared_ptr<Queue> origin;
  CaptureMode mode = CaptureGlobal;
  std::thread::id thread;
  bool broken = false;
  Graph graph;
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  Dependency at;
  /// Set when the work before it is done.
  std::shared_ptr<std::chrono::steady_clock::time_point> when;
  Capture *capture = nullptr; ///< it was recorded in; then `frontier` is what it follows
  std::vector<size_t> frontier;
};

struct Library;

struct Kernel {
  Library *library = nullptr;
  std::string name;
  std::map<int, int> maxDynamicShared; ///< by device; 48 KiB if not set
};

/// A library or module.
struct Library {
  std::vector<PtxImage> images;
  std::map<const PtxImage *, std::shared_ptr<const ptx::Module>> parsed;
  std::map<int, std::shared_ptr<emu::LoadedModule>> loaded; ///< by device
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

/// Dynamic shared memory of a function whose limit was not raised, on every GPU.
inline constexpr int defaultDynamicShared = 48 << 10;

struct Device {
  int ordinal = 0;
  bool isBlackwell = false;
  emu::Device gpu;
  std::unique_ptr<Context> primary;
  int primaryUsers = 0;

  unsigned arch() const { return isBlackwell ? 100 : 90; }
  const hw::Chip &chip() const { return *hw::findChip(isBlackwell ? "B200" : "H100"); }
  void setBlackwell(bool is);
};

struct Context {
  Device *device = nullptr;
  int failed = Success; ///< sticky
  std::shared_ptr<Queue> legacy;
};

/// Fails the n-th call of a function.
struct Injection {
  std::string function;
  int call = 1, result = 0;
};

class Driver {
public:
  std::mutex mutex;
  bool initialized = false;
  bool devicesNamed = false; ///< PENSTOCK_EMU_DEVICE is set
  int version = 13000;
  emu::LaunchOptions options;
  std::string format = "text";
  std::vector<Injection> injections;
  std::map<std::string, int> calls;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Device>> devices;
  std::set<Context *> contexts;
  std::map<void *, std::shared_ptr<Queue>> streams;
  std::vector<std::shared_ptr<Queue>> retired; ///< destroyed streams with work
  std::vector<std::weak_ptr<Queue>> queues;
  std::map<void *, std::unique_ptr<Event>> events;
  std::map<void *, std::unique_ptr<Library>> libraries;
  std::set<void *> kernels;
  std::map<void *, std::unique_ptr<Graph>> graphs, executables;
  std::vector<std::unique_ptr<Capture>> captures;
  std::map<uint64_t, uint64_t> pinned; ///< host memory: address and size
  unsigned launches = 0, findings = 0;
  /// PENSTOCK_EMU_KERNELS: which kernels are checked.
  std::optional<std::regex> checkedKernels;
  /// PENSTOCK_EMU_MUTATE: kernels whose mutants are run, and those whose mutants have been.
  std::optional<std::regex> mutatedKernels;
  std::set<std::string> mutated;
  /// PENSTOCK_EMU_FAIL_ON: the tier of findings that fails the program, and whether one did.
  std::optional<emu::Tier> failOn;
  bool failed = false;
  double seconds = 0;
  /// PENSTOCK_EMU_COST: nanoseconds of a block, and of each byte of its dynamic shared
  /// memory. Both 0: events have the time of day.
  double costOfBlock = 0, costOfByte = 0;
  std::chrono::nanoseconds planted{0}; ///< cost of all launches so far

  Driver();
  /// The clock of events.
  std::chrono::steady_clock::time_point now() const;
  /// Prints what happened, if PENSTOCK_EMU_SUMMARY asks for it.
  void summarize();

  /// The device that holds an address; null for host memory.
  Device *deviceOf(uint64_t address) const;
  bool isPinned(uint64_t address) const;

  // Queues. The result is that of the driver's call.
  /// The stream of a handle in the current context; null if there is none.
  std::shared_ptr<Queue> queueOf(void *handle);
  int enqueue(const std::shared_ptr<Queue> &queue, Action action,
              std::vector<Dependency> after = {});
  int enqueue(const std::shared_ptr<Queue> &queue, Work work);
  /// Runs work until \p queue has finished its first \p count pieces.
  int waitFor(const std::shared_ptr<Queue> &queue, uint64_t count);
  int waitForContext(Context &context);
  /// Runs one piece of work that can be run, if there is any.
  bool runSome();
  std::shared_ptr<Queue> addQueue(Context *context, bool waitsForLegacy);

  // Captures
  int refuseInCapture(Capture &capture, int result);
  /// Returns whether a capture forbids calls that are not safe while it goes on.
  Capture *captureThatForbids();
  Capture *captureIn(Context &context, bool onlyBlocking);
  int endCapture(Queue &queue, Graph *&graph);
  int launchGraph(const Graph &graph, const std::shared_ptr<Queue> &queue);

  // Modules
  int loadImage(const void *image, Library &library);
  /// The module on a device, loaded when it is first needed.
  int loadOn(Device &device, Library &library, std::shared_ptr<emu::LoadedModule> &module);
  int launch(Kernel &kernel, const LaunchConfig &config, void **parameters, void **extra);

  int copy(uint64_t to, uint64_t from, size_t bytes);

private:
  void readSettings();
  void addDevices(const std::string &names, int count);
  std::vector<std::shared_ptr<Queue>> ready(const std::set<Queue *> *among);
  void runFirst(Queue &queue);
  std::set<Queue *> neededBy(Queue &queue);
  /// Runs kernels of which each after the first overlaps the one before it.
  int runKernels(const std::vector<std::shared_ptr<const KernelLaunch>> &kernels);
  emu::LaunchOptions optionsFor(const std::string &kernel) const;
  int printFindings(const emu::Report &report, const std::string &kernel);
  void print(const char *what, const std::string &kernel, const std::vector<Diagnostic> &all) const;
  void runMutants(const KernelLaunch &launch);
};

Driver &driver();

/// Contexts that a thread has pushed; the last is current. It has no destructor, because
/// programs free memory from destructors of static objects, when those of the thread are
/// gone.
class ContextStack {
public:
  bool empty() const { return count == 0; }
  Context *back() const { return all[count - 1]; }
  /// False if there is no room.
  bool push(Context *context) {
    if (count == depth)
      return false;
    all[count++] = context;
    return true;
  }
  void pop() { --count; }
  void remove(Context *context) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i)
      if (all[i] != context)
        all[kept++] = all[i];
    count = kept;
  }

private:
  static constexpr size_t depth = 64;
  Context *all[depth] = {};
  size_t count = 0;
};
ContextStack &contextStack();
inline Context *currentContext() {
  return contextStack().empty() ? nullptr : contextStack().back();
}
/// Of this thread, for calls that are unsafe while streams are captured.
CaptureMode &captureMode();

/// A function of the driver, as cuGetProcAddress gives it.
struct EntryPoint {
  const char *name;
  void *address;
  int since; ///< the first version of CUDA that has it
};
const EntryPoint *findEntryPoint(const char *name);

/// The beginning of every entry point: takes the lock and decides whether the call can
/// go on.
class Call {
public:
  enum Needs : uint8_t {
    Nothing,
    Init,           ///< cuInit
    CurrentContext, ///< a current context that has not failed
    NoCapture       ///< that, and no capture that forbids unsafe calls
  };
  Call(const char *function, Needs needs);
  explicit operator bool() const { return result == Success; }
  int result = Success;

private:
  std::lock_guard<std::mutex> lock;
};

} // namespace penstock::shim

#endif // PENSTOCK_CUDASHIM_DRIVER_H
