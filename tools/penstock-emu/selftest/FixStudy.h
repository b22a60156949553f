//===- FixStudy.h - Repairs of mutants of the self-test ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_SELFTEST_FIXSTUDY_H
#define PENSTOCK_TOOLS_EMU_SELFTEST_FIXSTUDY_H

#include "selftest/Builder.h"

namespace penstock::emu {

/// Repairs \p count mutants that have findings, spread evenly over \p kernels, and prints how many
/// are restored. Returns an exit code: 1 if a patch was wrong.
int runFixStudy(const std::vector<selftest::Kernel> &kernels, unsigned count, bool verbose,
                bool json);

} // namespace penstock::emu

#endif // PENSTOCK_TOOLS_EMU_SELFTEST_FIXSTUDY_H
