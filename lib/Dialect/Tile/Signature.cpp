//===- Signature.cpp - "A[M,K], B[N,K] -> C[M,N]" -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Signature.h"

#include <algorithm>
#include <cctype>

namespace penstock {
namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  /// Reads the values of an input alone.
  InputValues parseValues(std::string &error) {
    skip();
    InputValues result = values(/*inSignature=*/false, error);
    if (error.empty() && at < text.size())
      error = "nothing more is expected " + where(at);
    return result;
  }

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
      if (signature.error.empty() && startsValues())
        argument.values = values(/*inSignature=*/true, signature.error);
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
  /// A range, which `in` introduces in a signature, and an order.
  InputValues values(bool inSignature, std::string &error) {
    InputValues result;
    size_t begin = at;
    bool in = inSignature && text.substr(at).starts_with("in");
    if (in) {
      word();
      begin = at;
    }
    if (in || (!inSignature && text.substr(at).find("..") != std::string_view::npos)) {
      result.ranged = true;
      result.lower = bound(error);
      if (error.empty() && !text.substr(at).starts_with(".."))
        error = "`..` is expected " + where(at);
      if (error.empty()) {
        at += 2;
        skip();
        result.upper = bound(error);
      }
    }
    size_t ordering = at;
    if (std::string order = error.empty() ? word() : ""; !order.empty()) {
      if (order == "ascending")
        result.order = InputValues::Ascending;
      else if (order == "permutation")
        result.order = InputValues::Permutation;
      else if (order == "partition")
        result.order = InputValues::Partition;
      else
        error = "`ascending`, `permutation` or `partition` is expected " + where(ordering);
    }
    if (error.empty() && !result.ranged && result.order == InputValues::Any)
      error = "a range as 0..N-1 is expected " + where(begin);
    bool needsRange =
        result.order == InputValues::Ascending || result.order == InputValues::Partition;
    if (error.empty() && !result.ranged && needsRange)
      error =
          "a range as 0..N is expected before " + std::string(text.substr(ordering, at - ordering));
    result.text = text.substr(begin, at - begin);
    while (!result.text.empty() && result.text.back() == ' ')
      result.text.pop_back();
    return result;
  }

  SizeExpression bound(std::string &error) {
    SizeExpression result;
    bool minus = takeMinus(), more = true;
    while (more && error.empty()) {
      SizeExpression::Term term;
      term.factor = minus ? -1 : 1;
      do {
        size_t begin = at;
        std::string factor = word();
        bool digits = !factor.empty() && std::isdigit(static_cast<unsigned char>(factor[0])) != 0;
        if (!isSize(factor) || (digits && factor.size() > 18))
          error = "a size or an integer is expected " + where(begin);
        else if (digits)
          error = __builtin_mul_overflow(term.factor, std::stoll(factor), &term.factor)
                      ? "an integer is too large " + where(begin)
                      : "";
        else
          term.names.push_back(std::move(factor));
      } while (error.empty() && take('*'));
      result.terms.push_back(std::move(term));
      minus = takeMinus();
      more = minus || take('+');
    }
    return result;
  }

  /// Takes a `-` that does not begin the arrow.
  bool takeMinus() { return !text.substr(at).starts_with("->") && take('-'); }
  /// Returns whether a description of values follows.
  bool startsValues() const {
    Parser ahead = *this;
    std::string next = ahead.word();
    return next == "in" || next == "ascending" || next == "permutation" || next == "partition";
  }
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

InputValues parseInputValues(std::string_view text, std::string &error) {
  return Parser(text).parseValues(error);
}

std::optional<int64_t> SizeExpression::evaluate(
    const std::function<std::optional<int64_t>(const std::string &)> &valueOf) const {
  int64_t sum = 0;
  for (const Term &term : terms) {
    int64_t product = term.factor;
    for (const std::string &name : term.names) {
      std::optional<int64_t> value = valueOf(name);
      if (!value || __builtin_mul_overflow(product, *value, &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

std::string checkInputValues(const Signature &signature, const InputValues &values, bool integer,
                             bool tensor) {
  std::vector<std::string> known, stated = values.lower.names();
  for (const SignatureArgument &argument : signature.arguments) {
    if (!argument.tensor)
      known.push_back(argument.name);
    known.insert(known.end(), argument.sizes.begin(), argument.sizes.end());
  }
  for (const std::string &name : values.upper.names())
    stated.push_back(name);
  for (const std::string &name : stated)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return "`" + name + "` is neither a size nor a scalar of the kernel";
  if (!tensor && values.order != InputValues::Any)
    return "a scalar has a range, and no order";
  if (!integer &&
      (values.order == InputValues::Permutation || values.order == InputValues::Partition))
    return "only integers are permuted or partitioned";
  return "";
}

std::vector<std::string> SizeExpression::names() const {
  std::vector<std::string> result;
  for (const Term &term : terms)
    result.insert(result.end(), term.names.begin(), term.names.end());
  return result;
}

} // namespace penstock
