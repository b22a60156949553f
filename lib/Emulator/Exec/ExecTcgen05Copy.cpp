//===- ExecTcgen05Copy.cpp - tcgen05.cp -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies rows of 16 or 32 bytes from shared memory to lanes of tensor memory,
// in the pipe of the thread's other tcgen05 operations. The source is read as
// K-major core matrices.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Tensor/MatrixOperand.h"
#include "Emulator/Tensor/TensorMemory.h"

namespace penstock::emu {
namespace {

enum class Shape : uint8_t { R128x256, R4x256, R128x128, R64x0213, R64x0123, R32x4 };

struct Copy {
  Shape shape = Shape::R128x256;
  unsigned rows = 0, pieces = 0; ///< pieces of 16 bytes per row
  unsigned packedBits = 0;       ///< 4 or 6: elements are spread out to bytes
  std::vector<uint32_t> offsets;
  unsigned column = 0, lane0 = 0;
  std::vector<Cta *> ctas;
};

/// One piece of 16 bytes as it goes to tensor memory. Packed elements fill the
/// low bytes of their piece; each becomes a byte, fp4 in its bits 5 to 2.
void readPiece(const uint8_t *from, unsigned packedBits, uint8_t *to) {
  if (!packedBits) {
    memcpy(to, from, 16);
    return;
  }
  for (unsigned i = 0; i < 16; ++i) {
    unsigned bit = packedBits * i;
    uint32_t pair = from[bit / 8] | uint32_t(from[bit / 8 + 1]) << 8;
    uint32_t value = pair >> (bit % 8) & ((1u << packedBits) - 1);
    to[i] = uint8_t(packedBits == 4 ? value << 2 : value);
  }
}

/// The lanes that row \p i goes to.
std::vector<unsigned> lanesOf(const Copy &copy, unsigned i) {
  switch (copy.shape) {
  case Shape::R128x256:
  case Shape::R128x128:
    return {i};
  case Shape::R4x256:
    return {copy.lane0 + 32 * i};
  case Shape::R64x0213:
    return {i, i + 64};
  case Shape::R64x0123:
    return i < 32 ? std::vector<unsigned>{i, i + 32} : std::vector<unsigned>{i + 32, i + 64};
  case Shape::R32x4:
    return {i, i + 32, i + 64, i + 96};
  }
  return {};
}

/// ops: tensor address, descriptor. mode: Shape; flags 2: cta_group::2, where
/// each block copies its own shared memory.
void copyAsync(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto copy = std::make_shared<Copy>();
    copy->shape = Shape(inst.mode);
    copy->packedBits = unsigned(inst.imm[0]);
    copy->rows = copy->shape == Shape::R4x256     ? 4
                 : copy->shape == Shape::R32x4    ? 32
                 : copy->shape >= Shape::R64x0213 ? 64
                                                  : 128;
    copy->pieces = copy->shape == Shape::R128x256 || copy->shape == Shape::R4x256 ? 2 : 1;
    MatrixDescriptor descriptor;
    std::string problem = decodeTcgen05Descriptor(ex.value(inst.ops[1], lane), descriptor);
    MatrixShape shape;
    shape.rows = copy->rows;
    shape.k = copy->pieces * 16;
    shape.element = Element::U8;
    unsigned perLine = 0;
    if (problem.empty())
      problem = operandPieces(descriptor, shape, copy->offsets, perLine);
    if (!problem.empty()) {
      ex.fatal(EmuIllegalDescriptor, problem);
      return;
    }
    for (uint32_t offset : copy->offsets)
      if (offset < sharedReserved || offset + 16 > ex.cta.shared.size()) {
        ex.fatal(EmuOutOfBounds, "the descriptor reaches outside of the block's "
                                 "shared memory");
        return;
      }
    uint32_t address = uint32_t(ex.address(inst.ops[0], lane));
    copy->column = address & 0xffff;
    copy->lane0 = address >> 16;
    if (copy->lane0 && (copy->shape != Shape::R4x256 || copy->lane0 > 31)) {
      ex.fatal(EmuTensorMemoryMisuse, "the copy starts at lane " + std::to_string(copy->lane0));
      return;
    }
    copy->ctas.push_back(&ex.cta);
    if (inst.flags & 2) {
      uint32_t peer = ex.cta.rank ^ 1;
      if (peer >= ex.cluster.ctas.size()) {
        ex.fatal(EmuIllegalOperand, "cta_group::2 needs a cluster with pairs of blocks");
        return;
      }
      copy->ctas.push_back(ex.cluster.ctas[peer].get());
    }
    unsigned columns = copy->pieces * 4;
    for (Cta *cta : copy->ctas)
      if (!columnsAllocated(ex, *cta, copy->column, columns))
        return;
    Cta::Pipe &pipe = tensorPipe(ex, lane);
    ++pipe.issued;
    if (ex.grid.checks()) {
      uint32_t op = newOp(ex, lane, "tcgen05.cp");
      AsyncOp &record = opAt(ex, op);
      record.pipe = record.agent[0] = pipe.agent;
      record.pipeCount = record.count[0] = pipe.issued;
      for (Cta *cta : copy->ctas) {
        cta->openOps.push_back(op);
        checkEngine(ex, lane, op, *cta, cellSetsOf(copy->offsets), false);
        uint32_t groups = 0; // of 16 lanes
        for (unsigned i = 0; i < copy->rows; ++i)
          for (unsigned to : lanesOf(*copy, i))
            groups |= 1u << (to / 16);
        checkTensor(ex, lane, op, *cta, groups, copy->column, columns, true);
      }
    }
    ex.cluster.enqueue(pipe.agent, "tcgen05.cp", ex.pc, [copy] {
      for (Cta *cta : copy->ctas)
        for (unsigned i = 0; i < copy->rows; ++i)
          for (unsigned p = 0; p < copy->pieces; ++p) {
            uint8_t piece[16];
            readPiece(cta->shared.data() + copy->offsets[i * copy->pieces + p], copy->packedBits,
                      piece);
            for (unsigned to : lanesOf(*copy, i))
              memcpy(&cta->tensor->words[to * tensorColumns + copy->column + p * 4], piece, 16);
          }
    });
  });
}

bool decodeCopy(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool wide = inst.has(".warpx4"), second = inst.has(".warpx2::01_23"),
       first = inst.has(".warpx2::02_13");
  Shape shape;
  if (inst.has(".128x256b"))
    shape = Shape::R128x256;
  else if (inst.has(".4x256b"))
    shape = Shape::R4x256;
  else if (inst.has(".128x128b"))
    shape = Shape::R128x128;
  else if (inst.has(".64x128b"))
    shape = second ? Shape::R64x0123 : Shape::R64x0213;
  else
    shape = Shape::R32x4;
  bool needsPair = inst.has(".64x128b"), needsFour = inst.has(".32x128b");
  if (needsPair != (first || second) || needsFour != wide)
    return d.fail(inst, "the multicast does not go with the shape");
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.source(inst, inst.operands[1], 64, ops[1]))
    return false;
  out.mode = uint8_t(shape);
  out.flags = inst.has(".cta_group::2") ? 2 : 0;
  out.imm[0] = inst.has(".b4x16_p64") ? 4 : inst.has(".b6x16_p32") ? 6 : 0;
  d.setOperands(out, std::move(ops));
  out.run = copyAsync;
  return true;
}

} // namespace

void addTcgen05Copy(DecodeTable &table) { table["tcgen05.cp"] = decodeCopy; }

} // namespace penstock::emu
