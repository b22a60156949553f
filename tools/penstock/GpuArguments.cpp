//===- GpuArguments.cpp - Arguments on a GPU ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "GpuArguments.h"

using namespace penstock;

std::optional<gpu::Device> findGpu(Session &session) {
  try {
    gpu::Device device = gpu::current({});
    session.options.target = device.target({});
    session.target = session.options.target.kind == Target::Kind::Sm90a ? "sm_90a" : "sm_100a";
    return device;
  } catch (const Error &error) {
    session.diagnostics = error.diagnostics();
    return std::nullopt;
  }
}

std::string describeGpu(const gpu::Device &device) {
  return "GPU " + std::to_string(device.number()) + ", " + device.name() +
         (device.emulated() ? ", emulated" : "");
}

GpuArguments::GpuArguments(const MadeArguments &from, const gpu::Device &device)
    : arguments(from.arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].tensor)
      continue;
    memory.emplace_back(from.memory[i].size(), device);
    memory.back().upload(from.memory[i].data());
    arguments[i].data = memory.back().data();
  }
}

void GpuArguments::download(MadeArguments &to) const {
  for (size_t i = 0, next = 0; i < arguments.size(); ++i)
    if (arguments[i].tensor)
      memory[next++].download(to.memory[i].data());
}

double GpuArguments::bytes() const {
  double sum = 0;
  for (const auto &each : memory)
    sum += double(each.size());
  return sum;
}

std::vector<Diagnostic> launchOnGpu(const AnyKernel &kernel, MadeArguments &arguments,
                                    const LaunchOptions &options, const gpu::Device &device) {
  try {
    GpuArguments copies(arguments, device);
    auto diagnostics = kernel.launch(copies.arguments, options);
    if (diagnostics.empty())
      copies.download(arguments);
    return diagnostics;
  } catch (const Error &error) {
    return error.diagnostics();
  }
}
