//===- pack.h - Packed operands of products on CPUs -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PACK_H
#define PENSTOCK_PACK_H

#include "penstock/block.h"
#include "penstock/view.h"

#include <utility>

namespace penstock {

namespace detail {

/// Memory of a packed operand, aligned to cache lines, in large pages where the system has
/// them.
class PENSTOCK_EXPORT PackedMemory {
public:
  PackedMemory() = default;
  /// Packs \p group elements of a column next to each other.
  PackedMemory(const void *data, int64_t rows, int64_t columns, int64_t rowStride,
               int64_t columnStride, int64_t elementBytes, int64_t group);
  PackedMemory(PackedMemory &&other) noexcept : memory(std::exchange(other.memory, nullptr)) {}
  PackedMemory &operator=(PackedMemory other) noexcept {
    std::swap(memory, other.memory);
    return *this;
  }
  ~PackedMemory();
  const void *data() const { return memory; }

private:
  void *memory = nullptr;
};

} // namespace detail

/// Packed right operand of `Block::gemm` on CPUs, K x N, as a tensor of rank 4. Elements beyond
/// K and N are zero. With another type \p As, elements have the order of a packed operand of that
/// type, to which a kernel converts them.
template <class T, class As = T> class Packed {
public:
  static_assert(std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, i8>,
                "only matrices of f16, bf16 and i8 are packed");
  static_assert(std::is_same_v<As, T> || (std::is_same_v<T, i8> && sizeof(As) == 2),
                "only i8 is packed for a product of another type, which is f16 or bf16");
  /// Number of elements of a column that are adjacent.
  static constexpr int64_t group = 4 / int64_t(sizeof(As));

  /// Creates an empty object, or a packed matrix for pack().
  Packed() = default;
  Packed(const TensorView<const T, 2> &matrix, bool isTransposed)
      : k(matrix.sizes[isTransposed]), n(matrix.sizes[!isTransposed]),
        memory(matrix.data, k, n, matrix.strides[isTransposed], matrix.strides[!isTransposed],
               int64_t(sizeof(T)), group) {}

  /// Argument for a kernel's `In<T, 4>`: [N / 16, K / group, 16, group].
  TensorView<const T, 4> view() const {
    return penstock::view(static_cast<const T *>(memory.data()),
                          {(n + 15) / 16, (k + group - 1) / group, 16, group});
  }

private:
  int64_t k = 0, n = 0;
  detail::PackedMemory memory;
};

/// Allocates a tile for a packed k x n operand of `Block::gemm`; k is a multiple of the group and
/// n of 16.
template <class T, class As = T>
Tile<T, 4> packed_tile(Block &b, int64_t k, int64_t n, Loc at = here()) {
  constexpr int64_t group = Packed<T, As>::group;
  const int64_t shape[] = {n / 16, k / group, 16, group};
  return Tile<T, 4>(
      detail::allocate(detail::Space::Shared, detail::ElementOf<T>::value, shape, 0, b.within(at)));
}

struct PackOptions {
  /// True if the given matrix is N x K.
  bool transposed = false;
};

/// Packs a K x N matrix once, for many launches. Throws std::bad_alloc.
template <class T>
Packed<std::remove_const_t<T>> pack(const TensorView<T, 2> &matrix, PackOptions options = {}) {
  return {matrix, options.transposed};
}

/// Packs a K x N matrix of i8 in the order of a packed operand of \p As, so that a kernel can
/// convert a `packed_tile<i8, As>` to a `packed_tile<As>` without rearranging elements.
template <class As, class T>
Packed<std::remove_const_t<T>, As> pack_for(const TensorView<T, 2> &matrix,
                                            PackOptions options = {}) {
  return {matrix, options.transposed};
}

} // namespace penstock

#endif // PENSTOCK_PACK_H
