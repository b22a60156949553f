//===- CompilerId.h - Identity of this compiler -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_COMPILERID_H
#define PENSTOCK_TUNING_COMPILERID_H

#include <string>

namespace penstock::tuning {

/// Build id of the library that this code is in: records of other compilers are not used.
const std::string &compilerId();

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_COMPILERID_H
