//===- DriverLaunch.cpp - libcuda: launches and occupancy -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"
#include "Emulator/Decode/Names.h"
#include "Emulator/Mutants.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace penstock;
using namespace penstock::shim;

namespace {

/// Returns the error of a GPU for a kernel that could not run to its end.
int resultOf(const std::vector<Diagnostic> &findings) {
  for (const Diagnostic &finding : findings)
    switch (finding.code) {
    case EmuOutOfBounds:
      return IllegalAddress;
    case EmuMisaligned:
      return MisalignedAddress;
    case EmuDeadlock:
    case EmuNoProgress:
      return LaunchTimeout;
    case EmuIllegalDescriptor:
    case EmuIllegalOperand:
      return IllegalInstruction;
    default:
      break;
    }
  return LaunchFailed;
}

/// The parameters as one piece, from an array of pointers or from `extra`.
int packedParameters(const ptx::Function &kernel, void **parameters, void **extra,
                     std::vector<uint8_t> &to) {
  emu::ParamPacker packer;
  for (uint32_t i = 0; i < kernel.numParams && parameters; ++i)
    packer.addBytes(parameters[i], kernel.variables[i].size,
                    std::max(1u, kernel.variables[i].align));
  if (!parameters && extra) {
    const void *data = nullptr;
    size_t size = 0;
    for (; *extra; extra += 2)
      if (*extra == reinterpret_cast<void *>(1))
        data = extra[1];
      else if (*extra == reinterpret_cast<void *>(2))
        memcpy(&size, extra[1], sizeof size);
      else
        return InvalidValue;
    if (data)
      packer.addBytes(data, size, 1);
  } else if (!parameters && kernel.numParams) {
    return InvalidValue;
  }
  to = std::move(packer.bytes);
  return Success;
}

/// Returns true if the name of a kernel, mangled or not, contains a match.
bool matches(const std::string &kernel, const std::regex &expression) {
  return std::regex_search(kernel, expression) ||
         std::regex_search(emu::demangled(kernel), expression);
}

} // namespace

emu::LaunchOptions Driver::optionsFor(const std::string &kernel) const {
  emu::LaunchOptions used = options;
  if (checkedKernels && !matches(kernel, *checkedKernels)) {
    // The timing is for the kernels that are checked; others may have fewer warps.
    used.checks = false;
    used.timing = emu::Timing::Eager;
    used.starvedWarp = -1;
  }
  return used;
}

/// Runs the mutants of a kernel once, on the memory of its first launch.
void Driver::runMutants(const KernelLaunch &launch) {
  if (!mutatedKernels || !matches(launch.name, *mutatedKernels) ||
      !mutated.insert(launch.name).second)
    return;
  emu::MutantReport report =
      emu::runMutants(launch.device->gpu, *launch.module, launch.name, launch.config);
  print("mutants of", launch.name, report.findings);
  if (report.ran)
    fprintf(stderr, "penstock-emu: %s\n", report.summary().c_str());
}

int Driver::runKernels(const std::vector<std::shared_ptr<const KernelLaunch>> &kernels) {
  std::vector<emu::Launch> all;
  for (const auto &each : kernels) {
    runMutants(*each);
    all.push_back({each->module.get(), each->name, each->config, optionsFor(each->name)});
    const auto &[x, y, z] = each->config.grid;
    planted += std::chrono::nanoseconds(
        int64_t(double(x) * double(y) * double(z) *
                (costOfBlock + costOfByte * double(each->config.dynamicShared))));
  }
  std::vector<emu::Report> reports = kernels[0]->device->gpu.launchOverlapping(all);
  int result = Success;
  for (size_t i = 0; i < all.size(); ++i) {
    ++launches;
    seconds += reports[i].stats.seconds;
    int own = printFindings(reports[i], all[i].kernel);
    if (result == Success)
      result = own;
  }
  return result;
}

void Driver::print(const char *what, const std::string &kernel,
                   const std::vector<Diagnostic> &all) const {
  std::string text = format == "json"    ? toJson(all) + "\n"
                     : format == "sarif" ? toSarif(all, "penstock-emu") + "\n"
                                         : render(all);
  fprintf(stderr, "penstock-emu: %s kernel %s\n%s", what, emu::demangled(kernel).c_str(),
          text.c_str());
}

/// Returns the result of the kernel.
int Driver::printFindings(const emu::Report &report, const std::string &kernel) {
  if (report.findings.empty())
    return report.completed ? Success : LaunchFailed;
  findings += unsigned(report.findings.size());
  for (const Diagnostic &finding : report.findings)
    failed |= failOn && emu::tierOf(finding) >= *failOn;
  print("findings in", kernel, report.findings);
  // A kernel that ran to its end has results; what was found is on stderr.
  return report.completed ? int(Success) : resultOf(report.findings);
}

int Driver::launch(Kernel &kernel, const LaunchConfig &config, void **parameters, void **extra) {
  auto queue = queueOf(config.stream);
  if (!queue)
    return config.stream ? InvalidHandle : InvalidContext;
  Device &device = *queue->context->device;
  if (queue->context->failed)
    return queue->context->failed;
  auto made = std::make_shared<KernelLaunch>();
  made->device = &device;
  made->name = kernel.name;
  if (int result = loadOn(device, *kernel.library, made->module))
    return result;
  const ptx::Function *function = made->module->module->function(kernel.name);
  if (!function)
    return NotFound;
  emu::LaunchConfig &to = made->config;
  to.cluster = {0, 0, 0};
  for (unsigned i = 0; i < config.numAttributes; ++i)
    if (config.attributes[i].id == AttributeProgrammaticSerialization)
      made->overlapsPrevious = config.attributes[i].programmaticSerialization != 0;
    else if (config.attributes[i].id == AttributeCluster)
      to.cluster = {config.attributes[i].cluster[0], config.attributes[i].cluster[1],
                    config.attributes[i].cluster[2]};
  for (size_t d = 0; d < 3; ++d) {
    to.grid[d] = config.grid[d];
    to.block[d] = config.block[d];
    if (!config.grid[d] || !config.block[d] || (to.cluster[d] && config.grid[d] % to.cluster[d]))
      return InvalidValue;
  }
  auto set = kernel.maxDynamicShared.find(device.ordinal);
  int mostShared = set == kernel.maxDynamicShared.end() ? defaultDynamicShared : set->second;
  if (uint64_t(config.block[0]) * config.block[1] * config.block[2] >
          uint64_t(device.chip().architecture->limits.threadsPerBlock) ||
      config.sharedBytes > unsigned(mostShared))
    return InvalidValue;
  to.dynamicShared = config.sharedBytes;
  if (int result = packedParameters(*function, parameters, extra, to.params))
    return result;
  return enqueue(queue, Work{{}, {}, std::move(made)});
}

PENSTOCK_DRIVER_ENTRY cuLaunchKernelEx(const LaunchConfig *config, Kernel *kernel,
                                       void **parameters, void **extra) {
  Call call("cuLaunchKernelEx", Call::Init);
  if (!call)
    return call.result;
  if (!config || !driver().kernels.count(kernel))
    return config ? InvalidHandle : InvalidValue;
  return driver().launch(*kernel, *config, parameters, extra);
}

PENSTOCK_DRIVER_ENTRY cuLaunchKernel(Kernel *kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY, unsigned blockZ,
                                     unsigned shared, void *stream, void **parameters,
                                     void **extra) {
  Call call("cuLaunchKernel", Call::Init);
  if (!call)
    return call.result;
  if (!driver().kernels.count(kernel))
    return InvalidHandle;
  LaunchConfig config = {
      {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, stream, nullptr, 0};
  return driver().launch(*kernel, config, parameters, extra);
}

//===----------------------------------------------------------------------===//
// Occupancy: one block on each multiprocessor, which persistent kernels count on.
//===----------------------------------------------------------------------===//

PENSTOCK_DRIVER_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel *, int,
                                                                  size_t) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Call::CurrentContext);
  if (call)
    *blocks = 1;
  return call.result;
}
PENSTOCK_DRIVER_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, Kernel *,
                                                                           int, size_t, unsigned) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Call::CurrentContext);
  if (call)
    *blocks = 1;
  return call.result;
}
PENSTOCK_DRIVER_ENTRY cuOccupancyMaxActiveClusters(int *clusters, Kernel *,
                                                   const LaunchConfig *config) {
  Call call("cuOccupancyMaxActiveClusters", Call::CurrentContext);
  if (!call)
    return call.result;
  unsigned size = 1;
  for (unsigned i = 0; i < config->numAttributes; ++i)
    if (config->attributes[i].id == AttributeCluster) {
      const unsigned *cluster = config->attributes[i].cluster;
      size = std::max(1u, cluster[0] * cluster[1] * cluster[2]);
    }
  *clusters = int(currentContext()->device->gpu.numSms / size);
  return Success;
}
