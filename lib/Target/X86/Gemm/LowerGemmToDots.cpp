//===- LowerGemmToDots.cpp - Products by AVX-512 BF16 and VNNI ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the loops of tile-lower-gemm, with a group of elements in each lane: one instruction
// multiplies two bf16 or four i8 and adds them to a lane. VNNI multiplies unsigned by signed
// numbers. Signed elements of A are increased by 128 when they are packed, and the sums
// start with what this adds too much.
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/PackedOperands.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/RuntimeCalls.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;

namespace {

class DotLowering : PackedOperands {
public:
  explicit DotLowering(tile::GemmOp gemm)
      : PackedOperands(gemm, /*depth=*/1, /*tiles=*/false, /*flipSigns=*/true),
        words(VectorType::get(panelColumns, b.getI32Type())),
        sumType(VectorType::get(panelColumns, elementTypeOf(gemm.getAcc()))) {}

  GemmReport run() {
    if (isInt && !gemm.getUnsignedA())
      sumOffsets();
    // 32 registers: four panels leave room for six rows.
    int64_t wide = std::min<int64_t>(4, panels);
    int64_t rows = std::min<int64_t>(wide >= 3 ? 6 : wide == 2 ? 12 : 16, m);
    int64_t whole = n / panelColumns / wide * wide;
    report.instruction = isInt ? "vpdpbusd" : "vdpbf16ps";
    report.rows = rows;
    report.columns = wide * panelColumns;
    report.products = rows * wide;
    report.leftLoads = rows;
    report.rightLoads = wide;
    report.stripBytes = wide * groups * panelRowBytes;
    // Several rows share what is loaded: there, multiplying takes longer than loading.
    prefetches = m == 1 && gemm.isPacked() && report.rightInTensor;
    report.prefetches = prefetches;
    loop(0, whole, wide, [&](Value panel) { column(panel, wide, rows, /*cut=*/false); });
    if (whole < panels)
      column(index(whole), panels - whole, rows, n % panelColumns != 0);
    return report;
  }

private:
  void sumOffsets() {
    offsets = allocate({panels * panelColumns}, b.getI32Type());
    Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, offsets);
    Value from = arith::IndexCastOp::create(
        b, loc, b.getIndexType(), LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), right.pointer));
    callRuntime(b, loc, abi::offsetSumsFn, {from, index(panels), right.stride, index(groups), to});
  }

  /// All rows of \p wide panels; of the last one, only the columns that exist if it is \p cut.
  void column(Value panel, int64_t wide, int64_t rows, bool cut) {
    int64_t end = m / rows * rows;
    loop(0, end, rows, [&](Value i) { block(i, panel, rows, wide, cut); });
    if (end < m)
      block(index(end), panel, m - end, wide, cut);
  }

  void block(Value i, Value panel, int64_t rows, int64_t wide, bool cut) {
    SmallVector<Value> a, at, sums;
    for (int64_t w = 0; w < wide; ++w)
      at.push_back(product(add(panel, w), index(panelColumns)));
    for (int64_t r = 0; r < rows; ++r) {
      a.push_back(bytes(left.pointer, product(add(i, r), left.stride)));
      for (int64_t w = 0; w < wide; ++w)
        sums.push_back(initial(add(i, r), at[w], cut && w + 1 == wide));
    }
    auto op = scf::ForOp::create(b, loc, index(0), index(groups), index(1), sums);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(op.getBody());
      scf::YieldOp::create(b, loc,
                           step(op.getInductionVar(), panel, wide, a, op.getRegionIterArgs()));
    }
    for (int64_t r = 0, result = 0; r < rows; ++r)
      for (int64_t w = 0; w < wide; ++w, ++result) {
        SmallVector<Value, 2> position = {add(i, r), at[w]};
        Value sum = op.getResult(unsigned(result));
        if (cut && w + 1 == wide)
          vector::MaskedStoreOp::create(b, loc, gemm.getAcc(), position, mask(), sum);
        else
          vector::StoreOp::create(b, loc, sum, gemm.getAcc(), position);
      }
  }

  /// Adds the products of one group of each row, at addresses \p a, with those of \p wide panels.
  SmallVector<Value> step(Value group, Value panel, int64_t wide, ArrayRef<Value> a,
                          ValueRange sums) {
    Value offset = product(group, index(panelRowBytes));
    Value ahead = prefetches ? prefetchOffset(offset, wide) : Value();
    SmallVector<Value> columns, next;
    for (int64_t w = 0; w < wide; ++w) {
      Value row = bytes(right.pointer, product(add(panel, w), right.stride));
      columns.push_back(
          elements(LLVM::LoadOp::create(b, loc, words, bytes(row, offset), /*alignment=*/1)));
      if (ahead)
        prefetchIntoL2(bytes(row, ahead));
    }
    for (Value row : a) {
      Value word = LLVM::LoadOp::create(
          b, loc, b.getI32Type(), bytes(row, product(group, index(groupBytes))), /*alignment=*/1);
      Value spread = elements(vector::BroadcastOp::create(b, loc, words, word));
      for (Value column : columns)
        next.push_back(
            intrinsic(isInt ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512bf16.dpbf16ps.512",
                      {sums[next.size()], spread, column}, sumType));
    }
    return next;
  }

  /// Bytes from the start of a panel to what is prefetched when its row at \p offset is read: some
  /// rows ahead, at the end those of the panel that is read next. The processor prefetches, too,
  /// but not far enough where B comes from memory.
  Value prefetchOffset(Value offset, int64_t wide) {
    constexpr int64_t distance = 2048;
    Value ahead = add(offset, distance);
    Value isNext = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, ahead,
                                         index(groups * panelRowBytes));
    Value next = arith::AddIOp::create(b, loc, add(ahead, -groups * panelRowBytes),
                                       product(right.stride, index(wide)));
    return arith::SelectOp::create(b, loc, isNext, next, ahead);
  }

  /// Groups as their elements.
  Value elements(Value groups) {
    auto type = VectorType::get(panelColumns * inGroup,
                                isInt ? Type(b.getI8Type()) : Type(b.getBF16Type()));
    return LLVM::BitcastOp::create(b, loc, type, groups);
  }

  Value mask() {
    SmallVector<bool> exists(panelColumns);
    std::fill_n(exists.begin(), n % panelColumns, true);
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(VectorType::get(panelColumns, b.getI1Type()), ArrayRef(exists)));
  }

  Value initial(Value row, Value column, bool cut) {
    Value sum = arith::ConstantOp::create(b, loc, b.getZeroAttr(sumType));
    if (!gemm.getOverwrite()) {
      SmallVector<Value, 2> position = {row, column};
      sum = cut ? Value(vector::MaskedLoadOp::create(b, loc, sumType, gemm.getAcc(), position,
                                                     mask(), sum))
                : Value(vector::LoadOp::create(b, loc, sumType, gemm.getAcc(), position));
    }
    if (!offsets)
      return sum;
    Value offset = vector::LoadOp::create(b, loc, sumType, offsets, ValueRange{column});
    return arith::AddIOp::create(b, loc, sum, offset);
  }

  VectorType words, sumType;
  Value offsets;
  bool prefetches = false; ///< B
};

} // namespace

GemmReport penstock::lowerGemmToDots(tile::GemmOp gemm) { return DotLowering(gemm).run(); }
