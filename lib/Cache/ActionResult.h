//===- ActionResult.h - The part of Bazel's protocol that we use -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bazel's HTTP caches have two tables: /cas/<SHA-256 of the bytes> and /ac/<key>. A value
// of the second is a message ActionResult of the Remote Execution API, whose files are in
// the first; servers check both. Ours has one file, the entry.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_ACTIONRESULT_H
#define PENSTOCK_CACHE_ACTIONRESULT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::cache {

struct BlobDigest {
  std::string hash; ///< SHA-256, 64 hexadecimal digits
  uint64_t bytes = 0;
};

std::string writeActionResult(const BlobDigest &digest);
/// The digest of the first file; no value for anything that is not an ActionResult with one.
std::optional<BlobDigest> readActionResult(std::string_view message);

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_ACTIONRESULT_H
