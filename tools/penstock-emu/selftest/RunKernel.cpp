//===- RunKernel.cpp - Runs of kernels of the self-test -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "selftest/RunKernel.h"
#include "PTX/Parser.h"

#include <algorithm>

namespace penstock::emu::selftest {

Run runKernel(const Kernel &kernel, const std::string &text, const LaunchOptions &options,
              uint32_t iterations) {
  ptx::ParseResult parsed = ptx::parse(text, kernel.name + ".ptx");
  if (parsed.module)
    return runKernel(kernel, parsed.module, options, iterations);
  Run run;
  run.report.findings = std::move(parsed.diagnostics);
  return run;
}

Run runKernel(const Kernel &kernel, const std::shared_ptr<const ptx::Module> &read,
              const LaunchOptions &options, uint32_t iterations) {
  Run run;
  Device device;
  auto module = device.load(read, run.report.findings);
  if (!module)
    return run;
  auto upload = [&](const std::vector<uint8_t> &content, const char *name) {
    uint64_t at = device.memory.allocate(std::max<size_t>(content.size(), 16), name);
    device.write(at, content.data(), content.size());
    return at;
  };
  uint64_t in = upload(kernel.input, "in"), in2 = upload(kernel.input2, "in2");
  uint64_t bytes = std::max<size_t>(kernel.expected.size() * 4, 16);
  uint64_t out = device.memory.allocate(bytes, "out");
  if (kernel.outputStartsAtZero) {
    std::vector<uint8_t> zero(bytes);
    device.write(out, zero.data(), bytes);
  }
  ParamPacker params;
  TensorMap maps[3];
  if (kernel.maps)
    kernel.maps(in, in2, out, maps);
  for (const TensorMap &map : maps) {
    uint8_t encoded[tensorMapBytes];
    encodeTensorMap(map, encoded);
    params.addBytes(encoded, tensorMapBytes, 64);
  }
  params.add(in).add(in2).add(out).add(iterations);
  LaunchConfig config = kernel.config;
  config.params = params.bytes;
  run.report = device.launch(*module, "k", config, options);
  run.result.resize(kernel.expected.size());
  device.read(out, run.result.data(), run.result.size() * 4);
  run.correct = run.result == kernel.expected;
  return run;
}

LaunchOptions timing(unsigned index) {
  LaunchOptions options;
  options.threads = 1;
  options.waitBeforeUse = true;
  options.fenceReads = true;
  // Twins may spin for ever; no kernel here needs a tenth of this.
  options.maxInstructions = 1000000;
  if (index == 1) {
    options.timing = Timing::Lazy;
  } else if (index > 1 && index % 5 == 0) {
    options.timing = Timing::Targeted;
    options.target = index / 5 - 1;
  } else if (index > 1) {
    options.timing = Timing::Random;
    options.seed = index;
  }
  return options;
}

uint32_t warpsOf(const LaunchConfig &config) {
  uint32_t warps = (config.block[0] * config.block[1] * config.block[2] + 31) / 32;
  for (uint32_t size : config.cluster)
    warps *= std::max(1u, size);
  return warps;
}

LaunchOptions starving(uint32_t warp) {
  LaunchOptions options = timing(0);
  options.starvedWarp = int32_t(warp);
  return options;
}

std::vector<Kernel> allKernels() {
  std::vector<Kernel> kernels;
  addBarrierKernels(kernels);
  addRingKernels(kernels);
  addScopeKernels(kernels);
  addMemoryKernels(kernels);
  addProxyKernels(kernels);
  addStoreKernels(kernels);
  addClusterKernels(kernels);
  addWgmmaKernels(kernels);
  addTcgen05Kernels(kernels);
  return kernels;
}

} // namespace penstock::emu::selftest
