//===- TextCursor.h - Moving through the text form --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The token at hand and the small steps that every rule of the grammar is made
// of. The first error leaves the parser by an exception that does not leave
// the library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_TEXT_TEXTCURSOR_H
#define PENSTOCK_SCHEDULING_TEXT_TEXTCURSOR_H

#include "Diagnostics/Codes.h"
#include "Diagnostics/Diagnostic.h"
#include "Scheduling/Text/Lexer.h"

#include <vector>

namespace penstock::sched {

struct TextError {
  Diagnostic diagnostic;
};

class TextCursor {
public:
  TextCursor(std::string_view text, std::string file) : lexer(text), file(std::move(file)) {
    take();
  }

  [[noreturn]] void fail(const std::string &message, unsigned code = InstanceSyntax) {
    TextError error;
    error.diagnostic.code = code;
    error.diagnostic.location = {file.empty() ? "<text>" : file, token.line, token.column};
    error.diagnostic.message = message;
    throw error;
  }

protected:
  void take() {
    token = lexer.next();
    if (token.kind == Token::Kind::Bad)
      fail(token.text);
  }
  bool accept(std::string_view text) {
    if (!token.is(text))
      return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail("expected `" + std::string(text) + "`, found " + found());
  }
  std::string found() const {
    switch (token.kind) {
    case Token::Kind::Number:
      return std::to_string(token.number);
    case Token::Kind::Newline:
      return "the end of the line";
    case Token::Kind::End:
      return "the end of the text";
    default:
      return "`" + token.text + "`";
    }
  }
  void endOfLine() {
    if (token.kind != Token::Kind::Newline && token.kind != Token::Kind::End)
      fail("expected the end of the line, found " + found());
    while (token.kind == Token::Kind::Newline)
      take();
  }
  std::string name(const char *what) {
    if (token.kind != Token::Kind::Word && token.kind != Token::Kind::String)
      fail(std::string("expected the name of a ") + what + ", found " + found());
    if (token.text.empty())
      fail(std::string("the name of a ") + what + " is empty");
    std::string text = token.text;
    take();
    return text;
  }
  int64_t number(const char *what, bool negative = false) {
    bool minus = negative && accept("-");
    if (token.kind != Token::Kind::Number)
      fail(std::string("expected ") + what + ", found " + found());
    int64_t value = token.number;
    take();
    return minus ? -value : value;
  }
  template <typename T> void limit(const std::vector<T> &items, const char *what, size_t most) {
    if (items.size() >= most)
      fail("more than " + std::to_string(most) + " " + what, InstanceTooLarge);
  }

  Lexer lexer;
  std::string file;
  Token token;
};

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_TEXT_TEXTCURSOR_H
