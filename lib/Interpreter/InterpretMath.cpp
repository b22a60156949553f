//===- InterpretMath.cpp - Mathematical functions of scalars --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions are computed in double and rounded to their type, which is
// correctly rounded but for the rarest of cases in all types except f64.
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Models.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace penstock::interpreter {

template <class Op> static void unary(Op op, Frame &frame, double (*function)(double)) {
  double value = function(frame.real(op.getOperand()));
  frame.set(op.getResult(), Scalar::of(roundTo(elementOf(op.getType()), value)));
}

#define UNARY(OP, FUNCTION)                                                                        \
  static void execute(math::OP op, Frame &frame) {                                                 \
    unary(op, frame, [](double x) -> double { return FUNCTION; });                                 \
  }
UNARY(ExpOp, std::exp(x))
UNARY(Exp2Op, std::exp2(x))
UNARY(LogOp, std::log(x))
UNARY(Log2Op, std::log2(x))
UNARY(SqrtOp, std::sqrt(x))
UNARY(RsqrtOp, 1.0 / std::sqrt(x))
UNARY(TanhOp, std::tanh(x))
UNARY(ErfOp, std::erf(x))
UNARY(SinOp, std::sin(x))
UNARY(CosOp, std::cos(x))
UNARY(AbsFOp, std::fabs(x))
UNARY(FloorOp, std::floor(x))
UNARY(CeilOp, std::ceil(x))
UNARY(RoundEvenOp, std::nearbyint(x))
#undef UNARY

/// The least integer has no positive counterpart and stays itself.
static void execute(math::AbsIOp op, Frame &frame) {
  int64_t value = frame.integer(op.getOperand());
  uint64_t bits = static_cast<uint64_t>(value);
  frame.setInteger(op.getResult(),
                   wrap(value < 0 ? -bits : bits, widthOf(elementOf(op.getType()))));
}

static void execute(math::FmaOp op, Frame &frame) {
  frame.set(op.getResult(),
            Scalar::of(fusedMultiplyAdd(elementOf(op.getType()), frame.real(op.getA()),
                                        frame.real(op.getB()), frame.real(op.getC()))));
}

void addMathModels(DialectRegistry &registry) {
  addModels<math::MathDialect, math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::SqrtOp,
            math::RsqrtOp, math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::AbsFOp,
            math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::FmaOp>(registry);
}

} // namespace penstock::interpreter
