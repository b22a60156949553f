//===- CommandLine.cpp - Words of a call, as data -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine.h"

#include <charconv>

CommandLine parseCommandLine(const CommandSpec &command, int argc, char **argv) {
  CommandLine line;
  for (int i = 0; i < argc && line.error.empty(); ++i) {
    std::string word = argv[i];
    if (word.rfind("--", 0) != 0 && word != "-o") {
      line.words.push_back(word);
      continue;
    }
    std::string name = word.rfind("--", 0) == 0 ? word.substr(2) : "output", value;
    bool given = false;
    if (size_t equal = name.find('='); equal != std::string::npos) {
      value = name.substr(equal + 1);
      name.resize(equal);
      given = true;
    }
    const OptionSpec *found = nullptr;
    for (const OptionSpec &option : command.options)
      if (option.name == name)
        found = &option;
    if (name == "help") {
      line.options.emplace(name, "");
    } else if (!found) {
      line.error = "`" + std::string(command.name) + "` has no option `" + word + "`";
    } else if (!found->value) {
      if (given)
        line.error = "`--" + name + "` takes no value";
      line.options.emplace(name, "");
    } else {
      if (!given && i + 1 >= argc)
        line.error = "`--" + name + "` needs a value: " + found->value;
      else if (!given)
        value = argv[++i];
      line.options.emplace(name, value);
    }
  }
  return line;
}

std::string helpOf(const CommandSpec &command) {
  std::string text =
      std::string(command.summary) + "\n\nusage: penstock " + command.usage + "\n\noptions:\n";
  for (const OptionSpec &option : command.options) {
    std::string left = std::string("  --") + option.name;
    if (option.value)
      left += std::string(" ") + option.value;
    left.resize(std::max<size_t>(left.size() + 2, 30), ' ');
    text += left + option.help + "\n";
  }
  return text + "\nexample:\n  " + command.example + "\n";
}

std::optional<std::vector<std::pair<std::string, std::string>>>
parsePairs(const std::string &text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    size_t equal = part.find('=');
    if (equal == std::string::npos || equal == 0)
      return std::nullopt;
    pairs.emplace_back(part.substr(0, equal), part.substr(equal + 1));
    at = comma + 1;
  }
  return pairs;
}

std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}
