//===- RenderTest.cpp - Diagnostics as text for people --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/SourceText.h"
#include "Diagnostics/Style.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>
#include <map>

using namespace penstock;

namespace {

/// Renders with source lines from a table instead of files.
std::string rendered(const Diagnostic &diagnostic,
                     const std::map<uint32_t, std::string> &lines = {}) {
  RenderOptions options;
  options.shortFileNames = true;
  options.sourceLine = [&](const std::string &, uint32_t line) -> std::optional<std::string> {
    auto found = lines.find(line);
    return found == lines.end() ? std::nullopt : std::optional(found->second);
  };
  return render(diagnostic, options);
}

Diagnostic simple(SourceLocation location, std::string message) {
  Diagnostic d;
  d.code = 1203;
  d.location = std::move(location);
  d.message = std::move(message);
  return d;
}

TEST(Style, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 0, 2), "one two three");
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("one two three", 8, 2, 4), "one\n  two\n  three");
  EXPECT_EQ(wrapped("incomprehensibilities a", 8, 2), "incomprehensibilities\n  a");
  EXPECT_EQ(wrapped("", 8, 2), "");
}

TEST(Render, WrapsMessagesButNotSource) {
  Diagnostic d = simple({"k.cpp", 7, 1}, "the load may overwrite a slot that is still read");
  d.helps.push_back("wait for the release of the slot before refilling it");
  RenderOptions options;
  options.width = 40;
  const std::string source = "x = a_call(with, many, arguments, that_are, not_wrapped);";
  options.sourceLine = [&](const std::string &, uint32_t) { return source; };
  EXPECT_EQ(render(d, options), "k.cpp:7: error PS1203: the load may\n"
                                "        overwrite a slot that is still\n"
                                "        read\n"
                                "    7 | " +
                                    source +
                                    "\n"
                                    "      | ^\n"
                                    "  help: wait for the release of the slot\n"
                                    "        before refilling it\n");
}

TEST(Render, ColorsOnlyOnRequest) {
  Diagnostic d = simple({"k.cpp", 0, 0}, "message");
  RenderOptions options;
  EXPECT_EQ(render(d, options).find('\033'), std::string::npos);
  options.color = true;
  EXPECT_EQ(render(d, options), "\033[1mk.cpp: \033[0m\033[1;31merror PS1203: \033[0mmessage\n");
}

TEST(Render, AllParts) {
  Diagnostic d = simple({"/home/me/attention.cpp", 31, 0}, "this schedule overwrites `Ks`");
  d.label = "writes Ks for iteration k+2";
  d.notes.push_back({{"/home/me/attention.cpp", 33, 0}, "still reading Ks", "completes later"});
  d.notes.push_back({{}, "a note without a location", ""});
  d.helps = {"Ks needs 3 versions", "or wait earlier"};
  EXPECT_EQ(rendered(d, {{31, "  b.copy(K.at(0), Ks);"}, {33, "\tb.gemm(Qs, Ks, S);"}}),
            "attention.cpp:31: error PS1203: this schedule overwrites `Ks`\n"
            "   31 |   b.copy(K.at(0), Ks);\n"
            "      |   ^ writes Ks for iteration k+2\n"
            "attention.cpp:33: note: still reading Ks\n"
            "   33 | \tb.gemm(Qs, Ks, S);\n"
            "      | \t^ completes later\n"
            "note: a note without a location\n"
            "  help: Ks needs 3 versions\n"
            "  help: or wait earlier\n");
}

TEST(Render, SeverityAndCode) {
  Diagnostic d = simple({}, "text");
  d.severity = Severity::Warning;
  d.code = 7;
  EXPECT_EQ(rendered(d), "warning PS0007: text\n");
  d.severity = Severity::Note;
  d.code = 0;
  EXPECT_EQ(rendered(d), "note: text\n");
  EXPECT_EQ(codeName(1203), "PS1203");
  EXPECT_EQ(codeName(1), "PS0001");
  EXPECT_EQ(codeName(12345), "PS12345");
}

TEST(Render, WithoutSourceTheLabelStays) {
  Diagnostic d = simple({"gone.cpp", 12, 0}, "text");
  EXPECT_EQ(rendered(d), "gone.cpp:12: error PS1203: text\n");
  d.label = "here";
  EXPECT_EQ(rendered(d), "gone.cpp:12: error PS1203: text\n      here\n");
}

TEST(Render, AFileWithoutALine) {
  EXPECT_EQ(rendered(simple({"kernel.mlir", 0, 0}, "text"), {{0, "never"}}),
            "kernel.mlir: error PS1203: text\n");
}

TEST(Render, Columns) {
  const std::map<uint32_t, std::string> lines = {{1, "abcdef"}, {2, ""}, {3, "   "}};
  auto caret = [&](uint32_t line, uint32_t column) {
    std::string text = rendered(simple({"a.cpp", line, column}, "text"), lines);
    text.pop_back();
    std::string last = text.substr(text.rfind('\n') + 1);
    return last.find('^') - last.find("| ") - 2;
  };
  EXPECT_EQ(caret(1, 0), 0u);
  EXPECT_EQ(caret(1, 1), 0u);
  EXPECT_EQ(caret(1, 4), 3u);
  EXPECT_EQ(caret(1, 7), 6u);
  EXPECT_EQ(caret(1, 4000000000u), 6u); // not past the end of the line
  EXPECT_EQ(caret(2, 0), 0u);
  EXPECT_EQ(caret(2, 5), 0u);
  EXPECT_EQ(caret(3, 0), 0u);
}

TEST(Render, LongLineNumbersKeepTheMargin) {
  EXPECT_EQ(rendered(simple({"a.cpp", 1234567, 0}, "text"), {{1234567, "x"}}),
            "a.cpp:1234567: error PS1203: text\n"
            "1234567 | x\n"
            "        | ^\n");
}

TEST(Render, SeveralFollowEachOther) {
  std::vector<Diagnostic> all = {simple({}, "one"), simple({}, "two")};
  EXPECT_EQ(render(all), "error PS1203: one\nerror PS1203: two\n");
  EXPECT_EQ(render(std::vector<Diagnostic>()), "");
}

TEST(Render, TheErrorCarriesItsText) {
  std::vector<Diagnostic> all = {simple({}, "one")};
  Error error(all);
  EXPECT_STREQ(error.what(), "error PS1203: one\n");
  ASSERT_EQ(error.diagnostics().size(), 1u);
  EXPECT_EQ(error.diagnostics()[0].message, "one");
  EXPECT_EQ(to_text(all), "error PS1203: one\n");
}

TEST(SourceText, ReadsLinesOfFiles) {
  std::string file = testing::TempDir() + "penstock-source-text.cpp";
  std::ofstream(file, std::ios::binary) << "first\r\n\n  third";
  EXPECT_EQ(readSourceLine(file, 1), "first");
  EXPECT_EQ(readSourceLine(file, 2), "");
  EXPECT_EQ(readSourceLine(file, 3), "  third");
  EXPECT_EQ(readSourceLine(file, 4), std::nullopt);
  EXPECT_EQ(readSourceLine(file, 0), std::nullopt);
  EXPECT_EQ(readSourceLine(file + ".none", 1), std::nullopt);
  EXPECT_EQ(readSourceLine("", 1), std::nullopt);
  std::remove(file.c_str());
}

TEST(SourceText, TakesNoLinesOfDevicesAndFolders) {
  // The name may come from a `.file` of somebody's PTX.
  for (const char *file : {"/dev/zero", "/dev/stdin", "/"})
    EXPECT_FALSE(readSourceLine(file, 1)) << file;
}

TEST(Codes, EveryCodeHasItsOwnNumberAndSummary) {
  std::map<unsigned, std::string> seen;
#define PENSTOCK_CODE(NAME, NUMBER, SUMMARY)                                                       \
  EXPECT_TRUE(seen.emplace(NUMBER, #NAME).second) << #NAME;                                        \
  EXPECT_EQ(std::string(codeSummary(NUMBER)), SUMMARY);
#include "Diagnostics/Codes.def"
  EXPECT_GT(seen.size(), 40u);
}

/// Columns of clang (the name) and of g++ (the parenthesis) for the same call.
TEST(StartOfCall, IsTheSameForBothCompilers) {
  auto starts = [](std::string_view line, std::string_view call, size_t expected) {
    size_t name = line.find(call), parenthesis = line.find('(', name);
    EXPECT_EQ(startOfCall(line, name), expected) << line;
    EXPECT_EQ(startOfCall(line, parenthesis), expected) << line;
  };
  starts("  b.copy(x, y);", "copy", 2);
  starts("  auto t = b.local<f32>(0, 4);", "local", 11);
  starts("  auto t = b.local<Pair<f32, i8>>(4);", "local", 11);
  starts("  b.copy(A.at(m0, 0).dims(0, 2), t);", "dims", 9);
  starts("  self->b.gemm(As[k], Bs, acc);", "gemm", 2);
  starts("  rings[i][2].push(x);", "push", 2);
  starts("  return penstock::rows(v);", "rows", 9);
  starts("  fill(t, 0);", "fill", 2);
}

TEST(StartOfCall, LeavesOtherColumns) {
  EXPECT_EQ(startOfCall("  x = n / 0;", 6), 6u);
  EXPECT_EQ(startOfCall("  x = n / 0;", 8), 8u);
  EXPECT_EQ(startOfCall("  (a)", 2), 2u);
  EXPECT_EQ(startOfCall(").f(x)", 2), 2u) << "what it is a member of begins before this line";
  EXPECT_EQ(startOfCall("", 0), 0u);
  EXPECT_EQ(startOfCall("abc", 3), 3u);
  EXPECT_EQ(startOfCall("abc", 700), 700u);
}

} // namespace
