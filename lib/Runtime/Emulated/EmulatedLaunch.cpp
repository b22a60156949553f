//===- EmulatedLaunch.cpp - Runs a GPU kernel on the emulator -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/Emulated/EmulatedLaunch.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Tensor/TensorMap.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"
#include "Runtime/DeviceLaunch.h"

#include <algorithm>

using namespace penstock;

namespace {

/// Checks a tensor map by the rules of the emulator and encodes it.
std::string encodeMap(const TensorMapDescription &from, uint8_t *to) {
  emu::TensorMap map;
  map.dataType = from.dataType;
  map.rank = from.rank;
  map.base = from.address;
  map.swizzle = from.swizzle;
  for (unsigned d = 0; d < from.rank; ++d) {
    map.dims[d] = from.sizes[d];
    map.strides[d] = from.strides[d];
    map.box[d] = from.box[d];
  }
  std::string rule = emu::checkTensorMap(map);
  if (rule.empty())
    emu::encodeTensorMap(map, to);
  return rule;
}

class Launcher {
public:
  Launcher(const EmulatedKernel &kernel, const KernelInfo &info,
           std::span<const detail::Argument> arguments, uint64_t printBytes)
      : emulated(kernel), kernel(kernel.kernel), info(info), arguments(arguments),
        printBytes(printBytes) {}

  emu::Report run(const emu::LaunchOptions &options) {
    std::optional<DeviceGrid> grid = prepareLaunch(kernel, info, arguments, report.findings);
    if (!grid)
      return std::move(report);
    uint64_t blocks = grid->blocks;
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
    if (!execute(grid->constants, strict))
      return std::move(report);
    // Which of several blocks is found at fault first depends on the host's threads. A
    // report does not: what was found is looked for again, one block after the other.
    if (!report.findings.empty() && strict.threads != 1 && blocks > 1) {
      emu::Report found = std::move(report);
      strict.threads = 1;
      strict.print = {};
      strict.onBarrier = {};
      if (!execute(grid->constants, strict) || report.findings.empty())
        report = std::move(found);
    }
    copyOut();
    readFaults();
    if (options.print)
      readPrints(options.print);
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
    if (!module || !copyIn())
      return false;
    config.params.resize(kernel.parameterBytes);
    auto encode = [&](unsigned number, const detail::Argument &tensor, uint64_t address,
                      uint8_t *to) {
      return encodeMap(packMap(kernel.maps[number], tensor, address), to);
    };
    if (!packParameters(kernel, info, arguments, addresses, constants, encode, config.params.data(),
                        report.findings)) {
      report.completed = false;
      return false;
    }
    report = device.launch(*module, kernel.name, config, options);
    return true;
  }

  void outOfMemory(const std::string &argument) {
    Diagnostic d;
    d.code = LaunchNull;
    d.location = info.location;
    d.message = "the emulator has no memory for `" + argument + "`";
    report.findings.push_back(std::move(d));
    report.completed = false;
  }

  bool copyIn() {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const detail::Argument &tensor = arguments[i];
      addresses.push_back(0);
      if (!tensor.tensor)
        continue;
      uint64_t bytes = spannedBytes(tensor);
      addresses.back() =
          device.memory.allocate(std::max<uint64_t>(bytes, 16), "`" + info.arguments[i].name + "`");
      if (!addresses.back()) {
        outOfMemory(info.arguments[i].name);
        return false;
      }
      // An empty tensor is one element, zero.
      static constexpr uint8_t zeros[16] = {};
      if (bytes)
        device.write(addresses.back(), tensor.data, bytes);
      else
        device.write(addresses.back(), zeros, sizeof zeros);
    }
    if (!kernel.faults.empty()) {
      static constexpr uint32_t none = 0;
      addresses.push_back(device.memory.allocate(16, "the record of faults"));
      device.write(addresses.back(), &none, sizeof none);
    }
    if (!kernel.prints.empty()) {
      std::vector<uint64_t> empty = emptyPrintBuffer(printBytes);
      addresses.push_back(device.memory.allocate(empty.size() * 8, "the buffer of `print`"));
      if (!addresses.back()) {
        outOfMemory("print");
        return false;
      }
      device.write(addresses.back(), empty.data(), empty.size() * 8);
    }
    return true;
  }

  /// The first fault that a thread reported.
  void readFaults() {
    if (kernel.faults.empty())
      return;
    uint32_t fault = 0;
    device.read(addresses[arguments.size()], &fault, sizeof fault);
    if (fault && fault <= kernel.faults.size())
      report.findings.push_back(kernel.faults[fault - 1]);
  }

  void readPrints(const std::function<void(const std::string &)> &print) {
    if (kernel.prints.empty())
      return;
    std::vector<uint64_t> buffer = emptyPrintBuffer(printBytes);
    device.read(addresses.back(), buffer.data(), buffer.size() * 8);
    for (const std::string &line : readPrintBuffer(kernel.prints, buffer))
      print(line);
  }

  void copyOut() {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].tensor && info.arguments[i].written)
        device.read(addresses[i], arguments[i].data, spannedBytes(arguments[i]));
  }

  const EmulatedKernel &emulated;
  const DeviceKernel &kernel;
  const KernelInfo &info;
  std::span<const detail::Argument> arguments;
  uint64_t printBytes;
  emu::Device device;
  emu::LaunchConfig config;
  std::vector<uint64_t> addresses;
  emu::Report report;
};

} // namespace

/// The oldest PTX that has all instructions of a module, as 86 for 8.6. Drivers refuse
/// PTX that is newer than they are.
static unsigned lowestVersion(const ptx::Module &module) {
  unsigned lowest = module.arch >= 120 ? 87 : module.arch >= 100 ? 86 : 80;
  for (const auto &function : module.functions)
    for (const auto &instruction : function->body)
      lowest = std::max(lowest, instruction->form->version);
  return std::min(lowest, module.version);
}

static void setVersion(std::string &text, unsigned version) {
  constexpr std::string_view directive = ".version ";
  size_t at = text.find(directive);
  if (at == std::string::npos)
    return;
  at += directive.size();
  text.replace(at, text.find_first_not_of("0123456789.", at) - at,
               std::to_string(version / 10) + "." + std::to_string(version % 10));
}

std::shared_ptr<EmulatedKernel> penstock::readForEmulation(DeviceKernel kernel,
                                                           std::vector<Diagnostic> &diagnostics) {
  ptx::ParseResult read = ptx::parse(kernel.ptx, kernel.name + ".ptx");
  if (!read.module) {
    diagnostics.insert(diagnostics.end(), read.diagnostics.begin(), read.diagnostics.end());
    return nullptr;
  }
  setVersion(kernel.ptx, lowestVersion(*read.module));
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

const EmulatedKernel &
penstock::variantFor(std::span<const std::shared_ptr<EmulatedKernel>> variants,
                     std::span<const detail::Argument> arguments) {
  std::vector<const DeviceKernel *> kernels;
  for (const auto &variant : variants)
    kernels.push_back(&variant->kernel);
  return *variants[variantFor(kernels, arguments)];
}

emu::Report penstock::launchEmulated(const EmulatedKernel &kernel, const KernelInfo &info,
                                     std::span<const detail::Argument> arguments,
                                     const emu::LaunchOptions &options, uint64_t printBytes) {
  return Launcher(kernel, info, arguments, printBytes).run(options);
}
