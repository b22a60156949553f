//===- MachineCode.h - Sources of machine code ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_MACHINECODE_H
#define PENSTOCK_CUDA_MACHINECODE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace penstock::cuda {

/// Source of the machine code of a variant.
enum class CodeSource : uint8_t {
  None,      ///< it is not loaded
  Artifact,  ///< a cubin of the artifact
  Cache,     ///< assembled by an earlier process
  Ptxas,     ///< assembled now
  NvJitLink, ///< the same, by CUDA's library
  Driver     ///< compiled from PTX by the driver
};
const char *nameOf(CodeSource source);

/// Looks machine code up by a key that states everything it depends on. Calls \p make if
/// there is none, and keeps what it returns.
using CodeCache = std::function<std::optional<std::string>(
    const std::string &key, const std::function<std::optional<std::string>()> &make)>;

struct LoadPolicy {
  /// Path of ptxas; empty: it is not used.
  std::string ptxas;
  /// Emulated GPUs run PTX only; assembling for them is a waste, except in tests.
  bool assembleForEmulator = false;
  /// Path of libnvJitLink, for machines without ptxas; empty: it is not used.
  std::string nvJitLink = {};
  /// True if a line on standard error reports, once per process, that the driver compiles PTX.
  bool announceDriver = false;
  /// Empty: nothing is kept.
  CodeCache cache = {};
};
/// The assemblers that are installed. The driver compiles silently only if the user chose it.
LoadPolicy installedAssemblers();

struct MachineCode {
  CodeSource source = CodeSource::None; ///< None: there is no code, for a reason
  std::string cubin;
  std::string assembler; ///< its name in messages
  std::string reason;
};

/// Assembles PTX for an architecture ("sm_90a") by the first assembler of a policy, or takes
/// from the cache what that one has made of it.
MachineCode assemble(const LoadPolicy &policy, const std::string &ptx,
                     const std::string &architecture);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_MACHINECODE_H
