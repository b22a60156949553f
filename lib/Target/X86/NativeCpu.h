//===- NativeCpu.h - Instruction sets of the host ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_NATIVECPU_H
#define PENSTOCK_TARGET_X86_NATIVECPU_H

#include "penstock/compile.h"

#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// Instructions that native code may use, and the caches that its loops are arranged for.
struct NativeCpu {
  bool tiles = false;    ///< AMX for bf16 and i8, with permission of the kernel
  bool tilesF16 = false; ///< AMX for f16, too
  bool dotBf16 = false;  ///< AVX-512 BF16
  bool dotI8 = false;    ///< AVX-512 VNNI
  unsigned vectorBits = 128;
  int64_t l1Bytes = 48 << 10, l2Bytes = 2 << 20; ///< data caches of a core
  std::string name;                              ///< as LLVM spells it
  std::vector<std::string> features;             ///< beyond those of the name: "+avx2", "-amx-tile"

  /// Code for equal texts is equal.
  std::string description() const;
};

/// Returns what a level means on this machine. Asks the kernel for tile registers if the
/// level has them. Returns no value, and the reason, if the host does not have the level.
std::optional<NativeCpu> findNativeCpu(Cpu level, std::string &why);

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_NATIVECPU_H
