//===- TileProbe.h - State of the processor's tile unit ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a shared machine the tile unit of a core is slower by a factor of two to four while
// its other hyperthread is busy, for 0.1 s to minutes. A short loop of tile instructions
// before and after a sample shows it. The data is not zero: with zeros the loop is equally
// fast in both states.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_TILEPROBE_H
#define PENSTOCK_BENCHMARKS_NATIVE_TILEPROBE_H

namespace bench {

/// Returns whether the processor has AMX, the process may use it, and PENSTOCK_CPU does not
/// restrict native code to vectors.
bool hasTiles();
/// Returns whether there are tile instructions for f16, too.
bool hasTilesOfF16();

/// Nanoseconds for one product of tiles in a loop that loads its operands from the
/// first-level cache, the slowest of \p threads threads.
double probeTiles(int threads);

/// The same without loads: the reciprocal of the peak.
double peakOfTiles();

/// Probes and returns whether \p threads threads were in the fast state: there loads hide
/// behind products, so the probe takes little longer than the fastest peak of this process.
/// In the slow state loads take longer than products do (measured: 26 to 34 ns where the peak
/// of that state is 15 to 19).
bool tilesAreFast(int threads);

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_TILEPROBE_H
