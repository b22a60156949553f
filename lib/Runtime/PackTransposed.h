//===- PackTransposed.h - A transposed operand, made contiguous -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code calls this for operands of a product whose columns, not rows,
// are contiguous. Transposing in registers takes hundreds of shuffles, on which
// LLVM would spend more time than on all the rest of a kernel; here they are
// compiled once.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_PACKTRANSPOSED_H
#define PENSTOCK_RUNTIME_PACKTRANSPOSED_H

#include <cstdint>

namespace penstock {

/// The element types that can be packed; all become f32.
enum class PackFrom : int32_t { F32, F16, BF16 };

/// to[i * toStride + j] = from[i + j * fromStride], for i < rows, j < columns;
/// strides are counted in elements.
void packTransposed(PackFrom type, const void *from, int64_t fromStride, float *to,
                    int64_t toStride, int64_t rows, int64_t columns);

} // namespace penstock

#endif // PENSTOCK_RUNTIME_PACKTRANSPOSED_H
