//===- VariableNames.h - Tiles are called what the user calls them -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LANG_VARIABLENAMES_H
#define PENSTOCK_LANG_VARIABLENAMES_H

#include <string>
#include <string_view>

namespace penstock {

/// The variable that the \p ordinal-th allocation on a source line initializes:
/// "Bs" for 1 and `auto As = b.shared<f16>(..), Bs = b.shared<f16>(..);`. Empty
/// if the line does not tell.
std::string variableName(std::string_view line, unsigned ordinal);

/// The \p ordinal-th object that a source line declares with arguments: "second" for 1 and
/// `Ring first(b, 2), second(b, 3);`. Empty if the line declares none.
std::string objectName(std::string_view line, unsigned ordinal);

} // namespace penstock

#endif // PENSTOCK_LANG_VARIABLENAMES_H
