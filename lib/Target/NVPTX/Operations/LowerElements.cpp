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
#include "Target/NVPTX/Operations/LowerElements.h"
#include "Analysis/Value/UpperBounds.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Single elements are those of shared tiles and tensors, and mutable scalars.
LogicalResult nvptx::checkElementAccess(LoweringContext &c, Operation *op) {
  Value memref = op->getOperand(isa<tile::LoadOp>(op) ? 0 : 1);
  if (registersOf(c, memref))
    return c.refuse(op, "of a single element of a tile in registers is not available");
  return c.checkReach(op);
}

static Value elementAddress(LoweringContext &c, Value memref, ArrayRef<Value> at) {
  if (cast<MemRefType>(memref.getType()).getRank() == 0 && c.registers.variables.count(memref))
    return c.registers.variables.lookup(memref);
  if (tile::isGlobal(memref))
    return globalElement(c, memref, at);
  return sharedElement(c, viewOf(c, memref), at, SmallVector<int64_t>(at.size(), 0));
}

/// Returns whether an element is in its tile or tensor; null if it always is. \p indices are the
/// operands of the access, and \p at their values for the thread.
static Value insideMemory(LoweringContext &c, Value memref, ValueRange indices,
                          ArrayRef<Value> at) {
  if (tile::isGlobal(memref))
    return insideTensor(c, memref, at);
  UpperBounds bounds(std::numeric_limits<int32_t>::max());
  Value inside;
  auto shape = cast<MemRefType>(memref.getType()).getShape();
  for (auto [operand, index, size] : llvm::zip_equal(indices, at, shape))
    if (std::optional<int64_t> most = bounds.mostOf(operand); !most || *most >= size)
      inside = c.both(inside, c.cmp(arith::CmpIPredicate::ult, index, c.i32(size)));
  return inside;
}

Value nvptx::loadElement(LoweringContext &c, Value memref, ValueRange indices,
                         ValueRange operands) {
  Type element = elementOf(memref), stored = storedAs(element);
  SmallVector<Value> at = c.coordinates(indices);
  auto load = [&]() -> Value {
    return LLVM::LoadOp::create(c.builder, c.loc, stored, elementAddress(c, memref, at));
  };
  Value inside = insideMemory(c, memref, operands, at);
  if (!inside)
    return fromStored(c, load(), element);
  // Outside reads as zero.
  auto choice = scf::IfOp::create(c.builder, c.loc, TypeRange{stored}, inside, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(choice.thenBlock());
  Value value = load();
  scf::YieldOp::create(c.builder, c.loc, value);
  c.builder.setInsertionPointToEnd(choice.elseBlock());
  Value zero = arith::ConstantOp::create(c.builder, c.loc, c.builder.getZeroAttr(stored));
  scf::YieldOp::create(c.builder, c.loc, zero);
  c.builder.setInsertionPointAfter(choice);
  return fromStored(c, choice.getResult(0), element);
}

static Value oneThread(LoweringContext &c, const ExecutionScope &by) {
  if (by.scope.oneThread || !c.mode.tileProgram)
    return {};
  return c.cmp(arith::CmpIPredicate::eq, threadInScope(c, by), c.i32(0));
}

static void storeElement(LoweringContext &c, tile::StoreOp op, const ExecutionScope &by) {
  Value value = op.getValue(), memref = op.getTarget();
  SmallVector<Value> at = c.coordinates(op.getIndices());
  Value who = c.registers.variables.count(memref) ? Value() : oneThread(c, by);
  c.when(c.both(who, insideMemory(c, memref, op.getIndices(), at)), [&] {
    LLVM::StoreOp::create(c.builder, c.loc, toStored(c, value), elementAddress(c, memref, at));
  });
}

/// Updates an element by compare-and-swap and returns its old value. GPUs have no instruction for
/// maxima and minima of floating-point numbers that propagate NaN. LLVM's expansion of `atomicrmw`
/// starts with a weak load, which races with the updates of other threads.
static Value compareAndSwap(LoweringContext &c, Value address, Type element,
                            llvm::function_ref<Value(OpBuilder &, Value)> combine) {
  constexpr auto relaxed = LLVM::AtomicOrdering::monotonic;
  Type bits = c.builder.getIntegerType(element.getIntOrFloatBitWidth());
  Value first =
      LLVM::LoadOp::create(c.builder, c.loc, bits, address, bits.getIntOrFloatBitWidth() / 8,
                           /*isVolatile=*/false, /*isNonTemporal=*/false,
                           /*isInvariant=*/false, /*isInvariantGroup=*/false, relaxed, "device");
  auto loop = scf::WhileOp::create(
      c.builder, c.loc, TypeRange{bits}, ValueRange{first},
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
  return LLVM::BitcastOp::create(c.builder, c.loc, element, loop.getResult(0));
}

static LogicalResult lowerAtomic(LoweringContext &c, tile::AtomicOp op, const ExecutionScope &by) {
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
  if (failed(checkElementAccess(c, op)))
    return failure();
  Type element = elementOf(memref);
  SmallVector<Value> at = c.coordinates(op.getIndices());
  Value zero = arith::ConstantOp::create(c.builder, c.loc, c.builder.getZeroAttr(element));
  auto update = [&]() -> Value {
    if (floating && (kind == Bin::max || kind == Bin::min))
      return compareAndSwap(c, elementAddress(c, memref, at), element,
                            [&](OpBuilder &inner, Value old) -> Value {
                              if (kind == Bin::max)
                                return LLVM::MaximumOp::create(inner, c.loc, old, op.getValue());
                              return LLVM::MinimumOp::create(inner, c.loc, old, op.getValue());
                            });
    return LLVM::AtomicRMWOp::create(c.builder, c.loc, kind, elementAddress(c, memref, at),
                                     op.getValue(), LLVM::AtomicOrdering::monotonic, "device");
  };
  Value who = oneThread(c, by),
        condition = c.both(who, insideMemory(c, memref, op.getIndices(), at));
  Value old;
  if (condition) {
    auto choice =
        scf::IfOp::create(c.builder, c.loc, TypeRange{element}, condition, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(c.builder);
    c.builder.setInsertionPointToStart(choice.thenBlock());
    Value updated = update();
    scf::YieldOp::create(c.builder, c.loc, updated);
    c.builder.setInsertionPointToEnd(choice.elseBlock());
    scf::YieldOp::create(c.builder, c.loc, zero);
    old = choice.getResult(0);
  } else {
    old = update();
  }
  if (who && !op.getOld().use_empty()) {
    // One thread knows the old value; all must go on with it.
    syncThreads(c, by);
    c.when(who, [&] { storeShared(c, sharedPointer(c, c.i32(scratchOf(c, by))), {old}); });
    syncThreads(c, by);
    old = loadShared(c, sharedPointer(c, c.i32(scratchOf(c, by))), element, 1)[0];
  }
  op.replaceAllUsesWith(old);
  return success();
}

/// The elements of the shape are numbered, the last dimension fastest, and thread t
/// takes t, t + threads, ...
static LogicalResult lowerParallel(LoweringContext &c, tile::ParallelOp op,
                                   const ExecutionScope &by) {
  int64_t total = 1;
  for (int64_t extent : op.getExtents())
    total *= extent;
  int64_t threads = by.scope.oneThread ? 1 : by.scope.warps * nv::warpSize;
  Value start = by.scope.oneThread ? c.i32(0) : threadInScope(c, by);
  auto loop = scf::ForOp::create(c.builder, c.loc, start, c.i32(total), c.i32(threads));
  mlir::Block *body = loop.getBody();
  c.builder.setInsertionPointToStart(body);
  Value rest = loop.getInductionVar();
  for (int64_t dim = int64_t(op.getExtents().size()) - 1; dim >= 0; --dim) {
    int64_t extent = op.getExtents()[size_t(dim)];
    Value at = dim ? c.builder.createOrFold<arith::RemUIOp>(c.loc, rest, c.i32(extent)) : rest;
    rest = dim ? c.builder.createOrFold<arith::DivUIOp>(c.loc, rest, c.i32(extent)) : rest;
    op.getBody().getArgument(unsigned(dim)).replaceAllUsesWith(c.asIndex(at));
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
    if (failed(lowerOp(c, inner, alone)))
      return failure();
  return success();
}

static LogicalResult lowerLoad(LoweringContext &c, tile::LoadOp op) {
  if (failed(checkElementAccess(c, op)))
    return failure();
  op.replaceAllUsesWith(loadElement(c, op.getSource(), op.getIndices(), op.getIndices()));
  return success();
}

static LogicalResult lowerStore(LoweringContext &c, tile::StoreOp op, const ExecutionScope &by) {
  if (failed(checkElementAccess(c, op)))
    return failure();
  storeElement(c, op, by);
  return success();
}

/// One thread hands the old value to all others through shared memory.
static int64_t scratchOfAtomic(tile::AtomicOp) { return 8; }

void nvptx::addElements(LoweringTable &table) {
  table.add<lowerLoad>();
  table.add<lowerStore>();
  table.add<lowerAtomic>();
  table.addScratch<scratchOfAtomic>();
  table.add<lowerParallel>();
}
