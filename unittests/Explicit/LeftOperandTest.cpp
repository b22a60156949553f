//===- LeftOperandTest.cpp - Left operands outside of shared memory -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hopper's tensor core takes A from registers, Blackwell's from tensor memory, to
// which threads store it or the tensor core copies it from shared memory.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class FromRegisters { None, NoFence, NoWait };

/// Threads load A into their registers, one warp loads B by TMA.
struct RegisterMatmul {
  FromRegisters bug = FromRegisters::None;
  int warpgroups = 1;
  int block_m = 128, block_n = 32, block_k = 32;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(FromRegisters one) const { return bug == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto tiles = ceil_div(A.size(1), block_k);
    b.grid(1);
    b.threads(128 * warpgroups);
    auto Bs = b.shared<f16>(block_n, block_k);
    auto left = b.local<f16>(block_m, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    auto [full] = b.mbarrier.alloc<1>({1});
    Var<unsigned> phase(b, 0);
    b.fill(acc, 0);
    for (Index k : b.range(tiles)) {
      b.warp(0, [&] {
        b.elect_one([&] { b.mbarrier.arrive_expect(full, Bs.bytes()); });
        b.tma.load(B.at(0, k * block_k), Bs, full); // [load B]
      });
      b.copy(A.at(0, k * block_k), left); // [load A]
      b.mbarrier.wait(full, phase);
      if (!is(FromRegisters::NoFence))
        b.wgmma.fence();
      b.wgmma.mma(left, transposed(Bs), acc); // [multiply]
      b.wgmma.commit_group();
      if (!is(FromRegisters::NoWait))
        b.wgmma.wait_group(0);
      b.sync(); // B may be loaded again
      phase ^= 1u;
    }
    b.wgmma.wait_group(0);
    b.copy(acc, C.at(0, 0));
  }
};

Target hopper() { return Target::sm_90a().emulated(); }
Target blackwell() { return Target::sm_100a().emulated(); }

TEST(LeftOperandInRegisters, IsRight) {
  expectRight(RegisterMatmul{}, hopper(), 3);
  expectRight(RegisterMatmul{.warpgroups = 2}, hopper(), 3);
  expectRight(RegisterMatmul{.block_n = 128, .block_k = 64}, hopper(), 1);
}

TEST(LeftOperandInRegisters, IsAssembled) { expectAssembled(RegisterMatmul{}, Target::sm_90a()); }

class RegisterBugs : public ::testing::TestWithParam<Case<FromRegisters>> {};
TEST_P(RegisterBugs, AreCaught) {
  expectCaught(RegisterMatmul{.bug = GetParam().bug}, hopper(), GetParam(), __FILE__);
}
constexpr Case<FromRegisters> registerCases[] = {
    {FromRegisters::NoFence, "NoFence", {2112, "multiply"}},
    {FromRegisters::NoWait, "NoWait", {2101, "load B", "multiply"}, {1612, "load B", "multiply"}},
};
INSTANTIATE_TEST_SUITE_P(All, RegisterBugs, ::testing::ValuesIn(registerCases),
                         nameOf<FromRegisters>);

enum class FromTensor { None, NoWaitStore, NoSyncAfterStore, NoWaitForProduct };

/// A goes to tensor memory through registers, or straight from shared memory.
struct TensorMatmul {
  FromTensor bug = FromTensor::None;
  bool copied = false; ///< from shared memory
  int block_m = 128, block_n = 32, block_k = 32;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(FromTensor one) const { return bug == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto tiles = ceil_div(A.size(1), block_k);
    b.grid(1);
    b.threads(128);
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto left = b.tcgen05.alloc<f16>(block_m, block_k);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [full, done] = b.mbarrier.alloc<2>({1, 1});
    Var<unsigned> phase(b, 0);
    for (Index k : b.range(tiles)) {
      b.warp(0, [&] {
        int64_t bytes = Bs.bytes() + (copied ? As.bytes() : 0);
        b.elect_one([&] { b.mbarrier.arrive_expect(full, bytes); });
        b.tma.load(B.at(0, k * block_k), Bs, full);
        if (copied)
          b.tma.load(A.at(0, k * block_k), As, full);
      });
      if (!copied) {
        auto own = b.local<f16>(block_m, block_k);
        b.copy(A.at(0, k * block_k), own);
        b.tcgen05.store(own, left); // [store A]
        if (!is(FromTensor::NoWaitStore))
          b.tcgen05.wait_store();
        if (!is(FromTensor::NoSyncAfterStore))
          b.sync();
      }
      b.warp(0, [&] {
        b.mbarrier.wait(full, phase);
        if (copied)
          b.tcgen05.copy(As, left);
        b.tcgen05.mma(left, transposed(Bs), acc, {.accumulate = k != 0}); // [multiply]
        b.tcgen05.commit(done);
      });
      if (!is(FromTensor::NoWaitForProduct))
        b.mbarrier.wait(done, phase);
      if (copied)
        b.sync(); // the first warp must not be two products ahead of a wait
      phase ^= 1u;
    }
    b.mbarrier.wait(done, phase ^ 1u);
    b.sync();
    b.when(tiles > 0, [&] {
      auto result = b.tcgen05.load(acc);
      b.tcgen05.wait_load();
      b.copy(result, C.at(0, 0));
    });
    b.sync();
    b.tcgen05.dealloc(left);
    b.tcgen05.dealloc(acc);
  }
};

TEST(LeftOperandInTensorMemory, IsRight) {
  expectRight(TensorMatmul{}, blackwell(), 3);
  expectRight(TensorMatmul{.block_n = 64, .block_k = 64}, blackwell(), 1);
  expectRight(TensorMatmul{.copied = true}, blackwell(), 3);
  expectRight(TensorMatmul{.copied = true, .block_k = 128}, blackwell(), 2);
}

TEST(LeftOperandInTensorMemory, IsAssembled) {
  expectAssembled(TensorMatmul{}, Target::sm_100a());
  expectAssembled(TensorMatmul{.copied = true}, Target::sm_100a());
}

class TensorBugs : public ::testing::TestWithParam<Case<FromTensor>> {};
TEST_P(TensorBugs, AreCaught) {
  expectCaught(TensorMatmul{.bug = GetParam().bug}, blackwell(), GetParam(), __FILE__);
}
constexpr Case<FromTensor> tensorCases[] = {
    {FromTensor::NoWaitStore, "NoWaitStore", {2101, "multiply", "store A"}},
    {FromTensor::NoSyncAfterStore,
     "NoSyncAfterStore",
     {2101, "multiply", "store A"},
     {1612, "multiply", "store A"}},
    {FromTensor::NoWaitForProduct,
     "NoWaitForProduct",
     {2101, "store A", "multiply"},
     {1612, "store A", "multiply"}},
};
INSTANTIATE_TEST_SUITE_P(All, TensorBugs, ::testing::ValuesIn(tensorCases), nameOf<FromTensor>);

/// What is stored to columns of tensor memory is loaded from there, whatever its
/// type and number of columns.
template <class T> void expectRoundTrip(const char *name) {
  auto kernel = compile(
      [](Block &b, In<T, 2> A, Out<T, 2> C) {
        b.grid(1);
        b.threads(128);
        auto cells = b.tcgen05.alloc<T>(128, 64);
        auto part = slice(cells, {0, 16}, {128, 24});
        auto there = b.local<T>(128, 24);
        b.copy(A.at(0, 0), there);
        b.tcgen05.store(there, part);
        b.tcgen05.wait_store();
        auto back = b.tcgen05.load(part);
        b.tcgen05.wait_load();
        b.copy(back, C.at(0, 0));
        b.sync();
        b.tcgen05.dealloc(cells);
      },
      blackwell(), {.name = name});
  std::vector<T> a(128 * 24), c(128 * 24, T(-1));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = T(float(i % 2000));
  auto found = kernel.try_launch({}, view(a, {128, 24}), view(c, {128, 24}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  int wrong = 0;
  for (size_t i = 0; i < a.size(); ++i)
    wrong += float(a[i]) != float(c[i]);
  EXPECT_EQ(wrong, 0);
}

TEST(TensorMemory, KeepsWhatIsStored) {
  expectRoundTrip<float>("round_trip_f32");
  expectRoundTrip<f16>("round_trip_f16");
}

} // namespace
