//===- CubinPtx.cpp - The PTX that a cubin was made from ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/CubinPtx.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace penstock::shim {
namespace {

/// The end of the last section or table; 0 if this is not a file of ELF, or reaches beyond
/// \p most bytes. The driver gets an address without a size.
uint64_t sizeOfElf(const char *image, uint64_t most) {
  Elf64_Ehdr header;
  if (most < sizeof header)
    return 0;
  memcpy(&header, image, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return 0;
  uint64_t sections = header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
  uint64_t size =
      std::max({uint64_t(sizeof header), sections,
                header.e_phoff + uint64_t(header.e_phnum) * uint64_t(header.e_phentsize)});
  if (header.e_shoff > most || sections > most)
    return 0;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS)
      size = std::max(size, section.sh_offset + section.sh_size);
  }
  return size <= most ? size : 0;
}

std::string contentOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace

std::optional<std::string> ptxOfCubin(const void *pointer, const std::string &folders) {
  const char *image = static_cast<const char *>(pointer);
  uint64_t size = sizeOfElf(image, uint64_t(1) << 32);
  for (size_t begin = 0; size && begin < folders.size();) {
    size_t end = std::min(folders.find(':', begin), folders.size());
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(
             folders.substr(begin, end - begin),
             std::filesystem::directory_options::skip_permission_denied, error)) {
      std::filesystem::path ptx = std::filesystem::path(entry.path()).replace_extension(".ptx");
      if (entry.path().extension() != ".cubin" || entry.file_size(error) < size ||
          !std::filesystem::exists(ptx, error))
        continue;
      std::string content = contentOf(entry.path());
      if (sizeOfElf(content.data(), content.size()) == size &&
          memcmp(content.data(), image, size) == 0)
        return contentOf(ptx);
    }
    begin = end + 1;
  }
  return std::nullopt;
}

} // namespace penstock::shim
