//===- KnownScalars.cpp - Scalars of a kernel for given sizes -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KnownScalars.h"
#include "Dialect/Tile/Signature.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace penstock {

KnownScalars::KnownScalars(func::FuncOp kernel) : launch(options), frame(launch) {
  names.resize(kernel.getNumArguments());
  if (auto text = kernel->getAttrOfType<StringAttr>(tile::TileDialect::signatureAttr))
    for (auto [i, argument] : llvm::enumerate(parseSignature(text.getValue()).arguments))
      if (i < names.size())
        names[i] = argument.tensor ? argument.sizes : std::vector{argument.name};
}

void KnownScalars::begin(const SizeAssignment &given) {
  assignment = given;
  known.clear();
}

std::string KnownScalars::sizeName(BlockArgument argument, int64_t dim) const {
  const auto &of = names[argument.getArgNumber()];
  if (dim < int64_t(of.size()))
    return of[size_t(dim)];
  return "size " + std::to_string(dim) + " of argument " + std::to_string(argument.getArgNumber());
}

void KnownScalars::set(Value value, std::optional<int64_t> integer) {
  if (!integer) {
    known.erase(value);
    return;
  }
  known.insert(value);
  frame.setInteger(value, *integer);
}

std::string KnownScalars::coordinateName(unsigned dim) { return "block " + std::to_string(dim); }

bool KnownScalars::isCoordinate(StringRef name) { return name.starts_with("block "); }

void KnownScalars::evaluate(Operation *op) {
  if (isa<tile::GridOp>(op)) {
    for (OpResult coordinate : op->getResults()) {
      auto found = assignment.sizes.find(coordinateName(coordinate.getResultNumber()));
      set(coordinate, found == assignment.sizes.end() ? 0 : found->second);
    }
    return;
  }
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (!result.getType().isIntOrIndex())
    return;
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto index = dim.getConstantIndex();
    auto type = cast<MemRefType>(dim.getSource().getType());
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    if (index && !type.isDynamicDim(unsigned(*index)))
      return set(result, type.getDimSize(unsigned(*index)));
    if (!index || !argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return set(result, std::nullopt);
    auto found = assignment.sizes.find(sizeName(argument, *index));
    return set(result, found == assignment.sizes.end() ? assignment.defaultSize : found->second);
  }
  auto [computable, isNew] = pure.try_emplace(op, false);
  if (isNew)
    computable->second = isa<arith::ArithDialect>(op->getDialect()) && isMemoryEffectFree(op);
  bool computes = computable->second &&
                  llvm::all_of(op->getOperands(), [&](Value v) { return known.contains(v); });
  // Divisions may be undefined.
  if (computes && isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                      arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op)) {
    int64_t divisor = frame.integer(op->getOperand(1));
    computes = divisor != 0 && divisor != -1;
  }
  if (!computes)
    return set(result, std::nullopt);
  frame.run(*op);
  known.insert(result);
}

std::optional<int64_t> KnownScalars::compute(Value value) {
  if (auto now = get(value))
    return now;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions())
    return std::nullopt;
  if (!isa<memref::DimOp, tile::GridOp>(op))
    for (Value operand : op->getOperands())
      if (operand.getType().isIntOrIndex())
        compute(operand);
  evaluate(op);
  return get(value);
}

} // namespace penstock
