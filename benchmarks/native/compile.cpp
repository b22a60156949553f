//===- compile.cpp - How long compiling takes -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/compile-matmul   from the C++ struct of the README to native code that
//                         can be called, when the process has compiled before;
//                         milliseconds, and the limit that we hold ourselves to
//
//===----------------------------------------------------------------------===//
#include "Measure.h"
#include "ReadmeMatmul.h"

#include <penstock/cache.h>
#include <penstock/penstock.h>

using namespace penstock;

namespace {

using bench::Matmul;

} // namespace

int main(int argc, char **argv) {
  if (auto name = "native/compile-matmul"; bench::wanted(argc, argv, name)) {
    constexpr double limit = 50;
    double ms = 1e3 * bench::bestAlone([] {
                  compile(Matmul{}, Target::native(), {.cache = &KernelCache::none()});
                });
    bench::line(name, ms, limit, ms / limit, "ms (limit)");
  }
}
