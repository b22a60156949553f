//===- GpuKernels.cpp - Executables on GPUs, and from artifacts -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Store.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Events.h"
#include "Runtime/DeviceLaunch.h"
#include "penstock/gpu.h"

using namespace penstock;

const std::vector<std::shared_ptr<EmulatedKernel>> &
penstock::detail::Executable::allDevices(std::vector<Diagnostic> &errors) {
  if (!compileRest)
    return devices;
  std::call_once(allMade, [&] {
    all = devices;
    std::string kernel = info.name + ", for rows of odd sizes";
    TimedEvent event(LogLevel::Info, "compile", kernel);
    std::vector<Diagnostic> found; // warnings came with the first kernel already
    if (auto rest = compileRest(found))
      all.push_back(std::move(rest));
    else
      restErrors = std::move(found);
  });
  errors.insert(errors.end(), restErrors.begin(), restErrors.end());
  return all;
}

bool penstock::detail::Executable::needsRest(std::span<const Argument> arguments) const {
  return compileRest && arguments.size() == info.arguments.size() &&
         !rowsFit(devices.front()->kernel, arguments);
}

const EmulatedKernel *penstock::detail::Executable::deviceFor(std::span<const Argument> arguments,
                                                              std::vector<Diagnostic> &errors) {
  const auto &variants = needsRest(arguments) ? allDevices(errors) : devices;
  return errors.empty() ? &variantFor(variants, arguments) : nullptr;
}

Artifact penstock::detail::Executable::artifactOf(
    const std::vector<std::shared_ptr<EmulatedKernel>> &variants) const {
  Artifact result;
  result.info = info;
  for (const auto &device : variants)
    result.variants.push_back(device->kernel);
  result.cubins = cubins;
  return result;
}

Artifact penstock::detail::Executable::artifact(std::vector<Diagnostic> &errors) {
  return artifactOf(allDevices(errors));
}

cuda::LoadPolicy penstock::detail::Executable::loadPolicy() const {
  cuda::LoadPolicy policy = cuda::installedAssemblers();
  if (const auto &store = (cache ? *cache : KernelCache::process()).store())
    policy.cache = [store](const std::string &key, const auto &make) {
      return store->lookupOrMake(key, make).bytes;
    };
  return policy;
}

std::vector<Diagnostic> AnyKernel::store_machine_code() const {
  std::vector<Diagnostic> errors;
  if (!executable || executable->devices.empty())
    return errors;
  cuda::LoadPolicy policy = executable->loadPolicy();
  for (const auto &device : executable->allDevices(errors)) {
    cuda::MachineCode made =
        cuda::assemble(policy, device->kernel.ptx, device->kernel.architecture);
    if (made.source != cuda::CodeSource::None)
      continue;
    Diagnostic d;
    d.code = HardwareAssembler;
    d.message = "`" + executable->info.name + "` has no machine code: " + made.reason;
    d.helps.push_back("put ptxas on the search path, or name it in PENSTOCK_PTXAS");
    errors.push_back(std::move(d));
  }
  return errors;
}

cuda::Program &penstock::detail::Executable::gpu() {
  std::call_once(gpuMade, [&] {
    gpuProgram = std::make_unique<cuda::Program>(artifactOf(devices), loadPolicy());
  });
  return *gpuProgram;
}

cuda::Program *penstock::detail::Executable::gpuFor(std::span<const Argument> arguments,
                                                    std::vector<Diagnostic> &errors) {
  if (!needsRest(arguments))
    return &gpu();
  const auto &variants = allDevices(errors);
  if (!errors.empty())
    return nullptr;
  std::call_once(allGpuMade, [&] {
    allGpuProgram = std::make_unique<cuda::Program>(artifactOf(variants), loadPolicy());
  });
  return allGpuProgram.get();
}

/// Describes an argument in messages: "a rank-2 tensor of f16".
static std::string describe(bool tensor, Element element, int rank) {
  return tensor ? "a tensor of rank " + std::to_string(rank) + " of " + nameOf(element)
                : "a scalar of " + std::string(nameOf(element));
}

static penstock::detail::ExecutableRef executableOf(Artifact artifact) {
  penstock::detail::ExecutableRef executable(new penstock::detail::Executable());
  executable->info = std::move(artifact.info);
  for (DeviceKernel &kernel : artifact.variants) {
    auto device = std::make_shared<EmulatedKernel>();
    device->kernel = std::move(kernel);
    executable->devices.push_back(std::move(device));
  }
  executable->cubins = std::move(artifact.cubins);
  return executable;
}

penstock::detail::CompileResult
gpu::detail::load(std::string_view bytes,
                  penstock::detail::List<const penstock::detail::ArgumentSpec> specs, Loc at) {
  penstock::detail::CompileResult result;
  auto refuse = [&](std::string message) {
    Diagnostic d;
    d.code = ArtifactKernel;
    d.message = std::move(message);
    d.helps.push_back("load it with the kernel type that it was made from");
    result.diagnostics.push_back(std::move(d));
  };
  auto artifact = readArtifact(bytes, result.diagnostics);
  if (artifact && artifact->info.arguments.size() != specs.size())
    refuse("the artifact is of `" + artifact->info.name + "`, which takes " +
           std::to_string(artifact->info.arguments.size()) + " arguments instead of " +
           std::to_string(specs.size()));
  for (size_t i = 0; artifact && result.diagnostics.empty() && i < specs.size(); ++i) {
    const ArgumentInfo &have = artifact->info.arguments[i];
    const penstock::detail::ArgumentSpec &want = specs[i];
    if (have.tensor != want.tensor || have.element != want.element || have.rank != want.rank ||
        (have.written && want.access == Access::In))
      refuse("the artifact is of `" + artifact->info.name + "`, whose `" + have.name + "` is " +
             (have.written ? "written, " : "") + describe(have.tensor, have.element, have.rank) +
             "; this kernel has " + describe(want.tensor, want.element, want.rank));
  }
  if (!artifact || !result.diagnostics.empty()) {
    for (Diagnostic &d : result.diagnostics)
      d.location = {at.file, at.line, at.column};
    return result;
  }
  result.executable = executableOf(std::move(*artifact));
  return result;
}

AnyKernel penstock::load_artifact(std::string_view bytes, std::vector<Diagnostic> &diagnostics) {
  auto artifact = readArtifact(bytes, diagnostics);
  return artifact ? AnyKernel(executableOf(std::move(*artifact))) : AnyKernel();
}
