//===- Async.cpp - Operations that complete later -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Async.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace penstock::interpreter {

uint64_t Random::next() { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Footprint::Footprint(const uint8_t *data, bool writes, std::vector<int64_t> elements)
    : writes(writes), data(data) {
  if (!llvm::is_sorted(elements))
    llvm::sort(elements);
  for (int64_t element : elements)
    if (!runs.empty() && element <= runs.back().second)
      runs.back().second = element + 1;
    else
      runs.emplace_back(element, element + 1);
}

bool Footprint::contains(const uint8_t *memory, int64_t element) const {
  if (memory != data)
    return false;
  auto after = llvm::upper_bound(runs, element,
                                 [](int64_t value, const auto &run) { return value < run.first; });
  return after != runs.begin() && element < std::prev(after)->second;
}

void AsyncQueue::issue(Pending operation) {
  pending.push_back(std::move(operation));
  if (completion == Completion::Eager)
    perform(pending.back());
  else if (completion == Completion::Random)
    completeSome();
}

void AsyncQueue::wait(ArrayAttr names, int64_t lag, IssueTag now) {
  if (completion == Completion::Random)
    completeSome();
  for (size_t i = 0; i < pending.size(); ++i) {
    Pending &operation = pending[i];
    if (!llvm::is_contained(names, operation.name) ||
        (now.loop && operation.tag.loop == now.loop &&
         operation.tag.iteration > now.iteration - lag))
      continue;
    complete(i);
    operation.awaited = true;
    // The wait for one ends all before it in its chain.
    for (size_t before = 0; before < i && operation.chain; ++before)
      pending[before].awaited |= pending[before].chain == operation.chain;
  }
  llvm::erase_if(pending, [](const Pending &operation) { return operation.awaited; });
}

std::vector<AsyncQueue::Pending> AsyncQueue::finish() {
  for (Pending &operation : pending)
    perform(operation);
  return std::exchange(pending, {});
}

const AsyncQueue::Pending *AsyncQueue::conflict(const uint8_t *data, int64_t element, bool writes,
                                                const void *chain) const {
  for (const Pending &operation : pending) {
    if (chain && operation.chain == chain)
      continue;
    for (const Footprint &footprint : operation.footprints)
      if ((writes || footprint.writes) && footprint.contains(data, element))
        return &operation;
  }
  return nullptr;
}

/// Performs an operation, and first those before it in its chain.
void AsyncQueue::complete(size_t index) {
  if (const void *chain = pending[index].chain)
    for (size_t i = 0; i < index; ++i)
      if (pending[i].chain == chain)
        perform(pending[i]);
  perform(pending[index]);
}

void AsyncQueue::perform(Pending &operation) {
  if (!operation.perform)
    return;
  auto action = std::exchange(operation.perform, {});
  performing = true;
  action();
  performing = false;
}

/// Each operation that has not taken effect does so now with even odds, in any
/// order.
void AsyncQueue::completeSome() {
  SmallVector<size_t> left;
  for (size_t i = 0; i < pending.size(); ++i)
    if (pending[i].perform)
      left.push_back(i);
  for (size_t rounds = left.size(); rounds > 0 && !left.empty(); --rounds)
    if (random.next() >> 63) {
      complete(left[random.below(left.size())]);
      llvm::erase_if(left, [&](size_t i) { return !pending[i].perform; });
    }
}

} // namespace penstock::interpreter
