//===- ExpandScaledProducts.cpp - Products with scales as products of bf16 ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For targets whose instructions do not multiply with scales: each operand is
// multiplied by its scales first, into a tile of bf16.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/GridCoordinates.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace penstock {
#define GEN_PASS_DEF_EXPANDSCALEDPRODUCTS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

class Expander {
public:
  explicit Expander(tile::GemmOp gemm) : gemm(gemm), b(gemm), loc(gemm.getLoc()) {}

  void run() {
    if (isScheduled())
      becomeStatement();
    // Tensor cores take a left operand from registers, but never a right one.
    Value left = scaled(gemm.getA(), gemm.getScaleA(), gemm.packingOfA(), tile::Space::Local);
    Value right =
        scaled(withKLast(gemm.getB()), gemm.getScaleB(), gemm.packingOfB(), tile::Space::Shared);
    b.setInsertionPoint(gemm);
    auto product = tile::GemmOp::create(
        b, loc, left, transposed(right), gemm.getAcc(), gemm.getInstance(), Value(), Value(),
        gemm.getOverwrite(), gemm.getPrecision(), gemm.getUnsignedA(), gemm.getAsyncAttr(),
        tile::PackingAttr(), tile::PackingAttr(), /*starts=*/false);
    product->setDiscardableAttrs(gemm->getDiscardableAttrDictionary());
    gemm.erase();
  }

private:
  /// Returns whether the user has stated a stage for each statement of the loop around.
  bool isScheduled() {
    auto loop = dyn_cast<scf::ForOp>(gemm->getParentOp());
    auto schedule = loop ? loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr)
                         : tile::ScheduleAttr();
    return schedule && !schedule.getStage().empty();
  }

  /// Keeps the number of statements.
  void becomeStatement() {
    auto statement = tile::StatementOp::create(b, loc, "gemm");
    statement.getBody().emplaceBlock();
    tile::StatementOp::ensureTerminator(statement.getBody(), b, loc);
    gemm->moveBefore(&statement.getBody().front(), statement.getBody().front().begin());
    b.setInsertionPoint(gemm);
  }

  Value transposed(Value matrix) {
    auto map =
        AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext()));
    return memref::TransposeOp::create(b, loc, matrix, map);
  }

  /// The second operand as N x K.
  Value withKLast(Value right) {
    if (auto transpose = right.getDefiningOp<memref::TransposeOp>())
      return transpose.getIn();
    return transposed(right);
  }

  /// Allocates a tile of bf16, and sets it to an operand times its scales.
  Value scaled(Value operand, Value scales, std::optional<tile::Packing> packing,
               tile::Space space) {
    auto type = cast<MemRefType>(operand.getType());
    SmallVector<int64_t> shape = {type.getDimSize(0), gemm.valuesOfK()};
    Value tile = allocate(shape, space, tile::nameOf(operand));
    // Packed elements are loaded, others are an input of the map.
    SmallVector<Value> inputs;
    SmallVector<Attribute> dims;
    if (!packing) {
      inputs.push_back(operand);
      dims.push_back(b.getI64ArrayAttr({0, 1}));
    }
    auto map = tile::MapOp::create(b, loc, tile, inputs, b.getArrayAttr(dims));
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&map.getBody());
    Value at[] = {tile::ElementIndexOp::create(b, loc, b.getIndexType(), 0),
                  tile::ElementIndexOp::create(b, loc, b.getIndexType(), 1)};
    Value value;
    if (packing)
      value = tile::loadPacked(b, loc, operand, at, *packing, b.getF32Type(),
                               isForGpu(gemm->getParentOfType<func::FuncOp>())
                                   ? tile::Decoding::Subnormal
                                   : tile::Decoding::Integer);
    else
      value = extended(body->addArgument(type.getElementType(), loc));
    Value factor = extended(scaleAt(scales, at));
    if (!isa<Float8E8M0FNUType>(cast<MemRefType>(scales.getType()).getElementType()))
      factor = math::AbsFOp::create(b, loc, factor); // scales have no sign
    Value product = arith::MulFOp::create(b, loc, value, factor);
    tile::YieldOp::create(b, loc, arith::TruncFOp::create(b, loc, b.getBF16Type(), product));
    return tile;
  }

  Value allocate(ArrayRef<int64_t> shape, tile::Space space, const std::string &name) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&gemm->getParentOfType<func::FuncOp>().getBody().front());
    return tile::AllocOp::create(b, loc, tile::tileType(shape, b.getBF16Type(), space),
                                 name.empty() ? StringAttr() : b.getStringAttr(name + " scaled"),
                                 IntegerAttr());
  }

  Value extended(Value value) { return arith::ExtFOp::create(b, loc, b.getF32Type(), value); }

  /// The scale of an element, in the blocked layout that tile.gemm describes.
  Value scaleAt(Value scales, ArrayRef<Value> at) {
    auto divided = [&](Value x, int64_t by) -> Value {
      return arith::DivUIOp::create(b, loc, x, arith::ConstantIndexOp::create(b, loc, by));
    };
    auto rest = [&](Value x, int64_t by) -> Value {
      return arith::RemUIOp::create(b, loc, x, arith::ConstantIndexOp::create(b, loc, by));
    };
    Value row = at[0], block = divided(at[1], gemm.scaleBlock());
    Value four = arith::ConstantIndexOp::create(b, loc, 4);
    Value quarter = arith::MulIOp::create(b, loc, rest(divided(row, 32), 4), four);
    Value byte = arith::AddIOp::create(b, loc, quarter, rest(block, 4));
    SmallVector<Value> index = {divided(row, 128), divided(block, 4), rest(row, 32), byte};
    Type element = cast<MemRefType>(scales.getType()).getElementType();
    return tile::LoadOp::create(b, loc, element, scales, index);
  }

  tile::GemmOp gemm;
  OpBuilder b;
  Location loc;
};

struct ExpandScaledProducts : penstock::impl::ExpandScaledProductsBase<ExpandScaledProducts> {
  using ExpandScaledProductsBase::ExpandScaledProductsBase;

  void runOnOperation() override {
    SmallVector<tile::GemmOp> products;
    getOperation().walk([&](tile::GemmOp gemm) {
      if (gemm.isScaled() &&
          !(unpadded && tile::areReadByTensorCores(gemm.packingOfA(), gemm.packingOfB())))
        products.push_back(gemm);
    });
    for (tile::GemmOp gemm : products)
      Expander(gemm).run();
  }
};

} // namespace
