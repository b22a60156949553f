//===- SignatureTest.cpp - Names of arguments and their sizes -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Signature.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

/// The parsed signature in one form: "A[M,K] s C[M]", or "error: ..".
std::string read(std::string_view text) {
  Signature signature = parseSignature(text);
  if (!signature.error.empty())
    return "error: " + signature.error;
  std::string result;
  for (const SignatureArgument &argument : signature.arguments) {
    result += (result.empty() ? "" : " ") + argument.name;
    EXPECT_EQ(argument.tensor, !argument.sizes.empty());
    for (size_t i = 0; i < argument.sizes.size(); ++i)
      result += (i ? "," : "[") + argument.sizes[i];
    result += argument.tensor ? "]" : "";
    if (!argument.values.text.empty())
      result += " {" + argument.values.text + "}";
  }
  return result;
}

TEST(Signature, ReadsTensorsScalarsAndNumbers) {
  EXPECT_EQ(read("A[M,K], B[N,K] -> C[M,N]"), "A[M,K] B[N,K] C[M,N]");
  EXPECT_EQ(read("X[N,3], scale, eps -> Y[N]"), "X[N,3] scale eps Y[N]");
  EXPECT_EQ(read("row_max2[heads_1]"), "row_max2[heads_1]");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("   "), "");
}

TEST(Signature, WhiteSpaceDoesNotMatter) {
  EXPECT_EQ(read(" A [ M , K ]\n,\tB[N]->C [ M ] "), "A[M,K] B[N] C[M]");
  EXPECT_EQ(read("A[M,K],B[N]->C[M]"), "A[M,K] B[N] C[M]");
}

TEST(Signature, TheArrowMayStandAnywhere) {
  EXPECT_EQ(read("A[M] -> B[M] -> C[M]"), "A[M] B[M] C[M]");
  EXPECT_EQ(read("A[M], -> C[M]"), "A[M] C[M]");
  EXPECT_EQ(read("A[M], B[M] ->"), "A[M] B[M]");
}

TEST(Signature, SaysWhatIsExpectedAndWhere) {
  EXPECT_EQ(read("A[M,K"), "error: `]` is expected at the end");
  EXPECT_EQ(read("A[M K]"), "error: `]` is expected at \"K]\"");
  EXPECT_EQ(read("A[]"), "error: a size is expected at \"]\"");
  EXPECT_EQ(read("A[M,]"), "error: a size is expected at \"]\"");
  EXPECT_EQ(read("A[M+1]"), "error: `]` is expected at \"+1]\"");
  EXPECT_EQ(read("A[M] B[N]"), "error: `,` or `->` is expected at \"B[N]\"");
  EXPECT_EQ(read("A[M] - B[N]"), "error: `,` or `->` is expected at \"- B[N]\"");
  EXPECT_EQ(read("A[M] > B[N]"), "error: `,` or `->` is expected at \"> B[N]\"");
  EXPECT_EQ(read("A[M],"), "error: a name is expected at the end");
  EXPECT_EQ(read("A[M],,B[N]"), "error: a name is expected at \",B[N]\"");
  EXPECT_EQ(read("[M]"), "error: a name is expected at \"[M]\"");
  EXPECT_EQ(read("-> C[M]"), "error: a name is expected at \"-> C[M]\"");
  EXPECT_EQ(read("2A[M]"), "error: a name is expected at \"2A[M]\"");
  // What follows is shown, but not all of a long text.
  EXPECT_EQ(read("A[M] " + std::string(100, 'x')),
            "error: `,` or `->` is expected at \"" + std::string(16, 'x') + "\"");
}

TEST(Signature, InputsDescribeTheirValues) {
  EXPECT_EQ(read("q[B,D], lengths[B] in 1..N*L -> o[B,D]"), "q[B,D] lengths[B] {1..N*L} o[B,D]");
  EXPECT_EQ(read("starts[S] in 0 .. T ascending, n in -1..2*T-1"),
            "starts[S] {0 .. T ascending} n {-1..2*T-1}");
  EXPECT_EQ(read("order[N] permutation -> y[N]"), "order[N] {permutation} y[N]");
  EXPECT_EQ(read("rows[G] in 0..T partition"), "rows[G] {0..T partition}");
  // Arguments may have the names of the description's words.
  EXPECT_EQ(read("in[M], ascending -> out[M]"), "in[M] ascending out[M]");
  EXPECT_EQ(read("a[M] in"), "error: a size or an integer is expected at the end");
  EXPECT_EQ(read("a[M] in 1"), "error: `..` is expected at the end");
  EXPECT_EQ(read("a[M] in 1..N up"),
            "error: `ascending`, `permutation` or `partition` is expected at \"up\"");
  EXPECT_EQ(read("a[M] ascending"), "error: a range as 0..N is expected before ascending");
  EXPECT_EQ(read("a[M] in 1..2..3"), "error: `,` or `->` is expected at \"..3\"");
  EXPECT_EQ(read("a[M] in 1..99999999999999999999"),
            "error: a size or an integer is expected at \"9999999999999999\"");
}

TEST(Signature, BoundsAreSumsOfProducts) {
  std::string error;
  InputValues values = parseInputValues("-1..N*L-2*N+3 ascending", error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(values.order, InputValues::Ascending);
  auto sizes = [](const std::string &name) -> std::optional<int64_t> {
    return name == "N"   ? std::optional<int64_t>(5)
           : name == "L" ? std::optional<int64_t>(7)
                         : std::nullopt;
  };
  EXPECT_EQ(values.lower.evaluate(sizes), -1);
  EXPECT_EQ(values.upper.evaluate(sizes), 5 * 7 - 2 * 5 + 3);
  EXPECT_EQ(values.upper.evaluate([](const std::string &) { return std::nullopt; }), std::nullopt);
  auto huge = [](const std::string &) { return std::optional<int64_t>(INT64_MAX); };
  EXPECT_EQ(values.upper.evaluate(huge), std::nullopt);
}

TEST(Signature, NumbersAreDecimal) {
  EXPECT_EQ(read("A[0,10]"), "A[0,10]");
  EXPECT_EQ(read("A[4K]"), "error: a size is expected at \"4K]\"");
  EXPECT_EQ(read("A[0x10]"), "error: a size is expected at \"0x10]\"");
  EXPECT_EQ(read("A[010]"), "error: a size is expected at \"010]\"");
}

TEST(Signature, NamesOfArgumentsDiffer) {
  EXPECT_EQ(read("A[M], A[N]"), "error: two arguments are called `A`");
  EXPECT_EQ(read("A[M], N, N"), "error: two arguments are called `N`");
  // A scalar argument and a size are two things.
  EXPECT_EQ(read("A[N], N"), "A[N] N");
}

TEST(Signature, EveryPrefixAndEveryByteIsRead) {
  std::string text = "A[M,K] in 0..M*2-1 ascending, scale -> C[M,4]";
  for (size_t n = 0; n <= text.size(); ++n)
    (void)parseSignature(text.substr(0, n));
  for (size_t at = 0; at < text.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      Signature signature = parseSignature(changed);
      if (signature.error.empty())
        for (const SignatureArgument &argument : signature.arguments)
          EXPECT_FALSE(argument.name.empty()) << changed;
    }
}

} // namespace
