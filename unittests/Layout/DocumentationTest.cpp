//===- DocumentationTest.cpp - The examples of the page on layouts --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ examples of the page stand here word for word; its tables are read and
// computed again.
//
//===----------------------------------------------------------------------===//
#include "Layout/LayoutOf.h"
#include "Layout/LegalShapes.h"
#include "gtest/gtest.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

using namespace penstock::layout;

namespace {

TEST(Documentation, SharedMemory) {
  SharedTile tile = *sharedTileFor(128, 128, 16); // the widest swizzle that divides a row
  EXPECT_EQ(tile.swizzle, Swizzle::B128);
  EXPECT_EQ(tile.chunks(), 2);
  EXPECT_EQ(tile.alignment(), 1024);
  // Row 3, column 72: piece 1 of row 3 of the second chunk, where piece 1 ^ 3 = 2 is.
  EXPECT_EQ(tile.byteOffset(3, 72), 128 * 128 + 3 * 128 + 2 * 16);
}

TEST(Documentation, Descriptors) {
  MatrixOperand a{*sharedTileFor(128, 128, 16), Major::K};
  EXPECT_EQ(wgmmaDescriptor(a), 0x4000004000010000u);
  EXPECT_EQ(tcgen05Descriptor(a), 0x4000404000010000u);
  EXPECT_EQ(operandStepBytes(a, 0, 16), 32);        // the next 16 of K
  EXPECT_EQ(operandStepBytes(a, 0, 64), 128 * 128); // the next chunk
  EXPECT_EQ(operandStepBytes(a, 64, 0), 64 * 128);  // the next 64 rows
}

TEST(Documentation, LegalShapes) {
  EXPECT_EQ(refuseWgmma(64, 12, MmaType::F16, MmaType::F16, AccType::F32, Major::K, Major::K),
            "n is 12, but wgmma needs a multiple of 8 from 8 to 256");
}

TEST(Documentation, Registers) {
  Fragment d = wgmmaAccumulator(64, 32);
  EXPECT_EQ(d.at(5, 6), (Coordinate{9, 10})); // row 9, column 10
  EXPECT_EQ(d.baseOf(5), (Coordinate{1, 2}));
  EXPECT_EQ(d.offsetOf(6), (Coordinate{8, 8}));
}

TEST(Documentation, TensorMemory) {
  EXPECT_EQ((TensorAccumulator{1, 128, 64}.cellOf(70, 40)), (TensorCell{70, 40}));
  EXPECT_EQ((TensorAccumulator{1, 64, 64}.cellOf(20, 40)), (TensorCell{36, 40}));
  EXPECT_EQ((TensorAccumulator{2, 128, 64}.cellOf(20, 40)), (TensorCell{84, 8}));
}

std::string contents(const std::string &path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string page() { return contents(PENSTOCK_SOURCE_DIR "/docs/contributing/layouts.md"); }

/// Spaces as the formatter wants them do not matter.
std::string withoutSpaces(const std::string &text) {
  std::string out;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      out += c;
  return out;
}

TEST(Documentation, ExamplesStandHere) {
  std::string tests =
      withoutSpaces(contents(PENSTOCK_SOURCE_DIR "/unittests/Layout/DocumentationTest.cpp"));
  std::string text = page();
  const std::string open = "```cpp\n", close = "```";
  unsigned examples = 0;
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    std::string code = text.substr(at, text.find(close, at) - at);
    EXPECT_NE(tests.find(withoutSpaces(code)), std::string::npos) << code;
    ++examples;
  }
  EXPECT_EQ(examples, 5u);
}

/// Rows of the table that has this head, without quotes.
std::vector<std::vector<std::string>> table(const std::string &head) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(page());
  std::string line;
  while (std::getline(lines, line) && line != head)
    ;
  std::getline(lines, line); // the rule below the head
  while (std::getline(lines, line) && !line.empty() && line[0] == '|') {
    std::vector<std::string> row;
    std::istringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');) {
      size_t from = cell.find_first_not_of(" `"), to = cell.find_last_not_of(" `");
      row.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(Documentation, Operations) {
  auto layout = [](const std::string &text) {
    Parsed<Layout> parsed = parseLayout(text);
    EXPECT_TRUE(parsed.value) << text;
    return parsed.value.value_or(Layout());
  };
  auto rows = table("| operation | of | and | is |");
  EXPECT_EQ(rows.size(), 9u);
  for (const auto &row : rows) {
    ASSERT_EQ(row.size(), 4u);
    const std::string &operation = row[0];
    Layout a = layout(row[1]);
    std::optional<Layout> result;
    if (operation == "coalesce")
      result = coalesce(a);
    else if (operation == "composition")
      result = composition(a, layout(row[2]));
    else if (operation == "complement")
      result = complement(a, std::stoll(row[2]));
    else if (operation == "logicalDivide")
      result = logicalDivide(a, layout(row[2]));
    else if (operation == "logicalProduct")
      result = logicalProduct(a, layout(row[2]));
    else if (operation == "rightInverse")
      result = rightInverse(a);
    else if (operation == "leftInverse")
      result = leftInverse(a);
    else if (operation == "inverse")
      result = inverse(a);
    else
      FAIL() << operation;
    EXPECT_EQ(result ? print(*result) : "none", row[3]) << operation << " of " << row[1];
  }
}

TEST(Documentation, LayoutsOfTheHardware) {
  std::map<std::string, std::string> expected = {
      {"wgmmaAccumulator(64, 32)", print(*layoutOf(wgmmaAccumulator(64, 32)))},
      {"wgmmaOperandA(16, 16)", print(*layoutOf(wgmmaOperandA(16, 16)))},
      {"sharedTileFor(8, 64, 16)", print(layoutOf(*sharedTileFor(8, 64, 16)))},
      {"sharedTileFor(64, 32, 16)", print(layoutOf(*sharedTileFor(64, 32, 16)))},
      {"TensorAccumulator{1, 128, 64}", print(layoutOf(TensorAccumulator{1, 128, 64}))},
      {"TensorAccumulator{1, 64, 64}", print(layoutOf(TensorAccumulator{1, 64, 64}))},
      {"TensorAccumulator{2, 128, 64}", print(layoutOf(TensorAccumulator{2, 128, 64}))}};
  auto piece = [&](TensorShape shape, int64_t repeat) {
    expected[std::string("tensorMemoryPiece(") + nameOf(shape) + ", " + std::to_string(repeat) +
             ")"] = print(*layoutOf(tensorMemoryPiece(shape, repeat)));
  };
  piece(TensorShape::S32x32b, 16);
  piece(TensorShape::S16x64b, 4);
  piece(TensorShape::S16x128b, 2);
  piece(TensorShape::S16x256b, 2);
  std::map<std::string, std::string> written;
  for (const auto &row : table("| object | layout |")) {
    ASSERT_EQ(row.size(), 2u);
    written[row[0]] = row[1];
  }
  EXPECT_EQ(written, expected);
}

} // namespace
