//===- TileProbe.cpp - State of the processor's tile unit -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TileProbe.h"
#include "Measure.h"

#include <atomic>
#include <cstring>
#include <immintrin.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int warmUps = 12, repeats = 400;

struct alignas(64) Operands {
  Operands() {
    auto numbers = bench::numbers<float>(4 * 512, 7);
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, &numbers[i], sizeof bits);
      tiles[i / 512][i % 512] = uint16_t(bits >> 16);
    }
  }
  uint16_t tiles[4][512];
};

struct alignas(64) Configuration {
  Configuration() {
    bytes[0] = 1;
    for (int tile = 0; tile < 8; ++tile) {
      bytes[16 + 2 * tile] = 64;
      bytes[48 + tile] = 16;
    }
  }
  uint8_t bytes[64] = {};
};

#define PENSTOCK_TILES __attribute__((target("amx-tile,amx-bf16")))

PENSTOCK_TILES void multiply() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

PENSTOCK_TILES void load(const Operands &operands) {
  _tile_loadd(4, operands.tiles[0], 64);
  _tile_loadd(5, operands.tiles[1], 64);
  _tile_loadd(6, operands.tiles[2], 64);
  _tile_loadd(7, operands.tiles[3], 64);
}

PENSTOCK_TILES double nanosecondsOf(bool loads) {
  static const Operands operands;
  static const Configuration configuration;
  _tile_loadconfig(&configuration);
  load(operands);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  double start = 0;
  for (int i = -warmUps; i < repeats; ++i) {
    if (i == 0)
      start = bench::now(CLOCK_MONOTONIC);
    if (loads)
      load(operands);
    multiply();
  }
  double seconds = bench::now(CLOCK_MONOTONIC) - start;
  _tile_release();
  return 1e9 * seconds / (4 * repeats);
}

} // namespace

bool bench::hasTiles() {
  static const bool has = [] {
    const char *level = std::getenv("PENSTOCK_CPU");
    if (level && *level && std::string(level) != "amx")
      return false;
    if (!__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-int8"))
      return false;
    constexpr long requestPermission = 0x1023, tileData = 18;
    return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  }();
  return has;
}

bool bench::hasTilesOfF16() { return hasTiles() && __builtin_cpu_supports("amx-fp16"); }

double bench::probeTiles(int threads) {
  std::atomic<double> other{0};
  std::thread helper;
  if (threads > 1)
    helper = std::thread([&] { other = nanosecondsOf(true); });
  double own = nanosecondsOf(true);
  if (threads > 1)
    helper.join();
  return std::max(own, other.load());
}

double bench::peakOfTiles() { return nanosecondsOf(false); }

bool bench::tilesAreFast(int threads) {
  constexpr double allowed = 1.4;
  static double fastest = peakOfTiles();
  fastest = std::min(fastest, peakOfTiles());
  return probeTiles(threads) < allowed * fastest;
}
