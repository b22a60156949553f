//===- ParseInstructions.cpp - Bodies of functions ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/ParserImpl.h"

namespace penstock::ptx {
namespace {

constexpr size_t maxScopes = 1u << 20;
constexpr size_t maxNesting = 64;
constexpr size_t maxInstructions = 4u << 20;
constexpr size_t maxTargets = 4096;

bool isSpecialRegister(std::string_view name) {
  static constexpr std::string_view names[] = {"%tid",
                                               "%ntid",
                                               "%ctaid",
                                               "%nctaid",
                                               "%laneid",
                                               "%warpid",
                                               "%nwarpid",
                                               "%smid",
                                               "%nsmid",
                                               "%gridid",
                                               "%clusterid",
                                               "%nclusterid",
                                               "%cluster_ctaid",
                                               "%cluster_nctaid",
                                               "%cluster_ctarank",
                                               "%cluster_nctarank",
                                               "%is_explicit_cluster",
                                               "%lanemask_eq",
                                               "%lanemask_le",
                                               "%lanemask_lt",
                                               "%lanemask_ge",
                                               "%lanemask_gt",
                                               "%clock",
                                               "%clock_hi",
                                               "%clock64",
                                               "%globaltimer",
                                               "%globaltimer_lo",
                                               "%globaltimer_hi",
                                               "%dynamic_smem_size",
                                               "%total_smem_size",
                                               "%aggr_smem_size",
                                               "%reserved_smem_offset_begin",
                                               "%current_graph_exec"};
  std::string_view stem = name.substr(0, name.find('.'));
  for (std::string_view each : names)
    if (stem == each)
      return true;
  return false;
}

} // namespace

bool Parser::body(Function &function) {
  loc = SourceLoc{};
  lexer.inInlineAsm = false;
  lastType = Type::None;
  size_t depth = 0;
  bool ok = true;
  do {
    failed = false;
    if (is('{')) {
      if (depth >= maxNesting || scopes.size() >= maxScopes) {
        error(PtxTooLarge, "blocks nested too deeply");
        while (token.kind != Token::Kind::End)
          advance();
        return false;
      }
      if (depth++) {
        scopes.push_back(Scope{scopeStack.back(), {}});
        scopeStack.push_back(uint32_t(scopes.size() - 1));
      }
      advance();
      continue;
    }
    if (is('}')) {
      advance();
      if (--depth)
        scopeStack.pop_back();
      continue;
    }
    if (token.kind == Token::Kind::End)
      return error(PtxSyntax, "the body of `" + function.name + "` does not end");
    if (!statement(function)) {
      ok = false;
      if (diagnostics.size() >= 100)
        return false;
      recover();
    }
  } while (depth);
  return resolveLabels(function) && ok;
}

bool Parser::locDirective() {
  // In inline assembly, LLVM writes one for each line of the assembly: the n-th has the statement's
  // line plus n. The statement's is before the block.
  bool ignored = lexer.inInlineAsm;
  advance();
  uint64_t file, line, column = 0;
  if (!integer(file) || !integer(line))
    return false;
  if (token.kind == Token::Kind::Integer && !integer(column))
    return false;
  if (!ignored)
    loc = {uint32_t(file), uint32_t(line), uint32_t(column)};
  // `, function_name label, inlined_at file line column`
  while (accept(',')) {
    std::string what;
    if (!word(what))
      return false;
    if (what == "function_name") {
      if (!word(what))
        return false;
      uint64_t offset;
      if (accept('+') && !integer(offset))
        return false;
    } else if (what == "inlined_at") {
      uint64_t number;
      if (!integer(number) || !integer(number) || !integer(number))
        return false;
    } else {
      return error(PtxSyntax, "`" + what + "` is not part of .loc");
    }
  }
  return true;
}

bool Parser::statement(Function &function) {
  if (token.kind == Token::Kind::Directive) {
    std::string name(token.text);
    if (name == ".loc")
      return locDirective();
    if (name == ".reg")
      return registers(function);
    if (name == ".pragma") {
      advance();
      if (token.kind != Token::Kind::String)
        return error(PtxSyntax, "expected a string after .pragma");
      advance();
      return expect(';');
    }
    bool isExtern = false;
    if (name == ".extern") {
      isExtern = true;
      advance();
      name = token.text;
    }
    Space space;
    if (name == ".shared")
      space = Space::Shared;
    else if (name == ".local")
      space = Space::Local;
    else if (name == ".param")
      space = Space::Param;
    else if (name == ".global" || name == ".const")
      return error(PtxDirective, "static `" + name +
                                     "` variables inside a function are not "
                                     "supported");
    else
      return error(PtxDirective, "directive `" + name + "` is not supported");
    advance();
    lastType = Type::None;
    return variables(function.variables, &function, space, isExtern);
  }
  if (is('@') || token.kind == Token::Kind::Word) {
    Token first = token;
    if (token.kind == Token::Kind::Word) {
      std::string name(token.text);
      advance();
      if (accept(':')) {
        if (token.kind == Token::Kind::Directive && token.text == ".branchtargets")
          return branchTargets(function, name);
        if (token.kind == Token::Kind::Directive &&
            (token.text == ".calltargets" || token.text == ".callprototype"))
          return callTargets(function, name);
        return declare(name, {Name::Kind::Label, uint32_t(function.body.size())});
      }
    }
    return instruction(function, first);
  }
  if (accept(';'))
    return true;
  return error(PtxSyntax, "unexpected `" + std::string(token.text) + "`");
}

/// \p first is the opcode, already behind us, or the `@` of a guard.
bool Parser::instruction(Function &function, const Token &first) {
  auto owned = std::make_unique<Instruction>();
  Instruction &inst = *owned;
  inst.line = first.line;
  inst.column = first.column;
  inst.loc = loc;
  if (first.kind == Token::Kind::Word) {
    inst.opcode = first.text;
  } else {
    advance();
    inst.guarded = true;
    inst.guardNegated = accept('!');
    Operand guard;
    if (!nameOperand(function, guard))
      return false;
    if (guard.kind != Operand::Kind::Register || function.registers[guard.index].type != Type::Pred)
      return error(PtxOperands, "the guard is not a predicate register");
    inst.guard = guard.index;
    if (!word(inst.opcode))
      return false;
  }
  // ptxas takes blanks inside of an opcode: `cp.async.bulk.commit_group .L2::cache_hint`.
  for (; token.kind == Token::Kind::Directive; advance())
    inst.opcode += token.text;
  if (function.body.size() >= maxInstructions)
    return error(PtxTooLarge, "more than 2^22 instructions in a function");
  std::optional<LabelUse> label;
  if (inst.opcode == "call" || inst.opcode == "call.uni") {
    if (!callOperands(function, inst))
      return false;
  } else if (inst.opcode == "bra" || inst.opcode == "bra.uni") {
    if (!labelOperand(inst, Name::Kind::Label, label))
      return false;
  } else if (inst.opcode == "brx.idx" || inst.opcode == "brx.idx.uni") {
    Operand index;
    if (!operand(function, index, 0) || !expect(','))
      return false;
    inst.operands.push_back(std::move(index));
    if (!labelOperand(inst, Name::Kind::Targets, label))
      return false;
  } else if (!is(';') && !operandList(function, inst.operands, ';')) {
    return false;
  }
  if (!is(';'))
    return error(PtxSyntax, "expected `;` after `" + inst.opcode + "`");
  MatchFailure failure;
  if (!matchInstruction(inst, function, module, failure)) {
    Token at = first;
    advance();
    errorAt(at, failure.code, failure.message);
    // The statement was read whole: no need to look for its end.
    return true;
  }
  advance();
  if (label)
    labelUses.push_back(std::move(*label));
  function.body.push_back(std::move(owned));
  return true;
}

/// The last operand of a branch, which may name what comes later.
bool Parser::labelOperand(Instruction &inst, Name::Kind kind, std::optional<LabelUse> &use) {
  Operand label;
  label.kind = kind == Name::Kind::Label ? Operand::Kind::Label : Operand::Kind::Targets;
  use = LabelUse{&inst, 0, 0, kind, scopeStack.back(), std::string(token.text), token};
  if (!word(label.name))
    return false;
  inst.operands.push_back(std::move(label));
  return true;
}

/// `name: .branchtargets A, B, C;` from the directive on.
bool Parser::branchTargets(Function &function, const std::string &name) {
  advance();
  uint32_t list = uint32_t(function.branchTargets.size());
  function.branchTargets.emplace_back();
  if (!declare(name, {Name::Kind::Targets, list}))
    return false;
  do {
    std::vector<uint32_t> &targets = function.branchTargets.back();
    if (targets.size() >= maxTargets)
      return error(PtxTooLarge, "a branch with more than 4096 targets");
    labelUses.push_back({nullptr, list, targets.size(), Name::Kind::Label, scopeStack.back(),
                         std::string(token.text), token});
    targets.push_back(0);
    std::string label;
    if (!word(label))
      return false;
  } while (accept(','));
  return expect(';');
}

/// `name: .calltargets f, g;` or `name: .callprototype (.param .b32 _) _ (.param .b64 _);` from the
/// directive on. Arguments of calls are checked against the function that is called.
bool Parser::callTargets(Function &function, const std::string &name) {
  bool listed = token.text == ".calltargets";
  advance();
  if (!declare(name, {Name::Kind::Callees, uint32_t(function.callTargets.size())}))
    return false;
  std::vector<std::string> &targets = function.callTargets.emplace_back();
  if (!listed) {
    while (!is(';') && token.kind != Token::Kind::End)
      advance();
    return expect(';');
  }
  do {
    if (targets.size() >= maxTargets)
      return error(PtxTooLarge, "a call with more than 4096 targets");
    auto found = globals.find(std::string(token.text));
    if (found == globals.end() || found->second.kind != Name::Kind::Function)
      return error(PtxUnknownName, "`" + std::string(token.text) + "` is not a function");
    if (!word(targets.emplace_back()))
      return false;
  } while (accept(','));
  return expect(';');
}

bool Parser::callOperands(Function &function, Instruction &inst) {
  if (is('(')) {
    advance();
    if (!operandList(function, inst.results, ')') || !expect(')') || !expect(','))
      return false;
  }
  Operand callee;
  if (!nameOperand(function, callee))
    return false;
  if (callee.kind != Operand::Kind::Function && callee.kind != Operand::Kind::Register)
    return error(PtxOperands, "only functions and registers can be called");
  bool indirect = callee.kind == Operand::Kind::Register;
  inst.operands.push_back(std::move(callee));
  bool named = false; // the list of an indirect call without arguments
  if (accept(',')) {
    named = indirect && !is('(');
    if (!named && !expect('('))
      return false;
    if (!named && !is(')') && !operandList(function, inst.arguments, ')'))
      return false;
    if (!named && !expect(')'))
      return false;
  }
  if (!indirect)
    return true;
  if (!named && !accept(','))
    return error(PtxSyntax, "an indirect call needs a `.callprototype` or `.calltargets`");
  const Name *list = lookup(std::string(token.text));
  if (!list || list->kind != Name::Kind::Callees)
    return error(PtxUnknownName,
                 "`" + std::string(token.text) + "` is not a prototype or a list of targets");
  inst.callees = list->index;
  advance();
  return true;
}

bool Parser::operandList(Function &function, std::vector<Operand> &operands, char close) {
  do {
    if (operands.size() >= 1024)
      return error(PtxTooLarge, "too many operands");
    Operand each;
    if (!operand(function, each, 0))
      return false;
    operands.push_back(std::move(each));
  } while (accept(','));
  return true;
}

bool Parser::operand(Function &function, Operand &result, unsigned depth) {
  if (depth > 4)
    return error(PtxTooLarge, "operands nested too deeply");
  if (accept('!')) {
    if (!nameOperand(function, result))
      return false;
    result.negated = true;
    return true;
  }
  if (accept('[')) {
    result.kind = Operand::Kind::Address;
    return addressOperand(function, result, depth);
  }
  if (accept('{')) {
    result.kind = Operand::Kind::Vector;
    if (accept('}'))
      return true;
    do {
      if (result.elements.size() >= 1024)
        return error(PtxTooLarge, "too many elements");
      Operand each;
      if (!operand(function, each, depth + 1))
        return false;
      result.elements.push_back(std::move(each));
    } while (accept(','));
    return expect('}');
  }
  bool minus = false, invert = false;
  if (is('-') || is('+') || is('~')) {
    minus = is('-');
    invert = is('~');
    advance();
  }
  if (token.kind == Token::Kind::Integer) {
    result.kind = Operand::Kind::Immediate;
    result.value = minus ? 0 - token.value : invert ? ~token.value : token.value;
    advance();
    return true;
  }
  if (token.kind == Token::Kind::Float && !invert) {
    result.kind = Operand::Kind::Float;
    result.isDouble = token.isDouble;
    result.value = token.value;
    if (minus)
      result.value ^= token.isDouble ? uint64_t(1) << 63 : uint64_t(1) << 31;
    advance();
    return true;
  }
  if (minus || invert)
    return error(PtxSyntax, "expected a number");
  if (!nameOperand(function, result))
    return false;
  if (is('|')) {
    advance();
    Operand second;
    if (!nameOperand(function, second))
      return false;
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    pair.elements.push_back(std::move(result));
    pair.elements.push_back(std::move(second));
    result = std::move(pair);
    return true;
  }
  if (result.kind == Operand::Kind::Variable && (is('+') || is('-'))) {
    bool negative = is('-');
    advance();
    uint64_t offset;
    if (!integer(offset))
      return false;
    result.offset = int64_t(negative ? 0 - offset : offset);
  }
  return true;
}

/// After `[`: a register, variable or number, plus or minus an offset, and for
/// tensor copies a vector of coordinates.
bool Parser::addressOperand(Function &function, Operand &result, unsigned depth) {
  Operand base;
  if (token.kind == Token::Kind::Integer || is('-')) {
    base.kind = Operand::Kind::Immediate;
    if (!integer(base.value))
      return false;
  } else if (!nameOperand(function, base)) {
    return false;
  }
  while (is('+') || is('-')) {
    bool negative = is('-');
    advance();
    uint64_t offset;
    if (!integer(offset))
      return false;
    base.offset = int64_t(uint64_t(base.offset) + (negative ? 0 - offset : offset));
  }
  result.elements.push_back(std::move(base));
  if (accept(',')) {
    Operand coordinates;
    if (!is('{'))
      return error(PtxSyntax, "expected the coordinates of a tensor copy");
    if (!operand(function, coordinates, depth + 1))
      return false;
    result.elements.push_back(std::move(coordinates));
  }
  return expect(']');
}

bool Parser::nameOperand(Function &function, Operand &result) {
  std::string name;
  if (!word(name))
    return false;
  if (name == "_") {
    result.kind = Operand::Kind::Sink;
    return true;
  }
  if (name == "WARP_SZ") {
    result.kind = Operand::Kind::Immediate;
    result.value = 32;
    return true;
  }
  if (const Name *found = lookup(name)) {
    result.index = found->index;
    switch (found->kind) {
    case Name::Kind::Register:
      result.kind = Operand::Kind::Register;
      return true;
    case Name::Kind::Local:
    case Name::Kind::Global:
      result.kind = Operand::Kind::Variable;
      result.isGlobal = found->kind == Name::Kind::Global;
      return true;
    case Name::Kind::Function:
      result.kind = Operand::Kind::Function;
      result.name = name;
      return true;
    case Name::Kind::Label:
    case Name::Kind::Targets:
    case Name::Kind::Callees:
      return error(PtxOperands, "label `" + name + "` is not a value");
    }
  }
  if (isSpecialRegister(name)) {
    result.kind = Operand::Kind::Special;
    result.name = name;
    return true;
  }
  return error(PtxUnknownName, "`" + name + "` is not declared");
}

bool Parser::resolveLabels(Function &function) {
  bool ok = true;
  for (LabelUse &use : labelUses) {
    uint32_t scope = use.scope;
    const Name *found = nullptr;
    while (true) {
      auto it = scopes[scope].names.find(use.name);
      if (it != scopes[scope].names.end() && it->second.kind == use.kind) {
        found = &it->second;
        break;
      }
      if (scope == 0)
        break;
      scope = scopes[scope].parent;
    }
    if (!found) {
      const char *what = use.kind == Name::Kind::Label ? "label `" : "list of targets `";
      ok = errorAt(use.at, PtxUnknownName, what + use.name + "` is not declared");
    } else if (!use.instruction) {
      function.branchTargets[use.list][use.position] = found->index;
    } else {
      use.instruction->operands.back().index = found->index;
    }
  }
  return ok;
}

} // namespace penstock::ptx
