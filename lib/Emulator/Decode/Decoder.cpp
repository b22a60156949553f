//===- Decoder.cpp - From a parsed kernel to a decoded one ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Decode/Decoder.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Decode/Names.h"
#include "Emulator/Exec/ExecCall.h"
#include "Emulator/Memory.h"

#include <algorithm>
#include <functional>
#include <set>

namespace penstock::emu {
namespace {

constexpr size_t maxCode = 4u << 20;
constexpr unsigned maxCallDepth = 64;
constexpr uint32_t maxRowBytes = 1u << 28;

using Kind = ptx::Operand::Kind;

} // namespace

const DecodeTable &decodeTable() {
  static const DecodeTable table = [] {
    DecodeTable t;
    addControl(t);
    addInteger(t);
    addLogic(t);
    addFloat(t);
    addCompare(t);
    addConvert(t);
    addMove(t);
    addMemory(t);
    addAtomic(t);
    addWarp(t);
    addBarrier(t);
    addFence(t);
    addMbarrier(t);
    addAsyncCopy(t);
    addBulkCopy(t);
    addTensorCopy(t);
    addTensorMap(t);
    addWgmma(t);
    addTcgen05Memory(t);
    addTcgen05Copy(t);
    addTcgen05Commit(t);
    addTcgen05Mma(t);
    addMatrix(t);
    addCluster(t);
    return t;
  }();
  return table;
}

bool Decoder::fail(const ptx::Instruction &inst, std::string message) {
  Diagnostic d;
  d.code = PtxUnsupported;
  d.location = program.module->location(inst.line, inst.column);
  d.message = "`" + inst.opcode + "`: " + std::move(message);
  diagnostics.push_back(std::move(d));
  return false;
}

/// Gives parameters their offsets and shared variables theirs.
bool Decoder::layoutKernel() {
  const ptx::Function &kernel = *program.kernel;
  uint64_t at = 0;
  for (uint32_t i = 0; i < kernel.numParams; ++i) {
    const ptx::Variable &variable = kernel.variables[i];
    uint64_t align = std::max(1u, variable.align);
    at = (at + align - 1) & ~(align - 1);
    program.paramOffsets.emplace_back(uint32_t(at), uint32_t(variable.size));
    at += variable.size;
    if (at > 32764) {
      Diagnostic d;
      d.code = PtxTooLarge;
      d.location = program.module->location(kernel.line);
      d.message = "the parameters of `" + kernel.name + "` take more than 32764 bytes";
      diagnostics.push_back(std::move(d));
      return false;
    }
  }
  program.paramBytes = uint32_t(at);
  return layoutShared();
}

/// Functions whose address is taken, in the order of the text.
static std::vector<const ptx::Function *> addressedFunctions(const ptx::Module &module) {
  std::set<std::string> names;
  for (const auto &function : module.functions)
    for (const auto &inst : function->body)
      if (inst->form->name != "call")
        for (const ptx::Operand &operand : inst->operands)
          if (operand.kind == Kind::Function)
            names.insert(operand.name);
  for (const ptx::Variable &variable : module.variables)
    for (const auto &relocation : variable.relocations)
      names.insert(relocation.function);
  std::vector<const ptx::Function *> list;
  for (const auto &function : module.functions)
    if (!function->isDeclaration && !function->isEntry && names.count(function->name))
      list.push_back(function.get());
  return list;
}

uint64_t functionAddress(const ptx::Module &module, std::string_view name) {
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (!module.functions[i]->isDeclaration && module.functions[i]->name == name)
      return functionWindow + 16 * (i + 1);
  return 0;
}

/// A kernel and what it calls. The variables of other kernels are none of its own.
static std::vector<const ptx::Function *> calledFunctions(const ptx::Module &module,
                                                          const ptx::Function &kernel) {
  std::vector<const ptx::Function *> list = {&kernel};
  std::set<const ptx::Function *> known = {&kernel};
  for (size_t i = 0; i < list.size(); ++i)
    for (const auto &inst : list[i]->body)
      if (inst->form->name == "call" && !inst->operands.empty()) {
        std::vector<const ptx::Function *> callees = {module.function(inst->operands[0].name)};
        if (inst->callees != ptx::Instruction::noCallees)
          callees = addressedFunctions(module);
        for (const ptx::Function *callee : callees)
          if (callee && known.insert(callee).second)
            list.push_back(callee);
      }
  return list;
}

/// The module's variables that \p functions name.
static std::set<uint32_t> namedVariables(const std::vector<const ptx::Function *> &functions) {
  std::set<uint32_t> named;
  std::function<void(const std::vector<ptx::Operand> &)> visit =
      [&](const std::vector<ptx::Operand> &operands) {
        for (const ptx::Operand &operand : operands) {
          if (operand.kind == Kind::Variable && operand.isGlobal)
            named.insert(operand.index);
          visit(operand.elements);
        }
      };
  for (const ptx::Function *function : functions)
    for (const auto &inst : function->body)
      visit(inst->operands);
  return named;
}

bool Decoder::layoutShared() {
  uint64_t at = sharedReserved;
  std::vector<const ptx::Variable *> dynamic;
  uint32_t dynamicAlign = 16;
  auto layOut = [&](const ptx::Variable &variable) {
    if (variable.space != ptx::Space::Shared)
      return true;
    if (variable.isExtern || variable.size == 0) {
      dynamic.push_back(&variable);
      dynamicAlign = std::max(dynamicAlign, variable.align);
      return true;
    }
    uint64_t align = std::max(1u, variable.align);
    at = (at + align - 1) & ~(align - 1);
    sharedOffsets[&variable] = uint32_t(at);
    program.sharedSymbols.push_back({sourceName(variable.name), uint32_t(at), variable.size});
    at += variable.size;
    return at < (1u << 20);
  };
  bool fits = true;
  // As the linker does: a variable of the module takes room in kernels that use it.
  std::vector<const ptx::Function *> functions = calledFunctions(*program.module, *program.kernel);
  for (uint32_t index : namedVariables(functions))
    fits &= layOut(program.module->variables[index]);
  for (const ptx::Function *f : functions)
    for (const ptx::Variable &variable : f->variables)
      fits &= layOut(variable);
  if (!fits) {
    Diagnostic d;
    d.code = PtxTooLarge;
    d.location = program.module->location(program.kernel->line);
    d.message = "shared variables take more than 1 MiB";
    diagnostics.push_back(std::move(d));
    return false;
  }
  program.sharedStatic = uint32_t(at - sharedReserved);
  program.sharedAlign = dynamicAlign;
  at = (at + dynamicAlign - 1) & ~uint64_t(dynamicAlign - 1);
  dynamicShared = uint32_t(at);
  for (const ptx::Variable *variable : dynamic) {
    sharedOffsets[variable] = dynamicShared;
    program.sharedSymbols.push_back({sourceName(variable->name), dynamicShared, 0});
  }
  return true;
}

bool Decoder::run() {
  if (!layoutKernel())
    return false;
  size_t before = diagnostics.size();
  if (!emitFunction(*program.kernel, 0) || diagnostics.size() != before)
    return false;
  // The end of the body is an exit.
  DInst end;
  end.run = runExit;
  end.source = program.code.empty() ? nullptr : program.code.back().source;
  program.code.push_back(end);
  if (program.rowBytes > maxRowBytes || program.localBytes >= (1u << 24)) {
    Diagnostic d;
    d.code = PtxTooLarge;
    d.location = program.module->location(program.kernel->line);
    d.message = "the kernel needs too many registers or too much local memory";
    diagnostics.push_back(std::move(d));
    return false;
  }
  findReconvergence(program);
  markBusyRegisters();
  findRelaxedSync();
  return true;
}

/// Returns whether anything synchronizes without releasing or acquiring: what says so, and atomics
/// that say nothing.
void Decoder::findRelaxedSync() {
  for (const DInst &inst : program.code) {
    if (!inst.source || !inst.source->form)
      continue;
    const ptx::Instruction &source = *inst.source;
    bool atomic = source.form->name == "atom" || source.form->name == "red";
    program.relaxedSync |=
        source.has(".relaxed") || source.has(".volatile") || (atomic && !source.has(".acq_rel"));
  }
}

/// Instructions that touch registers of wgmma or tcgen05.ld check whether they
/// are free.
void Decoder::markBusyRegisters() {
  std::set<uint32_t> rows(program.wgmmaRows.begin(), program.wgmmaRows.end());
  rows.insert(program.loadedRows.begin(), program.loadedRows.end());
  if (rows.empty())
    return;
  for (DInst &inst : program.code) {
    if (!inst.source || !inst.source->form || inst.run == runBranch)
      continue;
    const ptx::InstructionForm &form = *inst.source->form;
    if (form.name == "wgmma.mma_async" || form.operands.empty())
      continue;
    for (unsigned i = 0; i < inst.numOps; ++i)
      inst.checkRegisters |= inst.ops[i].kind == Opnd::Kind::Row && rows.count(inst.ops[i].at);
    if (!inst.checkRegisters)
      continue;
    char first = form.operands[0].kind;
    if (first == 'm' || first == 't')
      continue; // stores write no register
    bool isLoad = form.name == "ld" || form.name == "ld.global.nc" || form.name == "tcgen05.ld" ||
                  form.name == "ldmatrix";
    bool unpacks =
        form.name == "mov" && inst.source->operands[0].kind == ptx::Operand::Kind::Vector;
    inst.firstWritten = isLoad ? 1 : 0;
    inst.endWritten = uint8_t(isLoad    ? std::min<unsigned>(inst.numOps, 255)
                              : unpacks ? inst.numOps - 1
                                        : std::min<unsigned>(inst.numOps, 1));
  }
}

bool Decoder::emitFunction(const ptx::Function &f, unsigned depth) {
  const ptx::Function *outer = function;
  function = &f;
  callStack.push_back(&f);
  frame(f);
  const DecodeTable &table = decodeTable();
  std::vector<uint32_t> start(f.body.size() + 1);
  std::vector<std::pair<uint32_t, uint32_t>> branches; // code, instruction
  std::vector<uint32_t> returns;
  bool ok = true;
  for (size_t i = 0; i < f.body.size(); ++i) {
    const ptx::Instruction &inst = *f.body[i];
    start[i] = uint32_t(program.code.size());
    if (program.code.size() > maxCode)
      return fail(inst, "the kernel is too long once its calls are inlined");
    bool isCall = inst.form->name == "call";
    if (isCall || (inst.guarded && inst.form->name == "brx.idx")) {
      // Guarded calls are rare: jump around them.
      uint32_t around = noPc;
      if (inst.guarded) {
        DInst skip;
        skip.run = runBranch;
        skip.guarded = true;
        skip.guardNegated = !inst.guardNegated;
        skip.guard = frame(f).registers[inst.guard].at;
        skip.source = &inst;
        around = uint32_t(program.code.size());
        program.code.push_back(skip);
      }
      ok &= isCall ? emitCall(inst, depth) : emitIndexedBranch(inst, branches);
      if (around != noPc)
        program.code[around].target = uint32_t(program.code.size());
      continue;
    }
    DInst out;
    out.source = &inst;
    if (inst.guarded) {
      out.guarded = true;
      out.guardNegated = inst.guardNegated;
      out.guard = frame(f).registers[inst.guard].at;
    }
    if (inst.form->name == "bra") {
      out.run = runBranch;
      branches.emplace_back(uint32_t(program.code.size()), inst.operands[0].index);
    } else if (inst.form->name == "brx.idx") {
      ok &= emitIndexedBranch(inst, branches);
      continue;
    } else if (inst.form->name == "ret") {
      out.run = depth ? runBranch : runExit;
      if (depth)
        returns.push_back(uint32_t(program.code.size()));
    } else {
      auto found = table.find(inst.form->name);
      if (found == table.end()) {
        ok = fail(inst, "this instruction is not executed by the emulator");
        continue;
      }
      for (const ptx::Operand &operand : inst.operands)
        if (operand.kind == Kind::Special &&
            (operand.name.rfind("%clock", 0) == 0 || operand.name.rfind("%globaltimer", 0) == 0))
          out.usesClock = true;
      if (!found->second(*this, inst, out)) {
        ok = false;
        if (diagnostics.size() > 100)
          break;
        continue;
      }
    }
    program.code.push_back(out);
  }
  start[f.body.size()] = uint32_t(program.code.size());
  if (depth == 0 && !branches.empty()) {
    // A label at the very end needs an instruction to point to; run() adds it.
  }
  for (auto [at, to] : branches)
    program.code[at].target = start[std::min<size_t>(to, f.body.size())];
  for (uint32_t at : returns)
    program.code[at].target = uint32_t(program.code.size());
  callStack.pop_back();
  function = outer;
  return ok;
}

/// One branch for each target; an index without one was reported before them.
bool Decoder::emitIndexedBranch(const ptx::Instruction &inst,
                                std::vector<std::pair<uint32_t, uint32_t>> &branches) {
  const std::vector<uint32_t> &targets = function->branchTargets[inst.operands[1].index];
  Opnd index;
  if (!source(inst, inst.operands[0], 32, index))
    return false;
  DInst check;
  check.source = &inst;
  check.run = runCheckIndex;
  check.imm[0] = targets.size();
  setOperands(check, {index});
  program.code.push_back(check);
  for (size_t i = 0; i < targets.size(); ++i) {
    DInst branch;
    branch.source = &inst;
    branch.run = i + 1 < targets.size() ? runBranchIfIndex : runBranch;
    branch.imm[0] = i;
    setOperands(branch, {index});
    branches.emplace_back(uint32_t(program.code.size()), targets[i]);
    program.code.push_back(branch);
  }
  return true;
}

/// Returns true if arguments and results of a call have the sizes of a function's.
bool Decoder::fits(const ptx::Instruction &call, const ptx::Function &callee) const {
  if (callee.numParams != call.arguments.size() || callee.numResults != call.results.size())
    return false;
  auto same = [&](const ptx::Operand &local, uint32_t index) {
    return local.kind == Kind::Variable && !local.isGlobal &&
           function->variables[local.index].size == callee.variables[index].size;
  };
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!same(call.arguments[i], uint32_t(i)))
      return false;
  for (size_t i = 0; i < call.results.size(); ++i)
    if (!same(call.results[i], uint32_t(callee.numParams + i)))
      return false;
  return true;
}

/// A branch to each function that the register may name, inlined one after the other.
bool Decoder::emitIndirectCall(const ptx::Instruction &inst, unsigned depth) {
  Opnd address;
  if (!source(inst, inst.operands[0], 64, address))
    return false;
  const std::vector<std::string> &listed = function->callTargets[inst.callees];
  std::vector<const ptx::Function *> callees;
  for (const ptx::Function *callee : addressedFunctions(*program.module))
    if ((listed.empty() || std::count(listed.begin(), listed.end(), callee->name)) &&
        fits(inst, *callee) && !std::count(callStack.begin(), callStack.end(), callee))
      callees.push_back(callee);
  DInst check;
  check.source = &inst;
  check.run = runCheckCallee;
  check.imm[0] = program.callTables.size();
  setOperands(check, {address});
  program.code.push_back(check);
  std::vector<uint64_t> &known = program.callTables.emplace_back();
  std::vector<uint32_t> branches, ends;
  for (const ptx::Function *callee : callees) {
    known.push_back(functionAddress(*program.module, callee->name));
    DInst branch;
    branch.source = &inst;
    branch.run = runBranchIfIndex;
    branch.imm[0] = known.back();
    setOperands(branch, {address});
    branches.push_back(uint32_t(program.code.size()));
    program.code.push_back(branch);
  }
  auto jump = [&] {
    DInst out;
    out.source = &inst;
    out.run = runBranch;
    ends.push_back(uint32_t(program.code.size()));
    program.code.push_back(out);
  };
  jump(); // not reached: an address without a function was reported before
  for (size_t i = 0; i < callees.size(); ++i) {
    program.code[branches[i]].target = uint32_t(program.code.size());
    if (!emitInlined(inst, *callees[i], depth))
      return false;
    jump();
  }
  for (uint32_t at : ends)
    program.code[at].target = uint32_t(program.code.size());
  return true;
}

bool Decoder::emitCall(const ptx::Instruction &inst, unsigned depth) {
  if (inst.callees != ptx::Instruction::noCallees)
    return emitIndirectCall(inst, depth);
  const std::string &name = inst.operands[0].name;
  const ptx::Function *callee = program.module->function(name);
  return callee ? emitInlined(inst, *callee, depth) : emitExternal(inst, name);
}

bool Decoder::emitInlined(const ptx::Instruction &inst, const ptx::Function &called,
                          unsigned depth) {
  const ptx::Function *callee = &called;
  if (depth >= maxCallDepth ||
      std::find(callStack.begin(), callStack.end(), callee) != callStack.end())
    return fail(inst, "recursive calls are not supported");
  if (callee->numParams != inst.arguments.size() || callee->numResults != inst.results.size())
    return fail(inst, "the call does not fit the declaration of `" + callee->name + "`");
  FunctionFrame &mine = frame(*function);
  FunctionFrame &theirs = frame(*callee);
  auto copy = [&](const ptx::Operand &local, uint32_t index, bool in) {
    if (local.kind != Kind::Variable || local.isGlobal)
      return fail(inst, "an argument is not a parameter variable");
    const ptx::Variable &here = function->variables[local.index];
    const ptx::Variable &there = callee->variables[index];
    if (here.size != there.size)
      return fail(inst, "an argument has another size than the parameter");
    DInst move;
    move.source = &inst;
    move.run = runCopyLocal;
    uint32_t a = theirs.variables[index], b = mine.variables[local.index];
    move.imm[0] = in ? a : b;
    move.imm[1] = in ? b : a;
    move.imm[2] = here.size;
    program.code.push_back(move);
    return true;
  };
  for (size_t i = 0; i < inst.arguments.size(); ++i)
    if (!copy(inst.arguments[i], uint32_t(i), true))
      return false;
  if (!emitFunction(*callee, depth + 1))
    return false;
  for (size_t i = 0; i < inst.results.size(); ++i)
    if (!copy(inst.results[i], uint32_t(callee->numParams + i), false))
      return false;
  return true;
}

/// Functions that the device runtime provides.
bool Decoder::emitExternal(const ptx::Instruction &inst, const std::string &name) {
  DInst out;
  out.source = &inst;
  FunctionFrame &mine = frame(*function);
  auto layOut = [&](const ptx::Operand &operand, uint64_t &at) {
    if (operand.kind != Kind::Variable || operand.isGlobal)
      return false;
    at = mine.variables[operand.index];
    return true;
  };
  if (name == "vprintf") {
    out.run = runPrintf;
    if (inst.arguments.size() != 2 || inst.results.size() != 1 ||
        !layOut(inst.arguments[0], out.imm[0]) || !layOut(inst.arguments[1], out.imm[1]) ||
        !layOut(inst.results[0], out.imm[2]))
      return fail(inst, "vprintf is called with the wrong arguments");
  } else if (name == "__assertfail") {
    out.run = runAssertFail;
    if (inst.arguments.size() != 5 || !layOut(inst.arguments[0], out.imm[0]) ||
        !layOut(inst.arguments[1], out.imm[1]) || !layOut(inst.arguments[2], out.imm[2]))
      return fail(inst, "__assertfail is called with the wrong arguments");
  } else {
    return fail(inst, "external function `" + name + "` is not known");
  }
  program.code.push_back(out);
  return true;
}

std::shared_ptr<const Program> decode(std::shared_ptr<const ptx::Module> module,
                                      const std::string &kernel,
                                      const std::vector<uint64_t> &globals,
                                      std::vector<Diagnostic> &diagnostics) {
  auto program = std::make_shared<Program>();
  program->module = module;
  program->kernel = module->function(kernel);
  if (!program->kernel || !program->kernel->isEntry) {
    diagnostics.push_back(unknownKernel(*module, kernel));
    return nullptr;
  }
  Decoder decoder(*program, globals, diagnostics);
  if (!decoder.run())
    return nullptr;
  return program;
}

} // namespace penstock::emu
