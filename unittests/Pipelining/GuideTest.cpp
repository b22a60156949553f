//===- GuideTest.cpp - Schedules stated by hand, as users write them ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms in which a schedule can be asked for or stated: num_stages, stage
// and order, scalars that take no entry, older and raw annotations.
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

using namespace pipelining;

namespace {

/// Sum over k of A[k] * B[k], added to what C[0] holds.
void productSum(Data &d) {
  for (int64_t k = 0; k < d.n; ++k)
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        for (int e = 0; e < side; ++e)
          d.C.at(0, i, j) += d.A.at(k, i, e) * d.B.at(k, e, j);
}

void productSumKernel(Block &b, In<f32, 2> A, In<f32, 2> B, Index n, InOut<f32, 2> C,
                      PipelineOptions schedule) {
  auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
  auto acc = b.local<f32>(side, side);
  b.copy(C.at(0, 0), acc);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(A.at(k * side, 0), As);
    b.copy(B.at(k * side, 0), Bs);
    b.gemm(As, Bs, acc);
  }
  b.copy(acc, C.at(0, 0));
}

/// C[k] = A[k].
void copyTiles(Data &d) {
  for (int64_t k = 0; k < d.n; ++k)
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        d.C.at(k, i, j) = d.A.at(k, i, j);
}

/// Sum over k of A[k] * A[k], into C[0].
void productsWithOneOperand(Data &d) {
  Tiles fixed = d.C;
  for (int64_t k = 0; k < d.n; ++k)
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        for (int e = 0; e < side; ++e)
          d.C.at(0, i, j) += d.A.at(k, i, e) * fixed.at(1, e, j);
}

//===----------------------------------------------------------------------===//
// Stage and order
//===----------------------------------------------------------------------===//

RUNS_RIGHT(Guide, Inferred, 0, (KERNEL { productSumKernel(b, A, B, n, C, {.num_stages = 3}); }),
           productSum)

RUNS_RIGHT(Guide, StatedByHand, 0,
           (KERNEL { productSumKernel(b, A, B, n, C, {.stage = {0, 0, 1}, .order = {0, 1, 2}}); }),
           productSum)

/// The product of this iteration before the copy of the next; B stays.
void reordered(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, bool named) {
  auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
  auto acc = b.local<f32>(side, side);
  b.copy(C.at(0, 0), acc);
  b.copy(C.at(side, 0), Bs);
  for (Index k : b.pipelined(n, {.stage = {0, 1}, .order = {1, 0}})) {
    Index base = named ? b.bind("base", k * side) : k * side;
    b.copy(A.at(base, 0), As);
    b.gemm(As, Bs, acc);
  }
  b.copy(acc, C.at(0, 0));
}

RUNS_RIGHT(Guide, Reordered, 0, (KERNEL { reordered(b, A, n, C, false); }), productsWithOneOperand)

REFUSED(Guide, ProducerInALaterStage, 1201,
        (KERNEL { productSumKernel(b, A, B, n, C, {.stage = {1, 0, 0}, .order = {0, 1, 2}}); }))

REFUSED(Guide, ProducerLaterInItsStage, 1201,
        (KERNEL { productSumKernel(b, A, B, n, C, {.stage = {0, 0, 0}, .order = {2, 0, 1}}); }))

REFUSED(Guide, DepthAndStages, 1214, (KERNEL {
          productSumKernel(b, A, B, n, C,
                           {.num_stages = 2, .stage = {0, 0, 1}, .order = {0, 1, 2}});
        }))

REFUSED(Guide, OrderTwice, 1212,
        (KERNEL { productSumKernel(b, A, B, n, C, {.stage = {0, 0, 1}, .order = {0, 1, 1}}); }))

/// What does work takes an entry: a fill, a copy, an elementwise expression, a
/// reduction, a value read from a tile, an atomic.
RUNS_RIGHT(Guide, EveryKindOfStatement, 0, (KERNEL {
             auto x = b.shared<f32>(side, side), y = b.shared<f32>(side, side);
             auto sums = b.local<f32>(side);
             for (Index k :
                  b.pipelined(n, {.stage = {0, 0, 1, 1, 2, 2}, .order = {0, 1, 4, 5, 2, 3}})) {
               b.fill(y, 2);
               b.copy(A.at(k * side, 0), x);
               b.set(x, x * y);
               b.reduce(Sum, x, 1, sums);
               b.atomic(Add, C.at(0, 0), b.load(sums, 1));
             }
           }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               for (int j = 0; j < side; ++j)
                 d.C.at(0, 0, 0) += 2 * d.A.at(k, 1, j);
           })

/// Waits that are written are statements as well.
RUNS_RIGHT(Guide, WrittenWaits, 0, (KERNEL {
             auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
             auto acc = b.local<f32>(side, side);
             b.copy(C.at(0, 0), acc);
             for (Index k : b.pipelined(n, {.stage = {0, 0, 2, 2}, .order = {0, 1, 2, 3}})) {
               b.copy(A.at(k * side, 0), As, {.async = "tiles"});
               b.copy(B.at(k * side, 0), Bs, {.async = "tiles"});
               b.wait("tiles");
               b.gemm(As, Bs, acc);
             }
             b.copy(acc, C.at(0, 0));
           }),
           productSum)

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

RUNS_RIGHT(Guide, ScalarTakesNoEntry, 0, (KERNEL { reordered(b, A, n, C, true); }),
           productsWithOneOperand)

/// Copies A[k] to C[k] through a tile; the place is a named scalar.
void throughATile(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto As = b.shared<f32>(side, side);
  for (Index k : b.pipelined(n, schedule)) {
    auto base = b.bind("base", k * side);
    b.copy(A.at(base, 0), As);
    b.copy(As, C.at(base, 0));
  }
}

RUNS_RIGHT(Guide, ScalarUsedInTwoStages, 0,
           (KERNEL { throughATile(b, A, n, C, {.stage = {0, 1}, .order = {1, 0}}); }), copyTiles)

RUNS_RIGHT(Guide, ChainOfScalars, 0, (KERNEL {
             auto As = b.shared<f32>(side, side);
             for (Index k : b.pipelined(n, {.stage = {0, 2}, .order = {0, 1}})) {
               auto base = b.bind("base", k * side);
               auto row = b.bind("row", base + 1);
               b.copy(A.at(row, 0), As);
               b.copy(As, C.at(row - 1, 0));
             }
           }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               for (int i = 0; i < side; ++i)
                 for (int j = 0; j < side; ++j)
                   d.C.at(k, i, j) = k * side + i + 1 < d.n * side ? d.A.at(k, i + 1, j) : 0;
           })

/// C[ids[k]] = A[ids[k]]: each use loads the number of its own iteration.
RUNS_RIGHT(Guide, ScalarFromATable, 0, (KERNEL {
             auto As = b.shared<f32>(side, side);
             for (Index k : b.pipelined(n, {.stage = {0, 1}, .order = {0, 1}})) {
               auto id = b.bind("id", ids.load(k));
               b.copy(A.at(Index(id) * side, 0), As);
               b.copy(As, C.at(Index(id) * side, 0));
             }
           }),
           copyTiles)

/// The number is stored first: a statement, and a tile with its own versions.
RUNS_RIGHT(Guide, NumberInATile, 0, (KERNEL {
             auto As = b.shared<f32>(side, side);
             auto id = b.shared<i32>(1);
             for (Index k : b.pipelined(n, {.stage = {0, 0, 0, 1, 1}, .order = {0, 1, 2, 3, 4}})) {
               b.store(id, 0, ids.load(k));
               auto from = b.load(id, 0);
               b.copy(A.at(Index(from) * side, 0), As);
               auto to = b.load(id, 0);
               b.copy(As, C.at(Index(to) * side, 0));
             }
           }),
           copyTiles)

/// C[k][0][0] = A[k][1][2], through a value read from the tile.
void valueOfATile(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto As = b.shared<f32>(side, side);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(A.at(k * side, 0), As);
    auto value = b.bind("value", b.load(As, 1, 2));
    b.store(C.at(k * side, 0), value);
  }
}

RUNS_RIGHT(Guide, ValueOfATile, 0,
           (KERNEL { valueOfATile(b, A, n, C, {.stage = {0, 1, 1}, .order = {0, 1, 2}}); }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               d.C.at(k, 0, 0) = d.A.at(k, 1, 2);
           })

REFUSED(Guide, ValueCrossesStages, 1205,
        (KERNEL { valueOfATile(b, A, n, C, {.stage = {0, 0, 1}, .order = {0, 1, 2}}); }))

REFUSED(Guide, ValueAfterItsUse, 1206,
        (KERNEL { valueOfATile(b, A, n, C, {.stage = {0, 1, 1}, .order = {0, 2, 1}}); }))

REFUSED(Guide, ValueWithoutAnEntry, 1200,
        (KERNEL { valueOfATile(b, A, n, C, {.stage = {0, 1}, .order = {0, 1}}); }))

/// To hand a value to a later stage, store it.
RUNS_RIGHT(Guide, ValueStoredForALaterStage, 0, (KERNEL {
             auto As = b.shared<f32>(side, side);
             auto kept = b.local<f32>(1);
             for (Index k : b.pipelined(n, {.stage = {0, 1, 1, 2, 2}, .order = {0, 1, 2, 3, 4}})) {
               b.copy(A.at(k * side, 0), As);
               b.store(kept, 0, b.load(As, 1, 2));
               b.store(C.at(k * side, 0), b.load(kept, 0));
             }
           }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               d.C.at(k, 0, 0) = d.A.at(k, 1, 2);
           })

//===----------------------------------------------------------------------===//
// Older and raw annotations
//===----------------------------------------------------------------------===//

RUNS_RIGHT(Guide, EntryForAScalarOfTwoStages, 1228,
           (KERNEL { throughATile(b, A, n, C, {.stage = {3, 0, 1}, .order = {1, 2, 0}}); }),
           copyTiles)

RUNS_RIGHT(Guide, EntryForAScalarOfOneStage, 0, (KERNEL {
             auto As = b.shared<f32>(side, side);
             for (Index k : b.pipelined(n, {.stage = {0, 0, 1}, .order = {0, 1, 2}})) {
               auto base = b.bind("base", k * side);
               b.copy(A.at(base, 0), As);
               b.copy(As, C.at(k * side, 0));
             }
           }),
           copyTiles)

REFUSED(Guide, TooManyEntries, 1200,
        (KERNEL { throughATile(b, A, n, C, {.stage = {0, 0, 0, 1}, .order = {0, 1, 2, 3}}); }))

RUNS_RIGHT(Guide, AsynchronousStage, 0, (KERNEL {
             throughATile(b, A, n, C, {.stage = {0, 1}, .order = {1, 0}, .async_stages = {0}});
           }),
           copyTiles)

RUNS_RIGHT(Guide, AsynchronousProducers, 0, (KERNEL {
             productSumKernel(
                 b, A, B, n, C,
                 {.stage = {0, 0, 2}, .order = {0, 1, 2}, .async_producers = {0, 1, 0}});
           }),
           productSum)

RUNS_RIGHT(Guide, GroupOfProducers, 0, (KERNEL {
             productSumKernel(b, A, B, n, C,
                              {.stage = {0, 0, 1},
                               .order = {0, 1, 2},
                               .async_producers = {1, 1, 0},
                               .async_producer_groups = {0, 0, -1}});
           }),
           productSum)

REFUSED(Guide, GroupAcrossStages, 1207, (KERNEL {
          productSumKernel(b, A, B, n, C,
                           {.stage = {0, 1, 2},
                            .order = {0, 1, 2},
                            .async_producers = {1, 1, 0},
                            .async_producer_groups = {0, 0, -1}});
        }))

REFUSED(Guide, TooFewProducers, 1200, (KERNEL {
          productSumKernel(b, A, B, n, C,
                           {.stage = {0, 0, 1}, .order = {0, 1, 2}, .async_producers = {1, 1}});
        }))

REFUSED(Guide, ProducerThatIsNoCopy, 1229, (KERNEL {
          productSumKernel(b, A, B, n, C,
                           {.stage = {0, 0, 1}, .order = {0, 1, 2}, .async_producers = {1, 1, 1}});
        }))

REFUSED(Guide, GroupOfWhatIsNotAsynchronous, 1229, (KERNEL {
          productSumKernel(b, A, B, n, C,
                           {.stage = {0, 0, 1},
                            .order = {0, 1, 2},
                            .async_producers = {1, 0, 0},
                            .async_producer_groups = {0, 0, -1}});
        }))

REFUSED(Guide, AsynchronousStageWithoutACopy, 1229, (KERNEL {
          productSumKernel(b, A, B, n, C,
                           {.stage = {0, 0, 1}, .order = {0, 1, 2}, .async_stages = {1}});
        }))

REFUSED(Guide, MarksWithoutStages, 1229,
        (KERNEL { productSumKernel(b, A, B, n, C, {.num_stages = 3, .async_stages = {0}}); }))

} // namespace
