//===- ExplainTiming.cpp - Predicted run times of kernels -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/ExplainTiming.h"
#include "Analysis/Loop/TileMemory.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/Signature.h"
#include "Dialect/Tile/TileDialect.h"
#include "Draw/Waterfall.h"
#include "Explain/ExplainRoles.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace penstock;

namespace {

using timing::Bound;

/// A loss below this share of the time is not worth a word.
constexpr double smallShare = 0.005;

std::string formatted(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}
std::string whole(double value) { return formatted(value < 10 ? "%.2g" : "%.0f", value); }
std::string percent(double share) { return formatted("%.0f %%", 100 * share); }

std::string lineOf(const SourceLocation &at) {
  if (at.line == 0)
    return "";
  return " (" + at.file.substr(at.file.find_last_of('/') + 1) + ":" + std::to_string(at.line) + ")";
}

std::string timeText(double seconds) {
  return seconds < 1e-3 ? formatted("%.1f us", seconds * 1e6) : formatted("%.3f ms", seconds * 1e3);
}

/// Returns the bottleneck of the kernel, as a sentence.
std::string boundText(const TimedKernel &timed, const hw::Chip &chip) {
  const timing::Prediction &p = timed.prediction;
  const KernelWork &work = timed.work;
  double perSm = chip.fabric.value / double(chip.architecture->limits.multiprocessors);
  std::string bytes = whole(work.loadBytes) + " bytes per block and iteration";
  switch (p.bound().of) {
  case Bound::Tensor:
    return "the tensor core: its MMAs take " + whole(p.bound().cycles) + " cycles per iteration" +
           lineOf(work.productAt);
  case Bound::Load:
    return "TMA: it moves " + bytes + lineOf(work.loadAt);
  case Bound::Latency: {
    std::string text = "latency: MMAs wait for loads of " + bytes + lineOf(work.loadAt);
    if (work.stages)
      text += "; ring " + work.ring + ": " + std::to_string(work.stages) +
              (work.stages == 1 ? " slot" : " slots");
    return text;
  }
  case Bound::Cuda:
    return "general cores: elementwise work and conversions take " + whole(p.bound().cycles) +
           " cycles per iteration";
  case Bound::Sfu:
    return "exponentials: 16 per cycle and SM";
  case Bound::Fabric:
    return "the fabric from L2: " + bytes + lineOf(work.loadAt) + ", " +
           whole(perSm / p.gigahertz) + " bytes per cycle and SM";
  case Bound::Hbm:
    return "HBM: " + formatted("%.2f GB", p.hbmBytes * 1e-9) + ", L2 hit rate " + percent(p.l2Hit);
  case Bound::Fixed:
    return "prologue and epilogue: " + whole(p.fixedCycles) + " cycles of each tile";
  case Bound::Spills:
    return "spills: the accumulators exceed the registers" + lineOf(work.productAt);
  }
  return "";
}

std::string intervalText(const timing::Prediction &p) {
  std::string text = whole(p.interval) + " cycles per iteration and SM:";
  const char *separator = " ";
  for (const Bound &bound : p.bounds) {
    if (bound.cycles < 1 || bound.of == Bound::Fixed)
      continue;
    text += separator + std::string(describe(bound.of)) + " " + whole(bound.cycles);
    separator = ", ";
  }
  return text;
}

/// The constants that the binding resource rests on.
std::vector<const hw::ChipConstant *> constantsOf(Bound::Of of) {
  std::vector<std::string_view> names = {"clock under power"};
  switch (of) {
  case Bound::Tensor:
    names = {"clock under power", "clock slope"};
    break;
  case Bound::Fabric:
    names = {"fabric", "bound exponent"};
    break;
  case Bound::Hbm:
    names = {"HBM", "usable L2"};
    break;
  case Bound::Latency:
    names = {"load latency", "load rate", "barrier"};
    break;
  case Bound::Load:
    names = {"row", "copy", "stream rate"};
    break;
  case Bound::Fixed:
    names = {"block start", "load latency", "bulk store"};
    break;
  case Bound::Sfu:
    names = {"exponentials"};
    break;
  case Bound::Cuda:
    names = {"f32 lanes", "warp issue"};
    break;
  case Bound::Spills:
    names = {"spills"};
    break;
  }
  std::vector<const hw::ChipConstant *> found;
  for (const hw::ChipConstant &constant : hw::chipConstants())
    if (llvm::is_contained(names, constant.name))
      found.push_back(&constant);
  return found;
}

std::string restsOn(const timing::Prediction &p, const hw::Chip &chip) {
  std::string text;
  for (const hw::ChipConstant *constant : constantsOf(p.bound().of)) {
    const hw::Measured &m = chip.*constant->member;
    text += (text.empty() ? "" : "\n           ") + std::string(constant->name) + " " +
            formatted("%.4g", m.value) + (constant->unit.empty() ? "" : " ") +
            std::string(constant->unit) + " (" + formatted("%.4g", m.low) + " to " +
            formatted("%.4g", m.high) + "), " + std::string(describe(m.by)) + ": " +
            std::string(m.source);
  }
  return text;
}

std::string waitsText(const TimedKernel &timed) {
  std::string text;
  int shown = 0;
  for (const timing::ProtocolWait &wait : timed.prediction.waits) {
    if (shown == 3 || wait.cycles < 0.05 * timed.prediction.interval)
      break;
    const auto &source = timed.work.kernel.protocol->protocol.sources[wait.source];
    text += (text.empty() ? "" : "\n           ") + timed.work.roles[wait.role] + ": " +
            whole(wait.cycles) + " cycles per iteration at `" + source.name + "`" +
            lineOf(source.location);
    ++shown;
  }
  return text;
}

} // namespace

bool penstock::checkSizes(func::FuncOp function, const Sizes &sizes,
                          std::vector<penstock::Diagnostic> &diagnostics) {
  penstock::Diagnostic d;
  d.location = tile::sourceLocationOf(function.getLoc());
  auto text = function->getAttrOfType<StringAttr>(tile::TileDialect::signatureAttr);
  std::vector<std::string> names, scalars;
  if (text)
    for (const SignatureArgument &argument : parseSignature(text.getValue()).arguments) {
      if (!argument.tensor)
        scalars.push_back(argument.name);
      for (const std::string &size : argument.sizes)
        if (!llvm::is_contained(names, size) && !isdigit(size.front()))
          names.push_back(size);
    }
  std::string missing;
  for (const std::string &name : names)
    if (!sizes.contains(name))
      missing += (missing.empty() ? "`" : ", `") + name + "`";
  for (const auto &[name, value] : text ? sizes : Sizes()) {
    if ((llvm::is_contained(names, name) && value >= 1) || llvm::is_contained(scalars, name))
      continue;
    d.code = TimingSizes;
    d.message = value < 1 ? "size `" + name + "` must be at least 1"
                          : "`" + function.getName().str() + "` has no size `" + name + "`";
    diagnostics.push_back(d);
    return false;
  }
  if (text && missing.empty())
    return true;
  d.code = TimingSizes;
  d.message = text ? "the run time of `" + function.getName().str() + "` depends on " + missing +
                         ", which the shape does not give"
                   : "`" + function.getName().str() +
                         "` has no signature, so that its sizes cannot be given";
  d.helps.push_back(text ? "give every size: --shape SIZE=NUMBER,.."
                         : "add a signature such as \"A[M,K], B[N,K] -> C[M,N]\"");
  diagnostics.push_back(d);
  return false;
}

std::optional<TimedKernel> penstock::predictModule(ModuleOp module, const std::string &kernel,
                                                   const hw::Chip &chip, const Sizes &sizes,
                                                   int draws,
                                                   std::vector<penstock::Diagnostic> &diagnostics,
                                                   double factor) {
  auto original = module.lookupSymbol<func::FuncOp>(kernel);
  if (!checkSizes(original, sizes, diagnostics))
    return std::nullopt;
  auto refuse = [&](SourceLocation at, const std::string &why) {
    penstock::Diagnostic d;
    d.code = TimingUnsupported;
    d.location = std::move(at);
    d.message = "the run time of `" + kernel + "` is not predicted: " + why;
    diagnostics.push_back(std::move(d));
    return std::nullopt;
  };
  {
    tile::DiagnosticCollector collector(module.getContext(), diagnostics, InternalError);
    if (failed(nv::checkArchitecture(original, *chip.architecture)))
      return std::nullopt;
  }
  if (auto wrong = checkTileMemory(original, *chip.architecture); !wrong.empty()) {
    diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
    return std::nullopt;
  }
  OwningOpRef<ModuleOp> copy(module.clone());
  std::vector<penstock::Diagnostic> reasons;
  if (!lowerToRoles(*copy, kernel, *chip.architecture, reasons)) {
    diagnostics.insert(diagnostics.end(), reasons.begin(), reasons.end());
    return std::nullopt;
  }
  auto function = copy->lookupSymbol<func::FuncOp>(kernel);
  bool roles = false;
  function.walk([&](nv::WarpsOp warps) { roles |= warps->hasAttr(nv::NVDialect::roleAttr); });
  if (function->hasAttr(nv::NVDialect::tileProgramAttr) && !roles) {
    refuse(tile::sourceLocationOf(original.getLoc()),
           "one group of warps executes all statements; only warp-specialized and explicit "
           "kernels are modeled");
    diagnostics.back().helps.push_back(
        "a run of its PTX predicts it: `penstock explain` for a kernel of a library, or "
        "penstock::predict_from_run");
    diagnostics.back().facts = {{neededRun, kernel}};
    return std::nullopt;
  }
  TimedKernel timed{kernelWork(function, sizes, chip), {}};
  if (!timed.work.unsupported.empty())
    return refuse(timed.work.unsupportedAt, timed.work.unsupported);
  timing::PredictOptions options;
  options.draws = draws;
  if (factor > 0) {
    options.machine.emplace();
    options.machine->time = factor;
  }
  timed.prediction = timing::predict(timed.work.kernel, chip, options);
  return timed;
}

std::string penstock::renderTiming(const TimedKernel &timed, const hw::Chip &chip,
                                   const std::vector<Suggestion> &suggestions) {
  const timing::Prediction &p = timed.prediction;
  std::string text = "predicted  " + whole(p.tflops) + " TFLOP/s (" + whole(p.low) + " to " +
                     whole(p.high) + "), " + timeText(p.seconds) + " at " +
                     formatted("%.2f GHz", p.gigahertz) + " on " + chip.name + "\n";
  text += "bound by   " + boundText(timed, chip) + "\n";
  text += "interval   " + intervalText(p) + "\n";
  std::string shares;
  for (const timing::Loss &loss : p.waterfall)
    if (loss.share >= smallShare)
      shares += (shares.empty() ? "" : ", ") + loss.what + " " + percent(loss.share);
  text += "time       " + shares + "\n";
  if (std::string waits = waitsText(timed); !waits.empty())
    text += "waits      " + waits + "\n";
  text += "blocks     " + std::to_string(p.occupancy.blocks) + " per SM (limited by " +
          std::string(p.occupancy.limit) + "), " + formatted("%.2f", p.waves) +
          " waves, L2 hit rate " + percent(p.l2Hit) + "\n";
  std::string tries;
  for (const Suggestion &s : suggestions)
    tries += (tries.empty() ? "" : "\n           ") + ("--set " + s.change) + ": " +
             whole(p.tflops * s.gain) + " TFLOP/s, then bound by " + s.bound;
  if (!tries.empty())
    text += "try        " + tries + "\n";
  if (!timed.work.assumption.empty())
    text += "assumes    " + timed.work.assumption + "\n";
  text += "rests on   " + restsOn(p, chip) + "\n";
  return text;
}

std::string penstock::timingWaterfall(const TimedKernel &timed, const hw::Chip &chip,
                                      const std::string &title) {
  const timing::Prediction &p = timed.prediction;
  draw::Waterfall picture;
  picture.title = title;
  picture.subtitle = timeText(p.seconds) + " at " + formatted("%.2f GHz", p.gigahertz) + " on " +
                     chip.name + "; peak at " + formatted("%.3f GHz", chip.boost.value);
  picture.unit = "TFLOP/s";
  // The first share is the tensor core's: all of it at the highest clock is the peak.
  double useful = p.waterfall.front().share;
  picture.peak = useful > 0 ? p.tflops / useful : 0;
  for (const timing::Loss &loss : llvm::drop_begin(p.waterfall))
    if (loss.share >= smallShare / 5)
      picture.losses.push_back({loss.what, loss.share});
  picture.low = p.low;
  picture.high = p.high;
  return draw::toSvg(picture);
}

std::string penstock::timingJson(const TimedKernel &timed, const hw::Chip &chip,
                                 const std::vector<Suggestion> &suggestions) {
  const timing::Prediction &p = timed.prediction;
  JsonObject json;
  json.text("chip", chip.name)
      .number("seconds", p.seconds)
      .number("tflops", p.tflops)
      .number("low", p.low)
      .number("high", p.high)
      .number("gigahertz", p.gigahertz)
      .number("interval", p.interval)
      .number("utilization", p.utilization)
      .number("blocksPerSm", p.occupancy.blocks)
      .number("waves", p.waves)
      .number("l2Hit", p.l2Hit)
      .number("hbmBytes", p.hbmBytes)
      .text("boundBy", std::string(describe(p.bound().of)))
      .text("assumption", timed.work.assumption);
  json.json("bounds", jsonArray(p.bounds, [](const Bound &bound) {
              return JsonObject()
                  .text("of", std::string(describe(bound.of)))
                  .number("cycles", bound.cycles)
                  .str();
            }));
  json.json("waterfall", jsonArray(p.waterfall, [](const timing::Loss &loss) {
              return JsonObject().text("what", loss.what).number("share", loss.share).str();
            }));
  json.json("waits", jsonArray(p.waits, [&](const timing::ProtocolWait &wait) {
              const auto &source = timed.work.kernel.protocol->protocol.sources[wait.source];
              return JsonObject()
                  .text("role", timed.work.roles[wait.role])
                  .text("at", source.name)
                  .text("file", source.location.file)
                  .number("line", source.location.line)
                  .number("cycles", wait.cycles)
                  .str();
            }));
  json.json("suggestions", jsonArray(suggestions, [&](const Suggestion &s) {
              return JsonObject()
                  .text("change", s.change)
                  .number("tflops", p.tflops * s.gain)
                  .text("boundBy", s.bound)
                  .str();
            }));
  json.json("constants", constantsJson(hw::chipConstants(), chip));
  return json.str();
}
