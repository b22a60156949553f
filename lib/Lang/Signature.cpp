//===- Signature.cpp - "A[M,K], B[N,K] -> C[M,N]" -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/Signature.h"

#include <cctype>

namespace penstock {
namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Signature parse() {
    Signature signature;
    skip();
    while (at < text.size() && signature.error.empty()) {
      SignatureArgument argument;
      argument.name = word();
      if (argument.name.empty() ||
          std::isdigit(static_cast<unsigned char>(argument.name[0]))) {
        signature.error = "a name is expected at \"" + rest() + "\"";
        break;
      }
      if (take('[')) {
        argument.tensor = true;
        do {
          argument.sizes.push_back(word());
          if (argument.sizes.back().empty())
            signature.error = "a size is expected at \"" + rest() + "\"";
        } while (signature.error.empty() && take(','));
        if (signature.error.empty() && !take(']'))
          signature.error = "`]` is expected at \"" + rest() + "\"";
      }
      signature.arguments.push_back(std::move(argument));
      if (!signature.error.empty())
        break;
      bool comma = take(',');
      bool arrow = take('-') && take('>');
      if (!comma && !arrow && at < text.size())
        signature.error = "`,` or `->` is expected at \"" + rest() + "\"";
    }
    return signature;
  }

private:
  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool take(char c) {
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    skip();
    return true;
  }
  std::string word() {
    size_t begin = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      ++at;
    std::string result(text.substr(begin, at - begin));
    skip();
    return result;
  }
  std::string rest() const { return std::string(text.substr(at, 16)); }

  std::string_view text;
  size_t at = 0;
};

} // namespace

Signature parseSignature(std::string_view text) { return Parser(text).parse(); }

} // namespace penstock
