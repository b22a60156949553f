//===- Lexer.cpp - Tokens of the text form --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Text/Lexer.h"

namespace penstock::sched {
namespace {

constexpr size_t maxNameLength = 256;
constexpr int64_t maxNumber = int64_t(1) << 40;

// The C locale functions take the locale of the process into account.
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWordPart(char c) { return isWordStart(c) || isDigit(c) || c == '.'; }

} // namespace

Token Lexer::number(Token token) {
  token.kind = Token::Kind::Number;
  for (; isDigit(peek()); advance()) {
    token.number = token.number * 10 + (peek() - '0');
    if (token.number > maxNumber) {
      token.kind = Token::Kind::Bad;
      token.text = "number is larger than 2^40";
      return token;
    }
  }
  return token;
}

Token Lexer::string(Token token) {
  token.kind = Token::Kind::String;
  advance();
  while (peek() != '"') {
    if (at >= text.size() || peek() == '\n' || token.text.size() >= 4096) {
      token.kind = Token::Kind::Bad;
      token.text = "string does not end on its line";
      return token;
    }
    if (peek() == '\\' && (peek(1) == '"' || peek(1) == '\\'))
      advance();
    token.text += peek();
    advance();
  }
  advance();
  return token;
}

Token Lexer::next() {
  while (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '#') {
    if (peek() != '#') {
      advance();
      continue;
    }
    while (at < text.size() && peek() != '\n')
      advance();
  }
  Token token;
  token.line = line;
  token.column = column;
  if (at >= text.size())
    return token;
  char c = peek();
  if (c == '\n') {
    token.kind = Token::Kind::Newline;
    ++at;
    ++line;
    column = 1;
    return token;
  }
  if (isDigit(c))
    return number(token);
  if (c == '"')
    return string(token);
  if (isWordStart(c)) {
    token.kind = Token::Kind::Word;
    for (; isWordPart(peek()); advance())
      token.text += peek();
    if (token.text.size() > maxNameLength) {
      token.kind = Token::Kind::Bad;
      token.text = "name is longer than 256 characters";
    }
    return token;
  }
  token.kind = Token::Kind::Symbol;
  for (const char *two : {"->", ".."})
    if (c == two[0] && peek(1) == two[1]) {
      token.text = two;
      advance();
      advance();
      return token;
    }
  static constexpr std::string_view symbols = "{}[],:*+-?~&!@/";
  token.text = std::string(1, c);
  if (symbols.find(c) == std::string_view::npos) {
    token.kind = Token::Kind::Bad;
    token.text = c >= 0x20 && c < 0x7f
                     ? "unexpected character `" + token.text + "`"
                     : "unexpected byte " + std::to_string(static_cast<unsigned char>(c));
  }
  advance();
  return token;
}

} // namespace penstock::sched
