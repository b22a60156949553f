//===- LaunchAttribute.cpp - What a launch needs, in the module -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members are visited by one function for each type, which writing and reading
// share: they cannot differ.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LaunchAttribute.h"
#include "Dialect/NV/NVDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace penstock;

namespace {

class Writer {
public:
  explicit Writer(MLIRContext *context) : b(context) {}

  template <typename T> void operator()(StringRef name, T &value) {
    members.emplace_back(b.getStringAttr(name), attribute(value));
  }
  DictionaryAttr dictionary() { return b.getDictionaryAttr(members); }

private:
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  Attribute attribute(T value) {
    return b.getI64IntegerAttr(int64_t(value));
  }
  Attribute attribute(const std::string &value) { return b.getStringAttr(value); }
  template <typename T> Attribute list(const T &values) {
    SmallVector<Attribute> all;
    for (auto &value : values)
      all.push_back(attribute(value));
    return b.getArrayAttr(all);
  }
  template <typename T> Attribute attribute(std::vector<T> &values) { return list(values); }
  template <typename T, size_t N> Attribute attribute(std::array<T, N> &values) {
    return list(values);
  }
  template <typename T>
    requires std::is_class_v<T>
  Attribute attribute(const T &value) {
    Writer inner(b.getContext());
    visit(inner, const_cast<T &>(value)); // only a Reader changes members
    return inner.dictionary();
  }

  Builder b;
  SmallVector<NamedAttribute> members;
};

class Reader {
public:
  explicit Reader(DictionaryAttr members) : members(members) {}

  template <typename T> void operator()(StringRef name, T &value) {
    read(members.get(name), value);
  }

  bool complete = true;

private:
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void read(Attribute from, T &value) {
    if (auto number = dyn_cast_or_null<IntegerAttr>(from))
      value = T(number.getInt());
    else
      complete = false;
  }
  void read(Attribute from, std::string &value) {
    if (auto text = dyn_cast_or_null<StringAttr>(from))
      value = text.str();
    else
      complete = false;
  }
  template <typename T> void read(Attribute from, std::vector<T> &values) {
    auto list = dyn_cast_or_null<ArrayAttr>(from);
    complete &= bool(list);
    for (Attribute one : list ? list.getValue() : ArrayRef<Attribute>())
      read(one, values.emplace_back());
  }
  template <typename T, size_t N> void read(Attribute from, std::array<T, N> &values) {
    auto list = dyn_cast_or_null<ArrayAttr>(from);
    complete &= list && list.size() == N;
    for (size_t i = 0; complete && i < N; ++i)
      read(list[i], values[i]);
  }
  template <typename T>
    requires std::is_class_v<T>
  void read(Attribute from, T &value) {
    auto dictionary = dyn_cast_or_null<DictionaryAttr>(from);
    complete &= bool(dictionary);
    if (!dictionary)
      return;
    Reader inner(dictionary);
    visit(inner, value);
    complete &= inner.complete;
  }

  DictionaryAttr members;
};

template <typename Io> void visit(Io &io, ParameterField &field) {
  io("kind", field.kind);
  io("index", field.index);
  io("dim", field.dim);
  io("offset", field.offset);
}

template <typename Io> void visit(Io &io, TensorMapRecipe &map) {
  io("argument", map.argument);
  io("data_type", map.dataType);
  io("box", map.box);
  io("swizzle", map.swizzle);
}

template <typename Io> void visit(Io &io, RowAlignment &rule) {
  io("argument", rule.argument);
  io("bytes", rule.bytes);
  io("multiple", rule.multiple);
}

template <typename Io> void visit(Io &io, StorageName &name) {
  io("kind", name.kind);
  io("name", name.name);
  io("first", name.first);
  io("size", name.size);
  io("slot", name.slot);
}

template <typename Io> void visit(Io &io, SourceLocation &location) {
  io("file", location.file);
  io("line", location.line);
  io("column", location.column);
}

template <typename Io> void visit(Io &io, penstock::Diagnostic &diagnostic) {
  io("code", diagnostic.code);
  io("location", diagnostic.location);
  io("message", diagnostic.message);
  io("helps", diagnostic.helps);
}

template <typename Io> void visit(Io &io, PrintStatement::Operand &operand) {
  io("real", operand.real);
  io("in_registers", operand.inRegisters);
  io("shape", operand.shape);
}

template <typename Io> void visit(Io &io, PrintStatement &print) {
  io("texts", print.texts);
  io("operands", print.operands);
}

template <typename Io> void visit(Io &io, LaunchStep &step) {
  io("kind", step.kind);
  io("a", step.a);
  io("b", step.b);
  io("c", step.c);
  io("value", step.value);
}

template <typename Io> void visit(Io &io, LaunchRequirement &requirement) {
  io("step", requirement.step);
  io("broken", requirement.broken);
}

template <typename Io> void visit(Io &io, LaunchProgram &program) {
  io("steps", program.steps);
  io("results", program.results);
  io("requirements", program.requirements);
}

template <typename Io> void visit(Io &io, DeviceKernel &kernel) {
  io("name", kernel.name);
  io("architecture", kernel.architecture);
  io("threads", kernel.threads);
  io("registers", kernel.registers);
  io("cluster", kernel.cluster);
  io("shared_bytes", kernel.sharedBytes);
  io("parameter_bytes", kernel.parameterBytes);
  io("fields", kernel.fields);
  io("maps", kernel.maps);
  io("row_aligned", kernel.rowAligned);
  io("names", kernel.names);
  io("faults", kernel.faults);
  io("prints", kernel.prints);
  io("conversions", kernel.conversions);
  io("launch", kernel.launch);
}

} // namespace

void penstock::setLaunchData(ModuleOp module, const DeviceKernel &kernel) {
  Writer writer(module.getContext());
  visit(writer, const_cast<DeviceKernel &>(kernel)); // only a Reader changes members
  module->setAttr(nv::NVDialect::launchAttr, writer.dictionary());
}

std::optional<DeviceKernel> penstock::launchDataOf(ModuleOp module) {
  auto members = module->getAttrOfType<DictionaryAttr>(nv::NVDialect::launchAttr);
  if (!members)
    return std::nullopt;
  DeviceKernel kernel;
  Reader reader(members);
  visit(reader, kernel);
  return reader.complete ? std::optional(std::move(kernel)) : std::nullopt;
}
