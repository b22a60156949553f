//===- PeriodicVariables.cpp - Variables with a period of iterations ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Pipeline/PeriodicVariables.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Returns whether only loads and stores access a variable, so that all of its writes are known.
/// Variables in shared memory are not tracked: another store would race with loads of other
/// threads.
bool isTracked(Value variable) {
  auto type = cast<MemRefType>(variable.getType());
  return type.getRank() == 0 && tile::spaceOf(type) == tile::Space::Local &&
         variable.getDefiningOp<tile::AllocOp>() &&
         llvm::all_of(variable.getUsers(), [&](Operation *user) {
           auto store = dyn_cast<tile::StoreOp>(user);
           return isa<tile::LoadOp>(user) || (store && store.getTarget() == variable);
         });
}

bool isStoredIn(Value variable, Operation *op) {
  return llvm::any_of(variable.getUsers(), [&](Operation *user) {
    return isa<tile::StoreOp>(user) && op->isAncestor(user);
  });
}

TypedAttr constantOf(Value value) {
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  return {};
}

/// Returns the constant that was stored to a variable last before an operation is executed; null if
/// it is unknown.
TypedAttr valueBefore(Value variable, Operation *op) {
  while (true) {
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
      auto store = dyn_cast<tile::StoreOp>(before);
      if (store && store.getTarget() == variable)
        return constantOf(store.getValue());
      if (before == variable.getDefiningOp() || isStoredIn(variable, before))
        return {};
    }
    // Regions that are entered more than once have more than one operation before.
    op = op->getParentOp();
    if (isa<func::FuncOp, LoopLikeOpInterface>(op) || isa<tile::ParallelOp>(op))
      return {};
  }
}

using Values = llvm::MapVector<Value, TypedAttr>;

/// Executes one iteration. Variables that are not in \p variables are unknown.
void execute(scf::ForOp loop, Values &variables) {
  llvm::DenseMap<Value, TypedAttr> known;
  auto valueOf = [&](Value value) -> TypedAttr {
    auto found = known.find(value);
    return found != known.end() ? found->second : constantOf(value);
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (auto found = variables.find(load.getSource()); found != variables.end())
        known[load.getResult()] = found->second;
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (auto found = variables.find(store.getTarget()); found != variables.end())
        found->second = valueOf(store.getValue());
    } else if (op.getNumRegions()) {
      for (auto &[variable, value] : variables)
        if (isStoredIn(variable, &op))
          value = {};
    } else if (isa<arith::ArithDialect>(op.getDialect()) && op.getNumResults() == 1) {
      SmallVector<Attribute> operands;
      for (Value operand : op.getOperands())
        operands.push_back(valueOf(operand));
      SmallVector<OpFoldResult> results;
      if (llvm::is_contained(operands, Attribute()))
        continue;
      Operation *copy = op.clone(); // which may change in place
      LogicalResult folded = copy->fold(operands, results);
      copy->destroy();
      if (failed(folded) || results.empty())
        continue;
      if (auto constant = dyn_cast<Attribute>(results[0]))
        known[op.getResult(0)] = dyn_cast<TypedAttr>(constant);
      else
        known[op.getResult(0)] = valueOf(cast<Value>(results[0]));
    }
  }
}

} // namespace

SmallVector<PeriodicVariable> penstock::periodicVariables(scf::ForOp loop, uint64_t period) {
  Values start;
  loop.getBody()->walk([&](tile::StoreOp store) {
    Value variable = store.getTarget();
    if (start.contains(variable) || !isTracked(variable) ||
        loop->isAncestor(variable.getDefiningOp()))
      return;
    if (TypedAttr value = valueBefore(variable, loop))
      start[variable] = value;
  });
  // The others may have been computed from one that has another value after the period.
  for (bool changed = true; changed && !start.empty();) {
    Values variables = start;
    for (uint64_t i = 0; i < period; ++i)
      execute(loop, variables);
    changed = false;
    start.remove_if([&](auto &entry) {
      bool differs = variables.lookup(entry.first) != entry.second;
      changed |= differs;
      return differs;
    });
  }
  SmallVector<PeriodicVariable> result;
  for (auto [variable, value] : start)
    result.push_back({variable, value});
  return result;
}
