//===- Memory.cpp - Tiles and tensors while a kernel runs -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Memory.h"

#include <cstring>

namespace penstock::interpreter {

void Storage::reset(Element element, int64_t elements) {
  unsigned width = byteWidthOf(element);
  bytes.resize(static_cast<size_t>(elements) * width);
  uint64_t pattern = garbage(element);
  for (size_t at = 0; at < bytes.size(); at += width)
    std::memcpy(&bytes[at], &pattern, width);
  written.assign(static_cast<size_t>(elements), 0);
}

std::optional<unsigned> View::outside(llvm::ArrayRef<int64_t> index) const {
  for (unsigned dim = 0; dim < index.size(); ++dim)
    if (index[dim] < 0 || index[dim] >= sizes[dim])
      return dim;
  return std::nullopt;
}

int64_t View::place(llvm::ArrayRef<int64_t> index) const {
  int64_t at = offset;
  for (unsigned dim = 0; dim < index.size(); ++dim)
    at += index[dim] * strides[dim];
  return at;
}

uint64_t View::bits(int64_t place) const {
  // Elements lie in memory with their low byte first: the host is an x86-64.
  uint64_t bits = 0;
  unsigned width = byteWidthOf(element);
  std::memcpy(&bits, data + place * width, width);
  return bits;
}

void View::setBits(int64_t place, uint64_t bits) {
  unsigned width = byteWidthOf(element);
  std::memcpy(data + place * width, &bits, width);
  if (written)
    written[place] = 1;
}

int64_t View::numElements() const {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

} // namespace penstock::interpreter
