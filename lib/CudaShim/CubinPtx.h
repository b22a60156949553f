//===- CubinPtx.h - The PTX that a cubin was made from ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDASHIM_CUBINPTX_H
#define PENSTOCK_CUDASHIM_CUBINPTX_H

#include <optional>
#include <string>

namespace penstock::shim {

/// PTX for a cubin in memory. \p folders, separated by colons, have pairs NAME.cubin and
/// NAME.ptx, as compilers keep them (`nvcc -keep`, CuTe DSL) or penstock-nvcc writes them; the
/// pair whose cubin has the same bytes is taken.
std::optional<std::string> ptxOfCubin(const void *image, const std::string &folders);

} // namespace penstock::shim

#endif // PENSTOCK_CUDASHIM_CUBINPTX_H
