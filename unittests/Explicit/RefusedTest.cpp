//===- RefusedTest.cpp - Bugs that no code is made for ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one operation says about itself is checked when it is recorded, and what
// the whole kernel takes of the hardware when it is compiled.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

/// A kernel with nothing in it but the lines of a test.
template <class Body> struct Lines {
  Body body;
  void operator()(Block &b, In<f16, 2> A, Out<f16, 2> C) const {
    b.threads(128);
    body(b, A, C);
  }
};

template <class Body>
void refuse(Body body, unsigned code, const std::string &mark, Target target = Target::sm_100a()) {
  expectRefused(Lines<Body>{body}, target, {code, mark.c_str()}, __FILE__);
}

using InA = const In<f16, 2> &;
using OutC = const Out<f16, 2> &;

TEST(RefusedMemory, SharedTiles) {
  auto compiled = try_compile(
      [](Block &b, In<f16, 2> A, Out<f16, 2>) {
        b.threads(128);
        auto ring = b.shared<f16>(8, 256, 64); // [ring]
        auto [full] = b.mbarrier.alloc<1>({1});
        b.elect_one([&] { b.mbarrier.arrive_expect(full, ring[0].bytes()); });
        b.tma.load(A.at(0, 0), ring[0], full);
        b.mbarrier.wait(full, 0);
      },
      Target::sm_100a());
  EXPECT_FALSE(bool(compiled));
  expectFinding(compiled.diagnostics, {1603, "ring"}, __FILE__);
}

TEST(RefusedMemory, TensorColumns) {
  refuse([](Block &b, InA, OutC) { b.tcgen05.alloc<f32>(128, 513); }, // [513 columns]
         1603, "513 columns");
  refuse(
      [](Block &b, InA, OutC) {
        auto first = b.tcgen05.alloc<f32>(128, 300);
        auto second = b.tcgen05.alloc<f32>(128, 128); // [second accumulator]
        b.tcgen05.dealloc(first);
        b.tcgen05.dealloc(second);
      },
      1603, "second accumulator");
}

TEST(RefusedMemory, Registers) {
  refuse(
      [](Block &b, InA, OutC C) {
        auto big = b.local<f32>(128, 512); // [registers]
        b.fill(big, 0);
        b.copy(big, C.at(0, 0));
      },
      1603, "registers");
}

TEST(RefusedMemory, RegistersOfWarpgroups) {
  refuse([](Block &b, InA, OutC) { b.registers.release(20); }, 1603, "20 kept");    // [20 kept]
  refuse([](Block &b, InA, OutC) { b.registers.request(100); }, 1603, "100 asked"); // [100 asked]
  refuse(
      [](Block &b, InA, OutC) {
        b.warp(0, [&] {
          b.registers.release(24); // [by a warp]
        });
      },
      1604, "by a warp");
  // 65536 registers are 128 for each of 512 threads; none are given back.
  refuse(
      [](Block &b, InA, OutC) {
        b.threads(512);
        b.warps(4, 12, [&] {
          b.registers.request(160); // [too many]
        });
      },
      1603, "too many");
  refuse(
      [](Block &b, InA, OutC) {
        b.threads(512);
        b.warps(0, 4, [&] {
          b.registers.release(136); // [more than at the start]
        });
      },
      1603, "more than at the start");
}

TEST(RefusedShape, Products) {
  // 96 rows; 20 columns; elements of two kinds; a length of 24; no transpose.
  refuse([](Block &b, InA, OutC) { b.tcgen05.alloc<f32>(96, 64); }, // [96 rows]
         1602, "96 rows");
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(128, 64), w = b.shared<f16>(20, 64);
        auto acc = b.tcgen05.alloc<f32>(128, 20);
        b.tcgen05.mma(a, transposed(w), acc); // [20 columns]
      },
      1602, "20 columns");
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(128, 64);
        auto w = b.shared<f32>(64, 64);
        auto acc = b.tcgen05.alloc<f32>(128, 64);
        b.tcgen05.mma(a, transposed(w), acc); // [two kinds]
      },
      1602, "two kinds");
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(128, 24), w = b.shared<f16>(64, 24);
        auto acc = b.tcgen05.alloc<f32>(128, 64);
        b.tcgen05.mma(a, transposed(w), acc); // [length 24]
      },
      1602, "length 24");
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(128, 64), w = b.shared<f16>(32, 64);
        auto acc = b.tcgen05.alloc<f32>(128, 32);
        b.tcgen05.mma(a, w, acc); // [not transposed]
      },
      1602, "not transposed");
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(128, 64), w = b.shared<f16>(12, 64);
        auto acc = b.local<f32>(128, 12);
        b.wgmma.mma(a, transposed(w), acc); // [12 columns]
      },
      1602, "12 columns", Target::sm_90a());
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(96, 64), w = b.shared<f16>(64, 64);
        auto acc = b.local<f32>(96, 64);
        b.wgmma.mma(a, transposed(w), acc); // [96 rows of a warpgroup]
      },
      1602, "96 rows of a warpgroup", Target::sm_90a());
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f32>(128, 64), w = b.shared<f32>(64, 32);
        auto acc = b.tcgen05.alloc<f32>(128, 32);
        b.tcgen05.mma(a, w, acc); // [columns of tf32]
      },
      1602, "columns of tf32");
}

TEST(RefusedShape, PartsOfTiles) {
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(128, 128), w = b.shared<f16>(64, 64);
        auto acc = b.tcgen05.alloc<f32>(128, 64);
        b.tcgen05.mma(slice(a, {0, 8}, {128, 64}), transposed(w), acc); // [between two steps]
      },
      1602, "between two steps");
  refuse(
      [](Block &b, InA A, OutC) {
        auto a = b.shared<f16>(128, 64);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tma.load(A.at(0, 0), slice(a, {0, 32}, {128, 32}), full); // [right half]
      },
      1602, "right half");
  refuse(
      [](Block &b, InA A, OutC) {
        auto a = b.shared<f16>(128, 64);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tma.load(A.at(0, 0), slice(a, {4, 0}, {64, 64}), full); // [rows from 4 on]
      },
      1602, "rows from 4 on");
  refuse(
      [](Block &b, InA A, OutC) {
        auto a = b.shared<f16>(64, 128);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tma.load(A.at(0, 0), transposed(a), full); // [transposed]
      },
      1602, "transposed");
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(64, 64), w = b.shared<f16>(64, 64);
        auto acc = b.tcgen05.alloc<f32>(128, 64);
        b.tcgen05.mma(a, transposed(w), slice(acc, {64, 0}, {64, 64})); // [lower lanes]
      },
      1602, "lower lanes");
  refuse(
      [](Block &b, InA, OutC C) {
        auto part = b.local<f32>(128, 64);
        b.fill(part, 0);
        b.copy(slice(part, {0, 0}, {128, 32}), C.at(0, 0)); // [part of registers]
      },
      1606, "part of registers");
}

TEST(RefusedShape, Boxes) {
  refuse(
      [](Block &b, InA A, OutC) {
        auto tall = b.shared<f16>(514, 64);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tma.load(A.at(0, 0), tall, full); // [514 rows]
      },
      1602, "514 rows");
  refuse(
      [](Block &b, InA A, OutC) {
        auto narrow = b.shared<f16>(64, 12);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tma.load(A.at(0, 0), narrow, full); // [24 bytes]
      },
      1602, "24 bytes");
  refuse(
      [](Block &b, InA A, OutC) {
        auto narrow = b.shared<f16>(64, 4);
        b.cp_async.load(A.at(0, 0), narrow); // [8 bytes]
      },
      1602, "8 bytes");
  refuse(
      [](Block &b, InA A, OutC) {
        auto tile = b.shared<f16>(64, 64);
        b.cp_async.load(A.at(0, 0), tile, {.bytes = 2}); // [2 bytes at a time]
      },
      1602, "2 bytes at a time");
}

TEST(RefusedShape, ReducingStores) {
  auto refused = [](auto body, unsigned code, const char *mark) {
    auto compiled = try_compile(body, Target::sm_90a(), {.name = "reduces"});
    EXPECT_FALSE(bool(compiled));
    expectFinding(compiled.diagnostics, {code, mark}, __FILE__);
  };
  refused(
      [](Block &b, InOut<f32, 2> C) {
        b.threads(32);
        b.tma.reduce(Max, b.shared<f32>(32, 32), C.at(0, 0)); // [larger f32]
      },
      1112, "larger f32");
  refused(
      [](Block &b, InOut<f16, 2> C) {
        b.threads(32);
        b.tma.reduce(Prod, b.shared<f16>(32, 32), C.at(0, 0)); // [product]
      },
      106, "product");
}

TEST(RefusedScope, Threads) {
  refuse([](Block &b, InA, OutC) { b.threads(100); }, 1604, "100 threads");        // [100 threads]
  refuse([](Block &b, InA, OutC) { b.warp(4, [] {}); }, 1604, "fifth warp");       // [fifth warp]
  refuse([](Block &b, InA, OutC) { b.warps(2, 3, [] {}); }, 1604, "warps 2 to 4"); // [warps 2 to 4]
  refuse(
      [](Block &b, InA, OutC) {
        b.warp(0, [&] {
          b.warp(1, [] {}); // [warp in warp]
        });
      },
      1604, "warp in warp");
  refuse(
      [](Block &b, InA, OutC) {
        b.elect_one([&] {
          b.warp(0, [] {}); // [warp in a thread]
        });
      },
      1604, "warp in a thread");
  refuse(
      [](Block &b, InA, OutC) {
        b.elect_one([&] {
          b.elect_one([] {}); // [elected twice]
        });
      },
      1604, "elected twice");
}

TEST(RefusedScope, Clusters) {
  refuse([](Block &b, InA, OutC) { b.cluster(9); }, 1604, "9 blocks");       // [9 blocks]
  refuse([](Block &b, InA, OutC) { b.cluster_sync(); }, 1604, "no cluster"); // [no cluster]
  refuse(
      [](Block &b, InA, OutC) {
        b.cluster(2);
        b.warp(0, [&] {
          b.cluster_sync(); // [sync by a part]
        });
      },
      1604, "sync by a part");
  refuse(
      [](Block &b, InA, OutC) {
        auto [full] = b.mbarrier.alloc<1>({1});
        b.mbarrier.arrive(full, {.cta = 1}); // [other block]
      },
      1604, "other block");
  refuse(
      [](Block &b, InA, OutC) {
        b.cluster(2);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.mbarrier.arrive(full, {.cta = 2}); // [third block]
      },
      1604, "third block");
  refuse(
      [](Block &b, InA A, OutC) {
        b.cluster(2);
        auto tile = b.shared<f16>(64, 64);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tma.load(A.at(0, 0), tile, full, {.multicast = 4}); // [mask of the third]
      },
      1604, "mask of the third");
  refuse(
      [](Block &b, InA, OutC) {
        auto [full] = b.mbarrier.alloc<1>({1});
        b.tcgen05.commit(full, {.multicast = 3}); // [commit to none]
      },
      1604, "commit to none");
  refuse(
      [](Block &b, InA, OutC) {
        b.pair();
        b.cluster(4); // [pair of four]
        b.cluster_sync();
      },
      1604, "pair of four");
}

TEST(RefusedScope, ByOneThread) {
  refuse(
      [](Block &b, InA, OutC) {
        b.elect_one([&] {
          b.sync(); // [sync by one]
        });
      },
      1604, "sync by one");
  refuse(
      [](Block &b, InA A, OutC) {
        auto tile = b.shared<f16>(64, 64);
        b.elect_one([&] {
          b.cp_async.load(A.at(0, 0), tile); // [copy by one]
        });
      },
      1604, "copy by one");
}

TEST(RefusedScope, WrongWarps) {
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(64, 64), w = b.shared<f16>(64, 64);
        auto acc = b.local<f32>(64, 64);
        b.warp(0, [&] {
          b.wgmma.mma(a, transposed(w), acc); // [wgmma by a warp]
        });
      },
      1604, "wgmma by a warp", Target::sm_90a());
  refuse(
      [](Block &b, InA, OutC) {
        auto acc = b.tcgen05.alloc<f32>(128, 64);
        b.warps(1, 2, [&] {
          b.tcgen05.load(acc); // [load by two warps]
        });
      },
      1604, "load by two warps");
  refuse(
      [](Block &b, InA, OutC) {
        auto acc = b.tcgen05.alloc<f32>(128, 64);
        b.warp(0, [&] {
          b.tcgen05.dealloc(acc); // [dealloc by a warp]
        });
      },
      1604, "dealloc by a warp");
}

TEST(RefusedBarrier, CountsAndIndices) {
  refuse(
      [](Block &b, InA, OutC) {
        auto full = b.mbarrier.alloc(3);
        b.mbarrier.wait(full[3], 0); // [fourth of three]
      },
      1605, "fourth of three");
  refuse([](Block &b, InA, OutC) { b.mbarrier.alloc(2, 0); }, 1605, "no arrivals"); // [no arrivals]
  refuse([](Block &b, InA, OutC) { b.mbarrier.alloc(0); }, 1605, "no barriers");    // [no barriers]
  refuse(
      [](Block &b, InA, OutC) {
        auto [full] = b.mbarrier.alloc<1>({1});
        b.mbarrier.arrive_expect(full, 1 << 20); // [too many bytes]
      },
      1605, "too many bytes");
  refuse([](Block &b, InA, OutC) { b.wgmma.wait_group(8); }, 1605, "8 groups", // [8 groups]
         Target::sm_90a());
}

TEST(RefusedBarrier, Semantics) {
  refuse(
      [](Block &b, InA, OutC) {
        auto [full] = b.mbarrier.alloc<1>({1});
        b.mbarrier.arrive(full, {.sem = Acquire}); // [acquiring arrival]
      },
      1605, "acquiring arrival");
  refuse(
      [](Block &b, InA, OutC) {
        auto [full] = b.mbarrier.alloc<1>({1});
        b.mbarrier.wait(full, 0, {.sem = Release}); // [releasing wait]
      },
      1605, "releasing wait");
  refuse(
      [](Block &b, InA, OutC) {
        auto [full] = b.mbarrier.alloc<1>({1});
        b.mbarrier.try_wait(full, 0, {.timeout_ns = -1}); // [negative time]
      },
      1605, "negative time");
}

TEST(RefusedBarrier, NamedBarriers) {
  refuse([](Block &b, InA, OutC) { b.named_barrier.alloc(48); }, 1605, "48");    // [48]
  refuse([](Block &b, InA, OutC) { b.named_barrier.alloc(160); }, 1605, "five"); // [five]
  refuse(
      [](Block &b, InA, OutC) {
        auto small = b.named_barrier.alloc(64);
        b.named_barrier.sync(small); // [all come]
      },
      1605, "all come");
  refuse(
      [](Block &b, InA, OutC) {
        auto alone = b.named_barrier.alloc(128);
        b.named_barrier.arrive(alone); // [none waits]
      },
      1605, "none waits");
  refuse(
      [](Block &b, InA, OutC) {
        for (int i = 0; i < 16; ++i)
          b.named_barrier.sync(b.named_barrier.alloc(128)); // [16 barriers]
      },
      1605, "16 barriers");

  refuse(
      [](Block &b, InA, OutC) {
        b.threads(1024);
        for (int warp = 0; warp < 17; ++warp)
          b.warp(warp, [&] { b.sync(); }); // [named barriers]
      },
      1605, "named barriers");
}

TEST(RefusedTarget, OfTheOtherArchitecture) {
  refuse(
      [](Block &b, InA, OutC) {
        auto acc = b.tcgen05.alloc<f32>(128, 64); // [tensor memory]
        b.tcgen05.dealloc(acc);
      },
      1601, "tensor memory", Target::sm_90a());
  refuse(
      [](Block &b, InA, OutC) {
        auto a = b.shared<f16>(64, 64), w = b.shared<f16>(64, 64);
        auto acc = b.local<f32>(64, 64);
        b.wgmma.mma(a, transposed(w), acc, {.accumulate = false}); // [wgmma]
      },
      1601, "wgmma");
}

// Rows of the tensor are only known at the launch.
TEST(RefusedLaunch, RowsOfTensors) {
  auto kernel = compile( // [compile]
      [](Block &b, In<f16, 2> A, Out<f16, 2>) {
        b.threads(32);
        auto tile = b.shared<f16>(64, 64);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.elect_one([&] { b.mbarrier.arrive_expect(full, tile.bytes()); });
        b.tma.load(A.at(0, 0), tile, full);
        b.mbarrier.wait(full, 0);
      },
      Target::sm_100a().emulated());
  std::vector<f16> a(64 * 60), c(64 * 64);
  auto found = kernel.try_launch({}, view(a, {64, 60}), view(c, {64, 64}));
  expectFinding(found, {1608, "compile"}, __FILE__);
}

} // namespace
