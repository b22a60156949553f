//===- Predict.h - Run time of a kernel on a chip ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a kernel to seconds, with a range. One SM is the event model of Machine.h.
// The chip is analytic: occupancy, waves, strips of operands in L2, fabric, HBM, and
// the clock under the power limit, which is a fixed point with the time.
//
//   Prediction p = predict(matmul(m, chip), chip);
//   p.tflops, p.low, p.high, p.bounds.front().why
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_PREDICT_H
#define PENSTOCK_TIMING_PREDICT_H

#include "Hardware/Chip.h"
#include "Timing/Machine.h"
#include "Timing/ProtocolTimes.h"
#include "Timing/Work.h"

#include <optional>
#include <string_view>

namespace penstock::timing {

/// Cycles per iteration and SM that one resource asks for.
struct Bound {
  enum Of { Tensor, Load, Latency, Cuda, Sfu, Fabric, Hbm, Fixed, Spills };
  Of of = Tensor;
  double cycles = 0;
};
std::string_view describe(Bound::Of);

/// A share of the run time that something other than the tensor core at its highest
/// clock takes.
struct Loss {
  std::string what;
  double share = 0;
};

/// Factors measured on one GPU; multiply the chip's constants.
struct MachineFactors {
  double clock = 1;
  double fabric = 1;
  double latency = 1;
  double time = 1; ///< of the whole run, with all else as it is
};

/// Blocks of an SM, and the resource that more of them would exceed.
struct Occupancy {
  int64_t blocks = 1;
  std::string_view limit;
};

struct Prediction {
  double seconds = 0;
  /// 90 % bars: seconds / spread to seconds x spread.
  double spread = 1;
  /// The same as TFLOP/s.
  double tflops = 0, low = 0, high = 0;
  double gigahertz = 0;
  double cycles = 0;
  double utilization = 0; ///< of the tensor core
  double interval = 0;    ///< cycles per iteration and SM
  /// Largest first.
  std::vector<Bound> bounds;
  double fixedCycles = 0; ///< of a tile: prologue, fill, epilogue
  Occupancy occupancy;    ///< of an SM
  double waves = 1;
  double hbmBytes = 0;
  double l2Hit = 0;
  double cold = 0; ///< share of a wave's strips that come from HBM
  /// From peak at the highest clock to the predicted rate; shares of the time.
  std::vector<Loss> waterfall;
  double fillCycles = 0; ///< until the first product starts
  /// Kernels with a protocol: waits of one block alone, longest first.
  std::vector<ProtocolWait> waits;

  const Bound &bound() const { return bounds.front(); }
  double cyclesOf(Bound::Of) const;
};

/// Parts of the model that a test leaves out, to show that they matter.
struct Ablation {
  bool fabric = false;
  bool hbm = false;
  bool misses = false;
  bool waves = false;
  bool fixed = false;
  bool power = false;
};

struct PredictOptions {
  /// A measured GPU: no error of the machine in the range.
  std::optional<MachineFactors> machine;
  /// Fixes the clock.
  double gigahertz = 0;
  /// Draws from the ranges of the constants that widen the bars; 0: residuals only.
  int draws = 0;
  Ablation without;
};

/// A prediction with bars.
Prediction predict(const Kernel &, const hw::Chip &, const PredictOptions & = {});
/// The same without bars.
Prediction predictValue(const Kernel &, const hw::Chip &, const PredictOptions & = {});

/// Blocks that fit on one SM, and what limits them.
Occupancy occupancyOf(const Resources &, const hw::Chip &);

/// Memory reads of a kernel's tiles, wave by wave, in block order.
struct Traffic {
  double hbmBytes = 0;
  double hit = 0;  ///< share of the bytes asked of L2 that are there
  double cold = 0; ///< share of the strips of a wave that it brings in
};
Traffic trafficOf(const Raster &, int64_t tilesPerWave, double usableBytes);

/// GHz at a utilization of the tensor core.
double clockAt(const hw::Chip &, double utilization);

/// Relative rms error of the model on published rows of one machine, by bound.
double residualOf(Bound::Of);

} // namespace penstock::timing

#endif // PENSTOCK_TIMING_PREDICT_H
