//===- Shards.h - Work divided by the hash of its name ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_CHECK_SHARDS_H
#define PENSTOCK_TESTING_CHECK_SHARDS_H

#include <cstdint>
#include <string_view>

namespace penstock {

/// Returns whether an item belongs to shard \p shard of \p shards. Each item belongs to exactly
/// one.
bool inShard(std::string_view item, unsigned shard, unsigned shards);

} // namespace penstock

#endif // PENSTOCK_TESTING_CHECK_SHARDS_H
