//===- ChipPace.cpp - The emulator's clock by the timing model ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Emulated/ChipPace.h"
#include "PTX/InstructionTable.h"
#include "PTX/Module.h"

#include <algorithm>
#include <string_view>

using namespace penstock;
using emu::AsyncTimes;
using emu::AsyncWork;
using emu::InstructionTimes;
using emu::Unit;

namespace {

constexpr double warpLanes = 32;
constexpr double quarters = 4;

/// Multiply-adds of 16 bits per cycle and quarter, by wgmma.
constexpr double productsPerQuarter = 512;

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Registers of a vector operand, or 1.
double registersOf(const ptx::Operand &operand) {
  return operand.kind == ptx::Operand::Kind::Vector ? double(operand.elements.size()) : 1;
}

bool is64(const ptx::Instruction &inst) {
  return inst.has(".u64") || inst.has(".s64") || inst.has(".b64");
}

/// ptxas renames registers instead of moving them, and addresses need no conversion.
bool isFree(const ptx::Instruction &inst, std::string_view name) {
  if (isOneOf(name, {"mov", "cvta", "cvta.to", "pragma"}))
    return true;
  // Extension to 64 bits and back is part of the instruction that uses it, mostly.
  return name == "cvt" && is64(inst) && (inst.has(".u32") || inst.has(".s32"));
}

} // namespace

const hw::Chip &penstock::chipForRuns(const std::string &architecture) {
  const hw::Chip *chip = hw::findChip(architecture);
  return chip ? *chip : *hw::findChip("H100");
}

ChipPace::ChipPace(const hw::Chip &chip) : chip(chip) {
  conditions.ghz = chip.ghz();
  warpIssue = chip.warpIssue.value;
  barrierCycles = chip.barrier.value;
  copyIssue = chip.copyIssue.value;
  productIssue = chip.productIssue.value;
  productQueue = chip.productQueue.value;
}

AsyncTimes ChipPace::times(const AsyncWork &work) const {
  timing::Op op;
  switch (work.engine) {
  case AsyncWork::Engine::None:
    return {};
  case AsyncWork::Engine::Product: {
    hw::Products all =
        chip.architecture->products(work.m, work.n, work.k, work.elementBytes, work.blocks);
    return {all.busy, all.tail, 0};
  }
  case AsyncWork::Engine::ThreadLoad:
    return {0, chip.loadLatency.value * chip.ghz(), 0};
  case AsyncWork::Engine::StoreEnd:
    return {0, chip.rates.globalLatency.value * chip.ghz(), 0};
  case AsyncWork::Engine::Load:
  case AsyncWork::Engine::Store:
    op.engine = timing::Engine::Tma;
    op.bytes = double(work.bytes);
    op.rows = double(work.rows);
    op.rowBytes = work.rows ? op.bytes / op.rows : 0;
    op.copies = 1;
    break;
  }
  timing::OpTimes whole = timesOf(op, chip, conditions);
  if (work.engine == AsyncWork::Engine::Store) // until shared memory has been read
    return {whole.busy, whole.busy + chip.rates.sharedLatency.value, 0};
  // The latency of loads was measured with the barrier in it.
  double latency = chip.loadLatency.value * chip.ghz() - barrierCycles;
  return {whole.busy, latency, whole.latency - barrierCycles - latency};
}

InstructionTimes ChipPace::times(const ptx::Instruction &inst) const {
  std::string_view name = inst.form->name, family = inst.form->family;
  const hw::InstructionRates &rates = chip.rates;
  InstructionTimes times;
  auto on = [&](Unit unit, double busy, double issue = 1) {
    times.unit = unit;
    times.busy = busy;
    times.issue = issue;
    return times;
  };
  double integer = warpLanes * quarters / rates.integers.value;
  double special = warpLanes * quarters / chip.exponentials.value;
  if (isFree(inst, name)) {
    times.issue = 0;
    return times;
  }
  if (isOneOf(name, {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"}))
    return on(Unit::Special, special * (inst.has(".f32") ? 1 : 0.5));
  if (isOneOf(name, {"rcp", "sqrt", "div"}) && family == "Floating point")
    // An exact one refines the approximate one.
    return on(Unit::Special, special, inst.has(".approx") ? 1 : inst.has(".full") ? 3 : 8);
  if (family == "Floating point") {
    if (isOneOf(name, {"min", "max"}))
      return on(Unit::Alu, integer);
    bool pairs = inst.has(".f32x2");
    return on(Unit::Fma,
              (pairs || inst.has(".f64") ? 2 : 1) * warpLanes * quarters / chip.lanes.value);
  }
  if (family == "Integer arithmetic" && isOneOf(name, {"div", "rem"}))
    return on(Unit::Alu, 20 * integer, 20);
  if (isOneOf(family, {"Integer arithmetic", "Logic and shifts", "Comparison and selection",
                       "Moves and conversion"})) {
    // A constant rarely has bits in both words.
    bool constant = inst.operands.back().kind == ptx::Operand::Kind::Immediate;
    double words = is64(inst) && !(family == "Logic and shifts" && constant) ? 2 : 1;
    // ptxas shares sums and products between the pipes of integers and of multiply-adds.
    if (isOneOf(name, {"add", "sub", "mul", "mad", "shl", "mul.wide", "mad.wide"})) {
      times.issue = words;
      return times;
    }
    return on(Unit::Alu, words * integer, words);
  }
  if (family == "Warp-level operations") {
    if (isOneOf(name, {"shfl.sync", "redux.sync"}))
      return on(Unit::Shared, warpLanes / rates.shuffles.value);
    return times;
  }
  if (isOneOf(name, {"ld", "st", "ld.global.nc", "ldu"})) {
    if (inst.has(".param") || inst.has(".const") || inst.has(".param::entry"))
      return times;
    bool load = name != "st";
    const ptx::Operand &value = inst.operands[load ? 0 : 1];
    double bytes = warpLanes * registersOf(value) * ptx::typeBits(inst.type()) / 8;
    if (inst.has(".shared") || inst.has(".shared::cta")) {
      times.latency = load ? rates.sharedLatency.value : 0;
      return on(Unit::Shared, bytes / rates.sharedRate.value);
    }
    times.latency = load ? rates.globalLatency.value * chip.ghz() : 0;
    return on(Unit::Global, bytes / chip.streamRate.value);
  }
  if (name == "cp.async")
    return on(Unit::Global, warpLanes * 16 / chip.threadCopyRate.value);
  if (isOneOf(name, {"ldmatrix", "stmatrix"})) {
    double matrices = inst.has(".x4") ? 4 : inst.has(".x2") ? 2 : 1;
    times.latency = name == "ldmatrix" ? rates.sharedLatency.value : 0;
    return on(Unit::Shared, matrices * 128 / rates.sharedRate.value);
  }
  if (name == "mma.sync") {
    // m16n8, with 32 bytes along k but for the halves of some types.
    bool half = inst.has(".m16n8k8") && !inst.has(".tf32");
    double words = 16 * 8 * 16 * (half ? 0.5 : 1);
    return on(Unit::Matrix, words / productsPerQuarter / chip.syncProducts.value);
  }
  if (isOneOf(name, {"tcgen05.ld", "tcgen05.st"})) {
    const ptx::Operand &registers = inst.operands[name == "tcgen05.ld" ? 0 : 1];
    double cycles = warpLanes * registersOf(registers) * 4 / rates.tensorRate.value;
    times.tensorMemory = true;
    times.latency = rates.tensorLatency.value + cycles;
    return on(Unit::Tensor, cycles);
  }
  if (isOneOf(name, {"tcgen05.wait::ld", "tcgen05.wait::st"})) {
    times.tensorMemory = times.blocking = true;
    return times;
  }
  if (isOneOf(name, {"bar.sync", "barrier.sync", "bar.cta.sync", "barrier.cta.sync", "bar.red",
                     "barrier.cluster.wait"})) {
    times.blocking = true;
    times.latency = rates.meet.value;
  }
  return times;
}
