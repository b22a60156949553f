//===- Program.h - A kernel decoded for execution ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoding happens once per kernel: calls are inlined, registers get rows of 32
// lanes in one block of memory per warp, constants get rows of their own, and
// every instruction gets the function that executes it. Special registers and
// addresses of shared variables are ordinary rows that are filled when a warp
// starts.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_DECODE_PROGRAM_H
#define PENSTOCK_EMULATOR_DECODE_PROGRAM_H

#include "PTX/Module.h"

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace penstock::emu {

struct Exec;
struct DInst;
using Handler = void (*)(Exec &, const DInst &);

/// Whom a strong access or a fence reaches.
enum class Scope : uint8_t { Block, Cluster, Device };
constexpr unsigned numScopes = 3;

/// Storage class of an operand.
struct Opnd {
  enum class Kind : uint8_t { None, Row, Const, Pred };
  Kind kind = Kind::None;
  uint8_t bits = 0;     ///< 16, 32, 64, 128 (rows) or 1 (predicates)
  bool negated = false; ///< predicates
  bool written = false; ///< a destination
  uint32_t at = 0;      ///< byte offset of the row, or index of the predicate
  int64_t offset = 0;   ///< addresses: added to the row's values
};

inline constexpr uint32_t noPc = 0xffffffff;
/// A predicate that no instruction writes, for constants.
inline constexpr uint32_t falsePredicate = 0;

struct DInst {
  Handler run = nullptr;
  const Opnd *ops = nullptr;
  uint16_t numOps = 0;
  bool guarded = false;
  bool guardNegated = false;
  /// Touches registers that wgmma or tcgen05.ld also use: check that none is in
  /// flight.
  bool checkRegisters = false;
  bool usesClock = false;
  /// Sets Program::crossCta. Timing::Random lets other threads run after it.
  bool crossCta = false;
  /// With checkRegisters: the operands that are written.
  uint8_t firstWritten = 0, endWritten = 0;
  ptx::Type type = ptx::Type::None;
  uint8_t mode = 0;  ///< family-specific
  uint8_t flags = 0; ///< family-specific
  uint32_t guard = 0;
  uint32_t target = noPc; ///< branches
  uint32_t reconverge = noPc;
  uint64_t imm[3] = {}; ///< family-specific
  const ptx::Instruction *source = nullptr;
};

struct SpecialRow {
  enum class What : uint8_t { Special, SharedAddress, Clock };
  What what;
  uint8_t bits;
  uint32_t row;
  uint32_t offset = 0; ///< SharedAddress: offset inside of shared memory
  bool generic = false;
  std::string name; ///< Special
};

/// A variable in shared memory, for messages.
struct SharedSymbol {
  std::string name;
  uint32_t offset;
  uint64_t size;
};

struct Program {
  std::shared_ptr<const ptx::Module> module;
  const ptx::Function *kernel = nullptr;
  std::vector<DInst> code;
  std::deque<std::vector<Opnd>> operandLists;
  std::vector<uint8_t> constants;
  uint32_t rowBytes = 0; ///< bytes of rows per warp
  uint32_t numPreds = falsePredicate + 1;
  std::vector<SpecialRow> specials;
  uint32_t localBytes = 0;
  uint32_t paramBytes = 0;
  uint32_t sharedStatic = 0; ///< bytes after the reserved part
  uint32_t sharedAlign = 1;  ///< of the dynamic part
  std::vector<SharedSymbol> sharedSymbols;
  std::vector<std::pair<uint32_t, uint32_t>> paramOffsets; ///< offset, size
  /// Uses global memory to synchronize between clusters, or asks for more
  /// work: then all clusters take turns on one host thread.
  bool crossCta = false;
  bool usesLaunchControl = false;
  std::vector<uint32_t> wgmmaRows;  ///< registers that wgmma uses
  std::vector<uint32_t> loadedRows; ///< registers that tcgen05.ld fills
  /// Addresses that indirect calls may have.
  std::deque<std::vector<uint64_t>> callTables;
  /// Some synchronization is relaxed: only then tcgen05.fence has an effect.
  bool relaxedSync = false;
  /// Some acquire or fence does not include all threads of the device.
  bool narrowAcquires = false;
};

/// The address of a function with a body, in a window of its own; 0 if there is none.
uint64_t functionAddress(const ptx::Module &module, std::string_view name);

/// The diagnostic of a kernel that \p module does not have: lists its kernels, similar names first.
Diagnostic unknownKernel(const ptx::Module &module, const std::string &kernel);

/// Decodes kernel \p kernel of \p module. \p globals are the device addresses
/// of the module's variables. Null with \p diagnostics filled on failure.
std::shared_ptr<const Program> decode(std::shared_ptr<const ptx::Module> module,
                                      const std::string &kernel,
                                      const std::vector<uint64_t> &globals,
                                      std::vector<Diagnostic> &diagnostics);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_DECODE_PROGRAM_H
