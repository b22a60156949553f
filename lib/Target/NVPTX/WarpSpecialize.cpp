//===- WarpSpecialize.cpp - From a pipelined loop to roles around a ring ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/NonNegative.h"
#include "Analysis/PipelineLoop.h"
#include "Analysis/TileMemory.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Scheduling/Versions.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace penstock {
#define GEN_PASS_DEF_WARPSPECIALIZE
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// The parts of a kernel that multiplies: what it loads, what it multiplies and
/// what becomes of the result.
struct Parts {
  scf::ForOp loop;
  SmallVector<tile::CopyOp> loads;
  tile::GemmOp gemm;
  tile::FillOp fill;
  tile::CopyOp store;
  int64_t slots = 1;
};

class WarpSpecializer {
public:
  WarpSpecializer(func::FuncOp kernel, StringRef architecture, bool plain)
      : kernel(kernel), blackwell(architecture != "sm_90a"), plain(plain), b(kernel.getContext()),
        loc(kernel.getLoc()) {}

  LogicalResult run() {
    if (failed(findParts()))
      return failure(); // one group of warps executes it
    // Four warps read tensor memory; Hopper's loading warp has a warpgroup of
    // its own in front of those that multiply.
    int64_t threads = blackwell ? 128 : 128 * consumers + (plain ? 0 : 128);
    kernel->setAttr(nv::NVDialect::threadsAttr, b.getI64IntegerAttr(threads));
    loc = parts.loop.getLoc();
    b.setInsertionPoint(parts.store); // all that the roles need is known there
    if (plain)
      emitPlain();
    else
      emitRoles();
    parts.loop.erase();
    parts.fill.erase();
    parts.store.erase();
    // Tiles that rings and tensor memory have replaced.
    for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front()))
      if (isa<tile::AllocOp>(op) && op.use_empty())
        op.erase();
    return success();
  }

private:
  LogicalResult findParts() {
    Operation *foreign = nullptr;
    for (Operation &op : kernel.getBody().front()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (parts.loop)
          return failure();
        parts.loop = loop;
      } else if (auto fill = dyn_cast<tile::FillOp>(op); fill && !parts.fill && !parts.loop) {
        parts.fill = fill;
      } else if (auto copy = dyn_cast<tile::CopyOp>(op); copy && !parts.store && parts.loop) {
        parts.store = copy;
      } else if (op.getNumRegions() ||
                 (isa<tile::TileDialect>(op.getDialect()) &&
                  !isa<tile::AllocOp, tile::AssertOp, tile::GridOp, tile::DivModOp, tile::BindOp>(
                      op))) {
        foreign = &op;
      }
    }
    if (!parts.loop || foreign)
      return failure();
    // A stated schedule is kept exactly: nv-write-plans does.
    auto schedule = parts.loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
    if (!schedule || !schedule.getInferred())
      return failure();
    PipelineLoop body = analyzeLoop(parts.loop);
    for (const PipelineStatement &statement : body.statements)
      if (failed(findLoopParts(statement)))
        return failure();
    if (!parts.gemm)
      return failure();
    if (!isLoaded(tileOf(parts.gemm.getA())) || !isLoaded(tileOf(parts.gemm.getB())))
      return failure();
    bool single = cast<MemRefType>(parts.gemm.getA().getType()).getElementType().isF32();
    if (single && parts.gemm.getPrecision() == tile::Precision::Full)
      return failure();
    Value acc = parts.gemm.getAcc();
    if (!isWholeTile(acc))
      return failure();
    if (!parts.fill || parts.fill.getTarget() != acc || !isZero(parts.fill.getValue()))
      return failure();
    if (!parts.store || parts.store.getSource() != acc || !parts.store.writesTensor() ||
        !copiesRows(parts.store))
      return failure();
    if (!nv::productOf(parts.gemm.getA(), parts.gemm.getB(), acc).error.empty())
      return failure();
    rows = cast<MemRefType>(acc.getType()).getDimSize(0);
    consumers = blackwell ? 0 : rows >= 128 ? 2 : 1;
    if (blackwell ? rows != 128 : rows % (64 * consumers) != 0)
      return failure();
    sched::Schedule resolved{{schedule.getStage().begin(), schedule.getStage().end()},
                             {schedule.getOrder().begin(), schedule.getOrder().end()}};
    auto versions = sched::versions(body.problem, resolved);
    for (size_t i = 0; i < body.buffers.size(); ++i)
      if (body.buffers[i] && isLoaded(body.buffers[i]))
        parts.slots = std::max<int64_t>(parts.slots, versions[i].count);
    return success(fitsMemory());
  }

  /// Whether the ring, barriers and the tile through which results are stored fit.
  bool fitsMemory() {
    auto acc = cast<MemRefType>(parts.gemm.getAcc().getType());
    Type stored = cast<MemRefType>(parts.store.getTarget().getType()).getElementType();
    int64_t bytes =
        1024 + rows * stagedColumns(acc, stored, blackwell) * stored.getIntOrFloatBitWidth() / 8;
    for (tile::CopyOp load : parts.loads) {
      auto type = cast<MemRefType>(load.getTarget().getType());
      bytes += parts.slots * type.getNumElements() * type.getElementTypeBitWidth() / 8;
    }
    return bytes <=
           hw::findArchitecture(blackwell ? "sm_100a" : "sm_90a")->limits.sharedBytesPerBlock;
  }

  LogicalResult findLoopParts(const PipelineStatement &statement) {
    if (!statement.conditions.empty())
      return failure();
    auto group = dyn_cast<tile::StatementOp>(statement.op);
    if (!group)
      return findLoopPart(statement.op);
    for (Operation &op : group.getBody().front().without_terminator())
      if (!isMemoryEffectFree(&op) && failed(findLoopPart(&op)))
        return failure();
    return success();
  }

  LogicalResult findLoopPart(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op); copy && isLoad(copy)) {
      parts.loads.push_back(copy);
    } else if (auto gemm = dyn_cast<tile::GemmOp>(op);
               gemm && !parts.gemm && !gemm.getOverwrite()) {
      parts.gemm = gemm;
    } else {
      return failure();
    }
    return success();
  }

  /// Fills a slot of a ring of its own: a tile that is multiplied before, or that two
  /// copies fill, holds something else.
  bool isLoad(tile::CopyOp copy) {
    if (parts.gemm || !copy.readsTensor() || copy.getFill() || !isWholeTile(copy.getTarget()))
      return false;
    auto from = cast<MemRefType>(copy.getSource().getType());
    auto to = cast<MemRefType>(copy.getTarget().getType());
    if (tile::spaceOf(to) != tile::Space::Shared || from.getElementType() != to.getElementType())
      return false;
    return from == tile::tensorType(from.getElementType(), from.getRank()) && copiesRows(copy) &&
           !isLoaded(copy.getTarget());
  }
  /// Engines copy rows, whose elements lie along the last dimension.
  static bool copiesRows(tile::CopyOp copy) {
    Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
    int64_t last = cast<MemRefType>(tensor.getType()).getRank() - 1;
    SmallVector<int64_t> dims = copy.getTensorDims();
    return dims.size() == 2 && dims[0] < last && dims[1] == last;
  }
  bool isLoaded(Value tile) {
    return llvm::any_of(parts.loads, [&](tile::CopyOp load) { return load.getTarget() == tile; });
  }
  static bool isWholeTile(Value tile) {
    return tile.getDefiningOp<tile::AllocOp>() && cast<MemRefType>(tile.getType()).getRank() == 2;
  }
  /// The tile that an operand of the gemm is, or is the transpose of.
  static Value tileOf(Value operand) {
    auto transpose = operand.getDefiningOp<memref::TransposeOp>();
    return transpose ? transpose.getIn() : operand;
  }

  static bool isZero(Value value) {
    return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
  }

  //===------------------------------------------------------------------===//
  // Small pieces
  //===------------------------------------------------------------------===//

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value i32(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }

  /// A value of the loop's body, computed again here for another index.
  Value rematerialize(Value value, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !parts.loop->isAncestor(op))
      return value;
    for (Value operand : op->getOperands())
      rematerialize(operand, mapping);
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }
  SmallVector<Value> offsetsOf(tile::CopyOp load, IRMapping &mapping) {
    SmallVector<Value> offsets;
    for (Value offset : load.getSourceOffsets())
      offsets.push_back(rematerialize(offset, mapping));
    return offsets;
  }

  template <class Body> void inWarps(int64_t first, int64_t count, Body body) {
    auto scope = nv::WarpsOp::create(b, loc, first, count);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&scope.getBody());
    body();
    nv::EndOp::create(b, loc);
  }
  template <class Body> void electOne(Body body) {
    auto scope = nv::ElectOp::create(b, loc);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&scope.getBody());
    body();
    nv::EndOp::create(b, loc);
  }

  /// The loop of a role: \p body gets the index, the slot and its phase.
  template <class Body> void roleLoop(int64_t firstPhase, ValueRange more, Body body) {
    SmallVector<Value> carried = {index(0), i32(firstPhase)};
    carried.append(more.begin(), more.end());
    auto loop = scf::ForOp::create(b, loc, parts.loop.getLowerBound(), parts.loop.getUpperBound(),
                                   parts.loop.getStep(), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = loop.getRegionIterArgs()[0], phase = loop.getRegionIterArgs()[1];
    SmallVector<Value> next =
        body(loop.getInductionVar(), slot, phase, loop.getRegionIterArgs().drop_front(2));
    Value following = arith::AddIOp::create(b, loc, slot, index(1));
    Value wraps =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, following, index(parts.slots));
    Value nextSlot = arith::SelectOp::create(b, loc, wraps, index(0), following);
    Value flipped = arith::XOrIOp::create(b, loc, phase, i32(1));
    Value nextPhase = arith::SelectOp::create(b, loc, wraps, flipped, phase);
    SmallVector<Value> yielded = {nextSlot, nextPhase};
    yielded.append(next.begin(), next.end());
    scf::YieldOp::create(b, loc, yielded);
  }

  /// A slot of a ring.
  Value slotOf(Value ring, Value slot) {
    auto type = cast<MemRefType>(ring.getType());
    SmallVector<OpFoldResult> offsets = {slot, b.getIndexAttr(0), b.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1), b.getIndexAttr(type.getDimSize(1)),
                                       b.getIndexAttr(type.getDimSize(2))};
    SmallVector<OpFoldResult> strides(3, b.getIndexAttr(1));
    auto result = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        type.getShape().drop_front(), type, offsets, sizes, strides));
    return memref::SubViewOp::create(b, loc, result, ring, offsets, sizes, strides);
  }
  /// An operand of the gemm in these tiles, transposed if it reads its tile so.
  Value operandOf(Value operand, const llvm::DenseMap<Value, Value> &tiles) {
    Value tile = tiles.lookup(tileOf(operand));
    if (tileOf(operand) == operand)
      return tile;
    auto map =
        AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext()));
    return memref::TransposeOp::create(b, loc, tile, map);
  }

  Value hasIterations() {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, parts.loop.getUpperBound(),
                                 parts.loop.getLowerBound());
  }
  template <class Then, class Else> void either(Value condition, Then then, Else otherwise) {
    auto choice = scf::IfOp::create(b, loc, TypeRange(), condition, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    then();
    b.setInsertionPointToStart(choice.elseBlock());
    otherwise();
  }

  Value allocate(ArrayRef<int64_t> shape, Type element, tile::Space space, StringRef label) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(parts.gemm.getAcc().getDefiningOp());
    return tile::AllocOp::create(b, loc, tile::tileType(shape, element, space),
                                 b.getStringAttr(label), IntegerAttr());
  }
  Value barriers(int64_t count, int64_t arrivals, StringRef label) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(parts.gemm.getAcc().getDefiningOp());
    SmallVector<int64_t> counts(count, arrivals);
    return nv::BarrierAllocOp::create(b, loc, nv::BarriersType::get(b.getContext(), count),
                                      b.getStringAttr(label), counts);
  }
  Value tensorAccumulator() {
    OpBuilder::InsertionGuard guard(b);
    auto type = cast<MemRefType>(parts.gemm.getAcc().getType());
    b.setInsertionPoint(parts.gemm.getAcc().getDefiningOp());
    return nv::TensorAllocOp::create(
        b, loc, tile::tileType(type.getShape(), type.getElementType(), tile::Space::Tensor),
        b.getStringAttr(tile::nameOf(parts.gemm.getAcc())));
  }

  //===------------------------------------------------------------------===//
  // By roles: one warp loads, others multiply
  //===------------------------------------------------------------------===//

  void emitRoles() {
    llvm::DenseMap<Value, Value> rings;
    int64_t bytes = 0;
    for (tile::CopyOp load : parts.loads) {
      auto type = cast<MemRefType>(load.getTarget().getType());
      SmallVector<int64_t> shape = {parts.slots};
      shape.append(type.getShape().begin(), type.getShape().end());
      rings[load.getTarget()] = allocate(shape, type.getElementType(), tile::Space::Shared,
                                         tile::nameOf(load.getTarget()));
      bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    }
    Value full = barriers(parts.slots, 1, "full");
    Value empty = barriers(parts.slots, blackwell ? 1 : 128 * consumers, "empty");
    auto slotsOf = [&](Value slot) {
      llvm::DenseMap<Value, Value> tiles;
      for (auto [tile, ring] : rings)
        tiles[tile] = slotOf(ring, slot);
      return tiles;
    };

    inWarps(0, 1, [&] {
      // A producer's first wait is for a phase that is over from the start.
      roleLoop(1, {}, [&](Value k, Value slot, Value phase, ValueRange) -> SmallVector<Value> {
        loc = parts.loads.front().getLoc();
        nv::WaitOp::create(b, loc, empty, slot, phase, false, false);
        electOne([&] { nv::ArriveOp::create(b, loc, full, slot, index(bytes)); });
        IRMapping mapping;
        mapping.map(parts.loop.getInductionVar(), k);
        auto tiles = slotsOf(slot);
        for (tile::CopyOp load : parts.loads) {
          loc = load.getLoc();
          nv::TmaLoadOp::create(b, loc, load.getSource(), offsetsOf(load, mapping),
                                tiles.lookup(load.getTarget()), full, slot, load.getDimsAttr());
        }
        return {};
      });
    });
    loc = parts.gemm.getLoc();
    if (blackwell)
      emitTensorRole(full, empty, slotsOf);
    else
      emitWgmmaRole(full, empty, slotsOf);
  }

  template <class Slots> void emitTensorRole(Value full, Value empty, Slots slotsOf) {
    Value acc = tensorAccumulator(), done = barriers(1, 1, "done");
    inWarps(1, 1, [&] {
      roleLoop(0, {}, [&](Value k, Value slot, Value phase, ValueRange) -> SmallVector<Value> {
        nv::WaitOp::create(b, loc, full, slot, phase, false, false);
        auto tiles = slotsOf(slot);
        Value more =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, k, parts.loop.getLowerBound());
        nv::TensorMmaOp::create(b, loc, operandOf(parts.gemm.getA(), tiles),
                                operandOf(parts.gemm.getB(), tiles), acc, more);
        nv::TensorCommitOp::create(b, loc, empty, slot);
        return {};
      });
      nv::TensorCommitOp::create(b, loc, done, index(0));
      nv::WaitOp::create(b, loc, done, index(0), i32(0), false, false);
    });
    nv::SyncOp::create(b, loc);
    if (!isStoredByEngine())
      return storeByThreads(acc);
    loc = parts.store.getLoc();
    auto type = cast<MemRefType>(acc.getType());
    Type stored = cast<MemRefType>(parts.store.getTarget().getType()).getElementType();
    int64_t width = stagedColumns(type, stored, /*inTensorMemory=*/true);
    Value slab = allocate({rows, width}, stored, tile::Space::Shared, "slab");
    Value some = hasIterations();
    for (int64_t n = 0; n < type.getDimSize(1); n += width) {
      either(
          some, [&] { readTensor(acc, n, width, slab); },
          [&] {
            Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(stored));
            tile::FillOp::create(b, loc, slab, zero);
          });
      nv::ProxyFenceOp::create(b, loc);
      nv::SyncOp::create(b, loc);
      inWarps(0, 1, [&] { storeTile(slab, n, true); });
      nv::SyncOp::create(b, loc);
    }
    nv::TensorDeallocOp::create(b, loc, acc);
  }

  /// Columns of an accumulator in tensor memory, rounded into a shared tile.
  void readTensor(Value acc, int64_t n, int64_t width, Value target) {
    auto type = cast<MemRefType>(acc.getType());
    SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), b.getIndexAttr(n)};
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(rows), b.getIndexAttr(width)};
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    Value slice = memref::SubViewOp::create(b, loc, acc, offsets, sizes, strides);
    Value registers = allocate({rows, width}, type.getElementType(), tile::Space::Local, "columns");
    nv::TensorLoadOp::create(b, loc, slice, registers);
    nv::TensorWaitLoadOp::create(b, loc);
    copyTile(registers, target);
  }

  void copyTile(Value from, Value to) {
    tile::CopyOp::create(b, loc, from, ValueRange{}, to, ValueRange{}, Value(), Value(),
                         DenseI64ArrayAttr(), StringAttr());
  }

  bool isStoredByEngine() { return llvm::all_of(parts.store.getTargetOffsets(), isNonNegative); }

  /// By TMA, to the place of the kernel's own copy, \p n columns further.
  void storeTile(Value tile, int64_t n, bool read) {
    SmallVector<Value> offsets(parts.store.getTargetOffsets());
    if (n)
      offsets.back() = arith::AddIOp::create(b, loc, offsets.back(), index(n));
    nv::TmaStoreOp::create(b, loc, tile, parts.store.getTarget(), offsets,
                           parts.store.getDimsAttr());
    nv::TmaCommitOp::create(b, loc);
    nv::TmaWaitOp::create(b, loc, 0, read);
  }

  template <class Slots> void emitWgmmaRole(Value full, Value empty, Slots slotsOf) {
    Value acc = parts.gemm.getAcc();
    inWarps(4, 4 * consumers, [&] {
      Value zero = arith::ConstantOp::create(
          b, loc, b.getZeroAttr(cast<MemRefType>(acc.getType()).getElementType()));
      tile::FillOp::create(b, loc, acc, zero);
      // One product stays under way and the slot before it is given back, if there is
      // another slot than its own.
      roleLoop(0, {index(0)},
               [&](Value k, Value slot, Value phase, ValueRange carried) -> SmallVector<Value> {
                 nv::WaitOp::create(b, loc, full, slot, phase, false, false);
                 auto tiles = slotsOf(slot);
                 Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
                 nv::WgmmaFenceOp::create(b, loc);
                 nv::WgmmaOp::create(b, loc, operandOf(parts.gemm.getA(), tiles),
                                     operandOf(parts.gemm.getB(), tiles), acc, yes);
                 nv::WgmmaCommitOp::create(b, loc);
                 if (parts.slots == 1) {
                   nv::WgmmaWaitOp::create(b, loc, 0);
                   nv::ArriveOp::create(b, loc, empty, slot, Value());
                   return {slot};
                 }
                 nv::WgmmaWaitOp::create(b, loc, 1);
                 Value later = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, k,
                                                     parts.loop.getLowerBound());
                 auto release = scf::IfOp::create(b, loc, TypeRange(), later, false);
                 OpBuilder::InsertionGuard guard(b);
                 b.setInsertionPointToStart(release.thenBlock());
                 nv::ArriveOp::create(b, loc, empty, carried[0], Value());
                 return {slot};
               });
      nv::WgmmaWaitOp::create(b, loc, 0);
      if (!isStoredByEngine())
        return storeByThreads(acc);
      loc = parts.store.getLoc();
      Type stored = cast<MemRefType>(parts.store.getTarget().getType()).getElementType();
      int64_t columns =
          stagedColumns(cast<MemRefType>(acc.getType()), stored, /*inTensorMemory=*/false);
      Value result = allocate({rows, columns}, stored, tile::Space::Shared, "result");
      copyTile(acc, result);
      nv::ProxyFenceOp::create(b, loc);
      nv::SyncOp::create(b, loc);
      storeTile(result, 0, false);
    });
  }

  /// The accumulator, by all threads that hold it: engines take no place before the
  /// first element, and only rows of 16 bytes.
  void storeByThreads(Value acc) {
    loc = parts.store.getLoc();
    auto type = cast<MemRefType>(acc.getType());
    auto storeRegisters = [&](Value registers, int64_t n) {
      SmallVector<Value> offsets(parts.store.getTargetOffsets());
      offsets.back() = arith::AddIOp::create(b, loc, offsets.back(), index(n));
      tile::CopyOp::create(b, loc, registers, ValueRange{}, parts.store.getTarget(), offsets,
                           Value(), Value(), parts.store.getDimsAttr(), StringAttr());
    };
    if (!blackwell)
      return storeRegisters(acc, 0);
    Value some = hasIterations();
    int64_t width = std::min<int64_t>(64, type.getDimSize(1));
    while (type.getDimSize(1) % width)
      width /= 2;
    for (int64_t n = 0; n < type.getDimSize(1); n += width) {
      Value registers =
          allocate({rows, width}, type.getElementType(), tile::Space::Local, "columns");
      either(
          some,
          [&] {
            SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), b.getIndexAttr(n)};
            SmallVector<OpFoldResult> sizes = {b.getIndexAttr(rows), b.getIndexAttr(width)};
            SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
            Value slice = memref::SubViewOp::create(b, loc, acc, offsets, sizes, strides);
            nv::TensorLoadOp::create(b, loc, slice, registers);
            nv::TensorWaitLoadOp::create(b, loc);
          },
          [&] {
            Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
            tile::FillOp::create(b, loc, registers, zero);
          });
      storeRegisters(registers, n);
    }
    nv::SyncOp::create(b, loc);
    nv::TensorDeallocOp::create(b, loc, acc);
  }

  //===------------------------------------------------------------------===//
  // By all threads together, for tensors that TMA cannot copy
  //===------------------------------------------------------------------===//

  void emitPlain() {
    Value acc = blackwell ? tensorAccumulator() : parts.gemm.getAcc();
    Value done = blackwell ? barriers(1, 1, "done") : Value();
    if (!blackwell) {
      Value zero = arith::ConstantOp::create(
          b, loc, b.getZeroAttr(cast<MemRefType>(acc.getType()).getElementType()));
      tile::FillOp::create(b, loc, acc, zero);
    }
    auto loop = scf::ForOp::create(b, loc, parts.loop.getLowerBound(), parts.loop.getUpperBound(),
                                   parts.loop.getStep(), ValueRange{i32(0)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      IRMapping mapping;
      mapping.map(parts.loop.getInductionVar(), loop.getInductionVar());
      llvm::DenseMap<Value, Value> tiles;
      for (tile::CopyOp load : parts.loads) {
        loc = load.getLoc();
        tiles[load.getTarget()] = load.getTarget();
        tile::CopyOp::create(b, loc, load.getSource(), offsetsOf(load, mapping), load.getTarget(),
                             ValueRange{}, Value(), Value(), load.getDimsAttr(), StringAttr());
      }
      loc = parts.gemm.getLoc();
      nv::ProxyFenceOp::create(b, loc);
      nv::SyncOp::create(b, loc);
      Value phase = loop.getRegionIterArgs()[0];
      Value a = operandOf(parts.gemm.getA(), tiles), c = operandOf(parts.gemm.getB(), tiles);
      if (blackwell) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loop.getInductionVar(),
                                           parts.loop.getLowerBound());
        inWarps(0, 1, [&] {
          nv::TensorMmaOp::create(b, loc, a, c, acc, more);
          nv::TensorCommitOp::create(b, loc, done, index(0));
        });
        nv::WaitOp::create(b, loc, done, index(0), phase, false, false);
      } else {
        Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
        nv::WgmmaFenceOp::create(b, loc);
        nv::WgmmaOp::create(b, loc, a, c, acc, yes);
        nv::WgmmaCommitOp::create(b, loc);
        nv::WgmmaWaitOp::create(b, loc, 0);
        nv::SyncOp::create(b, loc);
      }
      Value flipped = arith::XOrIOp::create(b, loc, phase, i32(1));
      scf::YieldOp::create(b, loc, ValueRange{flipped});
    }
    storeByThreads(acc);
  }

  func::FuncOp kernel;
  bool blackwell, plain;
  OpBuilder b;
  Location loc;
  Parts parts;
  int64_t rows = 0, consumers = 0;
};

struct WarpSpecialize : penstock::impl::WarpSpecializeBase<WarpSpecialize> {
  using Base = penstock::impl::WarpSpecializeBase<WarpSpecialize>;
  using Base::Base;

  void runOnOperation() override {
    if (!getOperation()->hasAttr(tile::TileDialect::kernelAttr) ||
        getOperation()->hasAttr(nv::NVDialect::threadsAttr))
      return;
    // The others have neither wgmma nor tcgen05.
    if (architecture != "sm_90a" && architecture != "sm_100a")
      return;
    (void)WarpSpecializer(getOperation(), architecture, plain).run();
  }
};

} // namespace
