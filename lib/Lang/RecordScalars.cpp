//===- RecordScalars.cpp - Scalars and elementwise expressions ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/RecordSupport.h"
#include "Lang/Recorder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::lang;
using ScalarOp = penstock::detail::Op;

//===----------------------------------------------------------------------===//
// Scalar operations
//===----------------------------------------------------------------------===//

/// The functions of floating-point values: enumerator, operation, name.
#define PENSTOCK_FUNCTIONS(FUNCTION)                                                               \
  FUNCTION(Exp, ExpOp, "exp")                                                                      \
  FUNCTION(Exp2, Exp2Op, "exp2")                                                                   \
  FUNCTION(Log, LogOp, "log")                                                                      \
  FUNCTION(Log2, Log2Op, "log2")                                                                   \
  FUNCTION(Sqrt, SqrtOp, "sqrt")                                                                   \
  FUNCTION(Rsqrt, RsqrtOp, "rsqrt")                                                                \
  FUNCTION(Tanh, TanhOp, "tanh")                                                                   \
  FUNCTION(Erf, ErfOp, "erf")                                                                      \
  FUNCTION(Sin, SinOp, "sin")                                                                      \
  FUNCTION(Cos, CosOp, "cos")                                                                      \
  FUNCTION(Floor, FloorOp, "floor")                                                                \
  FUNCTION(Ceil, CeilOp, "ceil")                                                                   \
  FUNCTION(Round, RoundEvenOp, "round")

/// Returns the name of a function of floating-point values; empty for other operations.
static StringRef functionName(ScalarOp op) {
  switch (op) {
#define PENSTOCK_FUNCTION(NAME, OP, TEXT)                                                          \
  case ScalarOp::NAME:                                                                             \
    return TEXT;
    PENSTOCK_FUNCTIONS(PENSTOCK_FUNCTION)
#undef PENSTOCK_FUNCTION
  default:
    return "";
  }
}

// Front ends in other languages pass operations by number.

static bool isUnary(ScalarOp op) {
  return op == ScalarOp::Neg || op == ScalarOp::Not || op == ScalarOp::Abs ||
         !functionName(op).empty();
}

static bool isBinary(ScalarOp op) { return op < ScalarOp::Neg; }

mlir::Value Recorder::emitArithmetic(ScalarOp op, bool isUnsigned, ArrayRef<mlir::Value> operands,
                                     Location loc) {
  mlir::Value a = operands.front(), b = operands.back(); // the same for unary operations
  Type type = a.getType();
  bool floating = isa<FloatType>(type);
  auto compare = [&](arith::CmpFPredicate f, arith::CmpIPredicate s,
                     arith::CmpIPredicate u) -> mlir::Value {
    if (floating)
      return arith::CmpFOp::create(builder, loc, f, a, b);
    return arith::CmpIOp::create(builder, loc, isUnsigned ? u : s, a, b);
  };
#define PENSTOCK_ARITH(NAME, FLOAT, SIGNED, UNSIGNED)                                              \
  case ScalarOp::NAME:                                                                             \
    if (floating)                                                                                  \
      return arith::FLOAT::create(builder, loc, a, b);                                             \
    if (isUnsigned)                                                                                \
      return arith::UNSIGNED::create(builder, loc, a, b);                                          \
    return arith::SIGNED::create(builder, loc, a, b);
#define PENSTOCK_FUNCTION(NAME, OP, TEXT)                                                          \
  case ScalarOp::NAME:                                                                             \
    return math::OP::create(builder, loc, a);
  // No default: the compiler reports an operation that is missing.
  switch (op) {
    PENSTOCK_ARITH(Add, AddFOp, AddIOp, AddIOp)
    PENSTOCK_ARITH(Sub, SubFOp, SubIOp, SubIOp)
    PENSTOCK_ARITH(Mul, MulFOp, MulIOp, MulIOp)
    PENSTOCK_ARITH(Div, DivFOp, DivSIOp, DivUIOp)
    PENSTOCK_ARITH(Rem, RemFOp, RemSIOp, RemUIOp)
    PENSTOCK_ARITH(Min, MinimumFOp, MinSIOp, MinUIOp)
    PENSTOCK_ARITH(Max, MaximumFOp, MaxSIOp, MaxUIOp)
  case ScalarOp::CeilDiv:
    return arith::CeilDivSIOp::create(builder, loc, a, b);
  case ScalarOp::And:
    return arith::AndIOp::create(builder, loc, a, b);
  case ScalarOp::Or:
    return arith::OrIOp::create(builder, loc, a, b);
  case ScalarOp::Xor:
    return arith::XOrIOp::create(builder, loc, a, b);
  case ScalarOp::Shl:
    return arith::ShLIOp::create(builder, loc, a, b);
  case ScalarOp::Shr:
    if (isUnsigned)
      return arith::ShRUIOp::create(builder, loc, a, b);
    return arith::ShRSIOp::create(builder, loc, a, b);
  case ScalarOp::Eq:
    return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, arith::CmpIPredicate::eq);
  case ScalarOp::Ne:
    return compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, arith::CmpIPredicate::ne);
  case ScalarOp::Lt:
    return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, arith::CmpIPredicate::ult);
  case ScalarOp::Le:
    return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, arith::CmpIPredicate::ule);
  case ScalarOp::Gt:
    return compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, arith::CmpIPredicate::ugt);
  case ScalarOp::Ge:
    return compare(arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge, arith::CmpIPredicate::uge);
  case ScalarOp::Neg:
    if (floating)
      return arith::NegFOp::create(builder, loc, a);
    return arith::SubIOp::create(builder, loc, constant(builder.getIntegerAttr(type, 0)), a);
  case ScalarOp::Not:
    return arith::XOrIOp::create(builder, loc, a, constant(builder.getIntegerAttr(type, 1)));
  case ScalarOp::Abs:
    if (floating)
      return math::AbsFOp::create(builder, loc, a);
    return math::AbsIOp::create(builder, loc, a);
    PENSTOCK_FUNCTIONS(PENSTOCK_FUNCTION)
  }
#undef PENSTOCK_ARITH
#undef PENSTOCK_FUNCTION
  llvm_unreachable("unary() and binary() reject other numbers");
}

mlir::Value Recorder::emitConvert(mlir::Value value, Type to, bool isUnsigned, Location loc) {
  Type from = value.getType();
  if (from == to)
    return value;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  bool unsignedFrom = isUnsigned || from.isSignlessInteger(1);
  if (fromFloat && toFloat) {
    // f16 and bf16 have the same width, as have the f8 types: go through f32.
    if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth()) {
      value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
      return arith::TruncFOp::create(builder, loc, to, value);
    }
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, to, value);
    return arith::TruncFOp::create(builder, loc, to, value);
  }
  if (isa<IndexType>(from) && toFloat)
    value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  if (toFloat) {
    if (unsignedFrom)
      return arith::UIToFPOp::create(builder, loc, to, value);
    return arith::SIToFPOp::create(builder, loc, to, value);
  }
  if (fromFloat) {
    Type integer = isa<IndexType>(to) ? Type(builder.getI64Type()) : to;
    value = isUnsigned ? mlir::Value(arith::FPToUIOp::create(builder, loc, integer, value))
                       : mlir::Value(arith::FPToSIOp::create(builder, loc, integer, value));
    return emitConvert(value, to, false, loc);
  }
  if (isa<IndexType>(from) || isa<IndexType>(to)) {
    if (unsignedFrom)
      return arith::IndexCastUIOp::create(builder, loc, to, value);
    return arith::IndexCastOp::create(builder, loc, to, value);
  }
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, to, value);
  if (unsignedFrom)
    return arith::ExtUIOp::create(builder, loc, to, value);
  return arith::ExtSIOp::create(builder, loc, to, value);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

namespace {

/// Builds an operation on scalars, or a node if an operand is an expression.
template <typename Emit>
Ref build(Recorder &r, ExprNode node, ArrayRef<Entry *> operands, Emit emit) {
  bool expression = llvm::any_of(operands, [](Entry *entry) { return entry->kind == Entry::Expr; });
  if (expression)
    return r.add(std::move(node));
  return r.add(emit());
}

} // namespace

Ref penstock::detail::literal(Element element, int64_t value, Loc) {
  Recorder *r = Recorder::current();
  if (!r)
    return {};
  // Like C++, a literal that does not fit wraps around.
  Type type = r->typeOf(element);
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  APInt bits(width, static_cast<uint64_t>(value), /*isSigned=*/true,
             /*implicitTrunc=*/true);
  return r->add(r->constant(r->builder.getIntegerAttr(type, bits)));
}

Ref penstock::detail::literal(Element element, double value, Loc) {
  Recorder *r = Recorder::current();
  if (!r)
    return {};
  if (element == Element::f8e8m0) // has no sign, which constants of MLIR would keep
    value = double(float(f8e8m0(float(value))));
  return r->add(r->constant(r->builder.getFloatAttr(r->typeOf(element), value)));
}

/// Reports arithmetic on powers of two, which have neither zero nor a sign.
static bool isComputable(Recorder &r, const Entry &operand, Loc at) {
  if (!isa<Float8E8M0FNUType>(r.typeOf(operand)))
    return true;
  r.error(ElementMismatch, at, "an f8e8m0 is computed with", "cast<f32>(..) it first");
  return false;
}

/// Reports an operation that takes another number of operands, or does not exist.
static Ref rejectOperation(Recorder &r, ScalarOp op, Loc at) {
  r.error(OpForm, at, "no operation on these operands has the number " + std::to_string(int(op)),
          "use a front end of the same version as the library");
  return r.poison();
}

Ref penstock::detail::unary(ScalarOp op, Ref a, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(a, at, "operand");
  if (!entry || !isComputable(*r, *entry, at))
    return r->poison();
  if (!isUnary(op))
    return rejectOperation(*r, op, at);
  StringRef function = functionName(op);
  if (!isa<FloatType>(r->typeOf(*entry)) && !function.empty()) {
    r->error(ElementMismatch, at, "`" + function.str() + "` is applied to an integer",
             "cast<f32>(..) the operand first");
    return r->poison();
  }
  Location loc = r->locationOf(at);
  ExprNode node{
      .kind = ExprNode::Unary, .op = op, .type = r->typeOf(*entry), .operands = {a}, .loc = loc};
  return build(*r, node, {entry}, [&] { return r->emitArithmetic(op, false, entry->value, loc); });
}

Ref penstock::detail::binary(ScalarOp op, bool isUnsigned, Ref a, Ref b, Loc at) {
  RECORDING(r, at);
  Entry *left = r->use(a, at, "left operand");
  Entry *right = r->use(b, at, "right operand");
  // Looking up the second may have moved neither: entries are only added below.
  if (!left || !right || !isComputable(*r, *left, at))
    return r->poison();
  if (!isBinary(op))
    return rejectOperation(*r, op, at);
  if (isa<FloatType>(r->typeOf(*left)) && op >= ScalarOp::And && op <= ScalarOp::Shr) {
    r->error(ElementMismatch, at, "bits of a floating-point value are combined",
             "`&`, `|`, `^`, `<<` and `>>` are for integers; cast<i32>(..) the "
             "operands first");
    return r->poison();
  }
  bool division = op == ScalarOp::Div || op == ScalarOp::Rem || op == ScalarOp::CeilDiv;
  if (division && right->kind == Entry::Value && !isa<FloatType>(r->typeOf(*right)))
    if (auto by = getConstantIntValue(right->value);
        by && (*by == 0 || (*by < 0 && op == ScalarOp::CeilDiv))) {
      r->error(DivisorForm, at,
               op == ScalarOp::CeilDiv ? "`ceil_div` divides by " + std::to_string(*by) +
                                             "; the divisor must be positive"
                                       : "an integer is divided by 0");
      return r->poison();
    }
  Location loc = r->locationOf(at);
  bool condition = op >= ScalarOp::Eq && op <= ScalarOp::Ge;
  ExprNode node{.kind = ExprNode::Binary,
                .op = op,
                .isUnsigned = isUnsigned,
                .type = condition ? Type(r->builder.getI1Type()) : r->typeOf(*left),
                .operands = {a, b},
                .loc = loc};
  return build(*r, node, {left, right},
               [&] { return r->emitArithmetic(op, isUnsigned, {left->value, right->value}, loc); });
}

Ref penstock::detail::select(Ref condition, Ref then, Ref otherwise, Loc at) {
  RECORDING(r, at);
  Entry *c = r->use(condition, at, "condition");
  Entry *a = r->use(then, at, "first choice");
  Entry *b = r->use(otherwise, at, "second choice");
  if (!c || !a || !b)
    return r->poison();
  Location loc = r->locationOf(at);
  ExprNode node{.kind = ExprNode::Select,
                .type = r->typeOf(*a),
                .operands = {condition, then, otherwise},
                .loc = loc};
  return build(*r, node, {c, a, b}, [&]() -> mlir::Value {
    return arith::SelectOp::create(r->builder, loc, c->value, a->value, b->value);
  });
}

Ref penstock::detail::convert(Ref value, Element to, bool isUnsigned, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(value, at, "value");
  if (!entry)
    return r->poison();
  Type type = r->typeOf(to);
  if (type.isSignlessInteger(1) && r->typeOf(*entry) != type) {
    r->error(ElementMismatch, at, "a number is cast to a condition", "compare it with zero");
    return r->poison();
  }
  Location loc = r->locationOf(at);
  ExprNode node{.kind = ExprNode::Convert,
                .isUnsigned = isUnsigned,
                .type = type,
                .operands = {value},
                .loc = loc};
  return build(*r, node, {entry},
               [&] { return r->emitConvert(entry->value, type, isUnsigned, loc); });
}

Ref penstock::detail::bind(Ref value, std::string_view name, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(value, at, "value");
  if (!entry)
    return r->poison();
  auto op = tile::BindOp::create(r->builder, r->locationOf(at), entry->value.getType(),
                                 r->builder.getStringAttr(name), entry->value);
  return r->add(op.getResult());
}

Ref penstock::detail::elements(Ref tile, Ints dims, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(tile, at, "tile");
  if (!entry)
    return r->poison();
  return r->add(ExprNode{.kind = ExprNode::Elements,
                         .type = cast<MemRefType>(entry->value.getType()).getElementType(),
                         .tile = entry->value,
                         .dims = {dims.begin(), dims.end()},
                         .loc = r->locationOf(at)});
}

Ref penstock::detail::elementIndex(int dim, Loc at) {
  RECORDING(r, at);
  return r->add(ExprNode{.kind = ExprNode::ElementIndex,
                         .type = r->builder.getIndexType(),
                         .dim = dim,
                         .loc = r->locationOf(at)});
}

void penstock::detail::divmod(Ref dividend, Ref divisor, Ref result[2], Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  result[0] = result[1] = r->poison();
  Entry *a = r->use(dividend, at, "dividend");
  Entry *b = r->use(divisor, at, "divisor");
  if (!a || !b)
    return;
  if (a->kind == Entry::Expr || b->kind == Entry::Expr)
    return r->error(OpForm, at, "`fast_divmod` divides scalars, not elements of tiles",
                    "use / and % on elements");
  auto op = tile::DivModOp::create(r->builder, r->locationOf(at), r->builder.getIndexType(),
                                   r->builder.getIndexType(), a->value, b->value);
  if (!r->verify(op))
    return;
  result[0] = r->add(op.getQuotient());
  result[1] = r->add(op.getRemainder());
}
