//===- InputsTest.cpp - Values of inputs, and kernels that need them ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PagedKernel.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Testing/Inputs/KernelInputs.h"

#include <gtest/gtest.h>
#include <set>

using namespace penstock;

namespace paged {

constexpr Tolerance tolerance = {.of_largest = 0x1p-8};
PENSTOCK_KERNEL(Decode, page, dim, group, wrong_page, no_rescaling, more);
PENSTOCK_REFERENCE(Decode, decodeOnHost, tolerance);
PENSTOCK_KERNEL(SegmentSum, columns);

struct Described : Decode {
  static constexpr auto signature =
      "q[B,H,D], K[P,L,G,D], V[P,L,G,D], table[B,N] in 0..P-1, lengths[B] in 1..N*L, "
      "scale -> o[B,H,D]";
};
PENSTOCK_KERNEL(Described, page, dim, group, wrong_page);
PENSTOCK_REFERENCE(Described, decodeOnHost, tolerance);

} // namespace paged

namespace {

KernelInputs inputsFor(const char *kernel, const std::vector<std::string> &stated = {}) {
  std::vector<Diagnostic> diagnostics;
  auto source = kernelSource(kernel, {}, diagnostics);
  auto inputs = inputsOf(*source, stated, diagnostics);
  EXPECT_TRUE(inputs && diagnostics.empty()) << to_text(diagnostics);
  if (!inputs)
    return {};
  addRegistered(*inputs, kernel, {});
  return std::move(*inputs);
}

std::vector<double> valuesOf(const KernelInputs &inputs, const Shape &shape, size_t argument) {
  MadeArguments made = inputs.make(shape, Data::Exact, 1);
  EXPECT_TRUE(made.diagnostics.empty()) << to_text(made.diagnostics);
  std::vector<double> values;
  for (size_t i = 0; made.diagnostics.empty() && i < elementsOf(made.arguments[argument]); ++i)
    values.push_back(element_at(made.arguments[argument], i));
  return values;
}

const Shape decoding = {{"B", 6}, {"H", 4}, {"D", 32}, {"P", 5}, {"L", 16}, {"G", 2}, {"N", 4}};

TEST(Inputs, IndicesAndLengthsHaveInferredRanges) {
  KernelInputs inputs = inputsFor("Decode");
  EXPECT_EQ(inputs.inputs.text(), "`table` in 0..P-1 (inferred), `lengths` in 1..N*16 (inferred)");
  std::vector<double> pages = valuesOf(inputs, decoding, 3);
  EXPECT_EQ(std::set<double>(pages.begin(), pages.end()), (std::set<double>{0, 1, 2, 3, 4}));
  for (double length : valuesOf(inputs, decoding, 4)) {
    EXPECT_GE(length, 1);
    EXPECT_LE(length, 64);
  }
  // Both bounds occur.
  EXPECT_EQ(valuesOf(inputs, decoding, 4)[0], 64);
  EXPECT_EQ(valuesOf(inputs, decoding, 4)[1], 1);
}

TEST(Inputs, OffsetsOfNeighborsAscend) {
  KernelInputs inputs = inputsFor("SegmentSum");
  EXPECT_EQ(inputs.inputs.text(), "`starts` in 0..T ascending (inferred)");
  std::vector<double> starts = valuesOf(inputs, {{"T", 50}, {"C", 8}, {"S", 6}}, 1);
  EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
  EXPECT_EQ(starts.front(), 0);
  EXPECT_EQ(starts.back(), 50);
}

TEST(Inputs, CallersAndSignaturesDescribeThem) {
  EXPECT_EQ(inputsFor("Described").inputs.text(),
            "`table` in 0..P-1 (signature), `lengths` in 1..N*L (signature)");
  KernelInputs stated = inputsFor("Decode", {"lengths=3..N+1", "table=permutation"});
  EXPECT_EQ(stated.inputs.text(), "`table` in permutation (stated), `lengths` in 3..N+1 (stated)");
  for (double length : valuesOf(stated, decoding, 4))
    EXPECT_TRUE(length >= 3 && length <= 5) << length;
  std::vector<double> table = valuesOf(stated, decoding, 3);
  for (size_t row = 0; row < 6; ++row)
    EXPECT_EQ(
        std::set<double>(table.begin() + int64_t(row) * 4, table.begin() + int64_t(row + 1) * 4),
        (std::set<double>{0, 1, 2, 3}));
}

TEST(Inputs, PartitionsHaveTheirSum) {
  KernelInputs inputs = inputsFor("Decode", {"lengths=2..40 partition"});
  double sum = 0;
  for (double length : valuesOf(inputs, decoding, 4)) {
    EXPECT_GE(length, 2);
    sum += length;
  }
  EXPECT_EQ(sum, 40);
}

TEST(Inputs, WrongDescriptionsAreDiagnostics) {
  auto message = [](const std::string &stated) {
    std::vector<Diagnostic> diagnostics;
    auto source = kernelSource("Decode", {}, diagnostics);
    EXPECT_FALSE(inputsOf(*source, {stated}, diagnostics));
    if (diagnostics.size() != 1 || diagnostics[0].code != 2204 || diagnostics[0].helps.empty())
      return to_text(diagnostics);
    return diagnostics[0].message;
  };
  EXPECT_EQ(message("length=1..N"), "`--input length=1..N`: the kernel has no argument `length`");
  EXPECT_EQ(message("lengths"), "`--input lengths`: `=` is expected after the name of an argument");
  EXPECT_EQ(message("lengths=1..X"),
            "`--input lengths=1..X`: `X` is neither a size nor a scalar of the kernel");
  EXPECT_EQ(message("lengths=1.."),
            "`--input lengths=1..`: a size or an integer is expected at the end");
  EXPECT_EQ(message("lengths=ascending"),
            "`--input lengths=ascending`: a range as 0..N is expected before ascending");
  EXPECT_EQ(message("q=permutation"),
            "`--input q=permutation`: only integers are permuted or partitioned");
}

TEST(Inputs, ShapesSatisfyConditions) {
  KernelInputs inputs = inputsFor("Decode");
  std::vector<Shape> shapes = inputs.allShapes();
  EXPECT_GE(shapes.size(), 3u);
  for (const Shape &shape : shapes) {
    auto at = [&](const std::string &name) {
      for (const auto &[key, value] : shape)
        if (key == name)
          return int64_t(value.value);
      return int64_t(-1);
    };
    EXPECT_EQ(at("L"), 16) << textOf(shape);
    ASSERT_GT(at("G"), 0) << textOf(shape);
    EXPECT_EQ(at("H") % at("G"), 0) << textOf(shape);
    EXPECT_LE(at("H") / at("G"), 16) << textOf(shape);
    // One tile holds a row; sizes without tiles are small.
    EXPECT_LE(at("D"), 32) << textOf(shape);
    EXPECT_LE(at("B"), 8) << textOf(shape);
    EXPECT_LE(at("N"), 8) << textOf(shape);
  }
}

TEST(Inputs, FindingsOfTheEmulatorAreNotRefusals) {
  Diagnostic d;
  for (unsigned code : {1301u, 1302u, 1401u, 1608u})
    EXPECT_TRUE((d.code = code, isRefusal(d))) << code;
  for (unsigned code : {1402u, 1408u, 1742u, 1772u, 2101u})
    EXPECT_FALSE((d.code = code, isRefusal(d))) << code;
}

/// Checks with the inputs that check chooses.
CheckReport checked(const std::string &kernel,
                    const std::vector<std::pair<std::string, std::string>> &set = {}) {
  CheckOptions options;
  options.timings = 1;
  options.set = set;
  return check_registered(kernel, Target::sm_90a(), options);
}

int wrongIn(const CheckReport &report) {
  int wrong = 0;
  for (const CheckedShape &shape : report.shapes)
    wrong += shape.wrong;
  return wrong;
}

TEST(DefaultInputs, RightKernelsPass) {
  for (const char *kernel : {"Decode", "Described", "SegmentSum"}) {
    CheckReport report = checked(kernel);
    EXPECT_TRUE(report.sound()) << to_text(report);
  }
}

TEST(DefaultInputs, TheWrongPageIsNoticed) {
  CheckReport previous = checked("Decode", {{"wrong_page", "2"}});
  EXPECT_GT(wrongIn(previous), 0) << to_text(previous);
  CheckReport first = checked("Described", {{"wrong_page", "1"}});
  EXPECT_GT(wrongIn(first), 0) << to_text(first);
  // Without coordinates that lengths bound, their range is unknown: then coverage fails.
  CheckReport unknown = checked("Decode", {{"wrong_page", "1"}});
  EXPECT_FALSE(unknown.sound()) << to_text(unknown);
}

TEST(DefaultInputs, MissingRescalingIsNoticed) {
  CheckReport report = checked("Decode", {{"no_rescaling", "true"}});
  EXPECT_GT(wrongIn(report), 0) << to_text(report);
}

TEST(DefaultInputs, LengthsThatAreOffByOneAreNoticed) {
  CheckReport less = checked("Decode", {{"more", "-1"}});
  EXPECT_GT(wrongIn(less), 0) << to_text(less);
  CheckReport more = checked("Decode", {{"more", "1"}});
  EXPECT_FALSE(more.sound()) << to_text(more);
}

} // namespace
