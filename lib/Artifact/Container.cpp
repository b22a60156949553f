//===- Container.cpp - Sections in one checked piece of bytes -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Artifact/Container.h"
#include "Artifact/Checksum.h"

#include <algorithm>
#include <cstring>

using namespace penstock;

namespace {

constexpr char magic[8] = {'P', 'E', 'N', 'S', 'T', 'O', 'C', 'K'};
constexpr uint32_t format = 1;
constexpr size_t headerBytes = 64, entryBytes = 24, checksumAt = 32;

uint64_t numberAt(std::string_view bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint64_t(uint8_t(bytes[at + size_t(i)])) << (8 * i);
  return value;
}

std::array<uint8_t, 32> checksumOf(std::string_view bytes) {
  std::string both(bytes.substr(0, checksumAt));
  auto content = sha256(bytes.substr(headerBytes));
  both.append(content.begin(), content.end());
  return sha256(both);
}

void setNumber(std::string &bytes, size_t at, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes[at + size_t(i)] = char(value >> (8 * i));
}

} // namespace

std::string penstock::writeContainer(const std::vector<Section> &sections) {
  std::string bytes(headerBytes + entryBytes * sections.size(), '\0');
  for (size_t i = 0; i < sections.size(); ++i) {
    size_t entry = headerBytes + entryBytes * i;
    sections[i].name.copy(bytes.data() + entry, 8);
    setNumber(bytes, entry + 8, bytes.size(), 8);
    setNumber(bytes, entry + 16, sections[i].bytes.size(), 8);
    bytes.append(sections[i].bytes);
  }
  std::memcpy(bytes.data(), magic, sizeof magic);
  setNumber(bytes, 8, format, 4);
  setNumber(bytes, 12, sections.size(), 4);
  setNumber(bytes, 16, bytes.size(), 8);
  auto checksum = checksumOf(bytes);
  std::memcpy(bytes.data() + checksumAt, checksum.data(), checksum.size());
  return bytes;
}

std::optional<std::vector<Section>> penstock::readContainer(std::string_view bytes,
                                                            ContainerError &error) {
  auto damaged = [&](std::string reason) {
    error = {ContainerError::Damaged, std::move(reason)};
    return std::nullopt;
  };
  if (bytes.size() < headerBytes || std::memcmp(bytes.data(), magic, sizeof magic) != 0)
    return damaged("it does not begin as an artifact does");
  if (uint64_t found = numberAt(bytes, 8, 4); found != format) {
    error = {ContainerError::UnknownFormat, "its format is " + std::to_string(found) +
                                                ", this library reads " + std::to_string(format)};
    return std::nullopt;
  }
  if (numberAt(bytes, 16, 8) != bytes.size())
    return damaged("it has " + std::to_string(bytes.size()) + " bytes instead of " +
                   std::to_string(numberAt(bytes, 16, 8)));
  auto checksum = checksumOf(bytes);
  if (std::memcmp(checksum.data(), bytes.data() + checksumAt, checksum.size()) != 0)
    return damaged("its checksum is wrong");
  uint64_t count = numberAt(bytes, 12, 4);
  if (count > (bytes.size() - headerBytes) / entryBytes)
    return damaged("its table of sections is cut off");
  std::vector<Section> sections;
  for (size_t i = 0; i < count; ++i) {
    size_t entry = headerBytes + entryBytes * i;
    uint64_t offset = numberAt(bytes, entry + 8, 8), size = numberAt(bytes, entry + 16, 8);
    if (offset > bytes.size() || size > bytes.size() - offset)
      return damaged("a section lies outside of it");
    std::string_view name = bytes.substr(entry, 8);
    sections.push_back({std::string(name.substr(0, std::min(name.find('\0'), name.size()))),
                        bytes.substr(offset, size)});
  }
  return sections;
}
