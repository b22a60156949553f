//===- RandomArguments.h - Tensors for trying a kernel ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_RANDOMARGUMENTS_H
#define PENSTOCK_TOOLS_RANDOMARGUMENTS_H

#include "penstock/inspect.h"

/// Arguments of a launch with memory of their own.
struct RandomArguments {
  std::vector<penstock::detail::Argument> arguments;
  std::vector<std::vector<char>> memory;
};

/// Makes arguments from sizes by name ("M") or, for kernels without a
/// signature, by argument ("A" = "128x64"), and scalars by name. Inputs hold
/// small random numbers. Errors are texts.
std::string makeArguments(const std::vector<penstock::ArgumentDescription> &descriptions,
                          const std::vector<std::pair<std::string, std::string>> &values,
                          uint64_t seed, RandomArguments &result);

/// An element as a number.
double elementAt(const penstock::detail::Argument &tensor, size_t index);

#endif // PENSTOCK_TOOLS_RANDOMARGUMENTS_H
