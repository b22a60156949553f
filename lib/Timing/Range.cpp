//===- Range.cpp - Ranges of predictions ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three independent errors: what the model leaves out, which is the residual on
// published rows by bound; the ranges of the constants, by draws; and the machine,
// unless it was measured. Their squares add up; bars hold 90 %.
//
//===----------------------------------------------------------------------===//
#include "Timing/Predict.h"

#include <algorithm>
#include <cmath>

namespace penstock::timing {

namespace {

/// 90 % of a normal distribution lie within this many standard deviations.
constexpr double ninetyPercent = 1.645;

/// A small generator with a fixed sequence: equal inputs give equal bars.
class Draws {
public:
  /// In 0 .. 1.
  double next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return double(state >> 11) / double(1ull << 53);
  }

private:
  uint64_t state = 0x9e3779b97f4a7c15ull;
};

hw::Chip drawn(const hw::Chip &chip, Draws &draws) {
  hw::Chip other = chip;
  for (const hw::ChipConstant &constant : hw::chipConstants()) {
    hw::Measured &m = other.*constant.member;
    m.value = m.low + (m.high - m.low) * draws.next();
  }
  return other;
}

hw::Chip adjusted(const hw::Chip &chip, const MachineFactors &factors) {
  hw::Chip other = chip;
  other.powerClock.value *= factors.clock;
  other.boost.value *= factors.clock;
  other.fabric.value *= factors.fabric;
  other.loadLatency.value *= factors.latency;
  other.missLatency.value *= factors.latency;
  return other;
}

} // namespace

double residualOf(Bound::Of of) {
  // rms of log(predicted / measured) on the validation ladders, one factor each.
  switch (of) {
  case Bound::Tensor:
    return 0.053;
  case Bound::Fixed:
    return 0.074;
  case Bound::Latency:
    return 0.082;
  case Bound::Load:
  case Bound::Fabric:
    return 0.085;
  case Bound::Hbm:
  case Bound::Cuda:
  case Bound::Sfu:
  case Bound::Spills:
    return 0.12; // few published rows
  }
  return 0.12;
}

Prediction predict(const Kernel &kernel, const hw::Chip &chip, const PredictOptions &options) {
  const hw::Chip machine = options.machine ? adjusted(chip, *options.machine) : chip;
  Prediction r = predictValue(kernel, machine, options);
  Bound::Of of = r.bound().of;
  if (of != Bound::Spills && r.fixedCycles > 0.25 * r.interval * kernel.trips)
    of = Bound::Fixed;
  double variance = std::pow(residualOf(of), 2);
  if (!options.machine)
    variance += std::pow(chip.machine.value, 2);
  if (options.draws > 0) {
    Draws draws;
    double sum = 0;
    for (int i = 0; i < options.draws; ++i) {
      double other = predictValue(kernel, drawn(machine, draws), options).seconds;
      sum += std::pow(std::log(other / r.seconds), 2);
    }
    variance += sum / options.draws;
  }
  if (options.machine) {
    r.seconds *= options.machine->time;
    r.tflops /= options.machine->time;
  }
  r.spread = std::exp(ninetyPercent * std::sqrt(variance));
  r.low = r.tflops / r.spread;
  r.high = r.tflops * r.spread;
  return r;
}

} // namespace penstock::timing
