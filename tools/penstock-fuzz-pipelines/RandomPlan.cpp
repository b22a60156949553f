//===- RandomPlan.cpp - Random schedules, right and wrong -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules drawn blindly are nearly all wrong for the same few reasons. Legal
// ones with several stages, and their neighbors, are where a checker errs.
//
//===----------------------------------------------------------------------===//
#include "Generate.h"
#include "OrderOracle.h"

#include <algorithm>
#include <numeric>

using namespace penstock::fuzz;

namespace {

constexpr int64_t mostStages = 6;

void moveInOrder(Plan &plan, Random &random) {
  size_t n = plan.order.size();
  std::vector<size_t> sequence(n);
  std::iota(sequence.begin(), sequence.end(), size_t(0));
  std::sort(sequence.begin(), sequence.end(),
            [&](size_t a, size_t b) { return plan.order[a] < plan.order[b]; });
  size_t from = size_t(random.below(int64_t(n))), to = size_t(random.below(int64_t(n)));
  size_t moved = sequence[from];
  sequence.erase(sequence.begin() + int64_t(from));
  sequence.insert(sequence.begin() + int64_t(to), moved);
  for (size_t i = 0; i < n; ++i)
    plan.order[sequence[i]] = int64_t(i);
}

/// Exchanges two runs of neighbors, as when the uses of a buffer trade offsets.
void exchangeInOrder(Plan &plan, Random &random) {
  int64_t n = int64_t(plan.order.size());
  int64_t a = random.between(0, n), b = random.between(0, n), c = random.between(0, n);
  if (a > b)
    std::swap(a, b);
  if (b > c)
    std::swap(b, c);
  if (a > b)
    std::swap(a, b);
  for (int64_t &order : plan.order)
    if (order >= a && order < c)
      order += order < b ? c - b : a - b;
}

/// A small change that keeps the form of the schedule.
void change(Plan &plan, Random &random) {
  int64_t n = int64_t(plan.stage.size());
  switch (random.below(6)) {
  case 0:
  case 1: // everything from some statement on runs later
    for (int64_t i = random.below(n); i < n; ++i)
      plan.stage[size_t(i)] += 1;
    break;
  case 2: { // one statement runs in another stage
    int64_t &stage = plan.stage[size_t(random.below(n))];
    stage = std::max<int64_t>(0, stage + (random.chance(50) ? 1 : -1));
    break;
  }
  case 3:
    exchangeInOrder(plan, random);
    break;
  default:
    moveInOrder(plan, random);
  }
  for (int64_t &stage : plan.stage)
    stage = std::min(stage, mostStages - 1);
}

/// Wrong in form: what a user may write by error.
void breakForm(Plan &plan, Random &random) {
  size_t n = plan.stage.size();
  switch (random.below(5)) {
  case 0:
    plan.stage.push_back(0);
    plan.order.push_back(int64_t(n));
    break;
  case 1:
    if (n > 1) {
      plan.stage.pop_back();
      plan.order.pop_back();
    }
    break;
  case 2:
    plan.stage[size_t(random.below(int64_t(n)))] = -1;
    break;
  default:
    plan.order[size_t(random.below(int64_t(n)))] = plan.order[size_t(random.below(int64_t(n)))];
  }
}

} // namespace

Plan penstock::fuzz::sourceOrder(int statements) {
  Plan plan;
  plan.stage.assign(size_t(statements), 0);
  plan.order.resize(size_t(statements));
  std::iota(plan.order.begin(), plan.order.end(), int64_t(0));
  return plan;
}

Plan penstock::fuzz::legalPlan(const Loop &loop, Random &random) {
  Plan plan = sourceOrder(loop.size());
  if (!checkOrder(loop, plan).legal())
    return plan;
  for (int64_t i = 0, tries = random.between(8, 24); i < tries; ++i) {
    Plan next = plan;
    change(next, random);
    if (checkOrder(loop, next).legal())
      plan = next;
  }
  return plan;
}

Plan penstock::fuzz::randomPlan(const Loop &loop, Random &random) {
  int64_t kind = random.below(100);
  Plan plan = sourceOrder(loop.size());
  if (kind < 85)
    plan = legalPlan(loop, random);
  if (kind >= 50 && kind < 92)
    for (int64_t i = random.between(1, 2); i > 0; --i)
      change(plan, random);
  if (kind >= 92 && kind < 97) {
    for (int64_t &stage : plan.stage)
      stage = random.below(4);
    for (int i = 0; i < 6; ++i)
      moveInOrder(plan, random);
  }
  if (kind >= 97)
    breakForm(plan, random);
  return plan;
}
