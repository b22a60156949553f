//===- location.h - Source locations of recorded calls ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every recording call takes a defaulted `Loc at = here()`. If a user's helper
// takes one and forwards it, messages show the line of the helper's caller.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LOCATION_H
#define PENSTOCK_LOCATION_H

#include <source_location>

namespace penstock {

struct Loc {
  const char *file = "";
  unsigned line = 0;
  /// Recording whose block was called; 0: not a call on a block.
  unsigned recorder = 0;
  /// Column of the called name or of its parenthesis, depending on the compiler.
  unsigned column = 0;
};

/// Returns the source location of the caller, as the default of a last parameter.
constexpr Loc here(std::source_location at = std::source_location::current()) {
  return {at.file_name(), at.line(), 0, at.column()};
}

} // namespace penstock

#endif // PENSTOCK_LOCATION_H
