//===- Shards.cpp - Work divided by the hash of its name ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Check/Shards.h"
#include "Artifact/Checksum.h"

using namespace penstock;

bool penstock::inShard(std::string_view item, unsigned shard, unsigned shards) {
  if (shards <= 1)
    return true;
  auto digest = sha256(item);
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i)
    number = number << 8 | digest[i];
  return number % shards == shard;
}
