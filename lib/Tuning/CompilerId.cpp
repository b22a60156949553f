//===- CompilerId.cpp - Identity of this compiler -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/CompilerId.h"
#include "llvm/Config/llvm-config.h"

#include <cstring>
#include <link.h>

using namespace penstock;

namespace {

struct Search {
  uintptr_t code; ///< an address in the library
  std::string id;
};

/// Reads the note that the linker wrote, if this object has the code.
int visit(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    mine |= part.p_type == PT_LOAD && search.code >= begin && search.code < begin + part.p_memsz;
  }
  for (int i = 0; mine && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(info->dlpi_addr + part.p_vaddr);
    const char *end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char *name = at + sizeof note;
      const char *bytes = name + ((note.n_namesz + 3) & ~3u);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !std::memcmp(name, "GNU", 4))
        for (unsigned b = 0; b < note.n_descsz; ++b) {
          search.id += "0123456789abcdef"[uint8_t(bytes[b]) >> 4];
          search.id += "0123456789abcdef"[uint8_t(bytes[b]) & 15];
        }
      at = bytes + ((note.n_descsz + 3) & ~3u);
    }
  }
  return mine;
}

} // namespace

const std::string &tuning::compilerId() {
  static const std::string id = [] {
    Search search{reinterpret_cast<uintptr_t>(&tuning::compilerId), ""};
    dl_iterate_phdr(visit, &search);
    // Without a build id, the time of this build at least differs between compilers.
    if (search.id.empty())
      search.id = __DATE__ " " __TIME__;
    return search.id + " llvm " LLVM_VERSION_STRING;
  }();
  return id;
}
