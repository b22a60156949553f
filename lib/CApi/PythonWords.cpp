//===- PythonWords.cpp - Suggested fixes in the language of a kernel ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/PythonWords.h"
#include "CApi/RecordCalls.h"

#include <regex>

using namespace penstock;

std::string capi::inPython(const std::string &text) {
  static const std::pair<std::regex, const char *> rules[] = {
      // Element types of conversions and parameters.
      {std::regex(R"(\bcast<(\w+)>\()"), "pl.cast(pl.$1, "},
      {std::regex(R"(\b(InOut|In|Out|Scalar)<([^<>]*)>)"), "$1[$2]"},
      // Options.
      {std::regex(R"(\{\.async = ([^{}]*)\})"), "async_=$1"},
      {std::regex(R"(\{\.async\})"), "async_"},
      {std::regex(R"(\{\.(\w+) = ([^{}]*)\})"), "$1=$2"},
      // Functions of the module.
      {std::regex(R"((^|[^\w.])(broadcast_rows|broadcast_cols|transposed|as_matrix|slice|ceil_div|)"
                  R"(fast_divmod|select|where)\()"),
       "$1pl.$2("},
      // Variables and masks.
      {std::regex(R"(\ba Var\b)"), "a variable, b.var(..),"},
      {std::regex(R"( && )"), " & "},
  };
  std::string result = text;
  for (const auto &[pattern, replacement] : rules)
    result = std::regex_replace(result, pattern, replacement);
  return result;
}

void capi::speakPython(std::vector<Diagnostic> &diagnostics) {
  for (Diagnostic &diagnostic : diagnostics)
    if (isFrontEndSource(diagnostic.location.file))
      for (std::string &help : diagnostic.helps)
        help = inPython(help);
}
