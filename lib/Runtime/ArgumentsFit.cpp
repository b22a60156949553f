//===- ArgumentsFit.cpp - The check of launches that are valid ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nearly all launches are valid. This check accepts them in some ten nanoseconds and
// without allocating; CheckArguments.cpp finds words for the others.
//
//===----------------------------------------------------------------------===//
#include "Runtime/KernelInfo.h"

#include <charconv>

using namespace penstock;

namespace {

/// Upper bound on the bytes of a tensor; sums below it do not overflow.
constexpr uint64_t maxReach = uint64_t(1) << 48;

struct Span {
  uintptr_t begin, end;
};

/// Accepts tensors whose dimensions are ordered by stride, outermost first, or that are
/// only read.
bool tensorFits(const ArgumentInfo &want, const detail::Argument &have, Span &span) {
  size_t rank = have.sizes.size();
  if (!have.tensor || have.element != want.element || rank != size_t(want.rank) ||
      have.strides.size() != rank || rank == 0)
    return false;
  size_t bytes = bytesOf(have.element);
  uint64_t reach = 0, elements = 1;
  for (size_t d = rank; d-- > 0;) {
    int64_t size = have.sizes[d], stride = have.strides[d];
    // As unsigned numbers, negative ones are too large.
    if (uint64_t(size) - 1 >= maxReach || uint64_t(stride) > maxReach ||
        __builtin_mul_overflow(elements, uint64_t(size), &elements) || elements > maxReach)
      return false;
    if (size == 1)
      continue;
    if (d + 1 == rank ? stride != 1 : want.written && uint64_t(stride) <= reach)
      return false;
    uint64_t added = 0;
    if (__builtin_mul_overflow(uint64_t(size - 1), uint64_t(stride), &added) ||
        (reach += added) > maxReach)
      return false;
  }
  uintptr_t data = reinterpret_cast<uintptr_t>(have.data);
  span = {data, data + (reach + 1) * bytes};
  return data && (data & (bytes - 1)) == 0;
}

} // namespace

bool penstock::argumentsFit(const KernelInfo &info, std::span<const detail::Argument> arguments) {
  constexpr size_t most = 32;
  Span spans[most];
  size_t count = arguments.size();
  if (!info.resolved || count != info.arguments.size() || count > most)
    return false;
  for (size_t i = 0; i < count; ++i) {
    const ArgumentInfo &want = info.arguments[i];
    if (want.tensor) {
      if (!tensorFits(want, arguments[i], spans[i]))
        return false;
    } else {
      if (arguments[i].tensor || arguments[i].element != want.element)
        return false;
      spans[i] = {0, 0};
    }
  }
  for (const SizeRule &rule : info.sizeRules) {
    int64_t expected = rule.otherArgument < 0
                           ? rule.value
                           : arguments[size_t(rule.otherArgument)].sizes[rule.otherDim];
    if (arguments[rule.argument].sizes[rule.dim] != expected)
      return false;
  }
  for (size_t i = 0; i < count; ++i)
    if (info.arguments[i].written)
      for (size_t j = 0; j < count; ++j)
        if (i != j && spans[i].begin < spans[j].end && spans[j].begin < spans[i].end)
          return false;
  return true;
}

void penstock::resolveSizes(KernelInfo &info) {
  struct Seen {
    int argument;
    unsigned dim;
    int64_t value;
  };
  std::map<std::string, Seen> seen;
  for (const auto &[name, value] : info.fixedSizes)
    seen[name] = {-1, 0, value};
  info.sizeRules.clear();
  info.resolved = false;
  for (unsigned i = 0; i < info.arguments.size(); ++i) {
    const ArgumentInfo &argument = info.arguments[i];
    if (!argument.sizes.empty() && argument.sizes.size() != size_t(argument.rank))
      return;
    for (unsigned d = 0; d < argument.sizes.size(); ++d) {
      const std::string &name = argument.sizes[d];
      if (name.empty())
        return;
      if (name[0] >= '0' && name[0] <= '9') {
        int64_t value = 0;
        auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), value);
        if (wrong != std::errc() || end != name.data() + name.size())
          return;
        info.sizeRules.push_back({i, d, -1, 0, value});
        continue;
      }
      auto [known, isNew] = seen.try_emplace(name, Seen{int(i), d, 0});
      if (!isNew)
        info.sizeRules.push_back(
            {i, d, known->second.argument, known->second.dim, known->second.value});
    }
  }
  info.resolved = true;
}
