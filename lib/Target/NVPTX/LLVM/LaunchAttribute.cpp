//===- LaunchAttribute.cpp - What a launch needs, in the module -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/LaunchAttribute.h"
#include "Dialect/NV/NVDialect.h"
#include "Runtime/LaunchRecord.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace penstock;

namespace {

class Writer {
public:
  explicit Writer(MLIRContext *context) : b(context) {}

  template <typename T> void operator()(StringRef name, const T &value, uint64_t = 0) {
    members.emplace_back(b.getStringAttr(llvm::convertToSnakeFromCamelCase(name)),
                         attribute(value));
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
  template <typename T> Attribute attribute(const std::vector<T> &values) { return list(values); }
  template <typename T, size_t N> Attribute attribute(const std::array<T, N> &values) {
    return list(values);
  }
  template <typename T>
    requires std::is_class_v<T>
  Attribute attribute(const T &value) {
    Writer inner(b.getContext());
    Members<T>::visit(inner, value);
    return inner.dictionary();
  }

  Builder b;
  SmallVector<NamedAttribute> members;
};

class Reader {
public:
  explicit Reader(DictionaryAttr members) : members(members) {}

  template <typename T> void operator()(StringRef name, T &value, uint64_t = 0) {
    read(members.get(llvm::convertToSnakeFromCamelCase(name)), value);
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
    Members<T>::visit(inner, value);
    complete &= inner.complete;
  }

  DictionaryAttr members;
};

/// Copies between layouts are counted for tests, and not part of a kernel.
constexpr StringLiteral conversions = "conversions";

} // namespace

void penstock::setLaunchData(ModuleOp module, const DeviceKernel &kernel) {
  Writer writer(module.getContext());
  Members<DeviceKernel>::visit(writer, kernel);
  writer(conversions, kernel.conversions);
  module->setAttr(nv::NVDialect::launchAttr, writer.dictionary());
}

std::optional<DeviceKernel> penstock::launchDataOf(ModuleOp module) {
  auto members = module->getAttrOfType<DictionaryAttr>(nv::NVDialect::launchAttr);
  if (!members)
    return std::nullopt;
  DeviceKernel kernel;
  Reader reader(members);
  Members<DeviceKernel>::visit(reader, kernel);
  reader(conversions, kernel.conversions);
  return reader.complete ? std::optional(std::move(kernel)) : std::nullopt;
}
