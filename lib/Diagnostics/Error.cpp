//===- Error.cpp - The public face of diagnostics -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"

namespace penstock {

std::string to_text(const std::vector<Diagnostic> &diagnostics) { return render(diagnostics); }

std::string to_json(const std::vector<Diagnostic> &diagnostics) { return toJson(diagnostics); }

void detail::raise(std::vector<Diagnostic> diagnostics) { throw Error(std::move(diagnostics)); }

Error::Error(std::vector<Diagnostic> diagnostics)
    : all(std::move(diagnostics)), text(render(all)) {}

Error::~Error() = default;

} // namespace penstock
