//===- CommandLine.h - Words of a call, as data -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_COMMANDLINE_H
#define PENSTOCK_TOOLS_COMMANDLINE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// An option that a command knows.
struct OptionSpec {
  const char *name;
  const char *value; ///< what stands behind it in the help; null: a flag
  const char *help;
};

struct CommandSpec {
  const char *name;
  const char *summary;
  const char *usage;
  const char *example;
  std::vector<OptionSpec> options;
};

struct CommandLine {
  std::vector<std::string> words;
  std::multimap<std::string, std::string> options;
  std::string error; ///< empty if all words were understood

  bool has(const std::string &name) const { return options.count(name) != 0; }
  std::string get(const std::string &name, const std::string &otherwise = "") const {
    auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }
};

CommandLine parseCommandLine(const CommandSpec &command, int argc, char **argv);
std::string helpOf(const CommandSpec &command);

/// "M=512,N=512" as pairs; no value if the text is not of that form.
std::optional<std::vector<std::pair<std::string, std::string>>> parsePairs(const std::string &text);
std::optional<int64_t> parseInteger(const std::string &text);

#endif // PENSTOCK_TOOLS_COMMANDLINE_H
