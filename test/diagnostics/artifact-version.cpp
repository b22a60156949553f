//===- artifact-version.cpp - An artifact of a later version --------------===//
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
} // namespace

WRONG_PROGRAM {
  std::string bytes = compile(Copy{}, Target::sm_90a()).artifact();
  bytes[8] = 99; // the format, after the name of the file type
  gpu::load<Copy>(bytes);
}

// EXPECT: artifact-version.cpp:24: error PS1711: the artifact cannot be read: its format is 99, this library reads 1
// EXPECT:    24 |   gpu::load<Copy>(bytes);
// EXPECT:       |   ^
// EXPECT:   help: read it with the version of Penstock that wrote it, or make it again
