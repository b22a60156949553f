//===- Lexer.h - Tokens of a PTX text ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_LEXER_H
#define PENSTOCK_PTX_LEXER_H

#include <cstdint>
#include <string_view>

namespace penstock::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    /// A name, a register or an opcode with its modifiers: letters, digits and
    /// `_ $ % . ::` glued together.
    Word,
    /// A dot and one name: `.reg.u64` is two, as `.reg .u64` is.
    Directive,
    Integer, ///< value
    Float,   ///< value: bits; isDouble
    String,
    Punct, ///< text is one character
    Error, ///< text says what is wrong
  };
  Kind kind = Kind::End;
  bool isDouble = false;
  bool isUnsigned = false; ///< Integer with a `U` suffix
  std::string_view text;
  uint64_t value = 0;
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Cuts a text into tokens on demand. Never reads outside of the text and ends
/// with End for ever.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();

  /// Between the comments that LLVM and nvcc write around inline assembly.
  bool inInlineAsm = false;

private:
  bool skipBlanks();
  void lineComment();
  bool startsModifier(size_t at) const;
  Token number();

  std::string_view text;
  size_t pos = 0;
  uint32_t line = 1;
  size_t lineStart = 0;
};

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_LEXER_H
