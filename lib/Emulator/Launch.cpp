//===- Launch.cpp - Running kernels on the emulator -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Launch.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Decoder.h"
#include "Emulator/Machine.h"
#include "Hardware/Architecture.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace penstock::emu {
namespace {

Diagnostic launchError(const ptx::Module &module, std::string message) {
  Diagnostic d;
  d.code = EmuBadLaunch;
  d.location = module.location(0);
  d.message = std::move(message);
  return d;
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

/// Clusters that do not talk to each other: each host thread takes the next.
void runParallel(Grid &grid) {
  unsigned threads = grid.options.threads ? grid.options.threads
                                          : std::max(1u, std::thread::hardware_concurrency());
  threads = std::min(threads, grid.numClusters);
  std::atomic<uint32_t> next{0};
  auto work = [&] {
    while (!grid.abort.load(std::memory_order_relaxed)) {
      uint32_t index = next.fetch_add(1);
      if (index >= grid.numClusters)
        return;
      Cluster cluster;
      cluster.grid = &grid;
      cluster.index = index;
      cluster.start();
      cluster.run(false);
    }
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
}

/// Clusters that may wait for each other take turns on this thread. As many are
/// resident as the device has room for.
void runSerial(Grid &grid) {
  uint32_t room = std::max(1u, grid.device->numSms / grid.ctasPerCluster);
  // Launch control is only of use if some clusters have to wait.
  if (grid.program->usesLaunchControl)
    room = std::min(room, std::max(1u, grid.numClusters / 3));
  std::vector<std::unique_ptr<Cluster>> resident;
  // A starved warp gets its turn when no cluster has anything else to do.
  bool starving = grid.options.starvedWarp >= 0;
  grid.onlyOthers = starving;
  while (!grid.abort) {
    while (resident.size() < room) {
      uint32_t index;
      {
        std::lock_guard<std::mutex> lock(grid.launchMutex);
        if (grid.nextCluster >= grid.numClusters)
          break;
        index = grid.nextCluster++;
      }
      auto cluster = std::make_unique<Cluster>();
      cluster->grid = &grid;
      cluster->index = index;
      cluster->start();
      resident.push_back(std::move(cluster));
    }
    if (resident.empty())
      return;
    bool worked = false;
    for (size_t i = 0; i < resident.size();) {
      uint64_t before = resident[i]->instructions + resident[i]->progress;
      resident[i]->run(true);
      worked |= resident[i]->instructions + resident[i]->progress != before;
      if (resident[i]->finished)
        resident.erase(resident.begin() + int64_t(i));
      else
        ++i;
    }
    grid.onlyOthers = starving && worked;
  }
}

/// Runs a launch. False if it has to be run once more, with records of all accesses to more
/// allocations, which are added to \p tracked.
bool runOnce(Device &device, const std::shared_ptr<const Program> &program,
             const LaunchConfig &config, const LaunchOptions &options,
             std::set<const Allocation *> &tracked, Report &report) {
  Grid grid;
  grid.program = program.get();
  grid.device = &device;
  grid.config = config;
  grid.options = options;
  grid.findings.limit = options.maxFindings;
  if (!prepare(grid, report))
    return true;
  grid.findings.program = program.get();
  grid.findings.blocks = uint64_t(grid.numClusters) * grid.ctasPerCluster;
  grid.ops.resize(grid.numClusters);
  // Listeners would see two runs.
  bool trackAll = options.onBarrier || options.onTrace;
  if (options.checks)
    for (Allocation *allocation : device.memory.all())
      grid.globals.add(*allocation, trackAll || tracked.count(allocation));
  std::string printed;
  if (options.checks && options.print)
    grid.options.print = [&](const std::string &text) { printed += text; };
  if (program->crossCta)
    runSerial(grid);
  else
    runParallel(grid);
  if (!options.checks)
    device.memory.markAccessedAsWritten();
  if (std::set<const Allocation *> missing = grid.globals.incomplete(); !missing.empty()) {
    grid.globals.restore();
    tracked.insert(missing.begin(), missing.end());
    return false;
  }
  if (!printed.empty())
    options.print(printed);
  report.sites = grid.findings.takeSites();
  report.findings = grid.findings.take(timingName(options, grid.warpsPerCta));
  report.completed = !grid.abort;
  report.stats.instructions = grid.instructions;
  report.stats.spent = grid.spent;
  for (auto &ops : grid.ops)
    report.stats.asyncOps += ops.size();
  report.stats.blocks = uint64_t(grid.numClusters) * grid.ctasPerCluster;
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

/// SMs of the GPU that PTX for \p target runs on: "sm_90" and "sm_90a" are the same. PTX for
/// unlisted GPUs runs on the first of the table.
static unsigned numSmsOf(const std::string &target) {
  auto number = [](const std::string &name) {
    return name.substr(0, name.find_last_of("0123456789") + 1);
  };
  const std::vector<hw::Architecture> &all = hw::architectures();
  auto found = std::find_if(all.begin(), all.end(), [&](const hw::Architecture &gpu) {
    return gpu.limits.multiprocessors && number(gpu.name) == number(target);
  });
  return unsigned((found == all.end() ? all.front() : *found).limits.multiprocessors);
}

std::shared_ptr<LoadedModule> Device::load(std::shared_ptr<const ptx::Module> module,
                                           std::vector<Diagnostic> &diagnostics) {
  if (!numSms)
    numSms = numSmsOf(module->target);
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
      uint64_t value = loaded->globals[relocation.variable] + uint64_t(relocation.addend);
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

Report Device::launch(LoadedModule &module, const std::string &kernel, const LaunchConfig &config,
                      const LaunchOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  Report report;
  std::shared_ptr<const Program> program;
  {
    std::lock_guard<std::mutex> lock(module.mutex);
    std::shared_ptr<const Program> &slot = module.programs[kernel];
    if (!slot)
      slot = decode(module.module, kernel, module.globals, report.findings);
    program = slot;
  }
  if (!program)
    return report;
  // Reads of what a kernel writes later may be missing from the first run.
  std::set<const Allocation *> tracked;
  while (!runOnce(*this, program, config, options, tracked, report))
    ;
  report.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

} // namespace penstock::emu
