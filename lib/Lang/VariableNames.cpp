//===- VariableNames.cpp - Tiles are called what the user calls them ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/VariableNames.h"

#include <algorithm>

#include <cctype>
#include <vector>

namespace penstock {
namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The identifier before `= b.shared<`, `(b.local<`, `{b.shared<`, or the one
/// after `Var<..>` for `Var<int> stage(b, 0)`.
std::string nameBefore(std::string_view line, size_t at) {
  // Back over the object: `b.`, `this->b.`, `block->`.
  while (at > 0 && (isWord(line[at - 1]) || line[at - 1] == '.' || line[at - 1] == '>' ||
                    line[at - 1] == '-'))
    --at;
  while (at > 0 && line[at - 1] == ' ')
    --at;
  if (at == 0 || (line[at - 1] != '=' && line[at - 1] != '(' && line[at - 1] != '{'))
    return "";
  bool parenthesis = line[--at] == '(';
  while (at > 0 && line[at - 1] == ' ')
    --at;
  size_t end = at;
  // `auto [full, empty] = ..`: all of them.
  if (!parenthesis && at > 0 && line[at - 1] == ']') {
    size_t open = line.rfind('[', at);
    return open == std::string_view::npos ? "" : std::string(line.substr(open + 1, at - open - 2));
  }
  while (at > 0 && isWord(line[at - 1]))
    --at;
  std::string name(line.substr(at, end - at));
  if (!parenthesis)
    return name;
  // `acc(b.local<..` initializes a member or a variable; `ring.push_back(..`
  // and `normalize(..);` are calls.
  size_t before = line.substr(0, at).find_last_not_of(' ');
  if (before == std::string_view::npos)
    return line.back() == ';' ? "" : name;
  bool member =
      line[before] == '.' || (line[before] == '>' && before > 0 && line[before - 1] == '-');
  return member ? "" : name;
}

/// The variables of a declaration that begins at a position: "slot" and "phase" for
/// `Var<int> slot(b, 0), phase(b, 1);`.
std::vector<std::string> namesAfter(std::string_view line, size_t at) {
  std::vector<std::string> names;
  size_t begin = line.find('>', at);
  while (begin != std::string_view::npos) {
    begin = line.find_first_not_of(' ', begin + 1);
    if (begin == std::string_view::npos)
      break;
    size_t end = begin;
    while (end < line.size() && isWord(line[end]))
      ++end;
    names.emplace_back(line.substr(begin, end - begin));
    // Past the arguments, to a comma.
    int depth = 0;
    for (begin = end; begin < line.size() && (depth || line[begin] != ','); ++begin) {
      depth += line[begin] == '(' || line[begin] == '{';
      depth -= line[begin] == ')' || line[begin] == '}';
      if (depth < 0 || line[begin] == ';')
        return names;
    }
    if (begin == line.size())
      break;
  }
  return names;
}

} // namespace

std::string variableName(std::string_view line, unsigned ordinal) {
  std::vector<std::string> names;
  for (size_t at = 0; at < line.size(); ++at) {
    std::string_view rest = line.substr(at);
    static constexpr std::string_view makers[] = {
        ".shared<", ".local<", ".template shared<", ".template local<", "->shared<",
        "->local<", ".alloc<", ".alloc(",           ".tcgen05.load(",   "packed_tile<"};
    if (std::ranges::any_of(makers, [&](auto maker) { return rest.starts_with(maker); }))
      names.push_back(nameBefore(line, at));
    else if (rest.starts_with("Var<") && (at == 0 || !isWord(line[at - 1])))
      for (std::string &name : namesAfter(line, at))
        names.push_back(std::move(name));
  }
  // A line of a helper that is used again runs again.
  return names.empty() ? "" : names[ordinal % names.size()];
}

std::string objectName(std::string_view line, unsigned ordinal) {
  std::vector<std::string> names;
  int depth = 0;            // of brackets
  std::string word, before; // the last word, and the character before it
  for (size_t at = 0; at < line.size(); ++at) {
    char c = line[at];
    if (isWord(c)) {
      size_t end = at;
      while (end < line.size() && isWord(line[end]))
        ++end;
      size_t last = line.substr(0, at).find_last_not_of(' ');
      before = last == std::string_view::npos ? "" : std::string(1, line[last]);
      bool returns = word == "return";
      word = line.substr(at, end - at);
      if (returns)
        before = "";
      at = end - 1;
    } else if (c == '(' || c == '{') {
      // `Ring ring(`, `Ring<2> ring{`, and `, other(` after them.
      bool declares = !before.empty() &&
                      (isWord(before[0]) || before == ">" || (before == "," && !names.empty()));
      if (depth == 0 && !word.empty() && declares)
        names.push_back(word);
      ++depth;
      word.clear();
    } else if (c == ')' || c == '}') {
      --depth;
      word.clear();
    } else if (c == '=' && depth == 0 && !word.empty()) { // `ring = Ring(..)`
      names.push_back(word);
      word.clear();
    } else if (c != ' ') {
      word.clear();
    }
  }
  return names.empty() ? "" : names[ordinal % names.size()];
}

} // namespace penstock
