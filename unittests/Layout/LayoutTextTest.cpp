//===- LayoutTextTest.cpp - Layouts as text -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Layout.h"
#include "gtest/gtest.h"

#include <random>

using namespace penstock::layout;

namespace {

std::string again(const char *text) {
  Parsed<Layout> parsed = parseLayout(text);
  return parsed.value ? print(*parsed.value)
                      : parsed.error + " at " + std::to_string(parsed.position);
}

std::string againSwizzled(const char *text) {
  Parsed<SwizzledLayout> parsed = parseSwizzledLayout(text);
  return parsed.value ? print(*parsed.value)
                      : parsed.error + " at " + std::to_string(parsed.position);
}

TEST(LayoutText, ReadsAndPrints) {
  for (const char *text :
       {"8:1", "(8):(1)", "((8,2),(16,4)):((1,64),(8,256))", "(1,(2,(3,4))):(0,(5,(6,7)))"})
    EXPECT_EQ(again(text), text);
  EXPECT_EQ(again(" ( _8 , 2 ) : ( _1, 8 ) "), "(8,2):(1,8)");
  EXPECT_EQ(again("12"), "12:1");
  EXPECT_EQ(again("(4,(2,3))"), "(4,(2,3)):(1,(4,8))");
}

TEST(LayoutText, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(again(""), "expected a number at 0");
  EXPECT_EQ(again("()"), "expected a number at 1");
  EXPECT_EQ(again("(4,8:(1,4)"), "expected `)` at 4");
  EXPECT_EQ(again("(4,8):(1,4"), "expected `)` at 10");
  EXPECT_EQ(again("(4,8):1"), "strides are not nested like extents at 6");
  EXPECT_EQ(again("(4,8):(1,(2,3))"), "strides are not nested like extents at 9");
  EXPECT_EQ(again("(4,0):(1,4)"), "an extent is at least 1 at 3");
  EXPECT_EQ(again("(4,0)"), "an extent is at least 1 at 3");
  EXPECT_EQ(again("4:-1"), "expected a number at 2");
  EXPECT_EQ(again("4:1x"), "text after the layout at 3");
  EXPECT_EQ(again("99999999999999999999:1"), "the number is too large at 0");
  EXPECT_EQ(again("(2000000,2000000,2000000)"), "the layout is too large at 9");
  EXPECT_EQ(again("(2000000,2000000):(2000000,1)"), "the layout is too large at 0");
  EXPECT_EQ(again((std::string(200000, '(') + "1").c_str()),
            "parentheses are nested too deeply at 33");
}

TEST(LayoutText, Swizzled) {
  const char *text = "Sw<3,4,3> o smem_ptr[16b] o (8,(64,2)):(64,(1,512))";
  EXPECT_EQ(againSwizzled(text), text);
  EXPECT_EQ(againSwizzled("Swizzle<2,4,3> o smem_ptr[16b](unset) o (_8,_32):(_32,_1)"),
            "Sw<2,4,3> o smem_ptr[16b] o (8,32):(32,1)");
  EXPECT_EQ(againSwizzled("Sw<0,4,3>osmem_ptr o 8"), "Sw<0,4,3> o smem_ptr[8b] o 8:1");
  EXPECT_EQ(againSwizzled("8:1"), "expected `Sw<` at 0");
  EXPECT_EQ(againSwizzled("Sw<3,4> o"), "expected `,` at 6");
  EXPECT_EQ(againSwizzled("Sw<3,4,2> o smem_ptr o 8:1"), "no such swizzle at 9");
  EXPECT_EQ(againSwizzled("Sw<99,4,99> o smem_ptr o 8:1"), "no such swizzle at 11");
  EXPECT_EQ(againSwizzled("Sw<3,4,3> o smem_ptr[6b] o 8:1"),
            "elements have 4, 8, 16, 32 or 64 bits at 24");
  EXPECT_EQ(againSwizzled("Sw<3,4,3> o smem_ptr[16b] o "), "expected a number at 28");
}

TEST(LayoutText, SwizzleOfAddresses) {
  // Bits 5 and 6 with bits 7 and 8: Sw<2,5,2>.
  AddressSwizzle swizzle{2, 5, 2};
  for (int64_t address = 0; address < 2048; ++address)
    ASSERT_EQ(swizzle.apply(address), address ^ (address >> 7 & 1) << 5 ^ (address >> 8 & 1) << 6);
}

/// Whatever the text, there is a layout that prints and reads as itself, or an
/// error within the text.
TEST(LayoutText, AnyTextIsSafe) {
  std::mt19937 random(11);
  const std::string letters = "(((,,,:)))0123456789_ -xSwsmem_ptr<>[]bo";
  const std::string seeds[] = {"((8,2),(16,4)):((1,64),(8,256))", "(4,(2,3))",
                               "Sw<3,4,3> o smem_ptr[16b] o (8,(64,2)):(64,(1,512))"};
  unsigned good = 0, bad = 0;
  auto look = [&](const auto &parsed, const std::string &text, auto parse) {
    if (parsed.value) {
      ++good;
      ASSERT_EQ(parse(print(*parsed.value)).value, parsed.value) << text;
    } else {
      ++bad;
      ASSERT_FALSE(parsed.error.empty());
      ASSERT_LE(parsed.position, text.size());
    }
  };
  for (unsigned round = 0; round < 200000; ++round) {
    std::string text = round % 4 ? seeds[random() % 3] : "";
    for (unsigned edits = random() % 4; edits > 0; --edits) {
      size_t at = random() % (text.size() + 1);
      if (random() % 2 && at < text.size())
        text.erase(at, 1 + random() % 3);
      else
        text.insert(at, 1, letters[random() % letters.size()]);
    }
    look(parseLayout(text), text, [](const std::string &t) { return parseLayout(t); });
    look(parseSwizzledLayout(text), text,
         [](const std::string &t) { return parseSwizzledLayout(t); });
  }
  EXPECT_GT(good, 10000u);
  EXPECT_GT(bad, 10000u);
}

} // namespace
