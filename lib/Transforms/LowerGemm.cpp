//===- LowerGemm.cpp - Products of tiles as register-blocked loops --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PackTransposed.h"
#include "Transforms/GemmBuilder.h"
#include "Transforms/KernelAbi.h"
#include "Transforms/RuntimeCalls.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERGEMM
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

class VectorLowering : GemmBuilder {
public:
  VectorLowering(tile::GemmOp gemm, int64_t lanes)
      : GemmBuilder(gemm), lanes(lanes), compute(elementTypeOf(gemm.getAcc())),
        tf32(gemm.getPrecision() == tile::Precision::TF32) {}

  GemmReport run() {
    auto shape = cast<MemRefType>(gemm.getAcc().getType()).getShape();
    int64_t m = shape[0], n = shape[1];
    Value a = gemm.getA(), bt = gemm.getB(), acc = gemm.getAcc();
    report.left = report.right = "read in its tile";
    if (elementTypeOf(a) != compute || tf32) {
      report.leftPacking = packingOf(a);
      a = pack(a, gemm.getUnsignedA());
      report.left = "converted";
    }
    if (gemm.isPacked()) {
      bt = unpack(bt);
      report.right = "packed by the caller, unpacked and converted";
      report.rightPacking = GemmPacking::Elements;
    } else if (elementTypeOf(bt) != compute || tf32 || stridesOf(bt).back() != 1) {
      report.right = stridesOf(bt).back() == 1              ? "converted"
                     : elementTypeOf(bt) != compute || tf32 ? "converted and transposed"
                                                            : "transposed";
      report.rightPacking = packingOf(bt);
      bt = pack(bt);
    }
    if (Value padded = padRows(bt)) {
      bt = padded;
      report.right = "read in its tile, whose rows are padded by 64 bytes";
    }
    // Four vectors wide leaves room for six rows in 32 registers.
    int64_t wide = std::min<int64_t>(4, std::max<int64_t>(1, n / lanes));
    int64_t rows = wide >= 3 ? 6 : wide == 2 ? 12 : 16;
    // In a few rows no remainder beats a few more registers.
    if (m % rows && m % 4 == 0 && m < 16 * rows)
      rows = wide >= 3 ? 4 : 8;
    rows = std::min(rows, m);
    int64_t step = wide * lanes, k = cast<MemRefType>(a.getType()).getDimSize(1);
    int64_t bytes = compute.getIntOrFloatBitWidth() / 8;
    report.instruction = compute.isF64()           ? "vfmadd231pd"
                         : isa<FloatType>(compute) ? "vfmadd231ps"
                                                   : "vpmulld";
    report.rows = rows;
    report.columns = std::min(n, step);
    report.leftLoads = rows;
    report.rightLoads = wide * bytes / 4; // vectors of f64 take two registers
    report.products = rows * report.rightLoads;
    report.leftBytes = m * k * bytes;
    report.rightBytes = n * k * bytes;
    report.stripBytes = report.columns * k * bytes;
    int64_t wideEnd = n / lanes ? n / step * step : 0;
    blocks(0, wideEnd, step, SmallVector<int64_t>(wide, lanes), m, rows, a, bt, acc);
    int64_t vectorEnd = wideEnd + (n - wideEnd) / lanes * lanes;
    blocks(wideEnd, vectorEnd, lanes, {lanes}, m, rows, a, bt, acc);
    if (vectorEnd < n)
      blocks(vectorEnd, n, n - vectorEnd, {n - vectorEnd}, m, rows, a, bt, acc);
    return report;
  }

private:
  VectorType vectorOf(int64_t size, Type element) { return VectorType::get(size, element); }

  //===------------------------------------------------------------------===//
  // Packing
  //===------------------------------------------------------------------===//

  /// Elements, or vectors of them, in the type that is computed with.
  Value widen(Value value, bool isUnsigned = false) {
    Type type = compute;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = VectorType::get(vector.getShape(), compute);
    if (value.getType() != type)
      value = isa<FloatType>(compute) ? Value(arith::ExtFOp::create(b, loc, type, value))
              : isUnsigned            ? Value(arith::ExtUIOp::create(b, loc, type, value))
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

  Value pack(Value source, bool isUnsigned = false) {
    auto type = cast<MemRefType>(source.getType());
    Value packed = allocate(type.getShape(), compute);
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    GemmPacking packing = packingOf(source);
    if (packing == GemmPacking::Converted)
      packRows(source, packed, rows, columns, isUnsigned);
    else if (packing == GemmPacking::Transposed)
      packTransposed(source, packed, *packType(source));
    else
      loop(0, rows, 1, [&](Value i) {
        loop(0, columns, 1, [&](Value j) { packElement(source, packed, i, j, isUnsigned); });
      });
    return packed;
  }

  /// Returns the way in which pack() packs.
  GemmPacking packingOf(Value source) {
    SmallVector<int64_t> strides = stridesOf(source);
    if (strides.back() == 1)
      return GemmPacking::Converted;
    return packType(source) && strides.front() == 1 ? GemmPacking::Transposed
                                                    : GemmPacking::Elements;
  }

  void packElement(Value source, Value packed, Value i, Value j, bool isUnsigned) {
    Value element = memref::LoadOp::create(b, loc, source, ValueRange{i, j});
    memref::StoreOp::create(b, loc, widen(element, isUnsigned), packed, ValueRange{i, j});
  }

  /// A packed operand as K x N.
  Value unpack(Value source) {
    auto shape = cast<MemRefType>(source.getType()).getShape();
    int64_t columns = shape[2], group = shape[3];
    Value plain = allocate({shape[1] * group, shape[0] * columns}, compute);
    auto position = [&](Value block, int64_t size, Value inside) -> Value {
      Value first = arith::MulIOp::create(b, loc, block, index(size));
      return arith::AddIOp::create(b, loc, first, inside);
    };
    loop(0, shape[0], 1, [&](Value panel) {
      loop(0, shape[1], 1, [&](Value row) {
        loop(0, columns, 1, [&](Value j) {
          loop(0, group, 1, [&](Value e) {
            Value element = memref::LoadOp::create(b, loc, source, ValueRange{panel, row, j, e});
            memref::StoreOp::create(
                b, loc, widen(element), plain,
                ValueRange{position(row, group, e), position(panel, columns, j)});
          });
        });
      });
    });
    return plain;
  }

  void packRows(Value source, Value packed, int64_t rows, int64_t columns, bool isUnsigned) {
    int64_t end = columns / lanes * lanes;
    loop(0, rows, 1, [&](Value i) {
      loop(0, end, lanes, [&](Value j) {
        Value row = vector::LoadOp::create(b, loc, vectorOf(lanes, elementTypeOf(source)), source,
                                           ValueRange{i, j});
        vector::StoreOp::create(b, loc, widen(row, isUnsigned), packed, ValueRange{i, j});
      });
      loop(end, columns, 1, [&](Value j) { packElement(source, packed, i, j, isUnsigned); });
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
    Type type = elementTypeOf(source);
    if (!compute.isF32() || tf32)
      return std::nullopt;
    return type.isF32()    ? std::optional(PackFrom::F32)
           : type.isF16()  ? std::optional(PackFrom::F16)
           : type.isBF16() ? std::optional(PackFrom::BF16)
                           : std::nullopt;
  }

  /// Rows of B that are a multiple of 512 bytes apart are in few sets of the first-level cache, so
  /// that the columns which all rows of A use would not stay there. Gives such a tile longer rows,
  /// if nothing but copies from tensors and products use it. Null: nothing to do.
  Value padRows(Value operand) {
    auto alloc = operand.getDefiningOp<tile::AllocOp>();
    auto type = cast<MemRefType>(operand.getType());
    constexpr int64_t line = 64, apart = 512;
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    if (!alloc || alloc.getVersionsAttr() || type.getRank() != 2 ||
        type.getDimSize(1) * bytes % apart ||
        !llvm::all_of(alloc->getUsers(), [&](Operation *user) {
          auto copy = dyn_cast<tile::CopyOp>(user);
          return isa<tile::GemmOp>(user) || (copy && copy.getTarget() == operand &&
                                             copy.readsTensor() && !copy.getAsyncAttr());
        }))
      return {};
    OpBuilder at(alloc);
    SmallVector<int64_t> shape(type.getShape());
    shape[1] += line / bytes;
    auto longer = MemRefType::get(shape, type.getElementType(), MemRefLayoutAttrInterface(),
                                  type.getMemorySpace());
    Value padded =
        tile::AllocOp::create(at, alloc.getLoc(), longer, alloc.getLabelAttr(), IntegerAttr());
    auto numbers = [&](ArrayRef<int64_t> values) {
      return llvm::map_to_vector(
          values, [&](int64_t value) -> OpFoldResult { return at.getIndexAttr(value); });
    };
    Value view = memref::SubViewOp::create(at, alloc.getLoc(), padded, numbers({0, 0}),
                                           numbers(type.getShape()), numbers({1, 1}));
    alloc.getResult().replaceAllUsesWith(view);
    alloc.erase();
    return view;
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

  int64_t lanes;
  Type compute;
  bool tf32;
};

} // namespace

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
                              b.getNamedAttr("starts_as_zero", b.getBoolAttr(startsAsZero)),
                              b.getNamedAttr("ends_in_tensor", b.getBoolAttr(endsInTensor)),
                              b.getNamedAttr("packed_sums", b.getBoolAttr(packedSums)),
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

  GemmReport lower(tile::GemmOp gemm) {
    if (elementTypeOf(gemm.getA()).isF16() ? tilesF16 : isGrouped(gemm) && tiles)
      return lowerGemmToTiles(gemm);
    if (isGrouped(gemm) && (elementTypeOf(gemm.getA()).isBF16() ? dotBf16 : dotI8))
      return lowerGemmToDots(gemm);
    return VectorLowering(gemm, std::max<int64_t>(4, vectorBits / 32)).run();
  }
};

} // namespace
