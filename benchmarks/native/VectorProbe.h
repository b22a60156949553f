//===- VectorProbe.h - State of the processor's vector units ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counterpart of TileProbe.h for code without tile instructions: a short loop of FMAs takes
// twice as long while the other hyperthread of the core multiplies, and longer at a lower clock.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_VECTORPROBE_H
#define PENSTOCK_BENCHMARKS_NATIVE_VECTORPROBE_H

namespace bench {

/// Width of the vectors that native code uses: that of the processor, or of PENSTOCK_CPU. 0 without
/// AVX2.
int vectorBits();

/// Selects OpenBLAS's kernels for the width of vectors, unless OPENBLAS_CORETYPE is set. OpenBLAS
/// takes kernels for SSE on processors that are newer than itself. It reads the variable when it
/// is loaded. Returns whether the variable was set here.
bool chooseOpenBlasKernels();

/// Returns the nanoseconds of one FMA in a loop that multiplies registers: the reciprocal of the
/// peak.
double peakOfVectors();

/// Probes and returns whether `threads` threads run at the speed of the fastest loop so far.
bool vectorsAreFast(int threads);

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_VECTORPROBE_H
