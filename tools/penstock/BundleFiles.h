//===- BundleFiles.h - penstock compile --emit bundle -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_BUNDLEFILES_H
#define PENSTOCK_TOOLS_BUNDLEFILES_H

#include "Session.h"

/// Compiles \p kernels ("Matmul", "Matmul:block_m=64,M<=128") for the session's GPU, or for all
/// that they can run on, and writes the bundle \p output (docs/how-to/bundles.md). Returns the exit
/// code.
int compileBundle(Session &session, const std::vector<std::string> &kernels,
                  const std::string &output, bool archive);

#endif // PENSTOCK_TOOLS_BUNDLEFILES_H
