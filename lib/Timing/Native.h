//===- Native.h - Run time of native code on a core -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of a tile program executes steps one after the other: copies, products and loops
// over elements. A step keeps the core busy with its instructions and moves what is not in
// L1. Where operands are found follows from what was touched since they were used last: the
// steps of the first blocks of a launch are run through a stack of least recently used
// objects, which are tiles and slices of tensors.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_NATIVE_H
#define PENSTOCK_TIMING_NATIVE_H

#include "Hardware/Cpu.h"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::timing {

/// Instructions on vectors of 512 bits.
struct VectorWork {
  double arithmetic = 0;
  double loads = 0, stores = 0;
  double divisions = 0;
  double maxima = 0; ///< of elements, NaN is kept
  double exponentials = 0;
  double transposes = 0;                                                       ///< of 16 x 16 f32
  double packedTiles = 0, packedPairs = 0, packedQuads = 0, packedColumns = 0; ///< 64 bytes each
  double packCalls = 0;
  double scalars = 0; ///< elements that are not part of a vector
  // Of rows.
  double rows = 0; ///< inner loops that start
  double sums = 0, rowMaxima = 0;
  double sumVectors = 0, maximumVectors = 0; ///< in their chains
};

/// A product of tiles in registers: blocks of sums, each over all of K.
struct NativeProduct {
  int64_t m = 0, n = 0;
  int64_t steps = 0;             ///< along K, of one block
  int64_t rows = 0, columns = 0; ///< of a block of sums
  int64_t lanes = 16;            ///< columns of a vector or tile
  int64_t tileRows = 1;          ///< rows of a tile; 1: vectors
  double instruction = 0.5;      ///< cycles of one product
  double leftBytes = 0, rightBytes = 0, stripBytes = 0, sumBytes = 0;
  bool loadsSums = true; ///< otherwise they start as zero
};

struct NativeStep {
  std::string name; ///< of the statement, for texts
  int64_t line = 0;
  enum class Kind { Elements, Copy, Pack, Product } kind = Kind::Elements;
  VectorWork vectors;
  NativeProduct product; ///< if `kind` is Product
};

/// A tile or a slice of a tensor that a step touches, entirely.
struct NativeAccess {
  uint32_t object = 0;
  double bytes = 0;
  double rowBytes = 0; ///< contiguous; 0: all of it
  bool write = false;
};

struct NativeEvent {
  uint32_t step = 0;
  double times = 1; ///< stands for this many equal ones
  double share = 1; ///< of the step's work: at edges, a part
  std::vector<NativeAccess> accesses;
};

struct NativeKernel {
  std::vector<NativeStep> steps;
  /// Events of the first blocks that one thread executes.
  std::vector<std::vector<NativeEvent>> blocks;
  double allBlocks = 1; ///< of the launch
  int64_t threads = 1;
  double tensorBytes = 0;  ///< of all arguments
  double flop = 0;         ///< of products
  double touchedBytes = 0; ///< of tensors, each once: for rates of kernels without products
};

struct NativePrediction {
  double seconds = 0;
  double spread = 1; ///< 90 % bars: seconds / spread to seconds x spread
  double cycles = 0; ///< of one thread
  /// Cycles of one thread by step, and in them those beyond what the core computes.
  std::vector<double> ofStep, waiting;
  double fixed = 0; ///< cycles of blocks and the launch
  /// Bytes of one thread that come from each level.
  double l2Bytes = 0, l3Bytes = 0, memoryBytes = 0;
};

struct NativeOptions {
  bool measured = false; ///< the machine was measured: no error of it in the range
  double factor = 1;     ///< of all times, on this machine
};

NativePrediction predictNative(const NativeKernel &, const hw::Cpu &, const NativeOptions & = {});

/// Cycles that a core computes for one step, with operands in L1.
double coreCycles(const NativeStep &, const hw::Cpu &);

} // namespace penstock::timing

#endif // PENSTOCK_TIMING_NATIVE_H
