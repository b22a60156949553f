//===- RegisterModel.h - Registers that ptxas will need ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts from the PTX of a kernel what ptxas makes of its registers. Rejections follow a rule:
// the registers of one wgmma and a constant must be available to a thread. Spills are an
// estimate: ptxas reorders instructions, so that it needs fewer registers than are live in the
// order of the PTX. docs/results/register-model.md compares the model with ptxas.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_REGISTERS_REGISTERMODEL_H
#define PENSTOCK_COMPILER_REGISTERS_REGISTERMODEL_H

#include "Hardware/Architecture.h"
#include "PTX/Module.h"

#include <optional>

namespace penstock {

/// Registers are words of 32 bits, of one thread.
struct RegisterModel {
  int64_t threads = 0;
  int64_t available = 0;    ///< at the start of the kernel
  int64_t requested = 0;    ///< the largest request for more (setmaxnreg); 0: none
  int64_t live = 0;         ///< where most are live, in the order of the PTX
  int64_t accumulators = 0; ///< of those
  SourceLocation liveAt;
  int64_t operands = 0; ///< of the largest wgmma; 0: there is none
  SourceLocation wgmmaAt;

  /// Returns the registers without which ptxas rejects the largest wgmma.
  int64_t required() const;
  bool isRejected() const { return operands && required() > available; }
  /// Returns whether ptxas spills registers, or serializes wgmma instructions.
  bool isSlow() const;
};

/// The PTX of a kernel, as the model needs it.
class ModeledKernel {
public:
  /// No value if our parser rejects the text, e.g. for inline PTX.
  static std::optional<ModeledKernel> parse(const std::string &ptx);

  RegisterModel model(const hw::Architecture &architecture) const;
  /// Returns the source line of a line of the PTX.
  SourceLocation sourceOf(int64_t ptxLine) const;
  /// Returns the first instruction other than wgmma that accesses accumulators of a wgmma that may
  /// be in flight. Unknown location: there is none.
  SourceLocation accessInFlight() const;

private:
  SourceLocation locationOf(size_t instruction) const;

  std::shared_ptr<const ptx::Module> module;
  const ptx::Function *kernel = nullptr;
};

/// Returns the most threads of a block for which a thread has \p registers; 0: none.
int64_t mostThreadsWith(int64_t registers, const hw::Architecture &architecture);

} // namespace penstock

#endif // PENSTOCK_COMPILER_REGISTERS_REGISTERMODEL_H
