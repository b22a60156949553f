//===- Memory.cpp - Tiles and tensors while a kernel runs -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Memory.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace penstock::interpreter {

void Storage::reset(Element element, int64_t elements) {
  unsigned width = byteWidthOf(element);
  bytes.resize(static_cast<size_t>(elements) * width);
  uint64_t pattern = garbage(element);
  // Its low bytes come first: the host is an x86-64.
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

int64_t View::linearIndex(llvm::ArrayRef<int64_t> index) const {
  int64_t at = offset;
  for (unsigned dim = 0; dim < index.size(); ++dim)
    at += index[dim] * strides[dim];
  return at;
}

Indices View::indexOf(int64_t linear) const {
  Indices index(sizes.size(), 0);
  // Dimensions of one element have any stride.
  llvm::SmallVector<unsigned> order;
  for (unsigned dim = 0; dim < sizes.size(); ++dim)
    if (sizes[dim] > 1 && strides[dim] > 0)
      order.push_back(dim);
  llvm::sort(order, [&](unsigned a, unsigned b) { return strides[a] > strides[b]; });
  int64_t rest = linear - offset;
  for (unsigned dim : order) {
    index[dim] = rest / strides[dim];
    rest %= strides[dim];
  }
  return index;
}

/// Calls \p access with an unsigned integer of the element's width: copying a
/// number of bytes that the compiler knows is what makes this fast.
template <class Access> static void withWidth(Element element, Access access) {
  switch (byteWidthOf(element)) {
  case 1:
    return access(uint8_t());
  case 2:
    return access(uint16_t());
  case 4:
    return access(uint32_t());
  default:
    return access(uint64_t());
  }
}

uint64_t View::bits(int64_t linear) const {
  uint64_t bits = 0;
  withWidth(element, [&](auto value) {
    std::memcpy(&value, data + linear * sizeof value, sizeof value);
    bits = value;
  });
  return bits;
}

void View::setBits(int64_t linear, uint64_t bits) {
  withWidth(element, [&](auto value) {
    value = static_cast<decltype(value)>(bits);
    std::memcpy(data + linear * sizeof value, &value, sizeof value);
  });
  if (written)
    written[linear] = 1;
}

int64_t View::numElements() const {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

} // namespace penstock::interpreter
