//===- KnownAsyncMistakesTest.cpp - Issue taken for completion ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops that compilers have pipelined wrongly because they took an
// asynchronous product or copy for over when it was issued, or did not know
// that a conditional copy leaves the old tile in place.
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

using namespace pipelining;

namespace {

/// An asynchronous product, awaited \p lag iterations later.
void awaitedProduct(Block &b, In<f32, 2> A, In<f32, 2> B, Index n, InOut<f32, 2> C, int lag,
                    PipelineOptions schedule, int versions = 0) {
  auto As = b.shared<f32>(side, side, {.versions = versions});
  auto Bs = b.shared<f32>(side, side, {.versions = versions});
  auto acc = b.local<f32>(side, side);
  b.fill(acc, 0);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(A.at(k * side, 0), As);
    b.copy(B.at(k * side, 0), Bs);
    b.gemm(As, Bs, acc, {.async = "product"});
    b.wait("product", {.lag = lag});
  }
  b.wait("product");
  b.copy(acc, C.at(0, 0));
}

void products(Data &d) {
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < d.n; ++k)
        for (int e = 0; e < side; ++e)
          sum += d.A.at(k, i, e) * d.B.at(k, e, j);
      d.C.at(0, i, j) = sum;
    }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

RUNS_RIGHT(KnownMistakes, ProductAwaitedAtOnceTwoStages, 0,
           (KERNEL { awaitedProduct(b, A, B, n, C, 0, {.num_stages = 2}); }), products)

RUNS_RIGHT(KnownMistakes, ProductAwaitedAtOnceThreeStages, 0,
           (KERNEL { awaitedProduct(b, A, B, n, C, 0, {.num_stages = 3}); }), products)

RUNS_RIGHT(KnownMistakes, ProductAwaitedOneIterationLater, 0,
           (KERNEL { awaitedProduct(b, A, B, n, C, 1, {.num_stages = 3}); }), products)

RUNS_RIGHT(KnownMistakes, WaitInALaterStage, 0, (KERNEL {
             awaitedProduct(b, A, B, n, C, 0, {.stage = {0, 0, 2, 3}, .order = {0, 1, 2, 3}});
           }),
           products)

/// The slot is being read until the wait: three versions are one too few.
REFUSED(KnownMistakes, SlotRefilledBeforeTheWait, 1203, (KERNEL {
          awaitedProduct(b, A, B, n, C, 0, {.stage = {0, 0, 2, 3}, .order = {0, 1, 2, 3}}, 3);
        }))

REFUSED(KnownMistakes, WaitBeforeItsProduct, 1204, (KERNEL {
          awaitedProduct(b, A, B, n, C, 0, {.stage = {0, 0, 2, 1}, .order = {0, 1, 2, 3}});
        }))

/// The copies of the next iteration between a product and its wait.
void copiesBeforeTheWait(Block &b, In<f32, 2> A, In<f32, 2> B, Index n, InOut<f32, 2> C,
                         int versions) {
  auto As = b.shared<f32>(side, side, {.versions = versions});
  auto Bs = b.shared<f32>(side, side, {.versions = versions});
  auto acc = b.local<f32>(side, side);
  for (Index k : b.pipelined(n, {.stage = {0, 0, 3, 3, 3}, .order = {1, 2, 0, 3, 4}})) {
    b.copy(A.at(k * side, 0), As);
    b.copy(B.at(k * side, 0), Bs);
    b.gemm(As, Bs, acc, {.accumulate = false, .async = "product"});
    b.wait("product");
    b.copy(acc, C.at(k * side, 0));
  }
}

RUNS_RIGHT(KnownMistakes, CopiesBeforeTheWait, 0,
           (KERNEL { copiesBeforeTheWait(b, A, B, n, C, 0); }), [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               for (int i = 0; i < side; ++i)
                 for (int j = 0; j < side; ++j) {
                   d.C.at(k, i, j) = 0;
                   for (int e = 0; e < side; ++e)
                     d.C.at(k, i, j) += d.A.at(k, i, e) * d.B.at(k, e, j);
                 }
           })

REFUSED(KnownMistakes, CopiesBeforeTheWaitInThreeSlots, 1203,
        (KERNEL { copiesBeforeTheWait(b, A, B, n, C, 3); }))

/// The source has no wait for the product: the compiler waits, before its slot is refilled
/// and at the end of the loop.
RUNS_RIGHT(KnownMistakes, ProductWithoutAWait, 0, (KERNEL {
             auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
             auto acc = b.local<f32>(side, side);
             b.fill(acc, 0);
             for (Index k : b.pipelined(n, {.num_stages = 3})) {
               b.copy(A.at(k * side, 0), As);
               b.copy(B.at(k * side, 0), Bs);
               b.gemm(As, Bs, acc, {.async = "product"});
             }
             b.copy(acc, C.at(0, 0));
           }),
           products)

/// The same, where the first statement that needs its end is a copy of two
/// iterations later, which the last iterations do not have.
RUNS_RIGHT(KnownMistakes, ProductWithoutAWaitAtTheEnd, 0, (KERNEL {
             auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
             auto acc = b.local<f32>(side, side), sum = b.local<f32>(side, side);
             b.fill(sum, 0);
             for (Index k : b.pipelined(n, {.num_stages = 2})) {
               b.copy(A.at(k * side, 0), As);
               b.copy(B.at(k * side, 0), Bs);
               b.gemm(As, Bs, acc, {.accumulate = false, .async = "product"});
               b.set(sum, sum * 2 + As);
               b.copy(acc, C.at((k + 1) * side, 0));
             }
             b.copy(sum, C.at(0, 0));
           }),
           [](Data &d) {
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float sum = 0;
                 for (int64_t k = 0; k < d.n; ++k) {
                   sum = sum * 2 + d.A.at(k, i, j);
                   d.C.at(k + 1, i, j) = 0;
                   for (int e = 0; e < side; ++e)
                     d.C.at(k + 1, i, j) += d.A.at(k, i, e) * d.B.at(k, e, j);
                 }
                 d.C.at(0, i, j) = sum;
               }
           })

/// One condition over copies and their product, each for its own iteration.
RUNS_RIGHT(KnownMistakes, ConditionOverCopiesAndProduct, 0, (KERNEL {
             auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
             auto acc = b.local<f32>(side, side);
             b.fill(acc, 0);
             for (Index k : b.pipelined(n, {.num_stages = 3}))
               b.when(ids.load(k) != 1, [&] {
                 b.copy(A.at(k * side, 0), As);
                 b.copy(B.at(k * side, 0), Bs);
                 b.gemm(As, Bs, acc);
               });
             b.copy(acc, C.at(0, 0));
           }),
           [](Data &d) {
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float sum = 0;
                 for (int64_t k = 0; k < d.n; ++k)
                   for (int e = 0; e < side && d.ids[static_cast<size_t>(k)] != 1; ++e)
                     sum += d.A.at(k, i, e) * d.B.at(k, e, j);
                 d.C.at(0, i, j) = sum;
               }
           })

/// Two products of one iteration are in flight on one accumulator.
RUNS_RIGHT(KnownMistakes, TwoProductsInFlight, 0, (KERNEL {
             auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
             auto acc = b.local<f32>(side, side), last = b.local<f32>(side, side);
             b.fill(acc, 0);
             b.fill(last, 0);
             for (Index k :
                  b.pipelined(n, {.stage = {0, 0, 1, 1, 2, 2}, .order = {0, 1, 2, 3, 4, 5}})) {
               b.copy(A.at(k * side, 0), As);
               b.copy(B.at(k * side, 0), Bs);
               b.gemm(As, Bs, acc, {.accumulate = false, .async = "first"});
               b.gemm(Bs, As, acc, {.async = "second"});
               b.wait({"first", "second"});
               b.set(last, last * 2 + acc);
             }
             b.copy(last, C.at(0, 0));
           }),
           [](Data &d) {
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float last = 0;
                 for (int64_t k = 0; k < d.n; ++k) {
                   last *= 2;
                   for (int e = 0; e < side; ++e)
                     last += d.A.at(k, i, e) * d.B.at(k, e, j) + d.B.at(k, i, e) * d.A.at(k, e, j);
                 }
                 d.C.at(0, i, j) = last;
               }
           })

/// Inside of a group, what is issued must be awaited as well.
void productInAGroup(Block &b, In<f32, 2> A, In<f32, 2> B, Index n, InOut<f32, 2> C, bool inside) {
  auto As = b.shared<f32>(side, side), Bs = b.shared<f32>(side, side);
  auto acc = b.local<f32>(side, side);
  b.fill(acc, 0);
  for (Index k : b.pipelined(n, {.num_stages = 2})) {
    b.copy(A.at(k * side, 0), As);
    b.copy(B.at(k * side, 0), Bs);
    b.statement("multiply", [&] {
      b.gemm(As, Bs, acc, {.async = "product"});
      if (inside)
        b.wait("product");
    });
    if (!inside)
      b.wait("product");
  }
  b.copy(acc, C.at(0, 0));
}

RUNS_RIGHT(KnownMistakes, ProductAwaitedInItsGroup, 0,
           (KERNEL { productInAGroup(b, A, B, n, C, true); }), products)

REFUSED(KnownMistakes, ProductThatOutlivesItsGroup, 1235,
        (KERNEL { productInAGroup(b, A, B, n, C, false); }))

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The copy is used in its own stage, and only its schedule says that it
/// completes late: the wait is the compiler's.
RUNS_RIGHT(KnownMistakes, CopyUsedInItsStage, 0, (KERNEL {
             auto S = b.shared<f32>(side, side);
             for (Index k :
                  b.pipelined(n, {.stage = {0, 0, 1}, .order = {0, 1, 2}, .async_stages = {0}})) {
               b.copy(A.at(k * side, 0), S);
               b.set(S, S * 3);
               b.copy(S, C.at(k * side, 0));
             }
           }),
           [](Data &d) {
             for (int64_t k = 0; k < d.n; ++k)
               for (int i = 0; i < side; ++i)
                 for (int j = 0; j < side; ++j)
                   d.C.at(k, i, j) = d.A.at(k, i, j) * 3;
           })

/// A copy under a condition; where it does not hold, the old tile is used.
void conditionalCopy(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto S = b.shared<f32>(side, side);
  auto acc = b.local<f32>(side, side);
  b.fill(S, 1);
  b.fill(acc, 0);
  for (Index k : b.pipelined(n, schedule)) {
    b.when(k % 2 == 1, [&] { b.copy(A.at(k * side, 0), S); });
    b.set(acc, acc * 2 + S);
  }
  b.copy(acc, C.at(0, 0));
}

RUNS_RIGHT(KnownMistakes, ConditionalCopyInferred, 1220,
           (KERNEL { conditionalCopy(b, A, n, C, {.num_stages = 2}); }), [](Data &d) {
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float acc = 0;
                 float tile = 1;
                 for (int64_t k = 0; k < d.n; ++k) {
                   tile = k % 2 ? d.A.at(k, i, j) : tile;
                   acc = acc * 2 + tile;
                 }
                 d.C.at(0, i, j) = acc;
               }
           })

REFUSED(KnownMistakes, ConditionalCopyAhead, 1203,
        (KERNEL { conditionalCopy(b, A, n, C, {.stage = {0, 1}, .order = {0, 1}}); }))

/// Sizes that are known only when the kernel runs and divide by nothing.
RUNS_RIGHT(KnownMistakes, SizesOfTheLaunch, 0, (KERNEL {
             auto As = b.shared<f32>(3, side), Bs = b.shared<f32>(3, side);
             auto acc = b.local<f32>(side, side);
             b.fill(acc, 0);
             for (Index k : b.pipelined(ceil_div(A.size(0), 3), {.num_stages = 3})) {
               b.copy(A.at(k * 3, 0), As);
               b.copy(B.at(k * 3, 0), Bs);
               b.gemm(transposed(As), Bs, acc);
             }
             b.copy(acc, C.at(0, 0));
           }),
           [](Data &d) {
             for (int i = 0; i < side; ++i)
               for (int j = 0; j < side; ++j) {
                 float sum = 0;
                 for (int64_t row = 0; row < d.n * side; ++row)
                   sum += d.A.at(0, int(row), i) * d.B.at(0, int(row), j);
                 d.C.at(0, i, j) = sum;
               }
           })

} // namespace
