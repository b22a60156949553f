//===- NVOps.td - Operations of the nv dialect -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_OPS
#define PENSTOCK_NV_OPS

include "Dialect/NV/NVThreadOps.td"
include "Dialect/NV/NVBarrierOps.td"
include "Dialect/NV/NVCopyOps.td"
include "Dialect/NV/NVTensorOps.td"
include "Dialect/NV/NVWgmmaOps.td"

#endif // PENSTOCK_NV_OPS
