//===- Wide.h - Functions for several instruction sets ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_WIDE_H
#define PENSTOCK_EMULATOR_WIDE_H

/// Compiles a function for wide vectors, too; the loader selects one. GCC refuses it for functions
/// of anonymous namespaces.
#if defined(__x86_64__) && defined(__clang__)
#define PENSTOCK_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PENSTOCK_WIDE
#endif

#endif // PENSTOCK_EMULATOR_WIDE_H
