//===- FatBinary.h - PTX images inside of CUDA programs ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDASHIM_FATBINARY_H
#define PENSTOCK_CUDASHIM_FATBINARY_H

#include <string>
#include <vector>

namespace penstock::shim {

struct PtxImage {
  std::string text;
  unsigned arch = 0;         ///< 90 of sm_90a
  bool archSpecific = false; ///< the `a` of sm_90a
};

/// An image with the architecture that its text names.
PtxImage ptxImage(std::string text);

/// The PTX images of the fat binary that \p wrapper (as handed to
/// __cudaRegisterFatBinary) points to. \p problem says why there is none:
/// compressed images are not supported.
std::vector<PtxImage> readFatBinary(const void *wrapper, std::string &problem);

/// The image that a device of compute capability \p arch would run, or null:
/// the newest that is not newer, an architecture-specific one only if it fits
/// exactly.
const PtxImage *chooseImage(const std::vector<PtxImage> &images, unsigned arch);

} // namespace penstock::shim

#endif // PENSTOCK_CUDASHIM_FATBINARY_H
