//===- TakeHighHalves.cpp - Rounding to bf16 in fewer shuffles ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/TakeHighHalves.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;

void penstock::takeHighHalves(Module &module) {
  constexpr unsigned fewest = 16; // a whole register of 32-bit lanes
  for (Function &function : module) {
    SmallVector<Instruction *> truncations;
    for (Instruction &instruction : instructions(function)) {
      auto *type = dyn_cast<FixedVectorType>(instruction.getType());
      if (type && type->getNumElements() >= fewest && type->getElementType()->isIntegerTy(16) &&
          match(&instruction, m_Trunc(m_LShr(m_Value(), m_SpecificInt(16)))) &&
          instruction.getOperand(0)->getType()->getScalarSizeInBits() == 32)
        truncations.push_back(&instruction);
    }
    for (Instruction *truncation : truncations) {
      auto *type = cast<FixedVectorType>(truncation->getType());
      auto *shift = cast<Instruction>(truncation->getOperand(0));
      IRBuilder<> b(truncation);
      auto *halves = FixedVectorType::get(type->getElementType(), 2 * type->getNumElements());
      SmallVector<int> upper;
      for (unsigned lane = 0; lane < type->getNumElements(); ++lane)
        upper.push_back(int(2 * lane + 1));
      Value *all = b.CreateBitCast(shift->getOperand(0), halves);
      truncation->replaceAllUsesWith(b.CreateShuffleVector(all, upper));
      RecursivelyDeleteTriviallyDeadInstructions(truncation);
    }
  }
}
