//===- LowerGemm.cpp - Instructions for products of tiles -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/GemmBuilder.h"
#include "Transforms/Launch/KernelAbi.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERGEMM
#include "Target/X86/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

DictionaryAttr GemmReport::toAttribute(tile::GemmOp gemm) const {
  Builder b(gemm.getContext());
  auto shape = cast<MemRefType>(gemm.getAcc().getType()).getShape();
  int64_t k = cast<MemRefType>(gemm.getA().getType()).getDimSize(1);
  auto number = [&](StringRef name, int64_t value) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(value));
  };
  auto text = [&](StringRef name, StringRef value) {
    return b.getNamedAttr(name, b.getStringAttr(value));
  };
  return b.getDictionaryAttr({b.getNamedAttr("location", LocationAttr(gemm.getLoc())),
                              b.getNamedAttr("element", TypeAttr::get(elementTypeOf(gemm.getA()))),
                              number("m", shape[0]),
                              number("n", shape[1]),
                              number("k", k),
                              text("instruction", instruction),
                              number("rows", rows),
                              number("columns", columns),
                              number("products", products),
                              number("left_loads", leftLoads),
                              number("right_loads", rightLoads),
                              number("left_bytes", leftBytes),
                              number("right_bytes", rightBytes),
                              number("strip_bytes", stripBytes),
                              text("left", left),
                              text("right", right),
                              number("left_packing", int64_t(leftPacking)),
                              number("right_packing", int64_t(rightPacking)),
                              b.getNamedAttr("left_in_tensor", b.getBoolAttr(leftInTensor)),
                              b.getNamedAttr("right_in_tensor", b.getBoolAttr(rightInTensor)),
                              b.getNamedAttr("left_read_once", b.getBoolAttr(leftReadOnce)),
                              b.getNamedAttr("by_rows", b.getBoolAttr(byRows)),
                              number("chunk_columns", chunkColumns),
                              b.getNamedAttr("starts_as_zero", b.getBoolAttr(startsAsZero)),
                              b.getNamedAttr("ends_in_tensor", b.getBoolAttr(endsInTensor)),
                              b.getNamedAttr("packed_sums", b.getBoolAttr(packedSums)),
                              b.getNamedAttr("stores_later", b.getBoolAttr(storesLater)),
                              b.getNamedAttr("prefetches", b.getBoolAttr(prefetches))});
}

namespace {

/// Gives a product an accumulator whose rows are contiguous.
void normalizeAccumulator(tile::GemmOp gemm) {
  Value view = gemm.getAcc();
  if (stridesOf(view).back() == 1)
    return;
  auto type = cast<MemRefType>(view.getType());
  auto function = gemm->getParentOfType<func::FuncOp>();
  auto b = OpBuilder::atBlockBegin(&function.getBody().front());
  Value acc = tile::AllocOp::create(
      b, gemm.getLoc(), tile::tileType(type.getShape(), type.getElementType(), tile::Space::Local),
      StringAttr(), IntegerAttr());
  auto copy = [&](Value from, Value to) {
    tile::CopyOp::create(b, gemm.getLoc(), from, ValueRange(), to, ValueRange(), Value(), Value(),
                         DenseI64ArrayAttr(), StringAttr());
  };
  b.setInsertionPoint(gemm);
  if (!gemm.getOverwrite())
    copy(view, acc);
  b.setInsertionPointAfter(gemm);
  copy(acc, view);
  gemm.getAccMutable().assign(acc);
}

struct LowerGemm : penstock::impl::LowerGemmBase<LowerGemm> {
  using LowerGemmBase::LowerGemmBase;

  void runOnOperation() override {
    SmallVector<tile::GemmOp> gemms;
    getOperation().walk([&](tile::GemmOp gemm) { gemms.push_back(gemm); });
    SmallVector<Attribute> reports;
    for (tile::GemmOp gemm : gemms) {
      normalizeAccumulator(gemm);
      GemmReport lowered = lower(gemm);
      if (report)
        reports.push_back(lowered.toAttribute(gemm));
      gemm.erase();
    }
    if (report)
      getOperation()->setAttr(abi::productsAttr, ArrayAttr::get(&getContext(), reports));
  }

  /// One row of A uses each element of B once, so that B's way from memory is all that counts:
  /// vectors, which prefetch it, read it faster than tiles do. Signed i8 would be read twice,
  /// because the sums of columns have to be known.
  bool isOneRow(tile::GemmOp gemm) {
    return cast<MemRefType>(gemm.getAcc().getType()).getDimSize(0) == 1 &&
           (elementTypeOf(gemm.getA()).isBF16() ? dotBf16 : dotI8 && gemm.getUnsignedA());
  }

  /// Returns whether rows of B are multiplied as they are: packing them for one row takes longer
  /// than that.
  bool readsRows(tile::GemmOp gemm) {
    return elementTypeOf(gemm.getA()).isBF16() && !gemm.isPacked() &&
           hasContiguousRows(gemm.getB());
  }

  GemmReport lower(tile::GemmOp gemm) {
    GemmCaches caches{l1Bytes, l2Bytes};
    if (isGrouped(gemm) && isOneRow(gemm))
      return readsRows(gemm) ? lowerGemmToVectors(gemm, vectorBits, caches) : lowerGemmToDots(gemm);
    if (elementTypeOf(gemm.getA()).isF16() ? tilesF16 : isGrouped(gemm) && tiles)
      return lowerGemmToTiles(gemm, caches);
    if (isGrouped(gemm) && (elementTypeOf(gemm.getA()).isBF16() ? dotBf16 : dotI8))
      return lowerGemmToDots(gemm);
    return lowerGemmToVectors(gemm, vectorBits, caches);
  }
};

} // namespace
