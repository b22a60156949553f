//===- Signature.cpp - "A[M,K], B[N,K] -> C[M,N]" -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Signature.h"

#include <cctype>

namespace penstock {
namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Signature parse() {
    Signature signature;
    skip();
    bool more = at < text.size();
    while (more && signature.error.empty()) {
      SignatureArgument argument;
      size_t begin = at;
      argument.name = word();
      if (argument.name.empty() || std::isdigit(static_cast<unsigned char>(argument.name[0]))) {
        signature.error = "a name is expected " + where(begin);
        break;
      }
      for (const SignatureArgument &other : signature.arguments)
        if (other.name == argument.name)
          signature.error = "two arguments are called `" + argument.name + "`";
      if (take('[')) {
        argument.tensor = true;
        do {
          begin = at;
          argument.sizes.push_back(word());
          if (!isSize(argument.sizes.back()))
            signature.error = "a size is expected " + where(begin);
        } while (signature.error.empty() && take(','));
        if (signature.error.empty() && !take(']'))
          signature.error = "`]` is expected " + where(at);
      }
      signature.arguments.push_back(std::move(argument));
      if (!signature.error.empty())
        break;
      // "A[M] -> C[M]", "A[M], -> C[M]" and "A[M], B[M] ->" are all read.
      bool comma = take(','), arrow = text.substr(at).starts_with("->");
      if (arrow) {
        at += 2;
        skip();
      }
      more = comma || at < text.size();
      if (more && !comma && !arrow)
        signature.error = "`,` or `->` is expected " + where(at);
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
  /// A name, or a decimal number.
  static bool isSize(const std::string &word) {
    if (word.empty() || !std::isdigit(static_cast<unsigned char>(word[0])))
      return !word.empty();
    return word.find_first_not_of("0123456789") == std::string::npos &&
           (word.size() == 1 || word[0] != '0');
  }
  std::string where(size_t begin) const {
    if (begin >= text.size())
      return "at the end";
    return "at \"" + std::string(text.substr(begin, 16)) + "\"";
  }

  std::string_view text;
  size_t at = 0;
};

} // namespace

Signature parseSignature(std::string_view text) { return Parser(text).parse(); }

} // namespace penstock
