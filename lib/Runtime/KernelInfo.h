//===- KernelInfo.h - Properties of a kernel for launches -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lib/Runtime knows neither LLVM nor the front end: a kernel that was compiled
// in this process and one that was loaded from a file look the same to it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_KERNELINFO_H
#define PENSTOCK_RUNTIME_KERNELINFO_H

#include "Diagnostics/Diagnostic.h"
#include "penstock/launch.h"

#include <map>
#include <span>

namespace penstock {

struct ArgumentInfo {
  std::string name;
  bool tensor = false;
  Element element = Element::f32;
  int rank = 0;
  bool written = false;
  bool mayOverlap = false;
  /// Names or numbers of the sizes, from the signature; empty without one.
  std::vector<std::string> sizes;
};

/// A size that must equal another one or a number: a signature without its names.
struct SizeRule {
  unsigned argument = 0, dim = 0;
  int otherArgument = -1; ///< negative: `value` is the size
  unsigned otherDim = 0;
  int64_t value = 0;
};

struct KernelInfo {
  std::string name;
  std::string signature;       ///< empty if it has none
  SourceLocation location;     ///< where it was compiled
  SourceLocation gridLocation; ///< where its grid is stated; unknown without one
  std::vector<ArgumentInfo> arguments;
  std::map<std::string, int64_t> fixedSizes;
  /// Diagnostics for the numbers that generated code passes to penstock_fault.
  std::vector<Diagnostic> faults;
  uint64_t scratchBytes = 0;
  unsigned launchConstants = 3;
  /// Made by resolveSizes; launches of a kernel without them are checked slowly.
  std::vector<SizeRule> sizeRules;
  bool resolved = false;
};

/// Resolves the names of the signature to rules about sizes.
void resolveSizes(KernelInfo &info);

/// Bytes of one element in memory.
constexpr size_t bytesOf(Element element) {
  switch (element) {
  case Element::f8e4m3:
  case Element::f8e5m2:
  case Element::i1:
  case Element::i8:
  case Element::f8e8m0:
  case Element::f4e2m1x2:
  case Element::i4x2:
  case Element::f6e2m3_packed:
  case Element::f6e3m2_packed:
    return 1;
  case Element::f16:
  case Element::bf16:
  case Element::i16:
    return 2;
  case Element::f32:
  case Element::i32:
    return 4;
  case Element::f64:
  case Element::i64:
  case Element::index:
    break;
  }
  return 8;
}
/// "f16", "index".
const char *nameOf(Element element);

/// Returns whether the arguments are certainly valid, without allocating. What it does not decide,
/// checkArguments does.
bool argumentsFit(const KernelInfo &info, std::span<const detail::Argument> arguments);

/// Everything that is wrong with the arguments of the launch at \p location.
std::vector<Diagnostic> checkArguments(const KernelInfo &info,
                                       std::span<const detail::Argument> arguments,
                                       const SourceLocation &location = {});

} // namespace penstock

#endif // PENSTOCK_RUNTIME_KERNELINFO_H
