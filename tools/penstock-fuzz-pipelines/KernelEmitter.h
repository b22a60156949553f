//===- KernelEmitter.h - Text of a kernel under construction ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class, because all parts share the constants and scalars that come before the loop.
// EmitKernel.cpp writes the kernel and its statements, EmitViews.cpp types, offsets and
// views of tiles.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_KERNELEMITTER_H
#define PENSTOCK_FUZZ_PIPELINES_KERNELEMITTER_H

#include "Program.h"

#include <set>

namespace penstock::fuzz {

inline std::string number(int64_t value) { return std::to_string(value); }

inline std::string join(const std::vector<std::string> &parts) {
  std::string all;
  for (const std::string &part : parts)
    all += (all.empty() ? "" : ", ") + part;
  return all;
}

/// A tile or part of it: its name and its type.
struct View {
  std::string name, type;
};

class KernelEmitter {
public:
  explicit KernelEmitter(const Program &program) : program(program) {}

  std::string run();

private:
  static std::string indexName(int64_t value);
  static std::string integerName(int64_t value, bool narrow);
  std::string index(int64_t value);
  std::string integer(int64_t value, bool narrow);
  /// The variable of the loop, which counts from `first` in steps.
  static constexpr const char *variable = "%j";
  static std::string originName(size_t i) { return "%o" + number(int64_t(i)); }
  std::string fresh() { return "%v" + number(next++); }

  std::string nameOf(int b) const;
  std::string elementOf(int b) const { return program.buffers[size_t(b)].narrow ? "i8" : "i32"; }
  static std::string tensorType(size_t rank, bool narrow);
  std::string wholeType(int b) const;

  void line(const std::string &text) { body += indent + text + "\n"; }

  /// Where the loop begins at 0 with a step of 1, its variable is the iteration.
  bool counts() const { return program.first == 0 && program.step == 1 && !program.firstAtRunTime; }
  std::string header() const;

  /// A scalar that is computed once for all statements, or again for each.
  std::string shared(const std::string &key, const std::string &operation, const std::string &type);

  /// The entry of the table of numbers for this iteration.
  std::string tableEntry();

  /// The begin of a span; a number where it is constant.
  std::string begin(const Span &span, bool asAttribute);

  std::string offsets(const Touch &touch);

  std::string spaceOf(int b) const;

  /// A part of a view of a buffer, whose first element lies at \p base if that is known.
  View slice(int b, const View &from, const std::vector<Span> &spans, std::optional<int64_t> base);

  /// A tile or a part of it.
  View view(const Touch &touch);

  /// A source of an operation.
  View source(const Operation &op, size_t i);

  bool isTensor(const Touch &touch) const;

  /// One end of a copy.
  View end(const Touch &touch);

  /// What the scalars and the constant of an operation add up to.
  std::string plain(const Operation &op, bool narrow);
  static std::string scalarName(int statement) { return "%q" + number(statement); }

  void emit(const Operation &op, int statement, int async);

  void emitMap(const Operation &op, bool narrow);

  /// The value of a condition; its table is read at the top of the body.
  std::string condition(const Term &term);

  void emitStatement(int i);
  void emitInside(const Operation &op, int i);

  void emitBody();

  std::string emitReadAfter(int b);

  static std::string quoted(int name) { return "\"n" + number(name) + "\""; }

  std::string earlyCopies();

  std::string waitAfter() const;

  std::string annotation() const;

  /// A stated schedule, behind entries that mean nothing.
  static std::string stated(const Plan &plan, size_t meaningless);

  const Program &program;
  std::string top, body, indent = "    ";
  std::set<int64_t> indices;
  std::set<std::pair<int64_t, bool>> integers;
  std::set<int> conditions, negations;
  std::set<std::string> sharedScalars;
  int64_t next = 0;
};

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_KERNELEMITTER_H
