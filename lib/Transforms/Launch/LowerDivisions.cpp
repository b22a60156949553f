//===- LowerDivisions.cpp - Divisions in 64 bits --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Value/UpperBounds.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/GridCoordinates.h"
#include "Transforms/Launch/LaunchBuilder.h"
#include "Transforms/Launch/Reciprocals.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

using namespace mlir;
using namespace penstock;

namespace {

constexpr int64_t mostInWord = std::numeric_limits<int32_t>::max();

bool isPositive(Value value) {
  if (auto constant = getConstantIntValue(value))
    return *constant > 0;
  if (auto bind = value.getDefiningOp<tile::BindOp>())
    return isPositive(bind.getValue());
  auto most = value.getDefiningOp<arith::MaxSIOp>();
  return most && (isPositive(most.getLhs()) || isPositive(most.getRhs()));
}

/// Returns whether an operation is part of a map over elements, which cannot load launch constants.
bool isInMap(Operation *op) { return op->getParentOfType<tile::MapOp>() != nullptr; }

class DivisionLowering {
public:
  explicit DivisionLowering(LaunchBuilder &launch)
      : launch(launch), gpu(isForGpu(launch.kernel)),
        bounds(gpu ? mostInWord : std::numeric_limits<int64_t>::max()) { // as launches check
    Block &body = launch.kernel.getBody().front();
    auto argument = [&](abi::ExtraArgument of) {
      return body.getArgument(body.getNumArguments() - abi::NumExtra + of);
    };
    constants = argument(abi::LaunchConstants);
    bounds.assume(argument(abi::Block), mostInWord - 1); // launches have fewer than 2^31 blocks
  }

  void run() {
    SmallVector<Division> divisions;
    launch.kernel.walk([&](Operation *op) {
      if (auto division = choose(op))
        divisions.push_back(*division);
    });
    // A divisor may be computed from the result of another division: all are cloned first.
    for (Division &division : divisions)
      if (division.multiplies)
        division.entry = entryOf(division.op->getOperand(1), division.bits, division.op->getLoc());
    for (const Division &division : divisions)
      lower(division);
  }

private:
  struct Division {
    Operation *op;
    bool multiplies; ///< by the reciprocal of its divisor
    bool isSigned;
    unsigned bits;
    unsigned entry = 0; ///< of the reciprocal in the launch constants
  };

  /// Returns whether the launch function can evaluate a value for all arguments without a trap. It
  /// does not know block numbers. A division by zero would fail even if no block divides.
  bool isTotal(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return launch.mapping.contains(value);
    // MLIR considers remainders speculatable. Launch functions do not support tile.divmod.
    bool mayTrap = isa<arith::RemSIOp, arith::RemUIOp>(op) &&
                   getConstantIntValue(op->getOperand(1)).value_or(0) <= 0;
    if (mayTrap || isa<tile::DivModOp>(op))
      return false;
    return isSpeculatable(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isTotal(operand); });
  }

  /// All bounds are computed before the first operation is replaced.
  std::optional<Division> choose(Operation *op) {
    bool isPair = isa<tile::DivModOp>(op);
    if (!isPair && !(gpu && isa<arith::DivSIOp, arith::RemSIOp>(op)))
      return std::nullopt;
    Value divisor = op->getOperand(1);
    Type type = divisor.getType();
    if (!isPair &&
        (getConstantIntValue(divisor) || !(type.isIndex() || type.isInteger(64)) || isInMap(op)))
      return std::nullopt;
    auto most = bounds.mostOf(op->getOperand(0)), mostBy = bounds.mostOf(divisor);
    bool multiplies = !getConstantIntValue(divisor) && tile::isLaunchConstant(divisor).ok &&
                      (isPair || (isTotal(divisor) && !usesFloats(divisor)));
    bool isSigned = !most || !mostBy;
    bool narrow = !isSigned && *most <= mostInWord && (multiplies || *mostBy <= mostInWord);
    if (!isPair && !multiplies && !narrow)
      return std::nullopt;
    return Division{op, multiplies, isSigned, narrow ? 32u : 64u};
  }

  void lower(const Division &division) {
    Operation *op = division.op;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type word = b.getIntegerType(division.bits);
    Value dividend = cast(b, op->getOperand(0), word), divisor;
    if (division.multiplies) {
      divisor = cast(b, loadLaunchConstant(b, loc, constants, division.entry + 2), word);
    } else {
      divisor = cast(b, op->getOperand(1), word);
    }
    auto create = [&](auto signedOp, auto unsignedOp) {
      Operation *result;
      if (division.isSigned)
        result = decltype(signedOp)::create(b, loc, dividend, divisor);
      else
        result = decltype(unsignedOp)::create(b, loc, dividend, divisor);
      if (isPositive(op->getOperand(1)))
        result->setAttr(abi::safeAttr, b.getUnitAttr());
      if (division.multiplies)
        result->setAttr(abi::reciprocalAttr, b.getI64IntegerAttr(division.entry));
      return cast(b, result->getResult(0), op->getResult(0).getType());
    };
    auto quotient = [&] { return create(arith::DivSIOp(), arith::DivUIOp()); };
    auto remainder = [&] { return create(arith::RemSIOp(), arith::RemUIOp()); };
    if (isa<tile::DivModOp>(op)) {
      Value first = quotient();
      op->replaceAllUsesWith(ValueRange{first, remainder()});
    } else {
      op->replaceAllUsesWith(ValueRange{isa<arith::DivSIOp>(op) ? quotient() : remainder()});
    }
    op->erase();
  }

  /// Casts between widths. Values are non-negative wherever the widths differ.
  static Value cast(OpBuilder &b, Value value, Type to) {
    Type from = value.getType();
    Location loc = value.getLoc();
    if (from == to)
      return value;
    if (from.isIndex() || to.isIndex())
      return arith::IndexCastUIOp::create(b, loc, to, value);
    if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
      return arith::TruncIOp::create(b, loc, to, value);
    return arith::ExtUIOp::create(b, loc, to, value);
  }

  /// The first of three entries of the launch constants: the multiplier of a divisor, the shift,
  /// and the divisor itself, so that blocks need not compute it. In 32 bits, a divisor of 2^31
  /// stands for all larger ones, by which quotients are zero, too.
  unsigned entryOf(Value divisor, unsigned bits, Location loc) {
    auto [found, isNew] = entries.try_emplace({divisor, bits}, launch.numEntries);
    if (!isNew)
      return found->second;
    OpBuilder &b = launch.builder;
    Value number = launch.clone(divisor);
    if (number.getType().isIndex())
      number = arith::IndexCastOp::create(b, loc, b.getI64Type(), number);
    Reciprocal reciprocal = reciprocalOf(b, loc, number, bits);
    if (bits == 32) {
      Value limit = arith::ConstantIntOp::create(b, loc, mostInWord + 1, 64);
      number = arith::MinUIOp::create(b, loc, number, limit);
    }
    launch.store(reciprocal.multiplier, found->second);
    launch.store(reciprocal.shift, found->second + 1);
    launch.store(number, found->second + 2);
    return found->second;
  }

  LaunchBuilder &launch;
  bool gpu;
  UpperBounds bounds;
  Value constants;
  llvm::DenseMap<std::pair<Value, unsigned>, unsigned> entries;
};

} // namespace

void penstock::lowerDivisions(LaunchBuilder &launch) { DivisionLowering(launch).run(); }
