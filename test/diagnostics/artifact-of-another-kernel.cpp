//===- artifact-of-another-kernel.cpp - An artifact and another kernel ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <penstock/gpu.h>

namespace {
struct Copy {
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto t = b.local<f32>(32);
    b.copy(x.at(0), t);
    b.copy(t, y.at(0));
  }
};

struct Rows {
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto t = b.local<f32>(1, 32);
    b.copy(x.at(0, 0), t);
    b.copy(t, y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM {
  std::string bytes = compile(Copy{}, Target::sm_90a()).artifact();
  gpu::load<Rows>(bytes);
}

// EXPECT: artifact-of-another-kernel.cpp:31: error PS1712: the artifact is of `Copy`, whose `arg0` is a tensor of rank 1 of f32; this kernel has a tensor of rank 2 of f32
// EXPECT:    31 |   gpu::load<Rows>(bytes);
// EXPECT:       |   ^
// EXPECT:   help: load it with the kernel type that it was made from
