//===- compile.cpp - How long compiling for a GPU takes -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// device/compile-NAME-ptx     from the C++ struct to PTX that has been read by the
//                             emulator's parser, when the process has compiled
//                             before; milliseconds, and our limit
// device/compile-NAME-cubin   the same and on to machine code, against ptxas alone
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"
#include "attention/blackwell.h"
#include "attention/hopper.h"
#include "blackwell_matmul/v4.h"
#include "blackwell_matmul/v6.h"
#include "hopper_matmul/steps.h"
#include "matmul/kernel.h"

#include <penstock/assemble.h>

using namespace penstock;

namespace {

template <class K>
void measure(int argc, char **argv, const char *kernelName, const K &kernel, Target target,
             double limit) {
  std::string stem = std::string("device/compile-") + kernelName;
  auto build = [&] { return compile(kernel, target, {.name = "kernel"}); };
  if (std::string name = stem + "-ptx"; bench::wanted(argc, argv, name.c_str())) {
    double ms = 1e3 * bench::bestAlone([&] { build(); });
    bench::line(name.c_str(), ms, limit, ms / limit, "ms (limit)");
  }
  if (std::string name = stem + "-cubin";
      !find_assembler().empty() && bench::wanted(argc, argv, name.c_str())) {
    std::string ptx = build().ptx();
    double whole = 1e3 * bench::bestAlone([&] { assemble(build().ptx(), target); });
    double alone = 1e3 * bench::bestAlone([&] { assemble(ptx, target); });
    bench::line(name.c_str(), whole, alone, whole / alone, "ms (ptxas alone)");
  }
}

} // namespace

int main(int argc, char **argv) {
  constexpr double limit = 60;
  measure(argc, argv, "v4", blackwell::MatmulV4{}, Target::sm_100a(), limit);
  measure(argc, argv, "v6", blackwell::MatmulV6{}, Target::sm_100a(), limit);
  measure(argc, argv, "hopper", hopper::Matmul{.in_flight = 1}, Target::sm_90a(), limit);
  measure(argc, argv, "automatic", examples::Matmul{}, Target::sm_100a(), limit);
  measure(argc, argv, "attention-sm90", attention::HopperAttention{}, Target::sm_90a(), limit);
  measure(argc, argv, "attention-sm100", attention::BlackwellAttention{}, Target::sm_100a(), limit);
}
