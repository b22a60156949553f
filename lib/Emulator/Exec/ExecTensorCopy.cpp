//===- ExecTensorCopy.cpp - TMA: tensor copies in both directions ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AtomicOps.h"
#include "Emulator/Lanes.h"
#include "Emulator/Tensor/TensorBox.h"

namespace penstock::emu {
namespace {

using ptx::Space;

uint64_t nanPattern(uint32_t dataType) {
  switch (dataType) {
  case 6:
    return 0x7fff7fff7fff7fff;
  case 9:
    return 0x7fff7fff7fff7fff;
  case 8:
    return 0x7fffffffffffffff;
  default:
    return 0x7fffffff7fffffff;
  }
}

bool inShared(Exec &ex, Cta &cta, uint32_t offset, uint32_t bytes) {
  // The swizzle stays inside of a kilobyte.
  if (offset >= sharedReserved && offset + uint64_t(bytes) <= cta.shared.size())
    return true;
  ex.fatal(EmuOutOfBounds,
           "the box does not fit into shared memory at " + sharedName(ex.grid, offset));
  return false;
}

/// The coordinates and im2col offsets, operands from \p first on.
BoxPosition positionOf(Exec &ex, const DInst &inst, unsigned lane, unsigned first) {
  BoxPosition position;
  position.rank = inst.mode;
  position.gather = inst.flags & 1;
  position.image = inst.flags & 4;
  unsigned count = position.gather ? 5 : position.rank;
  for (unsigned i = 0; i < count; ++i)
    position.at[i] = int32_t(ex.value(inst.ops[first + i], lane));
  for (unsigned i = first + count; i < inst.numOps; ++i)
    position.offsets[i - first - count] = uint16_t(ex.value(inst.ops[i], lane));
  return position;
}

/// Kernels await the reads of a map by commit_group and wait_group: a load counts as a copy of its
/// lane's bulk groups, for its reads alone.
CopyGroups &readsInGroup(Exec &ex, unsigned lane, uint32_t op, uint32_t &number) {
  CopyGroups &groups = bulkGroups(ex, lane);
  number = ++groups.issued;
  groups.running.insert(number);
  groups.reading.insert(number);
  opAt(ex, op).readAgent = groups.readAgent;
  opAt(ex, op).readCount = number;
  return groups;
}

/// ops: destination, map, mbarrier, mask (or none), coordinates, im2col offsets.
/// mode: rank; flags: 1 gather, 2 cta_group::2, 4 im2col.
void tensorLoad(Exec &ex, const DInst &inst) {
  forLanes(copyLeaders(ex, inst), [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto box = std::make_shared<TensorBox>();
    if (!readTensorMap(ex, lane, ex.address(inst.ops[1], lane), box->map))
      return;
    if (!layOutBox(ex, positionOf(ex, inst, lane, 4), *box))
      return;
    MemRef to;
    if (!resolve(ex, lane, Space::Shared, ex.address(inst.ops[0], lane), 16, 128, to))
      return;
    Signal signal;
    if (!resolveSignal(ex, lane, Space::Shared, ex.address(inst.ops[2], lane), signal))
      return;
    bool multicast = inst.ops[3].kind != Opnd::Kind::None;
    bool pair = inst.flags & 2;
    uint32_t mask = 1u << to.cta->rank;
    if (multicast)
      mask = uint32_t(ex.value(inst.ops[3], lane) & 0xffff);
    if (!mask || mask >> ex.cluster.ctas.size()) {
      ex.fatal(EmuIllegalOperand, "the mask names blocks outside of the cluster");
      return;
    }
    if (!multicast && signal.cta != to.cta && !(pair && signal.cta->rank == (to.cta->rank ^ 1))) {
      ex.fatal(EmuIllegalOperand, "the mbarrier and the destination lie in different blocks");
      return;
    }
    auto refs = std::make_shared<std::vector<MemRef>>();
    if (!resolveRows(ex, lane, *box, *refs))
      return;
    bool first = true;
    for (uint32_t rankTo = 0; rankTo < ex.cluster.ctas.size(); ++rankTo) {
      if (!(mask >> rankTo & 1))
        continue;
      Cta &cta = *ex.cluster.ctas[rankTo];
      if (!inShared(ex, cta, uint32_t(to.offset), box->boxBytes))
        return;
      Signal there = signal;
      if (multicast) {
        uint32_t rankSignal = rankTo;
        if (pair && ((signal.cta->rank ^ rankTo) & 1))
          rankSignal ^= 1; // the peer with the parity of the barrier's block
        if (rankSignal >= ex.cluster.ctas.size()) {
          ex.fatal(EmuIllegalOperand, "a block of the pair does not exist");
          return;
        }
        there.cta = ex.cluster.ctas[rankSignal].get();
        if (!checkMulticast(ex, lane, there))
          return;
      }
      uint32_t op = 0, number = 0;
      CopyGroups *reads = nullptr;
      if (ex.grid.checks()) {
        op = newOp(ex, lane, "tensor copy");
        cta.openOps.push_back(op);
        if (first && checkMapRead(ex, lane, op, ex.address(inst.ops[1], lane)))
          reads = &readsInGroup(ex, lane, op, number);
        if (first)
          for (size_t i = 0; i < box->rows.size(); ++i)
            checkEngine(ex, lane, op, (*refs)[i], box->rows[i].bytes, false);
        MemRef target = to;
        target.cta = &cta;
        checkEngine(ex, lane, op, target, box->boxBytes, true);
      }
      AsyncWork work = box->work(AsyncWork::Engine::Load);
      work.repeated = !first;
      first = false;
      uint8_t *shared = cta.shared.data();
      uint32_t start = uint32_t(to.offset);
      // Padded types count their payload only.
      uint32_t payload = paddedPayload(box->map);
      uint32_t counted = payload ? box->boxBytes / 16 * payload : box->boxBytes;
      enqueueSignaled(
          ex, lane, op, there, counted,
          [=] {
            if (!box->whole) {
              uint64_t fill = box->map.fill ? nanPattern(box->map.dataType) : 0;
              for (uint32_t i = 0; i < box->boxBytes; i += 8)
                memcpy(shared + start + i, &fill, std::min<uint32_t>(8, box->boxBytes - i));
            }
            for (size_t i = 0; i < box->rows.size(); ++i) {
              const BoxRow &row = box->rows[i];
              const uint8_t *from = (*refs)[i].bytes;
              box->forParts(start, row, [&](uint32_t address, uint32_t done, uint32_t n) {
                memcpy(shared + address, from + done, n);
              });
            }
            if (reads) {
              reads->reading.erase(number);
              reads->running.erase(number);
            }
          },
          work);
    }
  });
}

/// ops: source, map, coordinates. mode: rank; flags: 1 scatter, 2 reduction
/// by imm[0], 4 im2col.
void tensorStore(Exec &ex, const DInst &inst) {
  bool reduces = inst.flags & 2;
  forLanes(copyLeaders(ex, inst), [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto box = std::make_shared<TensorBox>();
    if (!readTensorMap(ex, lane, ex.address(inst.ops[1], lane), box->map))
      return;
    BoxPosition position = positionOf(ex, inst, lane, 2);
    // The pixels of an image may lie outside of it: they are skipped.
    for (int64_t at : position.at)
      if (at < 0 && !position.image) {
        ex.fatal(EmuTensorMap, "a store at a negative coordinate");
        return;
      }
    if (box->map.dataType == 14) {
      ex.fatal(EmuTensorMap, "padded 4-bit types cannot be stored");
      return;
    }
    if (!layOutBox(ex, position, *box))
      return;
    MemRef from;
    if (!resolve(ex, lane, Space::Shared, ex.address(inst.ops[0], lane), 16, 128, from) ||
        !inShared(ex, *from.cta, uint32_t(from.offset), box->boxBytes))
      return;
    auto refs = std::make_shared<std::vector<MemRef>>();
    if (!resolveRows(ex, lane, *box, *refs))
      return;
    uint32_t op = 0;
    if (ex.grid.checks()) {
      op = newOp(ex, lane, reduces ? "tensor reduction" : "tensor store");
      ex.cta.openOps.push_back(op);
      checkMapRead(ex, lane, op, ex.address(inst.ops[1], lane));
      checkEngine(ex, lane, op, from, box->boxBytes, false);
      for (size_t i = 0; i < box->rows.size(); ++i)
        if (!reduces)
          checkEngine(ex, lane, op, (*refs)[i], box->rows[i].bytes, true);
        else
          checkReduction(ex, lane, op, (*refs)[i], box->rows[i].bytes, Scope::Device);
    }
    // The bytes of all rows, one after the other.
    size_t total = 0;
    for (const BoxRow &row : box->rows)
      total += row.bytes;
    auto stage = std::make_shared<std::vector<uint8_t>>(total);
    const uint8_t *shared = from.cta->shared.data();
    uint32_t start = uint32_t(from.offset);
    AtomicOp atomicOp = AtomicOp(inst.imm[0]);
    static constexpr ptx::Type types[] = {
        ptx::Type::None, ptx::Type::None, ptx::Type::U32, ptx::Type::S32, ptx::Type::U64,
        ptx::Type::S64,  ptx::Type::F16,  ptx::Type::F32, ptx::Type::F64, ptx::Type::BF16,
        ptx::Type::F32,  ptx::Type::F32,  ptx::Type::F32};
    ptx::Type type = box->map.dataType < 13 ? types[box->map.dataType] : ptx::Type::None;
    if (reduces && type == ptx::Type::None) {
      ex.fatal(EmuTensorMap, "this element type cannot be reduced");
      return;
    }
    std::mutex *atomics = &ex.grid.state->atomicMutex;
    enqueueGrouped(
        ex, lane, op,
        [=] {
          uint8_t *to = stage->data();
          for (const BoxRow &row : box->rows) {
            box->forParts(start, row, [&](uint32_t address, uint32_t done, uint32_t n) {
              memcpy(to + done, shared + address, n);
            });
            to += row.bytes;
          }
        },
        [=] {
          std::unique_lock<std::mutex> lock(*atomics, std::defer_lock);
          if (reduces)
            lock.lock();
          const uint8_t *data = stage->data();
          for (size_t i = 0; i < box->rows.size(); data += box->rows[i++].bytes) {
            const BoxRow &row = box->rows[i];
            uint8_t *to = (*refs)[i].bytes;
            if (!reduces) {
              memcpy(to, data, row.bytes);
              continue;
            }
            unsigned size = ptx::typeBits(type) / 8;
            for (uint32_t b = 0; b + size <= row.bytes; b += size) {
              uint64_t old = 0, value = 0;
              memcpy(&old, to + b, size);
              memcpy(&value, data + b, size);
              uint64_t now = applyAtomic(atomicOp, type, old, value, 0);
              memcpy(to + b, &now, size);
            }
          }
        },
        box->work(AsyncWork::Engine::Store));
  });
}

/// ops: map, coordinates, im2col offsets. mode: rank; flags: 1 gather, 4 im2col.
/// The box must be legal. What it contains is not accessed: no thread sees it.
void tensorPrefetch(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    TensorBox box;
    if (readTensorMap(ex, lane, ex.address(inst.ops[0], lane), box.map))
      layOutBox(ex, positionOf(ex, inst, lane, 1), box);
  });
}

bool decodeTensor(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  for (uint8_t rank = 1; rank <= 5; ++rank)
    if (inst.has("." + std::to_string(rank) + "d"))
      out.mode = rank;
  bool isPrefetch = inst.form->name == "cp.async.bulk.prefetch.tensor";
  bool isStore = inst.has(".bulk_group");
  bool four = inst.has(".tile::gather4") || inst.has(".tile::scatter4");
  bool offsets = inst.has(".im2col");
  const ptx::Operand &tensor = inst.operands[isStore || isPrefetch ? 0 : 1];
  const ptx::Operand &coordinates = tensor.elements[1];
  if (coordinates.elements.size() != (four ? 5u : out.mode))
    return d.fail(inst, "the number of coordinates does not fit the rank");
  std::vector<Opnd> ops(isPrefetch ? 1 : isStore ? 2 : 4);
  if (!d.address(inst, tensor, ops[isPrefetch ? 0 : 1]))
    return false;
  if (!isPrefetch && !d.address(inst, inst.operands[isStore ? 1 : 0], ops[0]))
    return false;
  if (!isStore && !isPrefetch) {
    if (!d.address(inst, inst.operands[2], ops[2]))
      return false;
    if (inst.has(".multicast::cluster") &&
        !d.source(inst, inst.operands[offsets ? 4 : 3], 32, ops[3]))
      return false;
  }
  for (const ptx::Operand &coordinate : coordinates.elements) {
    Opnd op;
    if (!d.source(inst, coordinate, 32, op))
      return false;
    ops.push_back(op);
  }
  if (offsets) {
    const std::vector<ptx::Operand> &elements = inst.operands[isPrefetch ? 1 : 3].elements;
    if (elements.size() + 2 != out.mode)
      return d.fail(inst, "the number of im2col offsets does not fit the rank");
    for (const ptx::Operand &offset : elements) {
      Opnd op;
      if (!d.source(inst, offset, 16, op))
        return false;
      ops.push_back(op);
    }
  }
  out.flags = uint8_t((four ? 1 : 0) | (offsets || inst.has(".im2col_no_offs") ? 4 : 0));
  if (isPrefetch) {
    out.run = tensorPrefetch;
  } else if (isStore) {
    if (inst.form->name == "cp.reduce.async.bulk.tensor") {
      AtomicOp op;
      if (!atomicOpFromModifiers(inst, op))
        return d.fail(inst, "the operation is not known");
      out.imm[0] = uint64_t(op);
      out.flags |= 2;
    }
    out.run = tensorStore;
  } else {
    if (inst.has(".cta_group::2"))
      out.flags |= 2;
    out.run = tensorLoad;
  }
  d.setOperands(out, std::move(ops));
  return true;
}

} // namespace

void addTensorCopy(DecodeTable &table) {
  table["cp.async.bulk.tensor"] = decodeTensor;
  table["cp.reduce.async.bulk.tensor"] = decodeTensor;
  table["cp.async.bulk.prefetch.tensor"] = decodeTensor;
}

} // namespace penstock::emu
