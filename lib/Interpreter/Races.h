//===- Races.h - Accesses that may happen at the same time ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interpreter runs blocks, and bodies of `tile.parallel`, one after the
// other; their order is not part of a program's meaning. A race is a pair of
// accesses to one element, by two blocks or by two bodies of one `parallel`, of
// which at least one writes and not both are atomic. Two writes of the same
// value are a race too.
//
// A mutable scalar (a tile of rank 0) that a body makes is allocated once for
// all bodies, so writes to one do not race: each body has its own value. A race
// is a read of what a body wrote by anyone but this body.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_RACES_H
#define PENSTOCK_INTERPRETER_RACES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::interpreter {

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// The accesses to the elements of one tensor or tile, as far as later accesses
/// can race with them. Memory is used for elements that were accessed.
class Shadow {
public:
  enum class Memory { Tensor, Tile, Variable };

  explicit Shadow(Memory memory) : memory(memory) {}
  const Memory memory;

  /// An operation and the block or body that ran it; 0 is none.
  using Record = uint64_t;
  /// For atomics and reads two different actors suffice: any other actor races
  /// with one of them if it races with any.
  enum Slot { Write, FirstAtomic, SecondAtomic, FirstRead, SecondRead };

  Record get(int64_t element, Slot slot) const {
    size_t page = static_cast<size_t>(element) >> pageBits;
    if (page >= pages.size() || !pages[page][slot])
      return 0;
    return pages[page][slot][element & (pageSize - 1)];
  }
  void set(int64_t element, Slot slot, Record record);

private:
  static constexpr unsigned pageBits = 9;
  static constexpr int64_t pageSize = int64_t(1) << pageBits;
  std::vector<std::array<std::unique_ptr<Record[]>, 5>> pages;
};

/// Notices races of a launch.
class Races {
public:
  /// Tracks what \p kernel writes where two blocks or bodies could meet.
  void watch(mlir::func::FuncOp kernel, bool manyBlocks);
  /// Null for a tensor or tile that is not tracked.
  Shadow *shadowOf(mlir::Value root) const;

  void beginBlock();
  /// Starts a `parallel` with more than one body, and each body of it.
  void beginParallel() { firstOfParallel = actor + 1; }
  void beginBody() { ++actor; }
  void endParallel();

  /// The earlier one of two accesses that race.
  struct Conflict {
    mlir::Operation *op;
    AccessKind kind;
    /// The number of the block that ran it, in the order of the run, if that is not the
    /// running one.
    std::optional<uint64_t> block;
    /// The number of the body of the running `parallel`, in the order of the run.
    std::optional<uint64_t> body;
  };
  /// Records an access of the running block or body, and gives one that it
  /// races with.
  std::optional<Conflict> access(Shadow &shadow, int64_t element, mlir::Operation *op,
                                 AccessKind kind) {
    // Within a block only the bodies of a `parallel` race.
    if (shadow.memory == Shadow::Memory::Tile && !firstOfParallel)
      return std::nullopt;
    if (shadow.memory == Shadow::Memory::Variable)
      return accessVariable(shadow, element, op, kind);
    return accessElement(shadow, element, op, kind);
  }
  /// The number of the running body; none outside of `parallel`.
  std::optional<uint64_t> body() const;

private:
  static constexpr unsigned opBits = 20; ///< a kernel has fewer operations
  static uint64_t actorOf(Shadow::Record record) { return record >> opBits; }
  Shadow::Record recordOf(mlir::Operation *op);
  bool races(const Shadow &shadow, Shadow::Record record) const;
  void remember(Shadow &shadow, int64_t element, Shadow::Slot first, Shadow::Record record);
  std::optional<Conflict> accessElement(Shadow &shadow, int64_t element, mlir::Operation *op,
                                        AccessKind kind);
  std::optional<Conflict> accessVariable(Shadow &shadow, int64_t element, mlir::Operation *op,
                                         AccessKind kind);
  Conflict conflictWith(Shadow::Record record, AccessKind kind) const;

  llvm::DenseMap<mlir::Value, std::unique_ptr<Shadow>> shadows;
  /// Counts blocks, bodies, and what a block does between its `parallel`s.
  uint64_t actor = 0;
  uint64_t firstOfBlock = 0;
  uint64_t firstOfParallel = 0; ///< 0 outside
  std::vector<uint64_t> blocks; ///< the first actor of each
  llvm::DenseMap<mlir::Operation *, uint64_t> numbers;
  std::vector<mlir::Operation *> operations;
  mlir::Operation *lastOp = nullptr; ///< whose number is lastNumber
  uint64_t lastNumber = 0;
};

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_RACES_H
