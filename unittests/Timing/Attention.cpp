//===- Attention.cpp - Attention kernels, for timing ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Attention.h"

#include <algorithm>

namespace penstock::timing {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t elementBytes = 2;
/// f32 operations per score: scale and subtract, maximum (half rate), sum, conversion.
constexpr double operationsPerScore = 5;
// Warps of a warpgroup are in step: exponentials do not overlap with the arithmetic of
// the same scores, nor with that of another warpgroup, which waits for its turn. So both
// are work of the general cores.

/// Cycles between the steps of a role: waits, named barriers, loop control.
constexpr double stepCycles = 30;

class Builder {
public:
  Builder(const Attention &a, const hw::Chip &chip) : a(a), chip(chip) {}

  Kernel run() {
    Kernel kernel;
    if (a.form == Attention::Form::PingPong)
      pingPong(kernel.loop);
    else
      inOrder(kernel.loop);
    int64_t rowTiles = ceilDiv(a.sequence, a.tileM);
    double trips = 0;
    for (int64_t i = 0; i < rowTiles; ++i)
      trips +=
          double(ceilDiv(a.causal ? std::min(a.sequence, (i + 1) * a.tileM) : a.sequence, a.tileN));
    kernel.trips = trips / double(rowTiles);
    // Tiles of a head share K and V; Q is a tile's own.
    int64_t allHeads = a.batch * a.heads;
    kernel.raster.tilesM = allHeads;
    kernel.raster.tilesN = rowTiles;
    kernel.raster.stripM = double(2 * a.sequence * a.dim * elementBytes);
    kernel.raster.ownBytes = double(a.tileM * a.dim * elementBytes);
    kernel.raster.totalBytes = double(3 * allHeads * a.sequence * a.dim * elementBytes);
    kernel.storedBytes = double(allHeads * a.sequence * a.dim * elementBytes);
    kernel.fabricBytes = double(2 * a.tileN * a.dim * elementBytes);
    kernel.flop = 4.0 * double(allHeads) * double(a.sequence) * double(a.sequence) * double(a.dim) *
                  (a.causal ? 0.5 : 1);
    kernel.sharesIssue = true;
    if (a.form == Attention::Form::PingPong) {
      kernel.persistent = true;
      // Longest tiles first: the last round is not much longer than the others.
      kernel.balanced = a.causal;
      kernel.needs.fixed = 1;
      kernel.epilogueCycles = epilogue(double(consumers())) + ramp();
    } else {
      kernel.needs.fixed = 2;
      if (a.causal) // blocks in plain order: a long one may be the last
        kernel.longestTrips = double(ceilDiv(a.sequence, a.tileN));
      kernel.epilogueCycles = epilogue(1) / chip.bulkStore.value;
    }
    return kernel;
  }

private:
  int64_t consumers() const { return a.tileM / 64; }

  Op load() const {
    Op op;
    op.engine = Engine::Tma;
    op.bytes = double(a.tileN * a.dim * elementBytes);
    double boxes = std::max(1.0, double(a.dim * elementBytes) / 128);
    op.rows = double(a.tileN) * boxes;
    op.rowBytes = 128;
    op.copies = boxes;
    return op;
  }

  Op product(int64_t m, int64_t n, int64_t k) const {
    hw::Products all = chip.architecture->products(m, n, k, elementBytes);
    Op op;
    op.engine = Engine::Tensor;
    op.products = double(all.count);
    op.productCycles = all.interval();
    op.tail = all.tail;
    op.issueCycles = double(all.count) * chip.productIssue.value;
    return op;
  }

  Op compute(Engine engine, double cycles) const {
    Op op;
    op.engine = engine;
    op.cycles = cycles;
    op.blocking = true;
    op.handOver = stepCycles;
    return op;
  }

  double scoreCycles(int64_t rows) const {
    return double(rows * a.tileN) * operationsPerScore / (chip.lanes.value * chip.warpIssue.value);
  }
  double exponentialCycles(int64_t rows) const {
    return double(rows * a.tileN) / chip.exponentials.value;
  }
  double rescaleCycles(int64_t rows) const {
    return double(rows * a.dim) / (chip.lanes.value * chip.warpIssue.value);
  }

  double epilogue(double groups) const {
    return chip.bulkStore.value * chip.storeCycles.value * double(a.tileM * a.dim) / groups + 500;
  }
  /// The first scores of a tile, which no product of the tile before hides.
  double ramp() const {
    hw::Products first = chip.architecture->products(a.tileM, a.tileN, a.dim, elementBytes);
    return first.busy / double(consumers()) + first.tail + scoreCycles(64) + exponentialCycles(64);
  }

  void pingPong(Loop &loop) {
    loop.roles = {{"load", 1}};
    Op k = load(), v = load();
    k.issueCycles = v.issueCycles = k.copies * chip.copyIssue.value;
    loop.ops = {k, v};
    for (int64_t w = 0; w < consumers(); ++w) {
      auto role = unsigned(loop.roles.size());
      loop.roles.push_back({"warpgroup " + std::to_string(w), 4});
      auto add = [&](Op op) {
        op.role = role;
        loop.ops.push_back(op);
        return unsigned(loop.ops.size() - 1);
      };
      Op scores = product(64, a.tileN, a.dim), output = product(64, a.dim, a.tileN);
      scores.awaits = {{0, 0, 0, 0}};
      unsigned s = add(scores);
      // The product of the block before this one.
      output.awaits = {{1, 1, 1, 0}};
      unsigned o = add(output);
      Op softmax = compute(Engine::Cuda, scoreCycles(64));
      softmax.awaits = {{s, 0, 0, 0}};
      add(softmax);
      add(compute(Engine::Cuda, exponentialCycles(64)));
      Op rescale = compute(Engine::Cuda, rescaleCycles(64));
      rescale.awaits = {{o, 0, 0, 0}};
      add(rescale);
      // A slot is released when every warpgroup has read it.
      loop.ops[0].awaits.push_back({s, a.stages, a.stages, chip.barrier.value});
      loop.ops[1].awaits.push_back({o, a.stages - 1, a.stages, chip.barrier.value});
      if (w == 0)
        loop.paced = s;
    }
  }

  void inOrder(Loop &loop) {
    loop.roles = {{"all", 4}};
    Op k = load();
    k.bytes *= 2;
    k.rows *= 2;
    k.byThreads = true;
    k.ahead = 1;
    Op scores = product(a.tileM, a.tileN, a.dim), output = product(a.tileM, a.dim, a.tileN);
    for (Op *op : {&scores, &output}) {
      // mma.sync has a part of the rate of wgmma, and its operands pass through registers:
      // each of four warps loads all of K and of V.
      op->productCycles /= chip.syncProducts.value;
      op->blocking = true;
      op->issueCycles = 0;
    }
    scores.awaits = {{0, 0, 0, 0}};
    scores.issueDelay = output.issueDelay =
        4 * double(a.tileN * a.dim * elementBytes) / chip.threadCopyRate.value;
    loop.ops = {k,
                scores,
                compute(Engine::Cuda, scoreCycles(a.tileM)),
                compute(Engine::Cuda, exponentialCycles(a.tileM)),
                compute(Engine::Cuda, rescaleCycles(a.tileM)),
                output};
    loop.paced = 1;
  }

  const Attention &a;
  const hw::Chip &chip;
};

} // namespace

Kernel attention(const Attention &a, const hw::Chip &chip) { return Builder(a, chip).run(); }

} // namespace penstock::timing
