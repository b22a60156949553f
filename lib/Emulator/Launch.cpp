//===- Launch.cpp - Running kernels on the emulator -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Launch.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Decode/Decoder.h"
#include "Emulator/Machine.h"
#include "Hardware/Architecture.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <chrono>

namespace penstock::emu {
namespace {

Diagnostic launchError(const ptx::Module &module, std::string message) {
  Diagnostic d;
  d.code = EmuBadLaunch;
  d.location = module.location(0);
  d.message = std::move(message);
  return d;
}

/// Returns whether a generic read may come after a later write through the async proxy, without a
/// fence: GB200 gives wrong results (DeepEP 621). Hopper is not known to.
bool readsMayBeLate(const ptx::Module &module) {
  return module.target.size() > 3 && std::atoi(module.target.c_str() + 3) >= 100;
}

/// Checks sizes against what the kernel and the hardware allow.
bool prepare(Grid &grid, Report &report) {
  const Program &program = *grid.program;
  const ptx::Module &module = *program.module;
  auto refuse = [&](std::string message) {
    report.findings.push_back(launchError(module, std::move(message)));
    return false;
  };
  LaunchConfig &config = grid.config;
  const ptx::Function &kernel = *program.kernel;
  uint64_t threads = 1, blocks = 1, perCluster = 1;
  for (size_t d = 0; d < 3; ++d) {
    if (!config.grid[d] || !config.block[d])
      return refuse("a grid or block of size zero");
    threads *= config.block[d];
    blocks *= config.grid[d];
    if (threads > 1024)
      return refuse("more than 1024 threads in a block");
    if (blocks > (1u << 24))
      return refuse("more than 2^24 blocks");
  }
  const auto &required = kernel.requiredThreads;
  const auto &most = kernel.maxThreads;
  if (required[0] && config.block != required)
    return refuse("the kernel's .reqntid asks for another block size");
  if (most[0] && threads > uint64_t(most[0]) * most[1] * most[2])
    return refuse("more threads in a block than the kernel's .maxntid");
  grid.clusterDim = config.cluster;
  if (kernel.requiredCluster[0])
    grid.clusterDim = kernel.requiredCluster;
  for (size_t d = 0; d < 3; ++d) {
    if (!grid.clusterDim[d])
      grid.clusterDim[d] = 1;
    perCluster *= grid.clusterDim[d];
    if (perCluster > 16)
      return refuse("more than 16 blocks in a cluster");
    if (config.grid[d] % grid.clusterDim[d])
      return refuse("the grid is not a multiple of the cluster");
  }
  grid.ctasPerCluster = uint32_t(perCluster);
  grid.numClusters = uint32_t(blocks / perCluster);
  uint32_t block = grid.options.traceBlock, stride = 1;
  for (size_t d = 0; d < 3; ++d) {
    grid.tracedCluster += block % config.grid[d] / grid.clusterDim[d] * stride;
    block /= config.grid[d];
    stride *= config.grid[d] / grid.clusterDim[d];
  }
  if (grid.options.timing == Timing::Paced)
    for (const DInst &inst : grid.program->code)
      grid.instructionTimes.push_back(inst.source ? grid.options.pace->times(*inst.source)
                                                  : InstructionTimes());
  grid.threadsPerCta = uint32_t(threads);
  grid.warpsPerCta = uint32_t((threads + 31) / 32);
  if (grid.options.starvedWarp >= int64_t(grid.warpsPerCta) * grid.ctasPerCluster)
    return refuse("the timing starves warp " + std::to_string(grid.options.starvedWarp) +
                  " of a cluster; it has " +
                  std::to_string(grid.warpsPerCta * grid.ctasPerCluster) + " warps");
  uint64_t shared = sharedReserved + program.sharedStatic;
  grid.dynamicBase =
      uint32_t((shared + program.sharedAlign - 1) / program.sharedAlign * program.sharedAlign);
  if (config.dynamicShared)
    shared = uint64_t(grid.dynamicBase) + config.dynamicShared;
  if (shared - sharedReserved > grid.device->maxShared)
    return refuse("the block needs " + std::to_string(shared - sharedReserved) +
                  " bytes of shared memory; it may have " + std::to_string(grid.device->maxShared));
  grid.sharedBytes = uint32_t((shared + 127) / 128 * 128);
  if (config.params.size() < program.paramBytes)
    return refuse("the kernel takes " + std::to_string(program.paramBytes) +
                  " bytes of parameters and got " + std::to_string(config.params.size()));
  if (perCluster * grid.warpsPerCta *
          (uint64_t(program.rowBytes) + uint64_t(program.localBytes) * 32) >
      (uint64_t(1) << 30))
    return refuse("the registers and local memory of a cluster take more than "
                  "1 GiB");
  return true;
}

/// A launch with its decoded kernel.
struct Decoded {
  std::shared_ptr<const Program> program;
  const Launch *launch = nullptr;
};

/// Numbers warps, blocks and clusters through all grids of a state.
void addGrid(GlobalState &state, Grid &grid) {
  if (!state.grids.empty()) {
    Grid &before = *state.grids.back();
    grid.previous = &before;
    before.hasDependent = true;
    grid.firstCluster = before.firstCluster + before.numClusters;
    grid.firstBlock = before.firstBlock + before.numBlocks();
    // A multiple, so that the rest tells the warp of a block.
    uint32_t warps = before.firstWarp + before.numBlocks() * before.warpsPerCta;
    grid.firstWarp = (warps + grid.warpsPerCta - 1) / grid.warpsPerCta * grid.warpsPerCta;
  }
  grid.state = &state;
  state.grids.push_back(&grid);
  state.ops.resize(grid.firstCluster + grid.numClusters);
}

LineCoverage coverageOf(const Grid &grid) {
  std::set<uint32_t> lines, reached;
  for (size_t pc = 0; pc < grid.reached.size(); ++pc)
    if (const ptx::Instruction *inst = grid.program->code[pc].source) {
      lines.insert(inst->line);
      if (grid.reached[pc])
        reached.insert(inst->line);
    }
  return {{lines.begin(), lines.end()}, {reached.begin(), reached.end()}};
}

void fillReport(Grid &grid, Report &report) {
  grid.findings.settle(!grid.abort);
  report.sites = grid.findings.takeSites();
  report.findings = grid.findings.take(timingName(grid.options, grid.warpsPerCta));
  report.completed = !grid.abort;
  report.stats.instructions = grid.instructions;
  report.stats.spent = grid.spent;
  for (uint32_t i = 0; i < grid.numClusters; ++i)
    report.stats.asyncOps += grid.state->ops[grid.firstCluster + i].size();
  report.stats.blocks = grid.numBlocks();
  report.executed = coverageOf(grid);
}

/// Runs launches. False if they have to be run once more, with records of all accesses to more
/// allocations, which are added to \p tracked.
bool runOnce(Device &device, const std::vector<Decoded> &launches,
             std::set<const Allocation *> &tracked, std::vector<Report> &reports) {
  GlobalState state;
  std::deque<Grid> grids;
  std::deque<std::string> printed;
  bool checks = false, listens = false;
  for (const Decoded &each : launches) {
    const LaunchOptions &options = each.launch->options;
    Grid &grid = grids.emplace_back();
    grid.program = each.program.get();
    grid.device = &device;
    grid.config = each.launch->config;
    grid.options = options;
    grid.options.fenceReads |= readsMayBeLate(*grid.program->module);
    grid.findings.limit = options.maxFindings;
    if (!prepare(grid, reports[grids.size() - 1])) {
      grids.pop_back();
      break; // those before it run
    }
    grid.findings.program = grid.program;
    grid.findings.blocks = grid.numBlocks();
    grid.findings.warpsPerBlock = grid.warpsPerCta;
    addGrid(state, grid);
    if (options.coverage)
      grid.reached = std::vector<std::atomic<bool>>(grid.program->code.size());
    checks |= options.checks;
    // Listeners would see two runs.
    listens |= options.onBarrier || options.onTrace;
    std::string &text = printed.emplace_back();
    if (options.print)
      grid.options.print = [&text](const std::string &more) { text += more; };
  }
  if (grids.empty())
    return true;
  if (checks)
    for (Allocation *allocation : device.memory.all())
      state.globals.add(*allocation, listens || tracked.count(allocation));
  runGrids(state);
  if (std::set<const Allocation *> missing = state.globals.incomplete(); !missing.empty()) {
    state.globals.restore();
    tracked.insert(missing.begin(), missing.end());
    return false;
  }
  for (size_t i = 0; i < grids.size(); ++i) {
    if (!grids[i].options.checks)
      device.memory.markAccessedAsWritten();
    if (!printed[i].empty())
      launches[i].launch->options.print(printed[i]);
    fillReport(grids[i], reports[i]);
  }
  return true;
}

} // namespace

bool isExecuted(const ptx::InstructionForm &form) { return decodeTable().count(form.name); }

std::shared_ptr<LoadedModule> Device::load(const std::string &text, const std::string &name,
                                           std::vector<Diagnostic> &diagnostics) {
  ptx::ParseResult result = ptx::parse(text, name);
  diagnostics.insert(diagnostics.end(), result.diagnostics.begin(), result.diagnostics.end());
  return result.module ? load(result.module, diagnostics) : nullptr;
}

/// Limits of the GPU that PTX for \p target runs on: "sm_90" and "sm_90a" are the same. PTX for
/// unlisted GPUs runs on the first of the table.
static const hw::Limits &limitsOf(const std::string &target) {
  auto number = [](const std::string &name) {
    return name.substr(0, name.find_last_of("0123456789") + 1);
  };
  const std::vector<hw::Architecture> &all = hw::architectures();
  auto found = std::find_if(all.begin(), all.end(), [&](const hw::Architecture &gpu) {
    return gpu.limits.multiprocessors && number(gpu.name) == number(target);
  });
  return (found == all.end() ? all.front() : *found).limits;
}

/// Makes \p device the GPU that \p module is compiled for, as far as that is still open.
static void chooseLimits(Device &device, const ptx::Module &module) {
  const hw::Limits &limits = limitsOf(module.target);
  if (!device.numSms)
    device.numSms = unsigned(limits.multiprocessors);
  if (!device.maxShared)
    device.maxShared = uint32_t(limits.sharedBytesPerBlock);
}

std::shared_ptr<LoadedModule> Device::load(std::shared_ptr<const ptx::Module> module,
                                           std::vector<Diagnostic> &diagnostics) {
  chooseLimits(*this, *module);
  auto loaded = std::make_shared<LoadedModule>();
  loaded->module = module;
  for (const ptx::Variable &variable : module->variables) {
    uint64_t address = 0;
    if (variable.space != ptx::Space::Shared) {
      address = memory.allocate(variable.size, variable.name);
      if (!address) {
        diagnostics.push_back(launchError(*module, "no memory for `" + variable.name + "`"));
        return nullptr;
      }
      if (Allocation *allocation = memory.find(address))
        allocation->constant = variable.space == ptx::Space::Const;
    }
    loaded->globals.push_back(address);
  }
  for (size_t i = 0; i < module->variables.size(); ++i) {
    const ptx::Variable &variable = module->variables[i];
    if (!loaded->globals[i] || !variable.size)
      continue;
    std::vector<uint8_t> bytes(variable.size);
    std::copy(variable.init.begin(), variable.init.end(), bytes.begin());
    for (const auto &relocation : variable.relocations) {
      uint64_t value = relocation.function.empty()
                           ? loaded->globals[relocation.variable] + uint64_t(relocation.addend)
                           : functionAddress(*module, relocation.function);
      if (relocation.at + 8 <= bytes.size())
        memcpy(bytes.data() + relocation.at, &value, 8);
    }
    write(loaded->globals[i], bytes.data(), bytes.size());
  }
  return loaded;
}

bool Device::write(uint64_t address, const void *from, uint64_t size) {
  if (!size)
    return true;
  uint8_t *to = memory.host(address, size);
  if (!to)
    return false;
  memcpy(to, from, size);
  memory.markWritten(address, size);
  return true;
}

bool Device::read(uint64_t address, void *to, uint64_t size) const {
  if (!size)
    return true;
  const uint8_t *from = memory.host(address, size);
  if (!from)
    return false;
  memcpy(to, from, size);
  return true;
}

std::vector<Report> Device::launchOverlapping(const std::vector<Launch> &launches) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<Report> reports(launches.size());
  std::vector<Decoded> decoded;
  for (const Launch &each : launches) {
    // Modules that need no memory of their own may come from another device.
    chooseLimits(*this, *each.module->module);
    std::lock_guard<std::mutex> lock(each.module->mutex);
    std::shared_ptr<const Program> &slot = each.module->programs[each.kernel];
    if (!slot)
      slot = decode(each.module->module, each.kernel, each.module->globals,
                    reports[decoded.size()].findings);
    if (!slot)
      break;
    decoded.push_back({slot, &each});
  }
  // Reads of what a kernel writes later may be missing from the first run.
  std::set<const Allocation *> tracked;
  while (!decoded.empty() && !runOnce(*this, decoded, tracked, reports))
    ;
  // Of all, and counted once.
  reports[0].stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return reports;
}

Report Device::launch(LoadedModule &module, const std::string &kernel, const LaunchConfig &config,
                      const LaunchOptions &options) {
  return std::move(launchOverlapping({{&module, kernel, config, options}})[0]);
}

} // namespace penstock::emu
