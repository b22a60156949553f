//===- PredictNative.cpp - Predicted run times on CPUs --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/PredictNative.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Dialect/Tile/Locations.h"
#include "Draw/Waterfall.h"
#include "Runtime/ThreadPool.h"
#include "llvm/Support/Format.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace penstock;
using Kind = timing::NativeStep::Kind;

namespace {

/// Constants for processors that were never measured.
constexpr const char *otherwise = "graniterapids";
/// A share of the time below this is not worth a word.
constexpr double smallShare = 0.005;

std::string formatted(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

std::string describe(Kind kind) {
  switch (kind) {
  case Kind::Product:
    return "products";
  case Kind::Elements:
    return "elements";
  case Kind::Copy:
    return "copies";
  case Kind::Pack:
    break;
  }
  return "packing";
}

struct Share {
  std::string what;
  double cycles = 0;
};

/// Cycles by kind of work, largest first. What the core waits for is separate.
std::vector<Share> sharesOf(const TimedNative &timed) {
  const timing::NativePrediction &p = timed.prediction;
  std::vector<Share> shares;
  auto add = [&](const std::string &what, double cycles) {
    auto found = std::find_if(shares.begin(), shares.end(),
                              [&](const Share &share) { return share.what == what; });
    if (found == shares.end())
      shares.push_back({what, cycles});
    else
      found->cycles += cycles;
  };
  for (size_t i = 0; i < timed.work.steps.size(); ++i) {
    std::string what = describe(timed.work.steps[i].kind);
    add(what, p.ofStep[i] - p.waiting[i]);
    add("operands of " + what, p.waiting[i]);
  }
  add("blocks, launch", p.fixed);
  std::sort(shares.begin(), shares.end(), [](const Share &a, const Share &b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : a.what < b.what;
  });
  return shares;
}

/// Rates in GFLOP/s, or in GB/s of tensors for kernels without products.
struct Rate {
  double value = 0;
  const char *unit = "";
};
Rate rateOf(const TimedNative &timed) {
  double seconds = timed.prediction.seconds;
  if (timed.work.flop > 0)
    return {timed.work.flop / seconds * 1e-9, "GFLOP/s"};
  return {timed.work.tensorBytes / seconds * 1e-9, "GB/s"};
}

std::string threadsText(int64_t threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::string timeText(double seconds) {
  return seconds < 1e-3 ? formatted("%.1f us", seconds * 1e6) : formatted("%.3f ms", seconds * 1e3);
}

} // namespace

std::optional<NativeTarget> penstock::nativeTarget(Cpu level, const std::string &kernel,
                                                   const SourceLocation &location,
                                                   std::vector<penstock::Diagnostic> &diagnostics) {
  auto isa = nativeCpuFor(level, kernel, location, diagnostics);
  if (!isa)
    return std::nullopt;
  NativeTarget target;
  const hw::Cpu *known = hw::findCpu(llvm::sys::getHostCPUName().str());
  target.known = known != nullptr;
  hw::Cpu constants = known ? *known : *hw::findCpu(otherwise);
  if (!known) {
    constants.l1Bytes = isa->l1Bytes;
    constants.l2Bytes = isa->l2Bytes;
  }
  target.cpu = std::make_shared<const hw::Cpu>(std::move(constants));
  target.isa = *isa;
  target.threads = defaultThreads();
  target.options.measured = false;
  return target;
}

std::optional<NativeTarget> penstock::tabledTarget(const std::string &name) {
  const hw::Cpu *found = hw::findCpu(name);
  if (!found)
    return std::nullopt;
  NativeTarget target;
  target.cpu = std::make_shared<const hw::Cpu>(*found);
  target.isa.l1Bytes = found->l1Bytes;
  target.isa.l2Bytes = found->l2Bytes;
  target.isa.tiles = target.isa.tilesF16 = target.isa.dotBf16 = target.isa.dotI8 = true;
  target.isa.vectorBits = 512;
  target.isa.name = name;
  return target;
}

std::optional<TimedNative>
penstock::predictNativeModule(ModuleOp module, const std::string &kernel,
                              const NativeTarget &target, const Sizes &sizes,
                              std::vector<penstock::Diagnostic> &diagnostics) {
  auto function = module.lookupSymbol<func::FuncOp>(kernel);
  if (!checkSizes(function, sizes, diagnostics))
    return std::nullopt;
  auto work = nativeWork(module, kernel, sizes, target.isa, target.threads, diagnostics);
  if (!work)
    return std::nullopt;
  if (!work->unsupported.empty()) {
    penstock::Diagnostic d;
    d.code = TimingUnsupported;
    d.location = work->unsupportedAt;
    d.message = "the run time of `" + kernel + "` is not predicted: " + work->unsupported;
    diagnostics.push_back(std::move(d));
    return std::nullopt;
  }
  TimedNative timed{std::move(work->kernel), {}};
  timed.prediction = timing::predictNative(timed.work, *target.cpu, target.options);
  return timed;
}

std::string penstock::boundOf(const TimedNative &timed) { return sharesOf(timed).front().what; }

std::string penstock::renderNative(const TimedNative &timed, const NativeTarget &target,
                                   const std::vector<Suggestion> &suggestions) {
  const timing::NativePrediction &p = timed.prediction;
  Rate rate = rateOf(timed);
  std::string text = "predicted  " + formatted("%.4g", rate.value) + " " + rate.unit + " (" +
                     formatted("%.4g", rate.value / p.spread) + " to " +
                     formatted("%.4g", rate.value * p.spread) + "), " + timeText(p.seconds) +
                     " on " + threadsText(target.threads) + " of " + target.cpu->name + " at " +
                     formatted("%.2f GHz", target.cpu->clock.value) + "\n";
  std::string shares;
  for (const Share &share : sharesOf(timed))
    if (share.cycles >= smallShare * p.cycles)
      shares += (shares.empty() ? "" : ", ") + share.what + " " +
                formatted("%.0f %%", 100 * share.cycles / p.cycles);
  text += "time       " + shares + "\n";
  std::vector<size_t> order(timed.work.steps.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return p.ofStep[a] != p.ofStep[b] ? p.ofStep[a] > p.ofStep[b] : a < b;
  });
  std::string steps;
  for (size_t i : order)
    if (p.ofStep[i] >= 0.05 * p.cycles) {
      const timing::NativeStep &step = timed.work.steps[i];
      steps += (steps.empty() ? "" : "\n           ") + step.name +
               (step.line ? " (line " + std::to_string(step.line) + ")" : "") + ": " +
               formatted("%.0f %%", 100 * p.ofStep[i] / p.cycles) + ", of which " +
               formatted("%.0f %%", 100 * p.waiting[i] / p.ofStep[i]) + " for operands beyond L1";
    }
  text += "steps      " + steps + "\n";
  text += "moves      " + formatted("%.3g MB", p.l2Bytes * 1e-6) + " from L2, " +
          formatted("%.3g MB", p.l3Bytes * 1e-6) + " from L3, " +
          formatted("%.3g MB", p.memoryBytes * 1e-6) + " from memory, by one thread\n";
  std::string tries;
  for (const Suggestion &s : suggestions)
    tries += (tries.empty() ? "" : "\n           ") + ("--set " + s.change) + ": " +
             formatted("%.4g", rate.value * s.gain) + " " + rate.unit + ", then bound by " +
             s.bound;
  if (!tries.empty())
    text += "try        " + tries + "\n";
  if (!target.known)
    text += "assumes    the constants of " + target.cpu->name +
            " except for L1 and L2: this processor (" + llvm::sys::getHostCPUName().str() +
            ") was never measured\n";
  const hw::Measured &clock = target.cpu->clock;
  text += "rests on   clock " + formatted("%.4g", clock.value) + " GHz (" +
          formatted("%.4g", clock.low) + " to " + formatted("%.4g", clock.high) +
          "), microbenchmark: " + std::string(clock.source) + "\n";
  return text;
}

std::string penstock::nativeWaterfall(const TimedNative &timed, const NativeTarget &target,
                                      const std::string &title) {
  const timing::NativePrediction &p = timed.prediction;
  draw::Waterfall picture;
  Rate rate = rateOf(timed);
  picture.title = title;
  picture.subtitle = timeText(p.seconds) + " on " + threadsText(target.threads) + " of " +
                     target.cpu->name + " at " + formatted("%.2f GHz", target.cpu->clock.value);
  picture.unit = rate.unit;
  std::vector<Share> shares = sharesOf(timed);
  // The rate of the largest kind of work alone.
  picture.peak = rate.value * p.cycles / shares.front().cycles;
  for (const Share &share : llvm::drop_begin(shares))
    if (share.cycles >= smallShare / 5 * p.cycles)
      picture.losses.push_back({share.what, share.cycles / p.cycles});
  picture.low = rate.value / p.spread;
  picture.high = rate.value * p.spread;
  return draw::toSvg(picture);
}

std::string penstock::nativeJson(const TimedNative &timed, const NativeTarget &target,
                                 const std::vector<Suggestion> &suggestions) {
  const timing::NativePrediction &p = timed.prediction;
  Rate rate = rateOf(timed);
  JsonObject json;
  json.text("cpu", target.cpu->name)
      .text("assumption", target.known ? "" : "constants of " + target.cpu->name)
      .number("threads", target.threads)
      .number("seconds", p.seconds)
      .number("low", p.seconds / p.spread)
      .number("high", p.seconds * p.spread)
      .number("rate", rate.value)
      .text("unit", rate.unit)
      .number("gigahertz", target.cpu->clock.value)
      .number("l2Bytes", p.l2Bytes)
      .number("l3Bytes", p.l3Bytes)
      .number("memoryBytes", p.memoryBytes);
  json.json(
      "shares", jsonArray(sharesOf(timed), [&](const Share &share) {
        return JsonObject().text("what", share.what).number("share", share.cycles / p.cycles).str();
      }));
  json.json("suggestions", jsonArray(suggestions, [](const Suggestion &s) {
              return JsonObject()
                  .text("change", s.change)
                  .number("gain", s.gain)
                  .text("boundBy", s.bound)
                  .str();
            }));
  json.json("constants", constantsJson(hw::cpuConstants(), *target.cpu));
  return json.str();
}
