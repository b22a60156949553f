//===- DriverApi.h - libcuda, opened at run time ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Penstock does not link libcuda: programs start on machines without a GPU, and
// processes that fork may call compile() before they do. Only cuGetProcAddress is looked
// up by its symbol; it gives the other functions in the version that is asked for.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_DRIVERAPI_H
#define PENSTOCK_CUDA_DRIVERAPI_H

#include "Cuda/DriverTypes.h"
#include "Diagnostics/Diagnostic.h"

#include <memory>

namespace penstock::cuda {

/// The version of CUDA whose functions are used, and the oldest driver that has them.
inline constexpr int apiVersion = 12000;

struct DriverApi {
#define DRIVER_FUNCTION(MEMBER, NAME, PARAMETERS) int(*MEMBER) PARAMETERS = nullptr;
#include "Cuda/DriverFunctions.def"
  int version = 0; ///< of the driver: 13000 is CUDA 13.0
};

/// Opens \p library, looks up all functions and initializes the driver. Null, with one
/// error in \p diagnostics, if that is not possible.
std::unique_ptr<DriverApi> openDriver(const char *library, std::vector<Diagnostic> &diagnostics);

/// The driver of this process, libcuda.so.1, opened when it is first needed. Null, with
/// an error, if there is none; later calls try again.
const DriverApi *driver(std::vector<Diagnostic> &diagnostics);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_DRIVERAPI_H
