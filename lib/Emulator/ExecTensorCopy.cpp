//===- ExecTensorCopy.cpp - TMA: tensor copies in both directions ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor copy is cut into rows along the innermost dimension. Each row knows
// its offset in the packed box and, as far as it lies inside of the tensor, its
// bytes in global memory; what lies outside is filled by loads and skipped by
// stores. The swizzle is applied to absolute addresses of shared memory.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AsyncCopy.h"
#include "Emulator/AtomicOps.h"
#include "Emulator/Lanes.h"
#include "Emulator/TensorMap.h"

#include <algorithm>

namespace penstock::emu {
namespace {

using ptx::Space;

/// One row of the box.
struct Row {
  uint64_t global = 0; ///< address of the first byte inside of the tensor
  uint32_t box = 0;    ///< offset of that byte in the packed box
  uint32_t bytes = 0;  ///< bytes inside of the tensor
};

/// Types of less than a byte may be padded: 16 elements in the low bytes of 16.
/// The number of these bytes, or 0 for types that are not padded.
uint32_t paddedPayload(const TensorMap &map) {
  return map.dataType == 14 ? 8 : map.dataType == 15 ? 12 : 0;
}

struct Plan {
  TensorMap map;
  uint32_t boxBytes = 0; ///< in shared memory
  uint32_t rowBytes = 0;
  std::vector<Row> rows; ///< only those with bytes inside
  bool whole = false;    ///< nothing lies outside

  AsyncWork work(AsyncWork::Engine engine) const {
    AsyncWork work = plainCopy(engine, boxBytes);
    if (rowBytes)
      work.rows = uint64_t(boxBytes / rowBytes) * ((rowBytes + 127) / 128);
    return work;
  }

  /// Calls fn(address in shared memory, offset in the row's bytes, bytes) for the
  /// parts of \p row that stay together in a box at \p start.
  template <class Fn> void forParts(uint32_t start, const Row &row, Fn &&fn) const {
    uint32_t payload = paddedPayload(map);
    for (uint32_t done = 0; done < row.bytes;) {
      uint32_t linear = start + row.box + (payload ? done / payload * 16 : done);
      uint32_t n = std::min(row.bytes - done, payload ? payload : 16 - linear % 16);
      fn(swizzleAddress(linear, map.swizzle), done, n);
      done += n;
    }
  }
};

/// Notes that a kernel has changed the map at \p ref; copies must acquire it.
void noteEdit(Exec &ex, const MemRef &ref) {
  if (!ex.grid.checks() || ref.space != Space::Global)
    return;
  std::lock_guard<std::mutex> lock(ex.grid.state->mapMutex);
  ++ex.grid.state->mapEdits[ref.allocation->base + ref.offset];
}

/// A map that a kernel has edited must be ordered before its use, and acquired by
/// this block through the proxy that reads maps.
void checkEdited(Exec &ex, unsigned lane, const MemRef &ref) {
  if (!ex.grid.checks() || ref.space != Space::Global)
    return;
  uint64_t address = ref.allocation->base + ref.offset, edits = 0;
  {
    std::lock_guard<std::mutex> lock(ex.grid.state->mapMutex);
    auto found = ex.grid.state->mapEdits.find(address);
    if (found == ex.grid.state->mapEdits.end())
      return;
    edits = found->second;
  }
  checkAccess(ex, lane, ref, tensorMapBytes, Read);
  auto acquired = ex.cta.acquiredMaps.find(address);
  if (acquired == ex.cta.acquiredMaps.end() || acquired->second < edits)
    ex.report(EmuMissingProxyFence,
              "the tensor map was edited by a kernel, and this block has not acquired it with "
              "fence.proxy.tensormap::generic.acquire since");
}

/// Reads the map that \p address points to.
bool readMap(Exec &ex, unsigned lane, uint64_t address, TensorMap &map) {
  MemRef ref;
  if (!resolve(ex, lane, Space::Generic, address, tensorMapBytes, 64, ref))
    return false;
  if (!decodeTensorMap(ref.bytes, map)) {
    ex.fatal(EmuTensorMap, "the bytes at this address are not a tensor map");
    return false;
  }
  checkEdited(ex, lane, ref);
  std::string problem = checkTensorMap(map);
  if (!problem.empty()) {
    ex.fatal(EmuTensorMap, "the tensor map is not legal: " + problem);
    return false;
  }
  if (map.interleave || map.swizzle == 5) {
    ex.fatal(EmuTensorMap, "this mode of tensor maps is not supported");
    return false;
  }
  return true;
}

/// Lays out the box at \p at. \p gather: rows named one by one (the second
/// coordinate of four boxes of one row).
bool makePlan(Exec &ex, unsigned rank, const int64_t *at, bool gather, Plan &plan) {
  const TensorMap &map = plan.map;
  if (map.rank != rank) {
    ex.fatal(EmuTensorMap, "a copy of rank " + std::to_string(rank) +
                               " through a tensor map of rank " + std::to_string(map.rank));
    return false;
  }
  unsigned bits = tensorElementBits(map.dataType);
  bool padded = paddedPayload(map);
  uint32_t counts[5];
  for (unsigned d = 0; d < 5; ++d)
    counts[d] = d < rank ? (map.box[d] + map.elementStrides[d] - 1) / map.elementStrides[d] : 1;
  if (gather) {
    if (map.box[1] != 1) {
      ex.fatal(EmuTensorMap, "gather and scatter need a box of one row");
      return false;
    }
    counts[1] = 4;
  }
  uint32_t rowBytes = padded ? map.box[0] : uint32_t(uint64_t(counts[0]) * bits / 8);
  plan.rowBytes = rowBytes;
  uint64_t rows = 1;
  for (unsigned d = 1; d < 5; ++d)
    rows *= counts[d];
  plan.boxBytes = uint32_t(rows * rowBytes);
  if (rows * rowBytes > (1u << 18)) {
    ex.fatal(EmuTensorMap, "a box of more than 256 KiB");
    return false;
  }
  if (padded && at[0] % 128) {
    ex.fatal(EmuTensorMap, "the first coordinate must be a multiple of 128");
    return false;
  }
  if (bits == 4 && at[0] % 2) {
    ex.fatal(EmuTensorMap, "the first coordinate of a 4-bit type must be even");
    return false;
  }
  uint64_t inside = 0;
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row;
    uint64_t address = map.base;
    bool out = false;
    for (unsigned d = 1; d < rank; ++d) {
      uint64_t index = rest % counts[d];
      rest /= counts[d];
      int64_t c = gather && d == 1 ? at[1 + index] : at[d] + int64_t(index * map.elementStrides[d]);
      if (c < 0 || uint64_t(c) >= map.dims[d]) {
        out = true;
        break;
      }
      address += uint64_t(c) * map.strides[d];
    }
    if (out)
      continue;
    auto add = [&](int64_t from, int64_t to, uint32_t boxElement) {
      // Elements [from, to) of the innermost dimension, clipped.
      int64_t low = std::max<int64_t>(from, 0);
      int64_t high = std::min<int64_t>(to, int64_t(map.dims[0]));
      if (low >= high)
        return;
      Row piece;
      piece.global = address + uint64_t(low) * bits / 8;
      uint64_t skipped = boxElement + uint64_t(low - from);
      piece.box = uint32_t(row * rowBytes + (padded ? skipped : skipped * bits / 8));
      piece.bytes = uint32_t(uint64_t(high - low) * bits / 8);
      inside += padded ? uint64_t(piece.bytes) * 16 / paddedPayload(map) : piece.bytes;
      plan.rows.push_back(piece);
    };
    if (map.elementStrides[0] == 1)
      add(at[0], at[0] + map.box[0], 0);
    else
      for (uint32_t i = 0; i < counts[0]; ++i) {
        int64_t c = at[0] + int64_t(uint64_t(i) * map.elementStrides[0]);
        add(c, c + 1, i);
      }
  }
  plan.whole = inside == plan.boxBytes;
  return true;
}

/// Finds the global memory of all rows.
bool resolveRows(Exec &ex, unsigned lane, const Plan &plan, std::vector<MemRef> &refs) {
  refs.resize(plan.rows.size());
  for (size_t i = 0; i < plan.rows.size(); ++i)
    if (!resolve(ex, lane, Space::Global, plan.rows[i].global, plan.rows[i].bytes, 1, refs[i]))
      return false;
  return true;
}

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

/// ops: destination, map, mbarrier, mask (or none), coordinates.
/// mode: rank; flags: 1 gather, 2 cta_group::2, 4 cta_group named.
void tensorLoad(Exec &ex, const DInst &inst) {
  unsigned rank = inst.mode;
  bool gather = inst.flags & 1;
  forLanes(copyLeaders(ex, inst), [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto plan = std::make_shared<Plan>();
    if (!readMap(ex, lane, ex.address(inst.ops[1], lane), plan->map))
      return;
    int64_t at[5] = {};
    for (unsigned i = 0; i + 4 < inst.numOps && i < 5; ++i)
      at[i] = int32_t(ex.value(inst.ops[4 + i], lane));
    if (!makePlan(ex, rank, at, gather, *plan))
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
    if (!resolveRows(ex, lane, *plan, *refs))
      return;
    bool first = true;
    for (uint32_t rankTo = 0; rankTo < ex.cluster.ctas.size(); ++rankTo) {
      if (!(mask >> rankTo & 1))
        continue;
      Cta &cta = *ex.cluster.ctas[rankTo];
      if (!inShared(ex, cta, uint32_t(to.offset), plan->boxBytes))
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
      uint32_t op = 0;
      if (ex.grid.checks()) {
        op = newOp(ex, lane, "tensor copy");
        cta.openOps.push_back(op);
        if (first)
          for (size_t i = 0; i < plan->rows.size(); ++i)
            checkEngine(ex, lane, op, (*refs)[i], plan->rows[i].bytes, false);
        MemRef target = to;
        target.cta = &cta;
        checkEngine(ex, lane, op, target, plan->boxBytes, true);
      }
      AsyncWork work = plan->work(AsyncWork::Engine::Load);
      work.repeated = !first;
      first = false;
      uint8_t *shared = cta.shared.data();
      uint32_t start = uint32_t(to.offset);
      // Padded types count their payload only.
      uint32_t payload = paddedPayload(plan->map);
      uint32_t counted = payload ? plan->boxBytes / 16 * payload : plan->boxBytes;
      enqueueSignalled(
          ex, lane, op, there, counted,
          [=] {
            if (!plan->whole) {
              uint64_t fill = plan->map.fill ? nanPattern(plan->map.dataType) : 0;
              for (uint32_t i = 0; i < plan->boxBytes; i += 8)
                memcpy(shared + start + i, &fill, std::min<uint32_t>(8, plan->boxBytes - i));
            }
            for (size_t i = 0; i < plan->rows.size(); ++i) {
              const Row &row = plan->rows[i];
              const uint8_t *from = (*refs)[i].bytes;
              plan->forParts(start, row, [&](uint32_t address, uint32_t done, uint32_t n) {
                memcpy(shared + address, from + done, n);
              });
            }
          },
          work);
    }
  });
}

/// ops: source, map, coordinates. mode: rank; flags: 1 scatter, 2 reduction
/// by imm[0].
void tensorStore(Exec &ex, const DInst &inst) {
  unsigned rank = inst.mode;
  bool reduces = inst.flags & 2;
  forLanes(copyLeaders(ex, inst), [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto plan = std::make_shared<Plan>();
    if (!readMap(ex, lane, ex.address(inst.ops[1], lane), plan->map))
      return;
    int64_t at[5] = {};
    for (unsigned i = 0; i + 2 < inst.numOps && i < 5; ++i) {
      at[i] = int32_t(ex.value(inst.ops[2 + i], lane));
      if (at[i] < 0) {
        ex.fatal(EmuTensorMap, "a store at a negative coordinate");
        return;
      }
    }
    if (plan->map.dataType == 14) {
      ex.fatal(EmuTensorMap, "padded 4-bit types cannot be stored");
      return;
    }
    if (!makePlan(ex, rank, at, inst.flags & 1, *plan))
      return;
    MemRef from;
    if (!resolve(ex, lane, Space::Shared, ex.address(inst.ops[0], lane), 16, 128, from) ||
        !inShared(ex, *from.cta, uint32_t(from.offset), plan->boxBytes))
      return;
    auto refs = std::make_shared<std::vector<MemRef>>();
    if (!resolveRows(ex, lane, *plan, *refs))
      return;
    uint32_t op = 0;
    if (ex.grid.checks()) {
      op = newOp(ex, lane, reduces ? "tensor reduction" : "tensor store");
      ex.cta.openOps.push_back(op);
      checkEngine(ex, lane, op, from, plan->boxBytes, false);
      for (size_t i = 0; i < plan->rows.size(); ++i)
        if (!reduces)
          checkEngine(ex, lane, op, (*refs)[i], plan->rows[i].bytes, true);
        else
          noteReduction(ex, (*refs)[i]);
    }
    // The bytes of all rows, one after the other.
    size_t total = 0;
    for (const Row &row : plan->rows)
      total += row.bytes;
    auto stage = std::make_shared<std::vector<uint8_t>>(total);
    const uint8_t *shared = from.cta->shared.data();
    uint32_t start = uint32_t(from.offset);
    AtomicOp atomicOp = AtomicOp(inst.imm[0]);
    static constexpr ptx::Type types[] = {
        ptx::Type::None, ptx::Type::None, ptx::Type::U32, ptx::Type::S32, ptx::Type::U64,
        ptx::Type::S64,  ptx::Type::F16,  ptx::Type::F32, ptx::Type::F64, ptx::Type::BF16,
        ptx::Type::F32,  ptx::Type::F32,  ptx::Type::F32};
    ptx::Type type = plan->map.dataType < 13 ? types[plan->map.dataType] : ptx::Type::None;
    if (reduces && type == ptx::Type::None) {
      ex.fatal(EmuTensorMap, "this element type cannot be reduced");
      return;
    }
    std::mutex *atomics = &ex.grid.state->atomicMutex;
    enqueueGrouped(
        ex, lane, op,
        [=] {
          uint8_t *to = stage->data();
          for (const Row &row : plan->rows) {
            plan->forParts(start, row, [&](uint32_t address, uint32_t done, uint32_t n) {
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
          for (size_t i = 0; i < plan->rows.size(); data += plan->rows[i++].bytes) {
            const Row &row = plan->rows[i];
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
        plan->work(AsyncWork::Engine::Store));
  });
}

bool decodeTensor(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  for (uint8_t rank = 1; rank <= 5; ++rank)
    if (inst.has("." + std::to_string(rank) + "d"))
      out.mode = rank;
  bool isStore = inst.has(".bulk_group");
  bool four = inst.has(".tile::gather4") || inst.has(".tile::scatter4");
  const ptx::Operand &tensor = inst.operands[isStore ? 0 : 1];
  const ptx::Operand &shared = inst.operands[isStore ? 1 : 0];
  const ptx::Operand &coordinates = tensor.elements[1];
  if (coordinates.elements.size() != (four ? 5u : out.mode))
    return d.fail(inst, "the number of coordinates does not fit the rank");
  std::vector<Opnd> ops(isStore ? 2 : 4);
  if (!d.address(inst, shared, ops[0]) || !d.address(inst, tensor, ops[1]))
    return false;
  if (!isStore) {
    if (!d.address(inst, inst.operands[2], ops[2]))
      return false;
    if (inst.has(".multicast::cluster") && !d.source(inst, inst.operands[3], 32, ops[3]))
      return false;
  }
  for (const ptx::Operand &coordinate : coordinates.elements) {
    Opnd op;
    if (!d.source(inst, coordinate, 32, op))
      return false;
    ops.push_back(op);
  }
  out.flags = uint8_t(four ? 1 : 0);
  if (isStore) {
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

/// tensormap.replace: ops: address, value. imm[0]: field, imm[1]: index.
void replaceField(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MemRef ref;
    if (!resolve(ex, lane, Space(inst.imm[2]), ex.address(inst.ops[0], lane), tensorMapBytes, 64,
                 ref))
      return;
    // Kernels make maps of zeroed memory, field by field.
    TensorMap map;
    bool zeroed = std::all_of(ref.bytes, ref.bytes + tensorMapBytes, [](uint8_t b) { return !b; });
    if (!zeroed && !decodeTensorMap(ref.bytes, map)) {
      ex.fatal(EmuTensorMap, "the bytes at this address are neither a tensor map nor zero");
      return;
    }
    if (ex.grid.checks())
      checkAccess(ex, lane, ref, tensorMapBytes, Write);
    uint64_t value = ex.value(inst.ops[1], lane);
    unsigned index = unsigned(inst.imm[1]);
    // This instruction numbers types and swizzles in its own way.
    static constexpr uint8_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15};
    switch (inst.imm[0]) {
    case 0:
      map.base = value;
      break;
    case 1:
      map.rank = uint32_t(value + 1);
      break;
    case 2:
      map.box[index] = uint32_t(value);
      break;
    case 3:
      map.dims[index] = value & 0xffffffff;
      break;
    case 4:
      map.strides[index + 1] = value;
      break;
    case 5:
      map.elementStrides[index] = uint32_t(value);
      break;
    case 6:
      map.dataType = value < 16 ? types[value] : 99;
      break;
    case 7:
      map.interleave = uint32_t(value);
      break;
    case 8:
      map.swizzle = uint32_t(value);
      break;
    default:
      map.fill = uint32_t(value);
    }
    encodeTensorMap(map, ref.bytes);
    noteEdit(ex, ref);
  });
}

bool decodeReplace(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  static constexpr const char *fields[] = {
      ".global_address", ".rank",     ".box_dim",           ".global_dim",   ".global_stride",
      ".element_stride", ".elemtype", ".interleave_layout", ".swizzle_mode", ".fill_mode"};
  out.imm[0] = 99;
  for (uint64_t i = 0; i < 10; ++i)
    if (inst.has(fields[i]))
      out.imm[0] = i;
  if (out.imm[0] == 99)
    return d.fail(inst, "this field cannot be replaced here");
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]))
    return false;
  const ptx::Operand &value = inst.operands.back();
  if (inst.operands.size() == 3) {
    if (!Decoder::immediate(inst.operands[1], out.imm[1]) || out.imm[1] > (out.imm[0] == 4 ? 3 : 4))
      return d.fail(inst, "the index must be a constant below 5");
  }
  bool wide = out.imm[0] == 0 || out.imm[0] == 4;
  if (!d.source(inst, value, wide ? 64 : 32, ops[1]))
    return false;
  out.imm[2] = uint64_t(inst.has(".global")        ? Space::Global
                        : inst.has(".shared::cta") ? Space::Shared
                                                   : Space::Generic);
  d.setOperands(out, std::move(ops));
  out.run = replaceField;
  return true;
}

/// tensormap.cp_fenceproxy: copies a map from shared to global memory and
/// publishes it.
void copyMap(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  unsigned lane = ex.firstLane();
  MemRef to, from;
  if (!resolve(ex, lane, Space::Global, ex.address(inst.ops[0], lane), tensorMapBytes, 128, to) ||
      !resolve(ex, lane, Space::Shared, ex.address(inst.ops[1], lane), tensorMapBytes, 128, from))
    return;
  if (ex.grid.checks()) {
    // Any lane may read any part: edits by one lane have to be ordered before all of them.
    forLanes(ex.mask, [&](unsigned each) { checkAccess(ex, each, from, tensorMapBytes, Read); });
    checkAccess(ex, lane, to, tensorMapBytes, Write);
    // The warp copies together: afterwards each of its lanes may use the map.
    View copied = ex.cluster.newView();
    releaseInto(ex, 1u << lane, copied);
    tick(ex);
    acquire(ex, ex.mask, copied);
  }
  memcpy(to.bytes, from.bytes, tensorMapBytes);
  noteEdit(ex, to);
}

bool decodeCopyMap(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.address(inst, inst.operands[1], ops[1]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = copyMap;
  return true;
}

} // namespace

void addTensorCopy(DecodeTable &table) {
  table["cp.async.bulk.tensor"] = decodeTensor;
  table["cp.reduce.async.bulk.tensor"] = decodeTensor;
  table["tensormap.replace"] = decodeReplace;
  table["tensormap.cp_fenceproxy"] = decodeCopyMap;
}

} // namespace penstock::emu
