//===- FindingsTest.cpp - How findings are put together -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Each thread writes a word of dynamic shared memory in two instructions of one
/// source line, and reads the words of another warp in two of another line.
const std::string unsynced = R"(
.reg .b32 %t, %r<9>; .reg .b64 %x0;
.loc 1 20 3
mov.u32 %t, %tid.x; shl.b32 %r0, %t, 2; mov.u32 %r1, smem; add.u32 %r2, %r1, %r0;
st.shared.u32 [%r2], %t; st.shared.u32 [%r2+512], %t;
SYNC
.loc 1 10 3
xor.b32 %r3, %r0, 128; add.u32 %r4, %r1, %r3;
ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [%r4+512];
ret;)";

Report launch(const std::string &body, std::vector<Symbol> symbols, uint32_t blocks = 1) {
  TestKernel kernel(TestKernel::wrap(body, 0,
                                     ".file 1 \"none.cu\"\n"
                                     ".extern .shared .align 16 .b8 smem[];\n"));
  LaunchConfig config;
  config.grid = {blocks, 1, 1};
  config.block = {128, 1, 1};
  config.dynamicShared = 1024;
  config.symbols = std::move(symbols);
  LaunchOptions options;
  options.threads = 1;
  return kernel.run(config, options);
}

std::string with(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string fact(const Diagnostic &d, const std::string &key) {
  for (const auto &[name, value] : d.facts)
    if (name == key)
      return value;
  return "";
}

TEST(Findings, OfOnePairOfSourceLinesAreOne) {
  EXPECT_CLEAN(launch(with(unsynced, "SYNC", "bar.sync 0;"), {}));
  Report report = launch(with(unsynced, "SYNC", ""), {}, 3);
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  const Diagnostic &found = report.findings[0];
  EXPECT_EQ(found.code, unsigned(EmuDataRace));
  ASSERT_EQ(found.notes.size(), 1u) << text(report);
  EXPECT_EQ(std::min(found.location.line, found.notes[0].location.line), 10u);
  EXPECT_EQ(std::max(found.location.line, found.notes[0].location.line), 20u);
  // Each thread of three blocks meets the one of the other warp twice, as a reader or
  // as a writer.
  EXPECT_EQ(fact(found, "occurrences"), std::to_string(3 * 128 * 2));
  EXPECT_EQ(fact(found, "blocks"), "3");
  EXPECT_EQ(fact(found, "warps"), "warps 0 to 3");
  EXPECT_EQ(fact(found, "memory"), "smem+0 to smem+1020");
  // Some threads read before the other warp has written.
  EXPECT_NE(text(report).find("reads came before anything was written"), std::string::npos);
}

TEST(Findings, KeepTheirInstructions) {
  Report report = launch(with(unsynced, "SYNC", ""), {});
  // Two loads against two stores, of which only those of the same words meet.
  size_t races = size_t(std::count_if(report.sites.begin(), report.sites.end(),
                                      [](const FindingSite &s) { return s.code == EmuDataRace; }));
  EXPECT_GE(races, 2u);
  for (const FindingSite &site : report.sites)
    if (site.code == EmuDataRace) {
      EXPECT_NE(site.line, 0u);
      EXPECT_NE(site.otherLine, 0u);
    }
}

TEST(Findings, CallMemoryByTheSymbolsOfTheLaunch) {
  std::string body = with(unsynced, "SYNC", "");
  auto memory = [&](std::vector<Symbol> symbols) {
    Report report = launch(body, std::move(symbols));
    return report.findings.empty() ? "nothing" : fact(report.findings[0], "memory");
  };
  EXPECT_EQ(memory({{Symbol::Shared, "all", 0, 1024, 0}}), "`all`");
  EXPECT_EQ(memory({{Symbol::Shared, "ring", 0, 1024, 512}}), "`ring[0]` and `ring[1]`");
  EXPECT_EQ(memory({{Symbol::Shared, "ring", 0, 1024, 128}}), "`ring[0]` to `ring[7]`");
  EXPECT_EQ(memory({{Symbol::Shared, "a", 0, 512, 0}, {Symbol::Shared, "b", 512, 512, 0}}),
            "`a` and `b`");
  // What has no name is called by its variable; columns are not bytes.
  EXPECT_EQ(memory({{Symbol::Shared, "a", 0, 512, 0}}), "`a` and smem+512 to smem+1020");
  EXPECT_EQ(memory({{Symbol::Tensor, "acc", 0, 1024, 0}}), "smem+0 to smem+1020");
}

TEST(Findings, CallBarriersByTheSymbolsOfTheLaunch) {
  const std::string body = R"(
.reg .b32 %t; .reg .pred %p;
mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, 64; @%p bra LATE;
bar.sync 3, 256;
LATE: ret;)";
  EXPECT_NE(text(launch(body, {})).find("warps 0 and 1 wait for barrier 3: 64 of 256"),
            std::string::npos)
      << text(launch(body, {}));
  Report named = launch(body, {{Symbol::NamedBarrier, "ready", 3, 1, 0}});
  EXPECT_NE(text(named).find("warps 0 and 1 wait for barrier `ready`"), std::string::npos)
      << text(named);
}

TEST(Findings, AreInTheOrderOfSourceLines) {
  // Reads of what was never written, by lines that come in another order.
  Report report = launch(R"(
.reg .b32 %r<9>;
.loc 1 30 1
ld.shared.u32 %r0, [smem];
.loc 1 7 1
ld.shared.u32 %r1, [smem+64];
.loc 1 12 1
ld.shared.u32 %r2, [smem+128];
ret;)",
                         {});
  std::vector<unsigned> lines;
  for (const Diagnostic &d : report.findings)
    lines.push_back(d.location.line);
  EXPECT_EQ(lines, (std::vector<unsigned>{7, 12, 30})) << text(report);
}

TEST(Findings, WithoutSourceLinesTheLinesOfThePtxTellThemApart) {
  std::string body = with(unsynced, "SYNC", "");
  for (const char *loc : {".loc 1 20 3", ".loc 1 10 3"})
    body = with(body, loc, "");
  Report report = launch(body, {});
  // Both stores share a line of the text, as do both loads.
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_EQ(report.findings[0].location.file, "test.ptx");
}

TEST(Findings, DoNotDependOnTheHostThreadsOfBlocks) {
  // Each block reads the word of the next one, which writes it.
  const std::string body = std::string(prologue) + R"(
mov.u32 %r0, %ctaid.x; mul.wide.u32 %x2, %r0, 4; add.u64 %x2, %x0, %x2;
ld.global.u32 %r1, [%x2+4];
st.global.u32 [%x2], %r1;
ret;)";
  std::string first;
  for (unsigned run = 0; run < 400; ++run) {
    TestKernel kernel(TestKernel::wrap(body, 1));
    kernel.buffer(std::vector<uint32_t>(9));
    LaunchOptions options;
    options.threads = 4;
    std::string found = text(kernel.run(8, 1, options));
    if (first.empty())
      first = found;
    ASSERT_EQ(found, first) << "run " << run;
  }
  EXPECT_NE(first.find("reads it, 7 times in 7 blocks from (0,0,0) on"), std::string::npos)
      << first;
}

} // namespace
