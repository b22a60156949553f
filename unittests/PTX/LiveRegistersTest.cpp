//===- LiveRegistersTest.cpp - Registers that hold values -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/LiveRegisters.h"
#include "PTX/Parser.h"

#include <gtest/gtest.h>

#include <random>

using namespace penstock::ptx;

namespace {

std::shared_ptr<const Module> kernel(const std::string &body) {
  auto r = parse(".version 9.0\n.target sm_90a\n.address_size 64\n"
                 ".visible .entry k(.param .u64 p) {\n" +
                     body + "\n}\n",
                 "test.ptx");
  EXPECT_TRUE(r.module) << (r.diagnostics.empty() ? "" : r.diagnostics[0].message) << body;
  return r.module;
}

std::vector<uint32_t> wordsOf(const std::string &body) {
  auto module = kernel(body);
  std::vector<uint32_t> words;
  for (const LiveRegisters &live : liveRegisters(*module->functions[0]))
    words.push_back(live.words);
  return words;
}

TEST(LiveRegisters, CountsWordsBetweenWritesAndReads) {
  EXPECT_EQ(wordsOf(R"(
.reg .b32 %r<4>; .reg .b64 %d<2>; .reg .pred %p;
mov.u32 %r0, %tid.x;
add.s32 %r1, %r0, 1;
cvt.u64.u32 %d0, %r1;
add.s64 %d1, %d0, 2;
setp.eq.s32 %p, %r1, 3;
@%p st.global.b64 [%d1], %d0;
ret;)"),
            // %tid.x is read again where it is used; predicates are no words.
            (std::vector<uint32_t>{0, 1, 3, 5, 5, 4, 0}));
}

TEST(LiveRegisters, ConstantsParametersAndCopiesOccupyNothing) {
  EXPECT_EQ(wordsOf(R"(
.reg .b32 %r<6>; .reg .b64 %d<2>;
ld.param.u64 %d0, [p];
mov.b32 %r0, 7;
ld.global.b32 %r1, [%d0];
mov.b32 %r2, %r1;
add.s32 %r3, %r1, %r2;
add.s32 %r4, %r3, %r0;
st.global.b32 [%d0], %r4;
ret;)"),
            (std::vector<uint32_t>{0, 0, 1, 1, 1, 1, 1, 0}));
}

TEST(LiveRegisters, AccumulatorsOfWgmmaLiveFromTheFirstToTheLastUse) {
  auto module = kernel(R"(
.reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %d<2>;
ld.param.u64 %d0, [p];
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d0, 0, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d0, 1, 1, 1, 0, 0;
st.global.f32 [%d0], %f0;
ret;)");
  auto live = liveRegisters(*module->functions[0]);
  ASSERT_EQ(live.size(), 5u);
  EXPECT_EQ(live[1], (LiveRegisters{4, 4}));
  EXPECT_EQ(live[2], (LiveRegisters{4, 4}));
  EXPECT_EQ(live[3], (LiveRegisters{1, 1}));
}

/// A random function, and its live registers by searches along paths.
struct Drawn {
  struct Line {
    std::vector<int> reads, writes;
    bool guarded = false, falls = true;
    int target = -1;
  };
  std::vector<Line> lines;
  static constexpr int narrow = 6, wide = 3, registers = narrow + wide;

  explicit Drawn(uint64_t seed) {
    std::mt19937_64 random(seed);
    auto below = [&](int n) { return int(random() % uint64_t(n)); };
    int count = 4 + below(14);
    for (int i = 0; i < count; ++i) {
      Line line;
      line.guarded = below(3) == 0;
      if (below(4) == 0) {
        line.target = below(count);
        line.falls = line.guarded;
      } else if (below(12) == 0) {
        line.falls = line.guarded;
      } else {
        int base = below(3) ? 0 : narrow, size = base ? wide : narrow;
        line.writes = {base + below(size)};
        line.reads = {base + below(size), base + below(size)};
      }
      lines.push_back(line);
    }
    lines.push_back({{}, {}, false, false, -1});
  }

  static std::string name(int reg) {
    return reg < narrow ? "%r" + std::to_string(reg) : "%d" + std::to_string(reg - narrow);
  }
  std::string text() const {
    std::string text = ".reg .b32 %r<6>; .reg .b64 %d<3>; .reg .pred %p;\n";
    for (size_t i = 0; i < lines.size(); ++i) {
      const Line &line = lines[i];
      text += "L" + std::to_string(i) + ": " + (line.guarded ? "@%p " : "");
      if (line.target >= 0)
        text += "bra L" + std::to_string(line.target) + ";\n";
      else if (line.writes.empty())
        text += "ret;\n";
      else
        text += std::string("add.") + (line.writes[0] < narrow ? "s32 " : "s64 ") +
                name(line.writes[0]) + ", " + name(line.reads[0]) + ", " + name(line.reads[1]) +
                ";\n";
    }
    return text;
  }

  std::vector<int> next(int at) const {
    std::vector<int> to;
    if (lines[size_t(at)].target >= 0)
      to.push_back(lines[size_t(at)].target);
    if (lines[size_t(at)].falls)
      to.push_back(at + 1);
    return to;
  }
  static bool has(const std::vector<int> &list, int reg) {
    return std::find(list.begin(), list.end(), reg) != list.end();
  }
  /// Instructions that are reached from \p from, along paths that \p enter allows.
  template <class Enter> std::vector<bool> reach(int from, Enter &&enter) const {
    std::vector<bool> seen(lines.size());
    std::vector<int> open = {from};
    seen[size_t(from)] = true;
    while (!open.empty()) {
      int at = open.back();
      open.pop_back();
      for (int to : next(at))
        if (enter(at) && !seen[size_t(to)]) {
          seen[size_t(to)] = true;
          open.push_back(to);
        }
    }
    return seen;
  }

  std::vector<uint32_t> words() const {
    size_t count = lines.size();
    auto always = [](int) { return true; };
    std::vector<bool> reached = reach(0, always);
    // before[i][reg]
    std::vector<std::vector<bool>> before(count, std::vector<bool>(registers));
    for (int reg = 0; reg < registers; ++reg) {
      std::vector<bool> assigned(count);
      for (size_t w = 0; w < count; ++w)
        if (reached[w] && has(lines[w].writes, reg))
          for (int to : next(int(w))) {
            auto more = reach(to, always);
            for (size_t i = 0; i < count; ++i)
              assigned[i] = assigned[i] || more[i];
          }
      for (size_t i = 0; i < count; ++i) {
        auto keeps = [&](int at) {
          return !has(lines[size_t(at)].writes, reg) || lines[size_t(at)].guarded;
        };
        auto seen = reach(int(i), keeps);
        for (size_t r = 0; r < count; ++r)
          before[i][size_t(reg)] =
              before[i][size_t(reg)] || (assigned[i] && seen[r] && has(lines[r].reads, reg));
      }
    }
    std::vector<uint32_t> result(count);
    for (size_t i = 0; i < count; ++i) {
      if (!reached[i])
        continue;
      uint32_t in = 0, out = 0;
      for (int reg = 0; reg < registers; ++reg) {
        uint32_t weight = reg < narrow ? 1 : 2;
        bool after = has(lines[i].writes, reg);
        for (int to : next(int(i)))
          after = after || before[size_t(to)][size_t(reg)];
        // Live before one successor only, and assigned on another path to it.
        bool here = before[i][size_t(reg)];
        after = after && (here || has(lines[i].writes, reg) || isAssignedAt(int(i), reg));
        in += here ? weight : 0;
        out += after ? weight : 0;
      }
      result[i] = std::max(in, out);
    }
    return result;
  }
  bool isAssignedAt(int at, int reg) const {
    for (size_t w = 0; w < lines.size(); ++w)
      if (has(lines[w].writes, reg) && reach(0, [](int) { return true; })[w])
        for (int to : next(int(w)))
          if (reach(to, [](int) { return true; })[size_t(at)])
            return true;
    return false;
  }
};

TEST(LiveRegisters, AreThoseOfPathsInRandomFunctions) {
  size_t most = 0, loops = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Drawn drawn(seed);
    std::vector<uint32_t> expected = drawn.words();
    ASSERT_EQ(wordsOf(drawn.text()), expected) << seed << "\n" << drawn.text();
    most = std::max<size_t>(most, *std::max_element(expected.begin(), expected.end()));
    for (size_t i = 0; i < drawn.lines.size(); ++i)
      loops += drawn.lines[i].target >= 0 && size_t(drawn.lines[i].target) <= i;
  }
  EXPECT_GE(most, 6u);
  EXPECT_GT(loops, 500u);
}

} // namespace
