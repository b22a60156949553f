//===- Errors.h - Errors of the driver, with cause and fix ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_ERRORS_H
#define PENSTOCK_CUDA_ERRORS_H

#include "Cuda/DriverApi.h"

namespace penstock::cuda {

/// Returns the diagnostic for \p result of the driver function \p call.
Diagnostic driverError(const DriverApi &api, int result, const char *call);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_ERRORS_H
