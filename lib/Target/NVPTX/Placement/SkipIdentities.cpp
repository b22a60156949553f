//===- SkipIdentities.cpp - The pass nv-skip-identities -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention masks each tile of scores, and scales what it has summed for each of them,
// though most tiles lie inside, and most have no new maximum. Kernels that are written by
// hand have code of their own for these; here the same code is skipped.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Layout/Distribution.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Placement/TileLayouts.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {
#define GEN_PASS_DEF_SKIPIDENTITIES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Returns whether a value in the body of a map is the element of its target as it was.
bool isOwnElement(tile::MapOp map, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &map.getBody().front())
    return false;
  unsigned i = argument.getArgNumber();
  auto rank = cast<MemRefType>(map.getTarget().getType()).getRank();
  return map.getInputs()[i] == map.getTarget() &&
         llvm::equal(map.getInputDims(i), llvm::seq<int64_t>(0, rank));
}

Value yielded(tile::MapOp map) {
  return cast<tile::YieldOp>(map.getBody().front().getTerminator()).getValue();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Returns whether \p compare holds for all elements of a tile, as a value before the map;
/// null if that is not known.
Value holdsEverywhere(OpBuilder &b, tile::MapOp map, arith::CmpIOp compare) {
  using P = arith::CmpIPredicate;
  auto factors = compare->getAttrOfType<DenseI64ArrayAttr>(nv::NVDialect::coordinatesAttr);
  if (!factors || map.getBody().isAncestor(compare.getRhs().getParentRegion()))
    return {};
  P predicate = compare.getPredicate();
  bool below = predicate == P::slt || predicate == P::sle;
  if (!below && predicate != P::sgt && predicate != P::sge)
    return {};
  int64_t extreme = 0;
  auto shape = cast<MemRefType>(map.getTarget().getType()).getShape();
  for (auto [factor, extent] : llvm::zip_equal(factors.asArrayRef().drop_back(), shape))
    if ((factor > 0) == below)
      extreme += factor * (extent - 1);
  return arith::CmpIOp::create(b, map.getLoc(), predicate,
                               arith::ConstantIntOp::create(b, map.getLoc(), extreme, 32),
                               compare.getRhs());
}

/// Collects the comparisons of a conjunction; returns false if there is anything else.
bool collectComparisons(Value value, SmallVectorImpl<arith::CmpIOp> &comparisons) {
  if (auto compare = value.getDefiningOp<arith::CmpIOp>()) {
    comparisons.push_back(compare);
    return true;
  }
  auto both = value.getDefiningOp<arith::AndIOp>();
  return both && collectComparisons(both.getLhs(), comparisons) &&
         collectComparisons(both.getRhs(), comparisons);
}

void skipMask(tile::MapOp map) {
  auto select = yielded(map).getDefiningOp<arith::SelectOp>();
  SmallVector<arith::CmpIOp> comparisons;
  if (!select || !isOwnElement(map, select.getTrueValue()) ||
      !collectComparisons(select.getCondition(), comparisons))
    return;
  OpBuilder b(map);
  Location loc = map.getLoc();
  Value all;
  for (arith::CmpIOp compare : comparisons) {
    Value one = holdsEverywhere(b, map, compare);
    if (!one)
      return;
    all = all ? arith::AndIOp::create(b, loc, all, one).getResult() : one;
  }
  Value masked = arith::XOrIOp::create(b, loc, all, arith::ConstantIntOp::create(b, loc, 1, 1));
  auto choice = scf::IfOp::create(b, loc, masked, /*withElseRegion=*/false);
  map->moveBefore(choice.thenBlock()->getTerminator());
}

//===----------------------------------------------------------------------===//
// Factors of 1
//===----------------------------------------------------------------------===//

/// The next operation with an effect in one direction.
Operation *neighbor(Operation *op, bool after) {
  do
    op = after ? op->getNextNode() : op->getPrevNode();
  while (op && isPure(op));
  return op;
}

/// Returns the tile in registers by whose elements a map multiplies those of its target; null if it
/// does anything else.
Value factorOf(tile::MapOp map) {
  auto product = yielded(map).getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32() || map.getInputs().size() != 2)
    return {};
  Value other = isOwnElement(map, product.getLhs())   ? product.getRhs()
                : isOwnElement(map, product.getRhs()) ? product.getLhs()
                                                      : Value();
  auto argument = dyn_cast_or_null<BlockArgument>(other);
  if (!argument || argument.getOwner() != &map.getBody().front())
    return {};
  unsigned i = argument.getArgNumber();
  Value factor = map.getInputs()[i];
  if (!factor.getDefiningOp<tile::AllocOp>() || factor == map.getTarget())
    return {};
  // The threads of a warp must hold what they multiply by.
  const layout::Distribution *own = nv::layoutOf(factor), *full = nv::layoutOf(map.getTarget());
  if (!own || !full || !(nvptx::sliceAlong(*full, map.getInputDims(i)) == *own))
    return {};
  return factor;
}

/// Returns whether all that uses a tile in registers follows a load of it in its block, without a
/// store between: where the load is left out, the registers are not what was stored.
bool isAlwaysLoaded(Value registers) {
  auto uses = [&](Operation *op) { return llvm::is_contained(op->getOperands(), registers); };
  auto sets = [](Operation *op) { return isa<nv::TensorLoadOp, tile::FillOp>(op); };
  for (Operation *user : registers.getUsers()) {
    if (isa<ViewLikeOpInterface>(user))
      return false;
    Operation *before = sets(user) ? user : user->getPrevNode();
    while (before && !(uses(before) && (sets(before) || isa<nv::TensorStoreOp>(before))))
      before = before->getPrevNode();
    if (!before || !sets(before))
      return false;
  }
  return true;
}

/// Returns whether loads from tensor memory before this one have been awaited.
bool isFirstToAwait(nv::TensorLoadOp load) {
  for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<nv::TensorWaitLoadOp>(op))
      return true;
    bool loads =
        op->walk([](nv::TensorLoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (loads)
      return false;
  }
  return true;
}

/// Scales an accumulator some columns at a time, each loaded while those before are scaled: all of
/// them would take the registers of a row.
class PieceWriter {
public:
  PieceWriter(tile::MapOp map, nv::TensorLoadOp load)
      : map(map), cells(load.getSource()), type(cast<MemRefType>(map.getTarget().getType())),
        warpgroups(nv::scopeOf(load).warps / nv::warpgroupWarps), b(map), loc(map.getLoc()) {}

  /// The columns of a piece; all of them if a thread has few.
  int64_t columns() const {
    constexpr int64_t registers = 32;
    int64_t threads = warpgroups * nv::warpgroupWarps * nv::warpSize;
    int64_t pieces = type.getNumElements() / threads / registers;
    return pieces > 1 && type.getDimSize(1) % pieces == 0 ? type.getDimSize(1) / pieces
                                                          : type.getDimSize(1);
  }

  void run() {
    int64_t step = columns(), count = type.getDimSize(1) / step;
    Value registers[] = {allocate(step), allocate(step)};
    load(registers[0], 0);
    for (int64_t i = 0; i < count; ++i) {
      Value own = registers[i % 2];
      nv::TensorWaitLoadOp::create(b, loc);
      if (i + 1 < count)
        load(registers[(i + 1) % 2], (i + 1) * step);
      IRMapping mapping;
      mapping.map(map.getTarget(), own);
      b.clone(*map, mapping);
      nv::TensorStoreOp::create(b, loc, own, columnsOf(own, i * step));
    }
  }

private:
  Value allocate(int64_t columns) {
    OpBuilder::InsertionGuard guard(b);
    auto whole = map.getTarget().getDefiningOp<tile::AllocOp>();
    b.setInsertionPoint(whole);
    auto alloc = tile::AllocOp::create(
        b, loc,
        tile::tileType({type.getDimSize(0), columns}, type.getElementType(), tile::Space::Local),
        whole.getLabelAttr(), IntegerAttr());
    nv::setLayout(alloc, layout::tensorMemoryAccumulator(type.getDimSize(0), columns, warpgroups));
    return alloc;
  }

  Value columnsOf(Value registers, int64_t first) {
    auto piece = cast<MemRefType>(registers.getType());
    SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), b.getIndexAttr(first)};
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(piece.getDimSize(0)),
                                       b.getIndexAttr(piece.getDimSize(1))};
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    return memref::SubViewOp::create(b, loc, cells, offsets, sizes, strides);
  }

  void load(Value registers, int64_t first) {
    nv::TensorLoadOp::create(b, loc, columnsOf(registers, first), registers);
  }

  tile::MapOp map;
  Value cells;
  MemRefType type;
  int64_t warpgroups;
  OpBuilder b;
  Location loc;
};

/// The wait for the store stays: it may be that of other stores, too.
void skipScaling(tile::MapOp map) {
  auto wait = dyn_cast_or_null<nv::TensorWaitLoadOp>(neighbor(map, false));
  auto load = wait ? dyn_cast_or_null<nv::TensorLoadOp>(neighbor(wait, false)) : nv::TensorLoadOp();
  auto store = dyn_cast_or_null<nv::TensorStoreOp>(neighbor(map, true));
  if (!load || !store || load.getTarget() != map.getTarget() ||
      store.getSource() != map.getTarget() || load.getSource() != store.getTarget() ||
      !isFirstToAwait(load) || !isAlwaysLoaded(map.getTarget()))
    return;
  Value factor = factorOf(map);
  if (!factor)
    return;
  OpBuilder b(load);
  Value any =
      nv::WarpDiffersOp::create(b, map.getLoc(), b.getI1Type(), factor, b.getF32FloatAttr(1));
  auto choice = scf::IfOp::create(b, map.getLoc(), any, /*withElseRegion=*/false);
  for (Operation *op :
       {load.getOperation(), wait.getOperation(), map.getOperation(), store.getOperation()})
    op->moveBefore(choice.thenBlock()->getTerminator());
  PieceWriter pieces(map, load);
  if (pieces.columns() == cast<MemRefType>(map.getTarget().getType()).getDimSize(1))
    return;
  pieces.run();
  for (Operation *op :
       {store.getOperation(), map.getOperation(), wait.getOperation(), load.getOperation()})
    op->erase();
}

struct SkipIdentities : penstock::impl::SkipIdentitiesBase<SkipIdentities> {
  void runOnKernel() override {
    SmallVector<tile::MapOp> maps;
    getOperation().walk([&](tile::MapOp map) {
      if (map->getParentOfType<scf::ForOp>())
        maps.push_back(map);
    });
    for (tile::MapOp map : maps) {
      skipMask(map);
      skipScaling(map);
    }
  }
};

} // namespace
