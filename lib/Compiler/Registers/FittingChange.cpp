//===- FittingChange.cpp - A field that makes a kernel fit ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Registry.h"
#include "penstock/assemble.h"

#include <algorithm>

using namespace penstock;

/// Kernels that are compiled and assembled at most for one message, and bytes of their PTX: large
/// ones take seconds.
static constexpr int mostTried = 12;
static constexpr size_t mostBytes = 200'000;

std::string penstock::change_that_fits(const std::string &kernel, const InspectOptions &options) {
  auto fields = integerFields(kernel, options.set);
  // Large fields first: sizes of tiles come before numbers of stages.
  std::sort(fields.begin(), fields.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  int tried = 0;
  size_t bytes = 0;
  for (bool halved : {true, false})
    for (const auto &[name, value] : fields) {
      if (halved && value < 2)
        continue;
      if (tried++ == mostTried || bytes > mostBytes)
        return "";
      std::string changed = std::to_string(halved ? value / 2 : value * 2);
      InspectOptions other = options;
      other.after_pass = {};
      other.timing = false;
      other.set.emplace_back(name, changed);
      std::vector<Diagnostic> ignored; // a change that does not compile is none
      AnyKernel compiled = compile_registered(kernel, other, ignored);
      if (!compiled)
        continue;
      std::string ptx = compiled.ptx();
      bytes += ptx.size();
      if (check_registers(ptx, options.target).outcome == RegisterCheck::Outcome::Fits)
        return name + "=" + changed;
    }
  return "";
}
