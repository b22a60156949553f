//===- ExecTcgen05Mma.cpp - tcgen05.mma -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of one thread form a pipe: they happen in order, some time
// after their issue, and a commit tells an mbarrier that all before it are
// done. Descriptors are decoded when an instruction is issued; operands are
// read and results written when it happens.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Tensor/Tcgen05Product.h"
#include "Emulator/Tensor/TensorMemory.h"

namespace penstock::emu {
namespace {

/// Enters all accesses of an operation.
void check(Exec &ex, unsigned lane, const Tcgen05Product &mma) {
  uint32_t op = newOp(ex, lane, "tcgen05.mma");
  Cta::Pipe &pipe = tensorPipe(ex, lane);
  AsyncOp &record = opAt(ex, op);
  record.pipe = record.agent[0] = pipe.agent;
  record.pipeCount = record.count[0] = pipe.issued;
  for (unsigned block = 0; block < mma.blocks; ++block) {
    Cta &cta = *mma.ctas[block];
    cta.openOps.push_back(op);
    for (const MatrixTile *tile : {mma.tileA.get(), mma.tileB.get()})
      if (tile)
        for (const std::vector<CellSet> &part : tile->quarters)
          checkEngine(ex, lane, op, cta, part, false);
    // 64 rows of one block are in every other group of 16 lanes.
    auto groups = [&](uint32_t address) {
      return mma.sparseLanes() ? 0x55u << (address >> 20 & 1) : 0xffu;
    };
    if (mma.scaleBlock) {
      checkTensor(ex, lane, op, cta, 0xff, mma.scaleA & 0xffff, mma.scaleColumnsA(), false);
      checkTensor(ex, lane, op, cta, 0xff, mma.scaleB & 0xffff, mma.scaleColumnsB(), false);
    }
    if (mma.sparse)
      checkTensor(ex, lane, op, cta, 0xff, mma.metadataColumn(), mma.metadataColumns(), false);
    if (mma.tensorA)
      checkTensor(ex, lane, op, cta, groups(mma.addressA), mma.addressA & 0xffff, mma.columnsA(),
                  false);
    unsigned columnD = mma.addressD & 0xffff;
    if (mma.accumulate)
      forTensorCells(groups(mma.addressD), columnD, mma.columnsD(), [&](CellSet set) {
        for (uint64_t rest = cta.tensor->shadow.unwritten(set); rest; rest &= rest - 1) {
          unsigned column =
              set.segment * Shadow::segmentCells % tensorColumns + unsigned(__builtin_ctzll(rest));
          ex.report(EmuUninitialized,
                    "tcgen05.mma adds to tensor memory that was never written, column " +
                        std::to_string(column));
        }
      });
    checkTensor(ex, lane, op, cta, groups(mma.addressD), columnD, mma.columnsD(), true);
  }
}

/// ops: d, a, b, idesc, enable-d, metadata (or none), then the words of the lane mask or
/// the two addresses of the scales; of tcgen05.mma.ws the zero-column mask descriptor, if any.
/// mode: Kind; flags: 1 A in tensor memory, 2 cta_group::2, 4 tcgen05.mma.ws, 8 tcgen05.mma.sp.
/// imm[0]: scale of d, imm[1]: elements per block scale.
void multiplyAsync(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto mma = std::make_shared<Tcgen05Product>();
    mma->kind = Tcgen05Kind(inst.mode);
    mma->blocks = inst.flags & 2 ? 2 : 1;
    mma->tensorA = inst.flags & 1;
    mma->stationary = inst.flags & 4;
    mma->sparse = inst.flags & 8;
    if (mma->blocks == 2) {
      uint32_t even = ex.cta.rank & ~1u;
      if (even + 1 >= ex.cluster.ctas.size()) {
        ex.fatal(EmuIllegalOperand, "cta_group::2 needs a cluster with pairs of blocks");
        return;
      }
      mma->ctas[0] = ex.cluster.ctas[even].get();
      mma->ctas[1] = ex.cluster.ctas[even + 1].get();
    } else {
      mma->ctas[0] = &ex.cta;
    }
    mma->scaleBlock = unsigned(inst.imm[1]);
    uint32_t instruction = uint32_t(ex.value(inst.ops[3], lane));
    std::string problem = decodeInstructionDescriptor(instruction, *mma);
    auto tileOf = [&](const char *which, const Opnd &operand, const MatrixShape &shape) {
      auto tile = matrixTile(ex.cta, decodeTcgen05Descriptor, ex.value(operand, lane), shape);
      if (!tile->problem.empty())
        problem = std::string("operand ") + which + ": " + tile->problem;
      return tile;
    };
    if (problem.empty() && !mma->tensorA)
      mma->tileA = tileOf("A", inst.ops[1], mma->shapeA);
    else if (problem.empty() && mma->shapeA.mnMajor)
      problem = "A in tensor memory is K-major";
    else if (problem.empty() && mma->stationary && mma->m != 128)
      problem = "A of fewer than 128 rows in tensor memory is not supported for tcgen05.mma.ws";
    if (problem.empty())
      mma->tileB = tileOf("B", inst.ops[2], mma->shapeB);
    for (const MatrixTile *tile : {mma->tileA.get(), mma->tileB.get()}) {
      if (problem.empty() && tile && mma->kind == Tcgen05Kind::TF32 && tile->shape.mnMajor &&
          tile->swizzle != 4)
        problem = "MN-major tf32 needs the 128-byte swizzle with 32-byte atoms";
    }
    if (!problem.empty()) {
      ex.fatal(EmuIllegalDescriptor, problem);
      return;
    }
    for (const MatrixTile *tile : {mma->tileA.get(), mma->tileB.get()})
      if (tile && (tile->first < sharedReserved || tile->end > ex.cta.shared.size())) {
        ex.fatal(
            EmuOutOfBounds,
            "a matrix descriptor reaches " +
                sharedName(ex.grid, tile->first < sharedReserved ? tile->first : tile->end - 16) +
                ", outside of the block's shared memory");
        return;
      }
    mma->addressD = uint32_t(ex.address(inst.ops[0], lane));
    unsigned lane0 = mma->addressD >> 16;
    if (lane0 && !(lane0 == 16 && mma->sparseLanes())) {
      ex.fatal(EmuTensorMemoryMisuse, "the accumulator starts at lane " + std::to_string(lane0));
      return;
    }
    mma->accumulate = ex.pred(inst.ops[4]) >> lane & 1;
    mma->scaleD = unsigned(inst.imm[0]);
    if (mma->scaleBlock) {
      mma->scaleA = uint32_t(ex.address(inst.ops[6], lane));
      mma->scaleB = uint32_t(ex.address(inst.ops[7], lane));
    }
    if (mma->sparse) {
      mma->metadata = uint32_t(ex.address(inst.ops[5], lane));
      if (mma->metadata & 0xffff0001) {
        ex.fatal(EmuTensorMemoryMisuse, "metadata must start at lane 0 of an even column");
        return;
      }
    }
    if (mma->stationary && inst.numOps > 6) {
      mma->zeroColumns = ex.value(inst.ops[6], lane);
      if (mma->zeroColumns >> 56 & 0x3f || mma->zeroColumns >> 36 & 7) {
        ex.fatal(EmuIllegalDescriptor,
                 mma->zeroColumns >> 36 & 7
                     ? "reserved bits of the zero-column mask descriptor are set"
                     : "a shift of columns by the zero-column mask descriptor is not supported");
        return;
      }
    }
    for (unsigned i = 0; i + 6 < inst.numOps && i < 8 && !mma->scaleBlock && !mma->stationary; ++i)
      mma->disabled[i] = uint32_t(ex.value(inst.ops[6 + i], lane));
    if (mma->tensorA)
      mma->addressA = uint32_t(ex.address(inst.ops[1], lane));
    for (unsigned block = 0; block < mma->blocks; ++block) {
      if (!columnsAllocated(ex, *mma->ctas[block], mma->addressD & 0xffff, mma->columnsD()) ||
          (mma->scaleBlock &&
           (!columnsAllocated(ex, *mma->ctas[block], mma->scaleA & 0xffff, mma->scaleColumnsA()) ||
            !columnsAllocated(ex, *mma->ctas[block], mma->scaleB & 0xffff,
                              mma->scaleColumnsB()))) ||
          (mma->sparse && !columnsAllocated(ex, *mma->ctas[block], mma->metadataColumn(),
                                            mma->metadataColumns())) ||
          (mma->tensorA &&
           !columnsAllocated(ex, *mma->ctas[block], mma->addressA & 0xffff, mma->columnsA())))
        return;
    }
    ex.cluster.effort += uint64_t(mma->m) * mma->n * mma->k / 256;
    Cta::Pipe &pipe = tensorPipe(ex, lane);
    ++pipe.issued;
    if (ex.grid.checks())
      check(ex, lane, *mma);
    AsyncWork work = productWork(mma->m / mma->blocks, mma->n, mma->shapeA.k);
    work.blocks = mma->blocks;
    ex.cluster.enqueue(pipe.agent, "tcgen05.mma", ex.pc, [mma] { execute(*mma); }, work);
  });
}

bool decodeMma(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool scaled = inst.has(".block_scale");
  if (scaled) {
    bool mx8 = inst.has(".kind::mxf8f6f4");
    bool by16 = inst.has(".scale_vec::4X") || inst.has(".block16");
    bool by32 = inst.has(".scale_vec::2X") || inst.has(".block32") || inst.has(".scale_vec::1X");
    if (by16 && !inst.has(".kind::mxf4nvf4"))
      return d.fail(inst, "blocks of 16 are for mxf4nvf4 only");
    if (inst.has(".kind::mxf4nvf4") && !by16 && !by32)
      return d.fail(inst, "the size of the blocks is missing");
    if (mx8 ? inst.has(".scale_vec::2X") : inst.has(".scale_vec::1X"))
      return d.fail(inst, "the size of the blocks does not go with the kind");
    out.imm[1] = by16 ? 16 : 32;
  }
  out.mode = uint8_t(inst.has(".kind::mxf8f6f4") ? Tcgen05Kind::MXF8
                     : scaled                    ? Tcgen05Kind::MXF4
                     : inst.has(".kind::f16")    ? Tcgen05Kind::F16
                     : inst.has(".kind::tf32")   ? Tcgen05Kind::TF32
                     : inst.has(".kind::f8f6f4") ? Tcgen05Kind::F8F6F4
                                                 : Tcgen05Kind::I8);
  out.flags = uint8_t(inst.has(".cta_group::2") ? 2 : 0);
  std::vector<Opnd> ops(6);
  std::vector<ptx::Operand> in = inst.operands;
  if (inst.form->name == "tcgen05.mma.sp") {
    out.flags |= 8;
    if (!d.address(inst, in[3], ops[5]))
      return false;
    in.erase(in.begin() + 3); // the rest is as without metadata
  }
  if (!d.address(inst, in[0], ops[0]))
    return false;
  if (in[1].kind == ptx::Operand::Kind::Address) {
    out.flags |= 1;
    if (!d.address(inst, in[1], ops[1]))
      return false;
  } else if (!d.source(inst, in[1], 64, ops[1])) {
    return false;
  }
  if (!d.source(inst, in[2], 64, ops[2]) || !d.source(inst, in[3], 32, ops[3]))
    return false;
  size_t at = 4;
  if (scaled) {
    for (; at < 6; ++at) {
      Opnd op;
      if (!d.address(inst, in[at], op))
        return false;
      ops.push_back(op);
    }
  } else if (in[at].kind == ptx::Operand::Kind::Vector) {
    size_t want = out.flags & 2 ? 8 : 4;
    if (in[at].elements.size() != want)
      return d.fail(inst, std::to_string(want) + " words of the lane mask are needed");
    for (const ptx::Operand &word : in[at].elements) {
      Opnd op;
      if (!d.source(inst, word, 32, op))
        return false;
      ops.push_back(op);
    }
    ++at;
  }
  if (at >= in.size() || !d.predicate(inst, in[at], ops[4]))
    return false;
  if (inst.form->name == "tcgen05.mma.ws") {
    out.flags |= 4;
    if (++at < in.size() && !d.source(inst, in[at], 64, ops.emplace_back()))
      return false;
  } else if (++at < in.size() && (!Decoder::immediate(in[at], out.imm[0]) || out.imm[0] > 15))
    return d.fail(inst, "the scale of the accumulator must be 0 to 15");
  d.setOperands(out, std::move(ops));
  out.run = multiplyAsync;
  return true;
}

} // namespace

void addTcgen05Mma(DecodeTable &table) {
  table["tcgen05.mma"] = table["tcgen05.mma.sp"] = table["tcgen05.mma.ws"] = decodeMma;
}

} // namespace penstock::emu
