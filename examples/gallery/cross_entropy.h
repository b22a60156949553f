//===- cross_entropy.h - Loss of rows of logits -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_CROSS_ENTROPY_H
#define PENSTOCK_EXAMPLES_GALLERY_CROSS_ENTROPY_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// loss = log(sum(exp(logits))) - logits[label].
struct CrossEntropy {
  int rows = 4, columns = 512;
  static constexpr auto signature = "logits[R,C], labels[R] in 0..C-1 -> loss[R]";

  void operator()(Block &b, In<f32, 2> logits, In<i32, 1> labels, Out<f32, 1> loss) const {
    auto [R, C] = logits.sizes();
    Index first = b.grid(ceil_div(R, rows)) * rows;
    auto t = b.local<f32>(rows, columns);
    auto top = b.local<f32>(rows), old = b.local<f32>(rows), sum = b.local<f32>(rows);
    auto part = b.local<f32>(rows), chosen = b.local<f32>(rows);
    auto label = b.local<i32>(rows);
    auto scratch = b.local<f32>(rows, columns);
    b.copy(labels.at(first), label);
    b.fill(top, -infinity);
    b.fill(sum, 0);
    b.fill(chosen, 0);
    for (Index c : b.range(ceil_div(C, columns))) {
      b.copy(logits.at(first, c * columns), t, {.fill = -infinity});
      b.copy(top, old);
      b.reduce(Max, t, 1, top, {.accumulate = true});
      b.set(sum, sum * where(old == top, 1.0f, exp(old - top)));
      // Takes the label's logit out of the tile that has it.
      b.set(scratch, where(cast<i32>(col(t) + c * columns) == broadcast_rows(label), t, 0));
      b.reduce(Sum, scratch, 1, chosen, {.accumulate = true});
      b.set(t, exp(t - broadcast_rows(top)));
      b.reduce(Sum, t, 1, part);
      b.set(sum, sum + part);
    }
    b.set(part, log(sum) + top - chosen);
    b.copy(part, loss.at(first));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_CROSS_ENTROPY_H
