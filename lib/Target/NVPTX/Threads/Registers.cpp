//===- Registers.cpp - Registers that hold tiles --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/Registers.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Placement/TileLayouts.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

RegisterTile *nvptx::registersOf(LoweringContext &c, Value tile) {
  auto found = c.registers.tiles.find(tile);
  return found == c.registers.tiles.end() ? nullptr : &found->second;
}

RegisterTile nvptx::makeRegisters(LoweringContext &c, const layout::Distribution &layout,
                                  Type element) {
  RegisterTile tile;
  tile.layout = layout;
  tile.type = element;
  tile.element = storedAs(element);
  // At the start of the kernel, so that LLVM promotes them to registers. One variable each: an
  // array would need an address for each access, half of all that LLVM reads.
  OpBuilder::InsertionGuard guard(c.builder);
  Value one = c.i32(1);
  c.builder.setInsertionPointAfter(one.getDefiningOp());
  auto pointer = LLVM::LLVMPointerType::get(c.kernel.getContext());
  for (int64_t reg = 0; reg < tile.registers(); ++reg)
    tile.storage.push_back(LLVM::AllocaOp::create(c.builder, c.loc, pointer, tile.element, one));
  return tile;
}

void nvptx::allocateRegisters(LoweringContext &c) {
  c.kernel.walk([&](tile::AllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (tile::spaceOf(type) != tile::Space::Local)
      return;
    if (type.getRank() == 0) {
      Value one = c.i32(1);
      c.registers.variables[op.getResult()] = LLVM::AllocaOp::create(
          c.builder, c.loc, LLVM::LLVMPointerType::get(c.kernel.getContext()),
          storedAs(type.getElementType()), one);
      return;
    }
    if (const layout::Distribution *layout = nv::layoutOf(op.getResult()))
      c.registers.tiles[op.getResult()] = makeRegisters(c, *layout, type.getElementType());
  });
  // Slices are some of the registers.
  c.kernel.walk([&](memref::SubViewOp op) {
    RegisterTile *whole = registersOf(c, op.getSource());
    auto part = whole ? partOf(op, whole->layout) : std::nullopt;
    if (!part)
      return;
    RegisterTile tile = *whole;
    tile.layout = part->layout;
    tile.storage.clear();
    for (int64_t of : part->registers)
      tile.storage.push_back(whole->storage[size_t(of)]);
    c.registers.tiles[op.getResult()] = tile;
  });
}

Value nvptx::readRegister(LoweringContext &c, RegisterTile &tile, int64_t reg) {
  return LLVM::LoadOp::create(c.builder, c.loc, tile.element, tile.storage[size_t(reg)]);
}

void nvptx::writeRegister(LoweringContext &c, RegisterTile &tile, int64_t reg, Value value) {
  LLVM::StoreOp::create(c.builder, c.loc, value, tile.storage[size_t(reg)]);
}

int64_t nvptx::words(const RegisterTile &tile) {
  return tile.registers() * tile.element.getIntOrFloatBitWidth() / 32;
}

Value nvptx::readWord(LoweringContext &c, RegisterTile &tile, int64_t word) {
  int64_t each = 32 / tile.element.getIntOrFloatBitWidth();
  if (each == 1)
    return readRegister(c, tile, word);
  SmallVector<Value> values;
  for (int64_t i = 0; i < each; ++i)
    values.push_back(readRegister(c, tile, word * each + i));
  return LLVM::BitcastOp::create(c.builder, c.loc, c.builder.getI32Type(), c.packed(values));
}

void nvptx::writeWord(LoweringContext &c, RegisterTile &tile, int64_t word, Value value) {
  int64_t each = 32 / tile.element.getIntOrFloatBitWidth();
  if (each == 1)
    return writeRegister(c, tile, word,
                         value.getType() == tile.element
                             ? value
                             : LLVM::BitcastOp::create(c.builder, c.loc, tile.element, value));
  Value all =
      LLVM::BitcastOp::create(c.builder, c.loc, VectorType::get({each}, tile.element), value);
  for (int64_t i = 0; i < each; ++i)
    writeRegister(c, tile, word * each + i,
                  LLVM::ExtractElementOp::create(c.builder, c.loc, all, c.i32(i)));
}

bool nvptx::hasHalves(const RegisterTile &tile) {
  return (tile.type.isF16() || tile.type.isBF16()) && tile.registers() % 2 == 0;
}

/// Two numbers that are rounded to 16 bits take one instruction, and lie as tensor cores and
/// vectors want them. LLVM would round each of them, and pack them, if they have other uses.
void nvptx::writeHalves(LoweringContext &c, RegisterTile &tile, int64_t reg, Value low,
                        Value high) {
  auto rounded = [](Value value) {
    auto op = value.getDefiningOp<arith::TruncFOp>();
    return op && op.getIn().getType().isF32() && !op.getRoundingmode() ? op : arith::TruncFOp();
  };
  arith::TruncFOp first = rounded(low), second = rounded(high);
  if (!first || !second) {
    writeRegister(c, tile, reg, toStored(c, low));
    writeRegister(c, tile, reg + 1, toStored(c, high));
    return;
  }
  Value word = c.inlinePtx()
                   .output(c.builder.getI32Type())
                   .inputs({second.getIn(), first.getIn()})
                   .emit(tile.type.isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                           : "cvt.rn.bf16x2.f32 $0, $1, $2;",
                         PtxEffects::None)[0];
  writeWord(c, tile, reg / 2, word);
}

void nvptx::ptxWithRegisters(LoweringContext &c, StringRef text, ArrayRef<RegisterTile *> tiles) {
  InlinePtx statement = c.inlinePtx();
  for (RegisterTile *tile : tiles)
    for (int64_t word = 0; word < words(*tile); ++word)
      statement.inOut(readWord(c, *tile, word));
  SmallVector<Value> values = statement.emit(text, PtxEffects::Memory);
  size_t next = 0;
  for (RegisterTile *tile : tiles)
    for (int64_t word = 0; word < words(*tile); ++word)
      writeWord(c, *tile, word, values[next++]);
}
