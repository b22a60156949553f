//===- Launch.cpp - Launches through the driver ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Launch.h"
#include "Cuda/Errors.h"
#include "Cuda/Faults.h"
#include "Cuda/History.h"
#include "Cuda/Pointers.h"
#include "Cuda/Prints.h"
#include "Cuda/TensorMaps.h"
#include "Diagnostics/Codes.h"
#include "Runtime/DeviceLaunch.h"

using namespace penstock;
using namespace penstock::cuda;

namespace {

/// An array on the stack, or on the heap where a kernel has more than usual.
template <class T, size_t N> class Buffer {
public:
  explicit Buffer(size_t size) {
    if (size > N)
      large = std::make_unique<T[]>(size);
  }
  T *data() { return large ? large.get() : small; }

private:
  T small[N];
  std::unique_ptr<T[]> large;
};

bool isDefaultStream(void *stream) {
  return !stream || stream == legacyStream || stream == perThreadStream;
}

/// Destinations of this thread's last launches of a variant, by stream, or by context for the
/// default streams. If a stream was destroyed and its handle reused, the driver rejects the launch,
/// and the entry is created again.
struct Recent {
  uint64_t program = 0;
  void *key = nullptr;
  size_t variant = 0;
  Destination to;
};

Recent &recentOf(uint64_t program, void *key, size_t variant) {
  thread_local Recent all[64];
  uint64_t hash =
      (reinterpret_cast<uintptr_t>(key) / 8 + program * 7 + variant) * 0x9e3779b97f4a7c15;
  return all[hash >> 58];
}

class Launcher {
public:
  Launcher(const DriverApi &api, Program &program, std::span<const detail::Argument> arguments,
           const LaunchOptions &options)
      : api(api), program(program), arguments(arguments), options(options),
        stream(options.stream.handle()), variant(variantFor(program.variants(), arguments)),
        kernel(*program.variants()[variant]), values(kernel.launch.steps.size()),
        constants(kernel.launch.results.size()), addresses(arguments.size() + 2),
        parameter(kernel.parameterBytes) {}

  std::vector<Diagnostic> diagnostics;
  Destination to;

  /// Enqueues the kernel; false with errors.
  bool run() {
    if (!prepareValidLaunch(kernel, arguments, values.data(), constants.data(), blocks)) {
      prepareLaunch(kernel, program.info(), arguments, diagnostics);
      return false;
    }
    if (blocks == 0)
      return true;
    if (options.overlap_previous && !program.waitsForPrevious(variant)) {
      refuseOverlap();
      return false;
    }
    void *context = nullptr;
    if (isDefaultStream(stream) && api.ctxGetCurrent(&context) != Success)
      context = nullptr;
    void *key = isDefaultStream(stream) ? context : stream;
    Recent &recent = recentOf(program.id(), key, variant);
    if (key && recent.program == program.id() && recent.key == key && recent.variant == variant) {
      to = recent.to;
      int result = enqueue();
      if (result == Success || !diagnostics.empty() || isSticky(result) ||
          result >= CaptureUnsupported)
        return finish(result);
      recent = {};
    }
    auto found = destinationOf(api, stream, diagnostics);
    if (!found || !program.prepare(api, variant, *found, diagnostics))
      return false;
    to = *found;
    // Only a thread without a context needs one for this.
    ContextScope scope(api, isDefaultStream(stream) ? to.context : currentOr(to.context));
    int result = scope.result == Success ? enqueue() : scope.result;
    if (result == Success && key)
      recent = {program.id(), key, variant, to};
    return finish(result);
  }

private:
  void *currentOr(void *otherwise) const {
    void *current = nullptr;
    return api.ctxGetCurrent(&current) == Success && current ? current : otherwise;
  }

  void refuseOverlap() {
    Diagnostic d;
    d.code = GpuOverlap;
    d.message = "kernel `" + program.info().name +
                "` is launched with `overlap_previous`, but never waits for the previous kernel";
    d.helps.push_back("call b.wait_for_previous() in the kernel before it accesses tensors that "
                      "the previous kernel writes, or launch it without `overlap_previous`");
    diagnostics.push_back(std::move(d));
  }

  bool finish(int result) {
    if (result != Success && diagnostics.empty()) {
      diagnostics.push_back(driverError(api, result, "cuLaunchKernelEx"));
      if (isSticky(result))
        addSuspects(to.device, diagnostics.back());
    }
    if (!diagnostics.empty())
      return false;
    recordLaunch(to.device, program.id(), arguments);
    return true;
  }

  /// Packs the parameter and calls the driver. Errors of arguments are in diagnostics.
  int enqueue() {
    if (!packAddresses())
      return Success;
    int result = launchPacked();
    if (printBuffer && (result != Success || !diagnostics.empty())) {
      dropPrintBuffer(api, to, printBuffer);
      printBuffer = 0;
    }
    return result;
  }

  int launchPacked() {
    auto encode = [this](unsigned number, const detail::Argument &tensor, uint64_t address,
                         uint8_t *into) { return mapFor(number, tensor, address, into); };
    if (!packParameters(kernel, program.info(), arguments, {addresses.data(), arguments.size() + 2},
                        {constants.data(), kernel.launch.results.size()}, encode, parameter.data(),
                        diagnostics))
      return Success;
    LaunchAttribute attributes[2];
    unsigned count = 0;
    if (kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 1) {
      LaunchAttribute &cluster = attributes[count++];
      cluster.id = AttributeCluster;
      for (size_t d = 0; d < 3; ++d)
        cluster.cluster[d] = kernel.cluster[d];
    }
    if (options.overlap_previous) {
      LaunchAttribute &overlap = attributes[count++];
      overlap.id = AttributeProgrammaticSerialization;
      overlap.programmaticSerialization = 1;
    }
    LaunchConfig config = {{unsigned(blocks), 1, 1},     {kernel.threads, 1, 1},
                           kernel.sharedBytes,           stream,
                           count ? attributes : nullptr, count};
    void *parameters[] = {parameter.data()};
    return api.launchKernelEx(&config, program.function(variant), parameters, nullptr);
  }

  bool packAddresses() {
    const KnownPointers &known = KnownPointers::ofThread();
    for (size_t i = 0; i < arguments.size(); ++i) {
      uint64_t &address = addresses.data()[i];
      address = arguments[i].tensor ? reinterpret_cast<uint64_t>(arguments[i].data) : 0;
      if (!arguments[i].tensor)
        continue;
      uint64_t bytes = spannedBytes(arguments[i]);
      if (bytes == 0)
        address = zeroBytes(api, to, diagnostics);
      else if (!known.has(address, bytes, to.device))
        checkPointer(api, to, address, bytes, program.info().arguments[i], diagnostics);
    }
    uint64_t *next = addresses.data() + arguments.size();
    if (!kernel.faults.empty())
      *next++ = program.faultWord(variant, to.device);
    if (!kernel.prints.empty() && diagnostics.empty())
      *next = printBuffer =
          addPrintBuffer(api, to, stream, program.info().name, kernel.prints, options, diagnostics);
    return diagnostics.empty();
  }

  std::string mapFor(unsigned number, const detail::Argument &tensor, uint64_t address,
                     uint8_t *into) {
    uint32_t recipe = uint32_t(variant << 16 | number);
    const uint8_t *map = findMap(program.id(), recipe, tensor, address);
    if (!map) {
      int result = Success;
      MapKey key(program.id(), recipe, tensor, address);
      map = cuda::encodeMap(api, key, packMap(kernel.maps[number], tensor, address), result);
      if (!map)
        return "cuTensorMapEncodeTiled returned " + std::to_string(result) +
               "; addresses and row strides must be multiples of 16 bytes";
    }
    memcpy(into, map, tensorMapBytes);
    return {};
  }

  const DriverApi &api;
  Program &program;
  std::span<const detail::Argument> arguments;
  const LaunchOptions &options;
  void *stream;
  size_t variant;
  const DeviceKernel &kernel;
  uint64_t blocks = 0;
  DevicePointer printBuffer = 0; ///< of this launch, if the kernel prints
  Buffer<int64_t, 256> values;
  Buffer<int64_t, 64> constants;
  Buffer<uint64_t, 33> addresses;
  // Tensor maps are aligned to 64 bytes in the parameter.
  alignas(64) Buffer<uint8_t, 4096> parameter;
};

SourceLocation locationOf(Loc at) { return {at.file, at.line, at.column}; }

/// Waits for \p stream and collects what kernels report.
void wait(const DriverApi &api, const Destination &to, void *stream,
          std::vector<Diagnostic> &diagnostics) {
  ContextScope scope(api, to.context);
  int result = scope.result == Success ? api.streamSynchronize(stream) : scope.result;
  if (result == Success)
    result = collectFaults(api, to, stream, diagnostics);
  // Of a GPU that failed, buffers cannot be read; collectPrints forgets them.
  int printed = collectPrints(api, to, stream);
  if (result == Success)
    result = printed;
  if (result == Success)
    return;
  diagnostics.push_back(driverError(api, result, "cuStreamSynchronize"));
  if (isSticky(result))
    addSuspects(to.device, diagnostics.back());
}

} // namespace

void penstock::cuda::locate(std::vector<Diagnostic> &diagnostics, Loc at) {
  for (Diagnostic &d : diagnostics)
    if (!d.location.known())
      d.location = locationOf(at);
}

std::vector<Diagnostic> penstock::cuda::launch(const DriverApi &api, Program &program,
                                               std::span<const detail::Argument> arguments,
                                               const LaunchOptions &options, Loc at) {
  if (!argumentsFit(program.info(), arguments)) {
    auto wrong = checkArguments(program.info(), arguments, locationOf(at));
    if (!wrong.empty())
      return wrong;
  }
  Launcher launcher(api, program, arguments, options);
  bool enqueued = launcher.run();
  if (enqueued && !options.stream.given() && launcher.to.context)
    wait(api, launcher.to, nullptr, launcher.diagnostics);
  if (!launcher.diagnostics.empty())
    locate(launcher.diagnostics, at);
  return std::move(launcher.diagnostics);
}

std::vector<Diagnostic> penstock::cuda::launch(Program &program,
                                               std::span<const detail::Argument> arguments,
                                               const LaunchOptions &options, Loc at) {
  std::vector<Diagnostic> diagnostics;
  if (const DriverApi *api = driver(diagnostics))
    return launch(*api, program, arguments, options, at);
  locate(diagnostics, at);
  return diagnostics;
}

std::vector<Diagnostic> penstock::cuda::prepare(Program &program, int device, Loc at) {
  std::vector<Diagnostic> diagnostics;
  if (const DriverApi *api = driver(diagnostics))
    if (deviceInfo(*api, device, diagnostics))
      if (void *context = contextOn(*api, device, diagnostics))
        for (size_t i = 0; i < program.variants().size() && diagnostics.empty(); ++i)
          program.prepare(*api, i, {context, device}, diagnostics);
  locate(diagnostics, at);
  return diagnostics;
}

std::vector<Diagnostic> penstock::cuda::synchronize(void *stream, Loc at) {
  std::vector<Diagnostic> diagnostics;
  if (const DriverApi *api = driver(diagnostics))
    if (auto to = destinationOf(*api, stream, diagnostics))
      wait(*api, *to, stream, diagnostics);
  locate(diagnostics, at);
  return diagnostics;
}
