//===- Tensors.cpp - Addresses of elements of tensors ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/Tensors.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

Value nvptx::tensorSize(LoweringContext &c, Value tensor, unsigned dim) {
  return parameter(c, ParameterField::Size, cast<BlockArgument>(tensor).getArgNumber() - 1, dim);
}

Value nvptx::sizeOf(LoweringContext &c, memref::DimOp op) {
  return c.asIndex(tensorSize(c, op.getSource(), unsigned(*op.getConstantIndex())));
}

Value nvptx::insideTensor(LoweringContext &c, Value tensor, ArrayRef<Value> indices) {
  Value inside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value fits = c.cmp(arith::CmpIPredicate::ult, index, c.asI32(tensorSize(c, tensor, dim)));
    inside = inside ? arith::AndIOp::create(c.builder, c.loc, inside, fits).getResult() : fits;
  }
  return inside;
}

Value nvptx::globalElement(LoweringContext &c, Value tensor, ArrayRef<Value> indices,
                           int64_t inRow) {
  unsigned argument = cast<BlockArgument>(tensor).getArgNumber() - 1;
  Value address = parameter(c, ParameterField::Address, argument);
  Value element = c.i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value wide = arith::ExtSIOp::create(c.builder, c.loc, c.builder.getI64Type(), index);
    if (dim + 1 < indices.size())
      wide = c.mul(wide, parameter(c, ParameterField::Stride, argument, dim));
    element = c.add(element, wide);
  }
  auto type = LLVM::LLVMPointerType::get(c.kernel.getContext(), 1);
  Value start = LLVM::IntToPtrOp::create(c.builder, c.loc, type, address);
  Type stored = storedAs(cast<MemRefType>(tensor.getType()).getElementType());
  Value first =
      LLVM::GEPOp::create(c.builder, c.loc, type, stored, start, ArrayRef<LLVM::GEPArg>{element});
  if (inRow == 0)
    return first;
  return LLVM::GEPOp::create(c.builder, c.loc, type, stored, first,
                             ArrayRef<LLVM::GEPArg>{int32_t(inRow)});
}

SmallVector<Value> nvptx::inRows(LoweringContext &c, Value row, ArrayRef<int64_t> rows) {
  SmallVector<Value> result;
  for (int64_t extent : llvm::reverse(rows.drop_front())) {
    result.push_back(arith::RemUIOp::create(c.builder, c.loc, row, c.i32(extent)));
    row = arith::DivUIOp::create(c.builder, c.loc, row, c.i32(extent));
  }
  result.push_back(row);
  std::reverse(result.begin(), result.end());
  return result;
}

std::pair<Value, Value> nvptx::tensorElement(LoweringContext &c, Value tensor, ValueRange start,
                                             ArrayRef<int64_t> dims, Extents rows,
                                             ArrayRef<Value> at, ArrayRef<int64_t> offset) {
  SmallVector<Value> first = c.coordinates(start);
  SmallVector<Value> inBox;
  SmallVector<int64_t> offsetInBox;
  if (rows) {
    inBox = inRows(c, c.add(at[0], offset[0]), *rows);
    offsetInBox.assign(inBox.size(), 0);
    inBox.push_back(at[1]);
    offsetInBox.push_back(offset[1]);
    at = inBox;
    offset = offsetInBox;
  }
  // Elements of a row differ by a number that needs no arithmetic.
  int64_t inRow = 0;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    size_t along = size_t(dims[dim]);
    bool last = along + 1 == first.size();
    if (last)
      inRow = offset[dim];
    first[along] = c.add(first[along], last ? at[dim] : c.add(at[dim], offset[dim]));
  }
  SmallVector<Value> indices = first;
  indices.back() = c.add(indices.back(), inRow);
  return {insideTensor(c, tensor, indices), globalElement(c, tensor, first, inRow)};
}

void nvptx::needRows(LoweringContext &c, Value tensor, unsigned bytes, unsigned multiple) {
  RowAlignment rule{cast<BlockArgument>(tensor).getArgNumber() - 1, bytes,
                    multiple == 1 ? 0 : multiple};
  if (!llvm::is_contained(c.result.rowAligned, rule))
    c.result.rowAligned.push_back(rule);
}
