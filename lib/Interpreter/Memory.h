//===- Memory.h - Tiles and tensors while a kernel runs ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A View is a memref at run time: a strided window into a tensor of the host or
// into a tile of the block. Tiles remember for each element whether it was ever
// written.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_MEMORY_H
#define PENSTOCK_INTERPRETER_MEMORY_H

#include "Interpreter/Numbers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace penstock::interpreter {

class Shadow;

using Indices = llvm::SmallVector<int64_t, 6>;

/// The memory of one tile.
struct Storage {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> written; ///< one for each element

  /// Forgets all contents.
  void reset(Element element, int64_t elements);
};

struct View {
  Element element = Element::f32;
  uint8_t *data = nullptr;    ///< of the whole tensor or tile
  uint8_t *written = nullptr; ///< of the whole tile; null for tensors
  Shadow *shadow = nullptr;   ///< of the whole tensor or tile; null if nothing can race
  int64_t offset = 0;         ///< in elements, as are the strides
  Indices sizes, strides;

  /// The first dimension in which \p index lies outside, if there is one.
  std::optional<unsigned> outside(llvm::ArrayRef<int64_t> index) const;
  /// Linear index of the element in the memory; \p index must lie inside.
  int64_t linearIndex(llvm::ArrayRef<int64_t> index) const;

  /// The index of the element at a linear index of the memory.
  Indices indexOf(int64_t linear) const;

  bool isWritten(int64_t linear) const { return !written || written[linear]; }
  uint64_t bits(int64_t linear) const;
  void setBits(int64_t linear, uint64_t bits);
  int64_t numElements() const;
};

/// Calls \p visit with each index of a box, the last dimension fastest; once
/// with an empty index for a box without dimensions.
template <class Visit> void forEachIndex(llvm::ArrayRef<int64_t> shape, Visit visit) {
  for (int64_t size : shape)
    if (size <= 0)
      return;
  Indices index(shape.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(index));
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_MEMORY_H
