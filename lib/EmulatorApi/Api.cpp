//===- Api.cpp - The C interface of the emulator --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"
#include "Diagnostics/SourceText.h"
#include "Emulator/Launch.h"
#include "Emulator/Mutants.h"
#include "Emulator/Races/Tier.h"
#include "Emulator/Tensor/TensorMap.h"
#include "EmulatorApi/Html.h"
#include "penstock/penstock_emu.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace penstock;
using namespace penstock::emu;

struct penstock_emu_module {
  std::shared_ptr<LoadedModule> loaded;
  std::vector<std::string> kernels;
};

struct penstock_emu_device {
  Device device;
  std::vector<std::unique_ptr<penstock_emu_module>> modules;
};

struct penstock_emu_report {
  Report report;
  std::string output, rendered;
  /// Texts that findings may quote, which need not be files.
  std::vector<std::shared_ptr<const ptx::Module>> modules;

  std::optional<std::string> line(const std::string &file, uint32_t number) const {
    for (const auto &module : modules)
      if (module->name == file) {
        std::string text = module->line(number);
        return text.empty() ? std::nullopt : std::optional(text);
      }
    return readSourceLine(file, number);
  }
};

namespace {

/// Copies a caller's structure, which may be older and shorter than ours.
template <class T> T fromCaller(const T *from) {
  T copy{};
  memcpy(&copy, from, std::min(from->size, sizeof copy));
  copy.size = sizeof copy;
  return copy;
}

template <class T> void toCaller(T copy, T *to) {
  copy.size = to->size;
  memcpy(to, &copy, std::min(to->size, sizeof copy));
}

/// Runs \p fn; there are no exceptions across the interface.
template <class Result, class Fn> Result guarded(Result failed, Fn &&fn) {
  try {
    return fn();
  } catch (const std::exception &) {
    return failed;
  }
}

Diagnostic badInput(std::string message) {
  Diagnostic d;
  d.code = EmuBadInput;
  d.message = std::move(message);
  return d;
}

const ptx::Function *kernelOf(const penstock_emu_module *module, const char *name) {
  const ptx::Function *found = module && name ? module->loaded->module->function(name) : nullptr;
  return found && found->isEntry ? found : nullptr;
}

/// Offsets of parameters, and behind the last of them.
std::vector<uint64_t> parameterOffsets(const ptx::Function &kernel) {
  std::vector<uint64_t> offsets;
  uint64_t at = 0;
  for (uint32_t i = 0; i < kernel.numParams; ++i) {
    uint64_t align = std::max(1u, kernel.variables[i].align);
    at = (at + align - 1) / align * align;
    offsets.push_back(at);
    at += kernel.variables[i].size;
  }
  offsets.push_back(at);
  return offsets;
}

LaunchConfig configOf(const penstock_emu_launch &launch) {
  LaunchConfig config;
  for (size_t d = 0; d < 3; ++d) {
    config.grid[d] = launch.grid[d];
    config.block[d] = launch.block[d];
    config.cluster[d] = launch.cluster[d];
  }
  config.dynamicShared = launch.dynamic_shared;
  const auto *parameters = static_cast<const uint8_t *>(launch.parameters);
  config.params.assign(parameters, parameters + launch.parameter_bytes);
  return config;
}

const char *const missingParameters = "the parameters are missing";
const char *const missingObjects = "the device, the module and the launch must not be null";

/// Appends a launch to \p launches; false, with a finding, if it is not valid.
bool addLaunch(penstock_emu_module &module, const char *kernel, const penstock_emu_launch &launch,
               penstock_emu_report &out, std::vector<Launch> &launches) {
  out.modules.push_back(module.loaded->module);
  auto reject = [&](std::string message) {
    out.report.findings.push_back(badInput(std::move(message)));
    return false;
  };
  LaunchOptions options;
  if (launch.timing && !parseTiming(launch.timing, options))
    return reject("`" + std::string(launch.timing) +
                  "` is not a timing: eager, lazy, random:SEED, delay:N or starve:WARP");
  if (launch.parameter_bytes && !launch.parameters)
    return reject(missingParameters);
  options.checks = !launch.unchecked;
  options.threads = launch.threads;
  options.timeline = true; // the format is chosen later
  if (launch.max_instructions)
    options.maxInstructions = launch.max_instructions;
  options.print = [&out](const std::string &text) {
    constexpr size_t most = 16 << 20;
    if (out.output.size() < most)
      out.output += text;
  };
  launches.push_back(
      {module.loaded.get(), kernel ? kernel : "", configOf(launch), std::move(options)});
  return true;
}

/// Adds findings that \p to does not have, and counts.
void addReport(Report &to, const Report &from) {
  auto &findings = to.findings;
  for (const Diagnostic &d : from.findings) {
    bool known = std::any_of(findings.begin(), findings.end(), [&](const Diagnostic &other) {
      return other.code == d.code && findingLines(other) == findingLines(d);
    });
    if (!known)
      findings.push_back(d);
  }
  sortFindings(findings);
  to.completed &= from.completed;
  LaunchStats &stats = to.stats;
  const LaunchStats &more = from.stats;
  stats.instructions += more.instructions;
  stats.asyncOps += more.asyncOps;
  stats.blocks += more.blocks;
  stats.seconds += more.seconds;
}

/// Runs launches, each after the first overlapping the one before it.
void runLaunches(penstock_emu_device &device, const std::vector<Launch> &launches,
                 penstock_emu_report &out) {
  std::vector<Report> reports = device.device.launchOverlapping(launches);
  out.report = std::move(reports.front());
  for (size_t i = 1; i < reports.size(); ++i)
    addReport(out.report, reports[i]);
}

} // namespace

uint32_t penstock_emu_abi(void) { return PENSTOCK_EMU_ABI; }
const char *penstock_emu_version(void) { return PENSTOCK_VERSION; }

penstock_emu_device *penstock_emu_device_create(void) {
  return new (std::nothrow) penstock_emu_device;
}
void penstock_emu_device_destroy(penstock_emu_device *device) { delete device; }

uint64_t penstock_emu_alloc(penstock_emu_device *device, uint64_t bytes, const char *name) {
  return guarded(uint64_t(0), [&] {
    return device ? device->device.memory.allocate(bytes, name ? name : "") : 0;
  });
}
int penstock_emu_free(penstock_emu_device *device, uint64_t address) {
  return device && device->device.memory.release(address) ? 0 : 1;
}
int penstock_emu_write(penstock_emu_device *device, uint64_t to, const void *from, uint64_t bytes) {
  return device && (from || !bytes) && device->device.write(to, from, bytes) ? 0 : 1;
}
int penstock_emu_read(penstock_emu_device *device, void *to, uint64_t from, uint64_t bytes) {
  return device && (to || !bytes) && device->device.read(from, to, bytes) ? 0 : 1;
}

const char *penstock_emu_encode(const penstock_emu_tensor_map *map, void *to) {
  if (!map || !to)
    return "the map and its destination must not be null";
  penstock_emu_tensor_map in = fromCaller(map);
  thread_local std::string problem;
  return guarded("there is not enough memory", [&]() -> const char * {
    TensorMap made;
    made.dataType = in.data_type;
    made.rank = in.rank;
    made.base = in.address;
    for (uint32_t d = 0; d < std::min(in.rank, 5u); ++d) {
      made.dims[d] = in.dims[d];
      made.box[d] = in.box[d];
      made.elementStrides[d] = in.element_strides[d];
      if (d)
        made.strides[d] = in.strides[d - 1];
    }
    made.interleave = in.interleave;
    made.swizzle = in.swizzle;
    made.l2Promotion = in.l2_promotion;
    made.fill = in.fill;
    problem = checkTensorMap(made);
    if (!problem.empty())
      return problem.c_str();
    encodeTensorMap(made, static_cast<uint8_t *>(to));
    return nullptr;
  });
}

penstock_emu_module *penstock_emu_load(penstock_emu_device *device, const char *ptx, size_t length,
                                       const char *name, penstock_emu_report **report) {
  if (report)
    *report = nullptr;
  return guarded((penstock_emu_module *)nullptr, [&]() -> penstock_emu_module * {
    auto out = std::make_unique<penstock_emu_report>();
    auto finish = [&](penstock_emu_module *module) {
      out->report.completed = module;
      if (report)
        *report = out.release();
      return module;
    };
    if (!device || !ptx) {
      out->report.findings.push_back(badInput("the device and the PTX must not be null"));
      return finish(nullptr);
    }
    auto loaded = device->device.load(std::string(ptx, length), name ? name : "module.ptx",
                                      out->report.findings);
    if (!loaded)
      return finish(nullptr);
    auto module = std::make_unique<penstock_emu_module>();
    module->loaded = loaded;
    out->modules.push_back(loaded->module);
    for (const auto &function : loaded->module->functions)
      if (function->isEntry && !function->isDeclaration)
        module->kernels.push_back(function->name);
    device->modules.push_back(std::move(module));
    return finish(device->modules.back().get());
  });
}

const char *penstock_emu_target(const penstock_emu_module *module) {
  return module ? module->loaded->module->target.c_str() : "";
}
size_t penstock_emu_kernel_count(const penstock_emu_module *module) {
  return module ? module->kernels.size() : 0;
}
const char *penstock_emu_kernel_name(const penstock_emu_module *module, size_t index) {
  return module && index < module->kernels.size() ? module->kernels[index].c_str() : nullptr;
}

int penstock_emu_kernel_info(const penstock_emu_module *module, const char *name,
                             penstock_emu_kernel *info) {
  const ptx::Function *kernel = kernelOf(module, name);
  if (!kernel || !info)
    return 1;
  return guarded(1, [&] {
    penstock_emu_kernel out{};
    out.parameters = kernel->numParams;
    out.parameter_bytes = uint32_t(parameterOffsets(*kernel).back());
    for (size_t d = 0; d < 3; ++d) {
      out.threads[d] = kernel->requiredThreads[d];
      out.cluster[d] = kernel->requiredCluster[d];
    }
    toCaller(out, info);
    return 0;
  });
}

int penstock_emu_parameter(const penstock_emu_module *module, const char *name, uint32_t index,
                           uint32_t *offset, uint32_t *bytes) {
  const ptx::Function *kernel = kernelOf(module, name);
  if (!kernel || index >= kernel->numParams)
    return 1;
  return guarded(1, [&] {
    if (offset)
      *offset = uint32_t(parameterOffsets(*kernel)[index]);
    if (bytes)
      *bytes = uint32_t(kernel->variables[index].size);
    return 0;
  });
}

penstock_emu_report *penstock_emu_run(penstock_emu_device *device, penstock_emu_module *module,
                                      const char *kernel, const penstock_emu_launch *launch) {
  return guarded((penstock_emu_report *)nullptr, [&] {
    auto out = std::make_unique<penstock_emu_report>();
    if (!device || !module || !launch)
      out->report.findings.push_back(badInput(missingObjects));
    else if (std::vector<Launch> launches;
             addLaunch(*module, kernel, fromCaller(launch), *out, launches))
      runLaunches(*device, launches, *out);
    return out.release();
  });
}

penstock_emu_report *penstock_emu_run_overlapping(penstock_emu_device *device,
                                                  const penstock_emu_step *steps, size_t count) {
  return guarded((penstock_emu_report *)nullptr, [&] {
    auto out = std::make_unique<penstock_emu_report>();
    std::vector<Launch> launches;
    bool valid = device && steps && count;
    for (size_t i = 0; valid && i < count; ++i)
      valid = steps[i].module && steps[i].launch;
    if (!valid) {
      out->report.findings.push_back(badInput(missingObjects));
      return out.release();
    }
    for (size_t i = 0; i < count; ++i)
      valid &=
          addLaunch(*steps[i].module, steps[i].kernel, fromCaller(steps[i].launch), *out, launches);
    if (valid)
      runLaunches(*device, launches, *out);
    return out.release();
  });
}

penstock_emu_report *penstock_emu_mutate(penstock_emu_device *device, penstock_emu_module *module,
                                         const char *kernel, const penstock_emu_launch *launch,
                                         uint32_t timings, penstock_emu_mutants *mutants) {
  return guarded((penstock_emu_report *)nullptr, [&] {
    auto out = std::make_unique<penstock_emu_report>();
    std::vector<Diagnostic> &findings = out->report.findings;
    penstock_emu_launch given{};
    if (launch)
      given = fromCaller(launch);
    if (!device || !module || !launch) {
      findings.push_back(badInput(missingObjects));
    } else if (given.parameter_bytes && !given.parameters) {
      findings.push_back(badInput(missingParameters));
    } else if (!kernelOf(module, kernel)) {
      findings.push_back(badInput("the module does not have this kernel"));
    } else {
      out->modules.push_back(module->loaded->module);
      MutantReport found =
          runMutants(device->device, *module->loaded, kernel, configOf(given), timings);
      findings = std::move(found.findings);
      out->report.completed = found.ran;
      if (mutants)
        toCaller(penstock_emu_mutants{sizeof(penstock_emu_mutants), found.mutants, found.detected(),
                                      found.survivors, found.unexecuted, found.lines,
                                      found.executedLines},
                 mutants);
    }
    return out.release();
  });
}

void penstock_emu_report_destroy(penstock_emu_report *report) { delete report; }

int penstock_emu_report_completed(const penstock_emu_report *report) {
  return report && report->report.completed;
}

size_t penstock_emu_report_count(const penstock_emu_report *report, penstock_emu_tier tier) {
  if (!report)
    return 0;
  const auto &findings = report->report.findings;
  return size_t(std::count_if(findings.begin(), findings.end(), [&](const Diagnostic &d) {
    return unsigned(tierOf(d)) == unsigned(tier);
  }));
}

const char *penstock_emu_report_render(penstock_emu_report *report, penstock_emu_format format) {
  if (!report)
    return "";
  return guarded("", [&] {
    const auto &findings = report->report.findings;
    SourceLineFn lines = [&](const std::string &file, uint32_t number) {
      return report->line(file, number);
    };
    switch (format) {
    case PENSTOCK_EMU_JSON:
      report->rendered = toJson(findings);
      break;
    case PENSTOCK_EMU_SARIF:
      report->rendered = toSarif(findings, "penstock-emu");
      break;
    case PENSTOCK_EMU_HTML:
      report->rendered = toHtml(findings, lines);
      break;
    default: {
      RenderOptions options;
      options.sourceLine = lines;
      report->rendered = render(findings, options);
    }
    }
    return report->rendered.c_str();
  });
}

void penstock_emu_report_merge(penstock_emu_report *report, const penstock_emu_report *from) {
  if (!report || !from || report == from)
    return;
  guarded(0, [&] {
    addReport(report->report, from->report);
    for (const auto &module : from->modules)
      if (std::find(report->modules.begin(), report->modules.end(), module) ==
          report->modules.end())
        report->modules.push_back(module);
    report->output += from->output;
    return 0;
  });
}

const char *penstock_emu_report_output(const penstock_emu_report *report) {
  return report ? report->output.c_str() : "";
}

void penstock_emu_report_stats(const penstock_emu_report *report, penstock_emu_stats *stats) {
  if (!report || !stats)
    return;
  const LaunchStats &from = report->report.stats;
  toCaller({0, from.instructions, from.asyncOps, from.blocks, from.seconds}, stats);
}
