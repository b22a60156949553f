//===- Predict.cpp - Run time of a kernel on a chip -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Predict.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace penstock::timing {
namespace {

/// Steps of the fixed point of clock and time.
constexpr int clockSteps = 4;
constexpr double sameClock = 1e-3;
/// Sharpness of the maximum of a loop and the epilogue beside it.
constexpr double overlapExponent = 8;

/// A smooth maximum: bounds of similar size slow each other.
double softMax(double exponent, std::initializer_list<double> values) {
  double most = std::max(values);
  if (most <= 0)
    return 0;
  double sum = 0;
  for (double v : values)
    sum += std::pow(v / most, exponent);
  return most * std::pow(sum, 1 / exponent);
}

/// One SM, from the loop or the protocol of a kernel.
struct SmTimes {
  double interval = 0;
  double fill = 0;    ///< until the first product
  double drain = 0;   ///< after the last iteration
  double perTile = 0; ///< of a further tile of a persistent block, beyond its iterations
  double busy[numEngines] = {};
  std::vector<ProtocolWait> waits;

  SmTimes(const Kernel &kernel, const hw::Chip &chip, const Conditions &at) {
    if (kernel.protocol) {
      // KernelWork refuses protocols that do not end.
      ProtocolTimes times = timesOf(*kernel.protocol, chip, at).value_or(ProtocolTimes{});
      interval = times.interval;
      fill = times.fill;
      drain = std::max(0.0, times.drain - interval);
      perTile = times.perTile;
      std::copy(std::begin(times.busy), std::end(times.busy), busy);
      waits = std::move(times.waits);
      return;
    }
    Steady steady = steadyState(kernel.loop, chip, at);
    interval = steady.interval;
    fill = steady.fill;
    double tail = 0;
    for (const Op &op : kernel.loop.ops) {
      busy[size_t(op.engine)] += timesOf(op, chip, at).busy;
      tail = std::max(tail, op.tail);
    }
    drain = kernel.epilogueCycles + tail;
    perTile = kernel.epilogueCycles;
  }
  double of(Engine engine) const { return busy[size_t(engine)]; }
  double most() const { return *std::max_element(std::begin(busy), std::end(busy)); }
  double compute() const { return std::max({of(Engine::Tensor), of(Engine::Sfu)}); }
};

class Predictor {
public:
  Predictor(const Kernel &kernel, const hw::Chip &chip, const PredictOptions &options)
      : kernel(kernel), chip(chip), options(options), p(chip.boundExponent.value),
        sms(double(chip.architecture->limits.multiprocessors)) {}

  Prediction run() {
    Prediction r;
    r.occupancy = kernel.persistent && !kernel.needs.fixed ? Occupancy{1, "its persistent grid"}
                                                           : occupancyOf(kernel.needs, chip);
    blocks = double(r.occupancy.blocks);
    int64_t pair = kernel.blocksPerTile;
    int64_t slots = int64_t(sms) / pair * pair * r.occupancy.blocks;
    tiles = double(kernel.raster.tilesM * kernel.raster.tilesN);
    Traffic traffic =
        trafficOf(kernel.raster, slots / pair, chip.l2Usable.value * chip.l2Bytes.value);
    r.hbmBytes = traffic.hbmBytes + kernel.storedBytes;
    r.l2Hit = traffic.hit;
    r.cold = options.without.misses ? 0 : traffic.cold;
    r.waves = tiles * double(pair) / double(slots);

    double ghz = options.gigahertz ? options.gigahertz : chip.ghz();
    for (int i = 0; i < clockSteps; ++i) {
      atClock(r, ghz);
      double next = options.gigahertz       ? options.gigahertz
                    : options.without.power ? chip.ghz()
                                            : clockAt(chip, r.utilization);
      if (std::abs(next - ghz) < sameClock)
        break;
      ghz = next;
    }
    r.gigahertz = ghz;
    r.seconds = r.cycles / (ghz * 1e9) + chip.launch.value * 1e-9;
    r.tflops = kernel.flop / r.seconds * 1e-12;
    std::sort(r.bounds.begin(), r.bounds.end(), [](const Bound &a, const Bound &b) {
      return a.cycles != b.cycles ? a.cycles > b.cycles : a.of < b.of;
    });
    findLosses(r);
    return r;
  }

private:
  void atClock(Prediction &r, double ghz) {
    Conditions at;
    at.cold = r.cold;
    at.ghz = ghz;
    SmTimes one(kernel, chip, at);
    double alone = one.interval;
    double shared = alone;
    if (r.occupancy.blocks > 1) {
      at.blocks = r.occupancy.blocks;
      shared = SmTimes(kernel, chip, at).interval;
    }
    tensor = one.of(Engine::Tensor);
    r.fillCycles = one.fill;
    r.waits = one.waits;
    double trips = kernel.trips;
    double latency = shared / blocks;
    if (kernel.sharesIssue)
      latency = softMax(p, {latency, tensor, one.of(Engine::Cuda), one.of(Engine::Sfu)});
    double share = chip.fabric.value / sms / ghz * (kernel.narrow ? chip.narrowRows.value : 1);
    double fabric = options.without.fabric ? 0 : kernel.fabricBytes / share;
    double iterations = tiles * trips * double(kernel.blocksPerTile) / sms;
    double hbm = options.without.hbm ? 0 : r.hbmBytes / chip.hbm.value * ghz / iterations;
    r.interval = softMax(p, {latency, fabric, hbm}) + kernel.spillCycles;
    r.fixedCycles = options.without.fixed ? 0 : chip.blockStart.value + one.fill + one.drain;
    double perSlot = r.waves;
    double whole = kernel.balanced ? std::max(1.0, perSlot) : std::ceil(perSlot - 1e-9);
    if (kernel.persistent)
      r.cycles = persistentCycles(r, one.perTile, options.without.waves ? perSlot : whole);
    else
      r.cycles = wavesCycles(r, alone, fabric, one.compute());
    r.utilization = iterations * (tensor + kernel.moreTensorCycles) / r.cycles;
    // A chain of waits binds only if it is longer than what its engines are busy for.
    bool chained = latency > 1.02 * one.most();
    r.bounds = {{Bound::Tensor, tensor},
                {Bound::Load, one.of(Engine::Tma)},
                {Bound::Cuda, one.of(Engine::Cuda)},
                {Bound::Sfu, one.of(Engine::Sfu)},
                {Bound::Latency, chained ? latency : 0},
                {Bound::Fabric, fabric},
                {Bound::Hbm, hbm},
                {Bound::Fixed, r.fixedCycles / trips},
                {Bound::Spills, kernel.spillCycles}};
  }

  double persistentCycles(const Prediction &r, double perTile, double rounds) const {
    double body = kernel.trips * r.interval;
    double tile = kernel.overlapped ? softMax(overlapExponent, {body, perTile}) : body + perTile;
    return rounds * tile + r.fixedCycles;
  }

  /// Blocks that come and go: whole waves, then a partial one.
  double wavesCycles(const Prediction &r, double alone, double fabric, double compute) const {
    double trips = kernel.trips, fixed = r.fixedCycles;
    double tile = trips * r.interval + fixed;
    if (blocks > 1) {
      // The SM is no faster than what its blocks share, and a block no faster than alone.
      double shared = trips * r.interval * blocks;
      double free = trips * std::max(alone, compute) + fixed;
      tile = softMax(p, {shared, free, trips * std::max(compute, fabric) * blocks});
    }
    if (options.without.waves || kernel.balanced)
      return std::max(1.0, r.waves) * tile;
    if (kernel.longestTrips > 0) // on average, half of the longest is left at the end
      return r.waves * tile + 0.5 * tile * kernel.longestTrips / trips;
    double full = std::floor(r.waves + 1e-9), rest = r.waves - full, last = 0;
    if (rest > 1e-9) {
      double left = std::max(1.0, std::ceil(rest * blocks - 1e-9));
      last = blocks == 1
                 ? tile
                 : std::min(tile, softMax(p, {trips * alone, trips * r.interval * left}) + fixed);
    }
    return full * tile + last;
  }

  /// Each step from peak at the highest clock to the prediction, as a share of the time.
  void findLosses(Prediction &r) const {
    double boost = chip.boost.value, whole = r.seconds * 1e9;
    double products = tensor + kernel.moreTensorCycles;
    double ideal = r.utilization * r.cycles * tensor / std::max(products, 1e-9);
    bool quantized = r.occupancy.blocks == 1 || kernel.persistent;
    double padded = quantized ? ideal * std::ceil(r.waves - 1e-9) / r.waves : ideal;
    double stall = std::max(0.0, r.interval - tensor);
    double stalls = padded / std::max(tensor, 1e-9) * stall;
    double rest = std::max(0.0, r.cycles - padded - stalls);
    // Blocks that share an SM hide stalls of each other.
    stalls = std::min(stalls, std::max(0.0, r.cycles - padded));
    auto add = [&](std::string what, double cycles) {
      r.waterfall.push_back({std::move(what), cycles / boost / whole});
    };
    Bound::Of binding = Bound::Tensor;
    for (const Bound &b : r.bounds)
      if (b.of != Bound::Fixed && b.of != Bound::Tensor && b.cycles > tensor) {
        binding = b.of;
        break;
      }
    add("tensor core", ideal);
    add("last wave", padded - ideal);
    add(binding == Bound::Tensor ? "stalls" : "stalls: " + std::string(describe(binding)), stalls);
    add("prologue, epilogue", rest);
    r.waterfall.push_back({"clock", (r.cycles / r.gigahertz - r.cycles / boost) / whole});
    r.waterfall.push_back({"launch", chip.launch.value / whole});
  }

  const Kernel &kernel;
  const hw::Chip &chip;
  const PredictOptions &options;
  double p;
  double sms;
  double blocks = 1;
  double tiles = 1;
  double tensor = 0;
};

} // namespace

double Prediction::cyclesOf(Bound::Of of) const {
  for (const Bound &b : bounds)
    if (b.of == of)
      return b.cycles;
  return 0;
}

std::string_view describe(Bound::Of of) {
  switch (of) {
  case Bound::Tensor:
    return "tensor core";
  case Bound::Load:
    return "TMA";
  case Bound::Latency:
    return "latency";
  case Bound::Cuda:
    return "general cores";
  case Bound::Sfu:
    return "exponentials";
  case Bound::Fabric:
    return "fabric";
  case Bound::Hbm:
    return "HBM";
  case Bound::Fixed:
    return "prologue, epilogue";
  case Bound::Spills:
    return "spills";
  }
  return "";
}

double clockAt(const hw::Chip &chip, double utilization) {
  return std::min(chip.boost.value,
                  chip.powerClock.value / (1 + chip.powerSlope.value * utilization));
}

Prediction predictValue(const Kernel &kernel, const hw::Chip &chip, const PredictOptions &options) {
  return Predictor(kernel, chip, options).run();
}

} // namespace penstock::timing
