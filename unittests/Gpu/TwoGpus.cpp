//===- TwoGpus.cpp - The machine of these tests ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cstdlib>

// Before the first call of the driver, which reads it.
[[maybe_unused]] static const int devices = setenv("PENSTOCK_EMU_DEVICE", "h100,b200", 1);
