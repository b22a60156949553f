//===- RolesTest.cpp - Roles that meet at named barriers ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two warpgroups pass a tile on without an mbarrier: the first writes it and goes
// on, the second waits for it, and the other way round for the next one. Each has
// its own number of registers. And what a warp does among its own threads.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Passing { None, NoArrival, NoWaitForTile, NoWaitForSpace };

/// C[i] = 2 A[i] + 1, a tile of 64 x 64 after the other.
struct PassOn {
  Passing bug = Passing::None;
  static constexpr auto signature = "A[M,N] -> C[M,N]";
  bool is(Passing one) const { return bug == one; }

  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto tiles = ceil_div(A.size(0), 64);
    b.grid(1);
    b.threads(256);
    auto tile = b.shared<f32>(64, 64);
    auto ready = b.named_barrier.alloc(256), free = b.named_barrier.alloc(256);

    b.warps(0, 4, [&] {
      b.registers.release(64);
      auto mine = b.local<f32>(64, 64);
      for (Index i : b.range(tiles)) {
        b.copy(A.at(i * 64, 0), mine);
        if (!is(Passing::NoWaitForSpace))
          b.when(i > 0, [&] { b.named_barrier.sync(free); });
        b.store(tile, mine * 2); // [write]
        if (!is(Passing::NoArrival))
          b.named_barrier.arrive(ready);
      }
    });
    b.warps(4, 4, [&] {
      b.registers.request(232);
      auto theirs = b.local<f32>(64, 64);
      for (Index i : b.range(tiles)) {
        if (!is(Passing::NoWaitForTile))
          b.named_barrier.sync(ready); // [wait]
        b.copy(tile, theirs);          // [read]
        if (!is(Passing::NoWaitForSpace))
          b.when(i + 1 < tiles, [&] { b.named_barrier.arrive(free); });
        b.set(theirs, theirs + 1);
        b.copy(theirs, C.at(i * 64, 0));
      }
    });
  }
};

/// What is wrong, and the findings of the launch.
template <class Kernel>
std::pair<int64_t, std::vector<Diagnostic>> passOn(const Kernel &kernel, Timing timing) {
  const int64_t rows = 256;
  std::vector<float> a(rows * 64), c(rows * 64, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i % 1000);
  auto found = kernel.try_launch({.completion = timing.completion, .seed = timing.seed},
                                 view(a, {rows, 64}), view(c, {rows, 64}));
  int64_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i)
    wrong += c[i] != 2 * a[i] + 1;
  return {wrong, found};
}

Target hopper() { return Target::sm_90a().emulated(); }

TEST(NamedBarriers, PassTilesOn) {
  for (Target target : {hopper(), Target::sm_100a().emulated()}) {
    auto kernel = compile(PassOn{}, target);
    for (Timing timing : timings) {
      auto [wrong, found] = passOn(kernel, timing);
      EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
      EXPECT_EQ(wrong, 0) << timing.name;
    }
  }
}

TEST(NamedBarriers, AreAssembled) {
  expectAssembled(PassOn{}, Target::sm_90a());
  expectAssembled(PassOn{}, Target::sm_100a());
}

TEST(NamedBarriers, BugsAreCaught) {
  struct {
    Passing bug;
    Told run, early;
  } cases[] = {{Passing::NoArrival, {2110, "wait"}, {1611, "wait"}},
               {Passing::NoWaitForTile, {2101, "read", "write"}, {1612, "read", "write"}},
               {Passing::NoWaitForSpace, {2101, "write", "read"}, {1612, "write", "read"}}};
  for (auto &one : cases) {
    expectRefused(PassOn{.bug = one.bug}, hopper(), one.early, __FILE__);
    auto kernel = compile(PassOn{.bug = one.bug}, hopper(), {.check_barriers = false});
    std::vector<Diagnostic> all;
    for (Timing timing : timings) {
      auto found = passOn(kernel, timing).second;
      EXPECT_FALSE(found.empty()) << one.run.line << " " << timing.name;
      all.insert(all.end(), found.begin(), found.end());
    }
    expectFinding(all, one.run, __FILE__);
  }
}

/// Each warp transposes a tile of its own, through shared memory.
struct WarpTranspose {
  bool synchronized = true;
  static constexpr auto signature = "A[M,N] -> C[N,M]";
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    b.grid(1);
    b.threads(64);
    for (int warp = 0; warp < 2; ++warp) {
      auto tile = b.shared<f32>(32, 32);
      auto turned = b.local<f32>(32, 32);
      b.warp(warp, [&] {
        b.copy(A.at(warp * 32, 0), tile); // [write rows]
        if (synchronized)
          b.warp_sync();
        b.copy(transposed(tile), turned); // [read columns]
        b.copy(turned, C.at(0, warp * 32));
      });
    }
  }
};

TEST(WarpSync, OrdersTheThreadsOfAWarp) {
  for (bool synchronized : {true, false}) {
    auto kernel = compile(WarpTranspose{.synchronized = synchronized}, hopper());
    std::vector<float> a(64 * 32), c(64 * 32, -1);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = float(i);
    auto found = kernel.try_launch({}, view(a, {64, 32}), view(c, {32, 64}));
    if (!synchronized) {
      expectFinding(found, {2101, "read columns", "write rows"}, __FILE__);
      continue;
    }
    EXPECT_TRUE(found.empty()) << to_text(found);
    int wrong = 0;
    for (size_t i = 0; i < 64; ++i)
      for (size_t j = 0; j < 32; ++j)
        wrong += c[j * 64 + i] != a[i * 32 + j];
    EXPECT_EQ(wrong, 0);
  }
}

/// Two warps, of which one arrives for both, and then each copies its rows.
TEST(Roles, NarrowThoseAroundThem) {
  auto kernel = compile(
      [](Block &b, In<f32, 2> A, Out<f32, 2> C) {
        b.grid(1);
        b.threads(128);
        auto [ready] = b.mbarrier.alloc<1>({1});
        b.warps(1, 2, [&] {
          b.warp(2, [&] { b.elect_one([&] { b.mbarrier.arrive(ready); }); });
          b.mbarrier.wait(ready, 0);
          for (int warp = 1; warp < 3; ++warp)
            b.warp(warp, [&] {
              auto rows = b.local<f32>(16, 32);
              b.copy(A.at(warp * 16 - 16, 0), rows);
              b.copy(rows, C.at(warp * 16 - 16, 0));
            });
        });
      },
      hopper(), {.name = "narrowed"});
  std::vector<float> a(32 * 32), c(32 * 32, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i);
  auto found = kernel.try_launch({}, view(a, {32, 32}), view(c, {32, 32}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  EXPECT_EQ(a, c);
}

// An answer may be no, but once the time is over a thread asks again.
TEST(TryWait, HasATimeAndIsAsked) {
  auto kernel = compile(
      [](Block &b, In<f32, 2> A, Out<f32, 2> C) {
        b.grid(1);
        b.threads(64);
        auto tile = b.shared<f32>(32, 32);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.warp(0, [&] {
          b.elect_one([&] { b.mbarrier.arrive_expect(full, tile.bytes()); });
          b.tma.load(A.at(0, 0), tile, full);
        });
        b.warp(1, [&] {
          Var<bool> over(b, false);
          b.loop_while([&] { return !Scalar<bool>(over); },
                       [&] { over = b.mbarrier.try_wait(full, 0, {.timeout_ns = 2000}); });
          auto mine = b.local<f32>(32, 32);
          b.copy(tile, mine);
          b.copy(mine, C.at(0, 0));
        });
      },
      hopper(), {.name = "asks"});
  EXPECT_NE(kernel.ptx().find(", 2000;"), std::string::npos);
  std::vector<float> a(1024), c(1024, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i);
  for (Timing timing : timings) {
    auto found = kernel.try_launch({.completion = timing.completion, .seed = timing.seed},
                                   view(a, {32, 32}), view(c, {32, 32}));
    EXPECT_TRUE(found.empty()) << to_text(found);
    EXPECT_EQ(a, c);
  }
}

} // namespace
