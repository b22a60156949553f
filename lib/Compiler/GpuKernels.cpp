//===- GpuKernels.cpp - Executables on GPUs, and from artifacts -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "penstock/gpu.h"

using namespace penstock;

Artifact penstock::detail::Executable::artifact() const {
  Artifact result;
  result.info = info;
  for (const auto &device : devices)
    result.variants.push_back(device->kernel);
  result.cubins = cubins;
  return result;
}

cuda::Program &penstock::detail::Executable::gpu() {
  std::call_once(gpuMade, [&] { gpuProgram = std::make_unique<cuda::Program>(artifact()); });
  return *gpuProgram;
}

/// What an argument is called in messages: "a rank-2 tensor of f16".
static std::string describe(bool tensor, Element element, int rank) {
  return tensor ? "a tensor of rank " + std::to_string(rank) + " of " + nameOf(element)
                : "a scalar of " + std::string(nameOf(element));
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
  penstock::detail::ExecutableRef executable(new penstock::detail::Executable());
  executable->info = artifact->info;
  for (DeviceKernel &kernel : artifact->variants) {
    auto device = std::make_shared<EmulatedKernel>();
    device->kernel = std::move(kernel);
    executable->devices.push_back(std::move(device));
  }
  executable->cubins = std::move(artifact->cubins);
  result.executable = std::move(executable);
  return result;
}
