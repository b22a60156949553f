//===- Decoder.h - Decoders of instruction families -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_DECODE_DECODER_H
#define PENSTOCK_EMULATOR_DECODE_DECODER_H

#include "Emulator/Decode/Program.h"
#include "PTX/InstructionTable.h"

#include <map>
#include <unordered_map>

namespace penstock::emu {

class Decoder;
/// Fills \p out for \p inst; false after Decoder::fail.
using DecodeFn = bool (*)(Decoder &, const ptx::Instruction &, DInst &out);
using DecodeTable = std::unordered_map<std::string, DecodeFn>;

/// By name of the instruction table's rows. A row without an entry is reported
/// as not executed.
const DecodeTable &decodeTable();

// One per family; each adds its instructions.
void addControl(DecodeTable &);
void addInteger(DecodeTable &);
void addLogic(DecodeTable &);
void addFloat(DecodeTable &);
void addCompare(DecodeTable &);
void addConvert(DecodeTable &);
void addMove(DecodeTable &);
void addMemory(DecodeTable &);
void addAtomic(DecodeTable &);
void addWarp(DecodeTable &);
void addBarrier(DecodeTable &);
void addFence(DecodeTable &);
void addMbarrier(DecodeTable &);
void addAsyncCopy(DecodeTable &);
void addBulkCopy(DecodeTable &);
void addTensorCopy(DecodeTable &);
void addTensorMap(DecodeTable &);
void addWgmma(DecodeTable &);
void addTcgen05Memory(DecodeTable &);
void addTcgen05Copy(DecodeTable &);
void addTcgen05Commit(DecodeTable &);
void addTcgen05Mma(DecodeTable &);
void addMatrix(DecodeTable &);
void addCluster(DecodeTable &);

class Decoder {
public:
  Decoder(Program &program, const std::vector<uint64_t> &globals,
          std::vector<Diagnostic> &diagnostics)
      : program(program), globals(globals), diagnostics(diagnostics) {}

  bool run();
  bool fail(const ptx::Instruction &inst, std::string message);

  /// A source: a register's row, or a constant row of \p bits per lane.
  bool source(const ptx::Instruction &inst, const ptx::Operand &operand, unsigned bits, Opnd &out,
              bool isFloat = false);
  /// A destination: a register or `_`.
  bool destination(const ptx::Instruction &inst, const ptx::Operand &operand, Opnd &out);
  bool predicate(const ptx::Instruction &inst, const ptx::Operand &operand, Opnd &out);
  /// `[...]`: base row or constant, with offset.
  bool address(const ptx::Instruction &inst, const ptx::Operand &operand, Opnd &out);
  /// The state space that a memory instruction names; Generic if it names none.
  static ptx::Space spaceOf(const ptx::Instruction &inst);
  /// The scope that an instruction names; without one it reaches the device.
  static Scope scopeOf(const ptx::Instruction &inst);
  /// The value of an immediate operand.
  static bool immediate(const ptx::Operand &operand, uint64_t &value);
  /// d, a, b, ... of one width: the common case.
  bool plain(const ptx::Instruction &inst, DInst &out, unsigned bits, bool isFloat = false);
  void setOperands(DInst &out, std::vector<Opnd> ops);
  /// Variables: whether \p operand names a parameter of the kernel.
  bool isKernelParam(const ptx::Operand &operand) const;
  ptx::Space variableSpace(const ptx::Operand &operand) const;

  Program &program;
  const ptx::Function *function = nullptr;

private:
  struct FunctionFrame {
    std::vector<Opnd> registers;
    std::vector<uint32_t> variables; ///< offsets in their spaces
  };
  void markBusyRegisters();
  void findRelaxedSync();
  bool layoutKernel();
  bool layoutShared();
  FunctionFrame &frame(const ptx::Function &function);
  bool emitFunction(const ptx::Function &function, unsigned depth);
  bool emitCall(const ptx::Instruction &inst, unsigned depth);
  bool emitIndirectCall(const ptx::Instruction &inst, unsigned depth);
  bool emitInlined(const ptx::Instruction &inst, const ptx::Function &called, unsigned depth);
  bool fits(const ptx::Instruction &call, const ptx::Function &callee) const;
  bool emitIndexedBranch(const ptx::Instruction &inst,
                         std::vector<std::pair<uint32_t, uint32_t>> &branches);
  bool emitExternal(const ptx::Instruction &inst, const std::string &name);
  Opnd constantRow(uint64_t value, unsigned bits);
  Opnd newRow(unsigned bits);
  bool symbolRow(const ptx::Instruction &inst, const ptx::Operand &operand, unsigned bits,
                 Opnd &out);

  const std::vector<uint64_t> &globals;
  std::vector<Diagnostic> &diagnostics;
  std::map<const ptx::Function *, FunctionFrame> frames;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> constantCache;
  std::map<std::string, Opnd> specialCache;
  std::vector<const ptx::Function *> callStack;
  std::map<const ptx::Variable *, uint32_t> sharedOffsets;
  uint32_t dynamicShared = 0;
};

/// Fills DInst::reconverge of all branches.
void findReconvergence(Program &program);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_DECODE_DECODER_H
