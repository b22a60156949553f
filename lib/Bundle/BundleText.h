//===- BundleText.h - Names and literals of bundles -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BUNDLE_BUNDLETEXT_H
#define PENSTOCK_BUNDLE_BUNDLETEXT_H

#include "Bundle/Bundle.h"

namespace penstock::bundle {

/// Returns whether a text is a valid C and C++ identifier for the bundle.
bool isIdentifier(const std::string &text);
/// The fields of `struct .._args`, in order: the names of the arguments where C accepts them.
std::vector<std::string> fieldNames(const KernelInfo &info);
/// Prefix of a kernel's functions: the bundle's name if it is the only one.
std::string prefixOf(const Bundle &bundle, const BundledKernel &kernel);
/// Returns whether all variants of a kernel wait for the previous kernel, so that it may overlap
/// it.
bool mayOverlapPrevious(const BundledKernel &kernel);
/// The C type of a scalar argument.
const char *scalarType(Element element);
/// A string literal.
std::string quoted(std::string_view text);

std::string writeHeader(const Bundle &bundle);
/// The tables of all kernels, and the public functions.
std::string writeTables(const Bundle &bundle);
std::string writeFunctions(const Bundle &bundle);
std::string writeJson(const Bundle &bundle);

} // namespace penstock::bundle

#endif // PENSTOCK_BUNDLE_BUNDLETEXT_H
