//===- LowerElements.cpp - Single elements and parallel bodies ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outside of parallel bodies a scalar has one value for the whole block: all
// threads load it, and one thread stores or updates. Inside, each thread works
// on elements of its own.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static Type elementOf(Value memref) { return cast<MemRefType>(memref.getType()).getElementType(); }

/// Single elements are those of shared tiles and tensors, and mutable scalars.
LogicalResult Lowering::checkElementAccess(Operation *op) {
  Value memref = op->getOperand(isa<tile::LoadOp>(op) ? 0 : 1);
  if (registersOf(memref))
    return refuse(op, "of a single element of a tile in registers is not available");
  return checkReach(op);
}

Value Lowering::elementAddress(Value memref, ArrayRef<Value> at) {
  if (cast<MemRefType>(memref.getType()).getRank() == 0 && variables.count(memref))
    return variables.lookup(memref);
  if (tile::isGlobal(memref))
    return globalElement(memref, at);
  return sharedElement(viewOf(memref), at, SmallVector<int64_t>(at.size(), 0));
}

Value Lowering::insideMemory(Value memref, ArrayRef<Value> at) {
  if (tile::isGlobal(memref))
    return insideTensor(memref, at);
  Value inside;
  for (auto [index, size] : llvm::zip_equal(at, cast<MemRefType>(memref.getType()).getShape()))
    if (auto constant = getConstantIntValue(index); !constant || *constant < 0 || *constant >= size)
      inside = both(inside, cmp(arith::CmpIPredicate::ult, index, i32(size)));
  return inside;
}

Value Lowering::loadElement(Value memref, ValueRange indices) {
  Type element = elementOf(memref), stored = storedAs(element);
  SmallVector<Value> at = coordinates(indices);
  auto load = [&]() -> Value {
    return LLVM::LoadOp::create(builder, loc, stored, elementAddress(memref, at));
  };
  Value inside = insideMemory(memref, at);
  if (!inside)
    return fromStored(load(), element);
  // Outside reads as zero.
  auto choice = scf::IfOp::create(builder, loc, TypeRange{stored}, inside, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value value = load();
  scf::YieldOp::create(builder, loc, value);
  builder.setInsertionPointToEnd(choice.elseBlock());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(stored));
  scf::YieldOp::create(builder, loc, zero);
  builder.setInsertionPointAfter(choice);
  return fromStored(choice.getResult(0), element);
}

Value Lowering::oneThread(const ExecutionScope &by) {
  if (by.scope.oneThread || !inOrder)
    return {};
  return cmp(arith::CmpIPredicate::eq, threadInScope(by), i32(0));
}

void Lowering::storeElement(Value value, Value memref, ValueRange indices,
                            const ExecutionScope &by) {
  SmallVector<Value> at = coordinates(indices);
  Value who = variables.count(memref) ? Value() : oneThread(by);
  when(both(who, insideMemory(memref, at)),
       [&] { LLVM::StoreOp::create(builder, loc, toStored(value), elementAddress(memref, at)); });
}

/// Updates an element by compare-and-swap and returns its old value. GPUs have no instruction for
/// maxima and minima of floating-point numbers that propagate NaN. LLVM's expansion of `atomicrmw`
/// starts with a weak load, which races with the updates of other threads.
static Value compareAndSwap(OpBuilder &builder, Location loc, Value address, Type element,
                            llvm::function_ref<Value(OpBuilder &, Value)> combine) {
  constexpr auto relaxed = LLVM::AtomicOrdering::monotonic;
  Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
  Value first =
      LLVM::LoadOp::create(builder, loc, bits, address, bits.getIntOrFloatBitWidth() / 8,
                           /*isVolatile=*/false, /*isNonTemporal=*/false,
                           /*isInvariant=*/false, /*isInvariantGroup=*/false, relaxed, "device");
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{bits}, ValueRange{first},
      [&](OpBuilder &inner, Location at, ValueRange expected) {
        Value old = LLVM::BitcastOp::create(inner, at, element, expected[0]);
        Value next = LLVM::BitcastOp::create(inner, at, bits, combine(inner, old));
        Value swap = LLVM::AtomicCmpXchgOp::create(inner, at, address, expected[0], next, relaxed,
                                                   relaxed, "device");
        Value found = LLVM::ExtractValueOp::create(inner, at, swap, 0);
        Value differs =
            arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ne, found, expected[0]);
        scf::ConditionOp::create(inner, at, differs, found);
      },
      [&](OpBuilder &inner, Location at, ValueRange found) {
        scf::YieldOp::create(inner, at, found);
      });
  return LLVM::BitcastOp::create(builder, loc, element, loop.getResult(0));
}

LogicalResult Lowering::lowerAtomic(tile::AtomicOp op, const ExecutionScope &by) {
  using Bin = LLVM::AtomicBinOp;
  bool floating = isa<FloatType>(op.getValue().getType());
  Bin kind = Bin::xchg;
  switch (op.getKind()) {
  case tile::AtomicKind::Add:
    kind = floating ? Bin::fadd : Bin::add;
    break;
  case tile::AtomicKind::Max:
    kind = Bin::max;
    break;
  case tile::AtomicKind::Min:
    kind = Bin::min;
    break;
  case tile::AtomicKind::Exchange:
    break;
  }
  Value memref = op.getTarget();
  if (failed(checkElementAccess(op)))
    return failure();
  Type element = elementOf(memref);
  SmallVector<Value> at = coordinates(op.getIndices());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  auto update = [&]() -> Value {
    if (floating && (kind == Bin::max || kind == Bin::min))
      return compareAndSwap(builder, loc, elementAddress(memref, at), element,
                            [&](OpBuilder &inner, Value old) -> Value {
                              if (kind == Bin::max)
                                return LLVM::MaximumOp::create(inner, loc, old, op.getValue());
                              return LLVM::MinimumOp::create(inner, loc, old, op.getValue());
                            });
    return LLVM::AtomicRMWOp::create(builder, loc, kind, elementAddress(memref, at), op.getValue(),
                                     LLVM::AtomicOrdering::monotonic, "device");
  };
  Value who = oneThread(by), condition = both(who, insideMemory(memref, at));
  Value old;
  if (condition) {
    auto choice = scf::IfOp::create(builder, loc, TypeRange{element}, condition, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    Value updated = update();
    scf::YieldOp::create(builder, loc, updated);
    builder.setInsertionPointToEnd(choice.elseBlock());
    scf::YieldOp::create(builder, loc, zero);
    old = choice.getResult(0);
  } else {
    old = update();
  }
  if (who && !op.getOld().use_empty()) {
    // One thread knows the old value; all must go on with it.
    lowerSync(by);
    when(who, [&] { storeShared(sharedPointer(i32(scratchOf(by))), {old}); });
    lowerSync(by);
    old = loadShared(sharedPointer(i32(scratchOf(by))), element, 1)[0];
  }
  op.replaceAllUsesWith(old);
  return success();
}

/// The elements of the shape are numbered, the last dimension fastest, and thread t
/// takes t, t + threads, ...
LogicalResult Lowering::lowerParallel(tile::ParallelOp op, const ExecutionScope &by) {
  int64_t total = 1;
  for (int64_t extent : op.getExtents())
    total *= extent;
  int64_t threads = by.scope.oneThread ? 1 : by.scope.warps * nv::warpSize;
  Value start = by.scope.oneThread ? i32(0) : threadInScope(by);
  auto loop = scf::ForOp::create(builder, loc, start, i32(total), i32(threads));
  mlir::Block *body = loop.getBody();
  builder.setInsertionPointToStart(body);
  Value rest = loop.getInductionVar();
  for (int64_t dim = int64_t(op.getExtents().size()) - 1; dim >= 0; --dim) {
    int64_t extent = op.getExtents()[size_t(dim)];
    Value at = dim ? builder.createOrFold<arith::RemUIOp>(loc, rest, i32(extent)) : rest;
    rest = dim ? builder.createOrFold<arith::DivUIOp>(loc, rest, i32(extent)) : rest;
    op.getBody().getArgument(unsigned(dim)).replaceAllUsesWith(asIndex(at));
  }
  mlir::Block &from = op.getBody().front();
  from.getTerminator()->erase();
  SmallVector<Operation *> ops;
  for (Operation &inner : from)
    ops.push_back(&inner);
  body->getOperations().splice(body->getTerminator()->getIterator(), from.getOperations());
  ExecutionScope alone = by;
  alone.scope.oneThread = true;
  for (Operation *inner : ops)
    if (failed(lowerOp(inner, alone)))
      return failure();
  return success();
}
