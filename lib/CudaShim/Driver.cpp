//===- Driver.cpp - The state of the emulated driver ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Settings arrive in environment variables, because the program under test owns the
// command line (docs/how-to/emulator.md lists them).
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"
#include "Diagnostics/Split.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace penstock;
using namespace penstock::shim;

namespace {

std::string setting(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

template <class T> T numberIn(std::string_view text, T otherwise) {
  T value = otherwise;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size() ? value : otherwise;
}

void readRegex(const char *name, std::optional<std::regex> &to) {
  std::string text = setting(name);
  if (text.empty())
    return;
  try {
    to.emplace(text, std::regex::extended);
  } catch (const std::regex_error &) {
    fprintf(stderr, "penstock-emu: %s: `%s` is not a regular expression\n", name, text.c_str());
  }
}

} // namespace

Driver::Driver() { readSettings(); }

void Driver::summarize() {
  if (setting("PENSTOCK_EMU_SUMMARY") != "1")
    return;
  size_t left = 0;
  for (const auto &weak : queues)
    if (auto queue = weak.lock())
      left += queue->pending.size();
  if (left)
    fprintf(stderr, "penstock-emu: the program ended without waiting for %zu operations\n", left);
  fprintf(stderr, "penstock-emu: %u launches on %s, %u findings, %.3f s in kernels\n", launches,
          !devices.empty() && devices[0]->isBlackwell ? "B200" : "H100", findings, seconds);
  if (failed) {
    // The program is at its end; its own exit code gives way.
    fflush(nullptr);
    _exit(1);
  }
}

/// For tests: the \p number-th call of \p function from now on returns \p result.
extern "C" __attribute__((visibility("default"))) void penstock_emu_inject(const char *function,
                                                                           int number, int result) {
  Driver &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  d.injections.push_back({function, d.calls[function] + number, result});
}

/// For tests: contexts that failed can be used again, as after a restart of the process.
extern "C" __attribute__((visibility("default"))) void penstock_emu_recover() {
  Driver &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  d.injections.clear();
  for (Context *context : d.contexts)
    context->failed = Success;
}

/// For libcudart, which knows what the program was compiled for.
extern "C" __attribute__((visibility("default"))) void penstock_emu_suggest_blackwell() {
  Driver &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (d.devicesNamed || d.initialized)
    return;
  for (auto &device : d.devices)
    device->setBlackwell(true);
}

void Driver::readSettings() {
  options.checks = setting("PENSTOCK_EMU_CHECKS") != "0";
  // penstock-emu has refused what is not a timing.
  emu::parseTiming(setting("PENSTOCK_EMU_TIMING"), options);
  if (std::string f = setting("PENSTOCK_EMU_FORMAT"); !f.empty())
    format = f;
  options.print = [](const std::string &text) { fputs(text.c_str(), stdout); };
  failOn = emu::tierFromName(setting("PENSTOCK_EMU_FAIL_ON"));
  readRegex("PENSTOCK_EMU_KERNELS", checkedKernels);
  readRegex("PENSTOCK_EMU_MUTATE", mutatedKernels);
  version = numberIn(setting("PENSTOCK_EMU_DRIVER"), version);
  random.seed(numberIn<uint64_t>(setting("PENSTOCK_EMU_SEED"), 1));
  if (std::string fail = setting("PENSTOCK_EMU_FAIL"); !fail.empty())
    for (const std::string &each : split(fail, ',')) {
      std::vector<std::string> parts = split(each, ':');
      if (parts.size() == 3)
        injections.push_back({parts[0], numberIn(parts[1], 0), numberIn(parts[2], 0)});
      if (parts.size() != 3 || injections.back().call < 1 || injections.back().result < 1)
        fprintf(stderr, "penstock-emu: PENSTOCK_EMU_FAIL: `%s` is not FUNCTION:CALL:RESULT\n",
                each.c_str());
    }
  if (std::string cost = setting("PENSTOCK_EMU_COST"); !cost.empty()) {
    std::vector<std::string> parts = split(cost, ':');
    costOfBlock = numberIn(parts[0], 0);
    costOfByte = parts.size() == 2 ? numberIn(parts[1], 0) : 0;
    if (parts.size() > 2 || costOfBlock < 1 || costOfByte < 0)
      fprintf(stderr,
              "penstock-emu: PENSTOCK_EMU_COST: `%s` is not NANOSECONDS or "
              "NANOSECONDS:PER_BYTE\n",
              cost.c_str());
  }
  addDevices(setting("PENSTOCK_EMU_DEVICE"), numberIn(setting("PENSTOCK_EMU_DEVICES"), 1));
}

std::chrono::steady_clock::time_point Driver::now() const {
  return costOfBlock > 0 ? std::chrono::steady_clock::time_point(planted)
                         : std::chrono::steady_clock::now();
}

/// "b200" makes all devices alike; "h100,b200" names each.
void Driver::addDevices(const std::string &names, int count) {
  std::vector<std::string> each = split(names, ',');
  devicesNamed = !names.empty();
  count = std::clamp(std::max(count, int(each.size())), 0, 16);
  if (setting("PENSTOCK_EMU_DEVICES") == "0")
    count = 0;
  for (int i = 0; i < count; ++i) {
    auto device = std::make_unique<Device>();
    device->ordinal = i;
    device->setBlackwell(each[std::min(size_t(i), each.size() - 1)] == "b200");
    // Devices share one address space.
    device->gpu.memory = emu::DeviceMemory(0x700000000 + (uint64_t(i) << 40));
    device->primary = std::make_unique<Context>();
    device->primary->device = device.get();
    contexts.insert(device->primary.get());
    device->primary->legacy = addQueue(device->primary.get(), false);
    devices.push_back(std::move(device));
  }
}

void penstock::shim::Device::setBlackwell(bool is) {
  isBlackwell = is;
  const hw::Limits &limits = chip().architecture->limits;
  gpu.numSms = unsigned(limits.multiprocessors);
  gpu.maxShared = uint32_t(limits.sharedBytesPerBlock);
}

penstock::shim::Device *Driver::deviceOf(uint64_t address) const {
  for (const auto &device : devices)
    if (device->gpu.memory.find(address))
      return device.get();
  return nullptr;
}

bool Driver::isPinned(uint64_t address) const {
  auto after = pinned.upper_bound(address);
  return after != pinned.begin() && address - std::prev(after)->first < std::prev(after)->second;
}

int Driver::copy(uint64_t to, uint64_t from, size_t bytes) {
  if (!bytes)
    return Success;
  Device *target = deviceOf(to), *source = deviceOf(from);
  if (!source) {
    if (target)
      return target->gpu.write(to, reinterpret_cast<const void *>(from), bytes) ? Success
                                                                                : InvalidValue;
    memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return Success;
  }
  if (!target)
    return source->gpu.read(from, reinterpret_cast<void *>(to), bytes) ? Success : InvalidValue;
  std::vector<uint8_t> stage(bytes);
  return source->gpu.read(from, stage.data(), bytes) && target->gpu.write(to, stage.data(), bytes)
             ? Success
             : InvalidValue;
}

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

std::shared_ptr<Queue> Driver::addQueue(Context *context, bool waitsForLegacy) {
  auto queue = std::make_shared<Queue>();
  queue->context = context;
  queue->waitsForLegacy = waitsForLegacy;
  std::erase_if(queues, [](const std::weak_ptr<Queue> &each) { return each.expired(); });
  queues.push_back(queue);
  return queue;
}

std::shared_ptr<Queue> Driver::queueOf(void *handle) {
  Context *context = currentContext();
  if (!handle || handle == legacyStream)
    return context ? context->legacy : nullptr;
  if (handle == perThreadStream) {
    thread_local std::map<Context *, std::shared_ptr<Queue>> own;
    if (!context)
      return nullptr;
    std::shared_ptr<Queue> &queue = own[context];
    if (!queue)
      queue = addQueue(context, true);
    return queue;
  }
  auto found = streams.find(handle);
  return found == streams.end() ? nullptr : found->second;
}

int Driver::enqueue(const std::shared_ptr<Queue> &queue, Action action,
                    std::vector<Dependency> after) {
  return enqueue(queue, Work{std::move(action), std::move(after)});
}

int Driver::enqueue(const std::shared_ptr<Queue> &queue, Work work) {
  std::vector<Dependency> &after = work.after;
  Context &context = *queue->context;
  if (context.failed)
    return context.failed;
  if (Capture *capture = queue->capture) {
    if (capture->broken)
      return CaptureInvalidated;
    capture->graph.nodes.push_back({std::move(work.run), queue->frontier, work.launch});
    queue->frontier = {capture->graph.nodes.size() - 1};
    return Success;
  }
  if (queue == context.legacy) {
    if (Capture *capture = captureIn(context, true))
      return refuseInCapture(*capture, CaptureImplicit);
    for (const auto &weak : queues)
      if (auto other = weak.lock(); other && other->context == &context && other->waitsForLegacy)
        after.push_back({other, other->issued});
  } else if (queue->waitsForLegacy) {
    after.push_back({context.legacy, context.legacy->issued});
  }
  std::erase_if(after, [](const Dependency &each) { return each.queue->done >= each.count; });
  queue->pending.push_back(std::move(work));
  ++queue->issued;
  // Work goes on by itself, too; programs that never wait do not fill the memory.
  if (queue->pending.size() > 64 || random() % 16 == 0)
    runSome();
  return Success;
}

static bool isReady(const Work &work) {
  return std::ranges::all_of(work.after,
                             [](const Dependency &d) { return d.queue->done >= d.count; });
}

std::vector<std::shared_ptr<Queue>> Driver::ready(const std::set<Queue *> *among) {
  std::vector<std::shared_ptr<Queue>> found;
  for (const auto &weak : queues) {
    auto queue = weak.lock();
    if (!queue || queue->pending.empty() || (among && !among->count(queue.get())))
      continue;
    if (isReady(queue->pending.front()))
      found.push_back(std::move(queue));
  }
  return found;
}

void Driver::runFirst(Queue &queue) {
  Context &context = *queue.context;
  Work work = std::move(queue.pending.front());
  queue.pending.pop_front();
  std::vector<std::shared_ptr<const KernelLaunch>> kernels;
  if (work.launch)
    kernels.push_back(work.launch);
  // Launches that were given to the stream by now overlap.
  while (!kernels.empty() && !queue.pending.empty() && queue.pending.front().overlaps() &&
         isReady(queue.pending.front())) {
    kernels.push_back(queue.pending.front().launch);
    queue.pending.pop_front();
  }
  int result = context.failed ? Success : work.launch ? runKernels(kernels) : work.run();
  queue.done += std::max<size_t>(1, kernels.size());
  if (result != Success && !context.failed)
    context.failed = result;
}

bool Driver::runSome() {
  auto all = ready(nullptr);
  if (all.empty())
    return false;
  auto chosen = all[random() % all.size()];
  runFirst(*chosen);
  return true;
}

std::set<Queue *> Driver::neededBy(Queue &queue) {
  std::set<Queue *> needed{&queue};
  std::vector<Queue *> open{&queue};
  while (!open.empty()) {
    Queue *each = open.back();
    open.pop_back();
    for (const Work &work : each->pending)
      for (const Dependency &dependency : work.after)
        if (needed.insert(dependency.queue.get()).second)
          open.push_back(dependency.queue.get());
  }
  return needed;
}

int Driver::waitFor(const std::shared_ptr<Queue> &queue, uint64_t count) {
  // Other streams run as well, or are as late as they can be.
  bool lazy = random() % 2;
  std::set<Queue *> needed = neededBy(*queue);
  while (queue->done < count) {
    auto all = ready(lazy ? &needed : nullptr);
    if (all.empty())
      return Unknown; // cannot be: waits only refer to work that was issued before
    auto chosen = all[random() % all.size()];
    runFirst(*chosen);
  }
  return queue->context->failed;
}

int Driver::waitForContext(Context &context) {
  for (bool again = true; again;) {
    again = false;
    auto all = queues;
    std::shuffle(all.begin(), all.end(), random);
    for (const auto &weak : all)
      if (auto queue = weak.lock();
          queue && queue->context == &context && queue->done < queue->issued) {
        waitFor(queue, queue->issued);
        again = true;
      }
  }
  return context.failed;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Driver &penstock::shim::driver() {
  // Never destroyed: programs call it from destructors of their own.
  static Driver *object = new Driver;
  static struct AtExit {
    ~AtExit() { object->summarize(); }
  } atExit;
  return *object;
}

ContextStack &penstock::shim::contextStack() {
  thread_local ContextStack stack;
  return stack;
}

CaptureMode &penstock::shim::captureMode() {
  thread_local CaptureMode mode = CaptureGlobal;
  return mode;
}

Call::Call(const char *function, Needs needs) : lock(driver().mutex) {
  Driver &d = driver();
  Context *context = currentContext();
  if (!d.injections.empty()) {
    int number = ++d.calls[function];
    for (const Injection &injection : d.injections)
      if (injection.function == function && injection.call == number) {
        result = injection.result;
        if (isSticky(result) && context)
          context->failed = result;
        return;
      }
  }
  if (needs == Nothing)
    return;
  if (!d.initialized)
    result = NotInitialized;
  else if (needs >= CurrentContext && !context)
    result = InvalidContext;
  else if (needs >= CurrentContext && context->failed)
    result = context->failed;
  else if (needs == NoCapture)
    if (Capture *capture = d.captureThatForbids())
      result = d.refuseInCapture(*capture, CaptureUnsupported);
}
