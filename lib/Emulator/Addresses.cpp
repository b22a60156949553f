//===- Addresses.cpp - Resolving addresses to memory ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Races/HappensBefore.h"

#include <cstdio>

namespace penstock::emu {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

} // namespace

bool resolve(Exec &ex, unsigned lane, ptx::Space space, uint64_t address, unsigned size,
             unsigned align, MemRef &ref) {
  auto bad = [&](unsigned code, const std::string &message) {
    uint32_t saved = ex.mask;
    ex.mask = 1u << lane;
    ex.fatal(code, message);
    ex.mask = saved;
    return false;
  };
  if (space == ptx::Space::Generic) {
    switch (address & windowMask) {
    case sharedWindow:
      space = ptx::Space::Shared;
      address &= 0xffffffff;
      break;
    case localWindow:
      space = ptx::Space::Local;
      address &= ~windowMask;
      break;
    case paramWindow:
      space = ptx::Space::Param;
      address &= ~windowMask;
      break;
    default:
      space = ptx::Space::Global;
    }
  }
  if (align > 1 && address % align)
    return bad(EmuMisaligned, std::string(ptx::spaceName(space)) + " address " + hex(address) +
                                  " is not aligned to " + std::to_string(align) + " bytes");
  ref.space = space;
  switch (space) {
  case ptx::Space::Shared: {
    address &= 0xffffffff;
    uint32_t rank = uint32_t(address >> rankShift);
    uint32_t offset = uint32_t(address) & sharedOffsetMask;
    if (rank >= ex.cluster.ctas.size())
      return bad(EmuOutOfBounds, "shared address " + hex(address) + " names block " +
                                     std::to_string(rank) + " of a cluster of " +
                                     std::to_string(ex.cluster.ctas.size()));
    Cta &cta = *ex.cluster.ctas[rank];
    if (offset < sharedReserved || size > cta.shared.size() || offset > cta.shared.size() - size)
      return bad(EmuOutOfBounds, "access of " + std::to_string(size) + " bytes at " +
                                     sharedName(ex.grid, offset) + " lies outside of the block's " +
                                     std::to_string(cta.shared.size() - sharedReserved) +
                                     " bytes of shared memory");
    if (&cta != &ex.cta && cta.liveThreads == 0)
      return bad(EmuOutOfBounds, "access to the shared memory of a block that has exited");
    ref.cta = &cta;
    ref.offset = offset;
    ref.bytes = cta.shared.data() + offset;
    return true;
  }
  case ptx::Space::Local: {
    if (address >= ex.grid.program->localBytes || size > ex.grid.program->localBytes - address)
      return bad(EmuOutOfBounds,
                 "local address " + hex(address) + " lies outside of the thread's frame");
    ref.offset = address;
    ref.bytes = ex.warp.local.data() + size_t(lane) * ex.grid.program->localBytes + address;
    return true;
  }
  case ptx::Space::Param: {
    if (address >= ex.grid.config.params.size() || size > ex.grid.config.params.size() - address)
      return bad(EmuOutOfBounds,
                 "parameter address " + hex(address) + " lies outside of the parameters");
    ref.offset = address;
    ref.bytes = ex.grid.config.params.data() + address;
    return true;
  }
  default: {
    Allocation *allocation = ex.grid.device->memory.find(address);
    if (!allocation || size > allocation->size - (address - allocation->base)) {
      std::string message =
          "access of " + std::to_string(size) + " bytes at global address " + hex(address);
      if (const Allocation *near = ex.grid.device->memory.nearest(address)) {
        message += near->live ? ", " + std::to_string(address - near->base) + " bytes into "
                              : ", inside of released memory ";
        message += near->name.empty() ? "an allocation of " + std::to_string(near->size) + " bytes"
                                      : near->name + " of " + std::to_string(near->size) + " bytes";
      } else {
        message += ", where nothing is allocated";
      }
      return bad(EmuOutOfBounds, message);
    }
    if (!ex.grid.checks() && !allocation->accessed.load(std::memory_order_relaxed))
      allocation->accessed.store(true, std::memory_order_relaxed);
    ref.space = ptx::Space::Global;
    ref.allocation = allocation;
    ref.offset = address - allocation->base;
    ref.bytes = allocation->bytes.get() + ref.offset;
    return true;
  }
  }
}

} // namespace penstock::emu
