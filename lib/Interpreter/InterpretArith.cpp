//===- InterpretArith.cpp - Arithmetic of scalars -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flags that promise something to an optimizer (nsw, exact, fast-math) do not
// change what an operation computes here.
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace penstock::interpreter {

static unsigned widthOf(Value value) { return widthOf(elementOf(value.getType())); }

static void execute(arith::ConstantOp op, Frame &frame) {
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    return frame.set(op.getResult(), Scalar::of(real.getValueAsDouble()));
  frame.setInteger(op.getResult(),
                   cast<IntegerAttr>(op.getValue()).getValue().sextOrTrunc(64).getSExtValue());
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

namespace {
/// The operands of an integer operation, in the forms that operations want.
struct Integers {
  int64_t a, b;   ///< signed
  uint64_t x, y;  ///< unsigned
  unsigned width; ///< in bits
};
} // namespace

template <class Op, class Function> static void integer(Op op, Frame &frame, Function function) {
  unsigned width = widthOf(op.getResult());
  int64_t a = frame.integer(op.getLhs()), b = frame.integer(op.getRhs());
  Integers in = {a, b, unsignedOf(a, width), unsignedOf(b, width), width};
  frame.setInteger(op.getResult(), wrap(static_cast<uint64_t>(function(in)), width));
}

#define INTEGER(OP, RESULT)                                                                        \
  static void execute(arith::OP op, Frame &frame) {                                                \
    integer(op, frame, [](const Integers &in) {                                                    \
      [[maybe_unused]] auto [a, b, x, y, width] = in;                                              \
      return RESULT;                                                                               \
    });                                                                                            \
  }
INTEGER(AddIOp, x + y)
INTEGER(SubIOp, x - y)
INTEGER(MulIOp, x *y)
INTEGER(AndIOp, x &y)
INTEGER(OrIOp, x | y)
INTEGER(XOrIOp, x ^ y)
INTEGER(ShLIOp, y < width ? x << y : 0)
INTEGER(ShRUIOp, y < width ? x >> y : 0)
INTEGER(ShRSIOp, a >> std::min<uint64_t>(y, 63))
INTEGER(MinSIOp, std::min(a, b))
INTEGER(MaxSIOp, std::max(a, b))
INTEGER(MinUIOp, std::min(x, y))
INTEGER(MaxUIOp, std::max(x, y))
#undef INTEGER

/// Divides, if the result exists; otherwise the result is 0 and a fault.
template <class Op, class Function>
static void division(Op op, Frame &frame, bool isSigned, Function function) {
  integer(op, frame, [&](const Integers &in) -> int64_t {
    if (in.b == 0) {
      frame.launch.fault(op, FaultDivision, "division by zero");
      return 0;
    }
    if (isSigned && in.b == -1 && in.x == uint64_t(1) << (in.width - 1)) {
      frame.launch.fault(op, FaultDivision,
                         "the quotient of " + std::to_string(in.a) + " and -1 does not fit into " +
                             std::to_string(in.width) + " bits");
      return 0;
    }
    return function(in);
  });
}

#define DIVISION(OP, SIGNED, RESULT)                                                               \
  static void execute(arith::OP op, Frame &frame) {                                                \
    division(op, frame, SIGNED, [](const Integers &in) -> int64_t {                                \
      [[maybe_unused]] auto [a, b, x, y, width] = in;                                              \
      return RESULT;                                                                               \
    });                                                                                            \
  }
DIVISION(DivSIOp, true, a / b)
DIVISION(RemSIOp, true, a % b)
DIVISION(DivUIOp, false, static_cast<int64_t>(x / y))
DIVISION(RemUIOp, false, static_cast<int64_t>(x % y))
DIVISION(CeilDivSIOp, true, a / b + (a % b != 0 && (a < 0) == (b < 0)))
DIVISION(FloorDivSIOp, true, a / b - (a % b != 0 && (a < 0) != (b < 0)))
#undef DIVISION

static void execute(arith::CmpIOp op, Frame &frame) {
  unsigned width = widthOf(op.getLhs());
  int64_t a = frame.integer(op.getLhs()), b = frame.integer(op.getRhs());
  uint64_t x = unsignedOf(a, width), y = unsignedOf(b, width);
  bool result = false;
  switch (op.getPredicate()) {
  case arith::CmpIPredicate::eq:
    result = a == b;
    break;
  case arith::CmpIPredicate::ne:
    result = a != b;
    break;
  case arith::CmpIPredicate::slt:
    result = a < b;
    break;
  case arith::CmpIPredicate::sle:
    result = a <= b;
    break;
  case arith::CmpIPredicate::sgt:
    result = a > b;
    break;
  case arith::CmpIPredicate::sge:
    result = a >= b;
    break;
  case arith::CmpIPredicate::ult:
    result = x < y;
    break;
  case arith::CmpIPredicate::ule:
    result = x <= y;
    break;
  case arith::CmpIPredicate::ugt:
    result = x > y;
    break;
  case arith::CmpIPredicate::uge:
    result = x >= y;
    break;
  }
  frame.setInteger(op.getResult(), result ? -1 : 0);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

template <class Op, class Function> static void binary(Op op, Frame &frame, Function function) {
  double value = function(frame.real(op.getLhs()), frame.real(op.getRhs()));
  frame.set(op.getResult(), Scalar::of(roundTo(elementOf(op.getType()), value)));
}

// Rounding a sum, product or quotient to double first does not change what it
// rounds to in a type with less than half of double's precision.
#define FLOAT(OP, RESULT)                                                                          \
  static void execute(arith::OP op, Frame &frame) {                                                \
    binary(op, frame, [](double a, double b) -> double { return RESULT; });                        \
  }
FLOAT(AddFOp, a + b)
FLOAT(SubFOp, a - b)
FLOAT(MulFOp, a *b)
FLOAT(DivFOp, a / b)
FLOAT(RemFOp, std::fmod(a, b))
FLOAT(MaximumFOp, maximum(a, b))
FLOAT(MinimumFOp, minimum(a, b))
FLOAT(MaxNumFOp, maximumNumber(a, b))
FLOAT(MinNumFOp, minimumNumber(a, b))
#undef FLOAT

static void execute(arith::NegFOp op, Frame &frame) {
  frame.set(op.getResult(), Scalar::of(-frame.real(op.getOperand())));
}

static void execute(arith::CmpFOp op, Frame &frame) {
  double a = frame.real(op.getLhs()), b = frame.real(op.getRhs());
  bool unordered = std::isnan(a) || std::isnan(b);
  bool result = false;
  using Predicate = arith::CmpFPredicate;
  switch (op.getPredicate()) {
  case Predicate::AlwaysFalse:
    break;
  case Predicate::AlwaysTrue:
    result = true;
    break;
  case Predicate::ORD:
    result = !unordered;
    break;
  case Predicate::UNO:
    result = unordered;
    break;
  case Predicate::OEQ:
  case Predicate::UEQ:
    result = a == b;
    break;
  case Predicate::OGT:
  case Predicate::UGT:
    result = a > b;
    break;
  case Predicate::OGE:
  case Predicate::UGE:
    result = a >= b;
    break;
  case Predicate::OLT:
  case Predicate::ULT:
    result = a < b;
    break;
  case Predicate::OLE:
  case Predicate::ULE:
    result = a <= b;
    break;
  case Predicate::ONE:
  case Predicate::UNE:
    result = !unordered && a != b;
    break;
  }
  switch (op.getPredicate()) {
  case Predicate::UEQ:
  case Predicate::UGT:
  case Predicate::UGE:
  case Predicate::ULT:
  case Predicate::ULE:
  case Predicate::UNE:
    result |= unordered;
    break;
  default:
    break;
  }
  frame.setInteger(op.getResult(), result ? -1 : 0);
}

//===----------------------------------------------------------------------===//
// Choices and conversions
//===----------------------------------------------------------------------===//

static void execute(arith::SelectOp op, Frame &frame) {
  bool isTrue = frame.isTrue(op.getCondition());
  if (LaunchObserver *observer = frame.launch.options.observer)
    observer->onChoice(op, isTrue);
  frame.set(op.getResult(), frame.scalar(isTrue ? op.getTrueValue() : op.getFalseValue()));
}

/// Every conversion: the result is FUNCTION of the operand, as a Scalar.
#define CONVERSION(OP, RESULT)                                                                     \
  static void execute(arith::OP op, Frame &frame) {                                                \
    [[maybe_unused]] Element from = elementOf(op.getIn().getType());                               \
    [[maybe_unused]] Element to = elementOf(op.getType());                                         \
    Scalar in = frame.scalar(op.getIn());                                                          \
    frame.set(op.getResult(), RESULT);                                                             \
  }
CONVERSION(ExtFOp, in)
// Through f32, as on every target: rounding twice is what the hardware does.
CONVERSION(TruncFOp, Scalar::of(roundTo(to, roundTo(Element::f32, in.real))))
CONVERSION(ExtSIOp, in)
CONVERSION(ExtUIOp, Scalar::of(wrap(unsignedOf(in.integer, widthOf(from)), widthOf(to))))
CONVERSION(TruncIOp, Scalar::of(wrap(in.integer, widthOf(to))))
CONVERSION(SIToFPOp, Scalar::of(fromSigned(to, in.integer)))
CONVERSION(UIToFPOp, Scalar::of(fromUnsigned(to, unsignedOf(in.integer, widthOf(from)))))
CONVERSION(FPToSIOp, Scalar::of(toSigned(in.real, widthOf(to))))
CONVERSION(FPToUIOp, Scalar::of(toUnsigned(in.real, widthOf(to))))
CONVERSION(IndexCastOp, Scalar::of(wrap(in.integer, widthOf(to))))
CONVERSION(IndexCastUIOp, Scalar::of(wrap(unsignedOf(in.integer, widthOf(from)), widthOf(to))))
CONVERSION(BitcastOp, decode(to, encode(from, in)))
#undef CONVERSION

void addArithModels(DialectRegistry &registry) {
  addModels<arith::ArithDialect, arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
            arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
            arith::FloorDivSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
            arith::ShRSIOp, arith::ShRUIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
            arith::MaxUIOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
            arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp, arith::CmpIOp, arith::CmpFOp, arith::SelectOp, arith::ExtFOp,
            arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
            arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::IndexCastOp,
            arith::IndexCastUIOp, arith::BitcastOp>(registry);
}

} // namespace penstock::interpreter
