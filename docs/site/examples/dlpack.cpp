//===- dlpack.cpp - Examples of the C++ reference -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/dlpack.h>
#include <penstock/penstock.h>
using namespace penstock;

// example: try_view
TensorView<float, 2> view_of(const DLTensor &tensor) {
  TensorView<float, 2> result;
  std::vector<Diagnostic> errors = try_view(tensor, result); // view<float, 2>(tensor) throws them
  return result;
}
