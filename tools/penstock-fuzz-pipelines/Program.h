//===- Program.h - A random kernel with one pipelined loop ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a case of --programs is. From it follow the text that the compiler sees
// (EmitKernel.cpp), the loop that the oracle checks (loopOf), and the numbers
// that come out (Evaluate.cpp). All elements are integers that wrap around and
// all updates are sensitive to their order, so that results are exact and two
// orders give different ones.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_PROGRAM_H
#define PENSTOCK_FUZZ_PIPELINES_PROGRAM_H

#include "Cells.h"

#include <optional>

namespace penstock::fuzz {

struct ProgramBuffer {
  LoopBuffer::Kind kind = LoopBuffer::Kind::Tile;
  bool narrow = false; ///< i8 instead of i32
  bool local = false;  ///< tiles: the local space instead of the shared one
  /// Tiles: constant. Tensors: follow from the accesses (settle).
  std::vector<int64_t> extents = {};
  int64_t statedVersions = 0;
  bool readAfter = false;
  bool filledBefore = true;
};

/// One operation of the tile dialect.
struct Operation {
  /// Parallel: a map of one source in bodies that run side by side.
  enum class Kind { Copy, Fill, Map, Gemm, Reduce, Load, Store, Atomic, Parallel };
  Kind kind = Kind::Fill;
  Touch target = {};
  /// Copy: one. Map: any number; the target itself where it is updated. Gemm:
  /// the two factors. Reduce: a square, along its rows. Load: one cell.
  std::vector<Touch> sources = {};
  /// The sources, a bit for each, whose dimensions are exchanged.
  unsigned transposed = 0;
  bool overwrite = false; ///< Gemm, Reduce: does not read its target
  /// The statement whose scalar is used, or -1.
  int scalar = -1;
  /// Which scalar that can be computed again is used; 0: none, 1: from the
  /// iteration, 2: from a table in memory.
  int replayed = 0;
  int64_t constant = 1;
};

struct ProgramStatement {
  enum class Form {
    Plain,
    Group,  ///< several operations as one statement
    Repeat, ///< a loop around its operations
    Choice, ///< a condition with an else, or on a scheduled scalar
    Print,
    Wait
  };
  Form form = Form::Plain;
  std::vector<Operation> operations = {};
  /// Choice: the condition, or -1 if `choiceScalar` decides.
  int choice = -1;
  int choiceScalar = -1;
  std::vector<Operation> otherwise = {};
  /// Repeat: how often, or up to how often if the table of numbers decides.
  int64_t rounds = 1;
  bool roundsLoaded = false;
  /// Repeat: its loop is pipelined as well.
  std::optional<Plan> inner = {};
  std::vector<Term> guard = {};
  /// The name under which it completes, or -1; waits: the names.
  int async = -1;
  std::vector<int> names = {};
  int64_t lag = 0;
};

/// A copy to a whole tile that is issued before the loop, under a name.
struct EarlyCopy {
  Operation copy;
  int name = 0;
};

struct Program {
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramStatement> statements;
  std::vector<EarlyCopy> early;
  /// Conditions that are loaded from a table.
  int conditions = 0;
  /// Ways of writing the same thing: shared scalars, names for them, conditions
  /// around several statements.
  bool shareScalars = false, bindScalars = false, mergeConditions = false;
  /// Parts of tiles are parts of parts.
  bool sliceTwice = false;
  /// Where the loop begins, and its step; offsets are affine in its variable.
  int64_t first = 0, step = 1;
  /// It begins at the first of the numbers that are fixed before it instead.
  bool firstAtRunTime = false;
  /// All of the loop is run a second time, as in kernels that loop over their work.
  bool again = false;
  /// All that is asynchronous is awaited after the loop, too.
  bool waitAfter = false;
  /// The annotation holds entries for scalars with a name, which mean nothing.
  bool olderEntries = false;
  /// The annotation: one of the two.
  std::optional<Plan> plan;
  int64_t numStages = 0;
  /// Without a plan: the exact solver is asked for one.
  bool optimal = false;
};

/// Is a copy that is issued before the loop awaited before anything meets it?
bool earlyIsSafe(const Program &, const EarlyCopy &);

/// Does anything complete under this name?
bool issued(const Program &, int name);
/// The lines that are printed count as a buffer behind all others.
bool prints(const Program &);

/// Is the buffer written in the loop?
bool written(const Program &, int buffer);

/// Does every reference lead somewhere, so that text can be made of it? Programs
/// are made well formed; what shrinking makes of them may not be.
bool wellFormed(const Program &);

/// How often a statement is repeated in iteration \p k.
int64_t roundsOf(const ProgramStatement &, const World &, int64_t k);

/// The offset of a touch in a round.
Touch inRound(Touch, int64_t round);

/// Sets what follows from the rest: how offsets depend on where the loop begins, and
/// the extents of tensors, so that no access leaves them.
void settle(Program &);

/// Loads write nothing: they have no target.
inline bool hasTarget(const Operation &op) { return op.kind != Operation::Kind::Load; }

/// Calls \p visit with all that a statement touches, in the order in which it does.
template <class AnyStatement, class Visit>
void forEachTouchIn(AnyStatement &statement, Visit visit) {
  for (auto *list : {&statement.operations, &statement.otherwise})
    for (auto &op : *list) {
      for (auto &source : op.sources)
        visit(source);
      if (hasTarget(op))
        visit(op.target);
    }
}

/// The same for all statements, with how often each is repeated.
template <class AnyProgram, class Visit> void forEachTouch(AnyProgram &program, Visit visit) {
  for (auto &statement : program.statements)
    forEachTouchIn(statement, [&](auto &touch) { visit(touch, statement.rounds); });
}

/// Does a touch of a tile stay inside, and one of a tensor behind its begin?
bool staysInside(const Program &, const Touch &, int64_t rounds);

/// The loop as the design defines it. What is decided inside of a statement is a
/// condition of its own, after those of the program, whatever it depends on.
Loop loopOf(const Program &);

/// The same where loads that only the statement behind them uses are part of it: what an
/// annotation without entries for them means.
Loop joinedLoopOf(const Program &);
/// The one of the two that the annotation has entries for.
Loop annotatedLoopOf(const Program &);

/// The pipelined loop inside of a statement.
Loop innerLoopOf(const Program &, const ProgramStatement &);

/// What the tensors hold, and the tiles that are read after the loop.
struct Memory {
  std::vector<std::vector<int32_t>> buffers;
  std::string printed = {};
};
/// The contents of all buffers before the loop.
Memory initialMemory(const Program &, uint64_t seed);
/// Runs the loop sequentially.
void evaluate(const Program &, const World &, Memory &);

/// The kernel @k as text.
std::string emitKernel(const Program &);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_PROGRAM_H
