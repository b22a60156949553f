//===- SizeConditions.cpp - Sizes and scalars that a kernel requires ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/SizeConditions.h"
#include "Analysis/Kernel/KnownScalars.h"
#include "Dialect/Tile/TileTypes.h"
#include "Testing/Inputs/TestData.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <algorithm>

using namespace mlir;
using namespace penstock;

namespace {

/// Values that are tried for one size; more do not help.
constexpr size_t maxCandidates = 64;
/// Conditions that are repaired one after the other before the search ends.
constexpr int maxRepairs = 16;
/// Sizes that messages suggest are not larger: their runs would take long.
constexpr int64_t maxEnlarged = 1 << 14;

struct Condition {
  enum Kind : uint8_t { True, Positive, Multiple } kind = True;
  Value value, divisor;
  std::vector<std::string> names; ///< sizes and scalars that it depends on
  std::vector<int64_t> constants; ///< that occur in it
};

} // namespace

struct SizeConditions::State {
  std::shared_ptr<TestedProgram> program;
  std::vector<ArgumentDescription> arguments;
  mutable KnownScalars known;
  std::vector<Condition> conditions;

  State(std::shared_ptr<TestedProgram> recorded, const std::vector<ArgumentDescription> &of)
      : program(std::move(recorded)), arguments(of), known(program->kernel()) {
    program->kernel().walk([&](Operation *op) {
      if (auto assertion = dyn_cast<tile::AssertOp>(op))
        add(Condition::True, assertion.getCondition(), {});
      else if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                   arith::CeilDivSIOp, arith::FloorDivSIOp, tile::DivModOp>(op)) {
        if (getConstantIntValue(op->getOperand(1)))
          return;
        add(Condition::Positive, op->getOperand(1), {});
        if (isa<arith::DivSIOp>(op))
          add(Condition::Multiple, op->getOperand(0), op->getOperand(1));
      }
    });
  }

  void add(Condition::Kind kind, Value value, Value divisor) {
    if (!tile::isLaunchConstant(value).ok || (divisor && !tile::isLaunchConstant(divisor).ok))
      return;
    // Conjunctions are separate conditions: each names fewer sizes.
    if (auto both = value.getDefiningOp<arith::AndIOp>(); both && kind == Condition::True) {
      add(kind, both.getLhs(), divisor);
      add(kind, both.getRhs(), divisor);
      return;
    }
    Condition condition{kind, value, divisor, {}, {}};
    collect(value, condition);
    if (divisor)
      collect(divisor, condition);
    if (!condition.names.empty())
      conditions.push_back(std::move(condition));
  }

  std::string nameOf(unsigned argument, unsigned dim) const {
    return sizeName(arguments[argument], int(dim));
  }

  void collect(Value value, Condition &to) const {
    std::string name;
    if (auto constant = getConstantIntValue(value)) {
      to.constants.push_back(*constant);
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      name = arguments[argument.getArgNumber()].name;
    } else if (auto dim = value.getDefiningOp<memref::DimOp>()) {
      if (auto tensor = dyn_cast<BlockArgument>(dim.getSource()))
        name = nameOf(tensor.getArgNumber(), unsigned(dim.getConstantIndex().value_or(0)));
    } else if (Operation *op = value.getDefiningOp()) {
      for (Value operand : op->getOperands())
        collect(operand, to);
    }
    if (!name.empty() && !asNumber(name) && !llvm::is_contained(to.names, name))
      to.names.push_back(name);
  }

  void begin(const Shape &shape) const {
    SizeAssignment sizes;
    auto valueOf = [&](const std::string &name) -> std::optional<int64_t> {
      if (auto number = asNumber(name))
        return number;
      for (const auto &[key, number] : shape)
        if (key == name)
          return int64_t(number.value);
      return std::nullopt;
    };
    for (BlockArgument argument : program->kernel().getArguments())
      for (int d = 0; d < arguments[argument.getArgNumber()].rank; ++d)
        if (auto size = valueOf(nameOf(argument.getArgNumber(), unsigned(d))))
          sizes.sizes[known.sizeName(argument, d)] = *size;
    known.begin(sizes);
    for (BlockArgument argument : program->kernel().getArguments())
      if (argument.getType().isIntOrIndex())
        known.set(argument, valueOf(arguments[argument.getArgNumber()].name).value_or(1));
  }

  /// Conditions that cannot be computed, e.g. on floating-point scalars, are satisfied.
  bool holds(const Condition &condition) const {
    std::optional<int64_t> value = known.compute(condition.value);
    if (!value)
      return true;
    if (condition.kind == Condition::True)
      return *value != 0;
    if (condition.kind == Condition::Positive)
      return *value > 0;
    std::optional<int64_t> divisor = known.compute(condition.divisor);
    // A quotient of 1 would hide that a size is confused with the other.
    return !divisor || *divisor < 1 || *value <= 1 ||
           (*value % *divisor == 0 && *value / *divisor > 1);
  }

  const Condition *firstViolated(const Shape &shape) const {
    begin(shape);
    for (const Condition &condition : conditions)
      if (!holds(condition))
        return &condition;
    return nullptr;
  }

  /// Values that may satisfy a condition: constants of it and multiples of them, and other
  /// sizes times or divided by them; near ones first.
  std::vector<int64_t> candidatesFor(const Condition &condition, const Shape &shape,
                                     int64_t now) const {
    std::vector<int64_t> from = {now}, result;
    for (const auto &[name, number] : shape)
      if (llvm::is_contained(condition.names, name))
        from.push_back(int64_t(number.value));
    std::vector<int64_t> factors = condition.constants;
    factors.insert(factors.end(), from.begin(), from.end());
    for (int64_t value : from) {
      result.insert(result.end(), {value, value + 1, value - 1, 2 * value});
      for (int64_t factor : factors) {
        if (factor < 1)
          continue;
        int64_t up = (value + factor - 1) / factor;
        result.insert(result.end(),
                      {factor, factor - 1, factor + 1, up, value / factor, up * factor});
        if (value < (int64_t(1) << 20) && factor < (int64_t(1) << 20))
          result.push_back(value * factor);
      }
    }
    llvm::erase_if(result, [](int64_t value) { return value < 1 || value > (1 << 20); });
    std::sort(result.begin(), result.end(), [&](int64_t a, int64_t b) {
      return std::pair(std::abs(a - now), a) < std::pair(std::abs(b - now), b);
    });
    result.erase(std::unique(result.begin(), result.end()), result.end());
    result.resize(std::min(result.size(), maxCandidates));
    return result;
  }

  /// Repairs one condition by the smallest change of one or two values.
  bool repair(const Condition &condition, Shape &shape, const std::set<std::string> &fixed) const {
    std::vector<size_t> places;
    for (size_t i = 0; i < shape.size(); ++i)
      if (llvm::is_contained(condition.names, shape[i].first) && !fixed.contains(shape[i].first))
        places.push_back(i);
    auto violations = [&](const Shape &tried) {
      begin(tried);
      return llvm::count_if(conditions, [&](const Condition &c) { return !holds(c); });
    };
    auto solves = [&](const Shape &tried) {
      begin(tried);
      return holds(condition);
    };
    std::optional<Shape> best;
    int64_t fewest = 0;
    auto consider = [&](const Shape &tried) {
      if (!solves(tried))
        return;
      int64_t left = violations(tried);
      if (!best || left < fewest)
        best = tried, fewest = left;
    };
    // The last names of a signature are the least important ones.
    std::reverse(places.begin(), places.end());
    for (size_t place : places)
      for (int64_t value : candidatesFor(condition, shape, int64_t(shape[place].second.value))) {
        Shape tried = shape;
        tried[place].second = Number(value);
        consider(tried);
      }
    for (size_t a = 0; !best && a < places.size(); ++a)
      for (size_t b = a + 1; b < places.size(); ++b)
        for (int64_t x : candidatesFor(condition, shape, int64_t(shape[places[a]].second.value)))
          for (int64_t y :
               candidatesFor(condition, shape, int64_t(shape[places[b]].second.value))) {
            Shape tried = shape;
            tried[places[a]].second = Number(x);
            tried[places[b]].second = Number(y);
            consider(tried);
          }
    if (best)
      shape = *best;
    return best.has_value();
  }
};

SizeConditions::SizeConditions(std::shared_ptr<TestedProgram> program,
                               const std::vector<ArgumentDescription> &arguments)
    : state(std::make_unique<State>(std::move(program), arguments)) {}
SizeConditions::~SizeConditions() = default;
SizeConditions::SizeConditions(SizeConditions &&) noexcept = default;

bool SizeConditions::hold(const Shape &shape) const { return !state->firstViolated(shape); }

bool SizeConditions::satisfy(Shape &shape, const std::set<std::string> &fixed) const {
  Shape repaired = shape;
  // Scalars of conditions may be chosen, too.
  for (const Condition &condition : state->conditions)
    for (const std::string &name : condition.names)
      if (llvm::none_of(repaired, [&](const auto &entry) { return entry.first == name; }))
        repaired.emplace_back(name, 1);
  for (int round = 0; round < maxRepairs; ++round) {
    const Condition *violated = state->firstViolated(repaired);
    if (!violated) {
      shape = std::move(repaired);
      return true;
    }
    if (!state->repair(*violated, repaired, fixed))
      return false;
  }
  return false;
}

std::optional<Shape>
SizeConditions::enlarged(const Shape &shape, ArrayRef<Value> values,
                         llvm::function_ref<bool(ArrayRef<int64_t>)> enough) const {
  Condition of;
  for (Value value : values)
    state->collect(value, of);
  auto reached = [&](const Shape &tried) {
    state->begin(tried);
    SmallVector<int64_t> computed;
    for (Value value : values) {
      std::optional<int64_t> found = state->known.compute(value);
      if (!found)
        return false;
      computed.push_back(*found);
    }
    return enough(computed);
  };
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!llvm::is_contained(of.names, shape[i].first))
      continue;
    Shape tried = shape;
    auto with = [&](int64_t value) -> const Shape & {
      tried[i].second = Number(value);
      return tried;
    };
    int64_t low = std::max<int64_t>(int64_t(shape[i].second.value), 1), high = low;
    while (high <= maxEnlarged && !reached(with(high)))
      low = high, high *= 2;
    if (high > maxEnlarged)
      continue;
    while (low + 1 < high) {
      int64_t middle = low + (high - low) / 2;
      (reached(with(middle)) ? high : low) = middle;
    }
    // Conditions, e.g. on multiples, may exclude the smallest value: one near it is taken.
    for (int64_t value = high; value <= std::min(2 * high, maxEnlarged); ++value)
      if (hold(with(value)))
        return tried;
  }
  return std::nullopt;
}
