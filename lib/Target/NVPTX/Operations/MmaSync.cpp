//===- MmaSync.cpp - Products by the tensor cores of each warp ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"

using namespace mlir;
using namespace penstock;

/// The instruction's name for an element that is multiplied.
static const char *nameOf(Type element, bool tf32) {
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (element.isF32())
    return tf32 ? "tf32" : nullptr;
  if (isa<Float8E4M3FNType>(element))
    return "e4m3";
  if (isa<Float8E5M2Type>(element))
    return "e5m2";
  return element.isInteger(8) ? "s8" : nullptr;
}

/// The instruction's name for the values of an operand of a product with scales.
static const char *nameOf(Type element, std::optional<tile::Packing> packing) {
  if (!packing)
    return nameOf(element, /*tf32=*/false);
  switch (*packing) {
  case tile::Packing::F6E2M3:
  case tile::Packing::PaddedF6E2M3:
    return "e2m3";
  case tile::Packing::F6E3M2:
  case tile::Packing::PaddedF6E3M2:
    return "e3m2";
  case tile::Packing::F4E2M1:
  case tile::Packing::PaddedF4E2M1:
    return "e2m1";
  case tile::Packing::I4:
    break;
  }
  llvm_unreachable("integers take no scales");
}

/// Returns the instruction for a product with scales. Operands that are neither bytes nor both
/// packed f4e2m1 have been padded or expanded before they are lowered.
static nvptx::MmaShape scaledShapeOf(tile::GemmOp op) {
  auto elementOf = [](Value tile) { return cast<MemRefType>(tile.getType()).getElementType(); };
  bool packed = op.packingOfA() == tile::Packing::F4E2M1 && op.packingOfB() == op.packingOfA();
  bool powers = isa<Float8E8M0FNUType>(elementOf(op.getScaleA()));
  nvptx::MmaShape shape;
  shape.k = 32;
  shape.elementBits = 8;
  int64_t values = packed ? 64 : 32;
  shape.scales = values / op.scaleBlock();
  shape.name = "m16n8k" + std::to_string(values) + ".row.col.kind::" +
               (!packed  ? "mxf8f6f4"
                : powers ? "mxf4"
                         : "mxf4nvf4") +
               ".block_scale.scale_vec::" + std::to_string(shape.scales) + "X.f32." +
               nameOf(elementOf(op.getA()), op.packingOfA()) + "." +
               nameOf(elementOf(op.getB()), op.packingOfB()) + ".f32." +
               (powers ? "ue8m0" : "ue4m3");
  return shape;
}

std::optional<nvptx::MmaShape> nvptx::mmaShapeOf(tile::GemmOp op) {
  auto a = cast<MemRefType>(op.getA().getType()), b = cast<MemRefType>(op.getB().getType());
  auto acc = cast<MemRefType>(op.getAcc().getType());
  auto isDivided = [&](const MmaShape &shape) {
    return acc.getDimSize(0) % 16 == 0 && acc.getDimSize(1) % 8 == 0 &&
           a.getDimSize(1) % shape.k == 0;
  };
  if (op.isScaled()) {
    MmaShape shape = scaledShapeOf(op);
    return isDivided(shape) ? std::optional(shape) : std::nullopt;
  }
  bool tf32 = op.getPrecision() == tile::Precision::TF32;
  const char *left = nameOf(a.getElementType(), tf32), *right = nameOf(b.getElementType(), tf32);
  int64_t bits = a.getElementTypeBitWidth();
  if (!left || !right || bits != int64_t(b.getElementTypeBitWidth()))
    return std::nullopt;
  bool integers = a.getElementType().isInteger(8);
  if (!(integers ? acc.getElementType().isInteger(32) : acc.getElementType().isF32()))
    return std::nullopt;
  // Analyses also look at kernels that have no target yet.
  auto kernel = op->getParentOfType<func::FuncOp>();
  const hw::Architecture *architecture = kernel ? tile::targetOf(kernel) : nullptr;
  if (bits == 8 && !integers && architecture &&
      (architecture->name == "sm_80" || architecture->name == "sm_86"))
    return std::nullopt; // f8 from Ada on
  // Both 16-bit formats are multiplied with themselves only.
  if (bits == 16 && StringRef(left) != right)
    return std::nullopt;
  MmaShape shape;
  shape.elementBits = bits;
  shape.k = 256 / bits;
  std::string sum = integers ? "s32" : "f32";
  shape.name =
      "m16n8k" + std::to_string(shape.k) + ".row.col." + sum + "." + left + "." + right + "." + sum;
  return isDivided(shape) ? std::optional(shape) : std::nullopt;
}

std::optional<layout::Distribution> nvptx::mmaLeftLayoutOf(tile::GemmOp op, int64_t warps) {
  auto a = cast<MemRefType>(op.getA().getType());
  // Two blocks of 8 columns of sums are the 16 columns that an instruction multiplies.
  constexpr int64_t takenAsLeft = 16;
  if (!mmaShapeOf(op) || a.getElementTypeBitWidth() != takenAsLeft ||
      a.getDimSize(0) % (16 * warps))
    return std::nullopt;
  return layout::mmaAccumulator(a.getDimSize(0), a.getDimSize(1), warps, warps);
}

namespace {

/// A division of an accumulator into a grid of `rows` x `columns` warps.
struct Division {
  int64_t rows = 1, columns = 1;

  /// Returns the cost of one step of k, most important term first:
  /// - warps that share a row, if operations need whole rows: a reduction over several warps
  ///   needs shared memory and a barrier, which cost more than a squarer division saves;
  /// - MMAs of the warp with the most MMAs;
  /// - operand bytes that this warp loads, 32 for each of its rows and columns. Warps in a row of
  ///   the grid load the same rows of A, and warps in a column the same columns of B, so the
  ///   cost is lowest if a warp has about as many rows as columns;
  /// - to break ties, more warps along rows.
  std::array<int64_t, 4> cost(MemRefType acc, bool wholeRows) const {
    int64_t ownRows = llvm::divideCeil(acc.getDimSize(0), rows * 16) * 16;
    int64_t ownColumns = llvm::divideCeil(acc.getDimSize(1), columns * 8) * 8;
    return {wholeRows ? columns : 0, ownRows / 16 * (ownColumns / 8), (ownRows + ownColumns) * 32,
            -rows};
  }
};

} // namespace

layout::Distribution nvptx::mmaLayoutOf(tile::GemmOp op, int64_t warps, bool wholeRows) {
  auto acc = cast<MemRefType>(op.getAcc().getType());
  Division best{1, warps};
  // All warps have rows; only columns may lie beyond the tile.
  for (int64_t rows = 2; rows <= warps; ++rows)
    if (Division division{rows, warps / rows};
        warps % rows == 0 && acc.getDimSize(0) % (rows * 16) == 0 &&
        division.cost(acc, wholeRows) < best.cost(acc, wholeRows))
      best = division;
  return layout::mmaAccumulator(acc.getDimSize(0), acc.getDimSize(1), warps, best.rows);
}
