//===- Serialize.h - Diagnostics as JSON and SARIF --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_SERIALIZE_H
#define PENSTOCK_DIAGNOSTICS_SERIALIZE_H

#include "Diagnostics/Diagnostic.h"

#include <span>

namespace penstock {

/// [{"severity":"error","code":"PS1203",...}]
std::string toJsonArray(std::span<const Diagnostic>);
/// {"diagnostics":[{"severity":"error","code":"PS1203",...}]}
std::string toJson(std::span<const Diagnostic>);

/// A SARIF 2.1.0 log with one run.
std::string toSarif(std::span<const Diagnostic>, const std::string &toolName);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_SERIALIZE_H
