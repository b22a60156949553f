//===- ExecTensorMap.cpp - Kernels that edit tensor maps ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"
#include "Emulator/Tensor/TensorMap.h"

#include <algorithm>

namespace penstock::emu {
namespace {

using ptx::Space;

/// Notes that a kernel has changed the map at \p ref; copies must acquire it.
void noteEdit(Exec &ex, const MemRef &ref) {
  if (!ex.grid.checks() || ref.space != Space::Global)
    return;
  std::lock_guard<std::mutex> lock(ex.grid.state->mapMutex);
  ++ex.grid.state->mapEdits[ref.allocation->base + ref.offset];
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

void addTensorMap(DecodeTable &table) {
  table["tensormap.replace"] = decodeReplace;
  table["tensormap.cp_fenceproxy"] = decodeCopyMap;
}

} // namespace penstock::emu
