//===- LaunchAttribute.h - Launch data of a module --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nv-lower-threads writes the layout of the kernel's parameter, the sizes of block
// and shared memory, the tensor maps and the program that computes the grid to the
// attribute `nv.launch` of the module. So text shows all that the compiler knows, and
// passes have no result beside the program.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LLVM_LAUNCHATTRIBUTE_H
#define PENSTOCK_TARGET_NVPTX_LLVM_LAUNCHATTRIBUTE_H

#include "Runtime/DeviceKernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace penstock {

/// Writes everything but the code.
void setLaunchData(mlir::ModuleOp module, const DeviceKernel &kernel);

/// Reads what setLaunchData wrote; nothing if the attribute is missing or has another form.
std::optional<DeviceKernel> launchDataOf(mlir::ModuleOp module);

} // namespace penstock

#endif // PENSTOCK_TARGET_NVPTX_LLVM_LAUNCHATTRIBUTE_H
