//===- NativeCpu.cpp - Instruction sets of the host -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/NativeCpu.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace penstock;

namespace {

/// Asking the CPU takes a millisecond where it is virtual.
const llvm::StringMap<bool> &hostFeatures() {
  static const auto *features = new llvm::StringMap<bool>(llvm::sys::getHostCPUFeatures());
  return *features;
}

bool has(llvm::StringRef feature) { return hostFeatures().lookup(feature); }

bool hasTiles() { return has("amx-tile") && has("amx-bf16") && has("amx-int8") && has("avx512bw"); }

/// Linux gives tile registers to processes that ask, because they make the state of a
/// thread 8 KB larger. Empty if it does.
const std::string &tilesRefused() {
  static const auto *refused = [] {
#if defined(__linux__) && defined(__x86_64__)
    constexpr long requestPermission = 0x1023, tileData = 18;
    if (syscall(SYS_arch_prctl, requestPermission, tileData) == 0)
      return new std::string;
    return new std::string(std::strerror(errno));
#else
    return new std::string("not on this system");
#endif
  }();
  return *refused;
}

NativeCpu makeHostCpu(bool tiles) {
  NativeCpu cpu;
  cpu.tiles = tiles;
  cpu.tilesF16 = tiles && has("amx-fp16");
  cpu.name = llvm::sys::getHostCPUName().str();
  cpu.vectorBits = has("avx512f") ? 512 : has("avx2") ? 256 : 128;
  cpu.dotBf16 = has("avx512bf16");
  cpu.dotI8 = has("avx512vnni");
  for (const auto &feature : hostFeatures()) {
    bool on = feature.second && (tiles || !feature.first().starts_with("amx"));
    cpu.features.push_back((on ? "+" : "-") + feature.first().str());
  }
  llvm::sort(cpu.features);
  return cpu;
}

const NativeCpu &hostCpu(bool tiles) {
  static const auto *with = new NativeCpu(makeHostCpu(true));
  static const auto *without = new NativeCpu(makeHostCpu(false));
  return tiles ? *with : *without;
}

} // namespace

std::string NativeCpu::description() const {
  return llvm::sys::getProcessTriple() + " " + name + " " + llvm::join(features, ",");
}

/// The level that PENSTOCK_CPU states, so that a whole program, or all tests, can be run as on a
/// smaller processor.
static std::optional<Cpu> hostLevel(std::string &why) {
  const char *stated = std::getenv("PENSTOCK_CPU");
  if (!stated || !*stated)
    return Cpu::Host;
  auto level = llvm::StringSwitch<std::optional<Cpu>>(stated)
                   .Case("amx", Cpu::Amx)
                   .Case("avx512", Cpu::Avx512)
                   .Case("avx2", Cpu::Avx2)
                   .Default(std::nullopt);
  if (!level)
    why = "the environment variable PENSTOCK_CPU is `" + std::string(stated) +
          "`; levels are amx, avx512 and avx2";
  return level;
}

std::optional<NativeCpu> penstock::findNativeCpu(Cpu level, std::string &why) {
  if (level == Cpu::Host) {
    std::optional<Cpu> stated = hostLevel(why);
    if (!stated)
      return std::nullopt;
    level = *stated;
  }
  switch (level) {
  case Cpu::Host:
    return hostCpu(hasTiles() && tilesRefused().empty());
  case Cpu::Amx:
    if (!hasTiles())
      why = "this processor has no AMX";
    else if (!tilesRefused().empty())
      why = "the process may not use AMX: " + tilesRefused();
    else
      return hostCpu(/*tiles=*/true);
    return std::nullopt;
  case Cpu::Avx512:
    if (has("avx512f"))
      return hostCpu(/*tiles=*/false);
    why = "this processor has no AVX-512";
    return std::nullopt;
  case Cpu::Avx2:
    break;
  }
  if (!has("avx2") || !has("fma") || !has("f16c")) {
    why = "this processor has no AVX2";
    return std::nullopt;
  }
  NativeCpu cpu;
  cpu.name = "haswell"; // the first one with AVX2
  cpu.vectorBits = 256;
  return cpu;
}
