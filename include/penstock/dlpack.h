//===- dlpack.h - Tensors of other frameworks -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header, not part of penstock.h: it needs <dlpack/dlpack.h>.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DLPACK_H
#define PENSTOCK_DLPACK_H

#include "penstock/diagnostics.h"
#include "penstock/list.h"
#include "penstock/location.h"
#include "penstock/view.h"

#include <dlpack/dlpack.h>

namespace penstock {
namespace detail {

/// Description of a DLTensor, in DLPack's encoding.
struct ForeignTensor {
  int device, deviceNumber;
  int code, bits, lanes;
  List<const int64_t> shape;
};
PENSTOCK_EXPORT std::vector<Diagnostic> checkForeign(const ForeignTensor &, Element, int rank,
                                                     Loc at);

} // namespace detail

/// Sets \p result to a view of a DLPack tensor in the memory of the host or of a CUDA
/// device. The tensor must outlive the view. Returns errors if its type, rank or device
/// does not match; empty on success.
template <class T, int R>
std::vector<Diagnostic> try_view(const DLTensor &tensor, TensorView<T, R> &result,
                                 Loc at = here()) {
  auto diagnostics = detail::checkForeign({int(tensor.device.device_type),
                                           tensor.device.device_id,
                                           tensor.dtype.code,
                                           tensor.dtype.bits,
                                           tensor.dtype.lanes,
                                           {tensor.shape, size_t(tensor.ndim)}},
                                          detail::ElementOf<std::remove_const_t<T>>::value, R, at);
  if (!diagnostics.empty())
    return diagnostics;
  result.on_gpu = tensor.device.device_type == kDLCUDA;
  result.data = reinterpret_cast<T *>(static_cast<char *>(tensor.data) + tensor.byte_offset);
  uint64_t dense = 1; // wraps if the sizes are absurd; the launch rejects them
  for (int d = R; d-- > 0;) {
    result.sizes[d] = tensor.shape[d];
    // Tensors without strides are dense, the last dimension fastest.
    result.strides[d] = tensor.strides ? tensor.strides[d] : static_cast<int64_t>(dense);
    dense *= static_cast<uint64_t>(tensor.shape[d]);
  }
  return {};
}

/// Returns a view of a DLPack tensor or throws Error: `view<const float, 2>(tensor)`.
template <class T, int R> TensorView<T, R> view(const DLTensor &tensor, Loc at = here()) {
  TensorView<T, R> result;
  auto diagnostics = try_view(tensor, result, at);
  if (!diagnostics.empty())
    detail::raise(std::move(diagnostics));
  return result;
}

} // namespace penstock

#endif // PENSTOCK_DLPACK_H
