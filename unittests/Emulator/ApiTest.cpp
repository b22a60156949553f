//===- ApiTest.cpp - The C interface of the emulator ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatorApi/Html.h"
#include "penstock/penstock_emu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace {

using testing::HasSubstr;
using testing::Not;

/// Adds `bias` to each word of `out`; with `race` each thread also reads its neighbor's.
std::string kernelText(bool race) {
  return std::string(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry shift(.param .u64 out, .param .u32 bias) {
.reg .b32 %r<4>; .reg .b64 %x<3>;
mov.u32 %r0, %tid.x;
ld.param.u64 %x0, [out];
ld.param.u32 %r1, [bias];
mad.wide.u32 %x1, %r0, 4, %x0;
ld.global.u32 %r2, [%x1];
add.u32 %r2, %r2, %r1;
st.global.u32 [%x1], %r2;
)") +
         (race ? "xor.b32 %r3, %r0, 1;\nmad.wide.u32 %x2, %r3, 4, %x0;\n"
                 "ld.global.u32 %r2, [%x2];\n"
               : "") +
         "ret;\n}\n";
}

struct Delete {
  void operator()(penstock_emu_device *device) const { penstock_emu_device_destroy(device); }
  void operator()(penstock_emu_report *report) const { penstock_emu_report_destroy(report); }
};
using DevicePtr = std::unique_ptr<penstock_emu_device, Delete>;
using ReportPtr = std::unique_ptr<penstock_emu_report, Delete>;

penstock_emu_module *load(penstock_emu_device *device, const std::string &text) {
  penstock_emu_report *report = nullptr;
  penstock_emu_module *module =
      penstock_emu_load(device, text.data(), text.size(), "shift.ptx", &report);
  EXPECT_TRUE(module) << penstock_emu_report_render(report, PENSTOCK_EMU_TEXT);
  penstock_emu_report_destroy(report);
  return module;
}

ReportPtr run(penstock_emu_device *device, penstock_emu_module *module, uint64_t out,
              const char *timing = nullptr, const char *kernel = "shift") {
  uint8_t parameters[12];
  uint32_t bias = 5;
  memcpy(parameters, &out, 8);
  memcpy(parameters + 8, &bias, 4);
  penstock_emu_launch launch = {};
  launch.size = sizeof launch;
  for (int d = 0; d < 3; ++d)
    launch.grid[d] = launch.block[d] = 1;
  launch.block[0] = 64;
  launch.parameters = parameters;
  launch.parameter_bytes = sizeof parameters;
  launch.timing = timing;
  return ReportPtr(penstock_emu_run(device, module, kernel, &launch));
}

uint64_t words(penstock_emu_device *device) {
  std::vector<uint32_t> zeros(64);
  uint64_t out = penstock_emu_alloc(device, 256, "out");
  EXPECT_EQ(penstock_emu_write(device, out, zeros.data(), 256), 0);
  return out;
}

TEST(Api, RunsAKernel) {
  DevicePtr device(penstock_emu_device_create());
  penstock_emu_module *module = load(device.get(), kernelText(false));
  ASSERT_EQ(penstock_emu_kernel_count(module), 1u);
  EXPECT_STREQ(penstock_emu_kernel_name(module, 0), "shift");
  EXPECT_EQ(penstock_emu_kernel_name(module, 1), nullptr);
  EXPECT_STREQ(penstock_emu_target(module), "sm_90a");
  penstock_emu_kernel info = {};
  info.size = sizeof info;
  ASSERT_EQ(penstock_emu_kernel_info(module, "shift", &info), 0);
  EXPECT_EQ(info.parameters, 2u);
  EXPECT_EQ(info.parameter_bytes, 12u);
  uint32_t offset = 0, bytes = 0;
  ASSERT_EQ(penstock_emu_parameter(module, "shift", 1, &offset, &bytes), 0);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  uint64_t out = words(device.get());
  ReportPtr report = run(device.get(), module, out);
  EXPECT_TRUE(penstock_emu_report_completed(report.get()));
  EXPECT_EQ(penstock_emu_report_count(report.get(), PENSTOCK_EMU_WRONG), 0u);
  uint32_t first = 0;
  ASSERT_EQ(penstock_emu_read(device.get(), &first, out + 4, 4), 0);
  EXPECT_EQ(first, 5u);
  penstock_emu_stats stats = {};
  stats.size = sizeof stats;
  penstock_emu_report_stats(report.get(), &stats);
  EXPECT_EQ(stats.blocks, 1u);
}

TEST(Api, ReportsARaceInEveryFormat) {
  DevicePtr device(penstock_emu_device_create());
  penstock_emu_module *module = load(device.get(), kernelText(true));
  ReportPtr report = run(device.get(), module, words(device.get()));
  EXPECT_EQ(penstock_emu_report_count(report.get(), PENSTOCK_EMU_WRONG), 1u);
  // The text quotes the PTX, though it is not a file.
  EXPECT_THAT(penstock_emu_report_render(report.get(), PENSTOCK_EMU_TEXT),
              HasSubstr("| st.global.u32 [%x1], %r2;"));
  EXPECT_THAT(penstock_emu_report_render(report.get(), PENSTOCK_EMU_JSON), HasSubstr("PS2101"));
  EXPECT_THAT(penstock_emu_report_render(report.get(), PENSTOCK_EMU_SARIF), HasSubstr("\"2.1.0\""));
  std::string page = penstock_emu_report_render(report.get(), PENSTOCK_EMU_HTML);
  EXPECT_THAT(page, HasSubstr("<b>    12  st.global.u32 [%x1], %r2;</b>"));
  EXPECT_THAT(page, HasSubstr("<b>    15  ld.global.u32 %r2, [%x2];</b>"));
  EXPECT_THAT(page, HasSubstr("wrong on hardware"));
  // The same finding in another timing is the same finding.
  ReportPtr other = run(device.get(), module, words(device.get()), "random:3");
  EXPECT_EQ(penstock_emu_report_count(other.get(), PENSTOCK_EMU_WRONG), 1u);
  penstock_emu_report_merge(report.get(), other.get());
  EXPECT_EQ(penstock_emu_report_count(report.get(), PENSTOCK_EMU_WRONG), 1u);
  // Another finding is added.
  ReportPtr bad = run(device.get(), module, 4096);
  penstock_emu_report_merge(report.get(), bad.get());
  EXPECT_EQ(penstock_emu_report_count(report.get(), PENSTOCK_EMU_WRONG), 2u);
  EXPECT_FALSE(penstock_emu_report_completed(report.get()));
}

TEST(Api, BadCallsAreReported) {
  DevicePtr device(penstock_emu_device_create());
  penstock_emu_module *module = load(device.get(), kernelText(false));
  ReportPtr report = run(device.get(), module, words(device.get()), "sometimes");
  EXPECT_THAT(penstock_emu_report_render(report.get(), PENSTOCK_EMU_TEXT), HasSubstr("PS1745"));
  report = run(device.get(), module, words(device.get()), "eager", "absent");
  EXPECT_THAT(penstock_emu_report_render(report.get(), PENSTOCK_EMU_TEXT), HasSubstr("PS2115"));
  EXPECT_EQ(penstock_emu_write(device.get(), 16, "x", 1), 1);
  EXPECT_EQ(penstock_emu_free(device.get(), 16), 1);
  penstock_emu_report *why = nullptr;
  EXPECT_EQ(penstock_emu_load(device.get(), "frob", 4, "x", &why), nullptr);
  ReportPtr owned(why);
  EXPECT_THAT(penstock_emu_report_render(why, PENSTOCK_EMU_TEXT), HasSubstr("PS2001"));
  EXPECT_EQ(penstock_emu_load(nullptr, nullptr, 0, nullptr, nullptr), nullptr);
  EXPECT_STREQ(penstock_emu_report_render(nullptr, PENSTOCK_EMU_TEXT), "");
}

TEST(Api, TensorMapsAreChecked) {
  penstock_emu_tensor_map map = {};
  map.size = sizeof map;
  map.data_type = 6;
  map.rank = 2;
  map.address = 4096;
  for (int d = 0; d < 2; ++d) {
    map.dims[d] = 64;
    map.box[d] = 32;
    map.element_strides[d] = 1;
  }
  map.strides[0] = 128;
  uint8_t bytes[128];
  EXPECT_EQ(penstock_emu_encode(&map, bytes), nullptr);
  map.strides[0] = 100;
  EXPECT_THAT(penstock_emu_encode(&map, bytes), HasSubstr("multiple of 16"));
}

TEST(Api, OlderStructuresAreShorter) {
  // A program that does not know the last fields leaves them out.
  struct {
    penstock_emu_stats stats;
    uint64_t canary = 77;
  } old = {};
  old.stats.size = offsetof(penstock_emu_stats, seconds);
  old.stats.seconds = -1;
  DevicePtr device(penstock_emu_device_create());
  penstock_emu_module *module = load(device.get(), kernelText(false));
  ReportPtr report = run(device.get(), module, words(device.get()));
  penstock_emu_report_stats(report.get(), &old.stats);
  EXPECT_EQ(old.stats.blocks, 1u);
  EXPECT_EQ(old.stats.seconds, -1);
}

TEST(Html, EscapesWhatItShows) {
  penstock::Diagnostic d;
  d.code = 2101;
  d.message = "a < b & \"c\"";
  std::string page = penstock::emu::toHtml({&d, 1});
  EXPECT_THAT(page, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(penstock::emu::toHtml({}), HasSubstr("No findings."));
}

} // namespace
