//===- Native.cpp - Run time of native code on a core ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Native.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <unordered_map>

namespace penstock::timing {
namespace {

/// Caches are not replaced in the exact order of use: objects that almost fill one are found
/// in part.
constexpr double surelyFits = 0.7, surelyNot = 1.4;

/// Share that is found in a cache after \p distance bytes of other objects.
double hitShare(double distance, double capacity) {
  return std::clamp((surelyNot - distance / capacity) / (surelyNot - surelyFits), 0.0, 1.0);
}

double softMax(double exponent, double a, double b) {
  double most = std::max(a, b);
  if (most <= 0)
    return 0;
  return most * std::pow(std::pow(a / most, exponent) + std::pow(b / most, exponent), 1 / exponent);
}

/// Cycles of a product whose operands are in L1: blocks of sums of full size, and those that
/// remain at the right and below.
double productCycles(const NativeProduct &p, const hw::Cpu &cpu) {
  auto parts = [](int64_t size, int64_t step) {
    std::vector<std::pair<int64_t, int64_t>> sizes; // and how many
    if (step > 0 && size / step)
      sizes.emplace_back(step, size / step);
    if (step > 0 && size % step)
      sizes.emplace_back(size % step, 1);
    return sizes;
  };
  double cycles = p.tileRows > 1 ? cpu.tileSetup.value : 0;
  for (auto [columns, strips] : parts(p.n, p.columns))
    for (auto [rows, blocks] : parts(p.m, p.rows)) {
      double wide = std::ceil(double(columns) / double(p.lanes));
      double high = std::ceil(double(rows) / double(p.tileRows));
      double loads =
          p.tileRows > 1 ? (wide + high) * cpu.tileLoad.value : (wide + high) / cpu.loads.value;
      double instruction = p.tileRows > 1 ? cpu.tileProduct.value : p.instruction;
      double step = std::max(wide * high * instruction, loads);
      double ends;
      if (p.tileRows > 1) {
        ends = cpu.tileSums.value * (p.loadsSums ? 1 : 0.5) * wide * high / 4;
      } else {
        // A sum waits for the one before it.
        step = std::max(step, cpu.fmaLatency.value);
        ends = wide * high * ((p.loadsSums ? 1 : 0) / cpu.loads.value + 1 / cpu.stores.value) +
               cpu.rowStart.value;
      }
      cycles += double(strips * blocks) * (double(p.steps) * step + ends);
    }
  return cycles;
}

double vectorCycles(const VectorWork &v, const hw::Cpu &cpu) {
  double arithmetic = (v.arithmetic + v.maxima * cpu.maximum.value) / cpu.ports.value +
                      v.exponentials * cpu.exponential.value;
  double chains = v.maximumVectors * cpu.maximumStep.value + v.sumVectors * cpu.sumStep.value;
  double busy = std::max({arithmetic, v.divisions * cpu.division.value, v.loads / cpu.loads.value,
                          v.stores / cpu.stores.value, chains});
  double packing = v.transposes * cpu.transpose.value + v.packedTiles * cpu.packTiles.value +
                   v.packedPairs * cpu.packPairs.value + v.packedQuads * cpu.packQuads.value +
                   v.packedColumns * cpu.packColumns.value + v.packCalls * cpu.packCall.value;
  return busy + packing + v.rows * cpu.rowStart.value + v.sums * cpu.sumEnd.value +
         v.rowMaxima * cpu.maximumEnd.value + v.scalars * cpu.scalar.value;
}

/// Bytes that a product reads more than once, beyond L1.
double againBytes(const NativeProduct &p, const hw::Cpu &cpu) {
  double strips = std::ceil(double(p.n) / double(p.columns));
  double blocks = std::ceil(double(p.m) / double(p.rows));
  // A strip of B is used by all blocks of rows; A passes by for each strip.
  double l1 = double(cpu.l1Bytes);
  double right = (1 - hitShare(p.stripBytes, l1)) * (blocks - 1) * p.rightBytes;
  double left = (1 - hitShare(p.leftBytes + p.stripBytes, l1)) * (strips - 1) * p.leftBytes;
  return left + right;
}

/// Objects in the order of their last use.
class Stack {
public:
  /// Bytes of objects that were touched since, itself included; negative: never touched.
  double touch(uint32_t object, double bytes, double most) {
    double distance = 0;
    auto found = where.find(object);
    if (found == where.end()) {
      order.push_front({object, bytes});
      where[object] = order.begin();
      return -1;
    }
    for (auto at = order.begin(); at != found->second && distance <= most; ++at)
      distance += at->bytes;
    found->second->bytes = std::max(found->second->bytes, bytes);
    distance += found->second->bytes;
    order.splice(order.begin(), order, found->second);
    return distance;
  }

private:
  struct Entry {
    uint32_t object;
    double bytes;
  };
  std::list<Entry> order;
  std::unordered_map<uint32_t, std::list<Entry>::iterator> where;
};

class Launch {
public:
  Launch(const NativeKernel &kernel, const hw::Cpu &cpu) : kernel(kernel), cpu(cpu) {
    for (const NativeStep &step : kernel.steps) {
      core.push_back(coreCycles(step, cpu));
      again.push_back(step.kind == NativeStep::Kind::Product ? againBytes(step.product, cpu) : 0);
    }
  }

  NativePrediction run() {
    NativePrediction all = empty(), later = empty();
    size_t simulated = kernel.blocks.size(), laterBlocks = 0;
    for (size_t i = 0; i < simulated; ++i) {
      NativePrediction one = empty();
      for (const NativeEvent &event : kernel.blocks[i])
        execute(event, one);
      add(all, one, 1);
      if (i >= simulated / 2) {
        add(later, one, 1);
        ++laterBlocks;
      }
    }
    // Threads take one block after the other; the last round may not have one for each.
    double mine = std::ceil(kernel.allBlocks / double(kernel.threads) - 1e-9);
    if (laterBlocks)
      add(all, later, (mine - double(simulated)) / double(laterBlocks));
    all.fixed = mine * cpu.block.value + cpu.launch.value;
    all.cycles = all.fixed;
    for (double cycles : all.ofStep)
      all.cycles += cycles;
    all.seconds = all.cycles / (cpu.clock.value * 1e9);
    return all;
  }

private:
  NativePrediction empty() const {
    NativePrediction p;
    p.ofStep.resize(kernel.steps.size());
    p.waiting.resize(kernel.steps.size());
    return p;
  }

  static void add(NativePrediction &to, const NativePrediction &p, double times) {
    for (size_t i = 0; i < p.ofStep.size(); ++i) {
      to.ofStep[i] += times * p.ofStep[i];
      to.waiting[i] += times * p.waiting[i];
    }
    to.l2Bytes += times * p.l2Bytes;
    to.l3Bytes += times * p.l3Bytes;
    to.memoryBytes += times * p.memoryBytes;
  }

  struct Moved {
    double l2 = 0, l3 = 0, memory = 0;
  };

  /// Shares of what lies so far back in the stack that come from each level.
  Moved levels(double distance) const {
    // The launch before left objects that this one never touched.
    if (distance < 0)
      distance = kernel.tensorBytes / double(kernel.threads);
    Moved shares;
    double missL1 = 1 - hitShare(distance, double(cpu.l1Bytes));
    double missL2 = 1 - hitShare(distance, double(cpu.l2Bytes));
    double missL3 = 1 - hitShare(distance, double(cpu.l3Bytes));
    shares.l2 = missL1 - missL2;
    shares.l3 = missL2 - missL3;
    shares.memory = missL3;
    return shares;
  }

  void execute(const NativeEvent &event, NativePrediction &into) {
    double inner = 0, outer = 0; // cycles of transfers between L1 and L2, and beyond L2
    double most = surelyNot * double(cpu.l3Bytes);
    for (const NativeAccess &access : event.accesses) {
      double distance = stack.touch(access.object, access.bytes, most);
      Moved from = levels(distance);
      double bytes = access.bytes;
      if (access.rowBytes > 0)
        bytes *= 1 + cpu.rowBytes.value / access.rowBytes;
      auto cycles = [&](const hw::Measured &read, const hw::Measured &write) {
        return bytes / (access.write ? write : read).value;
      };
      // Bytes from beyond L2 pass it.
      inner += (from.l2 + from.l3 + from.memory) * cycles(cpu.l2Read, cpu.l2Write);
      outer += from.l3 * cycles(cpu.l3Read, cpu.l3Write) +
               from.memory * cycles(cpu.memoryRead, cpu.memoryWrite);
      into.l2Bytes += event.times * access.bytes * from.l2;
      into.l3Bytes += event.times * access.bytes * from.l3;
      into.memoryBytes += event.times * access.bytes * from.memory;
    }
    if (again[event.step] > 0) {
      const NativeProduct &p = kernel.steps[event.step].product;
      double inL2 = hitShare(p.leftBytes + p.rightBytes + p.sumBytes, double(cpu.l2Bytes));
      inner += again[event.step] / cpu.l2Read.value;
      outer += again[event.step] * (1 - inL2) / cpu.l3Read.value;
      into.l2Bytes += event.times * again[event.step] * inL2;
      into.l3Bytes += event.times * again[event.step] * (1 - inL2);
    }
    double moving = std::max(inner, outer);
    double computing = event.share * core[event.step];
    double cycles = softMax(cpu.boundExponent.value, computing, moving);
    into.ofStep[event.step] += event.times * cycles;
    into.waiting[event.step] += event.times * (cycles - computing);
  }

  const NativeKernel &kernel;
  const hw::Cpu &cpu;
  std::vector<double> core, again;
  Stack stack;
};

/// 90 % of a normal distribution lie within this many standard deviations.
constexpr double ninetyPercent = 1.645;
/// rms of log(predicted / measured) on the rows of unittests/Timing/data/native.csv.
constexpr double residual = 0.13;

} // namespace

double coreCycles(const NativeStep &step, const hw::Cpu &cpu) {
  if (step.kind == NativeStep::Kind::Product)
    return productCycles(step.product, cpu);
  return vectorCycles(step.vectors, cpu);
}

NativePrediction predictNative(const NativeKernel &kernel, const hw::Cpu &cpu,
                               const NativeOptions &options) {
  NativePrediction p = Launch(kernel, cpu).run();
  p.seconds *= options.factor;
  double variance = residual * residual;
  if (!options.measured)
    variance += std::pow(cpu.machine.value, 2);
  p.spread = std::exp(ninetyPercent * std::sqrt(variance));
  return p;
}

} // namespace penstock::timing
