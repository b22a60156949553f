//===- Artifact.h - A compiled kernel as bytes ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that a launch needs, independent of the compiler: how arguments are
// checked, and for each variant its PTX, launch program and tensor maps. Machine code
// may be added for the architectures that it was assembled for.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ARTIFACT_ARTIFACT_H
#define PENSTOCK_ARTIFACT_ARTIFACT_H

#include "Runtime/DeviceKernel.h"
#include "Runtime/KernelInfo.h"

namespace penstock {

/// Machine code of a variant.
struct Cubin {
  unsigned variant = 0;
  std::string architecture; ///< "sm_90a"
  std::string assembler;    ///< its version, for messages
  std::string code;
};

struct Artifact {
  KernelInfo info;
  /// In order of preference; the last one takes every tensor. A variant without PTX and
  /// machine code was not exported; launches that need it are refused.
  std::vector<DeviceKernel> variants;
  std::vector<Cubin> cubins;
};

std::string writeArtifact(const Artifact &artifact);

/// Reads what writeArtifact wrote. No value, with an error in \p diagnostics, for anything
/// else: all numbers that a launch uses as indices are checked here.
std::optional<Artifact> readArtifact(std::string_view bytes, std::vector<Diagnostic> &diagnostics);

/// Diagnostics in the same form.
std::string writeDiagnostics(const std::vector<Diagnostic> &diagnostics);
/// Reads what writeDiagnostics wrote; no value for anything else.
std::optional<std::vector<Diagnostic>> readDiagnostics(std::string_view bytes);

} // namespace penstock

#endif // PENSTOCK_ARTIFACT_ARTIFACT_H
