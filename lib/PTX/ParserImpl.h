//===- ParserImpl.h - The state shared by the parser's files ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parser.cpp reads directives, variables and function headers;
// ParseInstructions.cpp reads bodies. Names live in nested scopes because
// inline assembly declares the same registers and labels again and again inside
// braces.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_PARSERIMPL_H
#define PENSTOCK_PTX_PARSERIMPL_H

#include "Diagnostics/Codes.h"
#include "PTX/InstructionTable.h"
#include "PTX/Lexer.h"
#include "PTX/Module.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace penstock::ptx {

class Parser {
public:
  explicit Parser(Module &module) : module(module), lexer(module.text) {}
  bool run();

  std::vector<Diagnostic> diagnostics; ///< errors
  std::vector<Diagnostic> warnings;

private:
  struct Name {
    enum class Kind : uint8_t { Register, Local, Global, Function, Label, Targets, Callees };
    Kind kind;
    uint32_t index;
  };
  struct Scope {
    uint32_t parent = 0;
    std::unordered_map<std::string, Name> names;
  };
  /// A label, or a list of them, that may be declared later.
  struct LabelUse {
    Instruction *instruction; ///< its last operand; null: an entry of a list
    uint32_t list;
    size_t position;
    Name::Kind kind;
    uint32_t scope;
    std::string name;
    Token at;
  };

  // Tokens and errors.
  void advance();
  bool is(char c) const { return token.kind == Token::Kind::Punct && token.text[0] == c; }
  bool accept(char c) {
    if (!is(c))
      return false;
    advance();
    return true;
  }
  bool expect(char c);
  bool integer(uint64_t &value);
  bool word(std::string &text);
  bool error(unsigned code, std::string message);
  bool errorAt(const Token &at, unsigned code, std::string message);
  void warn(unsigned code, std::string message);
  void recover();
  void skipBraces();

  // Directives.
  bool topLevel();
  bool target();
  bool fileDirective();
  bool variables(std::vector<Variable> &into, Function *function, Space space, bool isExtern);
  bool variable1(Variable &variable, bool inFunction);
  bool initializer(Variable &variable, uint64_t &at, uint64_t unit, unsigned depth);
  bool parameterList(Function &function, uint32_t &count);
  bool functionHeader(bool isEntry, bool isExtern);
  bool functionAttribute(Function &function);
  bool registers(Function &function);

  // Bodies.
  bool body(Function &function);
  bool statement(Function &function);
  bool locDirective();
  bool instruction(Function &function, const Token &first);
  bool labelOperand(Instruction &inst, Name::Kind kind, std::optional<LabelUse> &use);
  bool branchTargets(Function &function, const std::string &name);
  bool callTargets(Function &function, const std::string &name);
  bool callOperands(Function &function, Instruction &inst);
  bool operandList(Function &function, std::vector<Operand> &operands, char close);
  bool operand(Function &function, Operand &operand, unsigned depth);
  bool addressOperand(Function &function, Operand &operand, unsigned depth);
  bool nameOperand(Function &function, Operand &operand);
  bool resolveLabels(Function &function);

  bool declare(const std::string &name, Name what);
  const Name *lookup(const std::string &name) const;

  Module &module;
  Lexer lexer;
  Token token;
  bool failed = false;
  std::unordered_map<std::string, Name> globals;
  Function *current = nullptr;
  std::vector<Scope> scopes;
  std::vector<uint32_t> scopeStack;
  std::vector<LabelUse> labelUses;
  SourceLoc loc;
  Type lastType = Type::None;
  uint32_t lastAlign = 1;
};

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_PARSERIMPL_H
