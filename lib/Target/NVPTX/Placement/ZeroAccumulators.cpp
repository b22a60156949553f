//===- ZeroAccumulators.cpp - The pass nv-zero-accumulators ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first MMA of a loop overwrites its accumulator, so tensor memory is undefined after a loop
// without iterations. If registers were zeroed for this case, each of them would need a move
// between the load and its first use. Instead, the rare case writes zeros to tensor memory.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace penstock {
#define GEN_PASS_DEF_ZEROACCUMULATORS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Returns the load of an accumulator that is all that an `scf.if` without `else` executes.
nv::TensorLoadOp conditionalLoad(scf::IfOp some) {
  nv::TensorLoadOp load;
  if (some.elseBlock())
    return {};
  for (Operation &op : some.thenBlock()->without_terminator()) {
    if (isa<nv::TensorWaitLoadOp, nv::TensorFenceOp>(op))
      continue;
    if (load || !(load = dyn_cast<nv::TensorLoadOp>(op)))
      return {};
  }
  return load;
}

/// Returns whether the registers are zero where \p op begins.
bool isZeroBefore(Operation *op, Value registers) {
  auto uses = [&](Operation *other) {
    return llvm::any_of(registers.getUsers(),
                        [&](Operation *user) { return other->isAncestor(user); });
  };
  do
    op = op->getPrevNode();
  while (op && !uses(op));
  auto fill = dyn_cast_or_null<tile::FillOp>(op);
  return fill && fill.getTarget() == registers &&
         (matchPattern(fill.getValue(), m_AnyZeroFloat()) ||
          matchPattern(fill.getValue(), m_Zero()));
}

/// Returns a number that no operation has as its pipelined loop.
int64_t unusedLoopNumber(func::FuncOp kernel) {
  int64_t number = 0;
  kernel.walk([&](Operation *op) {
    if (auto loop = op->getAttrOfType<IntegerAttr>(nv::NVDialect::plannedAttr))
      number = std::max(number, loop.getInt() + 1);
  });
  return number;
}

class ZeroWriter {
public:
  ZeroWriter(scf::IfOp some, nv::TensorLoadOp load)
      : some(some), load(load), type(cast<MemRefType>(load.getTarget().getType())), b(some),
        loc(load.getLoc()) {}

  void run() {
    Value zeros = allocate();
    Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
    Value none = arith::XOrIOp::create(b, loc, some.getCondition(), yes);
    auto rare = scf::IfOp::create(b, loc, none, /*withElseRegion=*/false);
    for (Operation &op : llvm::make_early_inc_range(some.thenBlock()->without_terminator()))
      op.moveBefore(some);
    some.erase();
    b.setInsertionPointToStart(rare.thenBlock());
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
    tile::FillOp::create(b, loc, zeros, zero);
    SmallVector<Operation *> accesses = {load};
    for (int64_t first = 0; first < type.getDimSize(1); first += columns())
      accesses.push_back(nv::TensorStoreOp::create(b, loc, zeros, columnsFrom(first)));
    nv::TensorWaitStoreOp::create(b, loc);
    // Warpgroups that share columns may load other columns than they have stored.
    if (sharesColumns())
      nv::SyncOp::create(b, loc);
    orderAmongThemselves(accesses);
  }

private:
  bool sharesColumns() {
    return nv::scopeOf(load).warps / nv::warpgroupWarps >
           nv::warpgroupParts(cast<MemRefType>(load.getSource().getType()));
  }

  /// Marks the accesses as ordered by a plan, so that nv-insert-syncs inserts no barrier between
  /// them: each thread loads its own stores, or the barrier after the stores orders them.
  void orderAmongThemselves(ArrayRef<Operation *> accesses) {
    auto loop = load->getAttrOfType<IntegerAttr>(nv::NVDialect::plannedAttr);
    if (!loop)
      loop = b.getI64IntegerAttr(unusedLoopNumber(load->getParentOfType<func::FuncOp>()));
    for (Operation *access : accesses)
      access->setAttr(nv::NVDialect::plannedAttr, loop);
  }

  /// Returns the number of columns of one store, so that a thread holds at most 32 zeros.
  int64_t columns() {
    constexpr int64_t registers = 32;
    int64_t threads = nv::scopeOf(load).warps * nv::warpSize;
    int64_t stores = type.getNumElements() / threads / registers;
    return stores > 1 && type.getDimSize(1) % stores == 0 ? type.getDimSize(1) / stores
                                                          : type.getDimSize(1);
  }

  Value allocate() {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(load.getTarget().getDefiningOp());
    return tile::AllocOp::create(
        b, loc,
        tile::tileType({type.getDimSize(0), columns()}, type.getElementType(), tile::Space::Local),
        StringAttr(), IntegerAttr());
  }

  Value columnsFrom(int64_t first) {
    if (columns() == type.getDimSize(1))
      return load.getSource();
    SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), b.getIndexAttr(first)};
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(type.getDimSize(0)),
                                       b.getIndexAttr(columns())};
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    return memref::SubViewOp::create(b, loc, load.getSource(), offsets, sizes, strides);
  }

  scf::IfOp some;
  nv::TensorLoadOp load;
  MemRefType type; ///< of the registers
  OpBuilder b;
  Location loc;
};

struct ZeroAccumulators : penstock::impl::ZeroAccumulatorsBase<ZeroAccumulators> {
  void runOnKernel() override {
    SmallVector<std::pair<scf::IfOp, nv::TensorLoadOp>> loads;
    getOperation().walk([&](scf::IfOp some) {
      nv::TensorLoadOp load = conditionalLoad(some);
      if (load && load.getTarget().getDefiningOp<tile::AllocOp>() &&
          isZeroBefore(some, load.getTarget()))
        loads.push_back({some, load});
    });
    for (auto [some, load] : loads)
      ZeroWriter(some, load).run();
  }
};

} // namespace
