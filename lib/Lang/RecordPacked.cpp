//===- RecordPacked.cpp - Packed elements ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of the public headers tell packed elements from bytes; operations only see
// bytes.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
#include "Lang/RecordSupport.h"
#include "Lang/Recorder.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::lang;

void penstock::detail::refuseFill(Loc at) {
  if (Recorder *r = recorderFor(at))
    r->error(PackedElements, at, "a copy of packed elements is filled with zeros only",
             "leave .fill out, and set what lies outside after b.unpack(..)");
}

void penstock::detail::unpack(Ref packed, Element element, Ref values, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *from = r->use(packed, at, "packed tile"), *to = r->use(values, at, "tile of values");
  if (!from || !to)
    return;
  mlir::Value source = from->value, target = to->value;
  SmallVector<int64_t> shape(cast<MemRefType>(source.getType()).getShape());
  tile::Packing packing = tile::findPacked(element)->packing;
  shape.back() = tile::valuesIn(packing, shape.back());
  auto type = cast<MemRefType>(target.getType());
  if (type.getShape() != ArrayRef<int64_t>(shape)) {
    r->error(PackedElements, at,
             "`unpack` of " + tile::describe(source) + " does not fit " + tile::describe(target),
             tile::bitsOf(packing) == 4 ? "each byte holds two values along the last dimension"
                                        : "three bytes hold four values along the last dimension");
    return;
  }
  Location loc = r->locationOf(at);
  auto map =
      tile::MapOp::create(r->builder, loc, target, ValueRange{}, r->builder.getArrayAttr({}));
  OpBuilder::InsertionGuard guard(r->builder);
  r->builder.createBlock(&map.getBody());
  SmallVector<mlir::Value> index;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    index.push_back(tile::ElementIndexOp::create(r->builder, loc, r->builder.getIndexType(), dim));
  mlir::Value value =
      tile::loadPacked(r->builder, loc, source, index, packing, type.getElementType());
  tile::YieldOp::create(r->builder, loc, value);
  r->builder.setInsertionPointAfter(map);
  r->verify(map);
}

bool penstock::lang::checkScales(Recorder &r, const ProductOperand &a, const ProductOperand &b,
                                 bool scaled, Loc at) {
  for (const ProductOperand &operand : {a, b}) {
    const tile::PackedElement *packed = tile::findPacked(operand.element);
    if (packed && !scaled) {
      r.error(ScaledProduct, at, "a product of " + tile::describe(operand.tile) + " without scales",
              packed->name.str() + " is multiplied with .scale_a and .scale_b; or unpack it with "
                                   "b.unpack(packed, values)");
      return false;
    }
    if (!packed && scaled &&
        cast<MemRefType>(operand.tile.getType()).getElementType().isInteger(8)) {
      r.error(ScaledProduct, at, "a product of " + tile::describe(operand.tile) + " with scales",
              "f8e4m3, f8e5m2, f4e2m1x2, f6e2m3_packed and f6e3m2_packed are multiplied with "
              "scales");
      return false;
    }
  }
  return true;
}

tile::PackingAttr penstock::lang::packingOf(Recorder &r, Element element) {
  const tile::PackedElement *packed = tile::findPacked(element);
  if (!packed || packed->packing == tile::Packing::F4E2M1)
    return {};
  return tile::PackingAttr::get(r.context, packed->packing);
}
