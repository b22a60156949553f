//===- PackPanels.cpp - Operands of products, packed in groups ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PackPanels.h"
#include "Runtime/PackTransposed.h"

#include <algorithm>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace penstock {
namespace {

const char *at(const ElementMatrix &matrix, int64_t row, int64_t column) {
  return static_cast<const char *>(matrix.data) +
         (row * matrix.rowStride + column * matrix.columnStride) * matrix.elementBytes;
}

/// Groups [firstGroup, groups) of columns [firstColumn, 16) of one panel, element by element.
void packScalar(const ElementMatrix &from, int64_t column, char *panel, int64_t groups,
                int64_t firstGroup, int64_t firstColumn) {
  int64_t inGroup = groupBytes / from.elementBytes;
  for (int64_t group = firstGroup; group < groups; ++group)
    for (int64_t j = firstColumn; j < panelColumns; ++j) {
      char *to = panel + group * panelRowBytes + j * groupBytes;
      for (int64_t e = 0; e < inGroup; ++e, to += from.elementBytes) {
        int64_t row = group * inGroup + e;
        if (row < from.rows && column + j < from.columns)
          std::memcpy(to, at(from, row, column + j), static_cast<size_t>(from.elementBytes));
        else
          std::memset(to, 0, static_cast<size_t>(from.elementBytes));
      }
    }
}

#ifdef __x86_64__

__attribute__((target("avx512f,avx512bw"))) void pairRows(const ElementMatrix &from, int64_t column,
                                                          char *panel, int64_t groups) {
  for (int64_t group = 0; group < groups; ++group) {
    auto row = [&](int64_t k) __attribute__((target("avx512f,avx512bw"))) {
      return _mm512_cvtepu16_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(at(from, k, column))));
    };
    __m512i pair = _mm512_or_si512(row(2 * group), _mm512_slli_epi32(row(2 * group + 1), 16));
    _mm512_storeu_si512(panel + group * panelRowBytes, pair);
  }
}

/// The same for two panels, with half as many shuffles.
__attribute__((target("avx512f,avx512bw"))) void
pairRowsTwice(const ElementMatrix &from, int64_t column, char *panel, char *next, int64_t groups) {
  // Pairs of words are interleaved within quarters of a vector; these are the quarters of both
  // halves in the order of columns.
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
                second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  for (int64_t group = 0; group < groups; ++group) {
    __m512i even = _mm512_loadu_si512(at(from, 2 * group, column)),
            odd = _mm512_loadu_si512(at(from, 2 * group + 1, column));
    __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
    _mm512_storeu_si512(panel + group * panelRowBytes, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(next + group * panelRowBytes, _mm512_permutex2var_epi64(low, second, high));
  }
}

__attribute__((target("avx2"))) void quadRows(const ElementMatrix &from, int64_t column,
                                              char *panel, int64_t groups) {
  for (int64_t group = 0; group < groups; ++group) {
    __m128i r[4];
    for (int64_t e = 0; e < 4; ++e)
      r[e] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at(from, 4 * group + e, column)));
    __m128i low01 = _mm_unpacklo_epi8(r[0], r[1]), high01 = _mm_unpackhi_epi8(r[0], r[1]);
    __m128i low23 = _mm_unpacklo_epi8(r[2], r[3]), high23 = _mm_unpackhi_epi8(r[2], r[3]);
    auto *to = reinterpret_cast<__m128i *>(panel + group * panelRowBytes);
    _mm_storeu_si128(to + 0, _mm_unpacklo_epi16(low01, low23));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low01, low23));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high01, high23));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high01, high23));
  }
}

/// Packs the groups that exist in full, by rows of the matrix. Returns their number, or 0 if
/// this processor cannot.
int64_t packByRows(const ElementMatrix &from, int64_t column, char *panel, int64_t whole) {
  static const bool wide = __builtin_cpu_supports("avx512bw"),
                    narrow = __builtin_cpu_supports("avx2");
  if (from.elementBytes == 2 && wide)
    pairRows(from, column, panel, whole);
  else if (from.elementBytes == 1 && narrow)
    quadRows(from, column, panel, whole);
  else
    return 0;
  return whole;
}

/// Packs the groups of two panels that exist in full. False if this processor cannot.
bool packTwoByRows(const ElementMatrix &from, int64_t column, char *panel, char *next,
                   int64_t whole) {
  static const bool wide = __builtin_cpu_supports("avx512bw");
  if (from.elementBytes != 2 || !wide)
    return false;
  pairRowsTwice(from, column, panel, next, whole);
  return true;
}

#else

int64_t packByRows(const ElementMatrix &, int64_t, char *, int64_t) { return 0; }
bool packTwoByRows(const ElementMatrix &, int64_t, char *, char *, int64_t) { return false; }

#endif

} // namespace

void packPanels(const ElementMatrix &from, void *to, int64_t groups) {
  int64_t inGroup = groupBytes / from.elementBytes;
  int64_t whole = from.rows / inGroup;
  bool isPacked = false; // the panel, together with the one before
  for (int64_t column = 0; column < from.columns; column += panelColumns) {
    char *panel = static_cast<char *>(to) + column / panelColumns * groups * panelRowBytes;
    int64_t columns = std::min(panelColumns, from.columns - column), done = 0;
    bool aligned = reinterpret_cast<uintptr_t>(at(from, 0, column)) % groupBytes == 0;
    if (from.rowStride == 1 && from.columnStride % inGroup == 0 && aligned) {
      // A group is contiguous: the panel is a transposed matrix of groups. The bits of a
      // group are not a number; moving them as one keeps them.
      packTransposed(PackFrom::F32, at(from, 0, column), from.columnStride / inGroup,
                     reinterpret_cast<float *>(panel), panelColumns, whole, columns);
      packScalar(from, column, panel, whole, 0, columns);
      done = whole;
    } else if (isPacked) {
      done = whole;
      isPacked = false;
    } else if (from.columnStride == 1 && columns == panelColumns) {
      isPacked = column + 2 * panelColumns <= from.columns &&
                 packTwoByRows(from, column, panel, panel + groups * panelRowBytes, whole);
      done = isPacked ? whole : packByRows(from, column, panel, whole);
    }
    // Groups of which nothing exists.
    int64_t some = std::min(groups, (from.rows + inGroup - 1) / inGroup);
    packScalar(from, column, panel, some, done, 0);
    std::memset(panel + some * panelRowBytes, 0,
                static_cast<size_t>((groups - some) * panelRowBytes));
  }
}

void packRows(const ElementMatrix &from, void *to, int64_t rowBytes, uint8_t flip) {
  int64_t bytes = from.columns * from.elementBytes;
  for (int64_t i = 0; i < from.rows; ++i) {
    char *row = static_cast<char *>(to) + i * rowBytes;
    if (from.columnStride == 1)
      std::memcpy(row, at(from, i, 0), static_cast<size_t>(bytes));
    else
      for (int64_t k = 0; k < from.columns; ++k)
        std::memcpy(row + k * from.elementBytes, at(from, i, k),
                    static_cast<size_t>(from.elementBytes));
    std::memset(row + bytes, 0, static_cast<size_t>(rowBytes - bytes));
    if (flip)
      for (int64_t k = 0; k < rowBytes; ++k)
        row[k] = static_cast<char>(static_cast<uint8_t>(row[k]) ^ flip);
  }
}

void packTiles(const ElementMatrix &from, void *to, int64_t steps) {
  constexpr int64_t tileRows = 16, rowBytes = 64, ahead = 8;
  int64_t inRow = rowBytes / from.elementBytes;
  int64_t whole = from.columnStride == 1 ? from.columns / inRow : 0;
  for (int64_t i = 0; i < from.rows; ++i) {
    char *row = static_cast<char *>(to) + i / tileRows * steps * tileRows * rowBytes +
                i % tileRows * rowBytes;
    for (int64_t step = 0; step < steps; ++step, row += tileRows * rowBytes) {
      if (step < whole) {
        std::memcpy(row, at(from, i, step * inRow), rowBytes);
        // Rows are too far apart for the processor to know which ones follow.
        if (i + ahead < from.rows)
          __builtin_prefetch(at(from, i + ahead, step * inRow));
        continue;
      }
      if (from.columnStride == 1) {
        int64_t left = std::max<int64_t>(0, from.columns - step * inRow) * from.elementBytes;
        std::memset(row, 0, rowBytes);
        if (left)
          std::memcpy(row, at(from, i, step * inRow), static_cast<size_t>(left));
        continue;
      }
      for (int64_t e = 0; e < inRow; ++e)
        if (int64_t k = step * inRow + e; k < from.columns)
          std::memcpy(row + e * from.elementBytes, at(from, i, k),
                      static_cast<size_t>(from.elementBytes));
        else
          std::memset(row + e * from.elementBytes, 0, static_cast<size_t>(from.elementBytes));
    }
  }
}

void offsetSums(const void *packed, int64_t panels, int64_t panelBytes, int64_t groups,
                int32_t *sums) {
  for (int64_t panel = 0; panel < panels; ++panel, sums += panelColumns) {
    const int8_t *from = static_cast<const int8_t *>(packed) + panel * panelBytes;
    std::fill_n(sums, panelColumns, 0);
    for (int64_t group = 0; group < groups; ++group, from += panelRowBytes)
      for (int64_t j = 0; j < panelColumns; ++j)
        for (int64_t e = 0; e < groupBytes; ++e)
          // Wraps, as the sums of the product do.
          sums[j] = int32_t(uint32_t(sums[j]) - 128u * uint32_t(from[j * groupBytes + e]));
  }
}

} // namespace penstock
