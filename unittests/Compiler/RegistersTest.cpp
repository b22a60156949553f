//===- RegistersTest.cpp - Reports of ptxas, and their model --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Compiler/Registers/AssemblerReport.h"
#include "Cuda/Assembler.h"
#include "Diagnostics/Codes.h"
#include "penstock/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

using namespace penstock;
using testing::HasSubstr;

namespace {

const hw::Architecture &hopper() { return architectureOf(Target::sm_90a()); }

/// A kernel of one wgmma whose accumulator has \p columns; \p between stands before its wait.
std::string ptxOf(int threads, int columns, bool registersOfA = false,
                  const std::string &between = "", const std::string &directives = "") {
  std::string acc;
  int count = columns / 2;
  for (int i = 0; i < count; ++i)
    acc += (i ? ", %f" : "%f") + std::to_string(i);
  std::string a = registersOfA ? "{%a0, %a1, %a2, %a3}" : "%d1";
  std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 out)\n.reqntid " +
                     std::to_string(threads) + "\n" + directives + "{\n.reg .f32 %f<" +
                     std::to_string(count) +
                     ">;\n.reg .b32 %a<4>;\n.reg .b32 %t;\n.reg .b64 %d<4>;\n"
                     ".loc 1 10 3\nld.param.u64 %d0, [out];\nmov.b64 %d1, 0;\n"
                     "mov.u32 %t, %tid.x;\nmul.wide.u32 %d2, %t, 4;\nadd.s64 %d3, %d0, %d2;\n";
  for (int i = 0; i < count; ++i)
    text += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  for (int i = 0; i < 4; ++i)
    text += "ld.global.b32 %a" + std::to_string(i) + ", [%d3+" + std::to_string(16 * i) + "];\n";
  text += ".loc 1 20 5\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" +
          std::to_string(columns) + "k16.f32.f16.f16 {" + acc + "}, " + a + ", %d1, 1, 1, 1, " +
          (registersOfA ? "0" : "0, 0") + ";\nwgmma.commit_group.sync.aligned;\n.loc 1 25 7\n" +
          between + "wgmma.wait_group.sync.aligned 0;\n.loc 1 30 9\n";
  for (int i = 0; i < count; ++i)
    text += "st.global.f32 [%d3+" + std::to_string(1024 * i) + "], %f" + std::to_string(i) + ";\n";
  return text + "ret;\n}\n.file 1 \"kernel.h\"\n";
}

class Environment {
public:
  explicit Environment(const char *value) { ::setenv("PENSTOCK_PTXAS", value, 1); }
  ~Environment() { ::unsetenv("PENSTOCK_PTXAS"); }
};

/// Texts of ptxas 13.0.
constexpr const char *spills =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "    744 bytes stack frame, 828 bytes spill stores, 860 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 2 barriers, 744 bytes cumulative stack size\n";
constexpr const char *rejects =
    "ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line 409 in "
    "function Matmul. Try to compile with register target of 154 or higher.\n"
    "ptxas fatal   : Ptx assembly aborted due to errors\n";
constexpr const char *serializes =
    "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources for the wgmma pipeline in the function "
    "'k'\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 96 registers, used 1 barriers\n";

TEST(AssemblerReport, ReadsSpills) {
  AssemblerReport report = AssemblerReport::parse(spills);
  EXPECT_EQ(report.registers, 168);
  EXPECT_EQ(report.spilledBytes, 828 + 860);
  EXPECT_EQ(report.required, 0);
  EXPECT_EQ(report.serialized, "");
  EXPECT_EQ(report.otherLoss, "");
}

TEST(AssemblerReport, ReadsRejections) {
  AssemblerReport report = AssemblerReport::parse(rejects);
  EXPECT_EQ(report.available, 128);
  EXPECT_EQ(report.required, 154);
  EXPECT_EQ(report.line, 409);
  EXPECT_EQ(report.spilledBytes, 0);
}

TEST(AssemblerReport, ReadsSerializationAndOtherLosses) {
  AssemblerReport report = AssemblerReport::parse(serializes);
  EXPECT_THAT(report.serialized, HasSubstr("insufficient register resources"));
  EXPECT_THAT(report.serialized, HasSubstr("(C7511)"));
  EXPECT_EQ(report.otherLoss, "");
  EXPECT_EQ(report.registers, 96);
  report = AssemblerReport::parse("ptxas info    : (C7508) Potential Performance Loss: "
                                  "'setmaxnreg' ignored; unable to determine register count at "
                                  "entry.\n");
  EXPECT_EQ(report.serialized, "");
  EXPECT_THAT(report.otherLoss, HasSubstr("'setmaxnreg' ignored"));
}

TEST(AssemblerReport, LinesAreThoseOfTheKernel) {
  std::string ptx = ptxOf(256, 128);
  auto kernel = ModeledKernel::parse(ptx);
  ASSERT_TRUE(kernel);
  AssemblerReport report = AssemblerReport::parse(rejects);
  // The line that ptxas names.
  report.line = 0;
  for (size_t at = 0; at < ptx.find("wgmma.mma_async"); at = ptx.find('\n', at) + 1)
    ++report.line;
  Diagnostic d = rejectionOf(report, rejects, kernel, hopper());
  EXPECT_EQ(d.code, unsigned(RegistersRejected));
  EXPECT_EQ(d.severity, Severity::Error);
  EXPECT_EQ(d.location, (SourceLocation{"kernel.h", 20, 5}));
  // 65,536 / 154 are 425 threads; warps come by four.
  ASSERT_FALSE(d.helps.empty());
  EXPECT_THAT(d.helps[0], HasSubstr("at most 384 threads"));
  auto warnings = warningsOf(AssemblerReport::parse(spills), kernel, hopper());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, unsigned(RegistersSpilled));
  EXPECT_EQ(warnings[0].severity, Severity::Warning);
  EXPECT_TRUE(warnings[0].location.known());
  EXPECT_THAT(warnings[0].message, HasSubstr("1688 bytes"));
}

TEST(AssemblerReport, AccessesBeforeTheWaitAreFound) {
  constexpr const char *touches =
      "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to non wgmma instructions reading accumulator registers of  a wgmma between "
      "start and end of the pipeline stage in the function 'k'\n";
  for (bool touched : {true, false}) {
    auto kernel = ModeledKernel::parse(ptxOf(
        128, 64, false, touched ? "st.global.f32 [%d3], %f7;\n" : "st.global.b32 [%d3], %t;\n"));
    ASSERT_TRUE(kernel);
    auto warnings = warningsOf(AssemblerReport::parse(touches), kernel, hopper());
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].code, unsigned(WgmmaSerialized));
    // Otherwise the MMA itself.
    EXPECT_EQ(warnings[0].location.line, touched ? 25u : 20u);
  }
}

TEST(AssemblerReport, PtxThatOurParserRejectsHasNoLines) {
  AssemblerReport report = AssemblerReport::parse(rejects);
  Diagnostic d = rejectionOf(report, rejects, ModeledKernel::parse("nonsense"), hopper());
  EXPECT_EQ(d.code, unsigned(RegistersRejected));
  EXPECT_FALSE(d.location.known());
}

TEST(RegisterModel, CountsRegistersOfWgmma) {
  RegisterModel model = ModeledKernel::parse(ptxOf(256, 128))->model(hopper());
  EXPECT_EQ(model.threads, 256);
  EXPECT_EQ(model.available, 255);
  EXPECT_EQ(model.operands, 64);
  EXPECT_EQ(model.accumulators, 64);
  EXPECT_EQ(model.live, 64 + 2 + 1); // and the address, and a load that nothing reads
  EXPECT_EQ(model.wgmmaAt.line, 20u);
  EXPECT_EQ(ModeledKernel::parse(ptxOf(256, 128, true))->model(hopper()).operands, 64 + 4);
  // Four partitions of 16,384 registers; multiples of 8.
  EXPECT_EQ(ModeledKernel::parse(ptxOf(288, 128))->model(hopper()).available, 168);
  EXPECT_EQ(ModeledKernel::parse(ptxOf(512, 128))->model(hopper()).available, 128);
  EXPECT_EQ(
      ModeledKernel::parse(ptxOf(256, 128, false, "", ".maxnreg 72\n"))->model(hopper()).available,
      72);
}

TEST(RegisterModel, WarnsWithoutTheAssembler) {
  Environment none("");
  RegisterCheck fits = check_registers(ptxOf(384, 256), Target::sm_90a());
  EXPECT_EQ(fits.outcome, RegisterCheck::Outcome::Fits);
  EXPECT_FALSE(fits.measured);
  EXPECT_TRUE(fits.diagnostics.empty());
  RegisterCheck rejected = check_registers(ptxOf(512, 256), Target::sm_90a());
  EXPECT_EQ(rejected.outcome, RegisterCheck::Outcome::Rejected);
  ASSERT_EQ(rejected.diagnostics.size(), 1u);
  EXPECT_EQ(rejected.diagnostics[0].code, unsigned(PredictedRejection));
  EXPECT_EQ(rejected.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(rejected.diagnostics[0].location.line, 20u);
  RegisterCheck spilled =
      check_registers(ptxOf(512, 192, false, "", ".maxnreg 128\n"), Target::sm_90a());
  EXPECT_EQ(spilled.outcome, RegisterCheck::Outcome::Fits);
}

/// The rule for rejections is that of ptxas: on every boundary, its answer is the model's.
TEST(RegisterModel, RejectsWhatPtxasRejects) {
  std::string ptxas = cuda::findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "ptxas is not installed";
  int rejected = 0, accepted = 0;
  for (bool registersOfA : {false, true})
    for (int columns : {64, 128, 192, 256}) {
      int needed = columns / 2 + (registersOfA ? 4 : 0) + 26;
      // Registers are allocated by eights.
      for (int most : {needed / 8 * 8, (needed + 7) / 8 * 8, (needed + 7) / 8 * 8 + 8}) {
        std::string ptx =
            ptxOf(128, columns, registersOfA, "", ".maxnreg " + std::to_string(most) + "\n");
        RegisterModel model = ModeledKernel::parse(ptx)->model(hopper());
        cuda::Assembly run = cuda::runPtxas(ptxas, ptx, "sm_90a");
        EXPECT_EQ(model.isRejected(), !run.ok) << columns << " " << most << " " << run.report;
        if (!run.ok)
          EXPECT_EQ(AssemblerReport::parse(run.report).required, model.required()) << run.report;
        ++(run.ok ? accepted : rejected);
      }
    }
  EXPECT_GE(rejected, 5);
  EXPECT_GE(accepted, 8);
}

} // namespace
