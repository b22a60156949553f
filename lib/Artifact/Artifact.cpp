//===- Artifact.cpp - A compiled kernel as bytes --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers and writers share one description of each struct: `fields(io, value)` is
// instantiated for both, so that they cannot disagree about order.
//
//===----------------------------------------------------------------------===//
#include "Artifact/Artifact.h"
#include "Artifact/Container.h"
#include "Diagnostics/Codes.h"

using namespace penstock;

namespace {

/// Limits of what a launch is prepared to take; compiled kernels are far below.
constexpr uint64_t maxSteps = 4096, maxParameterBytes = 32764;

class Writer : public ByteWriter {
public:
  template <class T> void integer(const T &value) { number(uint64_t(value)); }
  template <class T> void below(const T &value, uint64_t) { number(uint64_t(value)); }
  template <class T, class F> void items(const std::vector<T> &all, F each) {
    list(all, [&](const T &item) { each(*this, item); });
  }
};

class Reader : public ByteReader {
public:
  using ByteReader::ByteReader;
  template <class T> void integer(T &value) { value = T(number()); }
  /// An enumerator or index.
  template <class T> void below(T &value, uint64_t end) { value = T(upTo(end - 1)); }
  template <class T, class F> void items(std::vector<T> &all, F each) {
    list(all, [&](T &item) { each(*this, item); });
  }
  void text(std::string &value) { value = ByteReader::text(); }
};

void textField(Writer &io, const std::string &value) { io.text(value); }
void textField(Reader &io, std::string &value) { io.text(value); }

template <class IO, class T> void location(IO &io, T &value) {
  textField(io, value.file);
  io.integer(value.line);
  io.integer(value.column);
}

template <class IO, class T> void diagnostic(IO &io, T &d) {
  io.below(d.severity, 3);
  io.integer(d.code);
  location(io, d.location);
  textField(io, d.message);
  textField(io, d.label);
  io.items(d.notes, [](IO &each, auto &note) {
    location(each, note.location);
    textField(each, note.message);
    textField(each, note.label);
  });
  io.items(d.helps, [](IO &each, auto &help) { textField(each, help); });
  io.items(d.facts, [](IO &each, auto &fact) {
    textField(each, fact.first);
    textField(each, fact.second);
  });
}

template <class IO, class T> void argument(IO &io, T &value) {
  textField(io, value.name);
  io.below(value.tensor, 2);
  io.below(value.element, uint64_t(Element::f6e3m2_packed) + 1);
  io.below(value.rank, detail::Extents::capacity + 1);
  io.below(value.written, 2);
  io.below(value.mayOverlap, 2);
  io.items(value.sizes, [](IO &each, auto &size) { textField(each, size); });
}

void fixedSizes(Writer &io, const std::map<std::string, int64_t> &sizes) {
  io.list(sizes, [&](const auto &size) {
    io.text(size.first);
    io.integer(size.second);
  });
}
void fixedSizes(Reader &io, std::map<std::string, int64_t> &sizes) {
  std::vector<std::pair<std::string, int64_t>> all;
  io.items(all, [](Reader &each, auto &size) {
    each.text(size.first);
    each.integer(size.second);
  });
  sizes = {all.begin(), all.end()};
}

template <class IO, class T> void kernelInfo(IO &io, T &info) {
  textField(io, info.name);
  textField(io, info.signature);
  location(io, info.location);
  location(io, info.gridLocation);
  io.items(info.arguments, [](IO &each, auto &value) { argument(each, value); });
  fixedSizes(io, info.fixedSizes);
}

template <class IO, class T> void launchProgram(IO &io, T &program) {
  io.items(program.steps, [](IO &each, auto &step) {
    each.below(step.kind, LaunchStep::ZeroExtend + 1);
    each.integer(step.a);
    each.integer(step.b);
    each.integer(step.c);
    each.integer(step.value);
  });
  io.items(program.results, [](IO &each, auto &result) { each.integer(result); });
  io.items(program.requirements, [](IO &each, auto &requirement) {
    each.integer(requirement.step);
    diagnostic(each, requirement.broken);
  });
}

template <class IO, class T> void deviceKernel(IO &io, T &kernel) {
  textField(io, kernel.name);
  textField(io, kernel.architecture);
  io.integer(kernel.threads);
  io.integer(kernel.registers);
  for (auto &extent : kernel.cluster)
    io.integer(extent);
  io.integer(kernel.sharedBytes);
  io.integer(kernel.parameterBytes);
  io.items(kernel.fields, [](IO &each, auto &field) {
    each.below(field.kind, ParameterField::Prints + 1);
    each.integer(field.index);
    each.integer(field.dim);
    each.integer(field.offset);
  });
  io.items(kernel.maps, [](IO &each, auto &map) {
    each.integer(map.argument);
    each.integer(map.dataType);
    each.items(map.box, [](IO &inner, auto &extent) { inner.integer(extent); });
    each.integer(map.swizzle);
  });
  io.items(kernel.rowAligned, [](IO &each, auto &rule) {
    each.integer(rule.argument);
    each.integer(rule.bytes);
    each.integer(rule.multiple);
  });
  io.items(kernel.names, [](IO &each, auto &name) {
    each.below(name.kind, StorageName::NamedBarrier + 1);
    textField(each, name.name);
    each.integer(name.first);
    each.integer(name.size);
    each.integer(name.slot);
  });
  io.items(kernel.faults, [](IO &each, auto &fault) { diagnostic(each, fault); });
  io.items(kernel.prints, [](IO &each, auto &print) {
    each.items(print.texts, [](IO &inner, auto &text) { textField(inner, text); });
    each.items(print.operands, [](IO &inner, auto &operand) {
      inner.below(operand.real, 2);
      inner.below(operand.inRegisters, 2);
      inner.items(operand.shape, [](IO &innermost, auto &extent) { innermost.integer(extent); });
    });
  });
  launchProgram(io, kernel.launch);
}

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
  kernelInfo(meta, artifact.info);
  meta.items(artifact.variants,
             [](Writer &io, const DeviceKernel &kernel) { deviceKernel(io, kernel); });
  Writer ptx;
  ptx.items(artifact.variants, [](Writer &io, const DeviceKernel &kernel) { io.text(kernel.ptx); });
  Writer code;
  code.items(artifact.cubins, [](Writer &io, const Cubin &cubin) {
    io.integer(cubin.variant);
    io.text(cubin.architecture);
    io.text(cubin.assembler);
    io.text(cubin.code);
  });
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
  kernelInfo(meta, artifact.info);
  meta.items(artifact.variants, [](Reader &io, DeviceKernel &kernel) { deviceKernel(io, kernel); });
  std::vector<std::string> texts;
  ptx.items(texts, [](Reader &io, std::string &text) { io.text(text); });
  code.items(artifact.cubins, [](Reader &io, Cubin &cubin) {
    io.integer(cubin.variant);
    io.text(cubin.architecture);
    io.text(cubin.assembler);
    io.text(cubin.code);
  });
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
  io.items(diagnostics, [](Writer &each, const Diagnostic &d) { diagnostic(each, d); });
  return io.bytes;
}

std::optional<std::vector<Diagnostic>> penstock::readDiagnostics(std::string_view bytes) {
  Reader io(bytes);
  std::vector<Diagnostic> diagnostics;
  io.items(diagnostics, [](Reader &each, Diagnostic &d) { diagnostic(each, d); });
  if (!io.complete())
    return std::nullopt;
  return diagnostics;
}
