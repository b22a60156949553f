//===- PackTransposed.cpp - A transposed operand, made contiguous ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PackTransposed.h"
#include "penstock/elements.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace penstock {
namespace {

float read(PackFrom type, const void *from, int64_t index) {
  switch (type) {
  case PackFrom::F32:
    return static_cast<const float *>(from)[index];
  case PackFrom::F16:
    return static_cast<const f16 *>(from)[index];
  case PackFrom::BF16:
    break;
  }
  return static_cast<const bf16 *>(from)[index];
}

void packScalar(PackFrom type, const void *from, int64_t fromStride, float *to, int64_t toStride,
                int64_t rows, int64_t columns, int64_t firstRow, int64_t firstColumn) {
  for (int64_t i = firstRow; i < rows; ++i)
    for (int64_t j = firstColumn; j < columns; ++j)
      to[i * toStride + j] = read(type, from, i + j * fromStride);
}

#ifdef __x86_64__

__attribute__((target("avx512f"))) inline __m512 load16(PackFrom type, const void *from,
                                                        int64_t index) {
  switch (type) {
  case PackFrom::F32:
    return _mm512_loadu_ps(static_cast<const float *>(from) + index);
  case PackFrom::F16:
    return _mm512_cvtph_ps(_mm256_loadu_si256(
        reinterpret_cast<const __m256i *>(static_cast<const uint16_t *>(from) + index)));
  case PackFrom::BF16:
    break;
  }
  __m256i half = _mm256_loadu_si256(
      reinterpret_cast<const __m256i *>(static_cast<const uint16_t *>(from) + index));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/// Transposes 16 x 16 in four rounds: pairs of rows, then pairs of pairs, then
/// the 128-bit quarters.
__attribute__((target("avx512f"))) void block16(PackFrom type, const void *from, int64_t fromStride,
                                                int64_t at, float *to, int64_t toStride) {
  __m512 r[16], t[16];
  for (int i = 0; i < 16; ++i)
    r[i] = load16(type, from, at + i * fromStride);
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  auto lo = [](__m512 a, __m512 b) __attribute__((target("avx512f"))) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  auto hi = [](__m512 a, __m512 b) __attribute__((target("avx512f"))) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  for (int i = 0; i < 16; i += 4) {
    r[i] = lo(t[i], t[i + 2]);
    r[i + 1] = hi(t[i], t[i + 2]);
    r[i + 2] = lo(t[i + 1], t[i + 3]);
    r[i + 3] = hi(t[i + 1], t[i + 3]);
  }
  // Row i of group g now holds, in quarter q, column 4q + i of rows 4g .. 4g+3.
  for (int i = 0; i < 4; ++i) {
    __m512 a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    __m512 b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    __m512 c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    __m512 d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    _mm512_storeu_ps(to + (i + 0) * toStride, _mm512_shuffle_f32x4(a, c, 0x88));
    _mm512_storeu_ps(to + (i + 4) * toStride, _mm512_shuffle_f32x4(b, d, 0x88));
    _mm512_storeu_ps(to + (i + 8) * toStride, _mm512_shuffle_f32x4(a, c, 0xdd));
    _mm512_storeu_ps(to + (i + 12) * toStride, _mm512_shuffle_f32x4(b, d, 0xdd));
  }
}

#endif // __x86_64__

} // namespace

void packTransposed(PackFrom type, const void *from, int64_t fromStride, float *to,
                    int64_t toStride, int64_t rows, int64_t columns) {
  int64_t doneRows = 0, doneColumns = 0;
#ifdef __x86_64__
  static const bool wide = __builtin_cpu_supports("avx512f");
  if (wide) {
    doneRows = rows / 16 * 16;
    doneColumns = columns / 16 * 16;
    for (int64_t j = 0; j < doneColumns; j += 16)
      for (int64_t i = 0; i < doneRows; i += 16)
        block16(type, from, fromStride, i + j * fromStride, to + i * toStride + j, toStride);
  }
#endif
  packScalar(type, from, fromStride, to, toStride, doneRows, columns, 0, doneColumns);
  packScalar(type, from, fromStride, to, toStride, rows, columns, doneRows, 0);
}

} // namespace penstock
