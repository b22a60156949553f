//===- Artifact.cpp - A compiled kernel as bytes --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers and writers share one description of each struct (LaunchRecord.h), so that they
// cannot disagree about order.
//
//===----------------------------------------------------------------------===//
#include "Artifact/Artifact.h"
#include "Artifact/Container.h"
#include "Diagnostics/Codes.h"
#include "Runtime/LaunchRecord.h"

using namespace penstock;

namespace {

/// Limits of what a launch is prepared to take; compiled kernels are far below.
constexpr uint64_t maxSteps = 4096, maxParameterBytes = 32764;

/// Writes members in order.
class Writer : public ByteWriter {
public:
  template <class T> void operator()(const char *, const T &value, uint64_t = 0) { write(value); }

  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void write(T value) {
    number(uint64_t(value));
  }
  void write(const std::string &value) { text(value); }
  template <class T> void write(const std::vector<T> &all) {
    list(all, [&](const T &item) { write(item); });
  }
  template <class T, size_t n> void write(const std::array<T, n> &all) {
    for (const T &item : all)
      write(item);
  }
  template <class T>
    requires std::is_class_v<T>
  void write(const T &value) {
    Members<T>::visit(*this, value);
  }
};

/// Reads what a Writer has written.
class Reader : public ByteReader {
public:
  using ByteReader::ByteReader;

  template <class T> void operator()(const char *, T &value, uint64_t end = 0) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      value = T(end ? upTo(end - 1) : number());
    else
      read(value);
  }

  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void read(T &value) {
    value = T(number());
  }
  void read(std::string &value) { value = text(); }
  template <class T> void read(std::vector<T> &all) {
    list(all, [&](T &item) { read(item); });
  }
  template <class T, size_t n> void read(std::array<T, n> &all) {
    for (T &item : all)
      read(item);
  }
  template <class T>
    requires std::is_class_v<T>
  void read(T &value) {
    Members<T>::visit(*this, value);
  }
};

} // namespace

namespace penstock {

template <> struct Members<ArgumentInfo> {
  static void visit(auto &io, auto &argument) {
    io("name", argument.name);
    io("tensor", argument.tensor, 2);
    io("element", argument.element, uint64_t(Element::f6e3m2_packed) + 1);
    io("rank", argument.rank, detail::Extents::capacity + 1);
    io("written", argument.written, 2);
    io("mayOverlap", argument.mayOverlap, 2);
    io("sizes", argument.sizes);
  }
};

template <> struct Members<Cubin> {
  static void visit(auto &io, auto &cubin) {
    io("variant", cubin.variant);
    io("architecture", cubin.architecture);
    io("assembler", cubin.assembler);
    io("code", cubin.code);
  }
};

template <> struct Members<std::pair<std::string, int64_t>> {
  static void visit(auto &io, auto &size) {
    io("name", size.first);
    io("value", size.second);
  }
};

template <> struct Members<KernelInfo> {
  static void visit(auto &io, auto &info) {
    io("name", info.name);
    io("signature", info.signature);
    io("location", info.location);
    io("gridLocation", info.gridLocation);
    io("arguments", info.arguments);
    std::vector<std::pair<std::string, int64_t>> sizes(info.fixedSizes.begin(),
                                                       info.fixedSizes.end());
    io("fixedSizes", sizes);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(info)>>)
      info.fixedSizes = {sizes.begin(), sizes.end()};
  }
};

} // namespace penstock

namespace {

/// Checks the indices of a kernel, on which launches rely.
class IndexCheck {
public:
  IndexCheck(const KernelInfo &info, const DeviceKernel &kernel) : info(info), kernel(kernel) {}

  bool holds() const {
    const LaunchProgram &program = kernel.launch;
    if (program.steps.size() > maxSteps || program.results.size() < 3 ||
        program.results.size() > maxSteps || kernel.parameterBytes > maxParameterBytes)
      return false;
    for (size_t i = 0; i < program.steps.size(); ++i)
      if (!stepHolds(program.steps[i], i))
        return false;
    for (unsigned result : program.results)
      if (result >= program.steps.size())
        return false;
    for (const LaunchRequirement &requirement : program.requirements)
      if (requirement.step >= program.steps.size())
        return false;
    for (const ParameterField &field : kernel.fields)
      if (!fieldHolds(field))
        return false;
    for (const TensorMapRecipe &map : kernel.maps)
      if (!isTensor(map.argument) || rankOf(map.argument) > 5 ||
          map.box.size() != rankOf(map.argument))
        return false;
    for (const RowAlignment &rule : kernel.rowAligned)
      if (!isTensor(rule.argument) || rule.bytes == 0 || rule.bytes > 4096 || rule.multiple == 1 ||
          rule.multiple > 4096) // 1 was a flag of older artifacts
        return false;
    return kernel.threads >= 1 && kernel.threads <= 1024;
  }

private:
  bool isTensor(uint64_t i) const { return i < info.arguments.size() && info.arguments[i].tensor; }
  size_t rankOf(unsigned i) const { return size_t(info.arguments[i].rank); }

  bool stepHolds(const LaunchStep &step, size_t at) const {
    bool bits = step.value >= 1 && step.value <= 64;
    switch (step.kind) {
    case LaunchStep::Constant:
      return true;
    case LaunchStep::Size:
      return isTensor(step.a) && step.value >= 0 && size_t(step.value) < rankOf(step.a);
    case LaunchStep::Scalar:
      return step.a < info.arguments.size() && bits;
    case LaunchStep::Select:
      return step.a < at && step.b < at && step.c < at;
    case LaunchStep::SignExtend:
    case LaunchStep::ZeroExtend:
      return step.a < at && bits;
    default:
      return step.a < at && step.b < at;
    }
  }

  bool fieldHolds(const ParameterField &field) const {
    size_t bytes = field.kind == ParameterField::Map ? 128 : 8;
    if (field.offset > kernel.parameterBytes || bytes > kernel.parameterBytes - field.offset)
      return false;
    switch (field.kind) {
    case ParameterField::Address:
      return isTensor(field.index);
    case ParameterField::Size:
    case ParameterField::Stride:
      return isTensor(field.index) && field.dim < rankOf(field.index);
    case ParameterField::Scalar:
      return field.index < info.arguments.size();
    case ParameterField::Constant:
      return field.index < kernel.launch.results.size();
    case ParameterField::Map:
      return field.index < kernel.maps.size() && field.offset % 64 == 0;
    case ParameterField::Faults:
      return !kernel.faults.empty();
    case ParameterField::Prints:
      return !kernel.prints.empty();
    }
    return false;
  }

  const KernelInfo &info;
  const DeviceKernel &kernel;
};

} // namespace

std::string penstock::writeArtifact(const Artifact &artifact) {
  Writer meta;
  meta.write(artifact.info);
  meta.write(artifact.variants);
  Writer ptx;
  ptx.list(artifact.variants, [&](const DeviceKernel &kernel) { ptx.text(kernel.ptx); });
  Writer code;
  code.write(artifact.cubins);
  return writeContainer({{"META", meta.bytes}, {"PTX", ptx.bytes}, {"CUBIN", code.bytes}});
}

std::optional<Artifact> penstock::readArtifact(std::string_view bytes,
                                               std::vector<Diagnostic> &diagnostics) {
  auto refuse = [&](unsigned code, std::string reason, std::string help) {
    Diagnostic d;
    d.code = code;
    d.message = "the artifact cannot be read: " + std::move(reason);
    d.helps.push_back(std::move(help));
    diagnostics.push_back(std::move(d));
    return std::nullopt;
  };
  const char *again = "make it again with Kernel::artifact()";
  ContainerError error;
  auto sections = readContainer(bytes, error);
  if (!sections && error.kind == ContainerError::UnknownFormat)
    return refuse(ArtifactVersion, error.reason,
                  "read it with the version of Penstock that wrote it, or make it again");
  if (!sections)
    return refuse(ArtifactFormat, error.reason, again);
  Artifact artifact;
  // Unknown sections are of later versions, which only add to what is here.
  auto section = [&](std::string_view name) {
    for (const Section &each : *sections)
      if (each.name == name)
        return Reader(each.bytes);
    return Reader(std::string_view());
  };
  Reader meta = section("META"), ptx = section("PTX"), code = section("CUBIN");
  meta.read(artifact.info);
  meta.read(artifact.variants);
  std::vector<std::string> texts;
  ptx.read(texts);
  code.read(artifact.cubins);
  if (!meta.complete() || !ptx.complete() || !code.complete() || artifact.variants.empty() ||
      texts.size() != artifact.variants.size())
    return refuse(ArtifactFormat, "a section is incomplete", again);
  for (size_t i = 0; i < texts.size(); ++i)
    artifact.variants[i].ptx = std::move(texts[i]);
  for (const ArgumentInfo &argument : artifact.info.arguments)
    if (argument.tensor ? argument.rank < 1 : argument.rank != 0)
      return refuse(ArtifactFormat, "an argument has an impossible rank", again);
  for (const DeviceKernel &kernel : artifact.variants)
    if (!IndexCheck(artifact.info, kernel).holds())
      return refuse(ArtifactFormat, "`" + kernel.name + "` refers to what it does not have", again);
  for (const Cubin &cubin : artifact.cubins)
    if (cubin.variant >= artifact.variants.size())
      return refuse(ArtifactFormat, "machine code of a variant that it does not have", again);
  resolveSizes(artifact.info);
  return artifact;
}

std::string penstock::writeDiagnostics(const std::vector<Diagnostic> &diagnostics) {
  Writer io;
  io.write(diagnostics);
  return io.bytes;
}

std::optional<std::vector<Diagnostic>> penstock::readDiagnostics(std::string_view bytes) {
  Reader io(bytes);
  std::vector<Diagnostic> diagnostics;
  io.read(diagnostics);
  if (!io.complete())
    return std::nullopt;
  return diagnostics;
}
