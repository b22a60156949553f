//===- export.h - What the shared library shows -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPORT_H
#define PENSTOCK_EXPORT_H

#define PENSTOCK_EXPORT __attribute__((visibility("default")))

#endif // PENSTOCK_EXPORT_H
