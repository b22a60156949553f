//===- ChooseThreads.cpp - Number of threads of a kernel ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile program says nothing about threads. One group of warps executes it, with
// enough registers for its local tiles.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"

namespace penstock {
#define GEN_PASS_DEF_CHOOSETHREADS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Registers of a thread that tiles can have. A thread has at most 255 registers, 128 in a
/// block of 512. Tiles are copied where code meets, so that more than a part of them spills.
/// Two warpgroups of wgmma keep their accumulators in place.
int64_t registersOf(int64_t warps, bool inPlace, const hw::Architecture &architecture) {
  constexpr int64_t most = 144, mostInPlace = 176;
  return std::min(inPlace ? mostInPlace : most,
                  architecture.limits.registersPerBlock / (warps * nv::warpSize) -
                      nvptx::otherRegisters);
}

/// Returns whether warpgroups share the rows of all MMAs, 64 per instruction.
bool divideProducts(func::FuncOp kernel, int64_t warps) {
  bool divide = true, any = false;
  kernel.walk([&](tile::GemmOp gemm) {
    if (!nvptx::mmaShapeOf(gemm))
      return;
    any = true;
    int64_t rows = cast<MemRefType>(gemm.getAcc().getType()).getDimSize(0);
    divide &= rows % (64 * warps / nv::warpgroupWarps) == 0;
  });
  return any && divide;
}

/// Returns whether tensor memory holds each accumulator in two parts, and the registers of a
/// warpgroup hold a part. Accumulators lie in registers one at a time, while threads compute with
/// them.
bool haveParts(func::FuncOp kernel) {
  llvm::SmallSetVector<Value, 4> accumulators;
  bool parts = true;
  kernel.walk([&](tile::GemmOp gemm) {
    auto type = cast<MemRefType>(gemm.getAcc().getType());
    parts &= nvptx::mmaShapeOf(gemm) && type.getDimSize(0) == 2 * nv::tensorLanes;
    accumulators.insert(gemm.getAcc());
  });
  int64_t largest = 0, all = 0;
  for (Value acc : accumulators) {
    int64_t words = cast<MemRefType>(acc.getType()).getNumElements();
    largest = std::max(largest, words);
    all += words;
  }
  int64_t threads = 2 * nv::warpgroupWarps * nv::warpSize;
  return parts && largest &&
         nvptx::localWords(kernel) - all + largest <=
             threads * (nvptx::registersTaken - nvptx::otherRegisters);
}

/// The fewest warps whose registers hold the tiles.
int64_t warpsFor(func::FuncOp kernel, const hw::Architecture &architecture) {
  int64_t words = nvptx::localWords(kernel);
  auto fits = [&](int64_t warps, bool inPlace = false) {
    return words <= warps * nv::warpSize * registersOf(warps, inPlace, architecture);
  };
  if (architecture.family == hw::Architecture::Family::Hopper)
    // Two warpgroups take turns where each gets 64 rows.
    for (int64_t warps : {8, 4, 12, 16, 20})
      if (fits(warps, warps == 8) && divideProducts(kernel, warps))
        return warps;
  if (architecture.limits.tensorColumns && haveParts(kernel))
    return 2 * nv::warpgroupWarps;
  for (int64_t warps : {4, 8})
    if (fits(warps))
      return warps;
  return 16;
}

struct ChooseThreads : penstock::impl::ChooseThreadsBase<ChooseThreads> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    if (nv::firstExplicit(kernel))
      return;
    if (!kernel->hasAttr(nv::NVDialect::threadsAttr))
      kernel->setAttr(
          nv::NVDialect::threadsAttr,
          Builder(&getContext())
              .getI64IntegerAttr(warpsFor(kernel, nvptx::architectureOf(kernel)) * nv::warpSize));
    kernel->setAttr(nv::NVDialect::tileProgramAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace

int64_t nvptx::localWords(func::FuncOp kernel) {
  int64_t words = 0;
  kernel.walk([&](tile::AllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (tile::spaceOf(type) == tile::Space::Local)
      words += (type.getNumElements() * type.getElementTypeBitWidth() + 31) / 32;
  });
  return words;
}

bool nvptx::takesRegistersOfOthers(func::FuncOp kernel, int64_t warps) {
  return architectureOf(kernel).family == hw::Architecture::Family::Hopper &&
         warps == 2 * nv::warpgroupWarps &&
         localWords(kernel) > warps * nv::warpSize * (registersAtStart - otherRegisters);
}
