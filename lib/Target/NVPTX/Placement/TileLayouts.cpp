//===- TileLayouts.cpp - Distributions of work ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Placement/TileLayouts.h"

using namespace mlir;
using namespace penstock;
using layout::Distribution;

int64_t nvptx::vectorOf(MemRefType type) {
  if (type.getRank() == 0)
    return 1;
  int64_t cols = type.getShape().back();
  int64_t count = 128 / std::max<int64_t>(8, type.getElementTypeBitWidth());
  while (cols % count)
    count /= 2;
  return count;
}

int64_t nvptx::threadsOf(const nv::ThreadScope &scope) {
  return scope.oneThread ? 1 : scope.warps * nv::warpSize;
}

Distribution nvptx::naturalLayout(ArrayRef<int64_t> shape, int64_t threads, int64_t vector) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  // A small tile keeps all threads busy.
  while (vector > 1 && elements < threads * vector)
    vector /= 2;
  return layout::blocked({shape.begin(), shape.end()}, threads, vector);
}

Distribution nvptx::sliceAlong(Distribution full, ArrayRef<int64_t> dims) {
  for (int64_t dim = int64_t(full.rank()) - 1; dim >= 0; --dim)
    if (!llvm::is_contained(dims, dim))
      full = full.slice(unsigned(dim));
  return full;
}

std::optional<Distribution::Part> nvptx::partOf(memref::SubViewOp slice, const Distribution &full) {
  std::optional<Distribution::Part> result;
  for (unsigned dim = 0; dim < full.rank(); ++dim) {
    if (slice.isDynamicOffset(dim) || slice.isDynamicSize(dim) || slice.getStaticStride(dim) != 1 ||
        slice.getDroppedDims().test(dim))
      return std::nullopt;
    auto part = (result ? result->layout : full)
                    .part(dim, slice.getStaticOffset(dim), slice.getStaticSize(dim));
    if (!part)
      return std::nullopt;
    for (int64_t &of : part->registers)
      of = result ? result->registers[size_t(of)] : of;
    result = std::move(part);
  }
  return result;
}

Distribution nvptx::workLayout(Operation *op, int64_t threads,
                               llvm::function_ref<const Distribution *(Value)> layoutOf) {
  SmallVector<Value> candidates; // the first that lies in registers decides
  if (auto map = dyn_cast<tile::MapOp>(op)) {
    candidates.push_back(map.getTarget());
    int64_t rank = cast<MemRefType>(map.getTarget().getType()).getRank();
    for (auto [i, input] : llvm::enumerate(map.getInputs()))
      if (int64_t(map.getInputDims(unsigned(i)).size()) == rank)
        candidates.push_back(input);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    candidates.push_back(reduce.getSource());
  } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
    candidates = {copy.getTarget(), copy.getSource()};
    if (copy.writesTensor())
      std::swap(candidates[0], candidates[1]);
  } else if (auto fill = dyn_cast<tile::FillOp>(op)) {
    candidates.push_back(fill.getTarget());
  }
  for (Value tile : candidates)
    if (auto layout = layoutOf(tile))
      return *layout;
  auto type = cast<MemRefType>(candidates.front().getType());
  return naturalLayout(type.getShape(), threads, vectorOf(type));
}
