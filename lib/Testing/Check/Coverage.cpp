//===- Coverage.cpp - Parts of a tile program that runs exercise ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Check/Coverage.h"
#include "Analysis/Loop/AutoStages.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileDialect.h"
#include "Testing/Inputs/Shapes.h"
#include "Testing/Inputs/TestData.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace penstock;

Coverage::Coverage(std::shared_ptr<TestedProgram> program,
                   const std::vector<ArgumentDescription> &arguments)
    : program(std::move(program)), arguments(arguments) {}

void Coverage::onGrid(Operation *grid, ArrayRef<int64_t> extents) {
  auto &most = grids[grid].most;
  most.resize(extents.size(), 0);
  for (auto [to, extent] : llvm::zip(most, extents))
    to = std::max(to, extent);
}

void Coverage::onLoop(Operation *loop, int64_t count) {
  int64_t &most = iterations[loop];
  most = std::max(most, count);
}

void Coverage::onChoice(Operation *op, bool condition) {
  Choice &choice = choices[op];
  (condition ? choice.wasTrue : choice.wasFalse) = true;
}

void Coverage::onCopy(Operation *op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
  auto copy = cast<tile::CopyOp>(op);
  auto &at = clipped[op];
  at.resize(sizes.size(), false);
  for (auto [dim, extent] : llvm::zip(copy.getTensorDims(), copy.getBoxShape()))
    at[size_t(dim)] |=
        offsets[size_t(dim)] < 0 || offsets[size_t(dim)] + extent > sizes[size_t(dim)];
}

std::optional<Shape> Coverage::clippingShape(Operation *op, unsigned dim,
                                             const std::vector<Shape> &shapes,
                                             const SizeConditions &conditions) const {
  auto copy = cast<tile::CopyOp>(op);
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  std::string size = sizeName(arguments[cast<BlockArgument>(tensor).getArgNumber()], int(dim));
  for (const Shape &shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i)
      for (int change : {-1, 1}) {
        Shape other = shape;
        other[i].second = Number(shape[i].second.value + change);
        if (shape[i].first == size && shape[i].second.value >= 1 && conditions.hold(other))
          return other;
      }
  return std::nullopt;
}

Coverage::LoopHole Coverage::holeOf(Operation *op) const {
  auto loop = cast<scf::ForOp>(op);
  auto found = iterations.find(op);
  if (found == iterations.end() ||
      (getConstantIntValue(loop.getLowerBound()) && getConstantIntValue(loop.getUpperBound())))
    return {};
  auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
  int64_t stages = schedule ? mostStages(schedule) : 0;
  if (found->second == 0)
    return {"the loop never runs", 1};
  if (found->second < 2)
    return {"the loop never runs twice", 2};
  if (found->second >= stages)
    return {};
  return {"the loop never runs " + std::to_string(stages) +
              " times, so that its pipeline is never full",
          stages};
}

bool Coverage::hasShortLoop() const {
  bool found = false;
  program->kernel().walk([&](scf::ForOp loop) { found |= !holeOf(loop).text.empty(); });
  return found;
}

std::vector<penstock::Diagnostic> Coverage::holes(const std::vector<Shape> &shapes,
                                                  const SizeConditions &conditions) const {
  std::vector<penstock::Diagnostic> result;
  std::set<std::pair<std::string, std::string>> seen;
  auto add = [&](Operation *op, const std::string &message,
                 const std::optional<Shape> &closing = std::nullopt) {
    SourceLocation location = tile::sourceLocationOf(op->getLoc());
    std::string position = location.file + ":" + std::to_string(location.line);
    if (!seen.emplace(position, message).second)
      return;
    penstock::Diagnostic d;
    d.code = CheckCoverage;
    d.location = location;
    d.message = message;
    if (closing)
      d.helps.push_back("add a shape, e.g. --shape " + textOf(*closing));
    result.push_back(std::move(d));
  };
  auto enlarged = [&](ArrayRef<Value> values, llvm::function_ref<bool(ArrayRef<int64_t>)> enough) {
    for (const Shape &shape : shapes)
      if (auto found = conditions.enlarged(shape, values, enough))
        return found;
    return std::optional<Shape>();
  };
  program->kernel().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto grid = dyn_cast<tile::GridOp>(op)) {
      auto found = grids.find(op);
      for (auto [dim, extent] : llvm::enumerate(grid.getExtents()))
        if (found != grids.end() && found->second.most[dim] < 2 && !getConstantIntValue(extent))
          add(op,
              "no run has more than one block along dimension " + std::to_string(dim) +
                  " of the grid",
              enlarged(extent, [](ArrayRef<int64_t> blocks) { return blocks[0] > 1; }));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (LoopHole hole = holeOf(op); !hole.text.empty())
        add(op, hole.text,
            enlarged({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                     [&](ArrayRef<int64_t> of) {
                       return of[2] > 0 && of[1] - of[0] > (hole.iterations - 1) * of[2];
                     }));
    } else if (isa<scf::IfOp, arith::SelectOp>(op)) {
      auto found = choices.find(op);
      if (found == choices.end() || getConstantIntValue(op->getOperand(0)))
        return;
      std::string what = isa<scf::IfOp>(op) ? "the condition" : "the mask of `where`";
      if (!found->second.wasTrue)
        add(op, what + " is never true");
      if (!found->second.wasFalse)
        add(op, what + " is never false");
    } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      auto found = clipped.find(op);
      if (found == clipped.end())
        return;
      Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
      for (auto [dim, extent] : llvm::zip(copy.getTensorDims(), copy.getBoxShape()))
        if (extent > 1 && !found->second[size_t(dim)])
          if (auto closing = clippingShape(op, unsigned(dim), shapes, conditions))
            add(op,
                "the copy never crosses the edge of `" + tile::nameOf(tensor) +
                    "` along dimension " + std::to_string(dim),
                closing);
    }
  });
  return result;
}
