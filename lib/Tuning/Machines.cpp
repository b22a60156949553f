//===- Machines.cpp - Names of machines in records ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Cuda/Devices.h"
#include "Runtime/ThreadPool.h"
#include "Tuning/Predictor.h"
#include "Tuning/Tune.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <fstream>

using namespace penstock;
using namespace penstock::tuning;

namespace {

/// The model of the CPU, as the system names it.
std::string cpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return llvm::sys::getHostCPUName().str();
}

std::string gpuName() {
  std::vector<Diagnostic> ignored;
  const cuda::DriverApi *api = cuda::driver(ignored);
  auto to = api ? cuda::destinationOf(*api, nullptr, ignored) : std::nullopt;
  auto info = to ? cuda::deviceInfo(*api, to->device, ignored) : std::nullopt;
  if (!info)
    return "GPU";
  return info->name + ", " + std::to_string(info->multiprocessors) + " SMs, " +
         std::to_string(info->clockKilohertz / 1000) + " MHz, memory " +
         std::to_string(info->memoryClockKilohertz / 1000) + " MHz" +
         (info->emulated ? ", emulated" : "");
}

} // namespace

std::string tuning::machineName(Target target, TimeSource times) {
  if (times == TimeSource::Predicted)
    if (auto predictor = predictorFor(target))
      return predictor->name();
  if (times == TimeSource::Events)
    return gpuName();
  int threads = defaultThreads();
  return cpuModel() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}
