//===- Kernels.h - Small kernels with spaces --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TUNING_KERNELS_H
#define PENSTOCK_UNITTESTS_TUNING_KERNELS_H

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <penstock/penstock.h>
#include <penstock/tune.h>

namespace penstock {

/// y = factor * x + offset. Points with offset 1 are wrong: the default has 0.
struct Scale {
  int block = 64, factor = 2, offset = 0;
  static constexpr auto signature = "x[N] -> y[N]";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block);
    b.copy(x.at(first), t);
    b.set(t, t * float(factor) + float(offset));
    b.copy(t, y.at(first));
  }

  static auto space() {
    return Space<Scale>()
        .over(&Scale::block, {32, 64, 128})
        .over(&Scale::factor, &Scale::offset, {{2, 0}, {3, 1}})
        .where([](const Scale &k) { return k.block > 32 || k.factor == 2; })
        .where([](const Scale &k) { return k.block < 1000; })
        .classes("N:log2");
  }
};
struct ScaleDerived : Scale {};
struct Unspaced {
  static constexpr auto signature = "x[N] -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto t = b.local<f32>(8);
    b.grid(1);
    b.copy(x.at(0), t);
    b.copy(t, y.at(0));
  }
};

/// A folder of its own for records, removed at the end.
class TemporaryCache {
public:
  TemporaryCache();
  ~TemporaryCache();
  KernelCache open() const;
  const std::string &directory() const { return path; }

private:
  std::string path;
};

} // namespace penstock

#endif // PENSTOCK_UNITTESTS_TUNING_KERNELS_H
