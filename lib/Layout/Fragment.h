//===- Fragment.h - Elements in registers -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that lies in the registers of many threads. All fragments of the
// hardware have one form: a coordinate is the sum of a part that depends on the
// thread alone and a part that depends on the register alone, both sums of
// digits. Generated code computes the first once and uses the second as
// constants.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_FRAGMENT_H
#define PENSTOCK_LAYOUT_FRAGMENT_H

#include <cstdint>
#include <vector>

namespace penstock::layout {

struct Coordinate {
  int64_t row = 0;
  int64_t col = 0;
  friend bool operator==(const Coordinate &, const Coordinate &) = default;
};

/// rows x cols elements over some threads. "Register" means an element: where
/// elements are narrower than 32 bits, consecutive ones share a register of the
/// hardware, the first in the low bits.
class Fragment {
public:
  /// Contributes ((index / div) % mod) * stride.
  struct Term {
    int64_t div = 1;
    int64_t mod = 1;
    int64_t stride = 0;
    int64_t of(int64_t index) const { return index / div % mod * stride; }
    friend bool operator==(const Term &, const Term &) = default;
  };

  int64_t rows = 0;
  int64_t cols = 0;
  int64_t threads = 0;
  int64_t registers = 0; ///< of each thread
  /// The part of the thread.
  std::vector<Term> rowTerms, colTerms;
  /// The part of the register.
  std::vector<Term> rowRegisterTerms, colRegisterTerms;

  /// Outside of rows x cols if the register holds nothing.
  Coordinate at(int64_t thread, int64_t reg) const;
  /// Element in register 0.
  Coordinate baseOf(int64_t thread) const;
  /// at(thread, reg) = baseOf(thread) + offsetOf(reg).
  Coordinate offsetOf(int64_t reg) const;
  bool contains(Coordinate) const;
  /// Does every register of every thread hold an element? If not, users must look
  /// at contains().
  bool isFull() const;
  /// The most registers that always hold neighbors along a row: a power of two,
  /// and so that the first of them is in a column that it divides.
  int64_t run() const;
};

/// D of m64nN, by a warpgroup for each 64 rows. With fewer \p warpgroups each has
/// consecutive rows, and its registers go through them by 64.
Fragment wgmmaAccumulator(int64_t rows, int64_t cols, int64_t warpgroups = 0);

/// A of wgmma in registers, 64 x \p cols of 8, 16 or 32 bits; one instruction
/// after the other if there are more columns than one takes.
Fragment wgmmaOperandA(int64_t cols, int elementBits);

/// Returns the registers of tcgen05.ld.32x32b for an accumulator of one CTA: thread t holds lane t,
/// register i column i. With 64 rows, each warp holds 16, in its lower half.
Fragment tensorMemoryRows(int64_t rows, int64_t cols);

Fragment oneRowPerThread(int64_t rows, int64_t cols);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_FRAGMENT_H
