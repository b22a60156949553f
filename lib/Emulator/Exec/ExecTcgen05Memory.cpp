//===- ExecTcgen05Memory.cpp - Tensor memory: alloc, ld, st ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores move their data at once; that they are asynchronous is the
// checker's business, which counts them as running until a wait.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Tensor/TensorMemory.h"

#include <bit>

namespace penstock::emu {

TensorMemory &tensorMemory(Grid &grid, Cta &cta) {
  if (!cta.tensor) {
    cta.tensor = std::make_unique<TensorMemory>();
    cta.tensor->words.assign(tensorLanes * tensorColumns, 0xA5A5A5A5);
    if (grid.checks())
      cta.tensor->shadow.resize(tensorLanes / 16 * tensorColumns * 16);
  }
  return *cta.tensor;
}

bool columnsAllocated(Exec &ex, Cta &cta, unsigned column, unsigned count) {
  TensorMemory &tensor = tensorMemory(ex.grid, cta);
  for (unsigned c = column; c < column + count; ++c)
    if (c >= tensorColumns || !tensor.allocated[c / 32]) {
      ex.fatal(EmuTensorMemoryMisuse,
               "columns " + std::to_string(column) + " to " + std::to_string(column + count - 1) +
                   " of tensor memory are used, but column " + std::to_string(c) +
                   (c >= tensorColumns ? " does not exist" : " is not allocated"));
      return false;
    }
  return true;
}

Cta::Pipe &tensorPipe(Exec &ex, unsigned lane) {
  Cta::Pipe &pipe = ex.cta.tensorPipes[ex.warp.index * 32 + lane];
  if (!pipe.agent)
    pipe.agent = ex.cluster.newTensorAgent();
  return pipe;
}

namespace {

using ptx::Space;

bool sameGroup(Exec &ex, TensorMemory &tensor, uint8_t group) {
  if (tensor.group && tensor.group != group) {
    ex.fatal(EmuTensorMemoryMisuse, "a kernel must use one cta_group for all of tcgen05");
    return false;
  }
  tensor.group = group;
  if (group == 2 && ex.cluster.ctas.size() % 2) {
    ex.fatal(EmuTensorMemoryMisuse, "cta_group::2 needs a cluster with pairs of blocks");
    return false;
  }
  return true;
}

/// ops: address of the result, columns. mode: cta_group.
void allocate(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  unsigned lane = ex.firstLane();
  TensorMemory &tensor = tensorMemory(ex.grid, ex.cta);
  if (!sameGroup(ex, tensor, inst.mode))
    return;
  uint32_t columns = uint32_t(ex.value(inst.ops[1], lane));
  if (columns < 32 || columns > 512 || !std::has_single_bit(columns)) {
    ex.fatal(EmuTensorMemoryMisuse, "an allocation of " + std::to_string(columns) +
                                        " columns; powers of two from 32 to 512 are legal");
    return;
  }
  if (tensor.relinquished) {
    ex.fatal(EmuTensorMemoryMisuse, "an allocation after the permit was relinquished");
    return;
  }
  if (tensor.lastColumns && columns > tensor.lastColumns)
    ex.report(EmuTensorMemoryMisuse, "an allocation that is larger than the one before it");
  using Step = TensorMemory::PairStep;
  TensorMemory *peer =
      inst.mode == 2 ? &tensorMemory(ex.grid, *ex.cluster.ctas[ex.cta.rank ^ 1]) : nullptr;
  if (peer && tensor.pairStep == Step::None) {
    tensor.pairStep = Step::Issued;
    ++tensor.allocsIssued;
    ++ex.cluster.progress;
  }
  if (peer && tensor.pairStep == Step::Issued && peer->allocsIssued < tensor.allocsIssued) {
    ex.block("tcgen05.alloc of the other block of the pair");
    return;
  }
  if (peer && tensor.pairStep == Step::Done) {
    if (peer->allocsDone < tensor.allocsDone)
      ex.block("tcgen05.alloc of the other block of the pair");
    else
      tensor.pairStep = Step::None;
    return;
  }
  unsigned need = columns / 32;
  int found = -1;
  for (unsigned at = 0; at + need <= 16 && found < 0; at += need) {
    bool free = true;
    for (unsigned i = at; i < at + need; ++i)
      free &= !tensor.allocated[i];
    if (free)
      found = int(at);
  }
  if (found < 0) {
    ex.block(std::to_string(columns) + " free columns of tensor memory");
    return;
  }
  MemRef ref;
  if (!resolve(ex, lane, Space(inst.imm[0]), ex.address(inst.ops[0], lane), 4, 4, ref))
    return;
  if (ref.space != Space::Shared) {
    ex.fatal(EmuIllegalOperand, "the result must go to shared memory");
    return;
  }
  if (ex.grid.checks())
    checkAccess(ex, lane, ref, 4, Write);
  for (unsigned i = unsigned(found); i < unsigned(found) + need; ++i)
    tensor.allocated[i] = unsigned(found) + 1;
  auto held =
      unsigned(std::ranges::count_if(tensor.allocated, [](uint32_t owner) { return owner != 0; }));
  tensor.mostColumns = std::max(tensor.mostColumns, 32 * held);
  if (ex.grid.checks())
    forTensorCells(0xff, unsigned(found) * 32, columns,
                   [&](CellSet set) { tensor.shadow.forget(set); });
  tensor.lastColumns = columns;
  tensor.allocPc = ex.pc;
  uint32_t address = uint32_t(found) * 32;
  memcpy(ref.bytes, &address, 4);
  if (peer) {
    ++tensor.allocsDone;
    ++ex.cluster.progress;
    if (peer->allocsDone < tensor.allocsDone) {
      tensor.pairStep = Step::Done;
      ex.block("tcgen05.alloc of the other block of the pair");
    } else {
      tensor.pairStep = Step::None;
    }
  }
}

/// ops: address, columns.
void release(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  unsigned lane = ex.firstLane();
  TensorMemory &tensor = tensorMemory(ex.grid, ex.cta);
  if (!sameGroup(ex, tensor, inst.mode))
    return;
  uint32_t address = uint32_t(ex.value(inst.ops[0], lane));
  uint32_t columns = uint32_t(ex.value(inst.ops[1], lane));
  uint32_t first = (address & 0xffff) / 32;
  uint32_t owned = 0;
  if (first < 16 && tensor.allocated[first] == first + 1)
    for (unsigned i = first; i < 16 && tensor.allocated[i] == first + 1; ++i)
      owned += 32;
  if (address % 32 || owned == 0) {
    ex.fatal(EmuTensorMemoryMisuse, "tensor memory at column " + std::to_string(address & 0xffff) +
                                        " is freed but not allocated");
    return;
  }
  if (owned != columns) {
    ex.fatal(EmuTensorMemoryMisuse, std::to_string(columns) + " columns are freed where " +
                                        std::to_string(owned) + " were allocated");
    return;
  }
  if (ex.grid.checks()) {
    // Freeing counts as a write by this warp: nothing may be running on it.
    uint32_t op = newOp(ex, lane, "tcgen05.dealloc");
    opAt(ex, op).agent[0] = tensorPipe(ex, lane).agent;
    opAt(ex, op).count[0] = 0;
    checkTensor(ex, lane, op, ex.cta, 0xff, first * 32, columns, true);
    forTensorCells(0xff, first * 32, columns, [&](CellSet set) { tensor.shadow.forget(set); });
  }
  for (unsigned i = first; i < first + columns / 32; ++i)
    tensor.allocated[i] = 0;
  ++ex.cluster.progress;
}

void relinquish(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  TensorMemory &tensor = tensorMemory(ex.grid, ex.cta);
  if (sameGroup(ex, tensor, inst.mode))
    tensor.relinquished = true;
}

bool decodeAlloc(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.has(".cta_group::2") ? 2 : 1;
  const std::string &name = inst.form->name;
  std::vector<Opnd> ops(2);
  if (name == "tcgen05.alloc") {
    out.imm[0] = uint64_t(inst.has(".shared::cta") ? Space::Shared : Space::Generic);
    if (!d.address(inst, inst.operands[0], ops[0]) || !d.source(inst, inst.operands[1], 32, ops[1]))
      return false;
    out.run = allocate;
  } else if (name == "tcgen05.dealloc") {
    if (!d.source(inst, inst.operands[0], 32, ops[0]) ||
        !d.source(inst, inst.operands[1], 32, ops[1]))
      return false;
    out.run = release;
  } else {
    out.run = relinquish;
  }
  d.setOperands(out, std::move(ops));
  return true;
}

enum class Shape : uint8_t { L32x32, L16x64, L16x128, L16x256, L16x32x2 };

/// Registers and columns of one repetition.
unsigned registersOf(Shape shape) {
  return shape == Shape::L16x128 ? 2 : shape == Shape::L16x256 ? 4 : 1;
}
unsigned columnsOf(Shape shape) {
  return shape == Shape::L16x64 ? 2 : shape == Shape::L16x128 ? 4 : shape == Shape::L16x256 ? 8 : 1;
}

/// Computes the cell of register \p r of thread \p t, relative to the address.
void pointOf(Shape shape, unsigned t, unsigned r, unsigned halfOffset, unsigned &lane,
             unsigned &column) {
  switch (shape) {
  case Shape::L32x32:
    lane = t;
    column = r;
    break;
  case Shape::L16x64:
    lane = t / 4 + 8 * (t % 2);
    column = 2 * r + t / 2 % 2;
    break;
  case Shape::L16x128:
    lane = t / 4 + 8 * (r % 2);
    column = 4 * (r / 2) + t % 4;
    break;
  case Shape::L16x256:
    lane = t / 4 + 8 * (r / 2 % 2);
    column = 8 * (r / 4) + 2 * (t % 4) + r % 2;
    break;
  case Shape::L16x32x2:
    lane = t % 16;
    column = r + (t >= 16 ? halfOffset : 0);
    break;
  }
}

/// mode: Shape; flags: 1 store, 2 16-bit packing. imm[0]: repetitions, imm[1]:
/// offset of the second half. ops: address, registers.
void transfer(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  Shape shape = Shape(inst.mode);
  bool isStore = inst.flags & 1, packs = inst.flags & 2;
  unsigned first = ex.firstLane();
  uint32_t address = uint32_t(ex.address(inst.ops[0], first));
  bool uniform = true;
  forLanes(ex.mask,
           [&](unsigned lane) { uniform &= uint32_t(ex.address(inst.ops[0], lane)) == address; });
  if (!uniform) {
    ex.fatal(EmuTensorMemoryMisuse, "the threads of the warp give different addresses");
    return;
  }
  // There are 128 lanes: addresses that add 32 for each warp of a block wrap around.
  unsigned lane0 = (address >> 16) % tensorLanes, column0 = address & 0xffff;
  unsigned quarter = 32 * (ex.warp.index % 4);
  bool half = shape != Shape::L32x32;
  if (lane0 != quarter && !(half && lane0 == quarter + 16)) {
    std::string problem = "warp " + std::to_string(ex.warp.index) + " accesses lane " +
                          std::to_string(lane0) + "; it reaches lanes " + std::to_string(quarter) +
                          " to " + std::to_string(quarter + 31) + " only";
    if (lane0 % 32 && !(half && lane0 % 32 == 16)) {
      ex.fatal(EmuTensorMemoryMisuse, problem);
      return;
    }
    // Hardware takes the quarter from the warp: shipped kernels leave it out of the address.
    ex.report(EmuTensorMemoryMisuse, problem, Tier::Undefined);
    lane0 = quarter + lane0 % 32;
  }
  unsigned repeat = unsigned(inst.imm[0]);
  unsigned halfOffset = unsigned(inst.imm[1]);
  unsigned columns = columnsOf(shape) * repeat * (packs ? 2 : 1);
  if (!columnsAllocated(ex, ex.cta, column0, columns) ||
      (shape == Shape::L16x32x2 && !columnsAllocated(ex, ex.cta, column0 + halfOffset, columns)))
    return;
  TensorMemory &tensor = *ex.cta.tensor;
  if (ex.grid.checks()) {
    uint64_t &agent = isStore ? ex.warp.tmemStoreAgent : ex.warp.tmemLoadAgent;
    uint32_t &count = isStore ? ex.warp.tmemStores : ex.warp.tmemLoads;
    if (!agent)
      agent = ex.cluster.newTensorAgent();
    uint32_t op = newOp(ex, first, isStore ? "tcgen05.st" : "tcgen05.ld");
    opAt(ex, op).agent[0] = agent;
    opAt(ex, op).count[0] = ++count;
    if (!isStore) {
      if (!ex.warp.tmemUseAgent)
        ex.warp.tmemUseAgent = ex.cluster.newTensorAgent();
      opAt(ex, op).overByUse = true;
      opAt(ex, op).readAgent = ex.warp.tmemUseAgent;
      opAt(ex, op).readCount = count;
    }
    uint32_t groups = (half ? 1u : 3u) << lane0 / 16;
    checkTensor(ex, first, op, ex.cta, groups, column0, columns, isStore);
    if (shape == Shape::L16x32x2)
      checkTensor(ex, first, op, ex.cta, groups, column0 + halfOffset, columns, isStore);
  }
  unsigned registers = registersOf(shape) * repeat;
  bool remember = !isStore && ex.grid.checks();
  for (unsigned r = 0; r < registers; ++r) {
    const Opnd &op = inst.ops[1 + r];
    if (remember && op.kind == Opnd::Kind::Row)
      ex.warp.loadedRows[op.at] = {ex.warp.tmemLoads, ex.pc};
    for (unsigned t = 0; t < 32; ++t) {
      if (!(ex.mask >> t & 1))
        continue;
      unsigned lane, column;
      if (!packs) {
        pointOf(shape, t, r, halfOffset, lane, column);
        uint32_t &word = tensor.words[(lane0 + lane) * tensorColumns + column0 + column];
        if (isStore)
          word = uint32_t(ex.value(op, t));
        else
          ex.setValue(op, t, word);
        continue;
      }
      pointOf(shape, t, r, 0, lane, column);
      unsigned base = (lane0 + lane) * tensorColumns + column0 + 2 * column +
                      (shape == Shape::L16x32x2 && t >= 16 ? halfOffset : 0);
      if (isStore) {
        uint32_t value = uint32_t(ex.value(op, t));
        tensor.words[base] = value & 0xffff;
        tensor.words[base + 1] = value >> 16;
      } else {
        ex.setValue(op, t, (tensor.words[base] & 0xffff) | tensor.words[base + 1] << 16);
      }
    }
  }
}

bool decodeTransfer(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool isStore = inst.form->name == "tcgen05.st";
  Shape shape = inst.has(".32x32b")    ? Shape::L32x32
                : inst.has(".16x64b")  ? Shape::L16x64
                : inst.has(".16x128b") ? Shape::L16x128
                : inst.has(".16x256b") ? Shape::L16x256
                                       : Shape::L16x32x2;
  out.mode = uint8_t(shape);
  unsigned repeat = 0;
  for (std::string_view modifier : inst.modifiers)
    if (modifier[1] == 'x')
      repeat = unsigned(atoi(std::string(modifier.substr(2)).c_str()));
  out.imm[0] = repeat;
  size_t at = isStore ? 0 : 1;
  std::vector<Opnd> ops(1);
  if (!d.address(inst, inst.operands[at], ops[0]))
    return false;
  if (shape == Shape::L16x32x2 &&
      (!Decoder::immediate(inst.operands[isStore ? 1 : 2], out.imm[1]) || out.imm[1] >= 512))
    return d.fail(inst, "the offset of the second half must be a constant");
  const ptx::Operand &values = isStore ? inst.operands.back() : inst.operands.front();
  unsigned want = registersOf(shape) * repeat;
  auto add = [&](const ptx::Operand &value) {
    Opnd op;
    if (isStore ? !d.source(inst, value, 32, op) : !d.destination(inst, value, op))
      return false;
    if (op.kind == Opnd::Kind::Pred)
      return d.fail(inst, "a predicate where a value is needed");
    if (!isStore && op.kind == Opnd::Kind::Row)
      d.program.loadedRows.push_back(op.at);
    ops.push_back(op);
    return true;
  };
  if (values.kind == ptx::Operand::Kind::Vector) {
    if (values.elements.size() != want || want > 128)
      return d.fail(inst, std::to_string(want) + " registers are needed");
    for (const ptx::Operand &value : values.elements)
      if (!add(value))
        return false;
  } else if (want != 1 || !add(values)) {
    return d.fail(inst, std::to_string(want) + " registers are needed");
  }
  out.flags =
      uint8_t((isStore ? 1 : 0) | (inst.has(".pack::16b") || inst.has(".unpack::16b") ? 2 : 0));
  d.setOperands(out, std::move(ops));
  out.run = transfer;
  return true;
}

/// mode 1: stores.
void waitTransfers(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex) || !ex.grid.checks())
    return;
  uint64_t agent = inst.mode ? ex.warp.tmemStoreAgent : ex.warp.tmemLoadAgent;
  uint32_t count = inst.mode ? ex.warp.tmemStores : ex.warp.tmemLoads;
  if (!agent)
    return;
  if (!inst.mode)
    ex.warp.loadedRows.clear();
  ex.warp.view.seen.setAgent(agent, count);
  for (LaneState &state : ex.warp.lanes)
    if (state.view)
      state.view->seen.setAgent(agent, count);
}

bool decodeWait(Decoder &, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.form->name == "tcgen05.wait::st";
  out.run = waitTransfers;
  return true;
}

/// tcgen05.fence makes relaxed synchronization order tcgen05 operations. Where
/// arrivals release and waits acquire they are ordered anyway, as all else is.
void fenceBefore(Exec &ex, const DInst &) {
  if (!ex.grid.checks() || !ex.grid.program->relaxedSync)
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    auto known = std::make_unique<Clock>();
    known->joinTensor(ex.view(lane).seen);
    ex.warp.lanes[lane].tensorFence = std::move(known);
  });
}

void fenceAfter(Exec &ex, const DInst &) {
  if (!ex.grid.checks() || !ex.grid.program->relaxedSync)
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    for (const std::unique_ptr<View> &pending : ex.warp.lanes[lane].pending)
      if (pending)
        ownView(ex, lane).seen.joinTensor(pending->seen);
  });
}

template <Handler H> bool decodeTo(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = H;
  return true;
}

} // namespace

void addTcgen05Memory(DecodeTable &table) {
  table["tcgen05.alloc"] = table["tcgen05.dealloc"] = table["tcgen05.relinquish_alloc_permit"] =
      decodeAlloc;
  table["tcgen05.ld"] = table["tcgen05.st"] = decodeTransfer;
  table["tcgen05.wait::ld"] = table["tcgen05.wait::st"] = decodeWait;
  table["tcgen05.fence::before_thread_sync"] = decodeTo<fenceBefore>;
  table["tcgen05.fence::after_thread_sync"] = decodeTo<fenceAfter>;
}

} // namespace penstock::emu
