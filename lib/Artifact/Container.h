//===- Container.h - Sections in one checked piece of bytes -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A header of 64 bytes, a table of sections, the sections. All numbers are little
// endian.
//
//     0   8  magic
//     8   4  format
//    12   4  number of sections
//    16   8  size of everything
//    24   8  zero
//    32  32  SHA-256 of the 32 bytes before, and of the SHA-256 of all after the header
//    64      per section: name (8 bytes), offset (8), size (8)
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ARTIFACT_CONTAINER_H
#define PENSTOCK_ARTIFACT_CONTAINER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct Section {
  std::string name; ///< up to 8 characters
  std::string_view bytes;
};

std::string writeContainer(const std::vector<Section> &sections);

struct ContainerError {
  enum Kind : uint8_t {
    Damaged,      ///< not a container, or not all of one
    UnknownFormat ///< of a later version
  };
  Kind kind = Damaged;
  std::string reason;
};

/// Reads what writeContainer wrote; the sections refer to \p bytes. No value, with the
/// reason in \p error, for anything else.
std::optional<std::vector<Section>> readContainer(std::string_view bytes, ContainerError &error);

/// Appends numbers, texts and lists.
class ByteWriter {
public:
  void number(uint64_t value) {
    for (int i = 0; i < 8; ++i)
      bytes.push_back(char(value >> (8 * i)));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  template <class L, class F> void list(const L &all, F each) {
    number(all.size());
    for (const auto &item : all)
      each(item);
  }
  std::string bytes;
};

/// Reads what a ByteWriter wrote. After an error all values are empty, so that only the
/// end has to be checked.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest(bytes) {}

  uint64_t number() {
    if (rest.size() < 8)
      return fail();
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i)
      value |= uint64_t(uint8_t(rest[size_t(i)])) << (8 * i);
    rest.remove_prefix(8);
    return value;
  }
  /// A number of at most \p most.
  uint64_t upTo(uint64_t most) {
    uint64_t value = number();
    return value <= most ? value : fail();
  }
  std::string text() {
    uint64_t size = number();
    if (size > rest.size()) {
      fail();
      return {};
    }
    std::string value(rest.substr(0, size));
    rest.remove_prefix(size);
    return value;
  }
  /// Each item takes 8 bytes or more, which bounds what a damaged length allocates.
  template <class T, class F> void list(std::vector<T> &to, F each) {
    uint64_t count = upTo(rest.size() / 8);
    for (uint64_t i = 0; i < count && ok; ++i)
      each(to.emplace_back());
  }
  uint64_t fail() {
    ok = false;
    rest = {};
    return 0;
  }
  /// Returns whether all input was read without errors.
  bool complete() const { return ok && rest.empty(); }
  bool valid() const { return ok; }

private:
  std::string_view rest;
  bool ok = true;
};

} // namespace penstock

#endif // PENSTOCK_ARTIFACT_CONTAINER_H
