//===- Kernels.h - Loops of real kernels with their costs -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SCHEDULING_KERNELS_H
#define PENSTOCK_UNITTESTS_SCHEDULING_KERNELS_H

#include "Hardware/Architecture.h"
#include "Instances.h"

namespace penstock::sched {

inline void setCost(Problem &p, const std::string &statement, const std::string &engine,
                    hw::Cost cost) {
  Statement &s = p.statements.at(p.findStatement(statement));
  s.engine = engine;
  s.busy = cost.busy;
  s.latency = cost.latency;
}

/// 128x128x64 f16 tiles.
inline Problem gemmProblem(const hw::Architecture &arch) {
  Problem p = parseOne(R"(loop gemm {
  buffer A global
  buffer B global
  buffer As shared bytes 16384
  buffer Bs shared bytes 16384
  buffer acc local
  queue mma inorder acc
  statement copyA copy async reads A[k] writes As at "matmul.cpp" 20
  statement copyB copy async reads B[k] writes Bs at "matmul.cpp" 21
  statement gemm compute async queue mma reads As, Bs, acc writes acc at "matmul.cpp" 22
})")
                  .problem;
  p.capacity[size_t(Space::Shared)] = arch.limits.sharedBytesPerBlock;
  setCost(p, "copyA", "tma", arch.load(16384, 128));
  setCost(p, "copyB", "tma", arch.load(16384, 128));
  setCost(p, "gemm", "tensor", arch.gemm(128, 128, 64, 2));
  return p;
}

/// One step of attention forward, 128 queries x 128 keys, head dimension 128.
/// With \p ownRescale the old output is scaled by a statement of its own.
inline Problem attentionProblem(const hw::Architecture &arch, bool ownRescale) {
  std::string softmax = ownRescale ? "  statement softmax compute reads S, top, sum writes P, "
                                     "factor, top, sum at \"attention.cpp\" 34\n"
                                     "  statement rescale compute reads factor, out writes out "
                                     "at \"attention.cpp\" 41\n"
                                   : "  statement softmax compute reads S, top, sum, out writes "
                                     "P, top, sum, out at \"attention.cpp\" 34\n";
  Problem p = parseOne(
                  R"(loop attention {
  buffer K global
  buffer V global
  buffer Ks shared bytes 32768
  buffer Vs shared bytes 32768
  buffer S local
  buffer P local
  buffer top local
  buffer sum local
  buffer factor local
  buffer out local
  queue mma inorder S, out
  statement copyK copy async reads K[k] writes Ks at "attention.cpp" 32
  statement QK compute async queue mma reads Ks writes S at "attention.cpp" 33
)" + softmax +
                  R"(  statement copyV copy async reads V[k] writes Vs at "attention.cpp" 43
  statement PV compute async queue mma reads P, Vs, out writes out at "attention.cpp" 44
})")
                  .problem;
  p.capacity[size_t(Space::Shared)] = arch.limits.sharedBytesPerBlock;
  setCost(p, "copyK", "tma", arch.load(32768, 128));
  setCost(p, "copyV", "tma", arch.load(32768, 128));
  setCost(p, "QK", "tensor", arch.gemm(128, 128, 128, 2));
  setCost(p, "PV", "tensor", arch.gemm(128, 128, 128, 2));
  // Maximum, subtraction, sum and conversion on the cores while the special
  // function units make the exponentials.
  hw::Cost exp = arch.exponentials(128 * 128);
  hw::Cost rest = arch.elementwise(4 * 128 * 128);
  setCost(p, "softmax", "cuda", {exp.busy + rest.busy, exp.busy + rest.latency});
  if (ownRescale)
    setCost(p, "rescale", "cuda", arch.elementwise(128 * 128));
  return p;
}

} // namespace penstock::sched

#endif // PENSTOCK_UNITTESTS_SCHEDULING_KERNELS_H
