//===- Bundle.h - Kernels as C files ----------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle is a C11 header and a C11 source that contain kernels and everything that
// launches need, so that programs use them without Penstock (docs/how-to/bundles.md).
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BUNDLE_BUNDLE_H
#define PENSTOCK_BUNDLE_BUNDLE_H

#include "Artifact/Artifact.h"

namespace penstock {

/// Sizes that a configuration is restricted to.
struct BundleBound {
  std::string size; ///< of the signature
  int64_t least = 0, most = INT64_MAX;
};

/// A kernel, compiled for a GPU with certain fields.
struct BundleConfiguration {
  Artifact artifact;
  std::vector<BundleBound> bounds;
  std::string fields; ///< "block_m=64", for the description
};

struct BundledKernel {
  std::string name;
  /// In order of preference: a launch takes the first that is for its GPU and accepts its
  /// arguments.
  std::vector<BundleConfiguration> configurations;
};

struct Bundle {
  std::string name; ///< prefix of all symbols
  std::vector<BundledKernel> kernels;
};

struct BundleFiles {
  std::string header, source;
  std::string json; ///< describes kernels, arguments and variants
};

/// Writes the files of a bundle. No value, with errors in \p diagnostics, if a kernel cannot be
/// part of one.
std::optional<BundleFiles> writeBundle(const Bundle &bundle, std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_BUNDLE_BUNDLE_H
