//===- MachineCode.cpp - Sources of machine code --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/MachineCode.h"
#include "Artifact/Checksum.h"
#include "Cuda/Assembler.h"
#include "Diagnostics/Counters.h"

#include <cstdlib>

using namespace penstock;
using namespace penstock::cuda;

const char *penstock::cuda::nameOf(CodeSource source) {
  switch (source) {
  case CodeSource::None:
    return "not loaded";
  case CodeSource::Artifact:
    return "machine code of the artifact";
  case CodeSource::Cache:
    return "machine code of the cache";
  case CodeSource::Ptxas:
    return "assembled by ptxas";
  case CodeSource::NvJitLink:
    return "assembled by libnvJitLink";
  case CodeSource::Driver:
    return "compiled by the driver";
  }
  return "";
}

LoadPolicy penstock::cuda::installedAssemblers() {
  const char *stated = getenv("PENSTOCK_PTXAS");
  return {findPtxas(), false, findNvJitLink(), !(stated && !*stated)};
}

/// The PTX has source locations, and machine code has line numbers made of them: both change
/// with an edit above the kernel.
static std::string keyOf(const std::string &version, const std::string &architecture,
                         const std::string &ptx) {
  return "penstock-cubin 1\nassembler " + version + "\narch " + architecture + "\nptx " +
         hexDigest(ptx) + "\n";
}

MachineCode penstock::cuda::assemble(const LoadPolicy &policy, const std::string &ptx,
                                     const std::string &architecture) {
  bool byPtxas = !policy.ptxas.empty();
  if (!byPtxas && policy.nvJitLink.empty())
    return {CodeSource::None, "", "", "ptxas is not installed"};
  MachineCode result;
  result.assembler = byPtxas ? "ptxas" : "libnvJitLink";
  auto make = [&]() -> std::optional<std::string> {
    Assembly made = byPtxas ? runPtxas(policy.ptxas, ptx, architecture)
                            : runNvJitLink(policy.nvJitLink, ptx, architecture);
    if (!made.ok) {
      result.reason = result.assembler + " failed: " + made.report;
      return std::nullopt;
    }
    result.source = byPtxas ? CodeSource::Ptxas : CodeSource::NvJitLink;
    count(counters().assembled);
    return std::move(made.cubin);
  };
  // libnvJitLink states two numbers, which several builds share.
  std::string version = policy.cache && byPtxas ? ptxasVersion(policy.ptxas) : "";
  std::optional<std::string> code =
      version.empty() ? make() : policy.cache(keyOf(version, architecture, ptx), make);
  if (!code)
    return result;
  result.cubin = std::move(*code);
  if (result.source == CodeSource::None)
    result.source = CodeSource::Cache;
  return result;
}
