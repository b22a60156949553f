//===- InterpretMemRef.cpp - Sizes and views of tiles ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Models.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace penstock::interpreter {

static void execute(memref::DimOp dim, Frame &frame) {
  const View &view = frame.view(dim.getSource());
  frame.setInteger(dim.getResult(), view.sizes[*dim.getConstantIndex()]);
}

/// A slice that would leave its tile is moved inside.
static void execute(memref::SubViewOp slice, Frame &frame) {
  View view = frame.view(slice.getSource());
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  Indices sizes, strides;
  auto valueOf = [&](OpFoldResult folded) {
    if (auto value = dyn_cast<Value>(folded))
      return frame.integer(value);
    return cast<IntegerAttr>(cast<Attribute>(folded)).getInt();
  };
  for (auto [dim, mixedOffset, mixedSize] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes())) {
    int64_t offset = valueOf(mixedOffset), size = valueOf(mixedSize);
    int64_t last = view.sizes[dim] - size;
    if (offset < 0 || offset > last) {
      frame.launch.fault(slice, FaultBounds,
                         "a slice of " + nameInMessage(slice.getSource()) + " starts at " +
                             std::to_string(offset) + " in dimension " + std::to_string(dim) +
                             "; it has size " + std::to_string(size) +
                             " and the dimension has size " + std::to_string(view.sizes[dim]));
      offset = std::clamp<int64_t>(offset, 0, last);
    }
    view.offset += offset * view.strides[dim];
    if (dropped[dim])
      continue;
    sizes.push_back(size);
    strides.push_back(view.strides[dim]);
  }
  view.sizes = sizes;
  view.strides = strides;
  frame.setView(slice.getResult(), std::move(view));
}

static void execute(memref::TransposeOp transpose, Frame &frame) {
  View view = frame.view(transpose.getIn());
  View result = view;
  for (auto [to, expr] : llvm::enumerate(transpose.getPermutation().getResults())) {
    unsigned from = cast<AffineDimExpr>(expr).getPosition();
    result.sizes[to] = view.sizes[from];
    result.strides[to] = view.strides[from];
  }
  frame.setView(transpose.getResult(), std::move(result));
}

/// The merged dimensions lie one after another, so that the last of them has the step.
static void execute(memref::CollapseShapeOp collapse, Frame &frame) {
  View view = frame.view(collapse.getSrc());
  View result = view;
  result.sizes.clear();
  result.strides.clear();
  for (const ReassociationIndices &dims : collapse.getReassociationIndices()) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= view.sizes[dim];
    result.sizes.push_back(size);
    result.strides.push_back(view.strides[dims.back()]);
  }
  frame.setView(collapse.getResult(), std::move(result));
}

void addMemRefModels(DialectRegistry &registry) {
  addModels<memref::MemRefDialect, memref::DimOp, memref::SubViewOp, memref::TransposeOp,
            memref::CollapseShapeOp>(registry);
}

} // namespace penstock::interpreter
