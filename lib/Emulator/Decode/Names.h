//===- Names.h - Names of memory, barriers and warps ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names come from the symbols of the launch; without one, from the variables of
// the PTX and the names of allocations, with offsets.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_DECODE_NAMES_H
#define PENSTOCK_EMULATOR_DECODE_NAMES_H

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace penstock::emu {

struct Allocation;
struct Grid;

/// A part of memory: a slot, byte or column of an object that has a name.
struct MemoryPart {
  enum Unit : uint8_t { Whole, Slot, Byte, Column };
  uint64_t object = 0; ///< the same for all parts of one object; orders objects
  std::string name;    ///< of the object
  Unit unit = Whole;
  uint64_t at = 0;
};

/// A C++ name as its source has it; other names are unchanged.
std::string demangled(const std::string &name);
/// The name of a variable: the same, without the function that it is local to.
std::string sourceName(const std::string &name);

MemoryPart sharedPart(const Grid &grid, uint64_t offset);
MemoryPart tensorPart(const Grid &grid, uint32_t column);
MemoryPart globalPart(const Allocation &allocation, uint64_t offset);

/// Parts of memory that are named together: "`As[0]` to `As[2]`".
class MemoryParts {
public:
  void add(const MemoryPart &part);
  void add(const MemoryParts &other);
  bool empty() const { return objects.empty(); }
  /// Returns whether both contain a common object.
  bool meets(const MemoryParts &other) const;
  std::string text() const;

private:
  struct Extent {
    std::string name;
    MemoryPart::Unit unit;
    uint64_t first, last;
  };
  std::map<uint64_t, Extent> objects;
};

/// One part of shared memory: "`full[0]`", "smem+1024".
std::string sharedName(const Grid &grid, uint64_t offset);
/// "barrier `ready`", "barrier 3".
std::string namedBarrier(const Grid &grid, unsigned id);

/// "warp 3", "warps 0, 2 and 4 to 7".
std::string warpsText(const std::set<uint32_t> &warps);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_DECODE_NAMES_H
