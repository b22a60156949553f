//===- Program.cpp - A kernel, loaded on GPUs -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Program.h"
#include "Cuda/Errors.h"
#include "Cuda/Faults.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Counters.h"
#include "Diagnostics/Events.h"

#include <cstdio>

using namespace penstock;
using namespace penstock::cuda;

namespace {

std::atomic<uint64_t> nextProgram{1};

struct Registry {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<const KernelInfo>> infos;
};
Registry &registry() {
  static Registry *object = new Registry; // kernels in static variables outlive others
  return *object;
}

} // namespace

Program::Program(Artifact artifact) : Program(std::move(artifact), installedAssemblers()) {}

/// It takes a good part of a second for each kernel, and refuses PTX that is newer than the
/// driver: users should know.
static void announceDriver(const std::string &reason) {
  static std::atomic<bool> announced{false};
  if (announced.exchange(true))
    return;
  std::fprintf(stderr,
               "penstock: the driver compiles PTX, because %s; install ptxas or libnvJitLink of "
               "the CUDA toolkit for faster loading, or set PENSTOCK_PTXAS= to choose the driver\n",
               reason.c_str());
}

/// Launches of resolved kernels are checked without allocating.
static Artifact resolved(Artifact artifact) {
  resolveSizes(artifact.info);
  return artifact;
}

Program::Program(Artifact artifact, LoadPolicy policy)
    : number(nextProgram++), content(resolved(std::move(artifact))), policy(std::move(policy)) {
  for (const DeviceKernel &kernel : content.variants)
    pointers.push_back(&kernel);
  loaded = std::make_unique<Loaded[]>(pointers.size());
  for (size_t i = 0; i < pointers.size(); ++i)
    loaded[i].waits = pointers[i]->waitsForPrevious();
  std::lock_guard lock(registry().mutex);
  registry().infos[number] = std::make_shared<KernelInfo>(content.info);
}

/// The code stays loaded, because kernels may still run.
Program::~Program() {
  std::lock_guard lock(registry().mutex);
  registry().infos.erase(number);
}

std::shared_ptr<const KernelInfo> penstock::cuda::infoOfProgram(uint64_t number) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().infos.find(number);
  return found == registry().infos.end() ? nullptr : found->second;
}

std::string Program::sourceReason(size_t variant) const {
  std::lock_guard lock(mutex);
  return loaded[variant].reason;
}

int Program::loadLibrary(const DriverApi &api, Loaded &to, const std::string &code,
                         CodeSource source) {
  TimedEvent event(LogLevel::Debug, "load", content.info.name);
  int result =
      api.libraryLoadData(&to.library, code.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == Success) {
    to.source = source;
    count(counters().gpuLoads);
    if (source == CodeSource::Driver)
      count(counters().assembled);
  }
  return result;
}

/// Machine code first: it needs no newer driver, and loads in a fraction of the time.
int Program::load(const DriverApi &api, size_t variant, const DeviceInfo &device,
                  std::vector<Diagnostic> &diagnostics) {
  Loaded &to = loaded[variant];
  const DeviceKernel &kernel = *pointers[variant];
  int result = NoBinaryForGpu;
  for (const Cubin &cubin : content.cubins)
    if (result != Success && cubin.variant == variant &&
        cubin.architecture == device.architecture()) {
      result = loadLibrary(api, to, cubin.code, CodeSource::Artifact);
      if (result != Success)
        to.reason =
            "the driver refused the artifact's machine code with error " + std::to_string(result);
    }
  if (result == Success || kernel.ptx.empty())
    return result;
  bool assembles = !device.emulated || policy.assembleForEmulator;
  if (assembles) {
    MachineCode made = [&] {
      TimedEvent event(LogLevel::Info, "assemble", content.info.name);
      return assemble(policy, kernel.ptx, device.architecture());
    }();
    if (made.source != CodeSource::None) {
      result = loadLibrary(api, to, made.cubin, made.source);
      if (result == Success)
        return result;
      made.reason = "the driver refused the code of " + made.assembler + " with error " +
                    std::to_string(result);
    }
    if (to.reason.empty() || !made.assembler.empty())
      to.reason = std::move(made.reason);
  }
  if (policy.announceDriver && !device.emulated)
    announceDriver(to.reason);
  return loadLibrary(api, to, kernel.ptx, CodeSource::Driver);
}

bool Program::prepare(const DriverApi &api, size_t variant, const Destination &to,
                      std::vector<Diagnostic> &diagnostics) {
  if (isPrepared(variant, to.device))
    return true;
  std::lock_guard lock(mutex);
  if (isPrepared(variant, to.device))
    return true;
  const DeviceKernel &kernel = *pointers[variant];
  auto refuse = [&](unsigned code, std::string message, std::string help) {
    Diagnostic d;
    d.code = code;
    d.message = std::move(message);
    d.helps.push_back(std::move(help));
    diagnostics.push_back(std::move(d));
    return false;
  };
  std::optional<DeviceInfo> device = deviceInfo(api, to.device, diagnostics);
  if (!device)
    return false;
  if (device->architecture() != kernel.architecture)
    return refuse(GpuDevice,
                  "`" + content.info.name + "` was compiled for " + kernel.architecture +
                      ", but GPU " + std::to_string(to.device) + " (" + device->name + ") is sm_" +
                      std::to_string(device->major) + std::to_string(device->minor),
                  "compile it for gpu::current().target()");
  bool hasCode = !kernel.ptx.empty();
  for (const Cubin &cubin : content.cubins)
    hasCode |= cubin.variant == variant && cubin.architecture == kernel.architecture;
  if (!hasCode)
    return refuse(ArtifactKernel,
                  "the artifact of `" + content.info.name +
                      "` lacks the variant for tensors whose "
                      "rows are not multiples of 16 bytes",
                  "export all variants, or pad the rows");
  RelaxedCapture relaxed(api);
  Loaded &state = loaded[variant];
  const char *call = "cuLibraryLoadData";
  int result = state.library ? int(Success) : load(api, variant, *device, diagnostics);
  if (result == Success && !state.function) {
    call = "cuLibraryGetKernel";
    result = api.libraryGetKernel(&state.function, state.library, kernel.name.c_str());
  }
  if (result == Success) {
    call = "cuKernelSetAttribute";
    result = api.kernelSetAttribute(FunctionMaxDynamicShared, int(kernel.sharedBytes),
                                    state.function, to.device);
  }
  if (result == Success && kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 8)
    result = api.kernelSetAttribute(FunctionNonPortableCluster, 1, state.function, to.device);
  if (result != Success) {
    Diagnostic d = driverError(api, result, call);
    if (!state.reason.empty())
      d.notes.push_back({{}, state.reason, ""});
    diagnostics.push_back(std::move(d));
    return false;
  }
  if (!kernel.faults.empty() && !state.faultWords[size_t(to.device)]) {
    state.faultWords[size_t(to.device)] = addFaultWord(api, to, kernel.faults, diagnostics);
    if (!state.faultWords[size_t(to.device)])
      return false;
  }
  state.ready[size_t(to.device)].store(true, std::memory_order_release);
  return true;
}
