//===- NarrowMasks.cpp - Compare coordinates in 32 bits -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask as `col(S) + n0 < N` is evaluated for each element, and indices have 64
// bits, for which GPUs need two instructions. What does not depend on the element
// moves to one side and before the map, where it is computed once; the side that
// is left has the coordinates of a tile, which are small.
//
// Coordinates of boxes have 32 bits in the end: they are counted so from the start.
//
// Sums of indices wrap around. That is excluded by bounds of all terms: sizes of
// tensors and numbers of blocks have 31 bits, as launches check.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "Layout/Distribution.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Placement/IndexBounds.h"
#include "Target/NVPTX/Threads/InlinePtx.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

namespace penstock {
#define GEN_PASS_DEF_NARROWMASKS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using nvptx::Bounds;
using nvptx::boundsOf;

namespace {

/// Coordinates with their factors, and what does not depend on the element.
struct Sum {
  SmallVector<int64_t> factors;               ///< of each dimension of the tile
  SmallVector<std::pair<Value, bool>> others; ///< true: subtracted
};

class Narrower {
public:
  explicit Narrower(tile::MapOp map)
      : map(map), shape(cast<MemRefType>(map.getTarget().getType()).getShape()), b(map) {}

  void run() {
    SmallVector<arith::CmpIOp> comparisons;
    map.getBody().walk([&](arith::CmpIOp op) { comparisons.push_back(op); });
    for (arith::CmpIOp op : comparisons)
      if (op.getLhs().getType().isIndex() && isSigned(op.getPredicate()))
        narrow(op);
  }

private:
  static bool isSigned(arith::CmpIPredicate predicate) {
    using P = arith::CmpIPredicate;
    return llvm::is_contained({P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge}, predicate);
  }

  bool isInside(Value value) { return map.getBody().isAncestor(value.getParentRegion()); }

  /// Returns whether a value can be computed before the map.
  bool isInvariant(Value value) {
    if (!isInside(value))
      return true;
    Operation *op = value.getDefiningOp();
    return op && (isa<arith::ArithDialect>(op->getDialect()) || isa<memref::DimOp>(op)) &&
           isPure(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isInvariant(operand); });
  }

  Value hoisted(Value value) {
    if (!isInside(value))
      return value;
    if (Value known = hoistedAs.lookup(value))
      return known;
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, hoisted(operand));
    return hoistedAs[value] = b.clone(*op, mapping)->getResult(0);
  }

  bool collect(Value value, bool negative, Sum &sum) {
    if (isInvariant(value)) {
      sum.others.emplace_back(value, negative);
      return true;
    }
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast_or_null<tile::ElementIndexOp>(op)) {
      sum.factors[size_t(index.getDim())] += negative ? -1 : 1;
      return true;
    }
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
      return collect(op->getOperand(0), negative, sum) &&
             collect(op->getOperand(1), negative != isa<arith::SubIOp>(op), sum);
    return false;
  }

  /// The number of neighbors along the last dimension with the same result: registers of
  /// one thread, where all that they are compared with is a multiple of that. Rows of tensors are
  /// whole vectors then: launches with others take another kernel.
  int64_t neighborsAlike(arith::CmpIPredicate predicate, const Sum &sum) {
    using P = arith::CmpIPredicate;
    const layout::Distribution *layout = nv::layoutOf(map.getTarget());
    bool last = sum.factors.back() == 1 && !llvm::any_of(ArrayRef(sum.factors).drop_back(),
                                                         [](int64_t factor) { return factor; });
    auto kernel = map->getParentOfType<func::FuncOp>();
    if (!layout || !last || (predicate != P::slt && predicate != P::sge) ||
        !kernel->hasAttr(nv::NVDialect::alignedRowsAttr))
      return 1;
    int64_t alike = layout->run();
    BlockArgument tensor;
    SmallVector<Value> terms(llvm::make_first_range(sum.others));
    while (!terms.empty()) {
      Value term = terms.pop_back_val();
      if (BlockArgument argument = rowsOfSize(term)) {
        tensor = argument;
        int64_t bits = cast<MemRefType>(argument.getType()).getElementTypeBitWidth();
        alike = std::min<int64_t>(alike, 128 / bits);
      } else if (Operation *op = term.getDefiningOp(); isa_and_nonnull<arith::AddIOp>(op)) {
        llvm::append_range(terms, op->getOperands());
      } else {
        while (!nvptx::isMultipleOf(term, alike))
          alike /= 2;
      }
    }
    if (!tensor || alike == 1)
      return 1;
    int64_t bytes = alike * cast<MemRefType>(tensor.getType()).getElementTypeBitWidth() / 8;
    kernel.setArgAttr(tensor.getArgNumber(), nv::NVDialect::rowBytesAttr,
                      b.getI64IntegerAttr(bytes));
    return alike;
  }

  /// The tensor whose rows have this size, if launches test them for vectors anyway.
  static BlockArgument rowsOfSize(Value value) {
    if (auto bind = value.getDefiningOp<tile::BindOp>())
      value = bind->getOperand(0);
    auto dim = value.getDefiningOp<memref::DimOp>();
    auto tensor = dim ? dyn_cast<BlockArgument>(dim.getSource()) : BlockArgument();
    auto index = dim ? dim.getConstantIndex() : std::nullopt;
    if (!tensor || !index || *index + 1 != cast<MemRefType>(tensor.getType()).getRank())
      return {};
    int64_t vector = 128 / cast<MemRefType>(tensor.getType()).getElementTypeBitWidth();
    bool copied = llvm::any_of(tensor.getUsers(), [&](Operation *user) {
      auto copy = dyn_cast<tile::CopyOp>(user);
      return copy && copy.readsTensor() && copy.getSource() == tensor &&
             nvptx::isMultipleOf(copy.getSourceOffsets().back(), vector);
    });
    return copied ? tensor : BlockArgument();
  }

  /// Returns whether all values that coordinates are compared with have 32 bits.
  static bool fitsInI32(const Sum &sum) {
    __int128 low = 0, high = 0;
    for (auto [value, negative] : sum.others) {
      Bounds bounds = *boundsOf(value);
      low += negative ? bounds.low : -__int128(bounds.high);
      high += negative ? bounds.high : -__int128(bounds.low);
    }
    return low >= INT32_MIN && high <= INT32_MAX;
  }

  /// The side without coordinates, of terms of 32 bits: their sums may wrap around, and come back.
  Value narrowSide(const Sum &sum, Location loc) {
    Value side = arith::ConstantIntOp::create(b, loc, 0, 32);
    for (bool subtracted : {true, false})
      for (auto [value, negative] : sum.others) {
        if (negative != subtracted)
          continue;
        Value term = arith::IndexCastOp::create(b, loc, b.getI32Type(), hoisted(value));
        side = negative ? b.createOrFold<arith::AddIOp>(loc, side, term)
                        : b.createOrFold<arith::SubIOp>(loc, side, term);
      }
    return side;
  }

  /// The side without coordinates, as far as it matters: one step beyond the coordinates at
  /// either end.
  Value clampedSide(const Sum &sum, Bounds range, Location loc) {
    Value other = arith::ConstantIndexOp::create(b, loc, 0);
    for (bool subtracted : {true, false})
      for (auto [value, negative] : sum.others)
        if (negative && subtracted)
          other = b.createOrFold<arith::AddIOp>(loc, other, hoisted(value));
        else if (!negative && !subtracted)
          other = b.createOrFold<arith::SubIOp>(loc, other, hoisted(value));
    other = arith::MaxSIOp::create(b, loc, other,
                                   arith::ConstantIndexOp::create(b, loc, range.low - 1));
    other = arith::MinSIOp::create(b, loc, other,
                                   arith::ConstantIndexOp::create(b, loc, range.high + 1));
    other = arith::IndexCastOp::create(b, loc, b.getI32Type(), other);
    // LLVM would see through the bounds, and compare 64 bits again.
    return nvptx::InlinePtx(b, loc)
        .output(b.getI32Type())
        .input(other)
        .emit("mov.b32 $0, $1;", nvptx::PtxEffects::None)[0];
  }

  void narrow(arith::CmpIOp op) {
    Sum sum{SmallVector<int64_t>(shape.size(), 0), {}};
    if (!collect(op.getLhs(), false, sum) || !collect(op.getRhs(), true, sum))
      return;
    constexpr size_t mostTerms = 8; // 8 times what is far away still does not wrap
    Bounds range{0, 0};
    for (auto [factor, extent] : llvm::zip_equal(sum.factors, shape)) {
      if (std::abs(factor) > 2 || extent > (1 << 20))
        return;
      (factor < 0 ? range.low : range.high) += factor * (extent - 1);
    }
    if ((range.low == 0 && range.high == 0) || sum.others.size() > mostTerms ||
        !llvm::all_of(sum.others, [](const auto &term) { return boundsOf(term.first); }))
      return;
    Location loc = op.getLoc();
    Value other = fitsInI32(sum) ? narrowSide(sum, loc) : clampedSide(sum, range, loc);
    int64_t alike = neighborsAlike(op.getPredicate(), sum);
    OpBuilder inside(op);
    Value coordinates;
    for (auto [dim, factor] : llvm::enumerate(sum.factors)) {
      if (!factor)
        continue;
      Value index = tile::ElementIndexOp::create(inside, loc, int64_t(dim));
      Value small = arith::IndexCastOp::create(inside, loc, inside.getI32Type(), index);
      if (alike > 1)
        small = arith::AndIOp::create(inside, loc, small,
                                      arith::ConstantIntOp::create(inside, loc, -alike, 32));
      small = inside.createOrFold<arith::MulIOp>(
          loc, small, arith::ConstantIntOp::create(inside, loc, factor, 32));
      coordinates = coordinates ? arith::AddIOp::create(inside, loc, coordinates, small) : small;
    }
    auto narrowed = arith::CmpIOp::create(inside, loc, op.getPredicate(), coordinates, other);
    SmallVector<int64_t> described(sum.factors);
    described.push_back(alike);
    narrowed->setAttr(nv::NVDialect::coordinatesAttr, inside.getDenseI64ArrayAttr(described));
    op.replaceAllUsesWith(narrowed.getResult());
    op.erase();
  }

  tile::MapOp map;
  ArrayRef<int64_t> shape;
  OpBuilder b; ///< in front of the map
  llvm::DenseMap<Value, Value> hoistedAs;
};

/// Computes box coordinates in 32 bits if the values fit: then coordinates far out of bounds stay
/// out of bounds without clamping. Threads compare coordinates as unsigned numbers: up to \p beyond
/// above the largest one, they wrap to negative numbers, which are out of bounds.
void narrowBox(Operation *op, MutableOperandRange offsets, int64_t beyond = 0) {
  OpBuilder b(op);
  for (OpOperand &offset : offsets) {
    auto bounds = boundsOf(offset.get());
    if (!bounds || bounds->low == bounds->high || bounds->low < INT32_MIN ||
        bounds->high > INT32_MAX + beyond)
      continue;
    Value narrow = arith::IndexCastOp::create(b, op->getLoc(), b.getI32Type(), offset.get());
    offset.set(arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), narrow));
  }
}

bool fitsInI32(Value value) {
  auto bounds = boundsOf(value);
  return bounds && bounds->low >= INT32_MIN && bounds->high <= INT32_MAX;
}

/// Compares in 32 bits the iterations in which threads copy by cp.async. GPUs that have nothing
/// else for copies need two instructions to compare 64 bits.
void narrowGuards(scf::ForOp loop) {
  if (loop.getBody()->walk([](nv::AsyncCopyOp) { return WalkResult::interrupt(); }) ==
      WalkResult::advance())
    return;
  for (auto guard : llvm::to_vector(loop.getOps<scf::IfOp>())) {
    auto compare = guard.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || !compare.getLhs().getType().isIndex() || !fitsInI32(compare.getLhs()) ||
        !fitsInI32(compare.getRhs()))
      continue;
    OpBuilder b(compare);
    for (OpOperand &side : compare->getOpOperands())
      side.set(b.createOrFold<arith::IndexCastOp>(compare.getLoc(), b.getI32Type(), side.get()));
  }
}

/// Counts the iterations of a loop in 32 bits where these hold them.
void narrowLoop(scf::ForOp loop) {
  auto begin = boundsOf(loop.getLowerBound()), end = boundsOf(loop.getUpperBound());
  auto step = getConstantIntValue(loop.getStep());
  Value index = loop.getInductionVar();
  if (!index.getType().isIndex() || !begin || !end || !step || *step < 1 ||
      begin->low < INT32_MIN || begin->high > INT32_MAX || end->low < INT32_MIN ||
      end->high > INT32_MAX - *step)
    return;
  OpBuilder b(loop);
  for (OpOperand &bound : loop->getOpOperands().take_front(3))
    bound.set(b.createOrFold<arith::IndexCastOp>(loop.getLoc(), b.getI32Type(), bound.get()));
  index.setType(b.getI32Type());
  b.setInsertionPointToStart(loop.getBody());
  auto wide = arith::IndexCastOp::create(b, loop.getLoc(), b.getIndexType(), index);
  index.replaceAllUsesExcept(wide, wide);
}

struct NarrowMasks : penstock::impl::NarrowMasksBase<NarrowMasks> {
  void runOnKernel() override {
    SmallVector<tile::MapOp> maps;
    getOperation()->walk([&](tile::MapOp op) { maps.push_back(op); });
    for (tile::MapOp op : maps)
      Narrower(op).run();
    if (!nvptx::isTileProgram(getOperation()))
      return; // explicit kernels state what they mean
    getOperation()->walk([&](Operation *op) {
      if (auto load = dyn_cast<nv::TmaLoadOp>(op))
        narrowBox(op, load.getOffsetsMutable());
      if (auto store = dyn_cast<nv::TmaStoreOp>(op))
        narrowBox(op, store.getOffsetsMutable());
      if (auto copy = dyn_cast<nv::AsyncCopyOp>(op))
        narrowBox(op, copy.getOffsetsMutable(), /*beyond=*/int64_t(1) << 30);
      if (auto copy = dyn_cast<tile::CopyOp>(op)) {
        narrowBox(op, copy.getSourceOffsetsMutable());
        narrowBox(op, copy.getTargetOffsetsMutable());
      }
    });
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      narrowGuards(loop);
      narrowLoop(loop);
    }
  }
};

} // namespace
