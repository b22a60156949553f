//===- ExecCluster.cpp - Clusters: mapa and launch control ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AsyncCopy.h"
#include "Emulator/Lanes.h"

namespace penstock::emu {
namespace {

using ptx::Space;

/// ops: d, a, rank. Keeps the window of generic addresses.
void mapAddress(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t address = ex.value(inst.ops[1], lane);
    uint64_t rank = ex.value(inst.ops[2], lane) & 0xffffffff;
    if (rank >= ex.cluster.ctas.size()) {
      ex.fatal(EmuIllegalOperand, "block " + std::to_string(rank) + " is not in a cluster of " +
                                      std::to_string(ex.cluster.ctas.size()));
      return;
    }
    uint64_t mapped = (address & ~(uint64_t(0xff) << rankShift)) | rank << rankShift;
    ex.setValue(inst.ops[0], lane, mapped);
  });
}

void getRank(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    ex.setValue(inst.ops[0], lane, ex.value(inst.ops[1], lane) >> rankShift & 0xff);
  });
}

bool decodeMap(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  unsigned bits = ptx::typeBits(inst.type());
  std::vector<Opnd> ops(3);
  if (!d.destination(inst, inst.operands[0], ops[0]) ||
      !d.source(inst, inst.operands[1], bits, ops[1]) ||
      (inst.operands.size() > 2 && !d.source(inst, inst.operands[2], 32, ops[2])))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = inst.form->name == "mapa" ? mapAddress : getRank;
  return true;
}

/// The response of launch control, in our own encoding: word 0 is 1 for a
/// cancelled cluster, words 1 to 3 its first block.
struct Response {
  uint32_t valid = 0;
  uint32_t id[3] = {0, 0, 0};
};

/// ops: response, mbarrier. mode 1: to all blocks of the cluster.
void tryCancel(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MemRef to;
    Signal signal;
    if (!resolve(ex, lane, Space::Shared, ex.address(inst.ops[0], lane), 16, 16, to) ||
        !resolveSignal(ex, lane, Space::Shared, ex.address(inst.ops[1], lane), signal))
      return;
    Grid *grid = &ex.grid;
    auto response = std::make_shared<Response>();
    auto decided = std::make_shared<bool>(false);
    for (auto &cta : ex.cluster.ctas) {
      if (!inst.mode && cta.get() != to.cta)
        continue;
      MemRef target = to;
      target.cta = cta.get();
      target.bytes = cta->shared.data() + to.offset;
      Signal there = signal;
      there.cta = cta.get();
      uint32_t op = 0;
      if (ex.grid.checks()) {
        op = newOp(ex, lane, "clusterlaunchcontrol.try_cancel");
        cta->openOps.push_back(op);
        checkEngine(ex, lane, op, target, 16, true);
      }
      uint8_t *bytes = target.bytes;
      enqueueSignaled(
          ex, lane, op, there, 16,
          [=] {
            if (!*decided) {
              *decided = true;
              std::lock_guard<std::mutex> lock(grid->launchMutex);
              if (!grid->allTaken()) {
                uint32_t at = grid->takeCluster();
                response->valid = 1;
                for (size_t d = 0; d < 3; ++d) {
                  uint32_t across = grid->config.grid[d] / grid->clusterDim[d];
                  response->id[d] = at % across * grid->clusterDim[d];
                  at /= across;
                }
              }
            }
            memcpy(bytes, response.get(), 16);
          },
          plainCopy(AsyncWork::Engine::Load, 16));
    }
  });
}

bool decodeTryCancel(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.address(inst, inst.operands[1], ops[1]))
    return false;
  out.mode = inst.has(".multicast::cluster::all");
  d.program.crossCta = true;
  d.program.usesLaunchControl = true;
  d.setOperands(out, std::move(ops));
  out.run = tryCancel;
  return true;
}

/// ops: destinations, response. mode 0: is_canceled, else get_first_ctaid with
/// the components mode-1 and on.
void queryCancel(Exec &ex, const DInst &inst) {
  const Opnd &source = inst.ops[inst.numOps - 1];
  uint32_t valid = 0;
  forLanes(ex.mask, [&](unsigned lane) {
    Response response;
    uint64_t low = ex.row<uint64_t>(source)[lane];
    uint64_t high = ex.row<uint64_t>(source)[32 + lane];
    memcpy(&response, &low, 8);
    memcpy(reinterpret_cast<uint8_t *>(&response) + 8, &high, 8);
    valid |= uint32_t(response.valid == 1) << lane;
    if (!inst.mode)
      return;
    if (response.valid != 1)
      ex.report(EmuIllegalOperand, "the block of a declined request is not defined");
    for (unsigned i = 0; i + 1 < inst.numOps; ++i) {
      unsigned component = inst.mode - 1 + i;
      ex.setValue(inst.ops[i], lane, component < 3 ? response.id[component] : 0);
    }
  });
  if (!inst.mode)
    ex.setPred(inst.ops[0], valid);
}

bool decodeQuery(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  const std::string &name = inst.form->name;
  const ptx::Operand &dst = inst.operands[0];
  std::vector<Opnd> ops;
  auto add = [&](const ptx::Operand &operand) {
    Opnd op;
    if (!d.destination(inst, operand, op))
      return false;
    ops.push_back(op);
    return true;
  };
  if (dst.kind == ptx::Operand::Kind::Vector) {
    if (dst.elements.size() != 4)
      return d.fail(inst, "four destinations are needed");
    for (const ptx::Operand &element : dst.elements)
      if (!add(element))
        return false;
  } else if (!add(dst)) {
    return false;
  }
  Opnd source;
  if (!d.source(inst, inst.operands[1], 128, source))
    return false;
  ops.push_back(source);
  out.mode = name.find("is_canceled") != std::string::npos ? 0
             : name.back() == 'y'                          ? 2
             : name.back() == 'z'                          ? 3
                                                           : 1;
  d.setOperands(out, std::move(ops));
  out.run = queryCancel;
  return true;
}

} // namespace

void addCluster(DecodeTable &table) {
  table["mapa"] = table["getctarank"] = decodeMap;
  table["clusterlaunchcontrol.try_cancel.async"] = decodeTryCancel;
  for (const char *name : {"is_canceled", "get_first_ctaid", "get_first_ctaid::x",
                           "get_first_ctaid::y", "get_first_ctaid::z"})
    table[std::string("clusterlaunchcontrol.query_cancel.") + name] = decodeQuery;
}

} // namespace penstock::emu
