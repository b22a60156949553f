//===- Gemm.h - Setting up the GEMM test kernels ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_EMULATOR_GEMM_H
#define PENSTOCK_UNITTESTS_EMULATOR_GEMM_H

#include "Emulator/Float.h"
#include "Emulator/Launch.h"
#include "Emulator/Tensor/TensorMap.h"

#include <fstream>
#include <iterator>

namespace penstock::emu {

inline std::string readText(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

/// Small integers, so that every sum is exact whatever the order.
struct GemmProblem {
  int m, n, k;
  std::vector<uint16_t> a, b; ///< M x K, N x K
  std::vector<float> c;       ///< the product, by plain loops
  int step;                   ///< of the rows of c that are computed

  GemmProblem(int m, int n, int k, int step = 1) : m(m), n(n), k(k), step(step) {
    a.resize(size_t(m) * size_t(k));
    b.resize(size_t(n) * size_t(k));
    uint32_t state = 12345;
    std::vector<float> fa(a.size()), fb(b.size());
    auto next = [&] {
      state = state * 1664525 + 1013904223;
      return float(int(state >> 24) % 5 - 2);
    };
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = floatToHalf(fa[i] = next());
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = floatToHalf(fb[i] = next());
    c.assign(size_t(m) * size_t(n), 0);
    for (int i = 0; i < m; i += step)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int x = 0; x < k; ++x)
          sum += fa[size_t(i) * size_t(k) + size_t(x)] * fb[size_t(j) * size_t(k) + size_t(x)];
        c[size_t(i) * size_t(n) + size_t(j)] = sum;
      }
  }
};

/// A row-major matrix of f16, in boxes of 64 columns with the 128-byte swizzle.
inline std::vector<uint8_t> matrixMap(uint64_t base, int rows, int columns, unsigned boxRows) {
  TensorMap map;
  map.dataType = 6;
  map.rank = 2;
  map.base = base;
  map.dims[0] = uint64_t(columns);
  map.dims[1] = uint64_t(rows);
  map.strides[1] = uint64_t(columns) * 2;
  map.box[0] = 64;
  map.box[1] = boxRows;
  map.swizzle = 3;
  std::vector<uint8_t> bytes(tensorMapBytes);
  encodeTensorMap(map, bytes.data());
  return bytes;
}

/// The tcgen05 kernel on \p problem; the result goes to \p out as f16.
inline Report runBlackwellGemm(const std::string &ptx, const GemmProblem &problem,
                               const LaunchOptions &options, std::vector<uint16_t> &out) {
  Device device;
  Report report;
  auto module = device.load(ptx, "gemm_tcgen05.ptx", report.findings);
  if (!module)
    return report;
  auto upload = [&](const std::vector<uint16_t> &content, const char *name) {
    uint64_t at = device.memory.allocate(content.size() * 2, name);
    device.write(at, content.data(), content.size() * 2);
    return at;
  };
  uint64_t a = upload(problem.a, "A"), b = upload(problem.b, "B");
  uint64_t c = device.memory.allocate(problem.c.size() * 2, "C");
  ParamPacker params;
  for (auto &map :
       {matrixMap(a, problem.m, problem.k, 128), matrixMap(b, problem.n, problem.k, 128),
        matrixMap(c, problem.m, problem.n, 128)})
    params.addBytes(map.data(), map.size(), 64);
  params.add(problem.k);
  LaunchConfig config;
  config.grid = {uint32_t(problem.n / 128), uint32_t(problem.m / 128), 1};
  config.block = {192, 1, 1};
  config.dynamicShared = 4 * 32768;
  config.params = params.bytes;
  report = device.launch(*module, "gemm", config, options);
  out.resize(problem.c.size());
  device.read(c, out.data(), out.size() * 2);
  return report;
}

/// The wgmma kernel; the result is f32.
inline Report runHopperGemm(const std::string &ptx, const GemmProblem &problem,
                            const LaunchOptions &options, std::vector<float> &out) {
  Device device;
  Report report;
  auto module = device.load(ptx, "gemm_wgmma.ptx", report.findings);
  if (!module)
    return report;
  auto upload = [&](const std::vector<uint16_t> &content, const char *name) {
    uint64_t at = device.memory.allocate(content.size() * 2, name);
    device.write(at, content.data(), content.size() * 2);
    return at;
  };
  uint64_t a = upload(problem.a, "A"), b = upload(problem.b, "B");
  uint64_t c = device.memory.allocate(problem.c.size() * 4, "C");
  ParamPacker params;
  for (auto &map :
       {matrixMap(a, problem.m, problem.k, 128), matrixMap(b, problem.n, problem.k, 64)})
    params.addBytes(map.data(), map.size(), 64);
  params.add(c);
  params.add(problem.n);
  params.add(problem.k);
  LaunchConfig config;
  config.grid = {uint32_t(problem.n / 64), uint32_t(problem.m / 128), 1};
  config.block = {384, 1, 1};
  config.dynamicShared = 3 * 24576;
  config.params = params.bytes;
  report = device.launch(*module, "gemm", config, options);
  out.resize(problem.c.size());
  device.read(c, out.data(), out.size() * 4);
  return report;
}

} // namespace penstock::emu

#endif // PENSTOCK_UNITTESTS_EMULATOR_GEMM_H
