//===- EmitKernel.cpp - Programs as text of the tile dialect --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of the kernel: the tensors in order, the table of conditions, the
// table of numbers, the trip count, the other numbers that are fixed before the
// loop, and a tensor for each tile that is read after the loop.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

#include <algorithm>

using namespace penstock::fuzz;

using Form = ProgramStatement::Form;
using OpKind = Operation::Kind;
using BufferKind = LoopBuffer::Kind;

std::string KernelEmitter::run() {
  emitBody();
  std::string before, after, arguments, constants;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const ProgramBuffer &buffer = program.buffers[b];
    std::string name = nameOf(int(b));
    if (buffer.kind == BufferKind::Tensor) {
      arguments += name + ": " + wholeType(int(b)) + " {tile.access = \"" +
                   (written(program, int(b)) ? "inout" : "in") + "\"}, ";
      continue;
    }
    before += "  " + name + " = tile.alloc \"" + name.substr(1) + "\"" +
              (buffer.statedVersions > 0 ? " versions " + number(buffer.statedVersions) : "") +
              " : " + wholeType(int(b)) + "\n";
    std::string value = integer(int64_t(b) + 50, buffer.narrow);
    if (buffer.kind == BufferKind::Variable)
      before += "  tile.store " + value + ", " + name + "[] : i32, " + wholeType(int(b)) + "\n";
    else if (buffer.filledBefore)
      before += "  tile.fill " + name + ", " + value + " : " + wholeType(int(b)) + ", " +
                elementOf(int(b)) + "\n";
    if (buffer.readAfter)
      after += emitReadAfter(int(b));
  }
  before += earlyCopies();
  arguments += "%flags: " + tensorType(1, false) +
               " {tile.access = \"in\"}, %table: " + tensorType(1, false) +
               " {tile.access = \"in\"}, %n: index";
  for (size_t i = 0; i < origins; ++i)
    arguments += ", " + originName(i) + ": index";
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].readAfter)
      arguments += ", %out" + number(int64_t(b)) + ": " +
                   tensorType(std::max<size_t>(1, program.buffers[b].extents.size()),
                              program.buffers[b].narrow) +
                   " {tile.access = \"out\"}";
  for (int64_t value : indices)
    constants += "  " + indexName(value) + " = arith.constant " + number(value) + " : index\n";
  for (auto [value, narrow] : integers)
    constants += "  " + integerName(value, narrow) + " = arith.constant " + number(value) +
                 (narrow ? " : i8\n" : " : i32\n");
  return "func.func @k(" + arguments + ") attributes {tile.kernel} {\n" + constants +
         "  %true = arith.constant true\n" + before +
         (program.again ? "  scf.for %again = %x0 to %x2 step %x1 {\n" : "") + header() + top +
         body + "  } {tile.schedule = #tile.schedule<" + annotation() + ">}\n" +
         (program.again ? "  }\n" : "") + waitAfter() + after + "  return\n}\n";
}

std::string KernelEmitter::header() const {
  if (counts())
    return "  scf.for %k = %x0 to %n step %x1 {\n";
  std::string first = program.firstAtRunTime ? originName(0) : indexName(program.first),
              step = indexName(program.step);
  return "  %span = arith.muli %n, " + step + " : index\n  %end = arith.addi " + first +
         ", %span : index\n  scf.for " + variable + " = " + first + " to %end step " + step +
         " {\n    %passed = arith.subi " + variable + ", " + first +
         " : index\n    %k = arith.divsi %passed, " + step + " : index\n";
}

std::string KernelEmitter::plain(const Operation &op, bool narrow) {
  std::string sum = integer(op.constant, false);
  auto add = [&](const std::string &value, int64_t factor) {
    std::string product = fresh(), total = fresh();
    line(product + " = arith.muli " + value + ", " + integer(factor, false) + " : i32");
    line(total + " = arith.addi " + sum + ", " + product + " : i32");
    sum = total;
  };
  if (op.scalar >= 0)
    add(scalarName(op.scalar), 11);
  if (op.replayed == 1)
    add(shared("k32", "arith.index_cast %k : index to i32", "i32"), 13);
  if (op.replayed == 2)
    add(tableEntry(), 13);
  if (!narrow)
    return sum;
  std::string cut = fresh();
  line(cut + " = arith.trunci " + sum + " : i32 to i8");
  return cut;
}

void KernelEmitter::emit(const Operation &op, int statement, int async) {
  std::string marked = async >= 0 ? " async \"n" + number(async) + "\"" : "";
  bool narrow = op.kind != OpKind::Load && program.buffers[size_t(op.target.buffer)].narrow;
  switch (op.kind) {
  case OpKind::Copy: {
    View from = isTensor(op.sources[0]) ? end(op.sources[0]) : source(op, 0);
    View to = end(op.target);
    return line("tile.copy " + from.name + " to " + to.name + marked + " : " + from.type + " to " +
                to.type);
  }
  case OpKind::Fill: {
    std::string value = plain(op, narrow);
    View to = view(op.target);
    return line("tile.fill " + to.name + ", " + value + " : " + to.type + ", " +
                elementOf(op.target.buffer));
  }
  case OpKind::Map:
    return emitMap(op, narrow);
  case OpKind::Parallel: {
    std::string value = plain(op, false), type = wholeType(op.target.buffer);
    line("tile.parallel [" + number(program.buffers[size_t(op.target.buffer)].extents[0]) + "] {");
    line("^bb0(%p: index):");
    line("  %pv = tile.load " + nameOf(op.sources[0].buffer) +
         "[%p] : " + wholeType(op.sources[0].buffer) + " -> i32");
    line("  %pm = arith.muli %pv, " + integer(3, false) + " : i32");
    line("  %ps = arith.addi %pm, " + value + " : i32");
    line("  tile.store %ps, " + nameOf(op.target.buffer) + "[%p] : i32, " + type);
    return line("}");
  }
  case OpKind::Gemm: {
    View a = source(op, 0), b = source(op, 1), c = view(op.target);
    return line("tile.gemm " + a.name + ", " + b.name + " into " + c.name +
                (op.overwrite ? " overwrite" : "") + marked + " : " + a.type + ", " + b.type +
                ", " + c.type);
  }
  case OpKind::Reduce: {
    View from = source(op, 0), to = view(op.target);
    return line("tile.reduce sum " + from.name + " along 1 into " + to.name +
                (op.overwrite ? "" : " accumulate") + " : " + from.type + ", " + to.type);
  }
  case OpKind::Load: {
    const Touch &from = op.sources[0];
    std::string at = offsets(from);
    return line(scalarName(statement) + " = tile.load " + nameOf(from.buffer) + "[" + at +
                "] : " + wholeType(from.buffer) + " -> i32");
  }
  case OpKind::Store: {
    std::string value = plain(op, false), at = offsets(op.target);
    return line("tile.store " + value + ", " + nameOf(op.target.buffer) + "[" + at + "] : i32, " +
                wholeType(op.target.buffer));
  }
  case OpKind::Atomic: {
    std::string value = plain(op, false), at = offsets(op.target);
    return line(scalarName(statement) + " = tile.atomic add " + value + ", " +
                nameOf(op.target.buffer) + "[" + at + "] : i32, " + wholeType(op.target.buffer) +
                " -> i32");
  }
  }
}

void KernelEmitter::emitMap(const Operation &op, bool narrow) {
  std::string sum = plain(op, narrow), type = narrow ? "i8" : "i32";
  View to = view(op.target);
  std::vector<std::string> names, types, dims, elements;
  std::string identity = op.target.box.spans.size() == 2 ||
                                 (op.target.box.whole() &&
                                  program.buffers[size_t(op.target.buffer)].extents.size() == 2)
                             ? "[0, 1]"
                             : "[0]";
  for (size_t i = 0; i < op.sources.size(); ++i) {
    View from = op.sources[i] == op.target ? to : source(op, i);
    names.push_back(from.name);
    types.push_back(from.type);
    dims.push_back(identity);
    elements.push_back("%e" + number(int64_t(i)) + ": " + type);
  }
  std::string ins = op.sources.empty() ? "" : " ins(" + join(names) + ")";
  line("tile.map " + to.name + ins + " dims [" + join(dims) + "] {");
  if (!op.sources.empty())
    line("^bb0(" + join(elements) + "):");
  for (size_t i = 0; i < op.sources.size(); ++i) {
    std::string product = fresh(), total = fresh();
    line("  " + product + " = arith.muli %e" + number(int64_t(i)) + ", " +
         integer(3 + 2 * int64_t(i), narrow) + " : " + type);
    line("  " + total + " = arith.addi " + sum + ", " + product + " : " + type);
    sum = total;
  }
  line("  tile.yield " + sum + " : " + type);
  line("} : " + to.type + (op.sources.empty() ? "" : " ins(" + join(types) + ")"));
}

std::string KernelEmitter::condition(const Term &term) {
  std::string c = "%c" + number(term.condition);
  if (conditions.insert(term.condition).second) {
    std::string at = c + "at", value = c + "value";
    top +=
        "    " + at + " = arith.addi %k, " + index(term.condition * (maxTrips + 1)) + " : index\n";
    top +=
        "    " + value + " = tile.load %flags[" + at + "] : " + tensorType(1, false) + " -> i32\n";
    top += "    " + c + " = arith.cmpi ne, " + value + ", " + integer(0, false) + " : i32\n";
  }
  if (!term.negated)
    return c;
  if (negations.insert(term.condition).second)
    top += "    " + c + "not = arith.xori " + c + ", %true : i1\n";
  return c + "not";
}

void KernelEmitter::emitStatement(int i) {
  const ProgramStatement &s = program.statements[size_t(i)];
  switch (s.form) {
  case Form::Wait: {
    std::vector<std::string> names;
    for (int name : s.names)
      names.push_back("\"n" + number(name) + "\"");
    return line("tile.wait [" + join(names) + "]" + (s.lag ? " lag " + number(s.lag) : ""));
  }
  case Form::Print:
    return line("tile.print \"p" + number(i) + " {}\" %k : index");
  case Form::Plain:
    return emit(s.operations[0], i, s.async);
  case Form::Group:
    line("tile.statement \"g" + number(i) + "\" {");
    for (const Operation &op : s.operations)
      emitInside(op, i);
    return line("}");
  case Form::Repeat: {
    std::string end = index(s.rounds);
    if (s.roundsLoaded) {
      std::string wide = fresh(), entry = tableEntry();
      line(wide + " = arith.index_cast " + entry + " : i32 to index");
      end = fresh();
      line(end + " = arith.remsi " + wide + ", " + index(s.rounds + 1) + " : index");
    }
    line("scf.for %r = %x0 to " + end + " step %x1 {");
    for (const Operation &op : s.operations)
      emitInside(op, i);
    return line(s.inner ? "} {tile.schedule = #tile.schedule<" + stated(*s.inner, 0) + ">}" : "}");
  }
  case Form::Choice: {
    std::string value;
    if (s.choice >= 0) {
      value = condition({s.choice, false});
    } else {
      std::string bit = fresh();
      value = fresh();
      line(bit + " = arith.andi " + scalarName(s.choiceScalar) + ", " + integer(1, false) +
           " : i32");
      line(value + " = arith.cmpi ne, " + bit + ", " + integer(0, false) + " : i32");
    }
    line("scf.if " + value + " {");
    for (const Operation &op : s.operations)
      emitInside(op, i);
    if (!s.otherwise.empty()) {
      line("} else {");
      for (const Operation &op : s.otherwise)
        emitInside(op, i);
    }
    return line("}");
  }
  }
}

void KernelEmitter::emitInside(const Operation &op, int i) {
  indent += "  ";
  emit(op, i, -1);
  indent.resize(indent.size() - 2);
}

void KernelEmitter::emitBody() {
  for (int64_t used : {int64_t(0), int64_t(1), int64_t(2), program.first, program.step})
    index(used);
  std::vector<Term> open;
  auto close = [&] {
    for (size_t i = 0; i < open.size(); ++i) {
      indent.resize(indent.size() - 2);
      line("}");
    }
    open.clear();
  };
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const std::vector<Term> &guard = program.statements[i].guard;
    if (guard != open || !program.mergeConditions) {
      close();
      for (const Term &term : guard) {
        line("scf.if " + condition(term) + " {");
        indent += "  ";
      }
      open = guard;
    }
    emitStatement(int(i));
  }
  close();
}

std::string KernelEmitter::emitReadAfter(int b) {
  std::string out = "%out" + number(b), type = wholeType(b);
  const ProgramBuffer &buffer = program.buffers[size_t(b)];
  std::string to = tensorType(std::max<size_t>(1, buffer.extents.size()), buffer.narrow);
  if (buffer.kind == BufferKind::Variable) {
    std::string value = fresh();
    return "  " + value + " = tile.load " + nameOf(b) + "[] : " + type + " -> i32\n" +
           "  tile.store " + value + ", " + out + "[%x0] : i32, " + to + "\n";
  }
  return "  tile.copy " + nameOf(b) + " to " + out +
         (buffer.extents.size() == 2 ? "[%x0, %x0]" : "[%x0]") + " : " + type + " to " + to + "\n";
}

std::string KernelEmitter::earlyCopies() {
  std::string text;
  for (const EarlyCopy &early : program.early) {
    const Touch &from = early.copy.sources[0];
    text += "  tile.copy " + nameOf(from.buffer) + "[" + index(from.box.spans[0].offset) + "] to " +
            nameOf(early.copy.target.buffer) + " async " + quoted(early.name) + " : " +
            wholeType(from.buffer) + " to " + wholeType(early.copy.target.buffer) + "\n";
  }
  return text;
}

std::string KernelEmitter::waitAfter() const {
  std::set<std::string> names;
  for (const ProgramStatement &s : program.statements)
    if (s.async >= 0 && program.waitAfter)
      names.insert(quoted(s.async));
  for (const EarlyCopy &early : program.early)
    names.insert(quoted(early.name));
  if (names.empty())
    return "";
  return "  tile.wait [" + join({names.begin(), names.end()}) + "]\n";
}

std::string KernelEmitter::annotation() const {
  if (!program.plan)
    return "num_stages = " + number(program.numStages) +
           (program.optimal ? ", solver_seconds = 20" : "");
  // Scalars have their names at the top of the body.
  return stated(*program.plan,
                program.olderEntries && program.bindScalars ? sharedScalars.size() : 0);
}

std::string KernelEmitter::stated(const Plan &plan, size_t meaningless) {
  auto list = [&](const std::vector<int64_t> &values) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < meaningless; ++i)
      parts.push_back(number(7 * int64_t(i) - 1));
    for (int64_t value : values)
      parts.push_back(number(value));
    return "[" + join(parts) + "]";
  };
  return "stage = " + list(plan.stage) + ", order = " + list(plan.order);
}

std::string penstock::fuzz::emitKernel(const Program &program) {
  return KernelEmitter(program).run();
}
