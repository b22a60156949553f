//===- penstock.h - Tile kernels in C++ -------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything to write, compile and run kernels. Includes only the standard
// library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PENSTOCK_H
#define PENSTOCK_PENSTOCK_H

#include "penstock/block.h"
#include "penstock/compile.h"
#include "penstock/pack.h"
#include "penstock/registry.h"
#include "penstock/view.h"

#endif // PENSTOCK_PENSTOCK_H
