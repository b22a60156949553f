//===- GuardFaults.cpp - Make every index, slice and division safe --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Value/UpperBounds.h"
#include "Analysis/Value/WrappingCounters.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/Reciprocals.h"
#include "Transforms/Launch/RuntimeCalls.h"
#include "Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace penstock {
#define GEN_PASS_DEF_GUARDFAULTS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using Predicate = arith::CmpIPredicate;

namespace {

struct GuardFaults : penstock::impl::GuardFaultsBase<GuardFaults> {
  using Base = penstock::impl::GuardFaultsBase<GuardFaults>;
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> work;
    // Vectors were made by our own passes, out of what needs no guard.
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      // The host evaluates a GPU's launch program, with separate checks.
      if (auto function = dyn_cast<func::FuncOp>(op);
          function && keepElements && !function->hasAttr(tile::TileDialect::kernelAttr))
        return WalkResult::skip();
      if (llvm::none_of(op->getResultTypes(), llvm::IsaPred<VectorType>))
        work.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *op : work) {
      if (isa<tile::LoadOp, tile::StoreOp, tile::AtomicOp, memref::SubViewOp>(op) &&
          !memoryIn.empty() && !op->getParentOfType<func::FuncOp>()->hasAttr(memoryIn))
        continue;
      llvm::TypeSwitch<Operation *>(op)
          .Case<tile::LoadOp>([&](auto load) { guardLoad(load); })
          .Case<tile::StoreOp>([&](auto store) { guardStore(store); })
          .Case<tile::AtomicOp>([&](auto atomic) { guardAtomic(atomic); })
          .Case<tile::AssertOp>([&](auto check) { lowerAssert(check); })
          .Case<memref::SubViewOp>([&](auto view) { guardSlice(view); })
          .Case<scf::ForOp>([&](auto loop) { guardStep(loop); })
          .Case<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(
              [&](auto) { guardDivision(op, true); })
          .Case<arith::DivUIOp, arith::RemUIOp>([&](auto) { guardDivision(op, false); })
          .Case<arith::ShLIOp, arith::ShRUIOp>([&](auto) { guardShift(op, false); })
          .Case<arith::ShRSIOp>([&](auto) { guardShift(op, true); })
          .Case<arith::FPToSIOp>([&](auto cast) { saturate(cast, true); })
          .Case<arith::FPToUIOp>([&](auto cast) { saturate(cast, false); });
    }
    OpBuilder builder(&getContext());
    if (!faults.empty())
      getOperation()->setAttr(abi::faultsAttr, builder.getArrayAttr(faults));
  }

  //===------------------------------------------------------------------===//
  // Reporting
  //===------------------------------------------------------------------===//

  /// Reports to the runtime; the number it passes is an index into the list of
  /// faults.
  void report(OpBuilder &b, Location loc, DiagnosticCode code, const Twine &message) {
    // Loops that were unrolled or pipelined hold a check more than once; it is one fault.
    Attribute fault =
        b.getArrayAttr({b.getI64IntegerAttr(code), LocationAttr(loc), b.getStringAttr(message)});
    auto [number, isNew] = numbers.try_emplace(fault, faults.size());
    if (isNew)
      faults.push_back(fault);
    Value id = arith::ConstantIntOp::create(b, loc, number->second, 32);
    callRuntime(b, loc, abi::faultFn, id);
  }

  void reportIf(OpBuilder &b, Location loc, Value bad, DiagnosticCode code, const Twine &message) {
    auto branch = scf::IfOp::create(b, loc, TypeRange(), bad, true, false);
    OpBuilder inner = OpBuilder::atBlockBegin(branch.thenBlock());
    report(inner, loc, code, message);
    inner.setInsertionPointToEnd(branch.thenBlock());
    if (branch.thenBlock()->empty() ||
        !branch.thenBlock()->back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(inner, loc);
  }

  //===------------------------------------------------------------------===//
  // Elements
  //===------------------------------------------------------------------===//

  /// Returns the largest value of an integer that is not negative; none if that is not proven.
  /// Launches on GPUs check that extents fit in 31 bits. Nothing is kept, because guards replace
  /// operations.
  std::optional<int64_t> mostOf(Value value) {
    return UpperBounds(keepElements ? std::numeric_limits<int32_t>::max()
                                    : std::numeric_limits<int64_t>::max())
        .mostOf(value);
  }

  /// Returns whether all indices are inside; null if that is known.
  Value insideOf(OpBuilder &b, Location loc, Value memref, ValueRange indices) {
    auto type = cast<MemRefType>(memref.getType());
    Value inside;
    for (auto [dim, index] : llvm::enumerate(indices)) {
      std::optional<int64_t> most = mostOf(index);
      if (most && !type.isDynamicDim(dim) && *most < type.getDimSize(dim))
        continue;
      Value size = type.isDynamicDim(dim)
                       ? Value(memref::DimOp::create(b, loc, memref, dim))
                       : Value(arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim)));
      // Negative indices are large as unsigned numbers.
      Value ok = arith::CmpIOp::create(b, loc, Predicate::ult, index, size);
      inside = inside ? Value(arith::AndIOp::create(b, loc, inside, ok)) : ok;
    }
    return inside;
  }

  std::string outsideMessage(StringRef what, Value memref) {
    return "an element outside of " + tile::describe(memref) + " is " + what.str();
  }

  template <typename Access>
  Value guardElement(OpBuilder &b, Operation *op, Value memref, ValueRange indices, Type result,
                     StringRef what, Access access) {
    Location loc = op->getLoc();
    Value inside = insideOf(b, loc, memref, indices);
    if (!inside)
      return access(b);
    SmallVector<Type> results;
    if (result)
      results.push_back(result);
    auto branch = scf::IfOp::create(b, loc, results, inside, /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    auto fillBranch = [&](Block *block, auto body) {
      OpBuilder inner = OpBuilder::atBlockBegin(block);
      Value value = body(inner);
      inner.setInsertionPointToEnd(block);
      if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
        scf::YieldOp::create(inner, loc, result ? ValueRange(value) : ValueRange());
    };
    fillBranch(branch.thenBlock(), access);
    fillBranch(branch.elseBlock(), [&](OpBuilder &inner) -> Value {
      report(inner, loc, FaultBounds, outsideMessage(what, memref));
      return result ? Value(arith::ConstantOp::create(inner, loc,
                                                      cast<TypedAttr>(inner.getZeroAttr(result))))
                    : Value();
    });
    return result ? branch.getResult(0) : Value();
  }

  /// Reports a fault unless all indices are inside, moves those that are not to zero,
  /// and returns the condition; null if all are known to be inside.
  Value moveInside(Operation *op, Value memref, MutableOperandRange indices, StringRef what) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value inside = insideOf(b, loc, memref, OperandRange(indices));
    if (!inside)
      return {};
    Value one = arith::ConstantIntOp::create(b, loc, 1, 1);
    Value bad = arith::XOrIOp::create(b, loc, inside, one);
    reportIf(b, loc, bad, FaultBounds, outsideMessage(what, memref));
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    for (OpOperand &index : indices)
      index.set(arith::SelectOp::create(b, loc, inside, index.get(), zero));
    return inside;
  }

  /// Executes \p op under a condition; its result is zero otherwise.
  void executeIf(Operation *op, Value condition) {
    if (!condition)
      return;
    OpBuilder b(op);
    auto branch = scf::IfOp::create(b, op->getLoc(), op->getResultTypes(), condition,
                                    /*addThenBlock=*/true, op->getNumResults() != 0);
    op->replaceAllUsesWith(branch);
    auto yield = [&](mlir::Block *block, ValueRange values) {
      OpBuilder inner = OpBuilder::atBlockEnd(block);
      if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
        scf::YieldOp::create(inner, op->getLoc(), values);
    };
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    yield(branch.thenBlock(), op->getResults());
    if (op->getNumResults() == 0)
      return;
    OpBuilder inner = OpBuilder::atBlockBegin(branch.elseBlock());
    Value zero = arith::ConstantOp::create(
        inner, op->getLoc(), cast<TypedAttr>(inner.getZeroAttr(op->getResult(0).getType())));
    yield(branch.elseBlock(), zero);
  }

  void guardLoad(tile::LoadOp op) {
    if (keepElements) {
      Value inside = moveInside(op, op.getSource(), op.getIndicesMutable(), "read");
      if (!inside)
        return;
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Value zero = arith::ConstantOp::create(
          b, op.getLoc(), cast<TypedAttr>(b.getZeroAttr(op.getResult().getType())));
      Value value = arith::SelectOp::create(b, op.getLoc(), inside, op.getResult(), zero);
      op.getResult().replaceAllUsesExcept(value, value.getDefiningOp());
      return;
    }
    OpBuilder b(op);
    Value value = guardElement(b, op, op.getSource(), op.getIndices(), op.getResult().getType(),
                               "read", [&](OpBuilder &inner) -> Value {
                                 return memref::LoadOp::create(inner, op.getLoc(), op.getSource(),
                                                               op.getIndices());
                               });
    op.replaceAllUsesWith(value);
    op.erase();
  }

  void guardStore(tile::StoreOp op) {
    if (keepElements)
      return executeIf(op, moveInside(op, op.getTarget(), op.getIndicesMutable(), "written"));
    OpBuilder b(op);
    guardElement(b, op, op.getTarget(), op.getIndices(), Type(), "written",
                 [&](OpBuilder &inner) -> Value {
                   memref::StoreOp::create(inner, op.getLoc(), op.getValue(), op.getTarget(),
                                           op.getIndices());
                   return {};
                 });
    op.erase();
  }

  void guardAtomic(tile::AtomicOp op) {
    if (keepElements)
      return executeIf(op, moveInside(op, op.getTarget(), op.getIndicesMutable(), "updated"));
    bool floating = isa<FloatType>(op.getValue().getType());
    arith::AtomicRMWKind kind;
    switch (op.getKind()) {
    case tile::AtomicKind::Add:
      kind = floating ? arith::AtomicRMWKind::addf : arith::AtomicRMWKind::addi;
      break;
    case tile::AtomicKind::Max:
      kind = floating ? arith::AtomicRMWKind::maximumf : arith::AtomicRMWKind::maxs;
      break;
    case tile::AtomicKind::Min:
      kind = floating ? arith::AtomicRMWKind::minimumf : arith::AtomicRMWKind::mins;
      break;
    case tile::AtomicKind::Exchange:
      kind = arith::AtomicRMWKind::assign;
      break;
    }
    OpBuilder b(op);
    Value old =
        guardElement(b, op, op.getTarget(), op.getIndices(), op.getOld().getType(), "updated",
                     [&](OpBuilder &inner) -> Value {
                       return memref::AtomicRMWOp::create(inner, op.getLoc(), kind, op.getValue(),
                                                          op.getTarget(), op.getIndices());
                     });
    op.replaceAllUsesWith(old);
    op.erase();
  }

  void lowerAssert(tile::AssertOp op) {
    OpBuilder b(op);
    Value one = arith::ConstantIntOp::create(b, op.getLoc(), 1, 1);
    Value bad = arith::XOrIOp::create(b, op.getLoc(), op.getCondition(), one);
    reportIf(b, op.getLoc(), bad, FaultAssert, "assertion failed: " + op.getMessage());
    op.erase();
  }

  //===------------------------------------------------------------------===//
  // Slices and loops
  //===------------------------------------------------------------------===//

  void guardSlice(memref::SubViewOp op) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    Value bad;
    unsigned dynamic = 0;
    for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets())) {
      if (!ShapedType::isDynamic(offset))
        continue;
      Value value = op.getOffsets()[dynamic];
      // Slots of rings, which loops count.
      if (staysBelow(value, op.getSourceType().getDimSize(dim) - op.getStaticSize(dim) + 1)) {
        ++dynamic;
        continue;
      }
      int64_t last = op.getSourceType().getDimSize(dim) - op.getStaticSize(dim);
      Value limit = arith::ConstantIndexOp::create(b, loc, last);
      Value outside = arith::CmpIOp::create(b, loc, Predicate::ugt, value, limit);
      bad = bad ? Value(arith::OrIOp::create(b, loc, bad, outside)) : outside;
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      Value clamped = arith::MaxSIOp::create(b, loc, value, zero);
      clamped = arith::MinSIOp::create(b, loc, clamped, limit);
      op.getOffsetsMutable().slice(dynamic, 1).assign(clamped);
      ++dynamic;
    }
    if (bad)
      reportIf(b, loc, bad, FaultBounds,
               "a slice lies outside of " + tile::describe(op.getSource()));
  }

  void guardStep(scf::ForOp op) {
    if (getConstantIntValue(op.getStep()))
      return;
    OpBuilder b(op);
    Location loc = op.getLoc();
    Type type = op.getStep().getType(); // of 32 bits, if no sum can wrap around
    Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0));
    Value one = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 1));
    Value bad = arith::CmpIOp::create(b, loc, Predicate::sle, op.getStep(), zero);
    reportIf(b, loc, bad, FaultStep, "the step of a loop is not positive");
    // Iterations are counted: the sum of a large step and the last index would wrap around.
    Value first = op.getLowerBound(), end = op.getUpperBound();
    Value step = arith::SelectOp::create(b, loc, bad, one, op.getStep());
    Value last = arith::SubIOp::create(b, loc, arith::SubIOp::create(b, loc, end, first), one);
    Value count = arith::AddIOp::create(b, loc, arith::DivUIOp::create(b, loc, last, step), one);
    Value none = arith::OrIOp::create(b, loc, bad,
                                      arith::CmpIOp::create(b, loc, Predicate::sge, first, end));
    op.setLowerBound(zero);
    op.setUpperBound(arith::SelectOp::create(b, loc, none, zero, count));
    op.setStep(one);
    b.setInsertionPointToStart(op.getBody());
    Value distance = arith::MulIOp::create(b, loc, op.getInductionVar(), step);
    Value index = arith::AddIOp::create(b, loc, first, distance);
    op.getInductionVar().replaceAllUsesExcept(index, distance.getDefiningOp());
  }

  //===------------------------------------------------------------------===//
  // Arithmetic
  //===------------------------------------------------------------------===//

  void guardDivision(Operation *op, bool isSigned) {
    Value divisor = op->getOperand(1);
    auto constant = getConstantIntValue(divisor);
    bool safe = constant && *constant != 0 && (!isSigned || *constant != -1);
    if (safe || op->hasAttr(abi::safeAttr)) {
      multiply(op);
      return;
    }
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type type = divisor.getType();
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    auto number = [&](const APInt &value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
    };
    Value zero = number(APInt(width, 0)), one = number(APInt(width, 1));
    Value bad = arith::CmpIOp::create(b, loc, Predicate::eq, divisor, zero);
    reportIf(b, loc, bad, FaultDivision, "division by zero");
    if (isSigned) {
      Value smallest = arith::CmpIOp::create(b, loc, Predicate::eq, op->getOperand(0),
                                             number(APInt::getSignedMinValue(width)));
      Value minusOne =
          arith::CmpIOp::create(b, loc, Predicate::eq, divisor, number(APInt::getAllOnes(width)));
      Value overflow = arith::AndIOp::create(b, loc, smallest, minusOne);
      reportIf(b, loc, overflow, FaultDivision,
               "the smallest integer is divided by -1; the result does not fit");
      bad = arith::OrIOp::create(b, loc, bad, overflow);
    }
    b.setInsertionPointAfter(op);
    Value result = arith::SelectOp::create(b, loc, bad, zero, op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(result, result.getDefiningOp());
    if (multiply(op)) // by a number that a zero divisor has, too
      return;
    b.setInsertionPoint(op);
    op->setOperand(1, arith::SelectOp::create(b, loc, bad, one, divisor));
  }

  /// Replaces a division whose divisor has a reciprocal among the launch constants.
  static bool multiply(Operation *op) {
    auto entry = op->getAttrOfType<IntegerAttr>(abi::reciprocalAttr);
    if (!entry)
      return false;
    auto kernel = op->getParentOfType<func::FuncOp>();
    Value constants =
        kernel.getArgument(kernel.getNumArguments() - abi::NumExtra + abi::LaunchConstants);
    OpBuilder b(op);
    auto load = [&](int64_t at) -> Value {
      Value index = arith::ConstantIndexOp::create(b, op->getLoc(), at);
      return memref::LoadOp::create(b, op->getLoc(), constants, ValueRange{index});
    };
    Value multiplier = load(entry.getInt()), shift = load(entry.getInt() + 1);
    op->getResult(0).replaceAllUsesWith(multiplyInstead(b, op, {multiplier, shift}));
    op->erase();
    return true;
  }

  /// Shifts by the width or more give what shifting one bit at a time gives.
  void guardShift(Operation *op, bool arithmetic) {
    Value amount = op->getOperand(1);
    Type type = amount.getType();
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    if (std::optional<int64_t> most = mostOf(amount); most && *most < width)
      return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    APInt last(width, width - 1, false, /*implicitTrunc=*/true);
    Value limit = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, last));
    Value safe = arith::MinUIOp::create(b, loc, amount, limit);
    op->setOperand(1, safe);
    if (arithmetic)
      return;
    Value over = arith::CmpIOp::create(b, loc, Predicate::ugt, amount, limit);
    Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0));
    b.setInsertionPointAfter(op);
    Value result = arith::SelectOp::create(b, loc, over, zero, op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(result, result.getDefiningOp());
  }

  /// Conversions to integers saturate, and give zero for NaN.
  void saturate(Operation *op, bool isSigned) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value value = op->getOperand(0);
    if (value.getType().getIntOrFloatBitWidth() < 32)
      value = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    Type type = op->getResult(0).getType();
    StringRef name = isSigned ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    Value result =
        LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), value).getResult(0);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  SmallVector<Attribute> faults;
  llvm::DenseMap<Attribute, size_t> numbers; ///< of the faults
};

} // namespace
