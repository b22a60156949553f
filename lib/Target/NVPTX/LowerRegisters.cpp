//===- LowerRegisters.cpp - Tiles that are spread over registers ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

RegisterTile *Lowering::registersOf(Value tile) {
  auto found = registers.find(tile);
  return found == registers.end() ? nullptr : &found->second;
}

static Value registerAddress(OpBuilder &builder, Location loc, RegisterTile &tile, int64_t reg) {
  auto array = LLVM::LLVMArrayType::get(tile.element, unsigned(tile.registers()));
  return LLVM::GEPOp::create(builder, loc, tile.storage.getType(), array, tile.storage,
                             ArrayRef<LLVM::GEPArg>{0, int32_t(reg)});
}

Value Lowering::readRegister(RegisterTile &tile, int64_t reg) {
  return LLVM::LoadOp::create(builder, loc, tile.element, registerAddress(builder, loc, tile, reg));
}

void Lowering::writeRegister(RegisterTile &tile, int64_t reg, Value value) {
  LLVM::StoreOp::create(builder, loc, value, registerAddress(builder, loc, tile, reg));
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

/// The sum of a fragment's terms for a thread or a register.
Value Lowering::sumOf(const std::vector<layout::Fragment::Term> &terms, Value index) {
  Value total;
  for (const layout::Fragment::Term &term : terms) {
    Value part = index;
    if (term.div != 1)
      part = builder.createOrFold<arith::DivUIOp>(loc, part, i32(term.div));
    part = builder.createOrFold<arith::RemUIOp>(loc, part, i32(term.mod));
    part = mul(part, term.stride);
    total = total ? add(total, part) : part;
  }
  return total ? total : i32(0);
}

std::pair<Value, Value> Lowering::baseOf(const layout::Fragment &fragment, const Executing &by) {
  Value inScope = add(thread, -by.scope.firstWarp * nv::warpSize);
  return {sumOf(fragment.rowTerms, inScope), sumOf(fragment.colTerms, inScope)};
}

void Lowering::forRegisters(const layout::Fragment &fragment,
                            llvm::function_ref<void(Value, Value, layout::Coordinate)> body) {
  // So many are written out, for loads that overlap; a loop does the rest.
  constexpr int64_t unrolled = 8;
  int64_t rounds = fragment.registers / unrolled;
  bool regular = fragment.registers % unrolled == 0 && rounds > 1;
  for (int64_t reg = 0; regular && reg < fragment.registers; ++reg) {
    layout::Coordinate round = fragment.offsetOf(reg / unrolled * unrolled),
                       inRound = fragment.offsetOf(reg % unrolled);
    regular = fragment.offsetOf(reg) ==
              layout::Coordinate{round.row + inRound.row, round.col + inRound.col};
  }
  if (!regular) {
    for (int64_t reg = 0; reg < fragment.registers; ++reg)
      body(i32(0), i32(0), fragment.offsetOf(reg));
    return;
  }
  auto loop = scf::ForOp::create(builder, loc, i32(0), i32(fragment.registers), i32(unrolled));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value row = sumOf(fragment.rowRegisterTerms, loop.getInductionVar());
  Value col = sumOf(fragment.colRegisterTerms, loop.getInductionVar());
  for (int64_t i = 0; i < unrolled; ++i)
    body(row, col, fragment.offsetOf(i));
}

void Lowering::whenHeld(const layout::Fragment &fragment, Value row, Value col,
                        llvm::function_ref<void()> body) {
  if (fragment.isFull())
    return body();
  Value rowHeld = cmp(arith::CmpIPredicate::ult, row, i32(fragment.rows));
  Value colHeld = cmp(arith::CmpIPredicate::ult, col, i32(fragment.cols));
  when(arith::AndIOp::create(builder, loc, rowHeld, colHeld), body);
}

Value Lowering::converted(Value value, Type to) {
  to = storedAs(to);
  if (storedAs(value.getType()) != value.getType())
    value = builder.createOrFold<arith::BitcastOp>(loc, storedAs(value.getType()), value);
  Type from = value.getType();
  if (from == to)
    return value;
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  // Between formats of one width there is no direct way.
  if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
    return converted(converted(value, builder.getF32Type()), to);
  return arith::TruncFOp::create(builder, loc, to, value);
}

int64_t Lowering::together(const layout::Fragment &fragment, Value tile) {
  View view = viewOf(tile);
  auto found = shared.find(view.root);
  if (found == shared.end() || view.dims.size() != 2 || view.dims[0] > view.dims[1])
    return 1;
  // Pieces of 16 bytes stay together, whatever the swizzle; rows of plain tiles
  // begin where the one before ends.
  const layout::SharedTile &layout = found->second.layout;
  int64_t run = std::min<int64_t>(fragment.run(), 128 / layout.elementBits);
  APInt first;
  bool known = matchPattern(view.offsets.back(), m_ConstantInt(&first));
  while (run > 1 && (!known || first.getSExtValue() % run || layout.cols % run))
    run /= 2;
  return run;
}

Value Lowering::loadShared(Value address, Type element, int64_t count) {
  element = storedAs(element);
  if (count == 1)
    return LLVM::LoadOp::create(builder, loc, element, address);
  return LLVM::LoadOp::create(builder, loc, VectorType::get({count}, element), address,
                              unsigned(count * element.getIntOrFloatBitWidth() / 8));
}

Value Lowering::elementOf(Value loaded, int64_t i) {
  if (!isa<VectorType>(loaded.getType()))
    return loaded;
  return LLVM::ExtractElementOp::create(builder, loc, loaded, i32(i));
}

Value Lowering::packed(ArrayRef<Value> values) {
  auto type = VectorType::get({int64_t(values.size())}, values[0].getType());
  Value all = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, value] : llvm::enumerate(values))
    all = LLVM::InsertElementOp::create(builder, loc, all, value, i32(int64_t(i)));
  return all;
}

void Lowering::storeShared(Value address, ArrayRef<Value> values) {
  if (values.size() == 1) {
    LLVM::StoreOp::create(builder, loc, values[0], address);
    return;
  }
  LLVM::StoreOp::create(builder, loc, packed(values), address,
                        unsigned(values.size() * values[0].getType().getIntOrFloatBitWidth() / 8));
}

layout::Fragment Lowering::coalesced(MemRefType type, const Executing &by) {
  int64_t rank = type.getRank();
  return layout::spread(rank > 1 ? type.getDimSize(rank - 2) : 1, type.getDimSize(rank - 1),
                        by.scope.oneThread ? 1 : by.scope.warps * nv::warpSize, neighbours(type));
}

int64_t Lowering::neighbours(MemRefType type) {
  int64_t cols = type.getDimSize(type.getRank() - 1);
  int64_t count = std::max<int64_t>(1, 128 / type.getElementTypeBitWidth());
  while (cols % count)
    count /= 2;
  return count;
}

LogicalResult Lowering::lowerFill(tile::FillOp op, const Executing &by) {
  RegisterTile *tile = registersOf(op.getTarget());
  if (!tile) {
    auto type = cast<MemRefType>(op.getTarget().getType());
    layout::Fragment fragment = coalesced(type, by);
    auto [row, col] = baseOf(fragment, by);
    View view = viewOf(op.getTarget());
    Value value = converted(op.getValue(), type.getElementType());
    int64_t run = together(fragment, op.getTarget());
    SmallVector<Value> values(size_t(run), value);
    for (int64_t reg = 0; reg < fragment.registers; reg += run) {
      layout::Coordinate offset = fragment.offsetOf(reg);
      whenHeld(fragment, add(row, offset.row), add(col, offset.col), [&] {
        storeShared(sharedElement(view, add(row, offset.row), col, offset.col), values);
      });
    }
    return success();
  }
  for (int64_t reg = 0; reg < tile->registers(); ++reg)
    writeRegister(*tile, reg, converted(op.getValue(), tile->element));
  return success();
}

/// Each thread computes the elements that its registers stand for. What decides
/// is the target, or, for a shared target, an input that lies in registers.
LogicalResult Lowering::lowerMap(tile::MapOp op, const Executing &by) {
  RegisterTile *target = registersOf(op.getTarget());
  RegisterTile *decides = target;
  for (Value input : op.getInputs())
    if (RegisterTile *tile = registersOf(input); tile && tile->rank == 2 && !decides)
      decides = tile;
  auto type = cast<MemRefType>(op.getTarget().getType());
  if (!decides && type.getRank() != 2)
    return refuse(op, "of this shape is not available in explicit kernels");
  layout::Fragment fragment = decides ? decides->fragment : coalesced(type, by);
  int64_t count = decides ? decides->registers() : fragment.registers;
  auto [row, col] = baseOf(fragment, by);
  int64_t run = target ? 1 : together(fragment, op.getTarget());
  for (int64_t reg = 0; reg < count; reg += run) {
    auto offsetOf = [&](int64_t reg) {
      return decides && decides->rank == 1 ? layout::Coordinate{decides->rowOf[size_t(reg)], 0}
                                           : fragment.offsetOf(reg);
    };
    layout::Coordinate first = offsetOf(reg);
    LogicalResult ok = success();
    whenHeld(fragment, add(row, first.row), add(col, first.col), [&] {
      SmallVector<Value> values;
      for (int64_t i = 0; i < run && succeeded(ok); ++i) {
        FailureOr<Value> value = mapElement(op, decides, reg + i, offsetOf(reg + i), row, col);
        ok = value;
        values.push_back(value.value_or(Value()));
      }
      if (failed(ok))
        return;
      if (target)
        writeRegister(*target, reg, values[0]);
      else
        storeShared(sharedElement(viewOf(op.getTarget()), add(row, first.row), col, first.col),
                    values);
    });
    if (failed(ok))
      return failure();
  }
  return success();
}

/// What the body of \p op computes for one register.
FailureOr<Value> Lowering::mapElement(tile::MapOp op, RegisterTile *decides, int64_t reg,
                                      layout::Coordinate offset, Value row, Value col) {
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    SmallVector<int64_t> dims = op.getInputDims(unsigned(i));
    Value value;
    if (RegisterTile *tile = registersOf(input)) {
      if (tile->rank == 2 || (decides && decides->rank == 1)) {
        value = readRegister(*tile, reg);
      } else if (dims == SmallVector<int64_t>{0}) {
        auto found = llvm::find(tile->rowOf, offset.row);
        value = readRegister(*tile, found - tile->rowOf.begin());
      } else {
        return refuse(op, "broadcasts a tile in registers along columns, which is not available");
      }
    } else {
      auto coordinate = [&](int64_t dim) -> Value {
        return dim == 0 ? add(row, offset.row) : Value(col);
      };
      Value inRow = dims.size() > 1 ? coordinate(dims[0]) : i32(0);
      bool along = dims.empty() || dims.back() == 1;
      Value address =
          sharedElement(viewOf(input), inRow, along ? col : coordinate(0), along ? offset.col : 0);
      value = LLVM::LoadOp::create(builder, loc, cast<MemRefType>(input.getType()).getElementType(),
                                   address);
    }
    mapping.map(op.getBody().getArgument(unsigned(i)), value);
  }
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (auto index = dyn_cast<tile::ElementIndexOp>(inner)) {
      Value at = index.getDim() == 0 ? add(row, offset.row) : add(col, offset.col);
      mapping.map(index.getResult(), asIndex(at));
    } else if (auto load = dyn_cast<tile::LoadOp>(inner)) {
      if (failed(checkElementAccess(load)))
        return failure();
      SmallVector<Value> indices = llvm::map_to_vector(
          load.getIndices(), [&](Value index) { return mapping.lookupOrDefault(index); });
      mapping.map(load.getResult(), loadElement(load.getSource(), indices));
    } else if (isa<tile::TileDialect>(inner.getDialect())) {
      return refuse(&inner, "in an expression is not available in explicit kernels");
    } else {
      if (failed(checkScalar(&inner)))
        return failure();
      builder.clone(inner, mapping);
    }
  }
  auto yield = cast<tile::YieldOp>(op.getBody().front().getTerminator());
  return mapping.lookupOrDefault(yield.getValue());
}

/// A box of a tensor into a shared tile, element by element.
LogicalResult Lowering::loadByThreads(tile::CopyOp op, const Executing &by) {
  auto type = cast<MemRefType>(op.getTarget().getType());
  layout::Fragment fragment = coalesced(type, by);
  auto [row, col] = baseOf(fragment, by);
  View view = viewOf(op.getTarget());
  SmallVector<int64_t> dims = op.getTensorDims();
  Type stored = cast<MemRefType>(op.getSource().getType()).getElementType();
  forRegisters(fragment, [&](Value roundRow, Value roundCol, layout::Coordinate offset) {
    Value tileRow = add(add(row, roundRow), offset.row), runCol = add(col, roundCol);
    Value tileCol = add(runCol, offset.col);
    whenHeld(fragment, tileRow, tileCol, [&] {
      auto [inside, address] =
          tensorElement(op.getSource(), op.getSourceOffsets(), dims, tileRow, runCol, offset.col);
      Value value = loadInside(inside, address, stored);
      value = converted(value, type.getElementType());
      if (op.getFill())
        value = arith::SelectOp::create(builder, loc, inside, value,
                                        converted(op.getFill(), type.getElementType()));
      storeShared(sharedElement(view, tileRow, runCol, offset.col), value);
    });
  });
  return success();
}

LogicalResult Lowering::lowerCopy(tile::CopyOp op, const Executing &by) {
  if (op.getAsyncAttr())
    return refuse(op, "with {.async} is not available in explicit kernels; use b.tma or "
                      "b.cp_async");
  if (op.readsTensor() && shared.count(tile::rootOf(op.getTarget())))
    return loadByThreads(op, by);
  Value tileValue = op.readsTensor() ? op.getTarget() : op.getSource();
  RegisterTile *tile = registersOf(tileValue);
  bool toRegisters = !op.writesTensor() && registersOf(op.getTarget());
  if (!tile)
    tile = registersOf(op.getTarget());
  if (RegisterTile *from = registersOf(op.getSource()), *to = registersOf(op.getTarget());
      from && to && from->rank == 1) {
    for (int64_t reg = 0; reg < from->registers(); ++reg)
      writeRegister(*to, reg, converted(readRegister(*from, reg), to->element));
    return success();
  }
  if (!tile || tile->rank != 2)
    return refuse(op, "moves tiles in registers only, here; use b.tma or b.cp_async");
  auto [row, col] = baseOf(tile->fragment, by);
  if (!op.readsTensor() && !op.writesTensor()) {
    RegisterTile *from = registersOf(op.getSource()), *to = registersOf(op.getTarget());
    Type source = cast<MemRefType>(op.getSource().getType()).getElementType();
    Type stored = cast<MemRefType>(op.getTarget().getType()).getElementType();
    int64_t run = tile->registers();
    for (auto [side, memref] : {std::pair(from, op.getSource()), std::pair(to, op.getTarget())})
      run = std::min(run, side ? run : together(tile->fragment, memref));
    if (from && to)
      run = 1;
    for (int64_t reg = 0; reg < tile->registers(); reg += run) {
      layout::Coordinate offset = tile->fragment.offsetOf(reg);
      auto address = [&](Value memref) {
        return sharedElement(viewOf(memref), add(row, offset.row), col, offset.col);
      };
      whenHeld(tile->fragment, add(row, offset.row), add(col, offset.col), [&] {
        Value loaded = from ? Value() : loadShared(address(op.getSource()), source, run);
        SmallVector<Value> values;
        for (int64_t i = 0; i < run; ++i)
          values.push_back(
              converted(from ? readRegister(*from, reg + i) : elementOf(loaded, i), stored));
        if (!to)
          return storeShared(address(op.getTarget()), values);
        for (int64_t i = 0; i < run; ++i)
          writeRegister(*to, reg + i, values[size_t(i)]);
      });
    }
    return success();
  }
  Value tensor = op.readsTensor() ? op.getSource() : op.getTarget();
  auto offsets = op.readsTensor() ? op.getSourceOffsets() : op.getTargetOffsets();
  SmallVector<int64_t> dims = op.getTensorDims();
  for (int64_t reg = 0; reg < tile->registers(); ++reg) {
    layout::Coordinate offset = tile->fragment.offsetOf(reg);
    auto [inside, address] =
        tensorElement(tensor, offsets, dims, add(row, offset.row), col, offset.col);
    if (!tile->fragment.isFull()) {
      Value rowHeld =
          cmp(arith::CmpIPredicate::ult, add(row, offset.row), i32(tile->fragment.rows));
      Value colHeld =
          cmp(arith::CmpIPredicate::ult, add(col, offset.col), i32(tile->fragment.cols));
      inside = arith::AndIOp::create(builder, loc, inside,
                                     arith::AndIOp::create(builder, loc, rowHeld, colHeld));
    }
    Type stored = cast<MemRefType>(tensor.getType()).getElementType();
    if (!toRegisters) {
      Value value = converted(readRegister(*tile, reg), stored);
      storeInside(inside, address, value);
      continue;
    }
    Value value = converted(loadInside(inside, address, stored), tile->element);
    if (op.getFill())
      value = arith::SelectOp::create(builder, loc, inside, value,
                                      converted(op.getFill(), tile->element));
    writeRegister(*tile, reg, value);
  }
  return success();
}

/// Along rows: within a thread, then over the threads that share a row.
LogicalResult Lowering::lowerReduce(tile::ReduceOp op, const Executing &) {
  RegisterTile *from = registersOf(op.getSource()), *to = registersOf(op.getTarget());
  if (!from || !to || op.getDim() != 1 || from->spread == Spread::Coalesced)
    return refuse(op, "is available along the rows of accumulators");
  auto combine = [&](Value a, Value b) -> Value {
    bool floating = isa<FloatType>(a.getType());
    switch (op.getKind()) {
    case tile::ReduceKind::Sum:
      return floating ? arith::AddFOp::create(builder, loc, a, b).getResult()
                      : arith::AddIOp::create(builder, loc, a, b).getResult();
    case tile::ReduceKind::Prod:
      return floating ? arith::MulFOp::create(builder, loc, a, b).getResult()
                      : arith::MulIOp::create(builder, loc, a, b).getResult();
    case tile::ReduceKind::Max:
      return floating ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
                      : arith::MaxSIOp::create(builder, loc, a, b).getResult();
    case tile::ReduceKind::Min:
      break;
    }
    return floating ? arith::MinimumFOp::create(builder, loc, a, b).getResult()
                    : arith::MinSIOp::create(builder, loc, a, b).getResult();
  };
  if (!to->element.isF32() && from->spread == Spread::Accumulator)
    return refuse(op, "over threads is available for f32");
  for (auto [slot, row] : llvm::enumerate(to->rowOf)) {
    Value total;
    for (int64_t reg = 0; reg < from->registers(); ++reg)
      if (from->fragment.offsetOf(reg).row == row) {
        Value value = converted(readRegister(*from, reg), to->element);
        total = total ? combine(total, value) : value;
      }
    if (from->spread == Spread::Accumulator)
      for (int64_t distance : {1, 2}) {
        Value other = ptxValue(total.getType(), "shfl.sync.bfly.b32 $0, $1, $2, 0x1f, 0xffffffff;",
                               {total, i32(distance)}, "=f,f,r");
        total = combine(total, other);
      }
    if (op.getAccumulate())
      total = combine(readRegister(*to, int64_t(slot)), total);
    writeRegister(*to, int64_t(slot), total);
  }
  return success();
}
