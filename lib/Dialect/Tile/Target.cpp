//===- Target.cpp - Architecture that a kernel is compiled for ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Target.h"
#include "Dialect/Tile/TileDialect.h"

using namespace mlir;
using namespace penstock;

const hw::Architecture *tile::targetOf(func::FuncOp kernel) {
  auto name = kernel->getAttrOfType<StringAttr>(TileDialect::targetAttr);
  return name ? hw::findArchitecture(name.str()) : nullptr;
}

void tile::setTarget(func::FuncOp kernel, StringRef architecture) {
  kernel->setAttr(TileDialect::targetAttr, StringAttr::get(kernel.getContext(), architecture));
}
