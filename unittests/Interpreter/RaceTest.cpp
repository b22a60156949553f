//===- RaceTest.cpp - Blocks and bodies that meet at one element ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace penstock;
using namespace penstock::test;

namespace {

/// The findings of a program, the lines of their notes included.
std::string findings(std::string text, std::vector<detail::Argument> arguments,
                     const InterpretOptions &options = {}) {
  std::string found;
  for (const penstock::Diagnostic &fault :
       run(std::move(text), std::move(arguments), options).faults) {
    found += codeName(fault.code) + " at " + std::to_string(fault.location.line - 1) + ": " +
             fault.message + "\n";
    for (const DiagnosticNote &note : fault.notes)
      found += "  " + std::to_string(note.location.line - 1) + ": " + note.message + "\n";
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Bodies of `parallel`
//===----------------------------------------------------------------------===//

/// FIRST and SECOND access a tile of four elements; %i is the body, %j the next
/// one around the circle.
std::string bodies(const std::string &first, const std::string &second,
                   const std::string &extents = "[4]") {
  std::string text = R"(
func.func @bodies(%C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %t = tile.alloc "t" : memref<4xi32, #s>
  %u = tile.alloc "u" : memref<4xi32, #s>
  tile.fill %t, %one : memref<4xi32, #s>, i32
  tile.parallel EXTENTS {
  ^bb0(%i: index):
    %next = arith.addi %i, %c1 : index
    %j = arith.remui %next, %c4 : index
    FIRST
    SECOND
  }
  tile.copy %t to %C[%c0] : memref<4xi32, #s> to !g1i32
  return
})";
  text = replaceAll(text, "EXTENTS", extents);
  return replaceAll(replaceAll(text, "FIRST", first), "SECOND", second);
}

std::string load(const std::string &at, const std::string &name = "%x") {
  return name + " = tile.load %t[" + at + "] : memref<4xi32, #s> -> i32";
}
std::string store(const std::string &at) {
  return "tile.store %one, %t[" + at + "] : i32, memref<4xi32, #s>";
}
std::string atomic(const std::string &at) {
  return "%old = tile.atomic add %one, %t[" + at + "] : i32, memref<4xi32, #s> -> i32";
}

TEST(Races, BodiesWithElementsOfTheirOwn) {
  for (const char *own : {"%i", "%j"}) {
    Tensor<i32> C({4});
    EXPECT_EQ(findings(bodies(load(own), store(own)), {C}), "");
    EXPECT_EQ(findings(bodies(store(own), load(own)), {C}), "");
    EXPECT_EQ(findings(bodies(store(own), atomic(own)), {C}), "");
  }
}

TEST(Races, BodiesThatOnlyReadOrOnlyUpdate) {
  Tensor<i32> C({4});
  EXPECT_EQ(findings(bodies(load("%i"), load("%c0", "%y")), {C}), "");
  EXPECT_EQ(findings(bodies(atomic("%c0"), ""), {C}), "");
  EXPECT_EQ(C(0), 5);
}

TEST(Races, BodiesThatWriteOneElement) {
  Tensor<i32> C({4});
  // The same value every time: no harm to the result, and a race all the same.
  EXPECT_EQ(
      findings(bodies(store("%c0"), ""), {C}),
      "PS1407 at 13: `store` writes `t` at [0] in body (1) of `parallel`, which body (0) writes\n"
      "  13: body (0) writes it here\n");
}

TEST(Races, BodiesThatReadWhatAnotherWrites) {
  Tensor<i32> C({4});
  // Body 0 writes 0 and reads 1; body 1 writes 1, which body 0 has read.
  EXPECT_EQ(
      findings(bodies(store("%i"), load("%j")), {C}),
      "PS1407 at 13: `store` writes `t` at [1] in body (1) of `parallel`, which body (0) reads\n"
      "  14: body (0) reads it here\n"
      "PS1407 at 14: `load` reads `t` at [0] in body (3) of `parallel`, which body (0) writes\n"
      "  13: body (0) writes it here\n");
}

/// The last of several readers is the writer itself; another one raced.
TEST(Races, AReaderBeforeTheWritersOwnRead) {
  Tensor<i32> C({4});
  std::string guarded = R"(%last = arith.cmpi eq, %i, %c1 : index
    scf.if %last {
      tile.store %one, %t[%c0] : i32, memref<4xi32, #s>
    })";
  EXPECT_EQ(
      findings(bodies(load("%c0"), guarded, "[2]"), {C}),
      "PS1407 at 16: `store` writes `t` at [0] in body (1) of `parallel`, which body (0) reads\n"
      "  13: body (0) reads it here\n");
}

TEST(Races, AtomicAndPlainAccesses) {
  Tensor<i32> C({4});
  EXPECT_EQ(
      findings(bodies(atomic("%c0"), load("%c0")), {C}),
      "PS1407 at 13: `atomic` updates `t` at [0] in body (1) of `parallel`, which body (0) reads\n"
      "  14: body (0) reads it here\n"
      "PS1407 at 14: `load` reads `t` at [0] in body (1) of `parallel`, which body (0) updates\n"
      "  13: body (0) updates it here\n");
}

TEST(Races, OneParallelAfterTheOther) {
  std::string text = bodies(store("%i"), "");
  // A second one reads all that the first wrote.
  std::string second = R"(}
  tile.parallel [4] {
  ^bb0(%i: index):
    %x = tile.load %t[%c0] : memref<4xi32, #s> -> i32
    tile.store %x, %u[%i] : i32, memref<4xi32, #s>
  }
  tile.copy %t to)";
  Tensor<i32> C({4});
  EXPECT_EQ(findings(replaceAll(text, "}\n  tile.copy %t to", second), {C}), "");
}

/// A variable that a body makes is allocated once; each body writes it before it
/// reads it.
TEST(Races, VariablesOfABody) {
  std::string text = bodies(R"(tile.store %one, %v[] : i32, memref<i32, #l>
    %x = tile.load %v[] : memref<i32, #l> -> i32)",
                            "tile.store %x, %t[%i] : i32, memref<4xi32, #s>");
  text = replaceAll(text, "  %t = tile", "  %v = tile.alloc \"v\" : memref<i32, #l>\n  %t = tile");
  Tensor<i32> C({4});
  EXPECT_EQ(findings(text, {C}), "");
}

TEST(Races, VariablesThatBodiesShare) {
  std::string text = bodies(R"(%x = tile.load %v[] : memref<i32, #l> -> i32
    %y = arith.addi %x, %one : i32)",
                            "tile.store %y, %v[] : i32, memref<i32, #l>");
  text = replaceAll(text, "  tile.fill", R"(  %v = tile.alloc "v" : memref<i32, #l>
  tile.store %one, %v[] : i32, memref<i32, #l>
  tile.fill)");
  Tensor<i32> C({4});
  EXPECT_EQ(findings(text, {C}),
            "PS1407 at 15: `load` reads `v` in body (1) of `parallel`, which body (0) writes\n"
            "  17: body (0) writes it here\n");
}

TEST(Races, AVariableThatIsReadAfterTheBodiesWroteIt) {
  std::string text = bodies("tile.store %one, %v[] : i32, memref<i32, #l>", "");
  text = replaceAll(text, "  tile.fill", "  %v = tile.alloc \"v\" : memref<i32, #l>\n  tile.fill");
  text = replaceAll(text, "  return", R"(  %x = tile.load %v[] : memref<i32, #l> -> i32
  tile.store %x, %C[%c0] : i32, !g1i32
  return)");
  Tensor<i32> C({4});
  EXPECT_EQ(findings(text, {C}),
            "PS1407 at 18: `load` reads `v`, which a body of `parallel` writes\n"
            "  14: a body of `parallel` writes it here\n");
  // One body alone is not a race.
  EXPECT_EQ(findings(replaceAll(text, "[4]", "[1]"), {C}), "");
}

TEST(Races, BodiesInAnyOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Tensor<i32> C({4});
    InterpretOptions options = {.completion = Completion::Random, .seed = seed};
    EXPECT_EQ(findings(bodies(load("%i"), store("%i")), {C}, options), "");
    EXPECT_NE(findings(bodies(load("%j"), store("%i")), {C}, options), "");
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// BODY is what one of four blocks does with tensors of eight elements.
std::string blocks(const std::string &body, const std::string &extent = "%c4") {
  std::string text = R"(
func.func @blocks(%A: !g1i32, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %b = tile.grid EXTENT : index
  %t = tile.alloc "t" : memref<2xi32, #s>
  %at = arith.muli %b, %c2 : index
  tile.copy %A[%at] to %t : !g1i32 to memref<2xi32, #s>
  BODY
  return
})";
  return replaceAll(replaceAll(text, "EXTENT", extent), "BODY", body);
}

TEST(Races, BlocksWithElementsOfTheirOwn) {
  Tensor<i32> A({8}), C({8});
  EXPECT_EQ(findings(blocks("tile.copy %t to %C[%at] : memref<2xi32, #s> to !g1i32"), {A, C}), "");
  // What lies outside is not written.
  EXPECT_EQ(
      findings(blocks("tile.copy %t to %C[%at] : memref<2xi32, #s> to !g1i32", "%c2"), {A, C}), "");
}

TEST(Races, BlocksThatWriteOneElement) {
  Tensor<i32> A({8}), C({8});
  std::string text = blocks("tile.copy %t to %C[%b] : memref<2xi32, #s> to !g1i32");
  EXPECT_EQ(findings(text, {A, C}),
            "PS1408 at 11: `copy` writes a tensor at [1], which block (0) writes\n"
            "  11: block (0) writes it here\n");
  EXPECT_EQ(findings(replaceAll(text, "grid %c4", "grid %c1"), {A, C}), "") << "one block";
}

TEST(Races, BlocksThatReadWhatAnotherWrites) {
  Tensor<i32> A({8}), C({8});
  EXPECT_EQ(findings(blocks(R"(tile.store %one, %C[%b] : i32, !g1i32
  %x = tile.load %C[%c2] : !g1i32 -> i32)"),
                     {A, C}),
            "PS1408 at 11: `store` writes a tensor at [2], which block (0) reads\n"
            "  12: block (0) reads it here\n"
            "PS1408 at 12: `load` reads a tensor at [2], which block (2) writes\n"
            "  11: block (2) writes it here\n");
}

TEST(Races, BlocksMeetThroughAtomics) {
  Tensor<i32> A({8}), C({8});
  std::string update = "%old = tile.atomic add %one, %C[%c0] : i32, !g1i32 -> i32";
  EXPECT_EQ(findings(blocks(update), {A, C}), "");
  EXPECT_EQ(C(0), 4);
  EXPECT_EQ(findings(blocks(update + "\n  %x = tile.load %C[%c0] : !g1i32 -> i32"), {A, C}),
            "PS1408 at 11: `atomic` updates a tensor at [0], which block (0) reads\n"
            "  12: block (0) reads it here\n"
            "PS1408 at 12: `load` reads a tensor at [0], which block (0) updates\n"
            "  11: block (0) updates it here\n");
}

TEST(Races, BodiesOfTwoBlocks) {
  Tensor<i32> A({8}), C({8});
  EXPECT_EQ(findings(blocks(R"(tile.parallel [8] {
  ^bb0(%i: index):
    tile.store %one, %C[%i] : i32, !g1i32
  })"),
                     {A, C}),
            "PS1408 at 13: `store` writes a tensor at [0], which block (0) writes\n"
            "  13: block (0) writes it here\n");
}

/// Coordinates of several dimensions, and elements of several dimensions.
TEST(Races, BlocksOfAPlane) {
  const char *text = R"(
func.func @plane(%C: !g2i32) attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  %i, %j = tile.grid %c2, %c3 : index, index
  tile.store %one, %C[%i, %i] : i32, !g2i32
  return
})";
  Tensor<i32> C({4, 4}, 0, 7);
  EXPECT_EQ(findings(text, {C}),
            "PS1408 at 6: `store` writes a tensor at [0, 0], which block (0, 0) writes\n"
            "  6: block (0, 0) writes it here\n");
}

} // namespace
