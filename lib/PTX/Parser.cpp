//===- Parser.cpp - Directives, variables and functions -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/Parser.h"
#include "PTX/ParserImpl.h"

namespace penstock::ptx {
namespace {

constexpr size_t maxTextBytes = size_t(256) << 20;
constexpr unsigned newestVersion = 92;
constexpr uint32_t maxRegisters = 1u << 20;
constexpr uint64_t maxVariableBytes = uint64_t(1) << 30;

} // namespace

std::string Module::line(uint32_t n) const {
  size_t from = 0;
  for (uint32_t i = 1; i < n && from != std::string::npos; ++i) {
    from = text.find('\n', from);
    if (from != std::string::npos)
      ++from;
  }
  if (from == std::string::npos || n == 0)
    return "";
  size_t to = std::min(text.find('\n', from), text.size());
  from = text.find_first_not_of(" \t", from);
  if (from == std::string::npos || from >= to)
    return "";
  return text.substr(from, to - from);
}

void Parser::advance() {
  token = lexer.next();
  if (token.kind == Token::Kind::Error)
    error(PtxSyntax, std::string(token.text));
}

bool Parser::error(unsigned code, std::string message) {
  return errorAt(token, code, std::move(message));
}

bool Parser::errorAt(const Token &at, unsigned code, std::string message) {
  // One error per statement is enough to act on, and a cap bounds the output.
  if (diagnostics.size() < 100) {
    Diagnostic d;
    d.code = code;
    d.location = module.location(at.line, at.column);
    d.message = std::move(message);
    diagnostics.push_back(std::move(d));
  }
  failed = true;
  return false;
}

void Parser::warn(unsigned code, std::string message) {
  Diagnostic d;
  d.code = code;
  d.severity = Severity::Warning;
  d.location = module.location(token.line, token.column);
  d.message = std::move(message);
  warnings.push_back(std::move(d));
}

bool Parser::expect(char c) {
  if (is(c)) {
    advance();
    return true;
  }
  return error(PtxSyntax,
               std::string("expected `") + c + "` before `" + std::string(token.text) + "`");
}

bool Parser::integer(uint64_t &value) {
  bool minus = accept('-');
  if (token.kind != Token::Kind::Integer)
    return error(PtxSyntax, "expected an integer");
  value = minus ? 0 - token.value : token.value;
  advance();
  return true;
}

bool Parser::word(std::string &text) {
  if (token.kind != Token::Kind::Word)
    return error(PtxSyntax, "expected a name before `" + std::string(token.text) + "`");
  text = token.text;
  advance();
  return true;
}

/// After an error: go on after the next `;` or before the next brace.
void Parser::recover() {
  while (token.kind != Token::Kind::End && !is(';') && !is('{') && !is('}'))
    advance();
  accept(';');
}

bool Parser::run() {
  if (module.text.size() > maxTextBytes)
    return error(PtxTooLarge, "the text is longer than 256 MiB");
  advance();
  while (token.kind != Token::Kind::End && diagnostics.size() < 100) {
    failed = false;
    if (!topLevel()) {
      recover();
      // A function whose header failed leaves its body behind.
      if (is('{'))
        skipBraces();
      else if (is('}'))
        advance();
    }
  }
  if (!module.version && diagnostics.empty())
    error(PtxSyntax, "the text has no .version directive");
  return diagnostics.empty();
}

void Parser::skipBraces() {
  unsigned depth = 0;
  do {
    if (is('{'))
      ++depth;
    else if (is('}'))
      --depth;
    advance();
  } while (depth && token.kind != Token::Kind::End);
}

bool Parser::topLevel() {
  if (token.kind != Token::Kind::Directive)
    return error(PtxSyntax, "expected a directive before `" + std::string(token.text) + "`");
  std::string name(token.text);
  if (name == ".version") {
    advance();
    std::string_view text = token.text; // `9.0` lexes as one number
    size_t dot = text.find('.');
    if (token.kind != Token::Kind::Float || dot != 1 || text.size() != 3)
      return error(PtxSyntax, "expected a version such as 9.0");
    module.version = unsigned(text[0] - '0') * 10 + unsigned(text[2] - '0');
    if (module.version > newestVersion)
      warn(PtxNewerVersion, "PTX " + std::string(text) + " is newer than " +
                                std::to_string(newestVersion / 10) + "." +
                                std::to_string(newestVersion % 10) +
                                ", the newest version that is known; instructions that it adds "
                                "are reported where they occur");
    advance();
    return true;
  }
  if (name == ".target")
    return target();
  if (name == ".address_size") {
    advance();
    uint64_t bits;
    if (!integer(bits))
      return false;
    return bits == 64 || error(PtxDirective, "only 64-bit addresses exist");
  }
  if (name == ".file")
    return fileDirective();
  if (name == ".section") {
    advance();
    while (token.kind == Token::Kind::Directive)
      advance();
    if (!is('{'))
      return error(PtxSyntax, "expected `{` after .section");
    skipBraces();
    return true;
  }
  if (name == ".pragma") {
    advance();
    if (token.kind != Token::Kind::String)
      return error(PtxSyntax, "expected a string after .pragma");
    advance();
    return expect(';');
  }
  bool isExtern = false;
  while (name == ".visible" || name == ".extern" || name == ".weak" || name == ".common") {
    isExtern |= name == ".extern";
    advance();
    name = token.text;
  }
  if (name == ".entry" || name == ".func")
    return functionHeader(name == ".entry", isExtern);
  if (name == ".global" || name == ".const" || name == ".shared") {
    Space space = name == ".global"  ? Space::Global
                  : name == ".const" ? Space::Const
                                     : Space::Shared;
    advance();
    return variables(module.variables, nullptr, space, isExtern);
  }
  return error(PtxDirective, "directive `" + name + "` is not supported");
}

bool Parser::target() {
  advance();
  while (token.kind == Token::Kind::Word) {
    std::string name(token.text);
    if (name.rfind("sm_", 0) == 0) {
      module.target = name;
      unsigned arch = 0;
      size_t i = 3;
      for (; i < name.size() && isdigit((unsigned char)name[i]) && arch < 1000; ++i)
        arch = arch * 10 + unsigned(name[i] - '0');
      module.arch = arch;
      module.archSpecific = i < name.size();
      if (!arch)
        return error(PtxTarget, "unknown target `" + name + "`");
    } else if (name != "debug" && name != "texmode_unified" && name != "texmode_independent" &&
               name != "map_f64_to_f32") {
      return error(PtxTarget, "unknown target `" + name + "`");
    }
    advance();
    if (!accept(','))
      break;
  }
  return !module.target.empty() || error(PtxTarget, "expected a target");
}

bool Parser::fileDirective() {
  advance();
  uint64_t number;
  if (!integer(number))
    return false;
  if (token.kind != Token::Kind::String)
    return error(PtxSyntax, "expected a file name");
  if (module.files.size() < 100000)
    module.files[uint32_t(number)] = std::string(token.text);
  advance();
  while (accept(',')) {
    uint64_t ignored; // time stamp and size
    if (!integer(ignored))
      return false;
  }
  return true;
}

/// `.align 8 .b8 name[16] = {...}, other;` after the state space.
bool Parser::variables(std::vector<Variable> &into, Function *function, Space space,
                       bool isExtern) {
  do {
    Variable variable;
    variable.space = space;
    variable.isExtern = isExtern;
    if (!variable1(variable, function != nullptr))
      return false;
    if (isExtern && space != Space::Shared)
      return error(PtxDirective, "external variables are not supported");
    if (function) {
      if (!declare(variable.name, {Name::Kind::Local, uint32_t(into.size())}))
        return false;
    } else if (!globals.try_emplace(variable.name, Name{Name::Kind::Global, uint32_t(into.size())})
                    .second) {
      return error(PtxRedefinition, "`" + variable.name + "` is declared twice");
    }
    lastType = variable.type;
    lastAlign = variable.align;
    into.push_back(std::move(variable));
  } while (accept(','));
  return expect(';');
}

bool Parser::variable1(Variable &variable, bool inFunction) {
  variable.line = token.line;
  unsigned vector = 1;
  uint32_t align = 0;
  while (token.kind == Token::Kind::Directive) {
    std::string name(token.text);
    if (name == ".align") {
      advance();
      uint64_t value;
      if (!integer(value))
        return false;
      if (!value || value > 4096 || (value & (value - 1)))
        return error(PtxSyntax, "an alignment must be a power of two");
      align = uint32_t(value);
      continue;
    }
    if (name == ".v2" || name == ".v4") {
      vector = unsigned(name[2] - '0');
    } else if (name == ".attribute" || name == ".managed") {
      return error(PtxDirective, "variable attributes are not supported");
    } else if (name == ".ptr" || name == ".const" || name == ".global" || name == ".shared" ||
               name == ".local") {
      // Hints about what a pointer parameter points to.
    } else if (Type type = typeFromName(name); type != Type::None) {
      variable.type = type;
    } else {
      return error(PtxDirective, "`" + name + "` is not supported here");
    }
    advance();
  }
  if (variable.type == Type::None && lastType != Type::None) {
    variable.type = lastType;
    align = align ? align : lastAlign;
  }
  if (variable.type == Type::None || variable.type == Type::Pred)
    return error(PtxSyntax, "expected a type of memory");
  // After the type of a parameter: `.ptr .global .align 16 name`.
  if (!word(variable.name))
    return false;
  uint64_t unit = (typeBits(variable.type) / 8) * vector;
  variable.align = std::max(align, uint32_t(unit));
  uint64_t count = 1;
  bool open = false;
  while (accept('[')) {
    if (accept(']')) {
      open = true;
      count = 0;
      continue;
    }
    uint64_t extent;
    if (!integer(extent) || !expect(']'))
      return false;
    if (extent > maxVariableBytes || (count && extent > maxVariableBytes / count))
      return error(PtxTooLarge, "a variable of more than 1 GiB");
    count = open ? 0 : count * extent;
  }
  if (count * unit > maxVariableBytes)
    return error(PtxTooLarge, "a variable of more than 1 GiB");
  variable.size = count * unit;
  if (accept('=')) {
    uint64_t at = 0;
    if (!initializer(variable, at, unit / vector, 0))
      return false;
    if (open)
      variable.size = at;
    if (at > variable.size)
      return error(PtxSyntax, "more values than the variable has elements");
    variable.init.resize(variable.size);
  }
  return true;
}

bool Parser::initializer(Variable &variable, uint64_t &at, uint64_t unit, unsigned depth) {
  if (accept('{')) {
    if (depth > 8)
      return error(PtxTooLarge, "an initializer nested too deeply");
    while (!is('}')) {
      if (!initializer(variable, at, unit, depth + 1))
        return false;
      if (!accept(','))
        break;
    }
    return expect('}');
  }
  uint64_t value = 0;
  if (token.kind == Token::Kind::Word) {
    // The address of another variable, also as generic(name)+offset.
    std::string name;
    bool generic = token.text == "generic";
    if (!word(name) || (generic && (!expect('(') || !word(name))) || (generic && !expect(')')))
      return false;
    uint64_t addend = 0;
    if (accept('+') && !integer(addend))
      return false;
    auto found = globals.find(name);
    bool isFunction = found != globals.end() && found->second.kind == Name::Kind::Function;
    if (!isFunction && (found == globals.end() || found->second.kind != Name::Kind::Global))
      return error(PtxUnknownName, "`" + name + "` is neither a variable nor a function");
    variable.relocations.push_back(
        {at, found->second.index, int64_t(addend), isFunction ? name : ""});
  } else if (token.kind == Token::Kind::Float) {
    value = token.value;
    if (unit == 4 && token.isDouble) {
      double wide;
      memcpy(&wide, &value, 8);
      float narrow = float(wide);
      uint32_t bits;
      memcpy(&bits, &narrow, 4);
      value = bits;
    }
    advance();
  } else if (!integer(value)) {
    return false;
  }
  if (at + unit > maxVariableBytes)
    return error(PtxTooLarge, "a variable of more than 1 GiB");
  variable.init.resize(std::max<uint64_t>(variable.init.size(), at + unit));
  memcpy(variable.init.data() + at, &value, std::min<uint64_t>(unit, 8));
  at += unit;
  return true;
}

bool Parser::parameterList(Function &function, uint32_t &count) {
  if (!expect('('))
    return false;
  while (!is(')')) {
    bool isRegister = token.kind == Token::Kind::Directive && token.text == ".reg";
    if (isRegister)
      return error(PtxDirective, "register parameters are not supported");
    if (token.kind != Token::Kind::Directive || token.text != ".param")
      return error(PtxSyntax, "expected `.param`");
    advance();
    Variable variable;
    variable.space = Space::Param;
    lastType = Type::None;
    if (!variable1(variable, true) ||
        !declare(variable.name, {Name::Kind::Local, uint32_t(function.variables.size())}))
      return false;
    function.variables.push_back(std::move(variable));
    ++count;
    if (!accept(','))
      break;
  }
  return expect(')');
}

bool Parser::functionHeader(bool isEntry, bool isExtern) {
  auto owned = std::make_unique<Function>();
  Function &function = *owned;
  function.isEntry = isEntry;
  function.line = token.line;
  advance();
  scopes.assign(1, Scope{});
  scopeStack.assign(1, 0);
  labelUses.clear();
  current = &function;
  // Results come first in the text; parameters come first in our order, so
  // results are declared after them.
  std::vector<Variable> results;
  if (is('(')) {
    uint32_t ignored = 0;
    if (!parameterList(function, ignored))
      return false;
    results = std::move(function.variables);
    function.variables.clear();
  }
  if (!word(function.name))
    return false;
  if (is('(') && !parameterList(function, function.numParams))
    return false;
  for (Variable &result : results) {
    scopes[0].names.erase(result.name);
    if (!declare(result.name, {Name::Kind::Local, uint32_t(function.variables.size())}))
      return false;
    function.variables.push_back(std::move(result));
    ++function.numResults;
  }
  while (token.kind == Token::Kind::Directive)
    if (!functionAttribute(function))
      return false;
  auto declared = globals.find(function.name);
  if (declared != globals.end() && declared->second.kind != Name::Kind::Function)
    return error(PtxRedefinition, "`" + function.name + "` is declared twice");
  globals[function.name] = Name{Name::Kind::Function, 0};
  if (accept(';')) {
    function.isDeclaration = true;
    module.functions.push_back(std::move(owned));
    return true;
  }
  if (module.function(function.name))
    return error(PtxRedefinition, "`" + function.name + "` is defined twice");
  if (!is('{'))
    return error(PtxSyntax, "expected the body of the function");
  bool ok = body(function);
  module.definitions.emplace(function.name, &function);
  module.functions.push_back(std::move(owned));
  current = nullptr;
  return ok;
}

bool Parser::functionAttribute(Function &function) {
  std::string name(token.text);
  advance();
  std::array<uint32_t, 3> sizes = {1, 1, 1};
  unsigned count = 0;
  while (token.kind == Token::Kind::Integer && count < 3) {
    sizes[count++] = uint32_t(std::min<uint64_t>(token.value, 0x7fffffff));
    advance();
    if (!accept(','))
      break;
  }
  if (name == ".maxntid")
    function.maxThreads = sizes;
  else if (name == ".reqntid")
    function.requiredThreads = sizes;
  else if (name == ".reqnctapercluster")
    function.requiredCluster = sizes;
  else if (name == ".explicitcluster")
    function.explicitCluster = true;
  else if (name == ".maxnreg")
    function.maxRegisters = sizes[0];
  else if (name == ".pragma") {
    if (token.kind != Token::Kind::String)
      return error(PtxSyntax, "expected a string after .pragma");
    advance();
    return expect(';');
  } else if (name != ".minnctapersm" && name != ".maxnctapersm" && name != ".noreturn" &&
             name != ".maxclusterrank" && name != ".blocksareclusters")
    return error(PtxDirective, "directive `" + name + "` is not supported");
  return true;
}

/// `.reg .b32 %r<100>, %x;`
bool Parser::registers(Function &function) {
  advance();
  unsigned vector = 1;
  if (token.kind == Token::Kind::Directive && (token.text == ".v2" || token.text == ".v4"))
    vector = unsigned(token.text[2] - '0');
  if (vector != 1)
    return error(PtxDirective, "vector registers are not supported");
  Type type = token.kind == Token::Kind::Directive ? typeFromName(token.text) : Type::None;
  if (type == Type::None)
    return error(PtxSyntax, "expected the type of a register");
  advance();
  do {
    std::string name;
    if (!word(name))
      return false;
    if (accept('<')) {
      uint64_t count;
      if (!integer(count) || !expect('>'))
        return false;
      if (count > maxRegisters || function.registers.size() + count > maxRegisters)
        return error(PtxTooLarge, "more than 2^20 registers");
      for (uint64_t i = 0; i < count; ++i) {
        std::string each = name + std::to_string(i);
        if (!declare(each, {Name::Kind::Register, uint32_t(function.registers.size())}))
          return false;
        function.registers.push_back({each, type});
      }
    } else {
      if (function.registers.size() >= maxRegisters)
        return error(PtxTooLarge, "more than 2^20 registers");
      if (!declare(name, {Name::Kind::Register, uint32_t(function.registers.size())}))
        return false;
      function.registers.push_back({name, type});
    }
  } while (accept(','));
  return expect(';');
}

bool Parser::declare(const std::string &name, Name what) {
  if (!scopes[scopeStack.back()].names.try_emplace(name, what).second)
    return error(PtxRedefinition, "`" + name + "` is declared twice");
  return true;
}

const Parser::Name *Parser::lookup(const std::string &name) const {
  for (size_t i = scopeStack.size(); i-- > 0;) {
    auto found = scopes[scopeStack[i]].names.find(name);
    if (found != scopes[scopeStack[i]].names.end())
      return &found->second;
  }
  auto found = globals.find(name);
  return found == globals.end() ? nullptr : &found->second;
}

ParseResult parse(std::string text, std::string name) {
  auto module = std::make_shared<Module>();
  module->name = std::move(name);
  module->text = std::move(text);
  Parser parser(*module);
  ParseResult result;
  if (parser.run())
    result.module = module;
  result.diagnostics = std::move(parser.diagnostics);
  result.diagnostics.insert(result.diagnostics.end(), parser.warnings.begin(),
                            parser.warnings.end());
  return result;
}

} // namespace penstock::ptx
