//===- KnownOrderMistakesTest.cpp - Statements that overtake each other ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops that compilers have pipelined wrongly because they looked only at
// values flowing from a write to a later read of the same iteration: tiles and
// tensors that carry from iteration to iteration, writes that overtake reads
// and writes, and one version too few.
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

using namespace pipelining;

namespace {

//===----------------------------------------------------------------------===//
// Carried tiles
//===----------------------------------------------------------------------===//

/// The product of each iteration uses the tile of the one before.
void carriedTile(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto S = b.shared<f32>(side, side), T = b.shared<f32>(side, side);
  auto acc = b.local<f32>(side, side);
  b.fill(acc, 0);
  b.fill(S, 1);
  b.copy(C.at(side, 0), T);
  for (Index k : b.pipelined(n, schedule)) {
    b.gemm(S, T, acc);
    b.copy(A.at(k * side, 0), S);
  }
  b.copy(acc, C.at(0, 0));
}

REFUSED(KnownMistakes, CarriedTileInferred, 1219,
        (KERNEL { carriedTile(b, A, n, C, {.num_stages = 2}); }))

REFUSED(KnownMistakes, CarriedTileStated, 1203,
        (KERNEL { carriedTile(b, A, n, C, {.stage = {1, 0}, .order = {0, 1}}); }))

/// In its own stage, after its reader, it is right.
RUNS_RIGHT(KnownMistakes, CarriedTileInOrder, 0,
           (KERNEL { carriedTile(b, A, n, C, {.stage = {0, 0}, .order = {0, 1}}); }), [](Data &d) {
             Tiles before = d.C;
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float sum = 0;
                 for (int64_t k = 0; k < d.n; ++k)
                   for (int e = 0; e < side; ++e)
                     sum += (k ? d.A.at(k - 1, i, e) : 1) * before.at(1, e, j);
                 d.C.at(0, i, j) = sum;
               }
           })

//===----------------------------------------------------------------------===//
// Recurrences
//===----------------------------------------------------------------------===//

/// C[k+1] = C[k] + A[k]: each iteration loads what the one before stored.
void recurrence(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto S = b.shared<f32>(side, side), T = b.shared<f32>(side, side);
  b.copy(A.at(0, 0), T);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(C.at(k * side, 0), S);
    b.set(S, S * 2 + T);
    b.copy(S, C.at((k + 1) * side, 0));
  }
}

void plainRecurrence(Data &d) {
  for (int64_t k = 0; k < d.n; ++k)
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        d.C.at(k + 1, i, j) = d.C.at(k, i, j) * 2 + d.A.at(0, i, j);
}

/// As deep as is right: the load of the next iteration after the store.
RUNS_RIGHT(KnownMistakes, RecurrenceInferred, 1220,
           (KERNEL { recurrence(b, A, n, C, {.num_stages = 2}); }), plainRecurrence)

REFUSED(KnownMistakes, RecurrenceStated, 1201,
        (KERNEL { recurrence(b, A, n, C, {.stage = {0, 1, 1}, .order = {0, 1, 2}}); }))

/// A load from one row and a store to the next, and nothing between.
REFUSED(KnownMistakes, LoadBeforeTheStoreOfTheStep, 1201, (KERNEL {
          auto S = b.shared<f32>(side, side);
          for (Index k : b.pipelined(n, {.stage = {0, 1}, .order = {0, 1}})) {
            b.copy(C.at(k * side, 0), S);
            b.copy(S, C.at((k + 1) * side, 0));
          }
        }))

/// Reads of a tensor and atomic updates of the same place.
void readAndAtomic(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto S = b.shared<f32>(side, side);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(C.at(0, 0), S);
    b.atomic(Add, C.at(0, 0), A.load(k * side, 0));
    b.copy(S, C.at((k + 1) * side, 0));
  }
}

REFUSED(KnownMistakes, ReadAheadOfAnAtomic, 1201,
        (KERNEL { readAndAtomic(b, A, n, C, {.stage = {0, 1, 1}, .order = {0, 1, 2}}); }))

RUNS_RIGHT(KnownMistakes, ReadAndAtomicInferred, 1220,
           (KERNEL { readAndAtomic(b, A, n, C, {.num_stages = 2}); }), [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k) {
               Tiles before = d.C;
               d.C.at(0, 0, 0) += d.A.at(k, 0, 0);
               for (int i = 0; i < side; ++i)
                 for (int j = 0; j < side; ++j)
                   d.C.at(k + 1, i, j) = before.at(0, i, j);
             }
           })

/// A state in shared memory that a later stage writes.
REFUSED(KnownMistakes, SharedRecurrence, 1201, (KERNEL {
          auto S = b.shared<f32>(side, side), state = b.shared<f32>(side, side);
          b.fill(state, 0);
          for (Index k : b.pipelined(n, {.stage = {0, 0, 1, 1}, .order = {0, 1, 2, 3}})) {
            b.copy(A.at(k * side, 0), S);
            b.set(S, S + state);
            b.set(S, S * 2);
            b.copy(S, state);
          }
          b.copy(state, C.at(0, 0));
        }))

//===----------------------------------------------------------------------===//
// Two writers of one tile
//===----------------------------------------------------------------------===//

/// T is set and used twice in each iteration.
void usedTwice(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto S = b.shared<f32>(side, side), T = b.shared<f32>(side, side);
  auto first = b.local<f32>(side, side), sum = b.local<f32>(side, side);
  b.fill(sum, 0);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(A.at(k * side, 0), S);
    b.set(T, S + 1);
    b.set(first, T * 2);
    b.set(T, S * 3);
    b.set(sum, sum + first * 5 + T);
  }
  b.copy(sum, C.at(0, 0));
}

void plainUsedTwice(Data &d) {
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < d.n; ++k)
        sum += (d.A.at(k, i, j) + 1) * 2 * 5 + d.A.at(k, i, j) * 3;
      d.C.at(0, i, j) = sum;
    }
}

RUNS_RIGHT(KnownMistakes, ScratchUsedTwice, 0,
           (KERNEL { usedTwice(b, A, n, C, {.num_stages = 2}); }), plainUsedTwice)

RUNS_RIGHT(KnownMistakes, ScratchUsedTwiceInStages, 0, (KERNEL {
             usedTwice(b, A, n, C, {.stage = {0, 1, 1, 1, 1}, .order = {0, 1, 2, 3, 4}});
           }),
           plainUsedTwice)

REFUSED(KnownMistakes, WriteOvertakesAReadByOrder, 1203,
        (KERNEL { usedTwice(b, A, n, C, {.stage = {0, 0, 0, 0, 0}, .order = {0, 1, 3, 2, 4}}); }))

REFUSED(KnownMistakes, WriteOvertakesAReadByStage, 1203,
        (KERNEL { usedTwice(b, A, n, C, {.stage = {0, 0, 1, 0, 1}, .order = {0, 1, 2, 3, 4}}); }))

/// Two writes of parts that overlap, exchanged.
REFUSED(KnownMistakes, ExchangedWrites, 1202, (KERNEL {
          auto T = b.shared<f32>(side, side);
          for (Index k : b.pipelined(n, {.stage = {0, 0, 0, 0}, .order = {0, 2, 1, 3}})) {
            b.fill(T, 0);
            b.fill(slice(T, {0, 0}, {2, side}), 1);
            b.fill(slice(T, {1, 0}, {2, side}), 2);
            b.copy(T, C.at(k * side, 0));
          }
        }))

//===----------------------------------------------------------------------===//
// Versions
//===----------------------------------------------------------------------===//

/// A use under a condition, two stages behind and after the copy of its step.
RUNS_RIGHT(KnownMistakes, GuardedUseAfterTheCopy, 0, (KERNEL {
             auto S = b.shared<f32>(side, side);
             for (Index k : b.pipelined(n, {.stage = {0, 2}, .order = {0, 1}})) {
               b.copy(A.at(k * side, 0), S);
               b.when(k % 3 != 1, [&] { b.copy(S, C.at(k * side, 0)); });
             }
           }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               for (int i = 0; i < side && k % 3 != 1; ++i)
                 for (int j = 0; j < side; ++j)
                   d.C.at(k, i, j) = d.A.at(k, i, j);
           })

/// Four stages need four versions if the copy comes first in its step.
REFUSED(KnownMistakes, FourStagesThreeVersions, 1203, (KERNEL {
          auto S = b.shared<f32>(side, side, {.versions = 3});
          for (Index k : b.pipelined(n, {.stage = {0, 3}, .order = {0, 1}})) {
            b.copy(A.at(k * side, 0), S);
            b.copy(S, C.at(k * side, 0));
          }
        }))

/// A tile that is used in its own stage gets no version more than it needs:
/// with a second one, `versions = 1` would be refused.
RUNS_RIGHT(KnownMistakes, NoVersionTooMany, 0, (KERNEL {
             auto S = b.shared<f32>(side, side), T = b.shared<f32>(side, side, {.versions = 1});
             for (Index k : b.pipelined(n, {.stage = {0, 1, 1}, .order = {0, 1, 2}})) {
               b.copy(A.at(k * side, 0), S);
               b.copy(B.at(k * side, 0), T);
               b.statement("combine", [&] {
                 b.set(S, S - T);
                 b.copy(S, C.at(k * side, 0));
               });
             }
           }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               for (int i = 0; i < side; ++i)
                 for (int j = 0; j < side; ++j)
                   d.C.at(k, i, j) = d.A.at(k, i, j) - d.B.at(k, i, j);
           })

/// The result does not depend on which copy is written first.
void twoCopies(Block &b, In<f32, 2> A, In<f32, 2> B, Index n, InOut<f32, 2> C, bool exchanged) {
  auto S = b.shared<f32>(side, side), T = b.shared<f32>(side, side);
  auto half = b.local<f32>(side, side), acc = b.local<f32>(side, side);
  b.fill(acc, 0);
  for (Index k : b.pipelined(n, {.num_stages = 3})) {
    if (!exchanged)
      b.copy(A.at(k * side, 0), S);
    b.copy(B.at(k * side, 0), T);
    b.set(half, T * 2);
    if (exchanged)
      b.copy(A.at(k * side, 0), S);
    b.set(acc, acc * 2 + S - half);
  }
  b.copy(acc, C.at(0, 0));
}

void plainTwoCopies(Data &d) {
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      float acc = 0;
      for (int64_t k = 0; k < d.n; ++k)
        acc = acc * 2 + d.A.at(k, i, j) - d.B.at(k, i, j) * 2;
      d.C.at(0, i, j) = acc;
    }
}

RUNS_RIGHT(KnownMistakes, CopiesInOneOrder, 0, (KERNEL { twoCopies(b, A, B, n, C, false); }),
           plainTwoCopies)

RUNS_RIGHT(KnownMistakes, CopiesInTheOtherOrder, 0, (KERNEL { twoCopies(b, A, B, n, C, true); }),
           plainTwoCopies)

/// A store, a value read from it, and a copy that needs the value: what only
/// the copy needs runs ahead with it.
RUNS_RIGHT(KnownMistakes, StoreThenValueThenCopy, 0, (KERNEL {
             auto S = b.shared<f32>(side, side);
             auto id = b.shared<i32>(1);
             auto acc = b.local<f32>(side, side);
             b.fill(acc, 0);
             for (Index k : b.pipelined(n, {.num_stages = 2})) {
               b.store(id, 0, ids.load(k));
               auto from = b.load(id, 0);
               b.copy(A.at(Index(from) * side, 0), S);
               b.set(acc, acc * 2 + S);
             }
             b.copy(acc, C.at(0, 0));
           }),
           [](Data &d) {
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float acc = 0;
                 for (int64_t k = 0; k < d.n; ++k)
                   acc = acc * 2 + d.A.at(d.ids[static_cast<size_t>(k)], i, j);
                 d.C.at(0, i, j) = acc;
               }
           })

} // namespace
