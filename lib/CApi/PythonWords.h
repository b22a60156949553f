//===- PythonWords.h - Suggested fixes in the language of a kernel -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CAPI_PYTHONWORDS_H
#define PENSTOCK_CAPI_PYTHONWORDS_H

#include "penstock/diagnostics.h"

namespace penstock::capi {

/// Rewrites C++ in a text as penstock.lang spells it: `cast<f32>(x)` as `pl.cast(pl.f32, x)`.
std::string inPython(const std::string &text);

/// Rewrites the suggested fixes of diagnostics whose kernels a front end has recorded.
void speakPython(std::vector<Diagnostic> &diagnostics);

} // namespace penstock::capi

#endif // PENSTOCK_CAPI_PYTHONWORDS_H
