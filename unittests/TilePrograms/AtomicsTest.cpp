//===- AtomicsTest.cpp - Atomics of every type and kind -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace penstock;

namespace {

constexpr int64_t perBlock = 64, blocks = 3, slots = 4;

std::vector<Target> everyTarget() {
  return {Target::interpreter(),       Target::native(),
          Target::sm_80().emulated(),  Target::sm_89().emulated(),
          Target::sm_90a().emulated(), Target::sm_100a().emulated(),
          Target::sm_120a().emulated()};
}

/// All blocks update the first elements of a tensor, or each its shared tile. `old` receives what
/// each update returned.
template <class T> struct Update {
  Atomic kind;
  bool shared;

  void operator()(Block &b, In<T, 1> values, InOut<T, 2> result, Out<T, 1> old) const {
    auto block = b.grid(blocks);
    if (!shared) {
      b.parallel(perBlock, [&](Index i) {
        Index at = block * perBlock + i;
        b.store(old.at(at), b.atomic(kind, result.at(0, i % slots), values.load(at)));
      });
      return;
    }
    auto tile = b.shared<T>(slots);
    b.copy(result.at(block, 0), tile);
    b.parallel(perBlock, [&](Index i) {
      Index at = block * perBlock + i;
      b.store(old.at(at), b.atomic(kind, tile, i % slots, values.load(at)));
    });
    b.copy(tile, result.at(block, 0));
  }
};

template <class T> T combined(Atomic kind, T a, T b) {
  if (kind == Add)
    return a + b;
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<T>::quiet_NaN();
  return kind == AtomicMax ? std::max(a, b) : std::min(a, b);
}

template <class T> bool same(T a, T b) { return a == b || (a != a && b != b); }

template <class T> class Atomics : public testing::Test {
protected:
  void check(Atomic kind, bool shared, bool withNaN = false) {
    std::vector<T> values(blocks * perBlock), start(blocks * slots);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = T(int64_t(i * 37 % 101) - 50);
    if constexpr (std::is_floating_point_v<T>)
      if (withNaN)
        values[70] = std::numeric_limits<T>::quiet_NaN();
    for (size_t i = 0; i < start.size(); ++i)
      start[i] = T(int64_t(i) - 5);
    auto slotOf = [&](int64_t i) {
      return size_t((shared ? i / perBlock * slots : 0) + i % perBlock % slots);
    };
    std::vector<T> expected = start;
    for (size_t i = 0; i < values.size(); ++i)
      expected[slotOf(int64_t(i))] = combined(kind, expected[slotOf(int64_t(i))], values[i]);
    for (const Target &target : everyTarget()) {
      SCOPED_TRACE(int(target.kind));
      std::vector<T> result = start, old(values.size());
      auto found = compile(Update<T>{kind, shared}, target)
                       .try_launch({}, view(values, {blocks * perBlock}),
                                   view(result, {blocks, slots}), view(old, {blocks * perBlock}));
      ASSERT_TRUE(found.empty()) << to_text(found);
      if (kind == Exchange) {
        // Each value that was stored is returned once, or stays.
        for (size_t slot = 0; slot < start.size(); ++slot) {
          std::vector<T> in = {start[slot]}, out = {result[slot]};
          for (size_t i = 0; i < values.size(); ++i)
            if (slotOf(int64_t(i)) == slot) {
              in.push_back(values[i]);
              out.push_back(old[i]);
            }
          std::sort(in.begin(), in.end());
          std::sort(out.begin(), out.end());
          EXPECT_EQ(in, out) << "slot " << slot;
        }
        continue;
      }
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(same(result[i], expected[i]))
            << "element " << i << ": " << result[i] << ", expected " << expected[i];
    }
  }
};

using Types = testing::Types<i32, i64, f32, f64>;
TYPED_TEST_SUITE(Atomics, Types);

TYPED_TEST(Atomics, Add) {
  this->check(Add, false);
  this->check(Add, true);
}

TYPED_TEST(Atomics, Max) {
  this->check(AtomicMax, false);
  this->check(AtomicMax, true);
}

TYPED_TEST(Atomics, Min) {
  this->check(AtomicMin, false);
  this->check(AtomicMin, true);
}

TYPED_TEST(Atomics, Exchange) {
  this->check(Exchange, false);
  this->check(Exchange, true);
}

TYPED_TEST(Atomics, MaxAndMinPassNaNOn) {
  for (bool shared : {false, true})
    for (Atomic kind : {AtomicMax, AtomicMin})
      this->check(kind, shared, true);
}

} // namespace
