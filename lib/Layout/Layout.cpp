//===- Layout.cpp - Hierarchical layouts ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Layout.h"

#include <cassert>

namespace penstock::layout {
Layout Layout::ofModes(const std::vector<Mode> &modes) {
  if (modes.empty())
    return Layout();
  if (modes.size() == 1)
    return Layout(modes[0].extent, modes[0].stride);
  std::vector<Layout> leaves;
  for (const Mode &m : modes)
    leaves.emplace_back(m.extent, m.stride);
  return Layout(std::move(leaves));
}

std::vector<Layout::Mode> Layout::flat() const {
  if (isLeaf())
    return {mode};
  std::vector<Mode> all;
  for (const Layout &child : modes) {
    std::vector<Mode> some = child.flat();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

int64_t Layout::size() const {
  int64_t product = 1;
  for (const Mode &m : flat())
    product *= m.extent;
  return product;
}

int64_t Layout::cosize() const {
  int64_t last = 0;
  for (const Mode &m : flat())
    last += (m.extent - 1) * m.stride;
  return last + 1;
}

bool Layout::isBounded() const {
  __int128 size = 1, cosize = 1;
  for (const Mode &m : flat()) {
    if (m.extent < 1 || m.extent > limit || m.stride < 0 || m.stride > limit)
      return false;
    size *= m.extent;
    cosize += __int128(m.extent - 1) * m.stride;
    if (size > limit || cosize > limit)
      return false;
  }
  return true;
}

int64_t Layout::apply(int64_t index) const {
  assert(index >= 0 && index < size());
  return consume(index);
}

int64_t Layout::consume(int64_t &index) const {
  if (isLeaf()) {
    int64_t coordinate = index % mode.extent;
    index /= mode.extent;
    return coordinate * mode.stride;
  }
  int64_t offset = 0;
  for (const Layout &child : modes)
    offset += child.consume(index);
  return offset;
}

int64_t Layout::apply(const std::vector<int64_t> &indices) const {
  assert(indices.size() == rank());
  int64_t offset = 0;
  for (size_t i = 0; i < indices.size(); ++i)
    offset += at(i).apply(indices[i]);
  return offset;
}

int64_t AddressSwizzle::apply(int64_t address) const {
  int64_t mask = ((int64_t(1) << bits) - 1) << base;
  return address ^ ((address >> shift) & mask);
}

int64_t SwizzledLayout::byteOffset(const std::vector<int64_t> &indices) const {
  return swizzle.apply(layout.apply(indices) * elementBits / 8);
}

} // namespace penstock::layout
