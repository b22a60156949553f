//===- LowerTcgen05.cpp - Blackwell's tensor core -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Matrices/MatrixDescriptors.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/Views.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Names the element types of a product as the instructions do.
static const char *kindOf(layout::MmaType type) {
  switch (type) {
  case layout::MmaType::F16:
  case layout::MmaType::BF16:
    return "f16";
  case layout::MmaType::TF32:
    return "tf32";
  case layout::MmaType::E4M3:
  case layout::MmaType::E5M2:
  case layout::MmaType::E2M3:
  case layout::MmaType::E3M2:
  case layout::MmaType::E2M1:
    return "f8f6f4";
  case layout::MmaType::S8:
  case layout::MmaType::U8:
  case layout::MmaType::E2M1x2: // has scales
    break;
  }
  return "i8";
}

/// The same of products with scales, and the number of values that share one.
static std::string scaledKindOf(const nv::Product &product) {
  if (product.a != layout::MmaType::E2M1x2)
    return "mxf8f6f4.block_scale.scale_vec::1X";
  return product.scaleBlock == 16 ? "mxf4nvf4.block_scale.scale_vec::4X"
                                  : "mxf4.block_scale.scale_vec::2X";
}

static LogicalResult lowerScaledMma(LoweringContext &c, nv::TensorMmaOp op,
                                    const ExecutionScope &by) {
  auto scaleType = cast<MemRefType>(op.getScaleA().getType());
  nv::Product product =
      nv::scaledProductOf(op.getA(), op.getB(), op.getAcc(),
                          {scaleType.getElementType(), op.getPackingA(), op.getPackingB()});
  auto a = layout::tcgen05Descriptor(product.aOperand);
  auto b = layout::tcgen05Descriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  int64_t parts = nv::tensorParts(cast<MemRefType>(op.getAcc().getType()));
  Value da = descriptorStart(c, op.getA(), *a), db = descriptorStart(c, op.getB(), *b);
  Value target = tensorAddress(c, op.getAcc());
  Value scalesA = c.tensorMemory.bases.lookup(op.getScaleA()),
        scalesB = c.tensorMemory.bases.lookup(op.getScaleB());
  int64_t step = layout::instructionK(product.a);
  int64_t valuesOfStep = product.a == layout::MmaType::E2M1x2 ? 2 * step : step;
  int64_t scalesOfStep = valuesOfStep / product.scaleBlock;
  // The 128 rows of a tile of scales take four columns; a word holds the scales of four blocks.
  constexpr int64_t columnsOfRows = 4, scalesOfWord = 4;
  int64_t rowsB = cast<MemRefType>(op.getScaleB().getType()).getDimSize(0);
  auto multiply = [&](int64_t part) {
    Value accumulate = c.asI32(op.getAccumulate());
    for (int64_t k = 0; k < product.k; k += step) {
      auto at = [&](Value start, const layout::MatrixOperand &operand, int64_t row) {
        return c.add(start, descriptorStep(layout::operandStepBytes(operand, row, k)));
      };
      int64_t first = k / step * scalesOfStep, group = first / scalesOfWord;
      layout::ScaleFields fields;
      fields.powers = isa<Float8E8M0FNUType>(scaleType.getElementType());
      fields.aByte = fields.bByte = int(first % scalesOfWord);
      uint32_t instruction = layout::tcgen05ScaledDescriptor(
          {product.a, product.b, product.d, int(product.m / parts), int(product.n),
           product.aOperand.major, product.bOperand.major},
          fields);
      issuePtx(c, by,
               "{ .reg .pred more; .reg .b64 a, b; setp.ne.b32 more, $6, 0; mov.b64 a, {$1, " +
                   highWord(*a) + "}; mov.b64 b, {$2, " + highWord(*b) + "}; @issuer tcgen05.mma" +
                   c.mode.ctaGroup() + ".kind::" + scaledKindOf(product) +
                   " [$0], a, b, $3, [$4], [$5], more; }",
               {c.add(target, part * columnsOfPart(op.getAcc())),
                at(da, product.aOperand, part * (product.m / parts)), at(db, product.bOperand, 0),
                c.i32(int32_t(instruction)),
                c.add(scalesA, columnsOfRows * (group * scaleType.getDimSize(0) + part)),
                c.add(scalesB, columnsOfRows * group * rowsB), accumulate});
      accumulate = c.i32(1);
    }
  };
  for (int64_t part = 0; part < parts; ++part)
    if (op.getPart().value_or(uint64_t(part)) == uint64_t(part))
      multiply(part);
  return success();
}

static LogicalResult lowerTensorMma(LoweringContext &c, nv::TensorMmaOp op,
                                    const ExecutionScope &by) {
  if (op.getScaleA())
    return lowerScaledMma(c, op, by);
  nv::Product product = nv::productOf(op.getA(), op.getB(), op.getAcc(), c.mode.pair);
  bool inTensorMemory = c.tensorMemory.bases.count(tile::rootOf(op.getA()));
  auto a =
      inTensorMemory ? std::optional<uint64_t>(0) : layout::tcgen05Descriptor(product.aOperand);
  auto b = layout::tcgen05Descriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  int64_t parts = c.mode.pair ? 1 : nv::tensorParts(cast<MemRefType>(op.getAcc().getType()));
  uint32_t instruction = layout::tcgen05InstructionDescriptor(
      {product.a, product.b, product.d, int(product.m / parts), int(product.n),
       product.aOperand.major, product.bOperand.major});
  Value da = inTensorMemory ? tensorAddress(c, op.getA()) : descriptorStart(c, op.getA(), *a);
  Value db = descriptorStart(c, op.getB(), *b);
  Value target = tensorAddress(c, op.getAcc());
  int64_t step = layout::instructionK(product.a);
  int64_t bits = cast<MemRefType>(op.getA().getType()).getElementTypeBitWidth();
  auto multiply = [&](int64_t part) {
    Value accumulate = c.asI32(op.getAccumulate());
    for (int64_t k = 0; k < product.k; k += step) {
      auto at = [&](Value start, const layout::MatrixOperand &operand, int64_t row) {
        return c.add(start, descriptorStep(layout::operandStepBytes(operand, row, k)));
      };
      Value left = inTensorMemory ? c.add(da, part * columnsOfPart(op.getA()) + k * bits / 32)
                                  : at(da, product.aOperand, part * (product.m / parts));
      // Descriptors are joined here from two words: each is then one instruction and a constant.
      std::string join = inTensorMemory ? "" : "mov.b64 a, {$1, " + highWord(*a) + "}; ";
      issuePtx(c, by,
               "{ .reg .pred more; .reg .b64 a, b; setp.ne.b32 more, $4, 0; " + join +
                   "mov.b64 b, {$2, " + highWord(*b) + "}; @issuer tcgen05.mma" +
                   c.mode.ctaGroup() + ".kind::" + std::string(kindOf(product.a)) + " [$0], " +
                   (inTensorMemory ? "[$1]" : "a") + ", b, $3, more; }",
               {c.add(target, part * columnsOfPart(op.getAcc())), left, at(db, product.bOperand, 0),
                c.i32(int32_t(instruction)), accumulate});
      accumulate = c.i32(1);
    }
  };
  for (int64_t part = 0; part < parts; ++part)
    if (op.getPart().value_or(uint64_t(part)) == uint64_t(part))
      multiply(part);
  return success();
}

static void lowerTensorCommit(LoweringContext &c, nv::TensorCommitOp op, const ExecutionScope &by) {
  Value barrier = barrierAddress(c, op.getBarriers(), op.getIndex());
  std::string commit =
      "@issuer tcgen05.commit" + c.mode.ctaGroup() + ".mbarrier::arrive::one.shared::cluster";
  if (op.getMulticast())
    issuePtx(c, by, commit + ".multicast::cluster.b64 [$0], $1;",
             {barrier, c.asI16(op.getMulticast())});
  else if (c.mode.pair) // on the same barrier of both blocks
    issuePtx(c, by, commit + ".multicast::cluster.b64 [$0], $1;", {barrier, c.asI16(c.i32(3))});
  else
    issuePtx(c, by, commit + ".b64 [$0];", {barrier});
}

/// Copies 128 rows and 4 blocks of k at a time: 512 bytes to four columns. Those of one block of k
/// lie side by side, so that an instruction finds all of its rows.
static void lowerScalesCopy(LoweringContext &c, nv::TensorCopyOp op, const ExecutionScope &by) {
  auto type = cast<MemRefType>(op.getSource().getType());
  constexpr int64_t bytes = 512, columns = 4;
  uint64_t fixed = layout::scalesDescriptor();
  Value from = descriptorStart(c, op.getSource(), fixed);
  Value to = c.tensorMemory.bases.lookup(op.getTarget());
  int64_t rows = type.getDimSize(0), blocks = type.getDimSize(1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block)
      issuePtx(c, by,
               "{ .reg .b64 from; mov.b64 from, {$1, " + highWord(fixed) + "}; @issuer tcgen05.cp" +
                   c.mode.ctaGroup() + ".32x128b.warpx4 [$0], from; }",
               {c.add(to, columns * (block * rows + row)),
                c.add(from, descriptorStep(bytes * (row * blocks + block)))});
}

static LogicalResult lowerTensorCopy(LoweringContext &c, nv::TensorCopyOp op,
                                     const ExecutionScope &by) {
  auto type = cast<MemRefType>(op.getSource().getType());
  if (nv::isScales(type)) {
    lowerScalesCopy(c, op, by);
    return success();
  }
  layout::MatrixOperand operand{*nv::sharedLayoutOf(type), layout::Major::K};
  auto fixed = layout::tcgen05Descriptor(operand);
  if (!fixed)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(op.getSource());
  Value from = matrixDescriptor(c, descriptorStart(c, op.getSource(), *fixed), *fixed);
  Value to = tensorAddress(c, op.getTarget());
  constexpr int64_t bitsAtOnce = 256;
  int64_t bits = type.getElementTypeBitWidth();
  for (int64_t col = 0; col < type.getDimSize(1); col += bitsAtOnce / bits) {
    int64_t bytes = layout::operandStepBytes(operand, 0, col);
    c.ptx("tcgen05.cp" + c.mode.ctaGroup() + ".128x256b [$0], $1;",
          {c.add(to, col * bits / 32), bytes ? c.add(from, c.i64(descriptorStep(bytes))) : from});
  }
  return success();
}

static bool isScalesCopy(Operation *op) {
  return nv::isScales(cast<MemRefType>(cast<nv::TensorCopyOp>(op).getTarget().getType()));
}

static void lowerTensorFence(LoweringContext &c, nv::TensorFenceOp op) {
  c.ptx(op.getAfter() ? "tcgen05.fence::after_thread_sync;" : "tcgen05.fence::before_thread_sync;");
}

void nvptx::addTcgen05(LoweringTable &table) {
  table.addElecting<lowerTensorMma>();
  table.addElecting<lowerTensorCommit>();
  table.add<lowerTensorCopy>().electsIssuer = isScalesCopy;
  table.add<lowerTensorFence>();
}
