//===- AdvanceSlots.cpp - The pass nv-advance-slots -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace penstock {
#define GEN_PASS_DEF_ADVANCESLOTS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// The variable that a value was read from.
Value variableOf(Value value) {
  auto load = value.getDefiningOp<tile::LoadOp>();
  return load && load.getIndices().empty() ? load.getSource() : Value();
}

struct AdvanceSlotsPass : penstock::impl::AdvanceSlotsBase<AdvanceSlotsPass> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    findCounters(kernel);
    SmallVector<arith::RemSIOp> remainders;
    kernel.walk([&](arith::RemSIOp op) { remainders.push_back(op); });
    for (arith::RemSIOp op : remainders)
      rewrite(op);
  }

  /// Variables whose values are 0 to n - 1, with n. A variable is one until a value
  /// is found that may lie outside: what stays is proven by induction.
  void findCounters(func::FuncOp kernel) {
    counters.clear();
    SmallVector<tile::StoreOp> stores;
    kernel.walk([&](tile::StoreOp store) {
      if (!store.getIndices().empty() || !isa<IntegerType>(store.getValue().getType()))
        return;
      stores.push_back(store);
      if (auto rest = store.getValue().getDefiningOp<arith::RemSIOp>())
        if (auto slots = constantOf(rest.getRhs()); slots && *slots > 0)
          counters.try_emplace(store.getTarget(), *slots);
    });
    // A copy of a counter is one.
    for (tile::StoreOp store : stores)
      if (Value from = variableOf(store.getValue()); from && counters.count(from))
        counters.try_emplace(store.getTarget(), counters.lookup(from));
    for (bool changed = true; changed;) {
      changed = false;
      for (tile::StoreOp store : stores)
        if (auto found = counters.find(store.getTarget());
            found != counters.end() && !staysWithin(store.getValue(), found->second)) {
          counters.erase(found);
          changed = true;
        }
    }
    // A variable that may be written otherwise, as part of a tile, is none.
    for (auto [variable, slots] : llvm::make_early_inc_range(counters))
      if (!llvm::all_of(variable.getUsers(),
                        [](Operation *user) { return isa<tile::LoadOp, tile::StoreOp>(user); }))
        counters.erase(variable);
  }

  bool staysWithin(Value value, int64_t slots) const {
    if (auto constant = constantOf(value))
      return *constant >= 0 && *constant < slots;
    if (Value from = variableOf(value))
      return counters.lookup(from) == slots;
    auto rest = value.getDefiningOp<arith::RemSIOp>();
    return rest && constantOf(rest.getRhs()) == slots && sumOf(rest.getLhs(), slots);
  }

  /// Returns whether a value is a counter plus 0 to n, so that one subtraction brings it back.
  bool sumOf(Value value, int64_t slots) const {
    if (Value from = variableOf(value))
      return counters.lookup(from) == slots;
    auto sum = value.getDefiningOp<arith::AddIOp>();
    if (!sum)
      return false;
    auto ahead = constantOf(sum.getRhs());
    Value from = variableOf(sum.getLhs());
    return ahead && *ahead >= 0 && *ahead <= slots && from && counters.lookup(from) == slots;
  }

  void rewrite(arith::RemSIOp op) {
    auto slots = constantOf(op.getRhs());
    if (!slots || !sumOf(op.getLhs(), *slots))
      return;
    OpBuilder builder(op);
    Value beyond = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::sge,
                                         op.getLhs(), op.getRhs());
    Value back = arith::SubIOp::create(builder, op.getLoc(), op.getLhs(), op.getRhs());
    Value next = arith::SelectOp::create(builder, op.getLoc(), beyond, back, op.getLhs());
    op.replaceAllUsesWith(next);
    op.erase();
  }

  llvm::DenseMap<Value, int64_t> counters;
};

} // namespace
