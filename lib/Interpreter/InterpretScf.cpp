//===- InterpretScf.cpp - Execution of loops and conditions ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Models.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace penstock::interpreter {

static void assign(Frame &frame, ValueRange values, ArrayRef<Scalar> scalars) {
  for (auto [value, scalar] : llvm::zip_equal(values, scalars))
    frame.set(value, scalar);
}

static SmallVector<Scalar> scalarsOf(Frame &frame, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return frame.scalar(v); });
}

/// Attributes about unrolling and schedules do not change what a loop means.
static void execute(scf::ForOp loop, Frame &frame) {
  SmallVector<Scalar> carried = scalarsOf(frame, loop.getInitArgs());
  int64_t end = frame.integer(loop.getUpperBound());
  int64_t step = frame.integer(loop.getStep());
  if (step <= 0)
    frame.launch.fault(loop, FaultStep,
                       "the step of a loop is " + std::to_string(step) + "; the loop is skipped");
  int64_t iterations = 0;
  for (int64_t i = frame.integer(loop.getLowerBound()); step > 0 && i < end;) {
    ++iterations;
    frame.nextIteration(loop);
    frame.setInteger(loop.getInductionVar(), i);
    assign(frame, loop.getRegionIterArgs(), carried);
    if (!frame.run(*loop.getBody()))
      return;
    carried.assign(frame.yielded.begin(), frame.yielded.end());
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  if (LaunchObserver *observer = frame.launch.options.observer)
    observer->onLoop(loop, iterations);
  assign(frame, loop.getResults(), carried);
}

static void execute(scf::IfOp condition, Frame &frame) {
  bool isTrue = frame.isTrue(condition.getCondition());
  if (LaunchObserver *observer = frame.launch.options.observer)
    observer->onChoice(condition, isTrue);
  Region &taken = isTrue ? condition.getThenRegion() : condition.getElseRegion();
  if (!taken.empty() && frame.run(taken.front()))
    assign(frame, condition.getResults(), frame.yielded);
}

static void execute(scf::YieldOp yield, Frame &frame) {
  frame.yielded = scalarsOf(frame, yield.getOperands());
}

void addScfModels(DialectRegistry &registry) {
  addModels<scf::SCFDialect, scf::ForOp, scf::IfOp, scf::YieldOp>(registry);
}

} // namespace penstock::interpreter
