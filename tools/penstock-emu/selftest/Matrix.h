//===- Matrix.h - Operand tiles of the self-test's GEMMs --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_SELFTEST_MATRIX_H
#define PENSTOCK_TOOLS_EMU_SELFTEST_MATRIX_H

#include "selftest/Builder.h"

namespace penstock::emu::selftest {

/// Slot and phase of iteration \p i in a ring.
void position(Builder &b, const std::string &i, unsigned stages, std::string &slot,
              std::string &phase, const std::string &tag);

/// A slot holds 64 columns of k of A (rows x 64) and of B (columns x 64), f16.
/// Swizzled: loaded by tensor copies from row-major matrices. Otherwise the
/// input is a stream of slots in the layout without swizzle: 8 rows x 16 bytes
/// after one another along k.
struct Tiles {
  unsigned rows, columns;
  bool swizzled;

  unsigned bytesA() const { return rows * 128; }
  unsigned bytesB() const { return columns * 128; }
  unsigned bytes() const { return bytesA() + bytesB(); }

  /// Announces the bytes at \p bar and starts the copies of iteration \p i.
  void load(Builder &b, bool bulk, const std::string &i, const std::string &at,
            const std::string &bar) const;
  /// All threads copy the slot of iteration \p i.
  void copyByThreads(Builder &b, bool cpAsync, const std::string &i, const std::string &at,
                     const std::string &tid, unsigned threads) const;
  /// The descriptor of step \p kk at \p address; tcgen05 or wgmma.
  std::string descriptor(Builder &b, const std::string &address, unsigned kk, bool tcgen05) const;
  /// The four registers of A for wgmma, by ordinary loads.
  void loadFragments(Builder &b, const std::string &rowsA, const std::string &t, unsigned kk,
                     std::vector<std::string> &out) const;
  /// The fragments of wgmma's D to the output, from row \p row0 on.
  void storeFragments(Builder &b, const std::vector<std::string> &d, const std::string &t,
                      const std::string &row0, bool tmaStore, unsigned threads,
                      const std::string &tid) const;
  /// Inputs, tensor maps and the expected product. \p blocks: stacked along the
  /// rows, each with its own slots.
  void data(Kernel &kernel) const;
};

} // namespace penstock::emu::selftest

#endif // PENSTOCK_TOOLS_EMU_SELFTEST_MATRIX_H
