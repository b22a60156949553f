//===- LocationTable.h - Source locations of a program by number -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cached kernel must not name the lines of the recording that it was compiled from:
// an edit above the kernel moves them. Its diagnostics and its PTX hold numbers instead,
// which each recording resolves.
//
// Numbers count the distinct locations of the operations in the order of the program.
// pattern() says which operations share a location, a line and a file, and is part of the
// cache's key. So two recordings with equal keys number the same operations alike, and
// passes that compare or merge locations do the same for both.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_LOCATIONTABLE_H
#define PENSTOCK_COMPILER_LOCATIONTABLE_H

#include "Diagnostics/Diagnostic.h"
#include "Runtime/DeviceKernel.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

namespace penstock {

class LocationTable {
public:
  explicit LocationTable(mlir::ModuleOp module);

  const std::string &pattern() const { return patternText; }

  /// Replaces locations by numbers. Returns false if one is not of the program; then the
  /// values are unusable.
  bool number(std::vector<Diagnostic> &diagnostics) const;
  bool number(DeviceKernel &kernel) const;

  /// Replaces numbers by locations. Returns false for numbers that do not exist.
  bool resolve(std::vector<Diagnostic> &diagnostics) const;
  bool resolve(DeviceKernel &kernel) const;

private:
  void add(mlir::LocationAttr location);
  bool number(SourceLocation &location) const;
  bool resolve(SourceLocation &location) const;
  bool numberPtx(std::string &ptx) const;
  bool resolvePtx(std::string &ptx) const;

  std::vector<SourceLocation> locations;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, unsigned> numbers;
  std::map<std::pair<std::string, uint32_t>, unsigned> lines; ///< the first of each
  std::map<std::string, unsigned> files;
  /// Lines of unnamed tiles and barriers, whose names are made of them.
  std::map<uint32_t, std::set<unsigned>> unnamed;
  std::string patternText;
};

} // namespace penstock

#endif // PENSTOCK_COMPILER_LOCATIONTABLE_H
