//===- KernelNames.cpp - Default names of kernels -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is named after its type, as compilers spell it: `Matmul<128, f16>` is
// Matmul_128_f16. Names are for people and symbols; two kernels may share one.
//
//===----------------------------------------------------------------------===//
#include "penstock/compile.h"

#include <cctype>

using namespace penstock;

static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The part of a type's name behind its namespaces, classes and functions.
static std::string_view unqualified(std::string_view type) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < type.size(); ++i) {
    if (type[i] == '<' || type[i] == '(' || type[i] == '{')
      ++depth;
    else if (type[i] == '>' || type[i] == ')' || type[i] == '}')
      --depth;
    else if (depth == 0 && type.substr(i, 2) == "::")
      begin = i + 2;
  }
  return type.substr(begin);
}

std::string penstock::detail::kernelNameOf(std::string_view type) {
  constexpr size_t longest = 100;
  type = unqualified(type);
  std::string_view name = type.substr(0, type.find('<'));
  if (name.empty() || !isWord(name[0]))
    return "lambda";
  // The position of a lambda among the arguments of a template says nothing.
  if (type.find("lambda") != std::string_view::npos)
    return std::string(name);
  std::string result;
  size_t word = 0; // where the last one begins in the result
  for (size_t i = 0; i < type.size() && result.size() < longest; ++i) {
    if (isWord(type[i])) {
      result += type[i];
    } else if (type.substr(i, 2) == "::") {
      result.resize(word);
      ++i;
    } else {
      bool negative = type[i] == '-' && i + 1 < type.size() && isWord(type[i + 1]);
      if (!result.empty() && result.back() != '_')
        result += '_';
      if (negative)
        result += 'm';
      word = result.size();
    }
  }
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  return result;
}
