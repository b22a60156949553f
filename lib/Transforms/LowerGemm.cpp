//===- LowerGemm.cpp - Products of tiles as register-blocked loops --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Runtime/PackTransposed.h"
#include "Transforms/KernelAbi.h"
#include "Transforms/Passes.h"
#include "Transforms/RuntimeCalls.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERGEMM
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

SmallVector<int64_t> stridesOf(Value memref) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(memref.getType()).getStridesAndOffset(strides, offset)))
    strides.clear();
  return strides;
}

class GemmLowering {
public:
  GemmLowering(tile::GemmOp gemm, int64_t lanes)
      : gemm(gemm), b(gemm), loc(gemm.getLoc()), lanes(lanes),
        compute(cast<MemRefType>(gemm.getAcc().getType()).getElementType()),
        tf32(gemm.getPrecision() == tile::Precision::TF32) {}

  void run() {
    auto shape = cast<MemRefType>(gemm.getAcc().getType()).getShape();
    int64_t m = shape[0], n = shape[1];
    Value a = gemm.getA(), bt = gemm.getB(), acc = gemm.getAcc();
    if (elementOf(a) != compute || tf32)
      a = pack(a);
    if (elementOf(bt) != compute || tf32 || stridesOf(bt).back() != 1)
      bt = pack(bt);
    Value view = acc;
    if (stridesOf(acc).back() != 1) {
      acc = allocate(shape);
      if (!gemm.getOverwrite())
        tile::CopyOp::create(b, loc, view, ValueRange(), acc, ValueRange(), Value(), Value(),
                             DenseI64ArrayAttr(), StringAttr());
    }
    // Four vectors wide leaves room for six rows in 32 registers.
    int64_t wide = std::min<int64_t>(4, std::max<int64_t>(1, n / lanes));
    int64_t rows = wide >= 3 ? 6 : wide == 2 ? 12 : 16;
    if (m % rows && m % 4 == 0 && m % 6)
      rows = wide >= 3 ? 4 : 8; // no remainder beats a few more registers
    rows = std::min(rows, m);
    int64_t step = wide * lanes;
    int64_t wideEnd = n / lanes ? n / step * step : 0;
    blocks(0, wideEnd, step, SmallVector<int64_t>(wide, lanes), m, rows, a, bt, acc);
    int64_t vectorEnd = wideEnd + (n - wideEnd) / lanes * lanes;
    blocks(wideEnd, vectorEnd, lanes, {lanes}, m, rows, a, bt, acc);
    if (vectorEnd < n)
      blocks(vectorEnd, n, n - vectorEnd, {n - vectorEnd}, m, rows, a, bt, acc);
    if (acc != view)
      tile::CopyOp::create(b, loc, acc, ValueRange(), view, ValueRange(), Value(), Value(),
                           DenseI64ArrayAttr(), StringAttr());
    gemm.erase();
  }

private:
  static Type elementOf(Value memref) {
    return cast<MemRefType>(memref.getType()).getElementType();
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, int64_t y) {
    return y ? Value(arith::AddIOp::create(b, loc, x, index(y))) : x;
  }
  VectorType vectorOf(int64_t size, Type element) { return VectorType::get(size, element); }

  /// `for i in [begin, end) step step`, with the builder inside while body runs.
  template <typename Body> void loop(int64_t begin, int64_t end, int64_t step, Body body) {
    if (begin >= end)
      return;
    auto op = scf::ForOp::create(b, loc, index(begin), index(end), index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }

  //===------------------------------------------------------------------===//
  // Packing
  //===------------------------------------------------------------------===//

  /// A tile for intermediate results, allocated at the start of the function.
  Value allocate(ArrayRef<int64_t> shape) {
    OpBuilder::InsertionGuard guard(b);
    auto function = gemm->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&function.getBody().front());
    return tile::AllocOp::create(b, loc, tile::tileType(shape, compute, tile::Space::Local),
                                 StringAttr(), IntegerAttr());
  }

  /// Elements, or vectors of them, in the type that is computed with.
  Value widen(Value value) {
    Type type = compute;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = VectorType::get(vector.getShape(), compute);
    if (value.getType() != type)
      value = isa<FloatType>(compute) ? Value(arith::ExtFOp::create(b, loc, type, value))
                                      : Value(arith::ExtSIOp::create(b, loc, type, value));
    return tf32 ? roundToTF32(value) : value;
  }

  /// To ten bits of mantissa, nearest even; NaN and infinity stay.
  Value roundToTF32(Value value) {
    Type bitsType = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      bitsType = VectorType::get(vector.getShape(), bitsType);
    auto number = [&](uint32_t n) -> Value {
      auto attr = b.getI32IntegerAttr(static_cast<int32_t>(n));
      if (auto vector = dyn_cast<VectorType>(bitsType))
        return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, Attribute(attr)));
      return arith::ConstantOp::create(b, loc, attr);
    };
    Value bits = arith::BitcastOp::create(b, loc, bitsType, value);
    Value last =
        arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, number(13)), number(1));
    Value up = arith::AddIOp::create(b, loc, last, number(0xfff));
    Value rounded =
        arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, bits, up), number(0xffffe000));
    Value exponent = arith::AndIOp::create(b, loc, bits, number(0x7f800000));
    Value special =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, exponent, number(0x7f800000));
    Value result = arith::SelectOp::create(b, loc, special, bits, rounded);
    return arith::BitcastOp::create(b, loc, value.getType(), result);
  }

  Value pack(Value source) {
    auto type = cast<MemRefType>(source.getType());
    Value packed = allocate(type.getShape());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    SmallVector<int64_t> strides = stridesOf(source);
    if (strides.back() == 1)
      packRows(source, packed, rows, columns);
    else if (auto from = packType(source); from && strides.front() == 1)
      packTransposed(source, packed, *from);
    else
      loop(0, rows, 1, [&](Value i) {
        loop(0, columns, 1, [&](Value j) { packElement(source, packed, i, j); });
      });
    return packed;
  }

  void packElement(Value source, Value packed, Value i, Value j) {
    Value element = memref::LoadOp::create(b, loc, source, ValueRange{i, j});
    memref::StoreOp::create(b, loc, widen(element), packed, ValueRange{i, j});
  }

  void packRows(Value source, Value packed, int64_t rows, int64_t columns) {
    int64_t end = columns / lanes * lanes;
    loop(0, rows, 1, [&](Value i) {
      loop(0, end, lanes, [&](Value j) {
        Value row = vector::LoadOp::create(b, loc, vectorOf(lanes, elementOf(source)), source,
                                           ValueRange{i, j});
        vector::StoreOp::create(b, loc, widen(row), packed, ValueRange{i, j});
      });
      loop(end, columns, 1, [&](Value j) { packElement(source, packed, i, j); });
    });
  }

  /// The runtime transposes in registers; see PackTransposed.h for why.
  void packTransposed(Value source, Value packed, PackFrom type) {
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, source);
    Value from = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, source);
    Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, packed);
    auto shape = cast<MemRefType>(source.getType()).getShape();
    Value kind = arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(type), 32);
    callRuntime(b, loc, abi::packTransposedFn,
                {kind, from, metadata.getOffset(), metadata.getStrides()[1], to, index(shape[0]),
                 index(shape[1])});
  }

  std::optional<PackFrom> packType(Value source) {
    Type type = elementOf(source);
    if (!compute.isF32() || tf32)
      return std::nullopt;
    return type.isF32()    ? std::optional(PackFrom::F32)
           : type.isF16()  ? std::optional(PackFrom::F16)
           : type.isBF16() ? std::optional(PackFrom::BF16)
                           : std::nullopt;
  }

  //===------------------------------------------------------------------===//
  // Blocks of the accumulator
  //===------------------------------------------------------------------===//

  void blocks(int64_t begin, int64_t end, int64_t step, SmallVector<int64_t> widths, int64_t m,
              int64_t rows, Value a, Value bt, Value acc) {
    loop(begin, end, step, [&](Value j) {
      int64_t rowsEnd = m / rows * rows;
      loop(0, rowsEnd, rows, [&](Value i) { block(i, j, rows, widths, a, bt, acc); });
      if (rowsEnd < m)
        block(index(rowsEnd), j, m - rowsEnd, widths, a, bt, acc);
    });
  }

  void block(Value i, Value j, int64_t rows, ArrayRef<int64_t> widths, Value a, Value bt,
             Value acc) {
    int64_t k = cast<MemRefType>(a.getType()).getDimSize(1);
    SmallVector<Value> rowIndices, columnIndices, sums;
    for (int64_t r = 0; r < rows; ++r)
      rowIndices.push_back(add(i, r));
    int64_t offset = 0;
    for (int64_t width : widths) {
      columnIndices.push_back(add(j, offset));
      offset += width;
    }
    for (Value row : rowIndices)
      for (auto [column, width] : llvm::zip(columnIndices, widths)) {
        VectorType type = vectorOf(width, compute);
        sums.push_back(
            gemm.getOverwrite()
                ? Value(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)))
                : Value(vector::LoadOp::create(b, loc, type, acc, ValueRange{row, column})));
      }
    auto op = scf::ForOp::create(b, loc, index(0), index(k), index(1), sums);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(op.getBody());
      Value kk = op.getInductionVar();
      SmallVector<Value> bRows, next;
      for (auto [column, width] : llvm::zip(columnIndices, widths))
        bRows.push_back(
            vector::LoadOp::create(b, loc, vectorOf(width, compute), bt, ValueRange{kk, column}));
      unsigned at = 0;
      for (Value row : rowIndices) {
        Value element = memref::LoadOp::create(b, loc, a, ValueRange{row, kk});
        for (auto [bRow, width] : llvm::zip(bRows, widths)) {
          VectorType type = vectorOf(width, compute);
          Value spread = vector::BroadcastOp::create(b, loc, type, element);
          Value sum = op.getRegionIterArg(at++);
          if (isa<FloatType>(compute))
            next.push_back(vector::FMAOp::create(b, loc, spread, bRow, sum));
          else
            next.push_back(
                arith::AddIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, spread, bRow)));
        }
      }
      scf::YieldOp::create(b, loc, next);
    }
    unsigned at = 0;
    for (Value row : rowIndices)
      for (Value column : columnIndices)
        vector::StoreOp::create(b, loc, op.getResult(at++), acc, ValueRange{row, column});
  }

  tile::GemmOp gemm;
  OpBuilder b;
  Location loc;
  int64_t lanes;
  Type compute;
  bool tf32;
};

struct LowerGemm : penstock::impl::LowerGemmBase<LowerGemm> {
  using LowerGemmBase::LowerGemmBase;

  void runOnOperation() override {
    SmallVector<tile::GemmOp> gemms;
    getOperation().walk([&](tile::GemmOp gemm) { gemms.push_back(gemm); });
    for (tile::GemmOp gemm : gemms)
      GemmLowering(gemm, std::max<int64_t>(4, vectorBits / 32)).run();
  }
};

} // namespace
