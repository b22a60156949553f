//===- Registers.cpp - Registers that hold a tile -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"
#include "Target/NVPTX/TileLayouts.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

RegisterTile *Lowering::registersOf(Value tile) {
  auto found = registers.find(tile);
  return found == registers.end() ? nullptr : &found->second;
}

RegisterTile Lowering::makeRegisters(const Distribution &layout, Type element) {
  RegisterTile tile;
  tile.layout = layout;
  tile.type = element;
  tile.element = storedAs(element);
  // Where the kernel starts, so that LLVM makes registers of them. One variable each: an array
  // would need an address for each access, half of all that LLVM reads.
  OpBuilder::InsertionGuard guard(builder);
  Value one = i32(1);
  builder.setInsertionPointAfter(one.getDefiningOp());
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  for (int64_t reg = 0; reg < tile.registers(); ++reg)
    tile.storage.push_back(LLVM::AllocaOp::create(builder, loc, pointer, tile.element, one));
  return tile;
}

/// Tiles lie as nv-assign-layouts has decided.
LogicalResult Lowering::allocateRegisters() {
  kernel.walk([&](tile::AllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (tile::spaceOf(type) != tile::Space::Local)
      return;
    if (type.getRank() == 0) {
      Value one = i32(1);
      variables[op.getResult()] =
          LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(kernel.getContext()),
                                 storedAs(type.getElementType()), one);
      return;
    }
    if (auto text = op->getAttrOfType<StringAttr>(nv::NVDialect::layoutAttr))
      registers[op.getResult()] =
          makeRegisters(*layout::parseDistribution(text.str()), type.getElementType());
  });
  // Slices are some of the registers.
  kernel.walk([&](memref::SubViewOp op) {
    RegisterTile *whole = registersOf(op.getSource());
    auto part = whole ? partOf(op, whole->layout) : std::nullopt;
    if (!part)
      return;
    RegisterTile tile = *whole;
    tile.layout = part->layout;
    tile.storage.clear();
    for (int64_t of : part->registers)
      tile.storage.push_back(whole->storage[size_t(of)]);
    registers[op.getResult()] = tile;
  });
  kernel.walk([&](nv::WgmmaOp op) {
    RegisterTile *tile = registersOf(op.getAcc());
    if (!llvm::is_contained(accumulators, tile))
      accumulators.push_back(tile);
  });
  return success();
}

Value Lowering::readRegister(RegisterTile &tile, int64_t reg) {
  return LLVM::LoadOp::create(builder, loc, tile.element, tile.storage[size_t(reg)]);
}

void Lowering::writeRegister(RegisterTile &tile, int64_t reg, Value value) {
  LLVM::StoreOp::create(builder, loc, value, tile.storage[size_t(reg)]);
}

int64_t Lowering::words(const RegisterTile &tile) const {
  return tile.registers() * tile.element.getIntOrFloatBitWidth() / 32;
}

Value Lowering::readWord(RegisterTile &tile, int64_t word) {
  int64_t each = 32 / tile.element.getIntOrFloatBitWidth();
  if (each == 1)
    return readRegister(tile, word);
  SmallVector<Value> values;
  for (int64_t i = 0; i < each; ++i)
    values.push_back(readRegister(tile, word * each + i));
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), packed(values));
}

void Lowering::writeWord(RegisterTile &tile, int64_t word, Value value) {
  int64_t each = 32 / tile.element.getIntOrFloatBitWidth();
  if (each == 1)
    return writeRegister(tile, word,
                         value.getType() == tile.element
                             ? value
                             : LLVM::BitcastOp::create(builder, loc, tile.element, value));
  Value all = LLVM::BitcastOp::create(builder, loc, VectorType::get({each}, tile.element), value);
  for (int64_t i = 0; i < each; ++i)
    writeRegister(tile, word * each + i, LLVM::ExtractElementOp::create(builder, loc, all, i32(i)));
}

Value Lowering::packed(ArrayRef<Value> values) {
  auto type = VectorType::get({int64_t(values.size())}, values[0].getType());
  Value all = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, value] : llvm::enumerate(values))
    all = LLVM::InsertElementOp::create(builder, loc, all, value, i32(int64_t(i)));
  return all;
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value Lowering::digitOf(Value number, int64_t weight, int64_t extent) {
  if (weight != 1)
    number = builder.createOrFold<arith::DivUIOp>(loc, number, i32(weight));
  return builder.createOrFold<arith::RemUIOp>(loc, number, i32(extent));
}

SmallVector<Value> Lowering::coordinateOf(ArrayRef<Distribution::Digit> digits, Value number,
                                          size_t rank) {
  SmallVector<Value> at(rank, i32(0));
  int64_t weight = 1;
  for (const Distribution::Digit &digit : digits) {
    if (digit.dim >= 0)
      at[size_t(digit.dim)] =
          add(at[size_t(digit.dim)], mul(digitOf(number, weight, digit.extent), digit.stride));
    weight *= digit.extent;
  }
  return at;
}

Value Lowering::threadInScope(const ExecutionScope &by) {
  return add(thread, -by.scope.firstWarp * nv::warpSize);
}

SmallVector<Value> Lowering::baseOf(const Distribution &layout, const ExecutionScope &by) {
  return coordinateOf(layout.threadDigits, threadInScope(by), layout.rank());
}

Value Lowering::holdsElement(const Distribution &layout, ArrayRef<Value> base,
                             ArrayRef<int64_t> offset) {
  if (layout.isFull())
    return {};
  Value held;
  for (size_t dim = 0; dim < layout.rank(); ++dim)
    held = both(
        held, cmp(arith::CmpIPredicate::ult, add(base[dim], offset[dim]), i32(layout.shape[dim])));
  return held;
}

Value Lowering::holdsFirstCopy(const Distribution &layout, const ExecutionScope &by) {
  Value first;
  int64_t weight = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    if (digit.dim < 0)
      first = both(first, cmp(arith::CmpIPredicate::eq,
                              digitOf(threadInScope(by), weight, digit.extent), i32(0)));
    weight *= digit.extent;
  }
  return first;
}

Value Lowering::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

void Lowering::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto choice = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  body();
}

void Lowering::forElements(
    const Distribution &layout, ArrayRef<Value> base, int64_t step,
    llvm::function_ref<void(ArrayRef<Value>, ArrayRef<int64_t>, const Distribution *)> body) {
  // So many are written out, for loads that overlap; a loop does the rest.
  constexpr int64_t unrolled = 8;
  int64_t low = 1;
  size_t digits = 0;
  while (digits < layout.registerDigits.size() && low < unrolled * step)
    low *= layout.registerDigits[digits++].extent;
  int64_t rounds = layout.registers() / low;
  if (rounds <= 2) {
    for (int64_t reg = 0; reg < layout.registers(); reg += step)
      body(base, layout.offsetOf(reg), &layout);
    return;
  }
  auto loop = scf::ForOp::create(builder, loc, i32(0), i32(rounds), i32(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> round = coordinateOf(ArrayRef(layout.registerDigits).drop_front(digits),
                                          loop.getInductionVar(), layout.rank());
  for (size_t dim = 0; dim < layout.rank(); ++dim)
    round[dim] = add(base[dim], round[dim]);
  for (int64_t reg = 0; reg < low; reg += step)
    body(round, layout.offsetOf(reg), nullptr);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Lowering::converted(Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  if (isa<IntegerType>(from) && isa<IntegerType>(to) &&
      from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, loc, to, value);
  if (isa<IntegerType>(from) || isa<IntegerType>(to)) // only moved
    return builder.createOrFold<arith::BitcastOp>(loc, to, value);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  // Between formats of one width there is no direct way.
  if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
    return converted(converted(value, builder.getF32Type()), to);
  return arith::TruncFOp::create(builder, loc, to, value);
}

Value Lowering::fromStored(Value value, Type element) {
  if (element.isInteger(1))
    return value.getType() == element
               ? value
               : arith::TruncIOp::create(builder, loc, element, value).getResult();
  return builder.createOrFold<arith::BitcastOp>(loc, element, value);
}

Value Lowering::toStored(Value value) {
  if (value.getType().isInteger(1))
    return arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  return builder.createOrFold<arith::BitcastOp>(loc, storedAs(value.getType()), value);
}

int64_t Lowering::together(const Distribution &layout, Value tile) {
  View view = viewOf(tile);
  auto found = shared.find(view.root);
  if (found == shared.end() || view.dims.empty() || view.dims.back() + 1 != view.offsets.size())
    return 1;
  // Pieces of 16 bytes stay together, whatever the swizzle; rows of plain tiles
  // begin where the one before ends.
  const layout::SharedTile &place = found->second.layout;
  int64_t run = std::min<int64_t>(layout.run(), 128 / place.elementBits);
  auto first = getConstantIntValue(view.offsets.back());
  while (run > 1 && (!first || *first % run || place.cols % run))
    run /= 2;
  return run;
}

int64_t Lowering::neighborsFrom(const Distribution &layout, Value tile, ArrayRef<int64_t> offset) {
  int64_t run = together(layout, tile);
  while (offset.back() % run)
    run /= 2;
  return run;
}

SmallVector<Value> Lowering::loadShared(Value address, Type element, int64_t count,
                                        int64_t aligned) {
  Type stored = storedAs(element);
  SmallVector<Value> values;
  if (count == 1) {
    auto bytes = unsigned(aligned * stored.getIntOrFloatBitWidth() / 8);
    values.push_back(
        fromStored(LLVM::LoadOp::create(builder, loc, stored, address, bytes), element));
    return values;
  }
  Value all = LLVM::LoadOp::create(builder, loc, VectorType::get({count}, stored), address,
                                   unsigned(count * stored.getIntOrFloatBitWidth() / 8));
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        fromStored(LLVM::ExtractElementOp::create(builder, loc, all, i32(i)), element));
  return values;
}

void Lowering::storeShared(Value address, ArrayRef<Value> elements) {
  SmallVector<Value> values =
      llvm::map_to_vector(elements, [&](Value value) { return toStored(value); });
  if (values.size() == 1) {
    LLVM::StoreOp::create(builder, loc, values[0], address);
    return;
  }
  LLVM::StoreOp::create(builder, loc, packed(values), address,
                        unsigned(values.size() * values[0].getType().getIntOrFloatBitWidth() / 8));
}
