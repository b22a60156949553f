//===- Shard.h - One part of a command's work -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_SHARD_H
#define PENSTOCK_TOOLS_SHARD_H

#include "CommandLine/CommandLine.h"

/// Part `number` of `count`, counted from 0. Workers with the same count share the work
/// without knowing of each other.
struct Shard {
  unsigned number = 0, count = 1;
};

/// Declares "--shard I/N".
void declareShard(penstock::cli::Command &command, Shard &to);

#endif // PENSTOCK_TOOLS_SHARD_H
