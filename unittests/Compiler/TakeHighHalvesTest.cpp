//===- TakeHighHalvesTest.cpp - Rounding to bf16 in fewer shuffles --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/TakeHighHalves.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

/// The instructions of a function that shifts and truncates vectors.
struct Counts {
  unsigned shifts = 0, truncations = 0;
  std::vector<int> lanes; ///< of the last shuffle
};

Counts countsAfter(const std::string &from, const std::string &to, int distance) {
  std::string amounts;
  std::string element = from.substr(from.find('x') + 2);
  int lanes = std::stoi(from);
  for (int lane = 0; lane < lanes; ++lane)
    amounts += (lane ? ", " : "") + element + " " + std::to_string(distance);
  std::string source = "<" + from + ">", target = "<" + to + ">";
  std::string text = "define " + target + " @f(" + source + " %x) {\n" + "  %s = lshr " + source +
                     " %x, <" + amounts + ">\n" + "  %t = trunc " + source + " %s to " + target +
                     "\n" + "  ret " + target + " %t\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  Counts counts;
  if (!module) {
    ADD_FAILURE() << error.getMessage().str() << "\n" << text;
    return counts;
  }
  takeHighHalves(*module);
  EXPECT_FALSE(llvm::verifyModule(*module));
  for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("f"))) {
    counts.shifts += instruction.getOpcode() == llvm::Instruction::LShr;
    counts.truncations += instruction.getOpcode() == llvm::Instruction::Trunc;
    if (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction))
      counts.lanes.assign(shuffle->getShuffleMask().begin(), shuffle->getShuffleMask().end());
  }
  return counts;
}

/// The upper half of 32-bit lane i is 16-bit lane 2 i + 1: x86 is little-endian.
TEST(TakeHighHalves, UpperHalvesAreShuffled) {
  for (int lanes : {16, 32}) {
    std::string n = std::to_string(lanes);
    Counts counts = countsAfter(n + " x i32", n + " x i16", 16);
    EXPECT_EQ(counts.shifts, 0u) << lanes;
    EXPECT_EQ(counts.truncations, 0u) << lanes;
    ASSERT_EQ(counts.lanes.size(), size_t(lanes));
    for (int lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(counts.lanes[size_t(lane)], 2 * lane + 1);
  }
}

/// Other bits, wider lanes and vectors that do not fill a register.
TEST(TakeHighHalves, NothingElseChanges) {
  for (auto [from, to, distance] : {std::tuple("32 x i32", "32 x i16", 15),
                                    {"32 x i64", "32 x i16", 16},
                                    {"32 x i32", "32 x i8", 16},
                                    {"8 x i32", "8 x i16", 16}}) {
    Counts counts = countsAfter(from, to, distance);
    EXPECT_EQ(counts.shifts, 1u) << from;
    EXPECT_EQ(counts.truncations, 1u) << from;
    EXPECT_TRUE(counts.lanes.empty()) << from;
  }
}

} // namespace
