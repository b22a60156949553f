//===- Lexer.h - Tokens of the text form ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_TEXT_LEXER_H
#define PENSTOCK_SCHEDULING_TEXT_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::sched {

struct Token {
  enum class Kind { Word, String, Number, Symbol, Newline, End, Bad };
  Kind kind = Kind::End;
  /// The word, the unescaped string, the symbol, or what is wrong (Bad).
  std::string text;
  int64_t number = 0;
  uint32_t line = 1;
  uint32_t column = 1;

  bool is(std::string_view symbolOrWord) const {
    return (kind == Kind::Word || kind == Kind::Symbol) && text == symbolOrWord;
  }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  void advance() {
    ++at;
    ++column;
  }
  Token number(Token token);
  Token string(Token token);

  std::string_view text;
  size_t at = 0;
  uint32_t line = 1;
  uint32_t column = 1;
};

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_TEXT_LEXER_H
