//===- WrappingCounters.cpp - Indices that count modulo a number ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Value/WrappingCounters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace {

class Proof {
public:
  explicit Proof(int64_t limit) : limit(limit) {}

  bool holds(Value value) {
    if (auto constant = getConstantIntValue(value))
      return *constant >= 0 && *constant < limit;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return holdsInLoop(argument);
    Operation *op = value.getDefiningOp();
    if (auto cast = dyn_cast<arith::IndexCastOp>(op)) // of a number this small, exact
      return holds(cast.getIn());
    if (auto rest = dyn_cast<arith::RemUIOp>(op))
      return isBelow(rest, limit);
    if (auto product = dyn_cast<arith::MulIOp>(op)) {
      auto rest = product.getLhs().getDefiningOp<arith::RemUIOp>();
      auto factor = getConstantIntValue(product.getRhs());
      return rest && factor && *factor > 0 && isBelow(rest, (limit - 1) / *factor + 1);
    }
    auto choice = dyn_cast<arith::SelectOp>(op);
    return choice && wraps(choice);
  }

private:
  static bool isBelow(arith::RemUIOp rest, int64_t limit) {
    auto divisor = getConstantIntValue(rest.getRhs());
    return divisor && *divisor > 0 && *divisor <= limit;
  }

  /// A loop-carried value stays below the limit if its initial value and every next value are.
  bool holdsInLoop(BlockArgument argument) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return false;
    if (!assumed.insert(argument).second)
      return true;
    return holds(loop.getTiedLoopInit(argument)->get()) &&
           holds(loop.getTiedLoopYieldedValue(argument)->get());
  }

  /// `x + n >= limit ? x + n - limit : x + n`, of an x below the limit, with n up to it; or
  /// `x + 1 == limit ? 0 : x + 1`.
  bool wraps(arith::SelectOp choice) {
    auto test = choice.getCondition().getDefiningOp<arith::CmpIOp>();
    auto sum = choice.getFalseValue().getDefiningOp<arith::AddIOp>();
    if (!test || !sum || test.getLhs() != sum.getResult() ||
        getConstantIntValue(test.getRhs()) != limit)
      return false;
    auto added = getConstantIntValue(sum.getRhs());
    if (!added || *added < 0 || *added > limit || !holds(sum.getLhs()))
      return false;
    if (test.getPredicate() == arith::CmpIPredicate::eq)
      return *added == 1 && getConstantIntValue(choice.getTrueValue()) == 0;
    auto less = choice.getTrueValue().getDefiningOp<arith::SubIOp>();
    return test.getPredicate() == arith::CmpIPredicate::sge && less &&
           less.getLhs() == sum.getResult() && getConstantIntValue(less.getRhs()) == limit;
  }

  int64_t limit;
  llvm::DenseSet<Value> assumed;
};

} // namespace

bool penstock::staysBelow(Value value, int64_t limit) { return Proof(limit).holds(value); }
