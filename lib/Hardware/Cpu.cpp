//===- Cpu.cpp - Constants of processors, with their sources --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Hardware/Cpu.h"

namespace penstock::hw {
namespace {

using By = Measured::By;

constexpr std::string_view probe = "benchmarks/native/model.cpp, constants";
constexpr std::string_view manual = "Intel, Optimization Reference Manual";

Measured around(double value, double tolerance, By by, std::string_view source) {
  return {value, value * (1 - tolerance), value * (1 + tolerance), by, source};
}
Measured probed(double value, double tolerance) {
  return around(value, tolerance, By::Microbenchmark, probe);
}

Cpu graniteRapids() {
  Cpu c;
  c.name = "Granite Rapids";
  c.key = "graniterapids";
  c.l1Bytes = 48 << 10;
  c.l2Bytes = 2 << 20;
  c.l3Bytes = 64 << 20; // of 480 MB that all tenants share; 32 MB were probed
  c.clock = {3.3, 2.7, 3.4, By::Microbenchmark, probe};
  c.ports = around(2, 0, By::Vendor, manual);
  c.loads = around(2, 0, By::Vendor, manual);
  c.stores = probed(0.95, 0.1);
  c.fmaLatency = around(4, 0, By::Vendor, manual);
  c.division = probed(9.8, 0.05);
  c.maximum = probed(7.9, 0.1);
  c.exponential = probed(9.1, 0.05);
  c.rowStart = probed(1, 0.5);
  c.sumStep = probed(1, 0.1);
  c.sumEnd = probed(4, 0.3);
  c.maximumStep = probed(2.1, 0.1);
  c.maximumEnd = probed(7.5, 0.2);
  c.transpose = probed(74, 0.05);
  c.packTiles = probed(7.8, 0.1);
  c.packPairs = probed(3.3, 0.1);
  c.packQuads = probed(9.7, 0.1);
  c.packColumns = probed(11.2, 0.1);
  c.scalar = {1.5, 1, 3, By::Assumed, "loads, stores and conversions of single elements"};
  c.tileProduct = around(16, 0.05, By::Vendor, manual);
  c.tileLoad = around(8, 0, By::Vendor, manual);
  c.tileSums = probed(112, 0.05);
  c.tileSetup = probed(183, 0.05);
  c.packCall = probed(60, 0.2);
  c.l2Read = probed(50, 0.1);
  c.l2Write = probed(16.5, 0.1);
  c.l3Read = probed(9.5, 0.1);
  c.l3Write = probed(9.5, 0.1);
  c.memoryRead = {4, 2, 9, By::Assumed, "not probed: tensors of the tables are in L3"};
  c.memoryWrite = {3, 2, 9, By::Assumed, "not probed: tensors of the tables are in L3"};
  c.rowBytes = probed(40, 0.5);
  c.block = probed(175, 0.2);
  c.launch = probed(935, 0.3);
  c.boundExponent = {1.6, 1.4, 3, By::Microbenchmark,
                     "benchmarks/native/model.cpp: copies from L2 to L1, 31 bytes per cycle"};
  c.machine = {0.12, 0.12, 0.12, By::Assumed, "as for GPUs"};
  return c;
}

constexpr CpuConstant constants[] = {
    {"clock", "GHz", &Cpu::clock},
    {"ports", "instructions/cycle", &Cpu::ports},
    {"loads", "instructions/cycle", &Cpu::loads},
    {"stores", "instructions/cycle", &Cpu::stores},
    {"FMA latency", "cycles", &Cpu::fmaLatency},
    {"division", "cycles", &Cpu::division},
    {"maximum", "instructions", &Cpu::maximum},
    {"exponential", "cycles", &Cpu::exponential},
    {"start of a row", "cycles", &Cpu::rowStart},
    {"step of a sum", "cycles", &Cpu::sumStep},
    {"end of a sum", "cycles", &Cpu::sumEnd},
    {"end of a maximum", "cycles", &Cpu::maximumEnd},
    {"step of a maximum", "cycles", &Cpu::maximumStep},
    {"transpose", "cycles", &Cpu::transpose},
    {"pack tiles", "cycles", &Cpu::packTiles},
    {"pack pairs", "cycles", &Cpu::packPairs},
    {"pack quads", "cycles", &Cpu::packQuads},
    {"pack columns", "cycles", &Cpu::packColumns},
    {"scalar", "cycles", &Cpu::scalar},
    {"tile product", "cycles", &Cpu::tileProduct},
    {"tile load", "cycles", &Cpu::tileLoad},
    {"tile sums", "cycles", &Cpu::tileSums},
    {"tile setup", "cycles", &Cpu::tileSetup},
    {"pack call", "cycles", &Cpu::packCall},
    {"L2 read", "bytes/cycle", &Cpu::l2Read},
    {"L2 write", "bytes/cycle", &Cpu::l2Write},
    {"L3 read", "bytes/cycle", &Cpu::l3Read},
    {"L3 write", "bytes/cycle", &Cpu::l3Write},
    {"memory read", "bytes/cycle", &Cpu::memoryRead},
    {"memory write", "bytes/cycle", &Cpu::memoryWrite},
    {"row bytes", "bytes", &Cpu::rowBytes},
    {"block", "cycles", &Cpu::block},
    {"launch", "cycles", &Cpu::launch},
    {"bound exponent", "", &Cpu::boundExponent},
    {"machine", "", &Cpu::machine},
};

} // namespace

std::span<const CpuConstant> cpuConstants() { return constants; }

const std::vector<Cpu> &cpus() {
  static const auto *all = new std::vector<Cpu>{graniteRapids()};
  return *all;
}

const Cpu *findCpu(std::string_view key) {
  for (const Cpu &cpu : cpus())
    if (cpu.key == key)
      return &cpu;
  return nullptr;
}

} // namespace penstock::hw
