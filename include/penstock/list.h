//===- list.h - Non-owning array reference ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A replacement of std::span. Overload resolution of its constructors took a fifth of
// the time to compile these headers.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LIST_H
#define PENSTOCK_LIST_H

#include <cstddef>
#include <utility>

namespace penstock::detail {

template <class T> class List {
public:
  constexpr List() = default;
  constexpr List(T *begin, size_t size) : first(begin), count(size) {}
  template <size_t N> constexpr List(T (&array)[N]) : first(array), count(N) {}
  /// Converts from contiguous containers: vectors, arrays, other lists.
  template <class C, class = decltype(static_cast<T *>(std::declval<C &>().data()))>
  constexpr List(C &&list) : first(list.data()), count(list.size()) {}

  constexpr T *data() const { return first; }
  constexpr size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr T *begin() const { return first; }
  constexpr T *end() const { return first + count; }
  constexpr T &operator[](size_t i) const { return first[i]; }

private:
  T *first = nullptr;
  size_t count = 0;
};

} // namespace penstock::detail

#endif // PENSTOCK_LIST_H
