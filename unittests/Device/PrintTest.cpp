//===- PrintTest.cpp - Where the lines of a kernel go ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

struct Printing {
  void operator()(Block &b, Out<i32, 1> O) const {
    auto m = b.grid(2);
    b.print("block {}", {m});
    b.store(O.at(m), 1);
  }
};

TEST(Print, GoesToStandardOutputUnlessThereIsACallback) {
  for (Target target : {Target::interpreter(), Target::native(), Target::sm_90a().emulated()}) {
    auto kernel = compile(Printing{}, target);
    std::vector<i32> o(2);
    testing::internal::CaptureStdout();
    kernel.launch({.threads = 1}, view(o, {2}));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "block 0\nblock 1\n");

    std::string received;
    LaunchOptions options{.threads = 1};
    options.print = [&](std::string_view line) { received += line; };
    testing::internal::CaptureStdout();
    kernel.launch(options, view(o, {2}));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(received, "block 0\nblock 1\n");
  }
}

} // namespace
