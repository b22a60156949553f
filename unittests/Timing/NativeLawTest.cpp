//===- NativeLawTest.cpp - Laws of the model of CPUs ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Native.h"
#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace penstock;
using namespace penstock::timing;

namespace {

const hw::Cpu &cpu() { return *hw::findCpu("graniterapids"); }

/// Random steps over random objects, several blocks that share some of them.
NativeKernel randomKernel(std::mt19937 &random) {
  auto draw = [&](int64_t most) { return double(random() % uint64_t(most)) + 1; };
  NativeKernel kernel;
  size_t steps = size_t(draw(5)), objects = size_t(draw(12));
  std::vector<double> bytes;
  for (size_t i = 0; i < objects; ++i)
    bytes.push_back(64 * draw(random() % 2 ? 512 : 16384));
  for (size_t i = 0; i < steps; ++i) {
    NativeStep step;
    if (random() % 3 == 0) {
      step.kind = NativeStep::Kind::Product;
      bool tiles = random() % 2;
      NativeProduct &p = step.product;
      p.m = int64_t(16 * draw(16));
      p.n = int64_t(16 * draw(16));
      p.steps = int64_t(draw(64));
      p.rows = tiles ? 32 : 6;
      p.columns = tiles ? 32 : 64;
      p.tileRows = tiles ? 16 : 1;
      p.leftBytes = 64 * double(p.m) * draw(8);
      p.rightBytes = 64 * double(p.n) * draw(8);
      p.stripBytes = p.rightBytes * double(p.columns) / double(p.n);
      p.sumBytes = 4 * double(p.m * p.n);
    } else {
      step.vectors.loads = draw(1000);
      step.vectors.stores = draw(500);
      step.vectors.arithmetic = draw(2000);
      step.vectors.exponentials = random() % 2 ? draw(100) : 0;
      step.vectors.rowMaxima = random() % 2 ? draw(100) : 0;
      step.vectors.rows = draw(50);
    }
    kernel.steps.push_back(step);
  }
  kernel.allBlocks = draw(40);
  for (double b = 0; b < std::min(kernel.allBlocks, 8.0); ++b) {
    auto &events = kernel.blocks.emplace_back();
    for (size_t i = 0; i < steps; ++i) {
      NativeEvent event;
      event.step = uint32_t(i);
      event.times = draw(3);
      for (int a = 0; a < 3; ++a) {
        auto object = uint32_t(random() % objects);
        event.accesses.push_back({object, bytes[object], random() % 2 ? 256.0 : 0, a == 2});
      }
      events.push_back(event);
    }
  }
  for (double size : bytes)
    kernel.tensorBytes += size;
  return kernel;
}

// A resource that is faster or larger never makes a kernel slower.
TEST(NativeLaws, MoreIsNeverSlower) {
  std::mt19937 random(3);
  const std::pair<const char *, std::function<void(hw::Cpu &)>> changes[] = {
      {"clock", [](hw::Cpu &c) { c.clock.value *= 1.2; }},
      {"L2", [](hw::Cpu &c) { c.l2Bytes *= 2; }},
      {"L2 bandwidth", [](hw::Cpu &c) { c.l2Read.value *= 2, c.l2Write.value *= 2; }},
      {"L3 bandwidth", [](hw::Cpu &c) { c.l3Read.value *= 2, c.l3Write.value *= 2; }},
      {"ports", [](hw::Cpu &c) { c.ports.value *= 2; }},
      {"loads", [](hw::Cpu &c) { c.loads.value *= 2; }},
      {"tiles", [](hw::Cpu &c) { c.tileProduct.value /= 2; }},
      {"exponentials", [](hw::Cpu &c) { c.exponential.value /= 2; }},
      {"rows", [](hw::Cpu &c) { c.rowBytes.value /= 2; }}};
  for (int i = 0; i < 300; ++i) {
    NativeKernel kernel = randomKernel(random);
    double before = predictNative(kernel, cpu()).seconds;
    ASSERT_GT(before, 0);
    for (const auto &[name, change] : changes) {
      hw::Cpu other = cpu();
      change(other);
      EXPECT_LE(predictNative(kernel, other).seconds, before * (1 + 1e-9)) << name << " " << i;
    }
    NativeKernel more = kernel;
    more.allBlocks += 10;
    EXPECT_GE(predictNative(more, cpu()).seconds, before * (1 - 1e-9)) << i;
  }
}

// By hand: 4 blocks of 6 x 64 sums, 100 steps of 24 multiply-adds at two per cycle; operands in
// L1, and the sums are loaded and stored once.
TEST(NativeLaws, ProductByHand) {
  NativeStep step;
  step.kind = NativeStep::Kind::Product;
  NativeProduct &p = step.product;
  p.m = 12;
  p.n = 128;
  p.rows = 6;
  p.columns = 64;
  p.steps = 100;
  double sums = 24 / cpu().loads.value + 24 / cpu().stores.value + cpu().rowStart.value;
  EXPECT_NEAR(coreCycles(step, cpu()), 4 * (100 * 12 + sums), 1e-6);
  // Two rows remain: 8 multiply-adds wait 4 cycles for those before them.
  p.m = 14;
  double rest = 8 / cpu().loads.value + 8 / cpu().stores.value + cpu().rowStart.value;
  EXPECT_NEAR(coreCycles(step, cpu()), 4 * (1200 + sums) + 2 * (400 + rest), 1e-6);
}

// 1 MB is read again after 1 MB of others: it comes from L2, at the rate of L2. Beside 8 MB of
// others it comes from L3.
TEST(NativeLaws, ReuseDecidesTheLevel) {
  for (bool far : {false, true}) {
    NativeKernel kernel;
    kernel.steps.emplace_back();
    kernel.tensorBytes = 32 << 20;
    auto &events = kernel.blocks.emplace_back();
    for (int i = 0; i < 8; ++i) {
      events.push_back({0, 1, 1, {{0, double(1 << 19), 0, false}}});
      events.push_back({0, 1, 1, {{1, double((far ? 8 : 0.5) * (1 << 20)), 0, false}}});
    }
    NativePrediction p = predictNative(kernel, cpu());
    if (far)
      EXPECT_EQ(p.l2Bytes, 0);
    else
      EXPECT_NEAR(p.l2Bytes, 14 * (1 << 19), 1);
  }
}

TEST(NativeLaws, ConstantsHaveSources) {
  for (const hw::Cpu &each : hw::cpus())
    for (const hw::CpuConstant &constant : hw::cpuConstants()) {
      const hw::Measured &m = each.*constant.member;
      EXPECT_FALSE(m.source.empty()) << constant.name;
      EXPECT_GT(m.value, 0) << constant.name;
      EXPECT_LE(m.low, m.value) << constant.name;
      EXPECT_GE(m.high, m.value) << constant.name;
    }
}

} // namespace
