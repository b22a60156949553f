//===- Operands.cpp - Tiles as engines see them ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;

std::optional<layout::SharedTile> nv::sharedLayoutOf(MemRefType type) {
  if (type.getRank() < 2)
    return std::nullopt;
  return layout::sharedTileFor(type.getDimSize(type.getRank() - 2),
                               type.getDimSize(type.getRank() - 1), type.getElementTypeBitWidth());
}

/// Of bytes that hold values of fewer bits; none if the tensor core does not read them so.
static std::optional<layout::MmaType> mmaType(tile::Packing packing) {
  switch (packing) {
  case tile::Packing::F4E2M1:
    return layout::MmaType::E2M1x2;
  case tile::Packing::PaddedF4E2M1:
    return layout::MmaType::E2M1;
  case tile::Packing::PaddedF6E2M3:
    return layout::MmaType::E2M3;
  case tile::Packing::PaddedF6E3M2:
    return layout::MmaType::E3M2;
  case tile::Packing::I4:
  case tile::Packing::F6E2M3:
  case tile::Packing::F6E3M2:
    break;
  }
  return std::nullopt;
}

static std::optional<layout::MmaType> mmaType(Type element) {
  if (element.isF16())
    return layout::MmaType::F16;
  if (element.isBF16())
    return layout::MmaType::BF16;
  if (element.isF32())
    return layout::MmaType::TF32;
  if (isa<Float8E4M3FNType>(element))
    return layout::MmaType::E4M3;
  if (isa<Float8E5M2Type>(element))
    return layout::MmaType::E5M2;
  if (element.isSignlessInteger(8))
    return layout::MmaType::S8;
  return std::nullopt;
}

static std::optional<layout::AccType> accType(Type element) {
  if (element.isF16())
    return layout::AccType::F16;
  if (element.isF32())
    return layout::AccType::F32;
  if (element.isSignlessInteger(32))
    return layout::AccType::S32;
  return std::nullopt;
}

bool nv::isTransposed(Value memref) {
  Operation *from = memref.getDefiningOp();
  // Two of them are folded to one that exchanges nothing.
  if (auto transpose = dyn_cast_or_null<memref::TransposeOp>(from))
    return transpose.getPermutation().isIdentity() == isTransposed(transpose.getIn());
  return isa_and_nonnull<memref::SubViewOp, memref::CastOp>(from) &&
         isTransposed(from->getOperand(0));
}

std::optional<int64_t> nv::firstColumnOf(Value memref) {
  int64_t first = 0;
  for (Value view = memref; Operation *from = view.getDefiningOp(); view = from->getOperand(0)) {
    auto slice = dyn_cast<memref::SubViewOp>(from);
    if (!slice && !isa<memref::TransposeOp, memref::CastOp>(from))
      break;
    if (!slice)
      continue;
    int64_t columns = slice.getSourceType().getRank() - (isTransposed(slice.getSource()) ? 2 : 1);
    auto offset = getConstantIntValue(slice.getMixedOffsets()[size_t(columns)]);
    if (!offset)
      return std::nullopt;
    first += *offset;
  }
  return first;
}

static Product multiplied(Value a, Value b, Value acc, bool pair, const ScaledTypes *scaled) {
  int64_t blocks = pair ? 2 : 1;
  Product product;
  auto typeOf = [](Value value) { return cast<MemRefType>(value.getType()); };
  ArrayRef<int64_t> as = typeOf(a).getShape(), bs = typeOf(b).getShape(),
                    cs = typeOf(acc).getShape();
  if (as[1] != bs[0] || as[0] != cs[0] || bs[1] * blocks != cs[1]) {
    product.error = "the shapes of " + tile::describe(a) + ", " + tile::describe(b) + " and " +
                    tile::describe(acc) + " do not fit";
    return product;
  }
  auto operandType = [&](Value value, std::optional<tile::Packing> packing) {
    Type element = typeOf(value).getElementType();
    return scaled && element.isSignlessInteger(8) ? mmaType(packing.value_or(tile::Packing::F4E2M1))
                                                  : mmaType(element);
  };
  auto ta = operandType(a, scaled ? scaled->a : std::nullopt),
       tb = operandType(b, scaled ? scaled->b : std::nullopt);
  auto td = accType(typeOf(acc).getElementType());
  if (!ta || !tb || !td) {
    product.error = "the tensor core does not multiply " + tile::describe(a) + " and " +
                    tile::describe(b) + " into " + tile::describe(acc);
    return product;
  }
  product.m = as[0] * blocks;
  product.n = bs[1] * blocks;
  product.k = as[1];
  product.a = *ta;
  product.b = *tb;
  product.d = *td;
  // A is read along its rows, B along its columns: a plain A and a transposed B
  // are K-major.
  for (auto [value, operand, plainIsK] :
       {std::tuple(a, &product.aOperand, true), std::tuple(b, &product.bOperand, false)}) {
    if (tile::spaceOf(typeOf(value)) != tile::Space::Shared)
      continue; // rows of registers or lanes: K-major, as it is by default
    bool transposed = isTransposed(value);
    // Some rows of a slot lie as they do in the whole one.
    auto layout = sharedLayoutOf(typeOf(tile::rootOf(value)));
    if (!layout) {
      product.error = "the rows of " + tile::describe(value) + " are not multiples of 16 bytes";
      return product;
    }
    operand->tile = *layout;
    operand->major = transposed != plainIsK ? layout::Major::K : layout::Major::MN;
    operand->firstColumn = firstColumnOf(value).value_or(0); // verified to be constant
  }
  return product;
}

Product nv::scaledProductOf(Value a, Value b, Value acc, const ScaledTypes &types) {
  Product product = multiplied(a, b, acc, /*pair=*/false, &types);
  product.scaleBlock = isa<Float8E4M3FNType>(types.scale) ? 16 : 32;
  return product;
}

Product nv::productOf(Value a, Value b, Value acc, bool pair) {
  return multiplied(a, b, acc, pair, /*scaled=*/nullptr);
}
