//===- rotary.h - Rotary position embedding ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_ROTARY_H
#define PENSTOCK_EXAMPLES_GALLERY_ROTARY_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Rotates the halves of each head by the angles of its position.
struct Rotary {
  int rows = 16, half = 32; // heads have 2 * half elements
  static constexpr auto signature = "x[T,H,D], cosines[T,E], sines[T,E] -> y[T,H,D]";

  void operator()(Block &b, In<f16, 3> x, In<f32, 2> cosines, In<f32, 2> sines,
                  Out<f16, 3> y) const {
    auto [T, H, D] = x.sizes();
    b.require(D == 2 * half && cosines.size(1) == half, "D must be 2 * half, and E half");
    auto [t, h] = b.grid(ceil_div(T, rows), H);
    Index first = t * rows;
    auto low = b.local<f32>(rows, half), high = b.local<f32>(rows, half);
    auto c = b.local<f32>(rows, half), s = b.local<f32>(rows, half);
    auto turned = b.local<f32>(rows, half);
    b.copy(x.at(first, h, 0).dims(0, 2), low);
    b.copy(x.at(first, h, half).dims(0, 2), high);
    b.copy(cosines.at(first, 0), c);
    b.copy(sines.at(first, 0), s);
    b.set(turned, low * c - high * s);
    b.copy(turned, y.at(first, h, 0).dims(0, 2));
    b.set(turned, high * c + low * s);
    b.copy(turned, y.at(first, h, half).dims(0, 2));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_ROTARY_H
