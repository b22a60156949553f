//===- FlattenTiles.cpp - The pass tile-flatten-tiles ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products take matrices. A tile of more dimensions that is viewed as a matrix becomes
// one, so that all later passes see the tile that is multiplied; only its copies from
// and to tensors still know the box that its rows are.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileChecks.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace penstock {
#define GEN_PASS_DEF_FLATTENTILES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using tile::typeOf;

namespace {

class Flattener {
public:
  explicit Flattener(func::FuncOp kernel) : kernel(kernel), b(kernel.getContext()) {}

  LogicalResult run() {
    SmallVector<memref::CollapseShapeOp> matrices;
    kernel.walk([&](memref::CollapseShapeOp view) { matrices.push_back(view); });
    for (memref::CollapseShapeOp view : matrices)
      if (failed(add(view.getSrc(), typeOf(view.getSrc()).getRank() - 1, view)))
        return failure();
    while (!work.empty())
      if (failed(visitUsers(work.pop_back_val())))
        return failure();
    for (tile::AllocOp tile : tiles)
      flatten(tile);
    for (Operation *op : replaced) // users first
      op->erase();
    return success();
  }

private:
  /// A tile, or slices of it, of which the last \p merged dimensions but one become one.
  struct Flattened {
    int64_t merged;
    Operation *because; ///< a view as a matrix, or a use together with another such tile
  };

  /// Dimensions before the merged ones.
  int64_t leading(Value view) {
    return typeOf(view).getRank() - 1 - flattened.lookup(tile::rootOf(view)).merged;
  }

  /// Adds the tile of a view whose last dimensions are merged.
  LogicalResult add(Value view, int64_t merged, Operation *because) {
    Value root = tile::rootOf(view);
    auto [known, inserted] = flattened.try_emplace(root, Flattened{merged, because});
    auto alloc = root.getDefiningOp<tile::AllocOp>();
    if (!alloc || (!inserted && known->second.merged != merged))
      return refuse(because, root);
    if (inserted) {
      tiles.push_back(alloc);
      work.push_back(root);
    }
    return success();
  }

  LogicalResult refuse(Operation *user, Value view) {
    Value root = tile::rootOf(view);
    std::string name = tile::nameOf(root);
    auto diagnostic = tile::emitCoded(user, MatrixView)
                      << "`" << tile::spelled(user) << "` uses " << tile::describe(root)
                      << " with its own dimensions, and its rows are those of a matrix";
    Operation *because = flattened.lookup(root).because;
    if (because && because != user)
      diagnostic.attachNote(because->getLoc()) << "the tile is used as a matrix here";
    tile::attachHelp(diagnostic)
        << "use as_matrix(" << (name.empty() ? ".." : name)
        << ") here, too; with their own dimensions, such tiles are copied from and to tensors, "
           "filled, and set from tiles of the same shape";
    return diagnostic;
  }

  /// Returns whether a view is one slot of a ring: an index of the first dimension, and all of the
  /// others.
  bool isSlot(memref::SubViewOp slice) {
    if (leading(slice.getSource()) < 1 ||
        slice.getType().getRank() + 1 != slice.getSourceType().getRank() ||
        !slice.getDroppedDims()[0])
      return false;
    for (int64_t dim = 1; dim < slice.getSourceType().getRank(); ++dim)
      if (slice.getStaticOffset(dim) != 0 ||
          slice.getStaticSize(dim) != slice.getSourceType().getDimSize(dim))
        return false;
    return true;
  }

  LogicalResult visitUsers(Value view) {
    int64_t merged = flattened.lookup(tile::rootOf(view)).merged, rank = typeOf(view).getRank();
    for (Operation *user : view.getUsers()) {
      bool fits = false;
      SmallVector<Value> others;
      if (isa<memref::CollapseShapeOp>(user)) {
        fits = merged == rank - 1;
      } else if (auto slice = dyn_cast<memref::SubViewOp>(user)) {
        if ((fits = isSlot(slice)))
          work.push_back(slice);
      } else if (isa<tile::FillOp>(user)) {
        fits = true;
      } else if (auto copy = dyn_cast<tile::CopyOp>(user)) {
        bool withTensor = copy.readsTensor() || copy.writesTensor();
        fits = !withTensor || merged == rank - 1;
        if (!withTensor)
          others = {copy.getSource(), copy.getTarget()};
      } else if (auto map = dyn_cast<tile::MapOp>(user)) {
        fits = typeOf(map.getTarget()).getRank() == rank;
        others.push_back(map.getTarget());
        for (auto [i, input] : llvm::enumerate(map.getInputs())) {
          SmallVector<int64_t> dims = map.getInputDims(unsigned(i));
          bool same = llvm::equal(dims, llvm::seq<int64_t>(0, rank));
          if (same)
            others.push_back(input);
          fits &= same || dims.empty() || (dims.size() == 1 && dims[0] == rank - 1);
        }
      }
      if (!fits)
        return refuse(user, view);
      for (Value other : others)
        if (failed(add(other, merged, user)))
          return failure();
    }
    return success();
  }

  SmallVector<int64_t> flatShape(ArrayRef<int64_t> shape, int64_t merged) {
    SmallVector<int64_t> flat(shape.drop_back(size_t(merged) + 1));
    int64_t rows = 1;
    for (int64_t extent : shape.drop_back().take_back(size_t(merged)))
      rows *= extent;
    flat.push_back(rows);
    flat.push_back(shape.back());
    return flat;
  }

  void flatten(tile::AllocOp alloc) {
    int64_t merged = flattened.lookup(alloc.getResult()).merged;
    MemRefType type = typeOf(alloc.getResult());
    b.setInsertionPoint(alloc);
    auto flat = tile::AllocOp::create(b, alloc.getLoc(),
                                      tile::tileType(flatShape(type.getShape(), merged),
                                                     type.getElementType(), tile::spaceOf(type)),
                                      alloc.getLabelAttr(), alloc.getVersionsAttr());
    flat->setAttrs(alloc->getAttrs());
    rewriteUsers(alloc.getResult(), flat.getResult(), merged);
    replaced.push_back(alloc);
  }

  /// Lets the users of a view use \p flat instead.
  void rewriteUsers(Value view, Value flat, int64_t merged) {
    for (OpOperand &use : llvm::make_early_inc_range(view.getUses())) {
      Operation *user = use.getOwner();
      if (isa<memref::CollapseShapeOp>(user)) {
        user->getResult(0).replaceAllUsesWith(flat);
        replaced.push_back(user);
        continue;
      }
      if (auto slice = dyn_cast<memref::SubViewOp>(user)) {
        rewriteUsers(slice, slotOf(slice, flat), merged);
        replaced.push_back(slice);
        continue;
      }
      if (auto map = dyn_cast<tile::MapOp>(user);
          map && map.getTarget() == view && use.getOperandNumber() == 0)
        rewriteMap(map, merged);
      if (auto copy = dyn_cast<tile::CopyOp>(user);
          copy && (copy.readsTensor() || copy.writesTensor()))
        copy.setRowsAttr(b.getDenseI64ArrayAttr(typeOf(view).getShape().drop_back()));
      use.set(flat);
    }
  }

  Value slotOf(memref::SubViewOp slice, Value flat) {
    b.setInsertionPoint(slice);
    MemRefType type = typeOf(flat);
    SmallVector<OpFoldResult> offsets(size_t(type.getRank()), b.getIndexAttr(0)),
        strides(size_t(type.getRank()), b.getIndexAttr(1)), sizes;
    offsets[0] = slice.getMixedOffsets()[0];
    for (int64_t extent : type.getShape())
      sizes.push_back(b.getIndexAttr(extent));
    sizes[0] = b.getIndexAttr(1);
    auto slot = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        type.getShape().drop_front(), type, offsets, sizes, strides));
    return memref::SubViewOp::create(b, slice.getLoc(), slot, flat, offsets, sizes, strides);
  }

  /// Renumbers the dimensions of a map over tiles of one shape.
  void rewriteMap(tile::MapOp map, int64_t merged) {
    ArrayRef<int64_t> shape = typeOf(map.getTarget()).getShape();
    auto rank = int64_t(shape.size()), first = rank - 1 - merged;
    SmallVector<Attribute> dims;
    for (unsigned i = 0; i < map.getInputs().size(); ++i) {
      SmallVector<int64_t> runs = map.getInputDims(i);
      if (int64_t(runs.size()) == rank)
        runs = llvm::to_vector(llvm::seq<int64_t>(0, first + 2));
      else if (!runs.empty())
        runs = {first + 1};
      dims.push_back(b.getI64ArrayAttr(runs));
    }
    map.setDimsAttr(b.getArrayAttr(dims));
    SmallVector<tile::ElementIndexOp> indices;
    map.getBody().walk([&](tile::ElementIndexOp index) { indices.push_back(index); });
    for (tile::ElementIndexOp index : indices) {
      int64_t dim = index.getDim();
      if (dim < first)
        continue;
      index.setDim(dim == rank - 1 ? first + 1 : first);
      if (dim < rank - 1)
        inRow(index, shape.slice(size_t(dim), size_t(rank - 1 - dim)), dim > first);
    }
  }

  /// Replaces the number of a row by its coordinate along the first of \p extents, the last ones
  /// of those that rows have; \p others if there are some in front.
  void inRow(tile::ElementIndexOp row, ArrayRef<int64_t> extents, bool others) {
    b.setInsertionPointAfter(row);
    Location loc = row.getLoc();
    int64_t inner = 1;
    for (int64_t extent : extents.drop_front())
      inner *= extent;
    auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); };
    Value at = row.getResult();
    llvm::SmallPtrSet<Operation *, 2> own;
    if (inner > 1)
      own.insert((at = arith::DivUIOp::create(b, loc, at, number(inner))).getDefiningOp());
    if (others)
      own.insert(
          (at = arith::RemUIOp::create(b, loc, at, number(extents.front()))).getDefiningOp());
    row.getResult().replaceAllUsesExcept(at, own);
  }

  func::FuncOp kernel;
  OpBuilder b;
  llvm::DenseMap<Value, Flattened> flattened;
  SmallVector<tile::AllocOp> tiles;
  SmallVector<Value> work;           ///< tiles and slices whose users are to be visited
  SmallVector<Operation *> replaced; ///< views and tiles without users
};

struct FlattenTiles : penstock::impl::FlattenTilesBase<FlattenTiles> {
  void runOnOperation() override {
    if (failed(Flattener(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
