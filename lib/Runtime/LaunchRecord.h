//===- LaunchRecord.h - Members of a compiled kernel ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one description of the structs that make up a compiled kernel. Artifacts, the
// attribute `nv.launch` and the C tables of bundles visit it, so that they have the same
// members in the same order. Artifacts hold the members in this order: new ones need a new
// version of the format.
//
// `Members<T>::visit(io, value)` calls io(name, member) for each member; for enumerators
// and flags io(name, member, end), where `end` is the number of valid values.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_LAUNCHRECORD_H
#define PENSTOCK_RUNTIME_LAUNCHRECORD_H

#include "Runtime/DeviceKernel.h"

namespace penstock {

template <class T> struct Members;

template <> struct Members<SourceLocation> {
  static void visit(auto &io, auto &location) {
    io("file", location.file);
    io("line", location.line);
    io("column", location.column);
  }
};

template <> struct Members<DiagnosticNote> {
  static void visit(auto &io, auto &note) {
    io("location", note.location);
    io("message", note.message);
    io("label", note.label);
  }
};

template <> struct Members<std::pair<std::string, std::string>> {
  static void visit(auto &io, auto &fact) {
    io("key", fact.first);
    io("value", fact.second);
  }
};

template <> struct Members<Diagnostic> {
  static void visit(auto &io, auto &diagnostic) {
    io("severity", diagnostic.severity, 3);
    io("code", diagnostic.code);
    io("location", diagnostic.location);
    io("message", diagnostic.message);
    io("label", diagnostic.label);
    io("notes", diagnostic.notes);
    io("helps", diagnostic.helps);
    io("facts", diagnostic.facts);
  }
};

template <> struct Members<ParameterField> {
  static void visit(auto &io, auto &field) {
    io("kind", field.kind, ParameterField::kinds);
    io("index", field.index);
    io("dim", field.dim);
    io("offset", field.offset);
  }
};

template <> struct Members<TensorMapRecipe> {
  static void visit(auto &io, auto &map) {
    io("argument", map.argument);
    io("dataType", map.dataType);
    io("box", map.box);
    io("swizzle", map.swizzle);
  }
};

template <> struct Members<RowAlignment> {
  static void visit(auto &io, auto &rule) {
    io("argument", rule.argument);
    io("bytes", rule.bytes);
    io("multiple", rule.multiple);
  }
};

template <> struct Members<StorageName> {
  static void visit(auto &io, auto &name) {
    io("kind", name.kind, StorageName::NamedBarrier + 1);
    io("name", name.name);
    io("first", name.first);
    io("size", name.size);
    io("slot", name.slot);
  }
};

template <> struct Members<PrintStatement::Operand> {
  static void visit(auto &io, auto &operand) {
    io("real", operand.real, 2);
    io("inRegisters", operand.inRegisters, 2);
    io("shape", operand.shape);
  }
};

template <> struct Members<PrintStatement> {
  static void visit(auto &io, auto &print) {
    io("texts", print.texts);
    io("operands", print.operands);
  }
};

template <> struct Members<LaunchStep> {
  static void visit(auto &io, auto &step) {
    io("kind", step.kind, LaunchStep::kinds);
    io("a", step.a);
    io("b", step.b);
    io("c", step.c);
    io("value", step.value);
  }
};

template <> struct Members<LaunchRequirement> {
  static void visit(auto &io, auto &requirement) {
    io("step", requirement.step);
    io("broken", requirement.broken);
  }
};

template <> struct Members<LaunchProgram> {
  static void visit(auto &io, auto &program) {
    io("steps", program.steps);
    io("results", program.results);
    io("requirements", program.requirements);
  }
};

/// Without the PTX, which artifacts hold in a section of its own.
template <> struct Members<DeviceKernel> {
  static void visit(auto &io, auto &kernel) {
    io("name", kernel.name);
    io("architecture", kernel.architecture);
    io("threads", kernel.threads);
    io("registers", kernel.registers);
    io("cluster", kernel.cluster);
    io("sharedBytes", kernel.sharedBytes);
    io("parameterBytes", kernel.parameterBytes);
    io("fields", kernel.fields);
    io("maps", kernel.maps);
    io("rowAligned", kernel.rowAligned);
    io("names", kernel.names);
    io("faults", kernel.faults);
    io("prints", kernel.prints);
    io("launch", kernel.launch);
  }
};

} // namespace penstock

#endif // PENSTOCK_RUNTIME_LAUNCHRECORD_H
