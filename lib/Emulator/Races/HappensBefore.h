//===- HappensBefore.h - Happens-before, and what breaks it -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checker's vocabulary: threads release what they know into a view and
// acquire views; asynchronous operations are entered when they are issued, with
// what their issuer knew, and count as seen once their completion has been
// acquired. Since accesses are checked against clocks and not against the
// moment at which data moved, a missing wait is found in every timing that
// executes both accesses. Releases and acquires of variables synchronize in the
// order of the run, so that a race beside them may be visible in some orders
// only: the timings vary it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_HAPPENSBEFORE_H
#define PENSTOCK_EMULATOR_RACES_HAPPENSBEFORE_H

#include "Emulator/Machine.h"

namespace penstock::emu {

/// A piece of memory that an access resolved to.
struct MemRef {
  ptx::Space space = ptx::Space::Global;
  Cta *cta = nullptr;               ///< shared
  Allocation *allocation = nullptr; ///< global
  uint64_t offset = 0;              ///< in shared memory or the allocation
  uint8_t *bytes = nullptr;
};

/// Finds the memory behind an address of \p space (Generic: by its window) and
/// checks bounds and alignment; reports and returns false if it is bad.
bool resolve(Exec &ex, unsigned lane, ptx::Space space, uint64_t address, unsigned size,
             unsigned align, MemRef &ref);

// Views -----------------------------------------------------------------------

/// Adds what the lanes of \p mask know, and their accesses, to \p into.
void releaseInto(Exec &ex, uint32_t mask, View &into);
/// Publishes by a relaxed arrival what the fences before it covered; \p needed: the scope that
/// includes those who wait.
void releaseFenced(const LaneState &lane, Scope needed, View &into);
/// Keeps what a relaxed read or wait has seen for a fence that follows; \p needed: the scope that
/// this fence must have.
void readRelaxed(Exec &ex, unsigned lane, Scope needed, const View &from);
/// After a release the warp counts on, so that later accesses are newer.
void tick(Exec &ex);
/// All lanes of the warp meet, without an order of memory.
void noteCollective(Exec &ex);
/// The lanes of \p mask learn \p from.
void acquire(Exec &ex, uint32_t mask, const View &from);
/// All live lanes know the same now.
void mergeLanes(Exec &ex);
/// A private view for \p lane, made on demand.
View &ownView(Exec &ex, unsigned lane);

// Accesses --------------------------------------------------------------------

enum AccessKind : uint8_t { Read = 0, Write = 1, StrongRead = 2, StrongWrite = 3 };

/// \p value: the bytes that a write is about to store, if they are known. \p scope: of a strong
/// access.
void checkAccess(Exec &ex, unsigned lane, const MemRef &ref, unsigned size, AccessKind kind,
                 const uint8_t *value = nullptr, Scope scope = Scope::Device);
/// An access of operation \p op, issued by \p lane of ex's warp.
void checkEngine(Exec &ex, unsigned lane, uint32_t op, const MemRef &ref, uint64_t size,
                 bool write);
/// The same for several parts of the shared memory of \p cta.
void checkEngine(Exec &ex, unsigned lane, uint32_t op, Cta &cta, const std::vector<CellSet> &parts,
                 bool write);
/// A reduction of memory by operation \p op: atomic for each element, so that other reductions
/// through the same proxy do not race with it if the scopes include both.
void checkReduction(Exec &ex, unsigned lane, uint32_t op, const MemRef &ref, uint64_t size,
                    Scope scope);
/// Operation \p op reads the tensor map at \p address until it completes. Returns whether the map
/// is in memory that may change.
bool checkMapRead(Exec &ex, unsigned lane, uint32_t op, uint64_t address);
/// An access of operation \p op to \p columns of tensor memory. \p groups: mask of groups of 16
/// lanes.
void checkTensor(Exec &ex, unsigned lane, uint32_t op, Cta &cta, uint32_t groups, unsigned column,
                 unsigned columns, bool write);

/// Enters an operation and returns its index.
uint32_t newOp(Exec &ex, unsigned lane, const char *what);
AsyncOp &opAt(Exec &ex, uint32_t op);
/// Returns whether \p op completed before \p clock; with \p readsOnly, whether its reads did.
bool knows(const Clock &clock, const AsyncOp &op, bool readsOnly);

// Synchronizing variables -----------------------------------------------------

enum class Order : uint8_t { Relaxed, Acquire, Release, AcquireRelease };

/// Position of a thread in the hierarchy of scopes.
struct Position {
  uint32_t block = 0, cluster = 0;
};
/// Returns the narrowest scope of an operation at one position that includes the other.
inline Scope scopeBetween(Position a, Position b) {
  return a.block == b.block       ? Scope::Block
         : a.cluster == b.cluster ? Scope::Cluster
                                  : Scope::Device;
}
inline Position positionOf(const Exec &ex) {
  return {ex.grid.blockOf(ex.warp.gid), ex.cluster.number};
}

/// The effect of a strong read on what its thread knows. \p updates: it is half of an atomic, so
/// that the write half publishes its observed view.
void observe(Exec &ex, unsigned lane, const MemRef &ref, Order order, Scope scope, bool updates);
/// The effect of a strong write, after its access has been checked, on what its readers learn.
void publish(Exec &ex, unsigned lane, const MemRef &ref, Order order, Scope scope, bool updates);
/// The effect of a fence of one or both directions.
void fenceMemory(Exec &ex, Order order, Scope scope);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_HAPPENSBEFORE_H
