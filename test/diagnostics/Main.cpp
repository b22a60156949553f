//===- Main.cpp - Runs one wrong program by the name of its file ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <string>

namespace {

struct Program {
  std::string file;
  void (*run)();
};

std::map<std::string, Program> &programs() {
  static std::map<std::string, Program> all;
  return all;
}

std::string baseName(const std::string &file) {
  size_t slash = file.find_last_of('/');
  return slash == std::string::npos ? file : file.substr(slash + 1);
}

/// The expected text from the comments of a program.
std::string expectedText(const std::string &file) {
  static const std::string mark = "// EXPECT:";
  std::ifstream in(file);
  std::string text;
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, mark.size(), mark) == 0) {
      // One space belongs to the comment.
      text += line.size() > mark.size() ? line.substr(mark.size() + 1) : "";
      text += "\n";
    }
  return text;
}

/// File names without the folder, which depends on where the sources lie.
std::string shortened(std::string text, const std::string &file) {
  std::string folder = file.substr(0, file.size() - baseName(file).size());
  if (folder.empty())
    return text;
  for (size_t at; (at = text.find(folder)) != std::string::npos;)
    text.erase(at, folder.size());
  return text;
}

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    end = end == std::string::npos ? text.size() : end;
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Prints both texts as one, with the lines that only one of them has marked.
void printDifference(const std::string &expected, const std::string &actual) {
  std::vector<std::string> a = linesOf(expected), b = linesOf(actual);
  size_t first = 0, last = 0;
  while (first < a.size() && first < b.size() && a[first] == b[first])
    ++first;
  while (last < a.size() - first && last < b.size() - first &&
         a[a.size() - 1 - last] == b[b.size() - 1 - last])
    ++last;
  for (size_t i = 0; i < first; ++i)
    std::printf("  %s\n", a[i].c_str());
  for (size_t i = first; i < a.size() - last; ++i)
    std::printf("- %s\n", a[i].c_str());
  for (size_t i = first; i < b.size() - last; ++i)
    std::printf("+ %s\n", b[i].c_str());
  for (size_t i = a.size() - last; i < a.size(); ++i)
    std::printf("  %s\n", a[i].c_str());
}

} // namespace

diagnostics::Registration::Registration(const char *file, void (*run)()) {
  std::string name = baseName(file);
  programs()[name.substr(0, name.rfind('.'))] = {file, run};
}

void diagnostics::expectDiagnostics(const std::vector<penstock::Diagnostic> &found) {
  if (!found.empty())
    throw penstock::Error(found);
}

int main(int argc, char **argv) {
  auto found = argc == 2 ? programs().find(argv[1]) : programs().end();
  if (found == programs().end()) {
    std::fprintf(stderr, "usage: %s PROGRAM, one of:\n", argv[0]);
    for (const auto &[name, program] : programs())
      std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  const std::string &file = found->second.file;
  std::string actual;
  try {
    found->second.run();
    actual = "nothing was reported\n";
  } catch (const penstock::Error &error) {
    actual = shortened(error.what(), file);
  }
  std::string expected = expectedText(file);
  if (actual == expected && !expected.empty())
    return 0;
  std::printf("%s: what is reported (+) is not what is expected (-)\n",
              baseName(file).c_str());
  printDifference(expected, actual);
  return 1;
}
