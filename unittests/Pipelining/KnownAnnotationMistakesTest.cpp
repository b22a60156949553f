//===- KnownAnnotationMistakesTest.cpp - Wrong wishes are answered --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Annotations that compilers have accepted and then ignored: the loop was left
// unpipelined, or failed much later, without a word.
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

using namespace pipelining;

namespace {

void throughATile(Block &b, In<f32, 2> A, Index n, InOut<f32, 2> C, PipelineOptions schedule) {
  auto S = b.shared<f32>(side, side);
  for (Index k : b.pipelined(n, schedule)) {
    b.copy(A.at(k * side, 0), S);
    b.copy(S, C.at(k * side, 0));
  }
}

REFUSED(KnownMistakes, OnlyOrder, 1213, (KERNEL { throughATile(b, A, n, C, {.order = {0, 1}}); }))

REFUSED(KnownMistakes, OnlyStage, 1213, (KERNEL { throughATile(b, A, n, C, {.stage = {0, 1}}); }))

REFUSED(KnownMistakes, NoStages, 1215, (KERNEL { throughATile(b, A, n, C, {.num_stages = 0}); }))

REFUSED(KnownMistakes, NegativeNumberOfStages, 1215,
        (KERNEL { throughATile(b, A, n, C, {.num_stages = -1}); }))

REFUSED(KnownMistakes, NegativeStage, 1211,
        (KERNEL { throughATile(b, A, n, C, {.stage = {-1, 0}, .order = {0, 1}}); }))

/// Nothing can run ahead, so there is no pipeline to be had.
REFUSED(KnownMistakes, NothingToPipeline, 1219, (KERNEL {
          auto S = b.local<f32>(side, side);
          b.fill(S, 0);
          for ([[maybe_unused]] Index k : b.pipelined(n, {.num_stages = 2}))
            b.set(S, S + 1);
          b.copy(S, C.at(0, 0));
        }))

REFUSED(KnownMistakes, BreakInTheBody, 1001, (KERNEL {
          auto S = b.shared<f32>(side, side);
          for (Index k : b.pipelined(n, {.num_stages = 2})) {
            b.copy(A.at(k * side, 0), S);
            b.copy(S, C.at(k * side, 0));
            break;
          }
        }))

REFUSED(KnownMistakes, CopyPastTheTile, 1107, (KERNEL {
          auto S = b.shared<f32>(side, side);
          for (Index k : b.pipelined(n, {.num_stages = 2})) {
            b.copy(A.at(k * side, 0), slice(S, {1, 0}, {side, side}));
            b.copy(S, C.at(k * side, 0));
          }
        }))

/// Twenty versions of two tiles of 64 MiB are more than a block may have.
const Registration memory("KnownMistakes.MoreThanTheMemory", "refused, PS1218");

TEST(KnownMistakes, MoreThanTheMemory) {
  Program program{KERNEL{auto S = b.shared<f32>(4096, 4096), T = b.shared<f32>(4096, 4096);
  auto sum = b.local<f32>(4096, 4096);
  b.fill(sum, 0);
  for (Index k : b.pipelined(n, {.num_stages = 20})) {
    b.copy(A.at(k * 4096, 0), S);
    b.copy(B.at(k * 4096, 0), T);
    b.set(sum, sum + S * T);
  }
  b.copy(sum, C.at(0, 0));
}
}; // namespace
// The interpreter keeps one version of each tile, whatever the schedule.
auto result = try_compile(program, Target::native(), {.name = "pipelined"});
ASSERT_FALSE(result);
ASSERT_EQ(result.diagnostics.size(), 1u) << to_text(result.diagnostics);
EXPECT_EQ(result.diagnostics[0].code, 1218u);
// 2 GiB hold 32 tiles of 64 MiB; one is the sum's.
ASSERT_EQ(result.diagnostics[0].helps.size(), 1u) << to_text(result.diagnostics);
EXPECT_EQ(result.diagnostics[0].helps[0], "num_stages = 15 is the largest that fits");
}

} // namespace
