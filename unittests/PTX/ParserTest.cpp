//===- ParserTest.cpp - The PTX reader ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/Parser.h"
#include "Diagnostics/Codes.h"
#include "PTX/InstructionTable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

using namespace penstock;
using namespace penstock::ptx;

namespace {

ParseResult kernel(const std::string &body, const std::string &target = "sm_100a") {
  return parse(".version 9.0\n.target " + target +
                   "\n.address_size 64\n.visible .entry k(.param .u64 p, "
                   ".param .align 64 .b8 q[128]) {\n" +
                   body + "\n}\n",
               "test.ptx");
}

unsigned firstCode(const ParseResult &r) {
  return r.diagnostics.empty() ? 0 : r.diagnostics[0].code;
}

TEST(Parser, RegistersScopesAndLabels) {
  // Two blocks declare the same names, as inline assembly does.
  ParseResult r = kernel(R"(
.reg .b32 %r<3>;
{ .reg .pred P; LAB: setp.eq.s32 P, %r0, 1; @P bra LAB; }
{ .reg .pred P; LAB: setp.eq.s32 P, %r0, 2; @!P bra LAB; }
ret;)");
  ASSERT_TRUE(r.module) << r.diagnostics[0].message;
  const Function &f = *r.module->functions[0];
  ASSERT_EQ(f.body.size(), 5u);
  EXPECT_EQ(f.registers.size(), 5u);
  EXPECT_EQ(f.body[1]->operands[0].index, 0u);
  EXPECT_EQ(f.body[3]->operands[0].index, 2u);
  EXPECT_FALSE(f.body[1]->guardNegated);
  EXPECT_TRUE(f.body[3]->guardNegated);
  EXPECT_EQ(f.body[4]->line, 9u);
}

TEST(Parser, ParametersAndLocations) {
  ParseResult r = kernel(R"(
.loc 1 42 7
ret;
.file 3 "x.cu")");
  // .file is not a statement of a body.
  EXPECT_EQ(firstCode(r), unsigned(PtxDirective));
  r = parse(".version 9.0\n.target sm_90a\n.entry k()\n{\n.loc 3 42 7, "
            "function_name $L__info_string0, inlined_at 3 5 1\nret;\n}\n.file 3 "
            "\"x.cu\"\n",
            "t.ptx");
  ASSERT_TRUE(r.module);
  EXPECT_EQ(r.module->functions[0]->body[0]->loc.line, 42u);
  EXPECT_EQ(r.module->files.at(3), "x.cu");
}

TEST(Parser, LocationsOfInlineAssembly) {
  // As LLVM writes a masked load of Triton at line 35: `.loc` counts the lines of the assembly.
  ParseResult r = kernel(R"(
.reg .b32 %r<9>; .reg .b64 %x<9>;
.loc 1 35 21 // k.py:35:21
// begin inline asm
.loc 1 35 21 // k.py:35:21
mov.u32 %r1, 0;
.loc 1 36 21 // k.py:36:21
mov.u32 %r2, 0;
	// end inline asm
mov.u32 %r3, 0;
//   begin inline asm, in the words of somebody else
.loc 1 40 9
mov.u32 %r4, 0;
// begin inline asm
mov.u32 %r5, 0;
// end inline asm
.loc 1 41 9
mov.u32 %r6, 0;
ret;)");
  ASSERT_TRUE(r.module) << r.diagnostics[0].message;
  std::vector<uint32_t> lines;
  for (const auto &instruction : r.module->functions[0]->body)
    lines.push_back(instruction->loc.line);
  EXPECT_EQ(lines, (std::vector<uint32_t>{35, 35, 35, 40, 40, 41, 41}));
}

TEST(Parser, InlineAssemblyEndsWithItsFunction) {
  ParseResult r =
      parse(".version 9.0\n.target sm_90a\n.entry a()\n{\n// begin inline asm\nret;\n}\n"
            ".entry b()\n{\n.loc 1 7 1\nret;\n}\n",
            "t.ptx");
  ASSERT_TRUE(r.module);
  EXPECT_EQ(r.module->functions[1]->body[0]->loc.line, 7u);
}

TEST(Parser, Initializers) {
  ParseResult r = parse(".version 8.0\n.target sm_90\n"
                        ".global .align 4 .u32 a[3] = {1, 2, 0x30};\n"
                        ".global .u64 b = generic(a)+4;\n"
                        ".global .f32 c = 0f3F800000;\n",
                        "t.ptx");
  ASSERT_TRUE(r.module) << r.diagnostics[0].message;
  const Variable &a = r.module->variables[0];
  EXPECT_EQ(a.size, 12u);
  EXPECT_EQ(a.init[8], 0x30);
  ASSERT_EQ(r.module->variables[1].relocations.size(), 1u);
  EXPECT_EQ(r.module->variables[1].relocations[0].addend, 4);
  EXPECT_EQ(r.module->variables[2].init[3], 0x3f);
}

TEST(Parser, UnknownThingsAreNamed) {
  ParseResult r = kernel("frobnicate.b32 %r0;");
  EXPECT_EQ(firstCode(r), unsigned(PtxUnknownName)); // the operand comes first
  r = kernel(".reg .b32 %r<2>;\nfrobnicate.b32 %r0;");
  ASSERT_EQ(firstCode(r), unsigned(PtxUnknownInstruction));
  EXPECT_NE(r.diagnostics[0].message.find("frobnicate.b32"), std::string::npos);
  EXPECT_EQ(r.diagnostics[0].location.line, 6u);
  r = kernel(".reg .b32 %r<2>;\nadd.frob.s32 %r0, %r0, %r1;");
  ASSERT_EQ(firstCode(r), unsigned(PtxUnsupportedModifier));
  EXPECT_NE(r.diagnostics[0].message.find(".frob"), std::string::npos);
  r = kernel(".frobnicate 3;");
  EXPECT_EQ(firstCode(r), unsigned(PtxDirective));
}

TEST(Parser, OperandsAreChecked) {
  EXPECT_EQ(firstCode(kernel(".reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                             "add.s32 %r0, %r1, %d1;")),
            unsigned(PtxOperands));
  EXPECT_EQ(firstCode(kernel(".reg .b32 %r<2>;\nadd.s32 %r0, %r1;")), unsigned(PtxOperands));
  EXPECT_EQ(firstCode(kernel(".reg .b32 %r<2>;\nbra nowhere;")), unsigned(PtxUnknownName));
}

TEST(Parser, TargetsAreChecked) {
  ParseResult r = kernel("wgmma.fence.sync.aligned;", "sm_90");
  ASSERT_EQ(firstCode(r), unsigned(PtxTarget));
  EXPECT_NE(r.diagnostics[0].message.find("sm_90a"), std::string::npos);
  EXPECT_TRUE(kernel("wgmma.fence.sync.aligned;", "sm_90a").module);
}

TEST(Parser, ModifiersInAnyOrder) {
  // Both orders are found in shipped kernels.
  ParseResult r = kernel(".reg .b32 %r<4>;\n"
                         "stmatrix.sync.aligned.x2.m8n8.shared.b16 [%r0], {%r1, %r2};\n"
                         "stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%r0], {%r1, %r2};\n");
  EXPECT_TRUE(r.module);
  // But types keep their order.
  EXPECT_EQ(firstCode(kernel(".reg .b32 %r<4>; .reg .b16 %h;\n"
                             "cvt.rn.f32.bf16x2 %r0, %r1, %r2;")),
            unsigned(PtxUnsupportedModifier));
}

TEST(Parser, NewerVersionsAreAWarning) {
  ParseResult r = parse(".version 9.4\n.target sm_90a\n.entry k() { ret; }\n", "t.ptx");
  ASSERT_TRUE(r.module);
  ASSERT_EQ(firstCode(r), unsigned(PtxNewerVersion));
  EXPECT_EQ(r.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(r.diagnostics[0].location.line, 1u);
  EXPECT_NE(r.diagnostics[0].message.find("9.4"), std::string::npos);
  r = parse(".version 9.2\n.target sm_90a\n.entry k() { ret; }\n", "t.ptx");
  EXPECT_TRUE(r.diagnostics.empty());
}

TEST(Parser, BlanksBetweenModifiersAreOptional) {
  // Generators write `.reg.u64` and `bulk_group .L2::cache_hint`; ptxas takes both.
  ParseResult r = kernel(R"(
.reg.b32 %r<4>; .reg.u64 %d<3>; .shared.align 16 .b8 s[16];
cp.async.bulk.global.shared::cta.bulk_group .L2::cache_hint [%d0], [%r0], %r1, %d1;
cp.async.bulk.prefetch.tensor .2d .L2.global [%d0, {%r0, %r1}];
ret;)");
  ASSERT_TRUE(r.module) << r.diagnostics[0].message;
  const Function &f = *r.module->functions[0];
  EXPECT_EQ(f.registers[4].type, Type::U64);
  EXPECT_EQ(f.body[0]->opcode, "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint");
  EXPECT_EQ(f.body[1]->opcode, "cp.async.bulk.prefetch.tensor.2d.L2.global");
}

TEST(Parser, BranchTargets) {
  // The list may come before or after its use, and names labels of either side.
  ParseResult r = kernel(R"(
.reg .b32 %r<2>;
A: brx.idx %r0, T;
T: .branchtargets A, B, A;
B: brx.idx.uni %r1, T;
ret;)");
  ASSERT_TRUE(r.module) << r.diagnostics[0].message;
  const Function &f = *r.module->functions[0];
  ASSERT_EQ(f.branchTargets.size(), 1u);
  EXPECT_EQ(f.branchTargets[0], (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_EQ(f.body[1]->operands[1].index, 0u);
  EXPECT_EQ(firstCode(kernel(".reg .b32 %r; brx.idx %r, T; ret;")), unsigned(PtxUnknownName));
  EXPECT_EQ(firstCode(kernel(".reg .b32 %r; L: brx.idx %r, L; ret;")), unsigned(PtxUnknownName));
  EXPECT_EQ(firstCode(kernel("T: .branchtargets A, B; A: ret;")), unsigned(PtxUnknownName));
  // An instruction that is refused leaves nothing behind.
  EXPECT_EQ(firstCode(kernel("A: ret; bra A A; bra.frob A; bra A")), unsigned(PtxSyntax));
}

TEST(Parser, SurvivesBrokenText) {
  for (const char *text : {"", "{", "}", ".version", ".version 9.0 .target", "/*", "\"",
                           ".version 9.0\n.target sm_90a\n.entry k(", ".version 9.0\n.entry k() {",
                           ".version 9.0\n.entry k() { @", ".version 9.0\n.entry k() { {{{{",
                           ".version 9.0\n.global .b8 x[99999999999999999999];",
                           ".version 9.0\n.entry k() { .reg .b32 %r<99999999>; }",
                           ".version 9.0\n.entry k() { ld.u32 %r0, [[[[[[[[; }"}) {
    ParseResult r = parse(text, "t.ptx");
    EXPECT_FALSE(r.module) << text;
    EXPECT_FALSE(r.diagnostics.empty()) << text;
  }
}

/// Seconds of processor time that a module with \p kernels takes, at best.
double secondsFor(size_t kernels) {
  std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n";
  for (size_t i = 0; i < kernels; ++i)
    text += ".visible .entry kernel_with_a_long_name_" + std::to_string(i) + "() { ret; }\n";
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    std::clock_t begin = std::clock();
    EXPECT_TRUE(parse(text, "t.ptx").module);
    best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

TEST(Parser, TimeGrowsWithTheNumberOfKernels) {
  // 16 times as many take 16 times as long; with a search through all that came
  // before, more than 150 times.
  double few = secondsFor(4000), many = secondsFor(64000);
  EXPECT_LT(many, 48 * few) << few << " s and " << many << " s";
}

TEST(Table, FormsAreWellFormed) {
  size_t withTypes = 0;
  for (const InstructionForm &form : instructionForms()) {
    EXPECT_FALSE(form.name.empty());
    EXPECT_GE(form.version, 10u) << form.name;
    for (const ModifierSlot &slot : form.slots)
      for (const std::string &choice : slot.choices) {
        EXPECT_EQ(choice[0], '.') << form.name << " " << choice;
        withTypes += typeFromName(choice) != Type::None;
      }
  }
  EXPECT_GT(withTypes, 100u);
}

} // namespace
