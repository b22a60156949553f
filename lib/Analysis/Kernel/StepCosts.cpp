//===- StepCosts.cpp - Costs of a kernel's steps --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/StepCosts.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Layout/Swizzle.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace penstock {
namespace {

using timing::Engine;
using timing::StepCost;

/// Elements per cycle of a warp that converts and stores to shared memory.
constexpr double elementsPerWarp = 16;
/// Bytes per cycle of a warp that loads tensor memory, and cycles until they are there.
constexpr double tensorBytesPerWarp = 55, tensorLoadLatency = 30;
/// Cycles from a step of threads to the next.
constexpr double stepLatency = 30;

double elementBytes(Type element) {
  return std::max(1.0, double(element.getIntOrFloatBitWidth()) / 8);
}
double bytesOf(MemRefType type) {
  return double(type.getNumElements()) * elementBytes(type.getElementType());
}

class Costs {
public:
  Costs(Operation *op, const hw::Chip &chip)
      : op(op), chip(chip), hopper(chip.architecture->limits.tensorColumns == 0) {
    nv::ThreadScope scope = nv::scopeOf(op);
    warps = scope.oneThread ? 1 : std::max<int64_t>(1, scope.warps);
  }

  StepCost get() {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](nv::TmaLoadOp load) { copy(cast<MemRefType>(load.getTarget().getType())); })
        .Case([&](nv::AsyncCopyOp load) {
          copy(cast<MemRefType>(load.getTarget().getType()));
          cost.work.byThreads = true;
          cost.scopeWarps = warps;
        })
        .Case([&](nv::WgmmaOp mma) {
          product(mma.getA(), mma.getB(), mma.getAcc(), false);
          cost.scopeWarps = warps;
        })
        .Case([&](nv::TensorMmaOp mma) {
          product(mma.getA(), mma.getB(), mma.getAcc(), nv::isPaired(op),
                  mma.getPart() ? nv::tensorParts(cast<MemRefType>(mma.getAcc().getType())) : 1);
        })
        .Case([&](nv::TmaStoreOp store) {
          // Reading the source takes 130 cycles and 52 per kilobyte, half of it beside the
          // next slice; on Hopper only the whole is known.
          double kilobytes = bytesOf(cast<MemRefType>(store.getSource().getType())) / 1024;
          cost.work.cycles = hopper ? 500 : 130 + 52 * kilobytes * chip.bulkStore.value;
        })
        .Case([&](nv::TensorLoadOp load) { tensorAccess(load.getSource()); })
        .Case([&](nv::TensorStoreOp store) { tensorAccess(store.getTarget()); })
        .Case([&](tile::MapOp map) {
          double plain = 0, special = 0;
          map.getBody().walk([&](Operation *inner) {
            (isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp, math::ErfOp,
                 math::RsqrtOp, math::SqrtOp>(inner)
                 ? special
                 : plain) += 1;
          });
          threads(map.getTarget(), std::max(1.0, plain), special);
        })
        .Case([&](tile::CopyOp move) { threads(move.getTarget(), 1, 0); })
        .Case([&](tile::FillOp fill) { threads(fill.getTarget(), 0.5, 0); })
        .Case([&](tile::ReduceOp reduce) { threads(reduce.getSource(), 1, 0); });
    return cost;
  }

private:
  void copy(MemRefType type) {
    cost.work.engine = Engine::Tma;
    cost.work.bytes = bytesOf(type);
    double row = double(type.getShape().back()) * elementBytes(type.getElementType());
    double box = std::min(row, 128.0);
    if (auto layout = nv::sharedLayoutOf(type); layout && layout->swizzle != layout::Swizzle::None)
      box = std::min(box, double(layout::spanBytes(layout->swizzle)));
    double boxes = std::ceil(row / box);
    double rows = cost.work.bytes / row;
    cost.work.rowBytes = box;
    cost.work.rows = rows * boxes;
    cost.work.copies = boxes * std::ceil(rows / 256);
    if (auto load = dyn_cast<nv::TmaLoadOp>(op); load && load.getMulticast())
      cost.receivers = nv::clusterSize(op);
  }

  /// One of \p parts of the rows.
  void product(Value a, Value b, Value acc, bool pair, int64_t parts = 1) {
    nv::Product p = nv::productOf(a, b, acc, pair);
    int64_t bytes =
        std::max<int64_t>(1, cast<MemRefType>(a.getType()).getElementTypeBitWidth() / 8);
    int64_t blocks = pair ? 2 : 1;
    hw::Products all = chip.architecture->products(p.m / blocks / parts, p.n, p.k, bytes, blocks);
    cost.work.engine = Engine::Tensor;
    cost.work.products = double(all.count);
    cost.work.productCycles = all.interval();
    cost.work.tail = all.tail;
    // Warpgroups issue their products side by side.
    double issuers = hopper ? std::max(1.0, double(warps) / 4) : 1;
    cost.work.issueCycles = double(all.count) * chip.productIssue.value / issuers;
  }

  void tensorAccess(Value tile) {
    double bytes = bytesOf(cast<MemRefType>(tile.getType()));
    cost.work.cycles = tensorLoadLatency + bytes / (tensorBytesPerWarp * double(warps));
    cost.scopeWarps = warps;
  }

  /// A step of threads: \p plain operations and \p special functions per element.
  void threads(Value tile, double plain, double special) {
    auto type = cast<MemRefType>(tile.getType());
    if (!type.hasStaticShape())
      return;
    auto elements = double(type.getNumElements());
    tile::Space space = tile::spaceOf(type);
    cost.scopeWarps = warps;
    if (space == tile::Space::Shared) {
      cost.work.cycles = stepLatency + elements / (elementsPerWarp * double(warps));
      if (hopper) // staging for a bulk store, from registers in the layout of wgmma
        cost.work.cycles =
            chip.bulkStore.value * chip.storeCycles.value * elements * 4 / double(warps);
      return;
    }
    if (space == tile::Space::Global) {
      cost.work.cycles =
          hopper ? chip.storeCycles.value * elements * 4 / double(warps) : 60 + bytesOf(type) / 32;
      return;
    }
    // Registers: each warp issues one instruction of 32 lanes per cycle, of which four
    // issue immediately.
    double perCycle = 32 * std::min<double>(4, double(warps)) * chip.warpIssue.value;
    cost.work.cycles = plain * elements / perCycle;
    cost.exponentialCycles = special * elements / chip.exponentials.value;
  }

  Operation *op;
  const hw::Chip &chip;
  bool hopper;
  int64_t warps = 1;
  StepCost cost;
};

} // namespace

timing::StepCost stepCost(Operation *op, const hw::Chip &chip) { return Costs(op, chip).get(); }

} // namespace penstock
