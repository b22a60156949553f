//===- Layout.h - Hierarchical layouts and their algebra --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout maps an index to an offset: trees of extents and strides, as CuTe
// writes them, `((8,2),(16,4)):((1,64),(8,256))`. The first mode runs fastest.
// Everything else in this library that places elements can be had as such a layout
// (LayoutOf.h), to be compared, composed, inverted, printed and drawn.
//
// Operations that are not defined for their arguments return nothing; so do those
// whose arguments or result exceed Layout::limit.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_LAYOUT_H
#define PENSTOCK_LAYOUT_LAYOUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::layout {

/// A tree whose leaves are extent:stride. Extents are at least 1, strides at
/// least 0.
class Layout {
public:
  struct Mode {
    int64_t extent = 1;
    int64_t stride = 0;
    friend bool operator==(const Mode &, const Mode &) = default;
  };

  /// Of extents, strides, sizes and cosizes. Generous for addresses, and small
  /// enough that sums and products of a few stay far from overflow.
  static constexpr int64_t limit = int64_t(1) << 40;
  /// Of nested parentheses; more is refused when text is read.
  static constexpr int maxDepth = 32;

  /// 1:0.
  Layout() = default;
  Layout(int64_t extent, int64_t stride) : mode{extent, stride} {}
  explicit Layout(std::vector<Layout> modes) : modes(std::move(modes)) {}
  /// One mode each; a single one becomes a leaf, none 1:0.
  static Layout ofModes(const std::vector<Mode> &modes);

  bool isLeaf() const { return modes.empty(); }
  /// Top-level modes; a leaf has one, itself.
  size_t rank() const { return isLeaf() ? 1 : modes.size(); }
  const Layout &at(size_t i) const { return isLeaf() ? *this : modes[i]; }
  /// All leaves from left to right.
  std::vector<Mode> flat() const;

  /// Number of indices.
  int64_t size() const;
  /// The largest offset plus one.
  int64_t cosize() const;
  /// Are all extents, strides, the size and the cosize legal and within limit?
  bool isBounded() const;

  /// The offset of an index in [0, size).
  int64_t apply(int64_t index) const;
  /// One index for each top-level mode.
  int64_t apply(const std::vector<int64_t> &indices) const;

  /// The same tree; see equivalent() for the same function.
  friend bool operator==(const Layout &, const Layout &) = default;

private:
  /// Takes this tree's coordinates off \p index.
  int64_t consume(int64_t &index) const;

  Mode mode; ///< of a leaf
  std::vector<Layout> modes;
};

/// The same function with as few modes as possible, without hierarchy. It is
/// unique: equivalent layouts give equal ones.
Layout coalesce(const Layout &);

/// The same offsets for the same indices?
bool equivalent(const Layout &, const Layout &);

/// a o b: i -> a(b(i)), with b's tree (leaves may become tuples). Nothing if b
/// leaves a's indices, or if a's modes cut b's into pieces that are no layout.
std::optional<Layout> composition(const Layout &a, const Layout &b);

/// Returns the complement of a in [0, target): offsets that, added to a's, reach each element once,
/// up to whole copies of a. None if a's offsets overlap or interleave so that no layout does this.
std::optional<Layout> complement(const Layout &a, int64_t target);

/// a as (tile b, the tiles): a o (b, complement(b, size(a))).
std::optional<Layout> logicalDivide(const Layout &a, const Layout &b);

/// a repeated as b orders it: (a, complement(a, size(a) * cosize(b)) o b).
std::optional<Layout> logicalProduct(const Layout &a, const Layout &b);

/// r with a(r(x)) == x, for as many x from 0 on as consecutive strides of a allow.
Layout rightInverse(const Layout &a);

/// l with l(a(i)) == i for every index of a; nothing if complement() has nothing.
std::optional<Layout> leftInverse(const Layout &a);

/// Both, for a layout that is a permutation of [0, size); else nothing.
std::optional<Layout> inverse(const Layout &a);

/// The permutation of addresses Sw<bits,base,shift>: bits [base, base + bits) are
/// XORed with those `shift` higher.
struct AddressSwizzle {
  int bits = 0;
  int base = 4;
  int shift = 3;
  int64_t apply(int64_t address) const;
  friend bool operator==(const AddressSwizzle &, const AddressSwizzle &) = default;
};

/// Elements of some bits in shared memory: index -> swizzle(byte of layout(index)).
struct SwizzledLayout {
  AddressSwizzle swizzle;
  int elementBits = 8;
  Layout layout;
  int64_t byteOffset(const std::vector<int64_t> &indices) const;
  friend bool operator==(const SwizzledLayout &, const SwizzledLayout &) = default;
};

/// `(4,8):(8,1)`.
std::string print(const Layout &);
/// `Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)`.
std::string print(const SwizzledLayout &);

/// A layout, or what is wrong with its text, and where.
template <class T> struct Parsed {
  std::optional<T> value;
  std::string error;
  size_t position = 0; ///< byte of the text at which the error was seen
};

/// Reads what print writes; also spaces, `_8` for 8, and extents alone, whose
/// strides are then those of a dense layout, first mode fastest. Any text is safe.
Parsed<Layout> parseLayout(std::string_view text);
/// Also `Swizzle<3,4,3>`, `smem_ptr` alone for bytes and `smem_ptr[16b](unset)`.
Parsed<SwizzledLayout> parseSwizzledLayout(std::string_view text);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_LAYOUT_H
