//===- Signature.h - "A[M,K], B[N,K] -> C[M,N]" -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A signature names a kernel's arguments, in order, and their sizes. The arrow
// may stand anywhere between arguments; it is for the reader. A scalar is a
// bare name. A size is a name, equal wherever it occurs, or a number.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_SIGNATURE_H
#define PENSTOCK_DIALECT_TILE_SIGNATURE_H

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct SignatureArgument {
  std::string name;
  bool tensor = false;
  std::vector<std::string> sizes;
};

struct Signature {
  std::vector<SignatureArgument> arguments;
  std::string error; ///< empty if the text could be read
};

Signature parseSignature(std::string_view text);

} // namespace penstock

#endif // PENSTOCK_DIALECT_TILE_SIGNATURE_H
