//===- KernelNamesTest.cpp - Names of kernels from names of types ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "gtest/gtest.h"

using namespace penstock;
using penstock::detail::kernelNameOf;

namespace {

TEST(KernelNames, TypesAndTheirNamespaces) {
  EXPECT_EQ(kernelNameOf("Matmul"), "Matmul");
  EXPECT_EQ(kernelNameOf("gpu::v2::Matmul"), "Matmul");
  EXPECT_EQ(kernelNameOf("(anonymous namespace)::Matmul"), "Matmul");
  EXPECT_EQ(kernelNameOf("{anonymous}::Matmul"), "Matmul");
  EXPECT_EQ(kernelNameOf("run(int)::Matmul"), "Matmul");
  EXPECT_EQ(kernelNameOf("run<a::T>(int)::Matmul"), "Matmul");
}

TEST(KernelNames, InstancesOfTemplates) {
  EXPECT_EQ(kernelNameOf("gpu::Matmul<128, 64>"), "Matmul_128_64");
  EXPECT_EQ(kernelNameOf("Matmul<penstock::f16, -1>"), "Matmul_f16_m1");
  EXPECT_EQ(kernelNameOf("Matmul<(ns::Layout)1, std::vector<unsigned int> >"),
            "Matmul_Layout_1_vector_unsigned_int");
  EXPECT_EQ(kernelNameOf("Matmul<'a'>"), "Matmul_a");
  EXPECT_LE(kernelNameOf("Matmul<" + std::string(500, 'x') + ">").size(), 101u);
}

TEST(KernelNames, Lambdas) {
  EXPECT_EQ(kernelNameOf("(lambda at kernels.cpp:3:4)"), "lambda");
  EXPECT_EQ(kernelNameOf("main()::<lambda(penstock::Block&)>"), "lambda");
  EXPECT_EQ(kernelNameOf("Through<(lambda at a.cpp:3:4)>"), "Through");
  EXPECT_EQ(kernelNameOf("Through<main()::<lambda(penstock::Block&)> >"), "Through");
  EXPECT_EQ(kernelNameOf(""), "lambda");
}

template <class T, int Rows> struct Copied {
  void operator()(Block &b, In<T, 1> x, Out<T, 1> y) const {
    auto tile = b.local<T>(Rows);
    b.copy(x.at(0), tile);
    b.copy(tile, y.at(0));
  }
};

TEST(KernelNames, AnInstanceNeedsNoNameOfItsOwn) {
  auto compiled = try_compile(Copied<f16, 8>{}, Target::native());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  EXPECT_NE(compiled.kernel.tile_program().find("@Copied_f16_8("), std::string::npos)
      << compiled.kernel.tile_program();
}

} // namespace
