//===- DriverTable.cpp - libcuda: entry points by name --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"

#include <cstring>

using namespace penstock;
using namespace penstock::shim;

// Only their addresses are used here.
#define DRIVER_FUNCTION(NAME, SYMBOL, SINCE) extern "C" int SYMBOL(...);
#include "CudaShim/DriverFunctions.def"

namespace {

const EntryPoint entries[] = {
#define DRIVER_FUNCTION(NAME, SYMBOL, SINCE) {#NAME, reinterpret_cast<void *>(&SYMBOL), SINCE},
#include "CudaShim/DriverFunctions.def"
};

} // namespace

const EntryPoint *penstock::shim::findEntryPoint(const char *name) {
  for (const EntryPoint &entry : entries)
    if (strcmp(entry.name, name) == 0)
      return &entry;
  return nullptr;
}
