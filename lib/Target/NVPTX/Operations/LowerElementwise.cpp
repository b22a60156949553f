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
#include "Target/NVPTX/Operations/LowerElementwise.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Matrices/StoreMatrix.h"
#include "Target/NVPTX/Operations/LowerMapBody.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Operations/VectorAccess.h"
#include "Target/NVPTX/Placement/TileLayouts.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

Distribution nvptx::workLayoutOf(LoweringContext &c, Operation *op, const ExecutionScope &by) {
  return workLayout(op, threadsOf(by.scope), [&](Value tile) -> const Distribution * {
    RegisterTile *found = registersOf(c, tile);
    return found ? &found->layout : nullptr;
  });
}

static LogicalResult lowerFill(LoweringContext &c, tile::FillOp op, const ExecutionScope &by) {
  if (failed(c.checkReach(op)))
    return failure();
  Value value = converted(c, op.getValue(), elementOf(op.getTarget()));
  if (RegisterTile *tile = registersOf(c, op.getTarget())) {
    for (int64_t reg = 0; reg < tile->registers(); ++reg)
      writeRegister(c, *tile, reg, toStored(c, value));
    return success();
  }
  if (auto variable = c.registers.variables.find(op.getTarget());
      variable != c.registers.variables.end()) {
    LLVM::StoreOp::create(c.builder, c.loc, toStored(c, value), variable->second);
    return success();
  }
  Distribution layout = workLayoutOf(c, op, by);
  int64_t run = together(c, layout, op.getTarget());
  SmallVector<Value> values(size_t(run), value);
  View view = viewOf(c, op.getTarget());
  forElements(c, layout, baseOf(c, layout, by), run, [&](auto base, auto offset, auto *known) {
    c.when(holdsElement(c, layout, base, offset),
           [&] { storeShared(c, sharedElement(c, view, base, offset, known), values); });
  });
  return success();
}

/// Writes the elements of a map that unpacks 4-bit integers into registers.
static void unpackToRegisters(LoweringContext &c, NibbleMap &nibbles, RegisterTile &target,
                              const Distribution &layout, ArrayRef<Value> base) {
  for (int64_t reg = 0; reg < layout.registers(); reg += 2) {
    SmallVector<Value, 2> pair = nibbles.pair(base, layout.offsetOf(reg), /*known=*/true);
    if (pair.size() == 1) {
      writeWord(c, target, reg / 2, pair.front());
      continue;
    }
    writeRegister(c, target, reg, pair[0]);
    writeRegister(c, target, reg + 1, pair[1]);
  }
}

static LogicalResult lowerMap(LoweringContext &c, tile::MapOp op, const ExecutionScope &by) {
  if (failed(c.checkReach(op)))
    return failure();
  Distribution layout = workLayoutOf(c, op, by);
  RegisterTile *target = registersOf(c, op.getTarget());
  bool inRegisters = target || llvm::any_of(op.getInputs(), [&](Value input) {
                       return registersOf(c, input) != nullptr;
                     });
  bool loads = !op.getBody().getOps<tile::LoadOp>().empty();
  SmallVector<Value> base = baseOf(c, layout, by, /*inPlace=*/target && loads);
  Value first = target ? Value() : holdsFirstCopy(c, layout, by);
  int64_t run = target ? 1 : together(c, layout, op.getTarget());
  std::optional<NibbleMap> nibbles = NibbleMap::match(c, op, layout);
  if (nibbles && target) {
    unpackToRegisters(c, *nibbles, *target, layout, base);
    return success();
  }
  LogicalResult ok = success();
  Value half; // of a word of the target that is written as a whole
  auto compute = [&](int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                     const Distribution *known) {
    if (failed(ok))
      return;
    Value condition = c.both(first, holdsElement(c, layout, base, offset));
    if (half && condition)
      writeRegister(c, *target, reg - 1, toStored(c, std::exchange(half, Value())));
    c.when(condition, [&] {
      SmallVector<Value> values;
      if (nibbles && run % 2 == 0) {
        values = nibbles->values(base, offset, known, run);
        nibbles->forget(); // other elements may be under another condition
      }
      for (int64_t i = int64_t(values.size()); i < run && succeeded(ok); ++i) {
        SmallVector<int64_t> at(offset);
        if (i)
          at.back() += i;
        FailureOr<Value> value = mapElement(c, op, layout, reg + i, base, at, known);
        ok = value;
        values.push_back(value.value_or(Value()));
      }
      if (failed(ok))
        return;
      if (target && !condition && reg % 2 == 0 && hasHalves(*target))
        half = values[0];
      else if (half)
        writeHalves(c, *target, reg - 1, std::exchange(half, Value()), values[0]);
      else if (target)
        writeRegister(c, *target, reg, toStored(c, values[0]));
      else
        storeShared(c, sharedElement(c, viewOf(c, op.getTarget()), base, offset, known), values);
    });
  };
  // Registers cannot be addressed, so that only work on memory becomes a loop.
  if (target && computesPairs(c, op, layout, base))
    return lowerMapByPairs(c, op, *target, layout, base);
  if (inRegisters)
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      compute(reg, base, layout.offsetOf(reg), &layout);
  else
    forElements(c, layout, base, run,
                [&](auto at, auto offset, auto *known) { compute(0, at, offset, known); });
  return ok;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies \p run neighbors along a row at a time.
static void copyElements(LoweringContext &c, tile::CopyOp op, const Distribution &layout,
                         ArrayRef<Value> base, Value first, int64_t run, const ExecutionScope &by) {
  RegisterTile *from = registersOf(c, op.getSource()), *to = registersOf(c, op.getTarget());
  Type source = elementOf(op.getSource()), target = elementOf(op.getTarget());
  SmallVector<int64_t> dims =
      op.readsTensor() || op.writesTensor() ? op.getTensorDims() : SmallVector<int64_t>();
  // Shared memory may hold fewer neighbors together than the tensor.
  auto piecesOf = [&](Value memref) { return std::min(run, together(c, layout, memref)); };
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
        values.push_back(fromStored(c, readRegister(c, *from, reg + i), source));
    } else if (op.readsTensor()) {
      auto [inside, address] =
          tensorElement(c, op.getSource(), op.getSourceOffsets(), dims, op.getRows(), base, offset);
      if (run > 1)
        values = loadVector(c, inside, address, source, run);
      else
        values.push_back(fromStored(c, loadInside(c, inside, address, source), source));
      if (op.getFill())
        for (Value &value : values)
          value = arith::SelectOp::create(c.builder, c.loc, inside, value,
                                          converted(c, op.getFill(), source));
    } else {
      int64_t piece = piecesOf(op.getSource());
      for (int64_t i = 0; i < run; i += piece)
        llvm::append_range(values, loadShared(c,
                                              sharedElement(c, viewOf(c, op.getSource()), base,
                                                            along(offset, i), known),
                                              source, piece));
    }
    for (Value &value : values)
      value = converted(c, value, target);
    return values;
  };
  auto write = [&](int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                   const Distribution *known, ArrayRef<Value> values) {
    if (from && to && run == 2) {
      writeHalves(c, *to, reg, values[0], values[1]);
    } else if (to) {
      for (int64_t i = 0; i < run; ++i)
        writeRegister(c, *to, reg + i, toStored(c, values[size_t(i)]));
    } else if (op.writesTensor()) {
      auto [inside, address] =
          tensorElement(c, op.getTarget(), op.getTargetOffsets(), dims, op.getRows(), base, offset);
      if (run > 1)
        storeVector(c, inside, address, values);
      else
        storeInside(c, inside, address, toStored(c, values[0]));
    } else {
      int64_t piece = piecesOf(op.getTarget());
      for (int64_t i = 0; i < run; i += piece)
        storeShared(c, sharedElement(c, viewOf(c, op.getTarget()), base, along(offset, i), known),
                    values.slice(size_t(i), size_t(piece)));
    }
  };

  bool overlaps = !from && !to && tile::rootOf(op.getSource()) == tile::rootOf(op.getTarget());
  if (overlaps) {
    // All is read before anything is written.
    RegisterTile between = makeRegisters(c, layout, target);
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      c.when(holdsElement(c, layout, base, layout.offsetOf(reg)), [&] {
        for (auto [i, value] : llvm::enumerate(read(reg, base, layout.offsetOf(reg), &layout)))
          writeRegister(c, between, reg + int64_t(i), toStored(c, value));
      });
    syncThreads(c, by);
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      c.when(holdsElement(c, layout, base, layout.offsetOf(reg)), [&] {
        SmallVector<Value> values;
        for (int64_t i = 0; i < run; ++i)
          values.push_back(fromStored(c, readRegister(c, between, reg + i), target));
        write(reg, base, layout.offsetOf(reg), &layout, values);
      });
    return;
  }
  auto move = [&](int64_t reg, ArrayRef<Value> at, ArrayRef<int64_t> offset,
                  const Distribution *known) {
    c.when(c.both(first, holdsElement(c, layout, at, offset)),
           [&] { write(reg, at, offset, known, read(reg, at, offset, known)); });
  };
  if (from || to)
    for (int64_t reg = 0; reg < layout.registers(); reg += run)
      move(reg, base, layout.offsetOf(reg), &layout);
  else
    forElements(c, layout, base, run,
                [&](auto at, auto offset, auto *known) { move(0, at, offset, known); });
}

/// Through shared memory: each element is written by one thread and read by those
/// that hold it then.
static LogicalResult convertLayout(LoweringContext &c, RegisterTile &from, RegisterTile &to,
                                   const ExecutionScope &by) {
  int64_t bytes = from.element.getIntOrFloatBitWidth() / 8;
  auto address = [&](const Distribution &layout, ArrayRef<Value> base, ArrayRef<int64_t> offset) {
    Value element;
    for (size_t dim = 0; dim < layout.rank(); ++dim) {
      Value at = c.add(base[dim], offset[dim]);
      element = element ? c.add(c.mul(element, layout.shape[dim]), at) : at;
    }
    return sharedPointer(c, c.add(c.mul(element, bytes), scratchOf(c, by)));
  };
  ++c.result.conversions;
  syncThreads(c, by); // who still reads the scratch memory
  SmallVector<Value> base = baseOf(c, from.layout, by);
  Value first = holdsFirstCopy(c, from.layout, by);
  int64_t run = std::min<int64_t>(from.layout.run(), 16 / bytes);
  for (int64_t reg = 0; reg < from.registers(); reg += run) {
    auto offset = from.layout.offsetOf(reg);
    c.when(c.both(first, holdsElement(c, from.layout, base, offset)), [&] {
      SmallVector<Value> values;
      for (int64_t i = 0; i < run; ++i)
        values.push_back(readRegister(c, from, reg + i));
      storeShared(c, address(from.layout, base, offset), values);
    });
  }
  syncThreads(c, by);
  base = baseOf(c, to.layout, by);
  run = std::min<int64_t>(to.layout.run(), 16 / bytes);
  for (int64_t reg = 0; reg < to.registers(); reg += run) {
    auto offset = to.layout.offsetOf(reg);
    c.when(holdsElement(c, to.layout, base, offset), [&] {
      for (auto [i, value] :
           llvm::enumerate(loadShared(c, address(to.layout, base, offset), from.type, run)))
        writeRegister(c, to, reg + int64_t(i), toStored(c, converted(c, value, to.type)));
    });
  }
  return success();
}

static LogicalResult lowerCopy(LoweringContext &c, tile::CopyOp op, const ExecutionScope &by) {
  if (failed(c.checkReach(op)))
    return failure();
  if (op.getAsyncAttr())
    return c.refuse(op, "with {.async} is not available in explicit kernels; use b.tma or "
                        "b.cp_async");
  RegisterTile *from = registersOf(c, op.getSource()), *to = registersOf(c, op.getTarget());
  if (from && to && !(from->layout == to->layout))
    return convertLayout(c, *from, *to, by);
  Distribution layout = workLayoutOf(c, op, by);
  SmallVector<Value> base = baseOf(c, layout, by);
  Value first = to ? Value() : holdsFirstCopy(c, layout, by);
  Value tensor = op.readsTensor() ? op.getSource() : op.writesTensor() ? op.getTarget() : Value();
  if (from && !to && !tensor && storeMatrices(c, op, *from, by))
    return success();
  if (!tensor) {
    int64_t run = !from || !to ? layout.registers() : hasHalves(*to) ? 2 : 1;
    for (auto [side, memref] : {std::pair(from, op.getSource()), std::pair(to, op.getTarget())})
      run = std::min(run, side ? run : together(c, layout, memref));
    copyElements(c, op, layout, base, first, run, by);
    return success();
  }
  int64_t vector = vectorOfTensor(tensor, op.getTensorDims(), layout);
  if (vector == 1) {
    copyElements(c, op, layout, base, first, 1, by);
    return success();
  }
  auto start = op.readsTensor() ? op.getSourceOffsets() : op.getTargetOffsets();
  if (c.mode.alignedRows && isMultipleOf(start.back(), vector)) {
    needRows(c, tensor, unsigned(vector * bytesInTensor(tensor)),
             /*multiple=*/unsigned(vector * bytesInTensor(tensor)));
    copyElements(c, op, layout, base, first, vector, by);
    return success();
  }
  Value aligned = rowsAreAligned(c, tensor, start, layout.shape.back(), vector);
  auto choice = scf::IfOp::create(c.builder, c.loc, TypeRange(), aligned, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(choice.thenBlock());
  copyElements(c, op, layout, base, first, vector, by);
  c.builder.setInsertionPointToStart(choice.elseBlock());
  copyElements(c, op, layout, base, first, 1, by);
  return success();
}

static int64_t scratchOfCopy(tile::CopyOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  const Distribution *from = nv::layoutOf(op.getSource()), *to = nv::layoutOf(op.getTarget());
  if (!from || !to || *from == *to)
    return 0;
  return type.getNumElements() * storedAs(type.getElementType()).getIntOrFloatBitWidth() / 8;
}

void nvptx::addElementwise(LoweringTable &table) {
  table.add<lowerFill>();
  table.add<lowerMap>();
  table.add<lowerCopy>();
  table.addScratch<scratchOfCopy>();
}
