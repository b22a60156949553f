//===- BuildIds.cpp - Identity of the compiler's code ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/BuildIds.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"

#include <cstring>
#include <link.h>

using namespace penstock;

namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

/// The build id in the notes of a segment; empty if it has none.
std::string buildIdIn(const char *notes, size_t bytes) {
  auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    size_t size = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (size > bytes)
      break;
    const char *name = notes + sizeof note, *value = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return llvm::toHex(llvm::StringRef(value, note.n_descsz), /*LowerCase=*/true);
    notes += size;
    bytes -= size;
  }
  return "";
}

int visit(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  bool contains = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &header = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    contains |= header.p_type == PT_LOAD && search.address - begin < header.p_memsz;
  }
  for (int i = 0; contains && i < info->dlpi_phnum && search.id.empty(); ++i) {
    const auto &header = info->dlpi_phdr[i];
    if (header.p_type == PT_NOTE)
      search.id = buildIdIn(reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr),
                            header.p_memsz);
  }
  return contains;
}

/// Build id of the binary that contains an address.
std::string buildIdOf(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  ::dl_iterate_phdr(visit, &search);
  return search.id;
}

} // namespace

const std::string &penstock::compilerBuildIds() {
  static const std::string *ids = [] {
    // A function of each: our own, MLIR's and LLVM's, wherever they are linked.
    auto ofMlir = &mlir::MLIRContext::disableMultithreading;
    auto ofLlvm = &llvm::LLVMContext::setDiscardValueNames;
    const void *mlirCode, *llvmCode;
    std::memcpy(&mlirCode, &ofMlir, sizeof mlirCode);
    std::memcpy(&llvmCode, &ofLlvm, sizeof llvmCode);
    std::string all;
    for (const void *code :
         {reinterpret_cast<const void *>(&compilerBuildIds), mlirCode, llvmCode}) {
      std::string id = buildIdOf(code);
      if (id.empty())
        return new std::string();
      if (all.find(id) == std::string::npos)
        all += (all.empty() ? "" : " ") + id;
    }
    return new std::string(all);
  }();
  return *ids;
}
