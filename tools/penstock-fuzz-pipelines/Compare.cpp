//===- Compare.cpp - The checker against the oracle -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include "PlanOracle.h"
#include "ValueOracle.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

std::string listOf(const std::set<unsigned> &codes) {
  std::string text;
  for (unsigned code : codes)
    text += " PS" + std::to_string(code);
  return text.empty() ? " legal" : text;
}

std::string listOf(const std::vector<int64_t> &versions) {
  std::string text;
  for (int64_t v : versions)
    text += " " + std::to_string(v);
  return text;
}

/// What the checker says otherwise than the oracle.
void findDifference(const ProductVerdict &product, const OrderVerdict &order, Comparison &result) {
  if (!order.versions.empty() && product.versions != order.versions)
    result.disagreement = "the checker counts versions" + listOf(product.versions) +
                          ", the oracle" + listOf(order.versions);
  if (product.codes != order.codes || product.malformed != order.malformed) {
    result.onlyCodesDiffer = result.disagreement.empty() && product.legal() == order.legal();
    result.disagreement =
        "the checker says" + listOf(product.codes) + ", the oracle" + listOf(order.codes);
  }
}

/// What the values say of a verdict by order, or why they contradict it.
void checkByValues(const Loop &loop, const Plan &plan, const OrderVerdict &order, uint64_t seed,
                   Comparison &result) {
  if (order.form()) {
    result.category = Category::Form;
    return;
  }
  switch (checkValues(loop, plan, order, seed)) {
  case Effect::Same:
    result.category = Category::Legal;
    return;
  case Effect::Harmful:
    result.category = Category::Illegal;
    return;
  case Effect::Dead:
    result.category = Category::Dead;
    return;
  case Effect::Exchanged:
    result.category = Category::Exchanged;
    return;
  case Effect::Conservative:
    result.category = Category::Conservative;
    return;
  case Effect::Unexplained:
    if (order.codes.count(1204)) {
      result.category = Category::Wait;
      return;
    }
    result.disagreement = order.legal()
                              ? "legal by order, but computes something else"
                              : "refused, but correct, and of no known kind:" + listOf(order.codes);
  }
}

} // namespace

Comparison penstock::fuzz::compareProgram(const Program &program, const CompareOptions &options) {
  Comparison result;
  Loop loop = annotatedLoopOf(program);
  CompiledProgram compiled(program, options.rules);
  const ProductVerdict &product = compiled.verdict;
  result.instance = product.instance;
  if (!product.failure.empty()) {
    result.disagreement = product.failure;
    return result;
  }
  result.optimal = program.optimal && product.plan;
  if (!program.plan && !program.optimal) {
    // Where the rule for a wish for stages is legal, that is the plan.
    std::optional<Plan> wanted = planByRule(loop, program.numStages);
    if (wanted && checkOrder(loop, *wanted).legal() && product.plan != wanted) {
      result.disagreement = "another plan than that of the rule" +
                            (product.plan ? std::string() : ":" + listOf(product.codes));
      return result;
    }
    if (product.plan && product.plan->stages() < 2) {
      result.disagreement = "a plan with one stage for num_stages";
      return result;
    }
  }
  if (!product.plan) {
    result.category = Category::Form;
    return result;
  }
  OrderVerdict order = checkOrder(loop, *product.plan);
  findDifference(product, order, result);
  if (!result.disagreement.empty())
    return result;
  checkByValues(loop, *product.plan, order, options.seed, result);
  if (!result.disagreement.empty() || !order.legal())
    return result;
  result.stages = product.plan->stages();
  result.versions = *std::max_element(order.versions.begin(), order.versions.end());
  // Solvers give loads more stages than random plans have.
  int64_t most = std::min(2 * result.stages + 2, maxTrips);
  if (options.device) {
    result.device = compiled.runOnDevice(most, options.seed);
    result.runs = result.device.runs;
    result.disagreement = result.device.mismatch;
  } else if (options.native)
    result.disagreement = compiled.run(most, options.seed, result.runs);
  return result;
}

Comparison penstock::fuzz::compareInstance(const LoopInstance &instance,
                                           const CompareOptions &options) {
  Comparison result;
  ProductVerdict product = checkInstance(emitInstance(instance), options.rules);
  result.instance = product.instance;
  result.disagreement = product.failure;
  if (!result.disagreement.empty())
    return result;
  OrderVerdict order = checkOrder(instance.loop, instance.plan);
  findDifference(product, order, result);
  if (!result.disagreement.empty())
    return result;
  checkByValues(instance.loop, instance.plan, order, options.seed, result);
  if (result.disagreement.empty() && order.legal()) {
    result.stages = instance.plan.stages();
    result.versions = *std::max_element(order.versions.begin(), order.versions.end());
  }
  return result;
}

PointsLeftOut penstock::fuzz::leaveOutPoints(const Program &program, uint64_t seed) {
  PointsLeftOut result;
  Comparison whole = compareProgram(program, {.seed = seed, .device = true});
  if (!whole.disagreement.empty() || whole.device.kernel.empty())
    return result;
  // More numbers than any plan has points; numbers beyond the last leave the kernel as it is.
  constexpr int64_t mostPoints = 64;
  for (int64_t point = 0; point < mostPoints; ++point) {
    CompiledProgram compiled(program, {});
    DeviceRun run = compiled.runOnDevice(2 * whole.stages + 2, seed, point);
    if (run.kernel.empty())
      continue;
    if (run.kernel == whole.device.kernel)
      continue; // a statement, or no point at all
    ++result.points;
    if (!run.mismatch.empty())
      ++result.noticed;
    // Where threads alone conflict, nv-insert-syncs adds a barrier of its own.
    else if (run.joins < whole.device.joins)
      ++result.restored;
    else if (run.ends < whole.device.ends)
      ++result.atEnd;
    else if (result.unnoticed.empty())
      result.unnoticed = "point " + std::to_string(point) + " can be left out";
  }
  return result;
}
