//===- BuildIds.h - Identity of the compiler's code -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_BUILDIDS_H
#define PENSTOCK_COMPILER_BUILDIDS_H

#include <string>

namespace penstock {

/// GNU build ids of the binaries that contain this compiler, MLIR and LLVM, separated by
/// spaces: equal texts compile alike. Empty if one of them has none.
const std::string &compilerBuildIds();

} // namespace penstock

#endif // PENSTOCK_COMPILER_BUILDIDS_H
