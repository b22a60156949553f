//===- LowerWgmma.cpp - Hopper's tensor core ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Matrices/MatrixDescriptors.h"
#include "Target/NVPTX/Operations/Operations.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

/// The accumulators of all products of a kernel.
struct Accumulators {
  SmallVector<RegisterTile *> tiles;
};

} // namespace

static void findAccumulators(LoweringContext &c) {
  SmallVector<RegisterTile *> &accumulators = c.state<Accumulators>().tiles;
  c.kernel.walk([&](nv::WgmmaOp op) {
    RegisterTile *tile = registersOf(c, op.getAcc());
    if (!llvm::is_contained(accumulators, tile))
      accumulators.push_back(tile);
  });
}

/// Left operands in registers are part of what a fence orders: those of the
/// products after it, up to the next fence.
static void lowerWgmmaFence(LoweringContext &c, nv::WgmmaFenceOp op) {
  SmallVector<RegisterTile *> tiles = c.state<Accumulators>().tiles;
  for (Operation *next = op->getNextNode(); next && !isa<nv::WgmmaFenceOp>(next);
       next = next->getNextNode())
    next->walk([&](nv::WgmmaOp product) {
      RegisterTile *tile = registersOf(c, product.getA());
      if (tile && !llvm::is_contained(tiles, tile))
        tiles.push_back(tile);
    });
  ptxWithRegisters(c, "wgmma.fence.sync.aligned;", tiles);
}

static LogicalResult lowerWgmma(LoweringContext &c, nv::WgmmaOp op, const ExecutionScope &by) {
  nv::Product product = nv::productOf(op.getA(), op.getB(), op.getAcc());
  RegisterTile *left = registersOf(c, op.getA());
  auto a = left ? std::optional<uint64_t>(0) : layout::wgmmaDescriptor(product.aOperand);
  auto b = layout::wgmmaDescriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  RegisterTile &tile = *registersOf(c, op.getAcc());
  int64_t groups = by.scope.warps / nv::warpgroupWarps;
  int64_t perGroup = product.m / groups; // rows of one warpgroup
  // Rows of A move the start of its descriptor by whole groups of rows.
  Value da;
  if (!left) {
    int64_t groupBytes = layout::operandStepBytes(product.aOperand, perGroup, 0) -
                         layout::operandStepBytes(product.aOperand, 0, 0);
    Value group = groups > 1 ? c.mul(by.group, descriptorStep(groupBytes)) : Value();
    da = descriptorStart(c, op.getA(), *a, group);
  }
  Value db = descriptorStart(c, op.getB(), *b);
  // Of a tile that loops do not move, the assembler computes descriptors where they are used,
  // which takes two instructions from words; of others it takes one to add to both.
  auto descriptor = [&](Value tile, Value start, uint64_t fixed, int64_t bytes) -> Value {
    int64_t units = descriptorStep(bytes);
    if (cast<MemRefType>(tile::rootOf(tile).getType()).getRank() == 2)
      return matrixDescriptor(c, c.add(start, units), fixed);
    Value first = matrixDescriptor(c, start, fixed);
    return units ? c.add(first, c.i64(units)) : first;
  };
  int64_t step = layout::instructionK(product.a), count = tile.registers() / (perGroup / 64);
  std::string shape = "m64n" + std::to_string(product.n) + "k" + std::to_string(step);
  std::string types = std::string(".") + layout::nameOf(product.d) + "." +
                      layout::nameOf(product.a) + "." + layout::nameOf(product.b);
  bool transposable = product.a == layout::MmaType::F16 || product.a == layout::MmaType::BF16;
  bool scales = product.a != layout::MmaType::S8 && product.a != layout::MmaType::U8;
  std::string tail = scales ? ", 1, 1" : "";
  auto order = [](const layout::MatrixOperand &operand) {
    return operand.major == layout::Major::MN ? ", 1" : ", 0";
  };
  if (transposable)
    tail += std::string(left ? "" : order(product.aOperand)) + order(product.bOperand);
  // One instruction takes four registers of a left operand that lies there.
  constexpr int64_t leftWords = 4;
  int64_t leftOfGroup = left ? words(*left) / (perGroup / 64) : 0;
  Value accumulate = c.asI32(op.getAccumulate());
  for (int64_t m = 0; m < perGroup; m += 64) {
    // All steps in one statement: LLVM would take each register apart between two of them.
    int64_t firstRegister = m / 64 * count;
    InlinePtx mma = c.inlinePtx();
    for (int64_t i = 0; i < count; ++i)
      mma.earlyInOut(readRegister(c, tile, firstRegister + i));
    int64_t next = 2 * count; // both as outputs and as inputs
    mma.input(accumulate);
    std::string text = "{ .reg .pred more, always; setp.ne.b32 more, $" + std::to_string(next++) +
                       ", 0; setp.eq.b32 always, 0, 0;";
    for (int64_t k = 0; k < product.k; k += step) {
      std::string leftNames;
      if (left) {
        leftNames = operandList(next, leftWords);
        next += leftWords;
        for (int64_t i = 0; i < leftWords; ++i)
          mma.input(readWord(c, *left, m / 64 * leftOfGroup + k / step * leftWords + i));
      } else {
        leftNames = "$" + std::to_string(next++);
        mma.input(descriptor(op.getA(), da, *a, layout::operandStepBytes(product.aOperand, m, k)));
      }
      mma.input(descriptor(op.getB(), db, *b, layout::operandStepBytes(product.bOperand, 0, k)));
      text += " wgmma.mma_async.sync.aligned." + shape + types + " " + operandList(0, count) +
              ", " + leftNames + ", $" + std::to_string(next++) + (k ? ", always" : ", more") +
              tail + ";";
    }
    SmallVector<Value> sums = mma.emit(text + " }", PtxEffects::Memory);
    for (int64_t i = 0; i < count; ++i)
      writeRegister(c, tile, firstRegister + i, sums[size_t(i)]);
  }
  return success();
}

static void lowerWgmmaWait(LoweringContext &c, nv::WgmmaWaitOp op) {
  ptxWithRegisters(c, ("wgmma.wait_group.sync.aligned " + Twine(op.getPending()) + ";").str(),
                   c.state<Accumulators>().tiles);
}

void nvptx::addWgmma(LoweringTable &table) {
  table.addPreparation(findAccumulators);
  table.add<lowerWgmmaFence>();
  table.add<lowerWgmma>();
  table.addPtx<nv::WgmmaCommitOp>("wgmma.commit_group.sync.aligned;");
  table.add<lowerWgmmaWait>();
}
