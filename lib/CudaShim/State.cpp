//===- State.cpp - What the shim knows of the program ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choices of `penstock-emu run` arrive in environment variables, because
// the program under test owns the command line.
//
//===----------------------------------------------------------------------===//
#include "CudaShim/State.h"
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace penstock::cuda {
namespace {

std::string setting(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

} // namespace

State::State() {
  std::string deviceName = setting("PENSTOCK_EMU_DEVICE");
  if (!deviceName.empty()) {
    isBlackwell = deviceName == "b200";
    deviceChosen = true;
  }
  options.checks = setting("PENSTOCK_EMU_CHECKS") != "0";
  // penstock-emu has refused what is not a timing.
  emu::parseTiming(setting("PENSTOCK_EMU_TIMING"), options);
  if (std::string f = setting("PENSTOCK_EMU_FORMAT"); !f.empty())
    format = f;
  options.print = [](const std::string &text) { fputs(text.c_str(), stdout); };
}

State::~State() {
  if (setting("PENSTOCK_EMU_SUMMARY") == "1")
    fprintf(stderr, "penstock-emu: %u launches on %s, %u findings, %.3f s in kernels\n", launches,
            isBlackwell ? "B200" : "H100", findings, seconds);
}

void State::chooseDevice() {
  if (!deviceChosen)
    for (auto &module : modules)
      for (const PtxImage &image : module->images)
        isBlackwell |= image.arch >= 100;
  deviceChosen = true;
  device.numSms = multiprocessors();
}

bool State::load(RegisteredModule &module) {
  if (module.loaded || module.failed)
    return !module.failed;
  chooseDevice();
  const PtxImage *image = chooseImage(module.images, arch());
  std::vector<Diagnostic> diagnostics;
  if (!image)
    fprintf(stderr, "penstock-emu: no PTX of this program runs on sm_%u\n", arch());
  else
    module.loaded = device.load(image->text, "program.ptx", diagnostics);
  fputs(render(diagnostics).c_str(), stderr);
  module.failed = !module.loaded;
  return !module.failed;
}

Error State::launch(const void *host, Dim grid, Dim block, Dim cluster, void **arguments,
                    size_t shared) {
  auto found = functions.find(host);
  if (found == functions.end())
    return fail(InvalidDeviceFunction);
  Function &function = found->second;
  if (!load(*function.module))
    return fail(InvalidDeviceFunction);
  const ptx::Function *kernel = function.module->loaded->module->function(function.name);
  if (!kernel)
    return fail(InvalidDeviceFunction);
  emu::LaunchConfig config;
  config.grid = {grid.x, grid.y, grid.z};
  config.block = {block.x, block.y, block.z};
  config.cluster = {cluster.x, cluster.y, cluster.z};
  config.dynamicShared = uint32_t(shared);
  emu::ParamPacker packer;
  for (uint32_t i = 0; i < kernel->numParams; ++i)
    packer.addBytes(arguments[i], kernel->variables[i].size,
                    std::max(1u, kernel->variables[i].align));
  config.params = packer.bytes;
  emu::Report report = device.launch(*function.module->loaded, function.name, config, options);
  ++launches;
  seconds += report.stats.seconds;
  if (report.findings.empty())
    return Success;
  findings += unsigned(report.findings.size());
  std::string text = format == "json"    ? toJson(report.findings) + "\n"
                     : format == "sarif" ? toSarif(report.findings, "penstock-emu") + "\n"
                                         : render(report.findings);
  fprintf(stderr, "penstock-emu: findings in kernel %s\n%s", function.name.c_str(), text.c_str());
  // A kernel that ran to its end has results; what was found is on stderr.
  return report.completed ? Success : fail(LaunchFailure);
}

Error State::copy(void *to, const void *from, size_t bytes) {
  if (!bytes)
    return Success;
  uint64_t target = reinterpret_cast<uint64_t>(to), source = reinterpret_cast<uint64_t>(from);
  bool toDevice = onDevice(to), fromDevice = onDevice(from);
  if (toDevice && fromDevice) {
    std::vector<uint8_t> stage(bytes);
    if (!device.read(source, stage.data(), bytes) || !device.write(target, stage.data(), bytes))
      return fail(InvalidValue);
  } else if (toDevice) {
    if (!device.write(target, from, bytes))
      return fail(InvalidValue);
  } else if (fromDevice) {
    if (!device.read(source, to, bytes))
      return fail(InvalidValue);
  } else {
    memmove(to, from, bytes);
  }
  return Success;
}

uint64_t State::variableAddress(const void *host) {
  auto found = variables.find(host);
  if (found == variables.end() || !load(*found->second.module))
    return 0;
  emu::LoadedModule &loaded = *found->second.module->loaded;
  const auto &list = loaded.module->variables;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name == found->second.name)
      return loaded.globals[i];
  return 0;
}

State &state() {
  static State *instance = [] {
    static State object;
    return &object;
  }();
  return *instance;
}

} // namespace penstock::cuda
