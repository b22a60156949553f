//===- Assembler.h - PTX to machine code ------------------------*- C++ -*-===//
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

/// Path of libnvJitLink, which is ptxas as a library: the loader's search path, then the
/// folders of the toolkit. Empty if it is not installed, or if $PENSTOCK_PTXAS is empty, by
/// which users choose the driver's compiler.
std::string findNvJitLink();

/// Version and build of \p ptxas in one line; empty if it cannot be run. Each path is asked
/// once.
std::string ptxasVersion(const std::string &ptxas);

struct Assembly {
  bool ok = false;
  std::string cubin;
  std::string report; ///< what it printed, or why it could not be run
};

/// Runs \p ptxas for \p architecture ("sm_90a").
Assembly runPtxas(const std::string &ptxas, const std::string &ptx,
                  const std::string &architecture);

/// The same with a library.
Assembly runNvJitLink(const std::string &library, const std::string &ptx,
                      const std::string &architecture);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_ASSEMBLER_H
