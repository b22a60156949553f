//===- SingleMath.cpp - Functions of f32 by few instructions --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's polynomials divide, which is a call on GPUs. docs/reference/numerics.md states the
// bounds of these.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/SingleMath.h"
#include "Target/NVPTX/Threads/InlinePtx.h"
#include "Target/SingleFormulas.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;

namespace {

/// With the two instructions for powers of 2 and for reciprocals.
struct Formula : SingleFormulas {
  using SingleFormulas::SingleFormulas;

  /// Its error is two ULP.
  Value exp2(Value x) override { return approximate("ex2", x); }
  /// Its error is one ULP.
  Value reciprocal(Value x) override { return approximate("rcp", x); }
  Value exp(Value x) { return exp2(mul(x, real(1.44269504f))); }

  Value approximate(const char *what, Value x) {
    return nvptx::InlinePtx(b, loc)
        .output(b.getF32Type())
        .input(x)
        .emit(std::string(what) + ".approx.ftz.f32 $0, $1;", nvptx::PtxEffects::None)[0];
  }
};

template <class Op, auto formula> using Expand = ExpandByFormula<Op, Formula, formula>;

} // namespace

void nvptx::populateSingleMathPatterns(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, &Formula::exp>, Expand<math::Exp2Op, &Formula::exp2>,
               Expand<math::ErfOp, &Formula::erf>, Expand<math::TanhOp, &Formula::tanh>>(
      patterns.getContext());
}
