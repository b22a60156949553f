//===- DiagnosticBridgeTest.cpp - Diagnostics cross MLIR as data ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Diagnostics/Serialize.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <gtest/gtest.h>

using namespace penstock;

namespace {

class DiagnosticBridgeTest : public ::testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::Location loc = mlir::FileLineColLoc::get(&context, "kernel.cpp", 7, 3);

  std::vector<Diagnostic> collect(std::function<void()> speak) {
    std::vector<Diagnostic> found;
    tile::DiagnosticCollector collector(&context, found, OpForm);
    speak();
    return found;
  }
};

TEST_F(DiagnosticBridgeTest, CodeHelpAndNoteOfAPass) {
  auto found = collect([&] {
    auto error = tile::emitCoded(loc, ShapeMismatch);
    error << "`As` is " << 128 << " rows high";
    error.attachNote(mlir::FileLineColLoc::get(&context, "kernel.cpp", 2, 0)) << "it is made here";
    tile::attachHelp(error) << "use " << 64 << " rows";
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, ShapeMismatch);
  EXPECT_EQ(found[0].severity, Severity::Error);
  EXPECT_EQ(found[0].message, "`As` is 128 rows high");
  EXPECT_EQ(found[0].location, (SourceLocation{"kernel.cpp", 7, 3}));
  ASSERT_EQ(found[0].notes.size(), 1u);
  EXPECT_EQ(found[0].notes[0].message, "it is made here");
  EXPECT_EQ(found[0].notes[0].location.line, 2u);
  EXPECT_EQ(found[0].helps, std::vector<std::string>{"use 64 rows"});
}

TEST_F(DiagnosticBridgeTest, NothingIsLostOnTheWay) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = ReadBeforeWrite;
  d.location = {"a.cpp", 10, 4};
  d.message = "PS1234: a message that looks like a code";
  d.label = "help: a label that looks like a help";
  d.notes = {{{"b.cpp", 11, 0}, "label: a note that looks like a label", "the note's label"},
             {{}, "a note without a location", ""},
             {{"c.cpp", 12, 2}, "see current operation: not upstream's", ""}};
  d.helps = {"help: twice", "PS0001: in a help"};
  d.facts = {{"buffer", "As"}, {"iteration", "3"}, {"", "a \"quoted\"\nvalue"}, {"buffer", "Bs"}};
  auto found = collect([&] { tile::emit(mlir::UnknownLoc::get(&context), d); });
  EXPECT_EQ(toJson(found), toJson(std::vector<Diagnostic>{d}));
}

TEST_F(DiagnosticBridgeTest, PlaceOfTheOperationIfNoneIsNamed) {
  Diagnostic d;
  d.code = ReadBeforeWrite;
  auto found = collect([&] { tile::emit(loc, d); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].location, (SourceLocation{"kernel.cpp", 7, 3}));
}

// What upstream says has no code of ours, whatever its words are.
TEST_F(DiagnosticBridgeTest, CodesAreNotReadFromText) {
  auto found = collect([&] {
    auto error = mlir::emitError(loc) << "symbol PS1102: is not known";
    error.attachNote() << "help: yourself";
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, OpForm);
  EXPECT_EQ(found[0].message, "symbol PS1102: is not known");
  EXPECT_TRUE(found[0].helps.empty());
  ASSERT_EQ(found[0].notes.size(), 1u);
  EXPECT_EQ(found[0].notes[0].message, "help: yourself");
}

TEST_F(DiagnosticBridgeTest, MessageBeginsBehindUpstreamsPrefix) {
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(loc));
  context.printOpOnDiagnostic(false);
  auto found = collect([&] {
    tile::withCode(module->emitOpError("said by upstream: "), ScheduleLength) << "two entries";
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, ScheduleLength);
  EXPECT_EQ(found[0].message, "two entries");
  EXPECT_TRUE(found[0].notes.empty());
}

// Tools of MLIR print the text alone.
TEST_F(DiagnosticBridgeTest, TextShowsTheCode) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    text = d.str();
    for (mlir::Diagnostic &note : d.getNotes())
      text += "\n" + note.str();
    return mlir::success();
  });
  {
    auto warning = tile::warnCoded(loc, UnrollFactor);
    warning << "not unrolled";
    tile::attachHelp(warning) << "use a constant";
  }
  EXPECT_EQ(text, "PS1113: not unrolled\nhelp: use a constant");
}

} // namespace
