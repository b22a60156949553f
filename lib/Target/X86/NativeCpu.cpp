//===- NativeCpu.cpp - Instruction sets and caches of the host -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/NativeCpu.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
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

/// The query takes a millisecond on virtual machines.
const llvm::StringMap<bool> &hostFeatures() {
  static const auto *features = new llvm::StringMap<bool>(llvm::sys::getHostCPUFeatures());
  return *features;
}

bool has(llvm::StringRef feature) { return hostFeatures().lookup(feature); }

/// A level with the features that it adds to the next lower one.
struct Level {
  Cpu cpu;
  llvm::StringRef name;      ///< in PENSTOCK_CPU and --cpu
  llvm::StringRef extension; ///< in messages
  std::vector<std::string> features;
};

/// Vector levels, highest first. AMX is apart: it needs the permission of the kernel.
llvm::ArrayRef<Level> vectorLevels() {
  static const auto *levels =
      new std::vector<Level>{{Cpu::Avx512Fp16, "avx512fp16", "AVX512-FP16", {"avx512fp16"}},
                             {Cpu::Avx512Bf16, "avx512bf16", "AVX512-BF16", {"avx512bf16"}},
                             {Cpu::Avx512Vnni, "avx512vnni", "AVX512-VNNI", {"avx512vnni"}},
                             {Cpu::Avx512,
                              "avx512",
                              "AVX-512",
                              {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
                             {Cpu::Avx2, "avx2", "AVX2", {"avx2", "fma", "f16c"}}};
  return *levels;
}

constexpr llvm::StringRef amxName = "amx";

/// Returns the levels from `cpu` down to AVX2, which together have its features.
llvm::ArrayRef<Level> levelsFrom(Cpu cpu) {
  return vectorLevels().drop_while([&](const Level &level) { return level.cpu != cpu; });
}

/// Returns the highest level of `levels` with a feature that the host lacks, or null.
const Level *firstMissing(llvm::ArrayRef<Level> levels) {
  for (const Level &level : levels)
    if (!llvm::all_of(level.features, has))
      return &level;
  return nullptr;
}

bool hasTiles() {
  return has("amx-tile") && has("amx-bf16") && has("amx-int8") &&
         !firstMissing(levelsFrom(Cpu::Avx512));
}

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

/// Caches of the first processors with AVX2 and AVX-512: Haswell and Skylake-SP.
constexpr CpuCaches avx2Caches{32 << 10, 256 << 10}, avx512Caches{32 << 10, 1 << 20};

/// Reads the caches of the first core, which glibc takes from CPUID. Systems that report none get
/// caches that every server since Skylake-SP has.
CpuCaches readHostCaches() {
  CpuCaches caches;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  caches = {sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)};
#endif
  if (caches.l1 <= 0)
    caches.l1 = avx512Caches.l1;
  if (caches.l2 <= 0)
    caches.l2 = avx512Caches.l2;
  return caches;
}

void setCaches(NativeCpu &cpu, CpuCaches caches) {
  cpu.l1Bytes = caches.l1;
  cpu.l2Bytes = caches.l2;
}

/// Parses `32K,1M`.
std::optional<CpuCaches> parseCaches(llvm::StringRef text) {
  auto size = [](llvm::StringRef part) -> int64_t {
    int64_t unit = part.consume_back("K") ? 1 << 10 : part.consume_back("M") ? 1 << 20 : 1;
    uint32_t number = 0;
    return part.getAsInteger(10, number) ? 0 : number * unit;
  };
  auto [first, second] = text.split(',');
  CpuCaches caches{size(first), size(second)};
  constexpr int64_t least = 4 << 10, most = int64_t(1) << 30;
  bool valid = least <= caches.l1 && caches.l1 <= caches.l2 && caches.l2 <= most;
  return valid ? std::optional(caches) : std::nullopt;
}

NativeCpu makeHostCpu(bool tiles) {
  NativeCpu cpu;
  setCaches(cpu, readHostCaches());
  cpu.tiles = tiles;
  cpu.tilesF16 = tiles && has("amx-fp16");
  cpu.name = llvm::sys::getHostCPUName().str();
  cpu.vectorBits = !firstMissing(levelsFrom(Cpu::Avx512)) ? 512
                   : !firstMissing(levelsFrom(Cpu::Avx2)) ? 256
                                                          : 128;
  cpu.dotBf16 = cpu.vectorBits == 512 && has("avx512bf16");
  cpu.dotI8 = cpu.vectorBits == 512 && has("avx512vnni");
  for (const auto &feature : hostFeatures()) {
    bool on = feature.second && (tiles || !feature.first().starts_with("amx"));
    cpu.features.push_back((on ? "+" : "-") + feature.first().str());
  }
  llvm::sort(cpu.features);
  return cpu;
}

/// Returns the same instructions on every host that has them.
NativeCpu makeVectorCpu(Cpu level) {
  NativeCpu cpu;
  bool wide = level != Cpu::Avx2;
  cpu.name = wide ? "skylake-avx512" : "haswell"; // the first processors with the baselines
  cpu.vectorBits = wide ? 512 : 256;
  setCaches(cpu, wide ? avx512Caches : avx2Caches);
  for (const Level &part : levelsFrom(level)) {
    cpu.dotBf16 |= part.cpu == Cpu::Avx512Bf16;
    cpu.dotI8 |= part.cpu == Cpu::Avx512Vnni;
    for (const std::string &feature : part.features)
      cpu.features.push_back("+" + feature);
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
  return llvm::sys::getProcessTriple() + " " + name + " " + llvm::join(features, ",") + " caches " +
         std::to_string(l1Bytes) + " " + std::to_string(l2Bytes);
}

std::vector<std::string> penstock::cpu_names() {
  std::vector<std::string> names = {amxName.str()};
  for (const Level &level : vectorLevels())
    names.push_back(level.name.str());
  return names;
}

std::optional<Cpu> penstock::find_cpu(std::string_view name) {
  if (name == "host")
    return Cpu::Host;
  if (llvm::StringRef(name) == amxName)
    return Cpu::Amx;
  for (const Level &level : vectorLevels())
    if (level.name == llvm::StringRef(name))
      return level.cpu;
  return std::nullopt;
}

std::vector<std::string> penstock::host_cpu_names() {
  std::vector<std::string> names = cpu_names();
  llvm::erase_if(names, [](const std::string &name) {
    std::string why;
    return !findNativeCpu(*find_cpu(name), why);
  });
  return names;
}

/// Returns the level that PENSTOCK_CPU states, which restricts a whole program or test to the
/// instructions of an older processor.
static std::optional<Cpu> hostLevel(std::string &why) {
  const char *stated = std::getenv("PENSTOCK_CPU");
  if (!stated || !*stated)
    return Cpu::Host;
  std::optional<Cpu> level = find_cpu(stated);
  if (!level)
    why = "the environment variable PENSTOCK_CPU is `" + std::string(stated) + "`; levels are " +
          llvm::join(cpu_names(), ", ");
  return level;
}

/// Returns a level with its default caches.
static std::optional<NativeCpu> findLevel(Cpu level, std::string &why) {
  if (level == Cpu::Host) {
    std::optional<Cpu> stated = hostLevel(why);
    if (!stated)
      return std::nullopt;
    level = *stated;
  }
  if (level == Cpu::Host)
    return hostCpu(hasTiles() && tilesRefused().empty());
  if (level == Cpu::Amx) {
    if (!hasTiles())
      why = "this processor has no AMX";
    else if (!tilesRefused().empty())
      why = "the process may not use AMX: " + tilesRefused();
    else
      return hostCpu(/*tiles=*/true);
    return std::nullopt;
  }
  if (const Level *missing = firstMissing(levelsFrom(level))) {
    why = "this processor has no " + missing->extension.str();
    return std::nullopt;
  }
  return makeVectorCpu(level);
}

std::optional<NativeCpu> penstock::findNativeCpu(Cpu level, std::string &why) {
  std::optional<NativeCpu> cpu = findLevel(level, why);
  const char *stated = std::getenv("PENSTOCK_CACHES");
  if (!cpu || !stated || !*stated)
    return cpu;
  std::optional<CpuCaches> caches = parseCaches(stated);
  if (!caches) {
    why = "the environment variable PENSTOCK_CACHES is `" + std::string(stated) +
          "`; it has the sizes of the L1 and L2 data cache, e.g. 32K,1M";
    return std::nullopt;
  }
  setCaches(*cpu, *caches);
  return cpu;
}

CpuCaches penstock::cpu_caches(Cpu level) {
  std::string why;
  std::optional<NativeCpu> cpu = findNativeCpu(level, why);
  return cpu ? CpuCaches{cpu->l1Bytes, cpu->l2Bytes} : readHostCaches();
}
