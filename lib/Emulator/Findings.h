//===- Findings.h - Collecting what a launch has to say ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Findings come from several host threads and the same mistake shows up for
// every block and iteration. The collector keeps the first of each kind and
// pair of places, in an order that does not depend on the host's threads.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_FINDINGS_H
#define PENSTOCK_EMULATOR_FINDINGS_H

#include "Diagnostics/Diagnostic.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace penstock::emu {

struct Program;

/// Who was where.
struct Place {
  uint32_t pc = 0;
  uint32_t x = 0, y = 0, z = 0; ///< block
  uint32_t warp = 0, lane = 0;
};

struct Finding {
  unsigned code = 0;
  Severity severity = Severity::Error;
  Place place;
  std::string message;
  /// Further places with what happened there.
  std::vector<std::pair<Place, std::string>> others;
  std::string reason; ///< why the places are unordered, what to do
  std::vector<std::pair<std::string, std::string>> facts;
};

class Findings {
public:
  void add(Finding finding);
  /// Whether a finding of \p code at \p place, with the other place \p other, would
  /// be kept. If not it has been counted, and need not be put into words.
  bool wants(unsigned code, const Place &place, uint32_t other);
  size_t size() const;
  bool full() const { return size() >= limit; }
  /// Everything found, as diagnostics with PTX and source lines.
  std::vector<Diagnostic> take(const Program &program, const std::string &timing);

  size_t limit = 50;

private:
  struct Key {
    unsigned code;
    uint32_t pc, other;
    auto operator<=>(const Key &) const = default;
  };
  bool crowded(const Key &key) const;

  mutable std::mutex mutex;
  std::map<Key, std::pair<Finding, unsigned>> found; ///< with multiplicity
};

/// "block (1,0,0) warp 3 lane 0".
std::string describe(const Place &place);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_FINDINGS_H
