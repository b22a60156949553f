//===- LaunchProgram.cpp - Launch computations as data --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/LaunchProgram.h"

using namespace penstock;

namespace {

int64_t signExtended(uint64_t value, int64_t bits) {
  if (bits >= 64)
    return int64_t(value);
  uint64_t sign = uint64_t(1) << (bits - 1), mask = (sign << 1) - 1;
  return int64_t(((value & mask) ^ sign) - sign);
}

uint64_t zeroExtended(uint64_t value, int64_t bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

/// Two's complement throughout; none for a division that has no result.
std::optional<int64_t> combine(LaunchStep::Kind kind, int64_t x, int64_t y) {
  uint64_t a = uint64_t(x), b = uint64_t(y);
  bool divides = kind >= LaunchStep::DivS && kind <= LaunchStep::FloorDivS;
  if (divides && (y == 0 || (x == INT64_MIN && y == -1)))
    return std::nullopt;
  switch (kind) {
  case LaunchStep::Add:
    return int64_t(a + b);
  case LaunchStep::Sub:
    return int64_t(a - b);
  case LaunchStep::Mul:
    return int64_t(a * b);
  case LaunchStep::DivS:
    return x / y;
  case LaunchStep::DivU:
    return int64_t(a / b);
  case LaunchStep::RemS:
    return x % y;
  case LaunchStep::RemU:
    return int64_t(a % b);
  case LaunchStep::CeilDivS:
    return x / y + (x % y != 0 && (x < 0) == (y < 0));
  case LaunchStep::FloorDivS:
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
  case LaunchStep::MinS:
    return std::min(x, y);
  case LaunchStep::MaxS:
    return std::max(x, y);
  case LaunchStep::MinU:
    return int64_t(std::min(a, b));
  case LaunchStep::MaxU:
    return int64_t(std::max(a, b));
  case LaunchStep::And:
    return x & y;
  case LaunchStep::Or:
    return x | y;
  case LaunchStep::Xor:
    return x ^ y;
  case LaunchStep::Shl:
    return b < 64 ? int64_t(a << b) : 0;
  case LaunchStep::ShrS:
    return x >> (b < 64 ? b : 63);
  case LaunchStep::ShrU:
    return b < 64 ? int64_t(a >> b) : 0;
  case LaunchStep::Eq:
    return x == y;
  case LaunchStep::Ne:
    return x != y;
  case LaunchStep::LtS:
    return x < y;
  case LaunchStep::LeS:
    return x <= y;
  case LaunchStep::GtS:
    return x > y;
  case LaunchStep::GeS:
    return x >= y;
  case LaunchStep::LtU:
    return a < b;
  case LaunchStep::LeU:
    return a <= b;
  case LaunchStep::GtU:
    return a > b;
  case LaunchStep::GeU:
    return a >= b;
  default:
    return std::nullopt;
  }
}

} // namespace

size_t LaunchProgram::run(std::span<const detail::Argument> arguments, int64_t *values) const {
  size_t count = 0;
  for (const LaunchStep &step : steps) {
    std::optional<int64_t> value;
    switch (step.kind) {
    case LaunchStep::Constant:
      value = step.value;
      break;
    case LaunchStep::Size:
      value = arguments[step.a].sizes[size_t(step.value)];
      break;
    case LaunchStep::Scalar:
      value = signExtended(arguments[step.a].scalar, step.value);
      break;
    case LaunchStep::Select:
      value = values[step.a] & 1 ? values[step.b] : values[step.c];
      break;
    case LaunchStep::SignExtend:
      value = signExtended(uint64_t(values[step.a]), step.value);
      break;
    case LaunchStep::ZeroExtend:
      value = int64_t(zeroExtended(uint64_t(values[step.a]), step.value));
      break;
    default:
      value = combine(step.kind, values[step.a], values[step.b]);
    }
    if (!value)
      break;
    values[count++] = *value;
  }
  return count;
}

std::optional<std::vector<int64_t>>
LaunchProgram::evaluate(std::span<const detail::Argument> arguments,
                        std::vector<Diagnostic> &broken) const {
  std::vector<int64_t> values(steps.size());
  size_t count = run(arguments, values.data());
  // A requirement may say why a division failed.
  for (const LaunchRequirement &requirement : requirements)
    if (requirement.step < count && values[requirement.step] == 0)
      broken.push_back(requirement.broken);
  if (count != steps.size())
    return std::nullopt;
  std::vector<int64_t> wanted;
  for (unsigned result : results)
    wanted.push_back(values[result]);
  return wanted;
}
