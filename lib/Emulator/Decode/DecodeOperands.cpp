//===- DecodeOperands.cpp - Operands of decoded instructions --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of Decoder that turns registers, constants, symbols and addresses into rows
// of a warp's registers, and reads the qualifiers that all instructions share.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Decode/Decoder.h"
#include "Emulator/Decode/Names.h"
#include "Emulator/Memory.h"

namespace penstock::emu {

using Kind = ptx::Operand::Kind;

Opnd Decoder::newRow(unsigned bits) {
  Opnd row;
  row.kind = Opnd::Kind::Row;
  row.bits = uint8_t(bits < 16 ? 16 : bits);
  row.at = program.rowBytes;
  program.rowBytes += bits <= 32 ? 128 : bits == 64 ? 256 : 512;
  return row;
}

Opnd Decoder::constantRow(uint64_t value, unsigned bits) {
  if (bits <= 32)
    value &= 0xffffffff;
  Opnd row;
  row.kind = Opnd::Kind::Const;
  row.bits = uint8_t(bits);
  unsigned width = bits <= 32 ? 32 : bits;
  auto [it, fresh] = constantCache.try_emplace({value, width}, uint32_t(program.constants.size()));
  row.at = it->second;
  if (fresh) {
    if (width == 32) {
      uint32_t small = uint32_t(value);
      for (int i = 0; i < 32; ++i)
        program.constants.insert(program.constants.end(), (uint8_t *)&small, (uint8_t *)&small + 4);
    } else {
      for (int i = 0; i < 32; ++i)
        program.constants.insert(program.constants.end(), (uint8_t *)&value, (uint8_t *)&value + 8);
      if (width == 128)
        program.constants.resize(program.constants.size() + 256);
    }
  }
  return row;
}

Decoder::FunctionFrame &Decoder::frame(const ptx::Function &f) {
  auto [it, fresh] = frames.try_emplace(&f);
  FunctionFrame &frame = it->second;
  if (!fresh)
    return frame;
  for (const ptx::Register &reg : f.registers) {
    if (reg.type == ptx::Type::Pred) {
      Opnd pred;
      pred.kind = Opnd::Kind::Pred;
      pred.bits = 1;
      pred.at = program.numPreds++;
      frame.registers.push_back(pred);
    } else {
      frame.registers.push_back(newRow(ptx::typeBits(reg.type)));
    }
  }
  for (size_t i = 0; i < f.variables.size(); ++i) {
    const ptx::Variable &variable = f.variables[i];
    bool kernelParam = f.isEntry && i < f.numParams;
    uint32_t offset = 0;
    if (kernelParam) {
      offset = program.paramOffsets[i].first;
    } else if (variable.space == ptx::Space::Shared) {
      auto found = sharedOffsets.find(&variable);
      offset = found == sharedOffsets.end() ? 0 : found->second;
    } else {
      uint64_t align = std::max(1u, variable.align);
      uint64_t at = (program.localBytes + align - 1) & ~(align - 1);
      if (at + variable.size < (1u << 24)) {
        program.localBytes = uint32_t(at + variable.size);
        offset = uint32_t(at);
      } else {
        program.localBytes = 1u << 24; // refused in run()
      }
    }
    frame.variables.push_back(offset);
  }
  return frame;
}

bool Decoder::isKernelParam(const ptx::Operand &operand) const {
  return operand.kind == Kind::Variable && !operand.isGlobal && function->isEntry &&
         operand.index < function->numParams;
}

ptx::Space Decoder::variableSpace(const ptx::Operand &operand) const {
  if (operand.kind != Kind::Variable)
    return ptx::Space::Generic;
  return operand.isGlobal ? program.module->variables[operand.index].space
                          : function->variables[operand.index].space;
}

bool Decoder::symbolRow(const ptx::Instruction &inst, const ptx::Operand &operand, unsigned bits,
                        Opnd &out) {
  const ptx::Variable &variable = operand.isGlobal ? program.module->variables[operand.index]
                                                   : function->variables[operand.index];
  switch (variable.space) {
  case ptx::Space::Shared: {
    auto found = sharedOffsets.find(&variable);
    if (found == sharedOffsets.end())
      return fail(inst, "shared variable `" + variable.name + "` is not allocated in this kernel");
    uint32_t offset = found->second + uint32_t(operand.offset);
    std::string key = "@" + std::to_string(bits) + ":" + std::to_string(offset);
    auto [it, fresh] = specialCache.try_emplace(key);
    if (fresh) {
      it->second = newRow(bits);
      program.specials.push_back({SpecialRow::What::SharedAddress, uint8_t(bits), it->second.at,
                                  offset, false, variable.name});
    }
    out = it->second;
    return true;
  }
  case ptx::Space::Global:
  case ptx::Space::Const:
    out = constantRow(globals[operand.index] + uint64_t(operand.offset), bits);
    return true;
  default:
    out = constantRow(frame(*function).variables[operand.index] + uint64_t(operand.offset), bits);
    return true;
  }
}

bool Decoder::source(const ptx::Instruction &inst, const ptx::Operand &operand, unsigned bits,
                     Opnd &out, bool isFloat) {
  switch (operand.kind) {
  case Kind::Register:
    out = frame(*function).registers[operand.index];
    out.negated = operand.negated;
    if (bits != 1 && out.kind == Opnd::Kind::Pred)
      return fail(inst, "a predicate where a value is needed");
    // Rows are read in units of the type; a shorter row would be overrun.
    if (bits > 32 && out.bits < bits)
      return fail(inst, "a register is narrower than its use");
    return true;
  case Kind::Special: {
    if (bits > 64)
      return fail(inst, "a special register has at most 64 bits");
    const std::string &name = operand.name;
    bool isClock = name.rfind("%clock", 0) == 0 || name.rfind("%globaltimer", 0) == 0;
    unsigned width = name == "%clock64" || name == "%globaltimer" || name == "%gridid" ||
                             name == "%current_graph_exec"
                         ? 64
                         : 32;
    if (bits == 64)
      width = 64;
    auto [it, fresh] = specialCache.try_emplace(name + ":" + std::to_string(width));
    if (fresh) {
      it->second = newRow(width);
      program.specials.push_back({isClock ? SpecialRow::What::Clock : SpecialRow::What::Special,
                                  uint8_t(width), it->second.at, 0, false, name});
    }
    out = it->second;
    return true;
  }
  case Kind::Immediate: {
    uint64_t value = operand.value;
    if (bits == 1)
      return predicate(inst, operand, out);
    if (isFloat)
      return fail(inst, "an integer constant where a float is needed");
    if (bits == 16)
      value &= 0xffff;
    out = constantRow(value, bits);
    return true;
  }
  case Kind::Float: {
    uint64_t value = operand.value;
    if (operand.isDouble && bits == 32) {
      double wide;
      memcpy(&wide, &value, 8);
      float narrow = float(wide);
      uint32_t word;
      memcpy(&word, &narrow, 4);
      value = word;
    } else if (!operand.isDouble && bits == 64) {
      uint32_t word = uint32_t(value);
      float narrow;
      memcpy(&narrow, &word, 4);
      double wide = narrow;
      memcpy(&value, &wide, 8);
    } else if (bits < 32) {
      return fail(inst, "a floating constant for a narrow type");
    }
    out = constantRow(value, bits);
    return true;
  }
  case Kind::Variable:
    return symbolRow(inst, operand, bits, out);
  case Kind::Sink:
    return fail(inst, "`_` is not a source");
  default:
    return fail(inst, "this operand is not supported");
  }
}

bool Decoder::destination(const ptx::Instruction &inst, const ptx::Operand &operand, Opnd &out) {
  if (operand.kind == Kind::Sink) {
    out = Opnd{};
    return true;
  }
  if (operand.kind != Kind::Register)
    return fail(inst, "the destination is not a register");
  out = frame(*function).registers[operand.index];
  out.written = true;
  return true;
}

bool Decoder::predicate(const ptx::Instruction &inst, const ptx::Operand &operand, Opnd &out) {
  if (operand.kind == Kind::Immediate) {
    out = Opnd{};
    out.kind = Opnd::Kind::Pred;
    out.bits = 1;
    out.at = falsePredicate;
    out.negated = operand.value != 0;
    return true;
  }
  if (operand.kind != Kind::Register || function->registers[operand.index].type != ptx::Type::Pred)
    return fail(inst, "a predicate register is needed");
  out = frame(*function).registers[operand.index];
  out.negated = operand.negated;
  return true;
}

bool Decoder::address(const ptx::Instruction &inst, const ptx::Operand &operand, Opnd &out) {
  const ptx::Operand &base = operand.elements[0];
  if (base.kind == Kind::Variable) {
    unsigned bits = 64;
    return symbolRow(inst, base, bits, out);
  }
  if (base.kind == Kind::Immediate) {
    out = constantRow(base.value + uint64_t(base.offset), 64);
    return true;
  }
  if (base.kind != Kind::Register)
    return fail(inst, "this address is not supported");
  out = frame(*function).registers[base.index];
  if (out.kind != Opnd::Kind::Row || (out.bits != 32 && out.bits != 64))
    return fail(inst, "an address register must have 32 or 64 bits");
  out.offset = base.offset;
  return true;
}

ptx::Space Decoder::spaceOf(const ptx::Instruction &inst) {
  using ptx::Space;
  static constexpr std::pair<const char *, Space> names[] = {
      {".shared", Space::Shared},
      {".shared::cta", Space::Shared},
      {".shared::cluster", Space::Shared},
      {".global", Space::Global},
      {".const", Space::Global}, // constants live in device memory here
      {".local", Space::Local},
      {".param", Space::Param},
      {".param::entry", Space::Param},
      {".param::func", Space::Param}};
  for (auto &[name, space] : names)
    if (inst.has(name))
      return space;
  return Space::Generic;
}

Scope Decoder::scopeOf(const ptx::Instruction &inst) {
  return inst.has(".cta") ? Scope::Block : inst.has(".cluster") ? Scope::Cluster : Scope::Device;
}

bool Decoder::immediate(const ptx::Operand &operand, uint64_t &value) {
  if (operand.kind != Kind::Immediate)
    return false;
  value = operand.value;
  return true;
}

void Decoder::setOperands(DInst &out, std::vector<Opnd> ops) {
  out.numOps = uint16_t(ops.size());
  program.operandLists.push_back(std::move(ops));
  out.ops = program.operandLists.back().data();
}

bool Decoder::plain(const ptx::Instruction &inst, DInst &out, unsigned bits, bool isFloat) {
  std::vector<Opnd> ops(inst.operands.size());
  for (size_t i = 0; i < ops.size(); ++i)
    if (!(i == 0 ? destination(inst, inst.operands[i], ops[i])
                 : source(inst, inst.operands[i], bits, ops[i], isFloat)))
      return false;
  setOperands(out, std::move(ops));
  return true;
}

} // namespace penstock::emu
