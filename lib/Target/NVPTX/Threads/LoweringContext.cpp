//===- LoweringContext.cpp - State that all lowerings share ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/KernelAbi.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static bool usesTensorMemory(func::FuncOp kernel) {
  return kernel.walk([](nv::TensorAllocOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

KernelMode::KernelMode(func::FuncOp kernel)
    : tileProgram(kernel->hasAttr(nv::NVDialect::tileProgramAttr)),
      alignedRows(kernel->hasAttr(nv::NVDialect::alignedRowsAttr)),
      pair(kernel->hasAttr(nv::NVDialect::pairAttr)), usesTensorMemory(::usesTensorMemory(kernel)),
      cluster(nv::clusterSize(kernel)), ownArguments(kernel.getNumArguments() - abi::NumExtra) {}

LoweringContext::LoweringContext(func::FuncOp kernel, const hw::Architecture &architecture,
                                 const LoweringTable &table, DeviceKernel &result)
    : ThreadBuilder(kernel), architecture(architecture), table(table), result(result),
      mode(kernel) {}

LogicalResult LoweringContext::refuse(Operation *op, const Twine &why, const Twine &fix) {
  auto diagnostic = tile::emitCoded(op, HardwareTarget)
                    << "`" << op->getName().stripDialect() << "` " << why.str() << " on "
                    << architecture.name;
  if (std::string text = fix.str(); !text.empty())
    tile::attachHelp(diagnostic) << text;
  return diagnostic;
}

LogicalResult LoweringContext::checkReach(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && !tile::isGlobal(operand) && !registersOf(*this, operand) &&
        !shared.tiles.count(tile::rootOf(operand)) && !registers.variables.count(operand))
      return refuse(op, "works on " + Twine(tile::describe(operand)) +
                            ", which is neither a whole tile in registers nor in shared memory");
  return success();
}
