//===- explicit-shared-memory.cpp - More shared memory than a block has ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Ring {
  void operator()(Block &b, In<f16, 2> A) const {
    b.threads(128);
    auto As = b.shared<f16>(16, 128, 64);
    b.copy(A.at(0, 0), As[0]);
  }
};
} // namespace

WRONG_PROGRAM { compile(Ring{}, Target::sm_90a()); }

// EXPECT: explicit-shared-memory.cpp:19: error PS1603: the kernel's tiles and barriers take 262144 bytes of shared memory; a block of sm_90a has 232448
// EXPECT:    19 | WRONG_PROGRAM { compile(Ring{}, Target::sm_90a()); }
// EXPECT:       |                 ^
// EXPECT: explicit-shared-memory.cpp:13: note: `As` (16x128x64 f16, shared) takes 262144 bytes
// EXPECT:    13 |     auto As = b.shared<f16>(16, 128, 64);
// EXPECT:       |               ^
// EXPECT:   help: use fewer stages or smaller tiles
