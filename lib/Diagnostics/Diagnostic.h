//===- Diagnostic.h - The data type, for the library's own code -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type itself is public; Render.h turns it into text for people and
// Serialize.h into JSON and SARIF for tools.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_DIAGNOSTIC_H
#define PENSTOCK_DIAGNOSTICS_DIAGNOSTIC_H

#include "penstock/diagnostics.h"

#endif // PENSTOCK_DIAGNOSTICS_DIAGNOSTIC_H
