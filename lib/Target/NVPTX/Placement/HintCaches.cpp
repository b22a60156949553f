//===- HintCaches.cpp - The pass nv-hint-caches ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor that is read once, such as the KV cache of attention for one query, takes L2 capacity
// from tensors that are read again. TMA loads of such tensors get the priority `evict_first`.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace penstock {
#define GEN_PASS_DEF_HINTCACHES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// A coordinate of a box: `variable * factor` plus values that are the same for all boxes.
struct Term {
  Value variable; ///< null if all boxes have the same coordinate
  int64_t factor = 0;
};

class ReadOnce {
public:
  explicit ReadOnce(func::FuncOp kernel) {
    kernel.walk([&](Operation *op) {
      if (isa<tile::GridOp, nv::ClcWorkOp>(op))
        grids.push_back(op);
    });
    // The blocks of cluster launch control have coordinates of their own.
    work = llvm::any_of(grids, [](Operation *op) { return isa<nv::ClcWorkOp>(op); });
  }

  /// Returns whether no two boxes that a load copies overlap: each variable of the blocks and of
  /// the loops around the load selects a different box.
  bool isDisjoint(nv::TmaLoadOp load) {
    SmallVector<Value> variables;
    for (Operation *op : grids)
      if (isa<nv::ClcWorkOp>(op))
        llvm::append_range(variables, cast<nv::ClcWorkOp>(op).getCoordinates());
      else if (!work)
        llvm::append_range(variables, op->getResults());
    for (auto loop = load->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>())
      if (!loop->hasAttr(nv::NVDialect::takesOverAttr))
        variables.push_back(loop.getInductionVar());
    if (load->getParentOfType<scf::WhileOp>() || variables.empty())
      return false;
    SmallVector<int64_t> box = boxOf(load);
    llvm::SmallDenseSet<Value> found;
    for (auto [offset, extent] : llvm::zip_equal(load.getOffsets(), box)) {
      std::optional<Term> term = termOf(offset, variables);
      if (!term)
        return false;
      if (!term->variable)
        continue;
      auto loop = dyn_cast_or_null<scf::ForOp>(term->variable.getParentBlock()->getParentOp());
      bool isInduction = loop && loop.getInductionVar() == term->variable;
      int64_t step = isInduction ? getConstantIntValue(loop.getStep()).value_or(0) : 1;
      if (term->factor * step < extent || !found.insert(term->variable).second)
        return false;
    }
    return found.size() == variables.size();
  }

private:
  /// Returns the extent of the box along each dimension of its tensor.
  static SmallVector<int64_t> boxOf(nv::TmaLoadOp load) {
    auto shape = cast<MemRefType>(load.getTarget().getType()).getShape();
    SmallVector<int64_t> box(load.getOffsets().size(), 1);
    SmallVector<int64_t> dims;
    if (auto stated = load.getDims())
      dims.assign(stated->begin(), stated->end());
    else
      for (size_t i = 0; i < shape.size(); ++i)
        dims.push_back(int64_t(box.size() - shape.size() + i));
    for (auto [dim, extent] : llvm::zip_equal(dims, shape))
      box[size_t(dim)] = extent;
    return box;
  }

  static bool isVariable(Value value, ArrayRef<Value> variables) {
    return llvm::is_contained(variables, value);
  }

  /// Returns whether side-effect-free operations compute a value without any of the variables.
  static bool isInvariant(Value value, ArrayRef<Value> variables) {
    if (isVariable(value, variables))
      return false;
    Operation *op = value.getDefiningOp();
    if (!op) // an argument of the kernel, or of a loop
      return isa<func::FuncOp>(value.getParentBlock()->getParentOp());
    return isPure(op) && op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isInvariant(operand, variables); });
  }

  static std::optional<Term> termOf(Value value, ArrayRef<Value> variables) {
    if (isVariable(value, variables))
      return Term{value, 1};
    if (isInvariant(value, variables))
      return Term{};
    if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
      auto left = termOf(sum.getLhs(), variables), right = termOf(sum.getRhs(), variables);
      if (!left || !right || (left->variable && right->variable))
        return std::nullopt;
      return left->variable ? left : right;
    }
    if (auto product = value.getDefiningOp<arith::MulIOp>()) {
      auto term = termOf(product.getLhs(), variables);
      auto factor = getConstantIntValue(product.getRhs());
      if (!term || !factor || *factor <= 0)
        return std::nullopt;
      term->factor *= *factor;
      return term;
    }
    return std::nullopt;
  }

  SmallVector<Operation *> grids;
  bool work = false;
};

struct HintCaches : penstock::impl::HintCachesBase<HintCaches> {
  void runOnKernel() override {
    if (getOperation()->hasAttr(nv::NVDialect::clusterAttr)) // blocks load parts of boxes
      return;
    ReadOnce boxes(getOperation());
    getOperation().walk([&](nv::TmaLoadOp load) {
      bool isOnlyAccess = llvm::all_of(load.getSource().getUsers(), [&](Operation *user) {
        return user == load || isa<memref::DimOp>(user);
      });
      if (isOnlyAccess && !load.getRows() && !load.getPadding() && boxes.isDisjoint(load))
        load.setCache("evict_first");
    });
  }
};

} // namespace
