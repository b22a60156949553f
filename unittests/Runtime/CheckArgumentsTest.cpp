//===- CheckArgumentsTest.cpp - Against sets of addresses -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Runtime/KernelInfo.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace penstock;
using detail::Argument;

namespace {

ArgumentInfo tensorInfo(std::string name, int rank, bool written,
                        std::vector<std::string> sizes = {}) {
  ArgumentInfo info;
  info.name = std::move(name);
  info.tensor = true;
  info.rank = rank;
  info.written = written;
  info.sizes = std::move(sizes);
  return info;
}

Argument tensor(uintptr_t data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {},
                Element element = Element::f32) {
  Argument argument;
  argument.tensor = true;
  argument.element = element;
  argument.data = reinterpret_cast<void *>(data); // only its address is looked at
  if (strides.empty()) {
    strides.resize(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d])
      strides[d] = stride;
  }
  argument.sizes = std::move(sizes);
  argument.strides = std::move(strides);
  return argument;
}

KernelInfo infoOf(std::vector<ArgumentInfo> arguments) {
  KernelInfo info;
  info.name = "Kernel";
  info.arguments = std::move(arguments);
  return info;
}

/// The codes and messages of all findings, one on a line. The quick check of resolved
/// kernels must not accept anything with findings.
std::string findings(const KernelInfo &info, std::vector<Argument> arguments) {
  std::string text;
  for (const Diagnostic &d : checkArguments(info, arguments))
    text += codeName(d.code) + " " + d.message + "\n";
  KernelInfo resolved = info;
  resolveSizes(resolved);
  if (!text.empty())
    EXPECT_FALSE(argumentsFit(resolved, arguments)) << text;
  return text;
}

//===----------------------------------------------------------------------===//
// Kinds, sizes, strides
//===----------------------------------------------------------------------===//

TEST(CheckArguments, NumberAndKind) {
  ArgumentInfo scale;
  scale.name = "scale";
  KernelInfo info = infoOf({tensorInfo("A", 2, false), scale});
  Argument number;
  EXPECT_EQ(findings(info, {tensor(64, {4, 4}), number}), "");
  EXPECT_EQ(findings(info, {}), "PS1301 `Kernel` takes 2 arguments and is given 0\n");
  EXPECT_EQ(findings(info, {number, tensor(64, {4})}),
            "PS1301 `A` is a tensor and is given a scalar\n"
            "PS1301 `scale` is a scalar and is given a tensor\n");
  EXPECT_EQ(findings(info, {tensor(64, {4, 4}, {}, Element::f16), number}),
            "PS1301 `A` holds f32 and is given f16\n");
  EXPECT_EQ(findings(info, {tensor(64, {4}), number}),
            "PS1301 `A` has rank 2 and is given rank 1\n");
}

TEST(CheckArguments, WhereItIsReported) {
  KernelInfo info = infoOf({tensorInfo("A", 1, false)});
  info.location = {"kernel.cpp", 3, 0};
  std::vector<Argument> wrong = {tensor(64, {-1})};
  auto atLaunch = checkArguments(info, wrong, {"main.cpp", 9, 0});
  ASSERT_EQ(atLaunch.size(), 1u);
  EXPECT_EQ(atLaunch[0].location, (SourceLocation{"main.cpp", 9, 0}));
  ASSERT_EQ(atLaunch[0].notes.size(), 1u);
  EXPECT_EQ(atLaunch[0].notes[0].location, info.location);
  auto unknown = checkArguments(info, wrong);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].location, info.location);
  EXPECT_TRUE(unknown[0].notes.empty());
}

TEST(CheckArguments, SizesOfTheSignature) {
  KernelInfo info =
      infoOf({tensorInfo("A", 2, false, {"M", "K"}), tensorInfo("B", 2, false, {"K", "3"}),
              tensorInfo("C", 2, true, {"M", "3"})});
  auto run = [&](int64_t m, int64_t k, int64_t k2, int64_t n, int64_t m2, int64_t n2) {
    return findings(info,
                    {tensor(0x10000, {m, k}), tensor(0x20000, {k2, n}), tensor(0x30000, {m2, n2})});
  };
  EXPECT_EQ(run(4, 5, 5, 3, 4, 3), "");
  EXPECT_EQ(run(0, 5, 5, 3, 0, 3), "");
  EXPECT_EQ(run(4, 5, 6, 3, 4, 3), "PS1302 `K` is 6 as size 0 of `B`, but 5 as size 1 of `A`\n");
  EXPECT_EQ(run(4, 5, 5, 2, 4, 3), "PS1302 size 1 of `B` is 2, but the signature says 3\n");
  EXPECT_EQ(run(4, 5, 5, 3, 7, 3), "PS1302 `M` is 7 as size 0 of `C`, but 4 as size 0 of `A`\n");
  info.fixedSizes = {{"K", 8}};
  EXPECT_EQ(run(4, 8, 8, 3, 4, 3), "");
  // Once, not for every tensor that has it.
  EXPECT_EQ(run(4, 5, 5, 3, 4, 3),
            "PS1302 `K` is 5 as size 1 of `A`, but `fix` made it 8 when the kernel was compiled\n");
}

TEST(CheckArguments, NegativeAndHugeSizes) {
  KernelInfo info = infoOf({tensorInfo("A", 2, true, {"M", "M"})});
  EXPECT_EQ(findings(info, {tensor(64, {-1, 4}, {4, 1})}),
            "PS1302 size 0 of `A` is -1; it must not be negative\n");
  int64_t huge = int64_t(1) << 40;
  EXPECT_EQ(findings(info, {tensor(64, {huge, huge}, {1, 1})}),
            "PS1302 `A` has more elements than memory can hold\n");
  EXPECT_EQ(findings(info, {tensor(64, {INT64_MAX, INT64_MAX}, {1, 1})}),
            "PS1302 `A` has more elements than memory can hold\n");
  EXPECT_EQ(findings(info, {tensor(64, {2, 2}, {INT64_MAX, 1})}),
            "PS1303 stride 0 of `A` is 9223372036854775807\n");
  EXPECT_EQ(findings(info, {tensor(64, {2, 2}, {INT64_MIN, 1})}),
            "PS1303 stride 0 of `A` is -9223372036854775808\n");
}

TEST(CheckArguments, MemoryAndStrides) {
  KernelInfo info = infoOf({tensorInfo("A", 2, true)});
  EXPECT_EQ(findings(info, {tensor(0, {4, 4})}),
            "PS1304 `A` has 16 elements, but its data is a null pointer\n");
  EXPECT_EQ(findings(info, {tensor(0, {0, 4})}), ""); // nothing to read
  EXPECT_EQ(findings(info, {tensor(66, {4, 4})}),
            "PS1304 `A` holds f32 and is not aligned to 4 bytes\n");
  EXPECT_EQ(findings(info, {tensor(64, {4, 4}, {1, 4})}),
            "PS1303 `A` has a stride of 4 in its last dimension; kernels need it to be 1\n");
  EXPECT_EQ(findings(info, {tensor(64, {4, 1}, {1, 4})}), ""); // a stride of one element
  EXPECT_EQ(findings(info, {tensor(64, {4, 4}, {9, 1})}), "");
}

TEST(CheckArguments, AlignmentOfEveryElement) {
  for (int e = 0; e <= static_cast<int>(Element::i64); ++e) {
    auto element = static_cast<Element>(e);
    ArgumentInfo a = tensorInfo("A", 1, false);
    a.element = element;
    KernelInfo info = infoOf({a});
    for (uintptr_t at = 64; at < 64 + 16; ++at)
      EXPECT_EQ(findings(info, {tensor(at, {2}, {}, element)}).empty(), at % bytesOf(element) == 0)
          << nameOf(element) << " at " << at;
  }
}

//===----------------------------------------------------------------------===//
// Overlap, against the addresses of all elements
//===----------------------------------------------------------------------===//

/// The first byte of every element, with how often it occurs.
std::multiset<uintptr_t> addresses(const Argument &tensor) {
  std::multiset<uintptr_t> all;
  std::vector<int64_t> index(tensor.sizes.size(), 0);
  for (int64_t size : tensor.sizes)
    if (size == 0)
      return all;
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * tensor.strides[d];
    all.insert(reinterpret_cast<uintptr_t>(tensor.data) +
               static_cast<uintptr_t>(offset) * bytesOf(tensor.element));
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == tensor.sizes[d - 1])
      index[--d] = 0;
    if (d == 0)
      return all;
  }
}

bool repeats(const Argument &tensor) {
  auto all = addresses(tensor);
  return std::set<uintptr_t>(all.begin(), all.end()).size() != all.size();
}

bool touch(const Argument &a, const Argument &b) {
  std::set<uintptr_t> bytes;
  for (uintptr_t at : addresses(a))
    for (size_t k = 0; k < bytesOf(a.element); ++k)
      bytes.insert(at + k);
  for (uintptr_t at : addresses(b))
    for (size_t k = 0; k < bytesOf(b.element); ++k)
      if (bytes.count(at + k))
        return true;
  return false;
}

TEST(CheckArguments, SelfOverlapIsAlwaysFound) {
  std::mt19937 random(7);
  KernelInfo info = infoOf({tensorInfo("A", 3, true)});
  int overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    Argument a = tensor(4096, {int64_t(random() % 4), int64_t(random() % 4), int64_t(random() % 4)},
                        {int64_t(random() % 14), int64_t(random() % 14), 1});
    bool found = findings(info, {a}).find("same memory") != std::string::npos;
    overlapping += repeats(a);
    if (repeats(a))
      ASSERT_TRUE(found) << a.sizes[0] << "," << a.sizes[1] << "," << a.sizes[2] << " / "
                         << a.strides[0] << "," << a.strides[1];
  }
  EXPECT_GT(overlapping, 1000);
}

// Rows may be padded, and dimensions permuted.
TEST(CheckArguments, OrdinaryLayoutsDoNotOverlapThemselves) {
  KernelInfo info = infoOf({tensorInfo("A", 3, true)});
  for (int64_t a = 0; a < 4; ++a)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t pad = 0; pad < 3; ++pad) {
          int64_t row = c + pad;
          EXPECT_EQ(findings(info, {tensor(64, {a, b, c}, {b * row, row, 1})}), "");
          EXPECT_EQ(findings(info, {tensor(64, {a, b, c}, {row, a * row, 1})}), "");
        }
}

TEST(CheckArguments, OverlapOfTwoIsAlwaysFound) {
  std::mt19937 random(11);
  KernelInfo info = infoOf({tensorInfo("A", 2, false), tensorInfo("B", 2, true)});
  info.arguments[1].element = Element::f16;
  int overlapping = 0, accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    auto some = [&](Element element) {
      int64_t rows = random() % 4, columns = random() % 4;
      int64_t stride = columns + random() % 8;
      return tensor(4096 + (random() % 40) * 4, {rows, columns}, {stride, 1}, element);
    };
    Argument a = some(Element::f32), b = some(Element::f16);
    bool refused = !findings(info, {a, b}).empty();
    if (touch(a, b)) {
      ++overlapping;
      ASSERT_TRUE(refused);
    }
    accepted += !refused;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(accepted, 1000);
}

// Column slices of one matrix, in both orders and for all row lengths.
TEST(CheckArguments, ColumnSlicesAreToldExactly) {
  KernelInfo info = infoOf({tensorInfo("A", 2, true), tensorInfo("B", 2, true)});
  for (int64_t row = 1; row <= 9; ++row)
    for (int64_t at = 0; at < row; ++at)
      for (int64_t width = 1; at + width <= row; ++width)
        for (int64_t other = 0; other < row; ++other)
          for (int64_t second = 1; other + second <= row; ++second) {
            Argument a = tensor(4096 + at * 4, {4, width}, {row, 1});
            Argument b = tensor(4096 + other * 4, {4, second}, {row, 1});
            ASSERT_EQ(!findings(info, {a, b}).empty(), touch(a, b))
                << row << ": " << at << "+" << width << " and " << other << "+" << second;
          }
}

TEST(CheckArguments, WhatMayOverlap) {
  KernelInfo info = infoOf({tensorInfo("A", 1, false), tensorInfo("B", 1, false)});
  std::vector<Argument> same = {tensor(64, {8}), tensor(64, {8})};
  EXPECT_EQ(findings(info, same), ""); // both are only read
  info.arguments[0].written = true;
  EXPECT_EQ(findings(info, same), "PS1305 `A` and `B` share memory, and `A` is written\n");
  info.arguments[0].mayOverlap = true;
  EXPECT_NE(findings(info, same), ""); // both must be declared
  info.arguments[1].mayOverlap = true;
  EXPECT_EQ(findings(info, same), "");
  info.arguments[0].mayOverlap = false;
  EXPECT_EQ(findings(info, {tensor(64, {8}), tensor(96, {8})}), ""); // side by side
  EXPECT_EQ(findings(info, {tensor(64, {0}), tensor(64, {8})}), ""); // nothing to share
}

//===----------------------------------------------------------------------===//
// The quick check
//===----------------------------------------------------------------------===//

KernelInfo matmulInfo() {
  KernelInfo info =
      infoOf({tensorInfo("A", 2, false, {"M", "K"}), tensorInfo("B", 2, false, {"N", "K"}),
              tensorInfo("C", 2, true, {"M", "N"})});
  resolveSizes(info);
  return info;
}

TEST(ArgumentsFit, OrdinaryLaunchesAreDecidedQuickly) {
  KernelInfo info = matmulInfo();
  EXPECT_TRUE(argumentsFit(
      info, std::vector{tensor(0x1000, {4, 8}), tensor(0x2000, {6, 8}), tensor(0x3000, {4, 6})}));
  // Padded rows, and one row, whose stride does not count.
  EXPECT_TRUE(
      argumentsFit(info, std::vector{tensor(0x1000, {1, 8}, {0, 1}),
                                     tensor(0x2000, {6, 8}, {16, 1}), tensor(0x3000, {1, 6})}));
}

TEST(ArgumentsFit, FixedAndConstantSizes) {
  KernelInfo info = infoOf({tensorInfo("A", 2, false, {"M", "16"})});
  info.fixedSizes["M"] = 4;
  resolveSizes(info);
  EXPECT_TRUE(argumentsFit(info, std::vector{tensor(0x1000, {4, 16})}));
  EXPECT_FALSE(argumentsFit(info, std::vector{tensor(0x1000, {5, 16})}));
  EXPECT_FALSE(argumentsFit(info, std::vector{tensor(0x1000, {4, 17})}));
}

TEST(ArgumentsFit, SizesTooLargeForSumsAreLeftToTheSlowCheck) {
  KernelInfo info = infoOf({tensorInfo("A", 2, false)});
  resolveSizes(info);
  EXPECT_FALSE(argumentsFit(
      info, std::vector{tensor(0x1000, {int64_t(1) << 40, int64_t(1) << 20}, {0, 1})}));
  EXPECT_FALSE(argumentsFit(
      info, std::vector{tensor(0x1000, {int64_t(1) << 32, 2}, {int64_t(1) << 32, 1})}));
}

} // namespace
