//===- Launch.h - Kernels that nvcc compiled, against the host --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family of instructions is a `.cu` file with kernels and a `.cpp` file of the
// same name that says what they must compute, in plain C++ that shares nothing
// with the emulator. The folder says for which architectures nvcc compiles it:
// `any` means all. A Launch gathers arguments and runs the kernel in every kind
// of timing; each run must be without findings and pass the same check.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TEST_EMULATOR_KERNELS_LAUNCH_H
#define PENSTOCK_TEST_EMULATOR_KERNELS_LAUNCH_H

#include "Diagnostics/Render.h"
#include "Emulator/Launch.h"
#include "Emulator/Tensor/TensorMap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

namespace kernels {

using penstock::emu::TensorMap;

/// Numbers that look random and are the same everywhere.
struct Random {
  uint32_t state = 7;
  uint32_t bits() {
    state = state * 1664525 + 1013904223;
    return state ^ state >> 15;
  }
  uint32_t below(uint32_t n) { return (bits() >> 8) % n; }
  int between(int low, int high) { return low + int(below(uint32_t(high - low + 1))); }
};

/// A buffer among the arguments, for reading it afterwards.
struct Buffer {
  size_t index;
};

class Results {
public:
  template <class T> std::vector<T> get(Buffer buffer) const {
    std::vector<T> values(sizes[buffer.index] / sizeof(T));
    EXPECT_TRUE(device.read(addresses[buffer.index], values.data(), values.size() * sizeof(T)));
    return values;
  }

  penstock::emu::Device device;
  std::vector<uint64_t> addresses;
  std::vector<size_t> sizes;
  std::string printed;
};

class Launch {
public:
  Launch(const std::string &family, const std::string &arch, std::string kernel)
      : name(family + "." + arch + ".ptx"), kernel(std::move(kernel)) {}

  /// An argument that points to memory with \p content.
  template <class T> Buffer in(const std::vector<T> &content) {
    std::vector<uint8_t> bytes(content.size() * sizeof(T));
    memcpy(bytes.data(), content.data(), bytes.size());
    arguments.push_back({Argument::Pointer, buffers.size(), {}, {}, 0});
    return addBuffer(std::move(bytes), true);
  }
  /// One that points to memory that is not yet written.
  template <class T> Buffer out(size_t count) {
    arguments.push_back({Argument::Pointer, buffers.size(), {}, {}, 0});
    return addBuffer(std::vector<uint8_t>(count * sizeof(T)), false);
  }
  template <class T> void value(const T &value) { bytes(value, sizeof(T)); }
  /// A structure, with its alignment.
  template <class T> void bytes(const T &value, size_t align) {
    Argument argument{Argument::Value, 0, std::vector<uint8_t>(sizeof(T)), {}, align};
    memcpy(argument.bytes.data(), &value, sizeof(T));
    arguments.push_back(argument);
  }
  /// A tensor map whose base is the start of \p buffer.
  void map(Buffer buffer, const TensorMap &map) {
    arguments.push_back({Argument::Map, buffer.index, {}, map, 0});
  }
  /// A buffer that only a map points to.
  template <class T> Buffer behind(const std::vector<T> &content) {
    std::vector<uint8_t> bytes(content.size() * sizeof(T));
    memcpy(bytes.data(), content.data(), bytes.size());
    return addBuffer(std::move(bytes), true);
  }

  /// Runs in all timings; \p check looks at the results of one.
  void run(const std::function<void(const Results &)> &check) {
    using namespace penstock;
    using namespace penstock::emu;
    if (!PENSTOCK_HAS_NVCC)
      GTEST_SKIP() << "nvcc was not found when this was configured";
    std::ifstream file(std::string(PENSTOCK_KERNEL_PTX) + "/" + name, std::ios::binary);
    ASSERT_TRUE(file.good()) << name;
    std::string text((std::istreambuf_iterator<char>(file)), {});
    unsigned warps = (block[0] * block[1] * block[2] + 31) / 32;
    for (unsigned i = 0; i < timings + std::min(warps, 8u); ++i) {
      LaunchOptions options;
      options.timing = i == 0 ? Timing::Eager : i == 1 ? Timing::Lazy : Timing::Random;
      options.seed = i;
      if (i >= timings) {
        options.timing = Timing::Eager;
        options.starvedWarp = int32_t(i - timings);
      } else if (i > 6) {
        options.timing = Timing::Targeted;
        options.target = i - 7;
      }
      Results results;
      options.print = [&](const std::string &line) { results.printed += line; };
      std::vector<Diagnostic> diagnostics;
      auto module = results.device.load(text, name, diagnostics);
      ASSERT_TRUE(module) << render(diagnostics);
      for (const Content &content : buffers) {
        uint64_t at = results.device.memory.allocate(
            content.bytes.size(), "buffer " + std::to_string(results.addresses.size()));
        if (content.written)
          results.device.write(at, content.bytes.data(), content.bytes.size());
        results.addresses.push_back(at);
        results.sizes.push_back(content.bytes.size());
      }
      ParamPacker params;
      for (Argument &argument : arguments) {
        if (argument.kind == Argument::Pointer) {
          params.add(results.addresses[argument.buffer]);
        } else if (argument.kind == Argument::Value) {
          params.addBytes(argument.bytes.data(), argument.bytes.size(), argument.align);
        } else {
          uint8_t encoded[tensorMapBytes];
          argument.map.base = results.addresses[argument.buffer];
          encodeTensorMap(argument.map, encoded);
          params.addBytes(encoded, tensorMapBytes, 64);
        }
      }
      LaunchConfig config;
      config.grid = grid;
      config.block = block;
      config.cluster = cluster;
      config.dynamicShared = dynamicShared;
      config.params = params.bytes;
      Report report = results.device.launch(*module, kernel, config, options);
      ASSERT_TRUE(report.completed && report.findings.empty())
          << kernel << ", timing " << i << ":\n"
          << render(report.findings);
      check(results);
      if (testing::Test::HasFailure())
        FAIL() << kernel << ", timing " << i;
    }
  }

  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {32, 1, 1}, cluster = {0, 0, 0};
  uint32_t dynamicShared = 0;
  /// Eager, lazy, five random ones and two with a single late operation; families
  /// of many products take the first few.
  unsigned timings = 9;

private:
  struct Argument {
    enum Kind { Pointer, Value, Map } kind;
    size_t buffer;
    std::vector<uint8_t> bytes;
    TensorMap map;
    size_t align = 0;
  };
  struct Content {
    std::vector<uint8_t> bytes;
    bool written;
  };
  Buffer addBuffer(std::vector<uint8_t> bytes, bool written) {
    buffers.push_back({std::move(bytes), written});
    return {buffers.size() - 1};
  }

  std::string name, kernel;
  std::vector<Argument> arguments;
  std::vector<Content> buffers;
};

/// Declares the suite of a family; its tests are TEST_P and call launch().
#define KERNEL_FAMILY(SUITE, FILE, ...)                                                            \
  class SUITE : public testing::TestWithParam<const char *> {                                      \
  protected:                                                                                       \
    kernels::Launch launch(const char *kernel) { return {FILE, GetParam(), kernel}; }              \
  };                                                                                               \
  INSTANTIATE_TEST_SUITE_P(Kernels, SUITE, testing::Values(__VA_ARGS__),                           \
                           [](const auto &info) { return std::string(info.param); })

} // namespace kernels

#endif // PENSTOCK_TEST_EMULATOR_KERNELS_LAUNCH_H
