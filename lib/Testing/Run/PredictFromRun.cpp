//===- PredictFromRun.cpp - Run times from the PTX of one block -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tile programs of one group of warps have no roles for the event model, and in attention,
// warpgroups drift apart until one multiplies under the softmax of another one, which that model
// does not know. Their PTX runs on the emulator's clock instead, the first block of the grid, and
// the chip model fills its SMs with such blocks. Every tensor moves between HBM and the SMs once,
// or more often if the blocks together ask for more.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Draw/Waterfall.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Timing/Block.h"
#include "Timing/Emulated/ChipPace.h"
#include "Timing/Predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace penstock;

namespace {

/// Registers of a thread where the assembler chooses: no figure without it.
constexpr int64_t assumedRegisters = 64;
/// Tensors of more bytes are not made for a run of one block.
constexpr double mostBytes = double(int64_t(4) << 30);
/// rms error of cycles of PTX: it is not machine code, and bank conflicts are not counted.
/// No published rows of such kernels hold it.
constexpr double ptxError = 0.15;
constexpr double ninetyPercent = 1.645;
constexpr int draws = 32;
/// Smaller shares of the time are not told.
constexpr double smallShare = 0.005;

std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string timeText(double seconds) {
  return seconds < 1e-3 ? formatted("%.1f us", seconds * 1e6) : formatted("%.3f ms", seconds * 1e3);
}

/// The busiest unit of an SM, and what to call it.
struct Busiest {
  double cycles = 0;
  timing::Engine engine = timing::Engine::Cuda;
  const char *name = "issue slots";
};

Busiest busiestOf(const emu::PacedTotals &all) {
  using emu::Unit;
  Busiest found{all.issue};
  auto consider = [&](double cycles, timing::Engine engine, const char *name) {
    if (cycles > found.cycles)
      found = {cycles, engine, name};
  };
  auto unit = [&](Unit which) { return all.units[unsigned(which)]; };
  consider(unit(Unit::Fma), timing::Engine::Cuda, "multiply-adds");
  consider(unit(Unit::Alu), timing::Engine::Cuda, "integers and comparisons");
  consider(unit(Unit::Special), timing::Engine::Sfu, "exponentials");
  consider(unit(Unit::Matrix), timing::Engine::Tensor, "the tensor core");
  consider(unit(Unit::Shared), timing::Engine::Cuda, "shared memory");
  consider(unit(Unit::Global), timing::Engine::Cuda, "the path to global memory");
  consider(all.tensor, timing::Engine::Tensor, "the tensor core");
  consider(all.tma, timing::Engine::Cuda, "TMA");
  return found;
}

/// Cycles in which the tensor core makes these multiply-adds of 16 bits, in its best shape.
double bestCycles(const hw::Chip &chip, double multiplyAdds) {
  constexpr int64_t rows = 128, columns = 256, depth = 64, bytes = 2;
  double busy = chip.architecture->products(rows, columns, depth, bytes, 1).busy;
  return multiplyAdds / double(rows * columns * depth) * busy;
}

/// Shares of the time, from the peak on: what products need in the best shape, and each loss.
std::vector<timing::Loss> lossesOf(const timing::Prediction &p, const hw::Chip &chip,
                                   const emu::PacedTotals &block, double blocks) {
  double whole = p.seconds * chip.boost.value * 1e9;
  double perSm = blocks / double(chip.architecture->limits.multiprocessors);
  double best = bestCycles(chip, block.multiplyAdds) * perSm / whole;
  double products = std::max(best, block.tensor * perSm / whole), rest = 1 - products;
  std::vector<timing::Loss> losses = {{"products", best}, {"shapes of products", products - best}};
  for (const timing::Loss &loss : p.waterfall)
    if (loss.what == "clock" || loss.what == "last wave" || loss.what == "launch") {
      losses.push_back(loss);
      rest -= loss.share;
    }
  losses.insert(losses.begin() + 2, {"other work, waits", std::max(0.0, rest)});
  return losses;
}

std::string waterfallOf(const std::vector<timing::Loss> &losses, const PredictedRun &run,
                        double gigahertz, const hw::Chip &chip, const std::string &kernel) {
  draw::Waterfall picture;
  picture.title = kernel;
  picture.subtitle = timeText(run.seconds) + " at " + formatted("%.2f GHz", gigahertz) + " on " +
                     chip.name + "; peak at " + formatted("%.3f GHz", chip.boost.value);
  picture.unit = "TFLOP/s";
  picture.peak = run.tflops / losses.front().share;
  for (size_t i = 1; i < losses.size(); ++i)
    if (losses[i].share >= smallShare / 5)
      picture.losses.push_back({losses[i].what, losses[i].share});
  picture.low = run.low;
  picture.high = run.high;
  return draw::toSvg(picture);
}

double tensorBytes(const MadeArguments &made) {
  double bytes = 0;
  for (const auto &memory : made.memory)
    bytes += double(memory.size());
  return bytes;
}

/// Bytes of the tensors of a shape, before memory for them is allocated: too many are an error.
bool fits(const KernelUnderTest &tested, const Shape &shape, std::vector<Diagnostic> &diagnostics) {
  double bytes = 0;
  for (const ArgumentDescription &argument : tested.arguments) {
    double size = 8;
    for (const std::string &name : argument.sizes)
      for (const auto &[known, value] : shape)
        if (known == name)
          size *= std::max(1.0, double(value.value));
    bytes += size;
  }
  if (bytes <= 2 * mostBytes)
    return true;
  Diagnostic d;
  d.code = TimingUnsupported;
  d.message = "the run time of `" + tested.name +
              "` is not predicted: it is that of a run of its PTX, and tensors of the shape take "
              "more than 4 GB";
  d.helps.push_back("predict a smaller shape; the time of many equal blocks is proportional");
  diagnostics.push_back(std::move(d));
  return false;
}

} // namespace

PredictedRun penstock::predict_from_run(const std::string &kernel, const std::string &architecture,
                                        const Shape &shape, const InspectOptions &options,
                                        std::vector<Diagnostic> &diagnostics) {
  const hw::Chip *chip = hw::findChip(architecture);
  if (!chip) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = "run times are not predicted for `" + architecture + "`";
    d.helps.push_back("sm_90a (H100) and sm_100a (B200) are known");
    diagnostics.push_back(std::move(d));
    return {};
  }
  double factor = 0;
  if (!options.machine.empty()) {
    factor = machine_factor(options.machine, chip->name, diagnostics);
    if (factor == 0)
      return {};
  }
  Target target = architecture == "sm_90a" ? Target::sm_90a() : Target::sm_100a();
  auto tested =
      compileRegistered(kernel, target, options.set, diagnostics, options.compile.contract);
  if (!tested || !fits(*tested, shape, diagnostics))
    return {};
  MadeArguments made = make_arguments(tested->arguments, shape, Data::Random, 1);
  if (!made.diagnostics.empty()) {
    diagnostics.insert(diagnostics.end(), made.diagnostics.begin(), made.diagnostics.end());
    return {};
  }
  auto wrong = checkArguments(tested->info, made.arguments, tested->info.location);
  if (!wrong.empty()) {
    diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
    return {};
  }
  const EmulatedKernel &variant = variantFor(tested->variants, made.arguments);
  ChipPace pace(*chip);
  emu::LaunchOptions launch;
  launch.timing = emu::Timing::Paced;
  launch.pace = &pace;
  launch.threads = 1;
  launch.checks = false;
  launch.onlyTraced = true;
  std::vector<emu::PacedTotals> totals;
  launch.onTotals = [&](const emu::PacedTotals &all) { totals.push_back(all); };
  launch.print = [](const std::string &) {};
  emu::Report report = launchEmulated(variant, tested->info, made.arguments, launch);
  if (!report.findings.empty()) { // it may wait for others
    launch.onlyTraced = false;
    totals.clear();
    report = launchEmulated(variant, tested->info, made.arguments, launch);
  }
  if (!report.findings.empty() || totals.empty()) {
    diagnostics.insert(diagnostics.end(), report.findings.begin(), report.findings.end());
    return {};
  }

  Busiest busiest = busiestOf(totals[0]);
  timing::BlockRun block;
  block.cycles = totals[0].cycles;
  block.busy = busiest.cycles;
  block.busiest = busiest.engine;
  block.tensor = std::max(totals[0].tensor, totals[0].units[unsigned(emu::Unit::Matrix)]);
  block.blocks = double(report.stats.blocks);
  double asked =
      totals[0].units[unsigned(emu::Unit::Global)] * chip->streamRate.value * block.blocks;
  block.bytes = std::max(tensorBytes(made), asked);
  // Boxes that several blocks copy come from the L2 cache, as far as it goes.
  block.asked = asked + totals[0].copied * block.blocks;
  block.needs.threads = variant.kernel.threads;
  block.needs.registers = variant.kernel.registers ? variant.kernel.registers : assumedRegisters;
  block.needs.sharedBytes = variant.kernel.sharedBytes;
  block.needs.tensorColumns = totals[0].tensorColumns;
  timing::PredictOptions how;
  how.draws = draws;
  if (factor > 0) {
    how.machine.emplace();
    how.machine->time = factor;
  }
  timing::Prediction p = timing::predict(timing::blockKernel(block), *chip, how);
  // Independent errors. std::hypot would need glibc 2.35.
  double modelError = std::log(p.spread), runError = ninetyPercent * ptxError;
  double spread = std::exp(std::sqrt(modelError * modelError + runError * runError));
  double rate = block.bytes / p.seconds * 1e-9;

  PredictedRun run;
  run.chip = chip->name;
  run.seconds = p.seconds;
  double multiplyAdds = totals[0].multiplyAdds * block.blocks;
  run.tflops = 2 * multiplyAdds / p.seconds * 1e-12;
  run.low = run.tflops / spread;
  run.high = run.tflops * spread;
  bool multiplies = multiplyAdds > 0;
  double told = multiplies ? run.tflops : rate;
  run.text = "predicted  " + formatted("%.0f", told) + (multiplies ? " TFLOP/s (" : " GB/s (") +
             formatted("%.0f", told / spread) + " to " + formatted("%.0f", told * spread) + "), " +
             timeText(p.seconds) + " at " + formatted("%.2f GHz", p.gigahertz) + " on " +
             chip->name + "\n";
  bool memory = p.bound().of == timing::Bound::Hbm || p.bound().of == timing::Bound::Fabric;
  run.text += "bound by   ";
  if (memory)
    run.text += std::string(p.bound().of == timing::Bound::Fabric ? "the fabric from L2"
                                                                  : describe(p.bound().of)) +
                ": " +
                formatted("%.2f GB", (p.bound().of == timing::Bound::Fabric
                                          ? std::max(block.bytes, block.asked)
                                          : block.bytes) *
                                         1e-9) +
                "\n";
  else if (p.bound().of == timing::Bound::Latency || p.bound().of == timing::Bound::Fixed)
    run.text += "latency: a block waits, and its SM has too few other blocks to run meanwhile\n";
  else
    run.text += std::string(busiest.name) + ": " + formatted("%.0f", busiest.cycles) +
                " cycles of each block\n";
  if (multiplies) {
    std::vector<timing::Loss> losses = lossesOf(p, *chip, totals[0], block.blocks);
    std::string shares;
    for (const timing::Loss &loss : losses)
      if (loss.share >= smallShare)
        shares +=
            (shares.empty() ? "" : ", ") + loss.what + " " + formatted("%.0f %%", 100 * loss.share);
    run.text += "time       " + shares + "\n";
    run.waterfall = waterfallOf(losses, run, p.gigahertz, *chip, kernel);
  }
  run.text += "block      " + formatted("%.0f", block.cycles) +
              " cycles alone on an SM; busiest: " + busiest.name + ", " +
              formatted("%.0f", busiest.cycles) + "\n";
  run.text += "blocks     " + std::to_string(p.occupancy.blocks) + " per SM (limited by " +
              std::string(p.occupancy.limit) + "), " + formatted("%.2f", p.waves) + " waves\n";
  if (memory)
    run.text += "try        fewer bytes: narrower elements, or one kernel with its neighbors\n";
  else if (p.bound().of == timing::Bound::Latency || p.bound().of == timing::Bound::Fixed)
    run.text += "try        more blocks per SM (now limited by " + std::string(p.occupancy.limit) +
                "), or more independent work in a block\n";
  run.text += "from       a run of the PTX of one block on the emulator; registers of a thread: " +
              std::to_string(block.needs.registers) +
              (variant.kernel.registers ? "" : ", assumed") + "\n";
  if (factor > 0)
    run.text += "machine    " + options.machine + ": runs take " + formatted("%.3g", factor) +
                " times as long as the model says\n";
  run.json = JsonObject()
                 .text("chip", chip->name)
                 .number("seconds", p.seconds)
                 .number("low", p.seconds / spread)
                 .number("high", p.seconds * spread)
                 .number("gigabytesPerSecond", rate)
                 .number("tflops", run.tflops)
                 .number("gigahertz", p.gigahertz)
                 .number("blockCycles", block.cycles)
                 .number("busyCycles", block.busy)
                 .text("busiest", busiest.name)
                 .number("blocksPerSm", p.occupancy.blocks)
                 .number("waves", p.waves)
                 .text("boundBy", memory ? std::string(describe(p.bound().of)) : busiest.name)
                 .str();
  return run;
}
