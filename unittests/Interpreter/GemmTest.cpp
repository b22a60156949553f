//===- GemmTest.cpp - Products of tiles, alone and in whole kernels -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "llvm/ADT/StringRef.h"

using namespace penstock;
using namespace penstock::test;

namespace {

/// C = A * B^T, tiled, with edges that do not fit and a swizzled grid.
const char *matmul = R"(
func.func @matmul(%A: !g2IN, %B: !g2IN, %C: !g2OUT) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant ZERO : ACC
  %M = memref.dim %A, %c0 : !g2IN
  %K = memref.dim %A, %c1 : !g2IN
  %N = memref.dim %B, %c0 : !g2IN
  %gm = arith.ceildivsi %M, %c8 : index
  %gn = arith.ceildivsi %N, %c8 : index
  %gk = arith.ceildivsi %K, %c4 : index
  %bm, %bn = tile.grid %gm, %gn swizzle 2 : index, index
  %m = arith.muli %bm, %c8 : index
  %n = arith.muli %bn, %c8 : index
  %As = tile.alloc "As" : memref<8x4xTIN, #s>
  %Bs = tile.alloc "Bs" versions 3 : memref<8x4xTIN, #s>
  %acc = tile.alloc "acc" : memref<8x8xACC, #l>
  tile.fill %acc, %zero : memref<8x8xACC, #l>, ACC
  scf.for %ko = %c0 to %gk step %c1 {
    %k = arith.muli %ko, %c4 : index
    tile.copy %A[%m, %k] to %As : !g2IN to memref<8x4xTIN, #s>
    tile.copy %B[%n, %k] to %Bs : !g2IN to memref<8x4xTIN, #s>
    %Bt = memref.transpose %Bs (i, j) -> (j, i) : memref<8x4xTIN, #s> to memref<4x8xTIN, strided<[1, 4]>, #s>
    tile.gemm %As, %Bt into %acc : memref<8x4xTIN, #s>, memref<4x8xTIN, strided<[1, 4]>, #s>, memref<8x8xACC, #l>
  } LOOP
  tile.copy %acc to %C[%m, %n] : memref<8x8xACC, #l> to !g2OUT
  return
})";

std::string matmulText(Element in, Element out, const char *loop = "") {
  bool integers = in == Element::i8;
  std::string text = replaceAll(matmul, "TIN", mlirName(in));
  text = replaceAll(text, "!g2IN", std::string("!g2") + shortName(in));
  text = replaceAll(text, "!g2OUT", std::string("!g2") + shortName(out));
  text = replaceAll(text, "ACC", integers ? "i32" : "f32");
  text = replaceAll(text, "ZERO", integers ? "0" : "0.0");
  return replaceAll(text, "LOOP", loop);
}

template <class In, class Out, class Sum> void testMatmul() {
  Program program(matmulText(detail::ElementOf<In>::value, detail::ElementOf<Out>::value));
  for (int64_t size : {0, 1, 5, 8, 13, 24}) {
    int64_t M = size, N = 11, K = 9;
    Tensor<In> A({M, K}), B({N, K}, In(), /*row=*/16);
    Tensor<Out> C({M, N}, Out(77));
    A.randomize(1);
    B.randomize(2);
    program.runClean({A, B, C});
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n) {
        Sum sum = 0;
        for (int64_t k = 0; k < K; ++k)
          sum += static_cast<Sum>(A(m, k)) * static_cast<Sum>(B(n, k));
        ASSERT_EQ(static_cast<Sum>(C(m, n)), sum) << m << ", " << n;
      }
  }
}

TEST(Gemm, AllElementTypes) {
  testMatmul<f16, f32, float>();
  testMatmul<bf16, f32, float>();
  testMatmul<f32, f32, float>();
  testMatmul<f8e4m3, f32, float>();
  testMatmul<f8e5m2, f32, float>();
  testMatmul<i8, i32, int32_t>();
  testMatmul<f16, f16, float>();
}

TEST(Gemm, SchedulesAndUnrollingChangeNothing) {
  Tensor<f32> A({13, 21}), B({9, 21}), plain({13, 9}), C({13, 9});
  A.randomize(3);
  B.randomize(4);
  runClean(matmulText(Element::f32, Element::f32), {A, B, plain});
  for (const char *loop : {"{tile.schedule = #tile.schedule<num_stages = 3>}",
                           "{tile.schedule = #tile.schedule<stage = [0, 0, 2], "
                           "order = [1, 2, 0]>}",
                           "{tile.unroll = 4 : i64}"}) {
    std::fill_n(C.data.get(), C.length, -1.0f);
    runClean(matmulText(Element::f32, Element::f32, loop), {A, B, C});
    for (int64_t i = 0; i < C.length; ++i)
      ASSERT_EQ(C.data[i], plain.data[i]) << loop;
  }
}

const char *single = R"(
func.func @single(%A: !g2f32, %B: !g2f32, %C: !g2f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : memref<2x5xf32, #s>
  %Bs = tile.alloc "Bs" : memref<5x3xf32, #s>
  %acc = tile.alloc "acc" : memref<2x3xf32, #l>
  tile.copy %A[%c0, %c0] to %As : !g2f32 to memref<2x5xf32, #s>
  tile.copy %B[%c0, %c0] to %Bs : !g2f32 to memref<5x3xf32, #s>
  tile.copy %C[%c0, %c0] to %acc : !g2f32 to memref<2x3xf32, #l>
  tile.gemm %As, %Bs into %acc FORM : memref<2x5xf32, #s>, memref<5x3xf32, #s>, memref<2x3xf32, #l>
  tile.copy %acc to %C[%c0, %c0] : memref<2x3xf32, #l> to !g2f32
  return
})";

/// An independent rounding to TF32: by arithmetic instead of bits.
float tf32(float value) {
  int exponent;
  float fraction = std::frexp(value, &exponent); // 0.5 <= |fraction| < 1
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

void testSingle(const char *form, bool overwrite, float (*operand)(float)) {
  SCOPED_TRACE(form);
  Tensor<f32> A({2, 5}), B({5, 3}), C({2, 3});
  std::mt19937 random(7);
  auto next = [&] {
    return std::ldexp(float(int(random() % 20001) - 10000) / 777.0f, int(random() % 8) - 4);
  };
  for (auto *tensor : {&A, &B, &C})
    for (int64_t i = 0; i < tensor->length; ++i)
      tensor->data[i] = next();
  A(0, 0) = 1.0f + std::ldexp(1.0f, -11); // ties, to even both ways
  A(0, 1) = 1.0f + std::ldexp(3.0f, -11);
  Tensor<f32> expected({2, 3});
  for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 3; ++n) {
      volatile float sum = overwrite ? 0.0f : C(m, n);
      for (int k = 0; k < 5; ++k) {
        volatile float product = operand(A(m, k)) * operand(B(k, n));
        sum = sum + product;
      }
      expected(m, n) = sum;
    }
  runClean(replaceAll(single, "FORM", form), {A, B, C});
  for (int64_t i = 0; i < C.length; ++i)
    EXPECT_EQ(C.data[i], expected.data[i]) << i;
}

TEST(Gemm, AccumulatesAndOverwritesInOrder) {
  auto same = [](float value) { return value; };
  testSingle("", false, same);
  testSingle("overwrite", true, same);
  testSingle("precision tf32", false, tf32);
  testSingle("overwrite precision tf32", true, tf32);
}

TEST(Gemm, IntegersWrap) {
  // 2^31 = 131072 * 128 * 128 is reached by 131072 products of -128 * -128; a
  // start close to the limit does it with few.
  const char *text = R"(
func.func @wrap(%C: !g2i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %low = arith.constant -128 : i8
  %a = tile.alloc : memref<1x2xi8, #s>
  %b = tile.alloc : memref<2x1xi8, #s>
  %acc = tile.alloc : memref<1x1xi32, #l>
  tile.fill %a, %low : memref<1x2xi8, #s>, i8
  tile.fill %b, %low : memref<2x1xi8, #s>, i8
  tile.copy %C[%c0, %c0] to %acc : !g2i32 to memref<1x1xi32, #l>
  tile.gemm %a, %b into %acc : memref<1x2xi8, #s>, memref<2x1xi8, #s>, memref<1x1xi32, #l>
  tile.copy %acc to %C[%c0, %c0] : memref<1x1xi32, #l> to !g2i32
  return
})";
  Tensor<i32> C({1, 1}, 2147483647);
  runClean(text, {C});
  EXPECT_EQ(C(0, 0), static_cast<i32>(2147483647u + 2u * 16384u));
}

TEST(Gemm, MixesTheTwoF8Types) {
  const char *text = R"(
func.func @mixed(%A: !g2e4m3, %B: !g2e5m2, %C: !g2f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc : memref<3x4xf8E4M3FN, #s>
  %b = tile.alloc : memref<4x2xf8E5M2, #s>
  %acc = tile.alloc : memref<3x2xf32, #l>
  tile.copy %A[%c0, %c0] to %a : !g2e4m3 to memref<3x4xf8E4M3FN, #s>
  tile.copy %B[%c0, %c0] to %b : !g2e5m2 to memref<4x2xf8E5M2, #s>
  tile.gemm %a, %b into %acc overwrite : memref<3x4xf8E4M3FN, #s>, memref<4x2xf8E5M2, #s>, memref<3x2xf32, #l>
  tile.copy %acc to %C[%c0, %c0] : memref<3x2xf32, #l> to !g2f32
  return
})";
  Tensor<f8e4m3> A({3, 4});
  Tensor<f8e5m2> B({4, 2});
  Tensor<f32> C({3, 2});
  A.randomize(5);
  B.randomize(6);
  runClean(text, {A, B, C});
  for (int m = 0; m < 3; ++m)
    for (int n = 0; n < 2; ++n) {
      float sum = 0;
      for (int k = 0; k < 4; ++k)
        sum += float(A(m, k)) * float(B(k, n));
      EXPECT_EQ(C(m, n), sum);
    }
}

} // namespace
