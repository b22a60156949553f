//===- Z3AtRunTime.cpp - Z3 as a library that may be missing --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds for packages do not link Z3. They define its functions here, as jumps to those of
// the library that was opened.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Z3AtRunTime.h"

#include <cstdlib>
#include <dlfcn.h>

#ifndef __x86_64__
#error "builds without a linked Z3 are for x86-64"
#endif

// Assembly, because nothing of a signature matters: arguments stay where they are.
#define Z3_FUNCTION(NAME)                                                                          \
  extern "C" __attribute__((visibility("hidden"), used)) void *penstock_address_of_##NAME;         \
  void *penstock_address_of_##NAME = nullptr;                                                      \
  asm(".pushsection .text." #NAME ",\"ax\",@progbits\n"                                            \
      ".globl " #NAME "\n.hidden " #NAME "\n.type " #NAME ",@function\n" #NAME ":\n"               \
      "  jmp *penstock_address_of_" #NAME "(%rip)\n"                                               \
      ".size " #NAME ", .-" #NAME "\n.popsection\n");
#include "Scheduling/Schedule/Z3Functions.def"

namespace penstock::sched {
namespace {

bool findFunctions(void *library) {
  bool all = true;
#define Z3_FUNCTION(NAME)                                                                          \
  penstock_address_of_##NAME = dlsym(library, #NAME);                                              \
  all &= penstock_address_of_##NAME != nullptr;
#include "Scheduling/Schedule/Z3Functions.def"
  return all;
}

bool load() {
  const char *given = std::getenv("PENSTOCK_Z3");
  for (const char *name : {given, "libz3.so.4", "libz3.so"})
    if (void *library = name && *name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr) {
      if (findFunctions(library))
        return true;
      dlclose(library);
    }
  return false;
}

} // namespace

bool z3Loaded() {
  static const bool loaded = load();
  return loaded;
}

} // namespace penstock::sched
