//===- LowerElementwise.cpp - Fill, map and copy --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread computes the elements that the operation's layout gives it. Tiles
// in registers have that layout, or a slice of it; others are addressed element
// by element, neighbors together.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/Lowering.h"
#include "Target/NVPTX/TileLayouts.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

static Type elementOf(Value memref) { return cast<MemRefType>(memref.getType()).getElementType(); }

Distribution Lowering::workLayoutOf(Operation *op, const ExecutionScope &by) {
  return workLayout(op, threadsOf(by.scope), [&](Value tile) -> std::optional<Distribution> {
    RegisterTile *found = registersOf(tile);
    return found ? std::optional(found->layout) : std::nullopt;
  });
}

LogicalResult Lowering::lowerFill(tile::FillOp op, const ExecutionScope &by) {
  Value value = converted(op.getValue(), elementOf(op.getTarget()));
  if (RegisterTile *tile = registersOf(op.getTarget())) {
    for (int64_t reg = 0; reg < tile->registers(); ++reg)
      writeRegister(*tile, reg, toStored(value));
    return success();
  }
  if (auto variable = variables.find(op.getTarget()); variable != variables.end()) {
    LLVM::StoreOp::create(builder, loc, toStored(value), variable->second);
    return success();
  }
  Distribution layout = workLayoutOf(op, by);
  int64_t run = together(layout, op.getTarget());
  SmallVector<Value> values(size_t(run), value);
  View view = viewOf(op.getTarget());
  forElements(layout, baseOf(layout, by), run, [&](auto base, auto offset, auto *known) {
    when(holdsElement(layout, base, offset),
         [&] { storeShared(sharedElement(view, base, offset, known), values); });
  });
  return success();
}

LogicalResult Lowering::lowerMap(tile::MapOp op, const ExecutionScope &by) {
  Distribution layout = workLayoutOf(op, by);
  RegisterTile *target = registersOf(op.getTarget());
  bool inRegisters = target || llvm::any_of(op.getInputs(), [&](Value input) {
                       return registersOf(input) != nullptr;
                     });
  SmallVector<Value> base = baseOf(layout, by);
  Value first = target ? Value() : holdsFirstCopy(layout, by);
  int64_t run = target ? 1 : together(layout, op.getTarget());
  LogicalResult ok = success();
  Value half; // of a word of the target that is written as a whole
  auto compute = [&](int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                     const Distribution *known) {
    if (failed(ok))
      return;
    Value condition = both(first, holdsElement(layout, base, offset));
    if (half && condition)
      writeRegister(*target, reg - 1, toStored(std::exchange(half, Value())));
    when(condition, [&] {
      SmallVector<Value> values;
      for (int64_t i = 0; i < run && succeeded(ok); ++i) {
        SmallVector<int64_t> at(offset);
        if (i)
          at.back() += i;
        FailureOr<Value> value = mapElement(op, layout, reg + i, base, at, known);
        ok = value;
        values.push_back(value.value_or(Value()));
      }
      if (failed(ok))
        return;
      if (target && !condition && reg % 2 == 0 && hasHalves(*target))
        half = values[0];
      else if (half)
        writeHalves(*target, reg - 1, std::exchange(half, Value()), values[0]);
      else if (target)
        writeRegister(*target, reg, toStored(values[0]));
      else
        storeShared(sharedElement(viewOf(op.getTarget()), base, offset, known), values);
    });
  };
  // Registers cannot be addressed, so that only work on memory becomes a loop.
  if (target && computesPairs(op, layout, base))
    return lowerMapByPairs(op, *target, layout, base);
  if (inRegisters)
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      compute(reg, base, layout.offsetOf(reg), &layout);
  else
    forElements(layout, base, run,
                [&](auto at, auto offset, auto *known) { compute(0, at, offset, known); });
  return ok;
}

bool Lowering::hasHalves(const RegisterTile &tile) {
  return (tile.type.isF16() || tile.type.isBF16()) && tile.registers() % 2 == 0;
}

/// Two numbers that are rounded to 16 bits take one instruction, and lie as tensor cores and
/// vectors want them. LLVM would round each of them, and pack them, if they have other uses.
void Lowering::writeHalves(RegisterTile &tile, int64_t reg, Value low, Value high) {
  auto rounded = [](Value value) {
    auto op = value.getDefiningOp<arith::TruncFOp>();
    return op && op.getIn().getType().isF32() && !op.getRoundingmode() ? op : arith::TruncFOp();
  };
  arith::TruncFOp first = rounded(low), second = rounded(high);
  if (!first || !second) {
    writeRegister(tile, reg, toStored(low));
    writeRegister(tile, reg + 1, toStored(high));
    return;
  }
  Value word = inlinePtx()
                   .output(builder.getI32Type())
                   .inputs({second.getIn(), first.getIn()})
                   .emit(tile.type.isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                           : "cvt.rn.bf16x2.f32 $0, $1, $2;",
                         PtxEffects::None)[0];
  writeWord(tile, reg / 2, word);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lowerCopy(tile::CopyOp op, const ExecutionScope &by) {
  if (op.getAsyncAttr())
    return refuse(op, "with {.async} is not available in explicit kernels; use b.tma or "
                      "b.cp_async");
  RegisterTile *from = registersOf(op.getSource()), *to = registersOf(op.getTarget());
  if (from && to && !(from->layout == to->layout))
    return convertLayout(*from, *to, by);
  Distribution layout = workLayoutOf(op, by);
  SmallVector<Value> base = baseOf(layout, by);
  Value first = to ? Value() : holdsFirstCopy(layout, by);
  Value tensor = op.readsTensor() ? op.getSource() : op.writesTensor() ? op.getTarget() : Value();
  if (!tensor) {
    int64_t run = !from || !to ? layout.registers() : hasHalves(*to) ? 2 : 1;
    for (auto [side, memref] : {std::pair(from, op.getSource()), std::pair(to, op.getTarget())})
      run = std::min(run, side ? run : together(layout, memref));
    copyElements(op, layout, base, first, run, by);
    return success();
  }
  int64_t vector = vectorOfTensor(tensor, op.getTensorDims(), layout);
  if (vector == 1) {
    copyElements(op, layout, base, first, 1, by);
    return success();
  }
  auto start = op.readsTensor() ? op.getSourceOffsets() : op.getTargetOffsets();
  if (alignedRows && isMultipleOf(start.back(), vector)) {
    needRows(tensor, unsigned(vector * bytesInTensor(tensor)),
             /*multiple=*/unsigned(vector * bytesInTensor(tensor)));
    copyElements(op, layout, base, first, vector, by);
    return success();
  }
  Value aligned = rowsAreAligned(tensor, start, layout.shape.back(), vector);
  auto choice = scf::IfOp::create(builder, loc, TypeRange(), aligned, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  copyElements(op, layout, base, first, vector, by);
  builder.setInsertionPointToStart(choice.elseBlock());
  copyElements(op, layout, base, first, 1, by);
  return success();
}

/// Copies \p run neighbors along a row at a time.
void Lowering::copyElements(tile::CopyOp op, const Distribution &layout, ArrayRef<Value> base,
                            Value first, int64_t run, const ExecutionScope &by) {
  RegisterTile *from = registersOf(op.getSource()), *to = registersOf(op.getTarget());
  Type source = elementOf(op.getSource()), target = elementOf(op.getTarget());
  SmallVector<int64_t> dims =
      op.readsTensor() || op.writesTensor() ? op.getTensorDims() : SmallVector<int64_t>();
  // Shared memory may hold fewer neighbors together than the tensor.
  auto piecesOf = [&](Value memref) { return std::min(run, together(layout, memref)); };
  auto along = [](ArrayRef<int64_t> offset, int64_t by) {
    SmallVector<int64_t> result(offset);
    if (by)
      result.back() += by;
    return result;
  };

  auto read = [&](int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                  const Distribution *known) {
    SmallVector<Value> values;
    if (from) {
      for (int64_t i = 0; i < run; ++i)
        values.push_back(fromStored(readRegister(*from, reg + i), source));
    } else if (op.readsTensor()) {
      auto [inside, address] =
          tensorElement(op.getSource(), op.getSourceOffsets(), dims, op.getRows(), base, offset);
      if (run > 1)
        values = loadVector(inside, address, source, run);
      else
        values.push_back(fromStored(loadInside(inside, address, source), source));
      if (op.getFill())
        for (Value &value : values)
          value =
              arith::SelectOp::create(builder, loc, inside, value, converted(op.getFill(), source));
    } else {
      int64_t piece = piecesOf(op.getSource());
      for (int64_t i = 0; i < run; i += piece)
        llvm::append_range(
            values, loadShared(sharedElement(viewOf(op.getSource()), base, along(offset, i), known),
                               source, piece));
    }
    for (Value &value : values)
      value = converted(value, target);
    return values;
  };
  auto write = [&](int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                   const Distribution *known, ArrayRef<Value> values) {
    if (from && to && run == 2) {
      writeHalves(*to, reg, values[0], values[1]);
    } else if (to) {
      for (int64_t i = 0; i < run; ++i)
        writeRegister(*to, reg + i, toStored(values[size_t(i)]));
    } else if (op.writesTensor()) {
      auto [inside, address] =
          tensorElement(op.getTarget(), op.getTargetOffsets(), dims, op.getRows(), base, offset);
      if (run > 1)
        storeVector(inside, address, values);
      else
        storeInside(inside, address, toStored(values[0]));
    } else {
      int64_t piece = piecesOf(op.getTarget());
      for (int64_t i = 0; i < run; i += piece)
        storeShared(sharedElement(viewOf(op.getTarget()), base, along(offset, i), known),
                    values.slice(size_t(i), size_t(piece)));
    }
  };

  bool overlaps = !from && !to && tile::rootOf(op.getSource()) == tile::rootOf(op.getTarget());
  if (overlaps) {
    // All is read before anything is written.
    RegisterTile between = makeRegisters(layout, target);
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      when(holdsElement(layout, base, layout.offsetOf(reg)), [&] {
        for (auto [i, value] : llvm::enumerate(read(reg, base, layout.offsetOf(reg), &layout)))
          writeRegister(between, reg + int64_t(i), toStored(value));
      });
    lowerSync(by);
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      when(holdsElement(layout, base, layout.offsetOf(reg)), [&] {
        SmallVector<Value> values;
        for (int64_t i = 0; i < run; ++i)
          values.push_back(fromStored(readRegister(between, reg + i), target));
        write(reg, base, layout.offsetOf(reg), &layout, values);
      });
    return;
  }
  auto move = [&](int64_t reg, ArrayRef<Value> at, ArrayRef<int64_t> offset,
                  const Distribution *known) {
    when(both(first, holdsElement(layout, at, offset)),
         [&] { write(reg, at, offset, known, read(reg, at, offset, known)); });
  };
  if (from || to)
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      move(reg, base, layout.offsetOf(reg), &layout);
  else
    forElements(layout, base, run,
                [&](auto at, auto offset, auto *known) { move(0, at, offset, known); });
}

/// Through shared memory: each element is written by one thread and read by those
/// that hold it then.
LogicalResult Lowering::convertLayout(RegisterTile &from, RegisterTile &to,
                                      const ExecutionScope &by) {
  int64_t bytes = from.element.getIntOrFloatBitWidth() / 8;
  auto address = [&](const Distribution &layout, ArrayRef<Value> base, ArrayRef<int64_t> offset) {
    Value element;
    for (size_t dim = 0; dim < layout.rank(); ++dim) {
      Value at = add(base[dim], offset[dim]);
      element = element ? add(mul(element, layout.shape[dim]), at) : at;
    }
    return sharedPointer(add(mul(element, bytes), scratchOf(by)));
  };
  ++result.conversions;
  lowerSync(by); // who still reads the scratch memory
  SmallVector<Value> base = baseOf(from.layout, by);
  Value first = holdsFirstCopy(from.layout, by);
  int64_t run = std::min<int64_t>(from.layout.run(), 16 / bytes);
  for (int64_t reg = 0; reg < from.registers(); reg += run) {
    auto offset = from.layout.offsetOf(reg);
    when(both(first, holdsElement(from.layout, base, offset)), [&] {
      SmallVector<Value> values;
      for (int64_t i = 0; i < run; ++i)
        values.push_back(readRegister(from, reg + i));
      storeShared(address(from.layout, base, offset), values);
    });
  }
  lowerSync(by);
  base = baseOf(to.layout, by);
  run = std::min<int64_t>(to.layout.run(), 16 / bytes);
  for (int64_t reg = 0; reg < to.registers(); reg += run) {
    auto offset = to.layout.offsetOf(reg);
    when(holdsElement(to.layout, base, offset), [&] {
      for (auto [i, value] :
           llvm::enumerate(loadShared(address(to.layout, base, offset), from.type, run)))
        writeRegister(to, reg + int64_t(i), toStored(converted(value, to.type)));
    });
  }
  return success();
}
