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

void AsyncQueue::issue(Pending operation) {
  if (completion == Completion::Eager)
    return operation.perform();
  pending.push_back(std::move(operation));
  if (completion == Completion::Random)
    completeSome();
}

void AsyncQueue::wait(ArrayAttr names, int64_t lag, IssueTag now) {
  if (completion == Completion::Random)
    completeSome();
  auto isDue = [&](const Pending &operation) {
    return llvm::is_contained(names, operation.name) &&
           (!now.loop || operation.tag.loop != now.loop ||
            operation.tag.iteration <= now.iteration - lag);
  };
  // Completing one may complete earlier ones of its chain, so look anew.
  for (auto due = llvm::find_if(pending, isDue); due != pending.end();
       due = llvm::find_if(pending, isDue))
    complete(due - pending.begin());
}

void AsyncQueue::finish() {
  while (!pending.empty())
    complete(0);
}

void AsyncQueue::complete(size_t index) {
  if (const void *chain = pending[index].chain)
    for (size_t i = 0; i < index; ++i)
      if (pending[i].chain == chain) {
        Pending first = std::move(pending[i]);
        pending.erase(pending.begin() + i);
        first.perform();
        --i;
        --index;
      }
  Pending operation = std::move(pending[index]);
  pending.erase(pending.begin() + index);
  operation.perform();
}

/// Each operation under way completes now with even odds, in any order.
void AsyncQueue::completeSome() {
  for (size_t left = pending.size(); left > 0 && !pending.empty(); --left)
    if (random.next() >> 63)
      complete(random.below(pending.size()));
}

} // namespace penstock::interpreter
