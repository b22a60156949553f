//===- PrefetchScalars.cpp - The pass nv-prefetch-scalars -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy whose coordinates come from a tensor, such as a page table, cannot be issued before the
// coordinate has been loaded. Each iteration therefore loads the coordinates of the next one: they
// arrive while the warp waits for a free slot.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace penstock {
#define GEN_PASS_DEF_PREFETCHSCALARS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Returns whether side-effect-free operations compute a value of an iteration from the induction
/// variable and values from outside of the loop.
bool dependsOnIterationOnly(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return dependsOnIterationOnly(operand, loop); });
}

/// Returns whether a copy of an engine takes a value, or one that is computed from it, as a
/// coordinate.
bool reachesCopy(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<nv::TmaLoadOp, nv::AsyncCopyOp>(user))
      return true;
    return isPure(user) && user->getNumRegions() == 0 &&
           llvm::any_of(user->getResults(), reachesCopy);
  });
}

/// A load that can be issued one iteration ahead, and the conditions around it.
struct ScalarLoad {
  tile::LoadOp load;
  SmallVector<Value> conditions; ///< outermost first
};

class Prefetcher {
public:
  explicit Prefetcher(func::FuncOp kernel) : kernel(kernel) {}

  void run() {
    findWritten();
    llvm::MapVector<scf::ForOp, SmallVector<ScalarLoad>> loops;
    kernel.walk([&](tile::LoadOp load) {
      auto loop = load->getParentOfType<scf::ForOp>();
      if (!loop || !isConstant(load.getSource()) || !reachesCopy(load.getResult()))
        return;
      if (mergeWithEarlier(load, loops.lookup(loop)))
        return;
      if (std::optional<ScalarLoad> found = prefetchable(load, loop))
        loops[loop].push_back(*found);
    });
    for (auto &[loop, loads] : loops)
      rotate(loop, loads);
  }

private:
  void findWritten() {
    kernel.walk([&](tile::TileAccessOpInterface op) {
      SmallVector<tile::TileAccess> accesses;
      op.getAccesses(accesses);
      for (const tile::TileAccess &access : accesses)
        if (access.writes || access.atomic)
          written.insert(tile::rootOf(access.memref));
    });
  }

  /// Returns whether nothing writes a tensor while the kernel runs.
  bool isConstant(Value memref) {
    auto argument = dyn_cast<BlockArgument>(tile::rootOf(memref));
    return argument && tile::isGlobal(memref) && !written.contains(argument) &&
           !kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr);
  }

  /// Replaces a load by an earlier one of the same element in the same block, if there is one.
  static bool mergeWithEarlier(tile::LoadOp load, ArrayRef<ScalarLoad> earlier) {
    for (ScalarLoad other : earlier)
      if (other.load->getBlock() == load->getBlock() &&
          llvm::equal(other.load->getOperands(), load->getOperands())) {
        load.replaceAllUsesWith(other.load.getResult());
        load.erase();
        return true;
      }
    return false;
  }

  static std::optional<ScalarLoad> prefetchable(tile::LoadOp load, scf::ForOp loop) {
    ScalarLoad result{load, {}};
    Operation *below = load;
    for (Operation *op = load->getParentOp(); op != loop; below = op, op = op->getParentOp()) {
      auto condition = dyn_cast<scf::IfOp>(op);
      if (!condition || below->getBlock() != condition.thenBlock())
        return std::nullopt;
      result.conditions.insert(result.conditions.begin(), condition.getCondition());
    }
    auto isKnown = [&](Value value) { return dependsOnIterationOnly(value, loop); };
    if (!loop.isDefinedOutsideOfLoop(load.getSource()) ||
        !llvm::all_of(load.getIndices(), isKnown) || !llvm::all_of(result.conditions, isKnown))
      return std::nullopt;
    return result;
  }

  /// Passes each loaded value from one iteration to the next.
  void rotate(scf::ForOp loop, ArrayRef<ScalarLoad> loads) {
    IRRewriter b(loop);
    SmallVector<Value> first = llvm::map_to_vector(loads, [&](const ScalarLoad &each) {
      return loadFor(b, each, loop, loop.getLowerBound());
    });
    auto next = [&](OpBuilder &, Location loc, ArrayRef<BlockArgument> loaded) {
      SmallVector<Value> yielded;
      for (auto [each, value] : llvm::zip_equal(loads, loaded)) {
        OpBuilder inside(loop.getBody()->findAncestorOpInBlock(*each.load));
        Value following =
            arith::AddIOp::create(inside, loc, loop.getInductionVar(), loop.getStep());
        yielded.push_back(loadFor(inside, each, loop, following));
      }
      for (auto [each, value] : llvm::zip_equal(loads, loaded)) {
        tile::LoadOp load = each.load;
        load.replaceAllUsesWith(Value(value));
        load.erase();
      }
      return yielded;
    };
    (void)loop.replaceWithAdditionalYields(b, first, /*replaceInitOperandUsesInLoop=*/false, next);
  }

  /// Loads the value of iteration \p at if the loop has this iteration and reaches the load in it.
  static Value loadFor(OpBuilder &b, const ScalarLoad &of, scf::ForOp loop, Value at) {
    tile::LoadOp load = of.load;
    Location loc = load.getLoc();
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), at);
    Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, loop.getUpperBound());
    return when(
        b, loc, load.getType(), runs, of.conditions,
        [&](OpBuilder &inner, Value value) { return clone(inner, value, loop, mapping); },
        [&](OpBuilder &inner) -> Value {
          SmallVector<Value> indices = llvm::map_to_vector(
              load.getIndices(), [&](Value index) { return clone(inner, index, loop, mapping); });
          return tile::LoadOp::create(inner, loc, load.getType(), load.getSource(), indices);
        });
  }

  /// Creates nested conditions around \p load. Each condition is computed inside of those before
  /// it, as in the loop. Without the load, the value is zero, and not used.
  static Value when(OpBuilder &b, Location loc, Type type, Value condition, ArrayRef<Value> rest,
                    llvm::function_ref<Value(OpBuilder &, Value)> clone,
                    llvm::function_ref<Value(OpBuilder &)> load) {
    auto choice = scf::IfOp::create(b, loc, TypeRange{type}, condition, /*withElseRegion=*/true);
    OpBuilder inner = OpBuilder::atBlockBegin(choice.thenBlock());
    Value value = rest.empty() ? load(inner)
                               : when(inner, loc, type, clone(inner, rest.front()),
                                      rest.drop_front(), clone, load);
    scf::YieldOp::create(inner, loc, value);
    OpBuilder other = OpBuilder::atBlockBegin(choice.elseBlock());
    Value zero = arith::ConstantOp::create(other, loc, other.getZeroAttr(type));
    scf::YieldOp::create(other, loc, zero);
    return choice.getResult(0);
  }

  /// Clones the computation of a value for another iteration.
  static Value clone(OpBuilder &b, Value value, scf::ForOp loop, IRMapping mapping) {
    if (Value mapped = mapping.lookupOrNull(value))
      return mapped;
    if (loop.isDefinedOutsideOfLoop(value))
      return value;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      mapping.map(operand, clone(b, operand, loop, mapping));
    return b.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
  }

  func::FuncOp kernel;
  llvm::DenseSet<Value> written;
};

struct PrefetchScalars : penstock::impl::PrefetchScalarsBase<PrefetchScalars> {
  void runOnKernel() override { Prefetcher(getOperation()).run(); }
};

} // namespace
