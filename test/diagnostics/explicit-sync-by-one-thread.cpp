//===- explicit-sync-by-one-thread.cpp - A sync by one thread -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Sync {
  void operator()(Block &b) const {
    b.threads(128);
    b.elect_one([&] { b.sync(); });
  }
};
} // namespace

WRONG_PROGRAM { compile(Sync{}, Target::sm_100a()); }

// EXPECT: explicit-sync-by-one-thread.cpp:13: error PS1604: `sync` is executed by whole warps and stands inside of `elect_one`
// EXPECT:    13 |     b.elect_one([&] { b.sync(); });
// EXPECT:       |                       ^
// EXPECT:   help: move it out of elect_one
