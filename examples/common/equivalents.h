//===- equivalents.h - Reasons why mutants of the examples are equivalent -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_COMMON_EQUIVALENTS_H
#define PENSTOCK_EXAMPLES_COMMON_EQUIVALENTS_H

namespace examples {

constexpr const char *anyShift = "weights may be relative to any score, as long as sums follow it";
constexpr const char *firstRescaling = "the first tile rescales by exp(-infinity), which is 0";

} // namespace examples

// Rows of PENSTOCK_EQUIVALENT, for kernels that are registered under several names.
#define EXAMPLES_ONLINE_SOFTMAX                                                                    \
  {"b.fill(top, -infinity)", ::examples::anyShift},                                                \
      {"b.fill(sum, 0)", ::examples::firstRescaling},                                              \
      {"b.fill(out, 0)", ::examples::firstRescaling}, {                                            \
    "b.reduce(Max, S, 1, top", ::examples::anyShift                                                \
  }
#define EXAMPLES_ROW_SOFTMAX                                                                       \
  {"b.fill(top", "only rows that begin with -infinity need a finite start"},                       \
      {"b.fill(sum, 0)", ::examples::firstRescaling}, {                                            \
    "b.reduce(Max, x, 1, top", ::examples::anyShift                                                \
  }
#define EXAMPLES_LAYER_NORM                                                                        \
  {"(x - broadcast_rows(mean)) * (x - broadcast_rows(mean))",                                      \
   "sums of (x + mean) (x - mean) along a row are the same"}
#define EXAMPLES_CONVOLUTION {"b.pipelined(9 * steps", "taps after the ninth read zeros"}
#define EXAMPLES_HISTOGRAM {"{.fill = -1}", "no negative number is counted"}
#define EXAMPLES_ATTENTION_BACKWARD                                                                \
  {"where(row(P) + n0 < N", "keys after the last are zeros; only weights that overflow matter"}
#define EXAMPLES_PERSISTENT {"* members + member", "a team without pairs has one member"}

#endif // PENSTOCK_EXAMPLES_COMMON_EQUIVALENTS_H
