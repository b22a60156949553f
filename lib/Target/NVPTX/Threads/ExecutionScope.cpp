//===- ExecutionScope.cpp - Threads that execute an operation -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/ExecutionScope.h"
#include "Target/NVPTX/Threads/LoweringContext.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

Value nvptx::threadInScope(LoweringContext &c, const ExecutionScope &by) {
  return c.add(c.thread, -by.scope.firstWarp * nv::warpSize);
}

Value nvptx::electedThread(LoweringContext &c) {
  if (!c.architecture.tma) // no elect.sync before Hopper
    return c.cmp(arith::CmpIPredicate::eq, c.andBits(c.thread, nv::warpSize - 1), c.i32(0));
  return c.ptxValue(c.builder.getI1Type(),
                    "{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 $0, 1, 0, p; }");
}

Value nvptx::warpgroupOf(LoweringContext &c, Operation *scope, int64_t firstWarp, int64_t warps) {
  bool asked = false;
  scope->walk([&](Operation *op) {
    if (!isa<nv::WgmmaOp, nv::WarpgroupOp>(op))
      return;
    auto role = op->getParentOfType<nv::WarpsOp>();
    asked |= role ? role == scope : isa<func::FuncOp>(scope);
  });
  if (!asked || warps <= nv::warpgroupWarps)
    return {};
  // Taken from one lane, the assembler knows that all have the same number, and addresses of
  // operands stay in uniform registers.
  Value warp = arith::SubIOp::create(c.builder, c.loc, c.shiftRight(c.thread, 5), c.i32(firstWarp));
  Value same = c.ptxValue(c.builder.getI32Type(), "shfl.sync.idx.b32 $0, $1, 0, 31, 0xffffffff;",
                          {c.shiftRight(warp, 2)});
  return same;
}

void nvptx::issuePtx(LoweringContext &c, const ExecutionScope &by, StringRef text,
                     ArrayRef<Value> operands) {
  if (by.electsIssuer) {
    c.ptx("{ .reg .pred issuer; elect.sync _|issuer, 0xffffffff; " + text.str() + " }", operands);
    return;
  }
  auto [before, guarded] = text.split("@issuer ");
  c.ptx((before + guarded).str(), operands);
}
