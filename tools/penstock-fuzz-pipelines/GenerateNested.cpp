//===- GenerateNested.cpp - Pipelined loops in pipelined loops ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Generate.h"
#include "OrderOracle.h"

#include <algorithm>

using namespace penstock::fuzz;

/// To an inner loop, offsets that are not affine in the outer one are numbers that are
/// fixed before it, or not, depending on where they are computed.
static bool isAffine(const ProgramStatement &s) {
  bool affine = true;
  forEachTouchIn(s, [&](const Touch &touch) { affine &= !touch.box.opaque(); });
  return affine;
}

void penstock::fuzz::pipelineInnerLoops(Program &program, Random &random) {
  for (ProgramStatement &s : program.statements) {
    if (s.form != ProgramStatement::Form::Repeat || !isAffine(s) || random.chance(20))
      continue;
    Loop loop = innerLoopOf(program, s);
    Plan plan = legalPlan(loop, random);
    if (checkOrder(loop, plan).legal())
      s.inner = plan;
  }
}
