//===- Entry.cpp - One entry of a cache as bytes --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Entry.h"
#include "Artifact/Container.h"

using namespace penstock;
using namespace penstock::cache;

std::string penstock::cache::writeEntry(std::string_view keyText, std::string_view data) {
  return writeContainer({{"KEY", keyText}, {"DATA", data}});
}

EntryState penstock::cache::readEntry(std::string_view bytes, Entry &entry) {
  ContainerError error;
  auto sections = readContainer(bytes, error);
  if (!sections)
    return error.kind == ContainerError::UnknownFormat ? EntryState::UnknownFormat
                                                       : EntryState::Damaged;
  bool key = false, data = false;
  for (const Section &section : *sections) {
    if (section.name == "KEY" && !key) {
      entry.key = section.bytes;
      key = true;
    } else if (section.name == "DATA" && !data) {
      entry.data = section.bytes;
      data = true;
    }
  }
  // Other containers, e.g. artifacts, are not entries.
  return key && data ? EntryState::Good : EntryState::Damaged;
}

EntryState penstock::cache::readEntry(std::string_view bytes, std::string_view keyText,
                                      Entry &entry) {
  EntryState state = readEntry(bytes, entry);
  if (state == EntryState::Good && entry.key != keyText)
    return EntryState::Foreign;
  return state;
}
