//===- Races.cpp - Accesses that may happen at the same time --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Races.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"

#include <algorithm>

using namespace mlir;

namespace penstock::interpreter {

void Shadow::set(int64_t element, Slot slot, Record record) {
  size_t page = static_cast<size_t>(element) >> pageBits;
  if (page >= pages.size())
    pages.resize(page + 1);
  std::unique_ptr<Record[]> &records = pages[page][slot];
  if (!records)
    records = std::make_unique<Record[]>(pageSize);
  records[element & (pageSize - 1)] = record;
}

void Races::watch(func::FuncOp kernel, bool manyBlocks) {
  llvm::DenseSet<Value> updated;
  kernel.walk([&](tile::AtomicOp op) { updated.insert(tile::rootOf(op.getTarget())); });
  kernel.walk([&](tile::TileAccessOpInterface op) {
    bool inBody = op->getParentOfType<tile::ParallelOp>();
    SmallVector<tile::TileAccess> accesses;
    op.getAccesses(accesses);
    for (const tile::TileAccess &access : accesses) {
      Value root = tile::rootOf(access.memref);
      bool isTensor = tile::isGlobal(root);
      if (!access.writes || !(inBody || (isTensor && manyBlocks)))
        continue;
      bool isVariable =
          !isTensor && cast<MemRefType>(root.getType()).getRank() == 0 && !updated.contains(root);
      std::unique_ptr<Shadow> &shadow = shadows[root];
      if (!shadow)
        shadow = std::make_unique<Shadow>(isTensor     ? Shadow::Memory::Tensor
                                          : isVariable ? Shadow::Memory::Variable
                                                       : Shadow::Memory::Tile);
    }
  });
}

Shadow *Races::shadowOf(Value root) const {
  auto found = shadows.find(root);
  return found == shadows.end() ? nullptr : found->second.get();
}

void Races::beginBlock() {
  firstOfBlock = ++actor;
  firstOfParallel = 0;
  if (!shadows.empty())
    blocks.push_back(firstOfBlock);
}

void Races::endParallel() {
  firstOfParallel = 0;
  ++actor;
}

std::optional<uint64_t> Races::body() const {
  if (!firstOfParallel)
    return std::nullopt;
  return actor - firstOfParallel;
}

Shadow::Record Races::recordOf(Operation *op) {
  if (op != lastOp) {
    auto [number, isNew] = numbers.try_emplace(op, operations.size());
    if (isNew)
      operations.push_back(op);
    lastOp = op;
    lastNumber = number->second;
  }
  return actor << opBits | lastNumber;
}

/// Returns whether an earlier access is one of another block, or of another body of the running
/// `parallel`.
bool Races::races(const Shadow &shadow, Shadow::Record record) const {
  if (!record)
    return false;
  uint64_t other = actorOf(record);
  if (other < firstOfBlock)
    return shadow.memory == Shadow::Memory::Tensor;
  return firstOfParallel && other >= firstOfParallel && other != actor;
}

/// Keeps two actors that between them race with all that any earlier one races
/// with: of two blocks, or of two bodies of the last `parallel`.
void Races::remember(Shadow &shadow, int64_t element, Shadow::Slot first, Shadow::Record record) {
  auto second = static_cast<Shadow::Slot>(first + 1);
  Shadow::Record kept = shadow.get(element, first);
  if (actorOf(kept) == actor)
    return;
  if (!kept || !races(shadow, kept)) {
    shadow.set(element, first, record);
    if (shadow.get(element, second))
      shadow.set(element, second, 0);
    return;
  }
  if (actorOf(shadow.get(element, second)) != actor)
    shadow.set(element, second, record);
}

Races::Conflict Races::conflictWith(Shadow::Record record, AccessKind kind) const {
  uint64_t other = actorOf(record);
  Conflict conflict = {operations[record & ((uint64_t(1) << opBits) - 1)], kind, {}, {}};
  if (other < firstOfBlock)
    conflict.block = std::upper_bound(blocks.begin(), blocks.end(), other) - blocks.begin() - 1;
  else if (firstOfParallel && other >= firstOfParallel)
    conflict.body = other - firstOfParallel;
  return conflict;
}

std::optional<Races::Conflict> Races::accessElement(Shadow &shadow, int64_t element, Operation *op,
                                                    AccessKind kind) {
  struct Earlier {
    Shadow::Slot slot;
    AccessKind kind;
  };
  static constexpr Earlier all[] = {{Shadow::Write, AccessKind::Write},
                                    {Shadow::FirstAtomic, AccessKind::Atomic},
                                    {Shadow::SecondAtomic, AccessKind::Atomic},
                                    {Shadow::FirstRead, AccessKind::Read},
                                    {Shadow::SecondRead, AccessKind::Read}};
  std::optional<Conflict> conflict;
  for (const Earlier &earlier : all) {
    if (earlier.kind == kind && kind != AccessKind::Write)
      continue;
    Shadow::Record record = shadow.get(element, earlier.slot);
    if (races(shadow, record)) {
      conflict = conflictWith(record, earlier.kind);
      break;
    }
  }
  Shadow::Record record = recordOf(op);
  if (kind == AccessKind::Write)
    shadow.set(element, Shadow::Write, record);
  else
    remember(shadow, element, kind == AccessKind::Read ? Shadow::FirstRead : Shadow::FirstAtomic,
             record);
  return conflict;
}

std::optional<Races::Conflict> Races::accessVariable(Shadow &shadow, int64_t element, Operation *op,
                                                     AccessKind kind) {
  if (kind != AccessKind::Read) {
    shadow.set(element, Shadow::Write, firstOfParallel ? recordOf(op) : 0);
    return std::nullopt;
  }
  Shadow::Record written = shadow.get(element, Shadow::Write);
  if (!written || actorOf(written) == actor || actorOf(written) < firstOfBlock)
    return std::nullopt;
  return conflictWith(written, AccessKind::Write);
}

} // namespace penstock::interpreter
