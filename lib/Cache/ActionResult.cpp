//===- ActionResult.cpp - The part of Bazel's protocol that we use --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/ActionResult.h"
#include "Cache/Directory.h"

using namespace penstock::cache;

namespace {

// Field numbers of build.bazel.remote.execution.v2.
constexpr unsigned resultFiles = 2;              // ActionResult.output_files
constexpr unsigned filePath = 1, fileDigest = 2; // OutputFile
constexpr unsigned digestHash = 1, digestSize = 2;

void putVarint(std::string &to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to.push_back(char(value | 0x80));
  to.push_back(char(value));
}

void putBytes(std::string &to, unsigned field, std::string_view value) {
  putVarint(to, field << 3 | 2);
  putVarint(to, value.size());
  to.append(value);
}

/// Fields of a message, one after the other.
class Fields {
public:
  explicit Fields(std::string_view message) : rest(message) {}

  /// Reads a field; false at the end or at an error.
  bool next() {
    uint64_t tag = 0, size = 0;
    if (rest.empty() || !varint(tag))
      return false;
    number = tag >> 3;
    value = 0;
    bytes = {};
    switch (tag & 7) {
    case 0:
      return varint(value);
    case 1:
      return take(8);
    case 2:
      return varint(size) && take(size);
    case 5:
      return take(4);
    default:
      return valid = false;
    }
  }

  uint64_t number = 0, value = 0;
  std::string_view bytes;
  bool valid = true;

private:
  bool varint(uint64_t &to) {
    to = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      uint64_t byte = uint8_t(rest.front());
      rest.remove_prefix(1);
      to |= (byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
    return valid = false;
  }
  bool take(uint64_t size) {
    if (size > rest.size())
      return valid = false;
    bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return true;
  }
  std::string_view rest;
};

} // namespace

std::string penstock::cache::writeActionResult(const BlobDigest &digest) {
  std::string inner, file, message;
  putBytes(inner, digestHash, digest.hash);
  putVarint(inner, digestSize << 3);
  putVarint(inner, digest.bytes);
  putBytes(file, filePath, "kernel");
  putBytes(file, fileDigest, inner);
  putBytes(message, resultFiles, file);
  return message;
}

std::optional<BlobDigest> penstock::cache::readActionResult(std::string_view message) {
  std::optional<BlobDigest> digest;
  Fields result(message);
  while (result.next()) {
    if (result.number != resultFiles || digest)
      continue;
    Fields file(result.bytes);
    while (file.next()) {
      if (file.number != fileDigest)
        continue;
      digest.emplace();
      Fields fields(file.bytes);
      while (fields.next()) {
        if (fields.number == digestHash)
          digest->hash = fields.bytes;
        else if (fields.number == digestSize)
          digest->bytes = fields.value;
      }
      if (!fields.valid)
        return std::nullopt;
    }
    if (!file.valid)
      return std::nullopt;
  }
  if (!result.valid || !digest || !Directory::isName(digest->hash))
    return std::nullopt;
  return digest;
}
