//===- Module.h - A parsed PTX module ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser makes of a PTX text: variables, functions and instructions
// with all names resolved to indices. Every instruction keeps the line of the
// PTX text and, where the text has `.loc` directives, the line of the source it
// was compiled from, because findings must show both.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_MODULE_H
#define PENSTOCK_PTX_MODULE_H

#include "Diagnostics/Diagnostic.h"
#include "PTX/Types.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::ptx {

struct InstructionForm;

struct Operand {
  enum class Kind : uint8_t {
    Register,  ///< index: register of the function
    Special,   ///< name: %tid.x and the like
    Immediate, ///< value: bits of an integer
    Float,     ///< value: bits of an f32 or f64, isDouble tells which
    Variable,  ///< index: variable, offset; its address is the value
    Function,  ///< name
    Label,     ///< index: instruction index after resolution
    Targets,   ///< index: list of Function::branchTargets
    Address,   ///< elements[0] is the base; elements[1], if any, a vector of
               ///< coordinates (tensor copies)
    Vector,    ///< elements
    Pair,      ///< `p|q`: elements[0], elements[1]
    Sink,      ///< `_`
  };
  Kind kind = Kind::Sink;
  bool negated = false;  ///< `!p`
  bool isDouble = false; ///< Float: value holds an f64
  bool isGlobal = false; ///< Variable: index into the module, else the function
  uint32_t index = 0;
  int64_t offset = 0;
  uint64_t value = 0;
  std::string name;
  std::vector<Operand> elements;
};

struct Register {
  std::string name;
  Type type = Type::None;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t align = 1;
  uint64_t size = 0; ///< bytes; 0 for `extern .shared x[]`
  bool isExtern = false;
  std::vector<uint8_t> init; ///< empty: zero
  /// Addresses of other module variables inside the initializer.
  struct Relocation {
    uint64_t at;
    uint32_t variable;
    int64_t addend;
    std::string function = {}; ///< not empty: the address of this function instead
  };
  std::vector<Relocation> relocations;
  uint32_t line = 0;
};

/// Source location of an instruction, in addition to its PTX line.
struct SourceLoc {
  uint32_t file = 0; ///< key of Module::files; 0: unknown
  uint32_t line = 0;
  uint32_t column = 0;
};

struct Instruction {
  /// The row of the instruction table; never null in a parsed module.
  const InstructionForm *form = nullptr;
  std::string opcode;                      ///< as written, with all modifiers
  std::vector<std::string_view> modifiers; ///< views into `opcode`, with dot
  std::vector<Operand> operands;
  bool guarded = false;
  bool guardNegated = false;
  uint32_t guard = 0; ///< register
  uint32_t line = 0;
  uint32_t column = 0;
  SourceLoc loc;
  // Calls only.
  std::vector<Operand> results;
  std::vector<Operand> arguments;
  uint32_t callees = noCallees; ///< of an indirect call: a list of Function::callTargets

  static constexpr uint32_t noCallees = ~0u;

  bool has(std::string_view modifier) const {
    for (std::string_view m : modifiers)
      if (m == modifier)
        return true;
    return false;
  }
  /// The \p n-th modifier that names a type.
  Type type(unsigned n = 0) const {
    for (std::string_view m : modifiers)
      if (Type t = typeFromName(m); t != Type::None && n-- == 0)
        return t;
    return Type::None;
  }

  Instruction() = default;
  Instruction(Instruction &&) = default;
  Instruction &operator=(Instruction &&) = default;
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool isDeclaration = false;
  std::vector<Register> registers;
  /// Parameters first, then results, then everything declared in the body.
  std::vector<Variable> variables;
  uint32_t numParams = 0;
  uint32_t numResults = 0;
  std::vector<std::unique_ptr<Instruction>> body;
  /// Lists of `.branchtargets`, as indices of instructions.
  std::vector<std::vector<uint32_t>> branchTargets;
  /// Lists of `.calltargets`; those of a `.callprototype` are empty: all functions that fit.
  std::vector<std::vector<std::string>> callTargets;
  std::array<uint32_t, 3> maxThreads = {0, 0, 0};
  std::array<uint32_t, 3> requiredThreads = {0, 0, 0};
  std::array<uint32_t, 3> requiredCluster = {0, 0, 0};
  bool explicitCluster = false;
  uint32_t maxRegisters = 0;
  uint32_t line = 0;
};

struct Module {
  std::string name; ///< file name used in diagnostics
  std::string text;
  unsigned version = 0;      ///< 90 for 9.0
  std::string target;        ///< "sm_90a"
  unsigned arch = 0;         ///< 90
  bool archSpecific = false; ///< the `a` (or `f`) suffix
  std::map<uint32_t, std::string> files;
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;
  /// Functions with a body, by name: modules may have tens of thousands.
  std::map<std::string, const Function *, std::less<>> definitions;

  const Function *function(std::string_view name) const {
    auto found = definitions.find(name);
    return found == definitions.end() ? nullptr : found->second;
  }
  /// Line \p n of the text, from 1, without leading blanks.
  std::string line(uint32_t n) const;
  SourceLocation location(uint32_t line, uint32_t column = 0) const { return {name, line, column}; }
};

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_MODULE_H
