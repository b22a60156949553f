//===- StateRoles.cpp - Random roles for the statements of kernels --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles pass on what lies in memory only. Purely random ones would nearly all be
// refused, so statements that use the same registers get the same role, and those that
// use registers of the code around the loop get none.
//
//===----------------------------------------------------------------------===//
#include "StateRoles.h"
#include "../penstock-fuzz/Random.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::fuzz;

namespace {

bool isStatement(Operation &op) { return !isMemoryEffectFree(&op); }

/// Local tiles that an operation or one inside of it uses.
llvm::SmallVector<Value> registersOf(Operation &op) {
  llvm::SmallVector<Value> tiles;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      Value root = tile::rootOf(operand);
      if (tile::spaceOf(cast<MemRefType>(root.getType())) == tile::Space::Local)
        tiles.push_back(root);
    }
  });
  return tiles;
}

} // namespace

unsigned penstock::fuzz::stateRoles(scf::ForOp loop, Random &random) {
  llvm::EquivalenceClasses<const void *> classes;
  llvm::SmallVector<Operation *> statements;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!isStatement(op))
      continue;
    statements.push_back(&op);
    classes.insert(&op);
    for (Value tile : registersOf(op)) {
      classes.unionSets(&op, tile.getAsOpaquePointer());
      // The class of the loop itself has no role.
      if (llvm::any_of(tile.getUsers(), [&](Operation *user) { return !loop->isAncestor(user); }))
        classes.unionSets(&op, loop.getAsOpaquePointer());
    }
  }
  static constexpr const char *names[] = {"", "first", "second", "third", "load", "compute"};
  llvm::DenseMap<const void *, const char *> roles;
  for (Operation *op : statements) {
    const void *leader = classes.getLeaderValue(op);
    roles.try_emplace(leader, names[random.chance(40) ? 0 : random.below(6)]);
  }
  if (classes.findLeader(loop.getAsOpaquePointer()) != classes.member_end())
    roles[classes.getLeaderValue(loop.getAsOpaquePointer())] = "";
  unsigned stated = 0;
  for (Operation *op : statements) {
    StringRef role = roles.lookup(classes.getLeaderValue(op));
    if (role.empty())
      continue;
    // Under a condition, operations are statements of their own.
    op->walk([&](Operation *inner) {
      if (isStatement(*inner) && !inner->hasTrait<OpTrait::IsTerminator>())
        inner->setAttr(tile::TileDialect::roleAttr, StringAttr::get(op->getContext(), role));
    });
    ++stated;
  }
  return stated;
}
