//===- Lexer.cpp - Tokens of a PTX text -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/Lexer.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isAlpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool isWord(char c) { return isAlpha(c) || isDigit(c); }
int hexDigit(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

} // namespace

/// False if a comment does not end.
bool Lexer::skipBlanks() {
  while (pos < text.size()) {
    char c = text[pos];
    if (c == '\n') {
      ++line;
      lineStart = ++pos;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++pos;
    } else if (c == '/' && pos + 1 < text.size() && text[pos + 1] == '/') {
      lineComment();
    } else if (c == '/' && pos + 1 < text.size() && text[pos + 1] == '*') {
      size_t end = text.find("*/", pos + 2);
      if (end == std::string_view::npos)
        return false;
      for (; pos < end + 2; ++pos)
        if (text[pos] == '\n') {
          ++line;
          lineStart = pos + 1;
        }
    } else {
      break;
    }
  }
  return true;
}

/// Skips `// ..`.
void Lexer::lineComment() {
  size_t start = pos + 2, end = std::min(text.find('\n', start), text.size());
  pos = end;
  constexpr std::string_view blanks = " \t\r";
  size_t first = text.find_first_not_of(blanks, start);
  if (first >= end)
    return;
  std::string_view comment = text.substr(first, end - first);
  comment = comment.substr(0, comment.find_last_not_of(blanks) + 1);
  if (comment == "begin inline asm")
    inInlineAsm = true;
  else if (comment == "end inline asm")
    inInlineAsm = false;
}

/// Returns whether a name begins at \p at, after a dot: a letter, or digits and then a letter as in
/// `.2d`. Digits alone are the fraction of a number.
bool Lexer::startsModifier(size_t at) const {
  while (at < text.size() && isDigit(text[at]))
    ++at;
  return at < text.size() && isAlpha(text[at]);
}

Token Lexer::number() {
  Token token;
  token.kind = Token::Kind::Integer;
  token.line = line;
  token.column = uint32_t(pos - lineStart + 1);
  size_t start = pos;
  auto finish = [&] { token.text = text.substr(start, pos - start); };
  auto bad = [&](const char *why) {
    token.kind = Token::Kind::Error;
    token.text = why;
    return token;
  };
  if (text[pos] == '0' && pos + 1 < text.size()) {
    char tag = text[pos + 1];
    // 0f3F800000 and 0d3FF0000000000000: the bits of a float.
    if (tag == 'f' || tag == 'F' || tag == 'd' || tag == 'D') {
      unsigned want = (tag == 'f' || tag == 'F') ? 8 : 16;
      uint64_t bits = 0;
      unsigned got = 0;
      for (pos += 2; pos < text.size() && got < want; ++pos, ++got) {
        int digit = hexDigit(text[pos]);
        if (digit < 0)
          break;
        bits = bits << 4 | unsigned(digit);
      }
      if (got != want)
        return bad("a floating-point constant with too few digits");
      token.kind = Token::Kind::Float;
      token.isDouble = want == 16;
      token.value = bits;
      finish();
      return token;
    }
    unsigned base = 0;
    if (tag == 'x' || tag == 'X')
      base = 16;
    else if (tag == 'b' || tag == 'B')
      base = 2;
    else if (isDigit(tag))
      base = 8;
    if (base) {
      pos += base == 8 ? 1 : 2;
      size_t first = pos;
      for (; pos < text.size(); ++pos) {
        int digit = hexDigit(text[pos]);
        if (digit < 0 || unsigned(digit) >= base)
          break;
        token.value = token.value * base + unsigned(digit);
      }
      if (pos == first)
        return bad("an integer constant without digits");
      if (pos < text.size() && (text[pos] == 'U' || text[pos] == 'u')) {
        token.isUnsigned = true;
        ++pos;
      }
      finish();
      return token;
    }
  }
  while (pos < text.size() && isDigit(text[pos]))
    token.value = token.value * 10 + uint64_t(text[pos++] - '0');
  bool isFloat = false;
  if (pos < text.size() && text[pos] == '.' && pos + 1 < text.size() &&
      (isDigit(text[pos + 1]) || !isAlpha(text[pos + 1]))) {
    isFloat = true;
    for (++pos; pos < text.size() && isDigit(text[pos]);)
      ++pos;
  }
  if (pos < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    size_t q = pos + 1;
    if (q < text.size() && (text[q] == '+' || text[q] == '-'))
      ++q;
    if (q < text.size() && isDigit(text[q])) {
      isFloat = true;
      for (pos = q; pos < text.size() && isDigit(text[pos]);)
        ++pos;
    }
  }
  finish();
  if (isFloat) {
    double value = strtod(std::string(token.text).c_str(), nullptr);
    token.kind = Token::Kind::Float;
    token.isDouble = true;
    std::memcpy(&token.value, &value, sizeof value);
  } else if (pos < text.size() && (text[pos] == 'U' || text[pos] == 'u')) {
    token.isUnsigned = true;
    ++pos;
  }
  return token;
}

Token Lexer::next() {
  Token token;
  bool closed = skipBlanks();
  token.line = line;
  token.column = uint32_t(pos - lineStart + 1);
  if (!closed) {
    pos = text.size();
    token.kind = Token::Kind::Error;
    token.text = "a comment that does not end";
    return token;
  }
  if (pos >= text.size())
    return token;
  char c = text[pos];
  if (isDigit(c))
    return number();
  size_t start = pos;
  if (c == '"') {
    for (++pos; pos < text.size() && text[pos] != '"' && text[pos] != '\n';)
      ++pos;
    if (pos >= text.size() || text[pos] != '"') {
      token.kind = Token::Kind::Error;
      token.text = "a string that does not end";
      return token;
    }
    ++pos;
    token.kind = Token::Kind::String;
    token.text = text.substr(start + 1, pos - start - 2);
    return token;
  }
  bool dot = c == '.' && startsModifier(pos + 1);
  if (isAlpha(c) || dot) {
    ++pos;
    while (pos < text.size()) {
      if (isWord(text[pos]))
        ++pos;
      else if (!dot && text[pos] == '.' && pos + 1 < text.size() && isWord(text[pos + 1]))
        ++pos;
      else if (text[pos] == ':' && pos + 2 < text.size() && text[pos + 1] == ':' &&
               isWord(text[pos + 2]))
        pos += 2;
      else
        break;
    }
    token.kind = dot ? Token::Kind::Directive : Token::Kind::Word;
    token.text = text.substr(start, pos - start);
    return token;
  }
  ++pos;
  token.kind = Token::Kind::Punct;
  token.text = text.substr(start, 1);
  return token;
}

} // namespace penstock::ptx
