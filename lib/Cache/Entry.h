//===- Entry.h - One entry of a cache as bytes ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A container (Artifact/Container.h) with the sections KEY and DATA. The name of an
// entry is the SHA-256 of its key, in hexadecimal.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_ENTRY_H
#define PENSTOCK_CACHE_ENTRY_H

#include "Artifact/Checksum.h"

#include <optional>

namespace penstock::cache {

using penstock::hexDigest;

std::string writeEntry(std::string_view keyText, std::string_view data);

struct Entry {
  std::string_view key, data; ///< parts of the bytes that were read
};

enum class EntryState : uint8_t {
  Good,
  Damaged,
  Foreign,      ///< the entry of another key
  UnknownFormat ///< of a later version
};

/// Reads an entry of any key.
EntryState readEntry(std::string_view bytes, Entry &entry);
/// Reads the entry of \p keyText.
EntryState readEntry(std::string_view bytes, std::string_view keyText, Entry &entry);

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_ENTRY_H
