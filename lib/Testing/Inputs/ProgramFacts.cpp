//===- ProgramFacts.cpp - Facts of a program that inputs depend on --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/ProgramFacts.h"
#include "Analysis/Loop/AutoStages.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace penstock;

namespace {

/// Element of a tensor, times a multiplier, divided by a divisor.
struct Flow {
  unsigned argument = 0;
  int64_t multiplier = 1, divisor = 1;
  bool bound = false;
  bool operator==(const Flow &) const = default;
};
using Flows = SmallVector<Flow, 2>;

/// More than programs have, and few enough that nothing grows without end.
constexpr size_t maxFlows = 16;
constexpr int64_t maxFactor = int64_t(1) << 31;

class Finder {
public:
  explicit Finder(func::FuncOp kernel) : kernel(kernel) {}

  ProgramFacts find() {
    for (BlockArgument argument : kernel.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      facts.tiles.emplace_back(type ? size_t(type.getRank()) : 0);
    }
    // Values that a loop carries through tiles and variables need more than one round.
    for (int round = 0; round < 4; ++round)
      kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { follow(op); });
    kernel.walk([&](Operation *op) { use(op); });
    kernel.walk([&](tile::GridOp grid) {
      for (Value extent : grid.getExtents())
        findGridScalars(extent, /*divided=*/false);
    });
    kernel.walk([&](scf::ForOp loop) {
      if (auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr))
        facts.stages = std::max(facts.stages, mostStages(schedule));
    });
    findNeighbors();
    return std::move(facts);
  }

private:
  static void add(Flows &to, const Flows &from) {
    for (const Flow &flow : from)
      if (to.size() < maxFlows && !llvm::is_contained(to, flow))
        to.push_back(flow);
  }
  /// Flows of a scalar, or of the elements of a tile. Copies: maps of others move.
  Flows of(Value value) const {
    if (!isa<MemRefType>(value.getType()))
      return flows.lookup(value);
    Value root = tile::rootOf(value);
    auto argument = dyn_cast<BlockArgument>(root);
    if (!argument)
      return flows.lookup(root);
    bool integers = cast<MemRefType>(root.getType()).getElementType().isInteger();
    return integers ? Flows{{argument.getArgNumber()}} : Flows();
  }
  void pass(Value from, Value to) {
    Value target = isa<MemRefType>(to.getType()) ? tile::rootOf(to) : to;
    if (!isa<MemRefType>(to.getType()) || !isa<BlockArgument>(target))
      add(flows[target], of(from));
  }
  void scaled(Value from, Value to, int64_t multiplier, int64_t divisor) {
    Flows result;
    for (Flow flow : of(from)) {
      if (multiplier < 1 || divisor < 1 || flow.multiplier > maxFactor / multiplier ||
          flow.divisor > maxFactor / divisor)
        continue;
      flow.multiplier *= multiplier;
      flow.divisor *= divisor;
      int64_t common = std::gcd(flow.multiplier, flow.divisor);
      flow.multiplier /= common;
      flow.divisor /= common;
      result.push_back(flow);
    }
    add(flows[to], result);
  }

  void follow(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return pass(copy.getSource(), copy.getTarget());
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return pass(load.getSource(), load.getResult());
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return pass(store.getValue(), store.getTarget());
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      if (reduce.getKind() == tile::ReduceKind::Max || reduce.getKind() == tile::ReduceKind::Min)
        pass(reduce.getSource(), reduce.getTarget());
      return;
    }
    if (auto map = dyn_cast<tile::MapOp>(op)) {
      Block &body = map.getBody().front();
      for (auto [input, argument] : llvm::zip(map.getInputs(), body.getArguments()))
        pass(input, argument);
      auto yield = dyn_cast<tile::YieldOp>(body.getTerminator());
      if (yield && yield.getValue())
        pass(yield.getValue(), map.getTarget());
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (Value limit : {loop.getLowerBound(), loop.getUpperBound()}) {
        Flows bounds = of(limit);
        for (Flow &flow : bounds)
          flow.bound = true;
        add(flows[loop.getInductionVar()], bounds);
      }
      for (auto [init, argument] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs()))
        pass(init, argument);
      return;
    }
    if (op->getNumResults() != 1 || op->getNumRegions())
      return;
    Value result = op->getResult(0);
    auto constant = [&](unsigned operand) {
      return getConstantIntValue(op->getOperand(operand)).value_or(0);
    };
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
            arith::TruncIOp, tile::BindOp, arith::AddIOp, arith::MinSIOp, arith::MaxSIOp,
            arith::MinUIOp, arith::MaxUIOp>(op)) {
      for (Value operand : op->getOperands())
        pass(operand, result);
    } else if (isa<arith::SubIOp>(op)) {
      pass(op->getOperand(0), result);
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      pass(select.getTrueValue(), result);
      pass(select.getFalseValue(), result);
    } else if (isa<arith::MulIOp>(op)) {
      scaled(op->getOperand(0), result, constant(1), 1);
      scaled(op->getOperand(1), result, constant(0), 1);
    } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op)) {
      scaled(op->getOperand(0), result, 1, constant(1));
    }
  }

  void use(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
      if (!copy.readsTensor() && !copy.writesTensor())
        return;
      ValueRange offsets = copy.readsTensor() ? copy.getSourceOffsets() : copy.getTargetOffsets();
      indexed(tensor, offsets);
      auto &tiles = facts.tiles[cast<BlockArgument>(tensor).getArgNumber()];
      for (auto [dim, extent] : llvm::zip(copy.getTensorDims(), copy.getBoxShape())) {
        TileSize &tile = tiles[size_t(dim)];
        std::optional<int64_t> offset = getConstantIntValue(offsets[size_t(dim)]);
        bool constant = offset && (tile.end > 0 || tile.extent == 1);
        tile.end = constant ? std::max(tile.end, *offset + extent) : 0;
        tile.extent = std::max(tile.extent, extent);
      }
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      indexed(load.getSource(), load.getIndices());
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      indexed(store.getTarget(), store.getIndices());
    } else if (auto atomic = dyn_cast<tile::AtomicOp>(op)) {
      indexed(atomic.getTarget(), atomic.getIndices());
    }
  }

  void indexed(Value memref, ValueRange coordinates) {
    for (auto [dim, coordinate] : llvm::enumerate(coordinates))
      for (const Flow &flow : of(coordinate)) {
        IndexUse use;
        if (auto argument = dyn_cast<BlockArgument>(memref))
          use.argument = int(argument.getArgNumber());
        else
          use.extent = cast<MemRefType>(memref.getType()).getDimSize(unsigned(dim));
        use.dim = unsigned(dim);
        use.multiplier = flow.multiplier;
        use.divisor = flow.divisor;
        use.bound = flow.bound;
        auto &uses = facts.indices[flow.argument].uses;
        if (!llvm::is_contained(uses, use))
          uses.push_back(use);
      }
  }

  void findGridScalars(Value value, bool divided) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (value.getType().isIntOrIndex())
        facts.gridScalars[argument.getArgNumber()] |= divided;
      return;
    }
    Operation *op = value.getDefiningOp();
    divided |= isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
    for (Value operand : op->getOperands())
      if (operand.getType().isIntOrIndex())
        findGridScalars(operand, divided);
  }

  /// Finds tensors of which the program loads elements i and i + 1.
  void findNeighbors() {
    SmallVector<tile::LoadOp> loads;
    kernel.walk([&](tile::LoadOp load) {
      if (isa<BlockArgument>(load.getSource()) && load.getIndices().size() == 1)
        loads.push_back(load);
    });
    for (tile::LoadOp load : loads) {
      auto next = load.getIndices()[0].getDefiningOp<arith::AddIOp>();
      if (!next || getConstantIntValue(next.getRhs()) != 1)
        continue;
      auto known = facts.indices.find(cast<BlockArgument>(load.getSource()).getArgNumber());
      for (tile::LoadOp other : loads)
        if (known != facts.indices.end() && other.getSource() == load.getSource() &&
            other.getIndices()[0] == next.getLhs())
          known->second.ascending = true;
    }
  }

  func::FuncOp kernel;
  DenseMap<Value, Flows> flows;
  ProgramFacts facts;
};

} // namespace

ProgramFacts penstock::factsOf(func::FuncOp kernel) { return Finder(kernel).find(); }
