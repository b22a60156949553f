//===- Context.h - A kernel with findings, for repairs ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_CONTEXT_H
#define PENSTOCK_EMULATOR_REPAIR_CONTEXT_H

#include "Emulator/Profile.h"
#include "Emulator/Repair/Candidate.h"
#include "Emulator/Repair/ControlFlow.h"

#include <memory>
#include <set>
#include <string_view>

namespace penstock::emu {

/// A point between two instructions of a function.
struct InsertionPoint {
  size_t function = 0, index = 0;
  bool after = false;      ///< after the instruction, before a label
  size_t label = 0;        ///< not 0: where a label ends that the instruction branches to
  unsigned distance = 0;   ///< from the accesses of the findings
  uint64_t executions = 0; ///< the most by one warp
  bool wholeWarps = true;
  bool tooRare = false; ///< executed less often than the accesses
};

/// Candidates to propose. Later ones are run if no earlier one works.
enum class Effort : uint8_t {
  Likely, ///< for the findings of the first timing that has any
  Waits,  ///< waits for mbarriers, for all findings
  All
};

/// A kernel, its findings and its profile, for the generators of candidates.
class RepairContext {
public:
  /// A function of the kernel.
  struct Part {
    const ptx::Function *function;
    ControlFlow flow;
  };

  RepairContext(const ptx::Module &module, const ptx::Function &entry,
                const ExecutionProfile &profile, std::set<unsigned> codes,
                const std::set<uint32_t> &lines, uint32_t blockWarps, uint32_t clusterBlocks,
                bool withinWarp, Effort effort);

  const ptx::Module &module;
  const ExecutionProfile &profile;
  std::set<unsigned> codes; ///< of the findings
  uint32_t blockWarps = 1, clusterBlocks = 1;
  bool withinWarp = true; ///< a finding is about two lanes of one warp
  Effort effort = Effort::Likely;
  std::vector<Part> parts;
  std::vector<InsertionPoint> points; ///< those that are executed
  std::vector<const ptx::Instruction *> sides;

  bool thorough() const { return effort == Effort::All; }
  bool has(std::initializer_list<unsigned> any) const;
  /// Returns whether an instruction of the kernel begins with \p opcode.
  bool uses(std::string_view opcode) const;
  /// Returns whether a finding names an instruction that begins with \p opcode.
  bool names(std::string_view opcode) const;
  /// Opcodes of the kernel that begin with \p prefix, each once.
  std::vector<std::string> opcodes(std::string_view prefix) const;
  const ptx::Instruction &at(const InsertionPoint &point) const {
    return *parts[point.function].function->body[point.index];
  }
  const ExecutionProfile::Executions &executionsAt(const InsertionPoint &point) const {
    return *profile.find(at(point));
  }

  /// Returns whether a register has a value at a point, on all paths.
  bool isLive(const InsertionPoint &point, uint32_t reg) const;

  /// An expression, the best first.
  struct Operand {
    std::string text;
    unsigned rank = 0;
  };
  /// Addresses of mbarriers that are known at a point; of those in \p only, if it is not empty.
  std::vector<Operand> barriersAt(const InsertionPoint &point,
                                  const std::set<uint64_t> &only) const;
  /// Registers that hold 0 or 1 there.
  std::vector<Operand> paritiesAt(const InsertionPoint &point) const;
  /// Guards for one thread of a warp there: "" if one thread is all that executes it.
  std::vector<std::string> singleGuardsAt(const InsertionPoint &point) const;

  /// A candidate that inserts \p text at a point.
  Candidate insertion(const InsertionPoint &point, Strength strength, const std::string &text,
                      int detail = 0) const;
  /// A candidate that replaces the text of an instruction.
  Candidate replacement(const ptx::Instruction &inst, Strength strength, const std::string &text,
                        int detail = 0) const;
  std::string textOfInstruction(const ptx::Instruction &inst) const;
  /// Returns the offset of the body of a function.
  size_t bodyOf(const ptx::Function &function) const;

private:
  void findPoints();
  std::vector<std::pair<std::string, size_t>> innerLabels(const ptx::Function &function,
                                                          size_t index) const;
  std::set<uint64_t> valuesOf(const Part &part, uint32_t reg, bool &known) const;
};

/// The mbarrier that an instruction works on or completes on; null if there is none.
const ptx::Operand *mbarrierOperand(const ptx::Instruction &inst);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_CONTEXT_H
