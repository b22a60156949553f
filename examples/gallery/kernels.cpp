//===- kernels.cpp - Kernels that models need, as one library -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// penstock.kernels of the Python package, and input of `penstock check`. References are the
// tile programs themselves on the interpreter; python/tests compares them with numpy.
//
//===----------------------------------------------------------------------===//
#include "common/equivalents.h"
#include "gallery/attention_decode.h"
#include "gallery/attention_forward.h"
#include "gallery/cross_entropy.h"
#include "gallery/fp8_linear.h"
#include "gallery/int4_linear.h"
#include "gallery/moe_matmul.h"
#include "gallery/rms_norm.h"
#include "gallery/rotary.h"
#include "gallery/swiglu.h"
#include "gallery/top_k.h"
#include <penstock/check.h>

namespace gallery {

// Reasons why some changes of an online softmax do not change its results.
using examples::anyShift, examples::firstRescaling;
#define GALLERY_ONLINE_SOFTMAX                                                                     \
  {"b.fill(top, -infinity)", anyShift}, {"b.fill(sum, 0)", firstRescaling},                        \
      {"b.reduce(Max, scores, 1, top", anyShift},                                                  \
      {"where(sum > 0, 1 / sum, 0)", "without keys the values that it multiplies are 0"}

PENSTOCK_KERNEL(RmsNorm, rows, columns);
PENSTOCK_SHAPES(RmsNorm, Shape{{"R", 5}, {"C", 300}, {"eps", 1e-5}},
                Shape{{"R", 1}, {"C", 1}, {"eps", 1e-5}});
PENSTOCK_KERNEL(SwiGlu, rows, columns);
PENSTOCK_SHAPES(SwiGlu, Shape{{"R", 5}, {"C", 300}}, Shape{{"R", 8}, {"C", 512}});
PENSTOCK_KERNEL(Rotary, rows, half);
PENSTOCK_SHAPES(Rotary, Shape{{"T", 20}, {"H", 2}, {"D", 64}, {"E", 32}});
PENSTOCK_KERNEL(AttentionForward, block_m, block_n, dim, stages, causal);
PENSTOCK_SHAPES(AttentionForward,
                Shape{{"H", 2}, {"G", 1}, {"M", 70}, {"N", 150}, {"D", 64}, {"scale", 0.125}},
                Shape{{"H", 4}, {"G", 2}, {"M", 170}, {"N", 170}, {"D", 40}, {"scale", 0.15}},
                Shape{{"H", 1}, {"G", 1}, {"M", 8}, {"N", 0}, {"D", 64}, {"scale", 0.15}});
PENSTOCK_EQUIVALENT(AttentionForward, GALLERY_ONLINE_SOFTMAX, {"b.fill(out, 0)", firstRescaling},
                    {"Index keys = causal", "tiles after the last visible key are masked"},
                    {"auto seen = col(S)", "the causal mask hides these keys, too"});
PENSTOCK_KERNEL(AttentionDecode, rows, block_n, dim, stages);
PENSTOCK_SHAPES(AttentionDecode,
                Shape{{"B", 3}, {"G", 2}, {"R", 4}, {"N", 100}, {"D", 64}, {"scale", 0.125}},
                Shape{{"B", 2}, {"G", 1}, {"R", 3}, {"N", 130}, {"D", 40}, {"scale", 0.125}});
PENSTOCK_EQUIVALENT(AttentionDecode, GALLERY_ONLINE_SOFTMAX, {"b.fill(out, 0)", firstRescaling});
PENSTOCK_KERNEL(MoeMatmul, block_m, block_n, block_k, stages);
PENSTOCK_SHAPES(MoeMatmul, Shape{{"T", 250}, {"K", 200}, {"E", 3}, {"N", 200}, {"B", 4}},
                Shape{{"T", 130}, {"K", 72}, {"E", 3}, {"N", 130}, {"B", 3}});
PENSTOCK_KERNEL(Fp8Linear, block_m, block_n, block_k, stages);
PENSTOCK_SHAPES(Fp8Linear, Shape{{"M", 70}, {"N", 140}, {"K", 320}},
                Shape{{"M", 64}, {"N", 9}, {"K", 100}});
PENSTOCK_KERNEL(Int4Linear, block_m, block_n, stages);
PENSTOCK_SHAPES(Int4Linear, Shape{{"M", 70}, {"N", 66}, {"K", 256}, {"P", 128}, {"S", 4}});
PENSTOCK_EQUIVALENT(Int4Linear, {"b.pipelined(ceil_div(K, 64)", "K is a multiple of 64"});
PENSTOCK_KERNEL(TopK, rows, columns);
PENSTOCK_SHAPES(TopK, Shape{{"R", 5}, {"C", 100}, {"K", 3}}, Shape{{"R", 6}, {"C", 20}, {"K", 20}});
PENSTOCK_EQUIVALENT(TopK, {"b.copy(x.at(first, 0), t", "columns after the row are marked as taken"},
                    {"where(col(taken) < C", "only rows that hold -infinity need the marks"},
                    {"where(taken == 0 && t", "marks are 0 or 1, and every row has a match"},
                    {"broadcast_rows(index), 1, taken)", "any positive number is a mark"});
PENSTOCK_KERNEL(CrossEntropy, rows, columns);
PENSTOCK_SHAPES(CrossEntropy, Shape{{"R", 5}, {"C", 700}});
PENSTOCK_EQUIVALENT(CrossEntropy, {"b.fill(top, -infinity)", anyShift},
                    {"b.fill(sum, 0)", firstRescaling}, {"b.reduce(Max, t, 1, top", anyShift},
                    {"where(old == top", "only rows that begin with -infinity need the condition"});

} // namespace gallery
