//===- EmulatedLaunch.cpp - Runs a GPU kernel on the emulator -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Check/EmulatedLaunch.h"
#include "Diagnostics/Codes.h"
#include "Emulator/TensorMap.h"
#include "PTX/Parser.h"
#include "penstock/limits.h"

#include <algorithm>
#include <cstring>

using namespace penstock;

namespace {

/// The distance between rows that does not follow a rule; 0 if there is none.
int64_t crookedRow(const RowRule &rule, const detail::Argument &tensor) {
  for (size_t d = 0; d + 1 < tensor.strides.size(); ++d) {
    int64_t bytes = tensor.strides[d] * int64_t(bytesOf(tensor.element));
    if (tensor.sizes[d] > 1 && bytes % rule.bytes)
      return bytes;
  }
  return 0;
}

class Launcher {
public:
  Launcher(const EmulatedKernel &kernel, const KernelInfo &info,
           std::span<const detail::Argument> arguments)
      : emulated(kernel), kernel(kernel.kernel), info(info), arguments(arguments) {}

  emu::Report run(const emu::LaunchOptions &options) {
    checkRows();
    auto constants = kernel.launch.evaluate(arguments, report.findings);
    if (!constants && report.findings.empty())
      error(LaunchGrid, "a division by zero while the grid of `" + kernel.name + "` was computed");
    if (!report.findings.empty())
      return std::move(report);
    uint64_t blocks = 1;
    for (int d = 0; d < 3; ++d) {
      int64_t extent = (*constants)[size_t(d)];
      if (extent < 0 || extent > limits::maxBlocks ||
          (blocks *= uint64_t(extent)) > limits::maxBlocks) {
        error(LaunchGrid,
              "the grid of `" + kernel.name + "` is negative or has 2^31 blocks or more");
        return std::move(report);
      }
    }
    report.completed = true;
    if (blocks == 0)
      return std::move(report);
    config.grid = {uint32_t(blocks), 1, 1};
    config.block = {kernel.threads, 1, 1};
    config.cluster = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
    config.dynamicShared = kernel.sharedBytes;
    for (const StorageName &name : kernel.names)
      config.symbols.push_back(
          {symbolKind(name.kind), name.name, name.first, name.size, name.slot});
    emu::LaunchOptions strict = options;
    strict.waitBeforeUse = true; // what `nv.tcgen05.load` asks of its users
    if (!execute(*constants, strict))
      return std::move(report);
    // Which of several blocks is found at fault first depends on the host's threads. A
    // report does not: what was found is looked for again, one block after the other.
    if (!report.findings.empty() && strict.threads != 1 && blocks > 1) {
      emu::Report found = std::move(report);
      strict.threads = 1;
      strict.print = {};
      strict.onBarrier = {};
      if (!execute(*constants, strict) || report.findings.empty())
        report = std::move(found);
    }
    copyOut();
    readFaults();
    return std::move(report);
  }

private:
  static emu::Symbol::Kind symbolKind(StorageName::Kind kind) {
    switch (kind) {
    case StorageName::Shared:
      return emu::Symbol::Shared;
    case StorageName::Tensor:
      return emu::Symbol::Tensor;
    case StorageName::NamedBarrier:
      return emu::Symbol::NamedBarrier;
    }
    return emu::Symbol::Shared;
  }

  /// Runs the grid on a fresh device; false, with the reason in the report, if it
  /// cannot start.
  bool execute(const std::vector<int64_t> &constants, const emu::LaunchOptions &options) {
    report = {};
    device = emu::Device();
    addresses.clear();
    auto module = emulated.loaded ? emulated.loaded : device.load(emulated.module, report.findings);
    if (!module || !copyIn() || !packParameters(constants))
      return false;
    report = device.launch(*module, kernel.name, config, options);
    return true;
  }

  void error(unsigned code, std::string message, std::string help = "") {
    Diagnostic d;
    d.code = code;
    d.place = info.place;
    d.message = std::move(message);
    if (!help.empty())
      d.helps.push_back(std::move(help));
    report.findings.push_back(std::move(d));
    report.completed = false;
  }

  /// Engines copy 16 bytes at a time, and indices have 32 bits.
  void checkRows() {
    for (const RowRule &rule : kernel.rowAligned)
      if (int64_t bytes = crookedRow(rule, arguments[rule.argument]))
        return error(HardwareAlignment,
                     "rows of `" + info.arguments[rule.argument].name + "` are " +
                         std::to_string(bytes) +
                         " bytes apart; the kernel copies them with an engine that needs "
                         "multiples of " +
                         std::to_string(rule.bytes),
                     "pad the rows");
    for (size_t i = 0; i < arguments.size(); ++i)
      for (int64_t size : arguments[i].sizes)
        if (size > INT32_MAX)
          return error(LaunchSize, "`" + info.arguments[i].name + "` has " + std::to_string(size) +
                                       " elements along a dimension; GPU kernels count to 2^31");
  }

  /// Bytes from the first to behind the last element.
  static uint64_t spanOf(const detail::Argument &tensor) {
    uint64_t last = 0;
    for (size_t d = 0; d < tensor.sizes.size(); ++d) {
      if (tensor.sizes[d] == 0)
        return 0;
      last += uint64_t(tensor.sizes[d] - 1) * uint64_t(tensor.strides[d]);
    }
    return (last + 1) * bytesOf(tensor.element);
  }

  bool copyIn() {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const detail::Argument &tensor = arguments[i];
      addresses.push_back(0);
      if (!tensor.tensor)
        continue;
      uint64_t bytes = spanOf(tensor);
      addresses.back() =
          device.memory.allocate(std::max<uint64_t>(bytes, 16), "`" + info.arguments[i].name + "`");
      if (!addresses.back()) {
        error(LaunchNull, "the emulator has no memory for `" + info.arguments[i].name + "`");
        return false;
      }
      // What stands for an empty tensor is one element, zero.
      static constexpr uint8_t zeros[16] = {};
      if (bytes)
        device.write(addresses.back(), tensor.data, bytes);
      else
        device.write(addresses.back(), zeros, sizeof zeros);
    }
    return true;
  }

  void copyOut() {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].tensor && info.arguments[i].written)
        device.read(addresses[i], arguments[i].data, spanOf(arguments[i]));
  }

  /// The first fault that a thread reported.
  void readFaults() {
    uint32_t fault = 0;
    if (faultAddress)
      device.read(faultAddress, &fault, sizeof fault);
    if (fault && fault <= kernel.faults.size())
      report.findings.push_back(kernel.faults[fault - 1]);
  }

  bool packParameters(const std::vector<int64_t> &constants) {
    config.params.resize(kernel.parameterBytes);
    for (const ParameterField &field : kernel.fields) {
      uint64_t value = 0;
      switch (field.kind) {
      case ParameterField::Address:
        value = addresses[field.index];
        break;
      case ParameterField::Size:
        value = uint64_t(arguments[field.index].sizes[field.dim]);
        break;
      case ParameterField::Stride:
        value = uint64_t(arguments[field.index].strides[field.dim]);
        break;
      case ParameterField::Scalar:
        value = arguments[field.index].scalar;
        break;
      case ParameterField::Constant:
        value = uint64_t(constants[field.index]);
        break;
      case ParameterField::Faults: {
        static constexpr uint32_t none = 0;
        value = faultAddress = device.memory.allocate(16, "the record of faults");
        device.write(faultAddress, &none, sizeof none);
        break;
      }
      case ParameterField::Map:
        if (!packMap(kernel.maps[field.index], config.params.data() + field.offset))
          return false;
        continue;
      }
      memcpy(config.params.data() + field.offset, &value, sizeof value);
    }
    return true;
  }

  bool packMap(const TensorMapRecipe &recipe, uint8_t *to) {
    const detail::Argument &tensor = arguments[recipe.argument];
    size_t rank = tensor.sizes.size(), bytes = bytesOf(tensor.element);
    emu::TensorMap map;
    map.dataType = recipe.dataType;
    map.rank = uint32_t(rank);
    map.base = addresses[recipe.argument];
    map.swizzle = recipe.swizzle;
    map.strides[0] = bytes;
    // A map cannot be empty.
    bool empty = std::ranges::count(tensor.sizes, 0) != 0;
    for (size_t d = 0; d < rank; ++d) {
      size_t from = rank - 1 - d;
      map.dims[d] = empty ? 1 : uint64_t(tensor.sizes[from]);
      map.box[d] = recipe.box[d];
      if (d)
        map.strides[d] = uint64_t(tensor.strides[from]) * bytes;
      // The stride of a dimension of one element is never used, but checked.
      if (d && (map.dims[d] == 1 || map.strides[d] == 0))
        map.strides[d] = (map.strides[d] + 15) / 16 * 16 + (map.strides[d] == 0 ? 16 : 0);
    }
    if (std::string rule = emu::checkTensorMap(map); !rule.empty()) {
      error(HardwareAlignment, "no tensor map can be made for `" +
                                   info.arguments[recipe.argument].name + "`: " + rule);
      return false;
    }
    emu::encodeTensorMap(map, to);
    return true;
  }

  const EmulatedKernel &emulated;
  const DeviceKernel &kernel;
  const KernelInfo &info;
  std::span<const detail::Argument> arguments;
  emu::Device device;
  emu::LaunchConfig config;
  std::vector<uint64_t> addresses;
  uint64_t faultAddress = 0;
  emu::Report report;
};

} // namespace

std::shared_ptr<EmulatedKernel> penstock::readForEmulation(DeviceKernel kernel,
                                                           std::vector<Diagnostic> &diagnostics) {
  ptx::ParseResult read = ptx::parse(kernel.ptx, kernel.name + ".ptx");
  if (!read.module) {
    diagnostics.insert(diagnostics.end(), read.diagnostics.begin(), read.diagnostics.end());
    return nullptr;
  }
  auto result = std::make_shared<EmulatedKernel>();
  result->kernel = std::move(kernel);
  result->module = read.module;
  bool ownsMemory = false;
  for (const ptx::Variable &variable : read.module->variables)
    ownsMemory |= variable.space != ptx::Space::Shared;
  if (!ownsMemory) {
    result->loaded = std::make_shared<emu::LoadedModule>();
    result->loaded->module = read.module;
    result->loaded->globals.resize(read.module->variables.size());
  }
  return result;
}

bool penstock::rowsFit(const DeviceKernel &kernel, std::span<const detail::Argument> arguments) {
  for (const RowRule &rule : kernel.rowAligned)
    if (crookedRow(rule, arguments[rule.argument]) ||
        reinterpret_cast<uintptr_t>(arguments[rule.argument].data) % rule.bytes)
      return false;
  return true;
}

const EmulatedKernel &
penstock::variantFor(std::span<const std::shared_ptr<EmulatedKernel>> variants,
                     std::span<const detail::Argument> arguments) {
  size_t chosen = 0;
  while (chosen + 1 < variants.size() && !rowsFit(variants[chosen]->kernel, arguments))
    ++chosen;
  return *variants[chosen];
}

emu::Report penstock::launchEmulated(const EmulatedKernel &kernel, const KernelInfo &info,
                                     std::span<const detail::Argument> arguments,
                                     const emu::LaunchOptions &options) {
  return Launcher(kernel, info, arguments).run(options);
}
