//===- Assembler.h - PTX to machine code, by ptxas --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_ASSEMBLER_H
#define PENSTOCK_CUDA_ASSEMBLER_H

#include <string>

namespace penstock::cuda {

/// Path of ptxas: $PENSTOCK_PTXAS, $CUDA_HOME/bin, $CUDA_PATH/bin, the search path,
/// /usr/local/cuda/bin. Empty if it is not installed.
std::string findPtxas();

struct PtxasRun {
  bool ok = false;
  std::string cubin;
  std::string report; ///< what it printed with -v, or why it could not be run
};

/// Runs \p ptxas for \p architecture ("sm_90a").
PtxasRun runPtxas(const std::string &ptxas, const std::string &ptx,
                  const std::string &architecture);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_ASSEMBLER_H
