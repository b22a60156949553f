//===- TestKernel.h - Running small kernels in tests ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_EMULATOR_TESTKERNEL_H
#define PENSTOCK_UNITTESTS_EMULATOR_TESTKERNEL_H

#include "Diagnostics/Codes.h"
#include "Diagnostics/Render.h"
#include "Emulator/Launch.h"

#include <gtest/gtest.h>

namespace penstock::emu {

/// One kernel `k` on one device, with buffers as arguments.
class TestKernel {
public:
  explicit TestKernel(const std::string &text) {
    std::vector<Diagnostic> diagnostics;
    module = device.load(text, "test.ptx", diagnostics);
    EXPECT_TRUE(module) << render(diagnostics);
  }
  /// `.entry k(.param .u64 p0, ...)` with \p params pointers around \p body.
  static std::string wrap(const std::string &body, unsigned params = 2,
                          const std::string &head = "", const std::string &target = "sm_100a") {
    std::string text =
        ".version 9.0\n.target " + target + "\n.address_size 64\n" + head + ".visible .entry k(";
    for (unsigned i = 0; i < params; ++i)
      text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
    return text + ")\n{\n" + body + "\n}\n";
  }
  template <class T> uint64_t buffer(const std::vector<T> &content) {
    uint64_t address = device.memory.allocate(content.size() * sizeof(T));
    device.write(address, content.data(), content.size() * sizeof(T));
    params.add(address);
    return address;
  }
  uint64_t emptyBuffer(size_t bytes) {
    uint64_t address = device.memory.allocate(bytes);
    params.add(address);
    return address;
  }
  template <class T> std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> content(count);
    EXPECT_TRUE(device.read(address, content.data(), count * sizeof(T)));
    return content;
  }
  Report run(LaunchConfig config, LaunchOptions options = {}) {
    config.params = params.bytes;
    Report report;
    if (module)
      report = device.launch(*module, "k", config, options);
    return report;
  }
  Report run(uint32_t grid, uint32_t block, LaunchOptions options = {}) {
    LaunchConfig config;
    config.grid = {grid, 1, 1};
    config.block = {block, 1, 1};
    return run(config, options);
  }

  Device device;
  std::shared_ptr<LoadedModule> module;
  ParamPacker params;
};

/// Begins a body with one parameter: registers, the thread's number in %t, the parameter in %x0
/// and the address of the thread's word of that buffer in %x1.
inline constexpr const char *prologue = R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>; .reg .pred %p<9>; .reg .f32 %f<9>;
mov.u32 %t, %tid.x;
ld.param.u64 %x0, [p0];
mad.wide.u32 %x1, %t, 4, %x0;
)";

inline std::string text(const Report &report) { return render(report.findings); }

#define EXPECT_CLEAN(REPORT) EXPECT_TRUE((REPORT).findings.empty()) << text(REPORT)
#define EXPECT_FINDING(REPORT, CODE) EXPECT_TRUE((REPORT).has(CODE)) << text(REPORT)

} // namespace penstock::emu

#endif // PENSTOCK_UNITTESTS_EMULATOR_TESTKERNEL_H
