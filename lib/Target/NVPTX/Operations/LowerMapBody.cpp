//===- LowerMapBody.cpp - The expression of a map -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one element, or for two at a time: Blackwell adds and multiplies pairs of f32 by one
// instruction, and warps that compute a softmax are short of slots to issue instructions.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/LowerMapBody.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/LowerElements.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

/// Compares coordinates of an element with a value. The thread's own part moves to the side
/// of the value, where all elements share it, so that each is compared with a constant:
/// sums for each element would be registers that a loop keeps.
static Value compareCoordinates(LoweringContext &c, arith::CmpIOp op, Value with,
                                ArrayRef<Value> base, ArrayRef<int64_t> offset) {
  ArrayRef<int64_t> factors =
      op->getAttrOfType<DenseI64ArrayAttr>(nv::NVDialect::coordinatesAttr).asArrayRef();
  int64_t alike = factors.back(), own = 0;
  Value shared = c.i32(0);
  for (auto [dim, factor] : llvm::enumerate(factors.drop_back())) {
    own += factor * (offset[dim] & -alike);
    if (factor)
      shared = c.add(shared, c.mul(base[dim], factor));
  }
  with = LLVM::SSubSat::create(c.builder, c.loc, with, shared);
  return arith::CmpIOp::create(c.builder, c.loc, op.getPredicate(), c.i32(own), with);
}

/// Reads input \p i of a map for one element.
static Value mapInput(LoweringContext &c, tile::MapOp op, unsigned i, const Distribution &layout,
                      int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                      const Distribution *known) {
  Value input = op.getInputs()[i];
  SmallVector<int64_t> dims = op.getInputDims(i);
  if (RegisterTile *tile = registersOf(c, input)) {
    int64_t own = reg;
    Distribution sliced = layout;
    for (int64_t dim = int64_t(layout.rank()) - 1; dim >= 0; --dim)
      if (!llvm::is_contained(dims, dim)) {
        own = sliced.sliceRegister(unsigned(dim), own);
        sliced = sliced.slice(unsigned(dim));
      }
    return fromStored(c, readRegister(c, *tile, own), elementOf(input));
  }
  if (auto variable = c.registers.variables.find(input); variable != c.registers.variables.end())
    return fromStored(
        c, LLVM::LoadOp::create(c.builder, c.loc, storedAs(elementOf(input)), variable->second),
        elementOf(input));
  SmallVector<Value> from;
  SmallVector<int64_t> by;
  for (int64_t dim : dims) {
    from.push_back(base[size_t(dim)]);
    by.push_back(offset[size_t(dim)]);
  }
  if (dims.size() < layout.rank())
    known = nullptr;
  return loadShared(c, sharedElement(c, viewOf(c, input), from, by, known), elementOf(input), 1,
                    known ? neighborsFrom(c, layout, input, offset) : 1)[0];
}

/// Computes an operation in the body of a map for one element.
static LogicalResult mapOperation(LoweringContext &c, Operation &inner, IRMapping &mapping,
                                  ArrayRef<Value> base, ArrayRef<int64_t> offset) {
  if (auto index = dyn_cast<tile::ElementIndexOp>(inner)) {
    size_t dim = size_t(index.getDim());
    mapping.map(index.getResult(), c.asIndex(c.add(base[dim], offset[dim])));
  } else if (auto load = dyn_cast<tile::LoadOp>(inner)) {
    if (failed(checkElementAccess(c, load)))
      return failure();
    SmallVector<Value> indices = llvm::map_to_vector(
        load.getIndices(), [&](Value index) { return mapping.lookupOrDefault(index); });
    mapping.map(load.getResult(), loadElement(c, load.getSource(), indices, load.getIndices()));
  } else if (auto compare = dyn_cast<arith::CmpIOp>(inner);
             compare && compare->hasAttr(nv::NVDialect::coordinatesAttr)) {
    mapping.map(
        compare.getResult(),
        compareCoordinates(c, compare, mapping.lookupOrDefault(compare.getRhs()), base, offset));
  } else if (auto bind = dyn_cast<tile::BindOp>(inner)) {
    mapping.map(bind.getResult(), mapping.lookupOrDefault(bind.getValue()));
  } else if (auto dim = dyn_cast<memref::DimOp>(inner)) {
    mapping.map(dim.getResult(), sizeOf(c, dim));
  } else if (isa<tile::TileDialect>(inner.getDialect())) {
    return c.refuse(&inner, "is not supported in an expression");
  } else {
    c.builder.clone(inner, mapping);
  }
  return success();
}

/// Computes the body of \p op for one element.
FailureOr<Value> nvptx::mapElement(LoweringContext &c, tile::MapOp op, const Distribution &layout,
                                   int64_t reg, ArrayRef<Value> base, ArrayRef<int64_t> offset,
                                   const Distribution *known) {
  IRMapping mapping;
  for (unsigned i = 0; i < op.getInputs().size(); ++i)
    mapping.map(op.getBody().getArgument(i), mapInput(c, op, i, layout, reg, base, offset, known));
  for (Operation &inner : op.getBody().front().without_terminator())
    if (failed(mapOperation(c, inner, mapping, base, offset)))
      return failure();
  auto yield = cast<tile::YieldOp>(op.getBody().front().getTerminator());
  return mapping.lookupOrDefault(yield.getValue());
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// Returns whether one instruction computes an operation for two elements on Blackwell.
static bool isPacked(Operation &op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(op) &&
         op.getResult(0).getType().isF32();
}

bool nvptx::sumTakesProduct(tile::MapOp op) {
  auto reduce = dyn_cast_or_null<tile::ReduceOp>(op->getNextNode());
  if (!reduce || reduce.getSource() != op.getTarget() ||
      !reduce->hasAttr(tile::TileDialect::contractAttr))
    return false;
  Value last = cast<tile::YieldOp>(op.getBody().front().getTerminator()).getValue();
  if (auto select = last.getDefiningOp<arith::SelectOp>())
    last = select.getTrueValue();
  return last.getDefiningOp<arith::MulFOp>() != nullptr;
}

bool nvptx::computesPairs(LoweringContext &c, tile::MapOp op, const Distribution &layout,
                          ArrayRef<Value> base) {
  if (!c.architecture.limits.tensorColumns || layout.registers() % 2)
    return false;
  for (int64_t reg = 0; reg < layout.registers(); ++reg)
    if (holdsElement(c, layout, base, layout.offsetOf(reg)))
      return false;
  // Pairs take half an instruction for each operation of an element, and one for the sum.
  int64_t operations = llvm::count_if(op.getBody().front(), isPacked);
  return sumTakesProduct(op) ? operations > 2 : operations > 0;
}

namespace {

/// A value of the body of a map for two elements: alone, together, or both.
struct ValuePair {
  Value of[2];
  Value both;
};

} // namespace

/// Computes two registers of the target at a time.
LogicalResult nvptx::lowerMapByPairs(LoweringContext &c, tile::MapOp op, RegisterTile &target,
                                     const Distribution &layout, ArrayRef<Value> base) {
  auto vector = VectorType::get({2}, c.builder.getF32Type());
  llvm::DenseMap<std::pair<Value, Value>, Value> packed; // what all elements share is packed once
  auto together = [&](ValuePair &pair) {
    Value &known = packed[{pair.of[0], pair.of[1]}];
    if (!pair.both && known)
      pair.both = known;
    if (!pair.both) {
      Value both = LLVM::PoisonOp::create(c.builder, c.loc, vector);
      for (int64_t i = 0; i < 2; ++i)
        both = LLVM::InsertElementOp::create(c.builder, c.loc, both, pair.of[i], c.i32(i));
      known = pair.both = both;
    }
    return pair.both;
  };
  auto alone = [&](ValuePair &pair, int64_t i) {
    if (!pair.of[i])
      pair.of[i] = LLVM::ExtractElementOp::create(c.builder, c.loc, pair.both, c.i32(i));
    return pair.of[i];
  };
  for (int64_t reg = 0; reg < layout.registers(); reg += 2) {
    IRMapping mapping[2];
    llvm::DenseMap<Value, ValuePair> values;
    for (unsigned i = 0; i < op.getInputs().size(); ++i)
      for (int64_t lane : {0, 1})
        mapping[lane].map(
            op.getBody().getArgument(i),
            mapInput(c, op, i, layout, reg + lane, base, layout.offsetOf(reg + lane), &layout));
    auto pairOf = [&](Value value) -> ValuePair & {
      auto [found, isNew] = values.try_emplace(value);
      if (isNew)
        for (int64_t lane : {0, 1})
          found->second.of[lane] = mapping[lane].lookupOrDefault(value);
      return found->second;
    };
    for (Operation &inner : op.getBody().front().without_terminator()) {
      if (!isPacked(inner)) {
        for (int64_t lane : {0, 1}) {
          for (Value operand : inner.getOperands())
            if (auto found = values.find(operand); found != values.end())
              mapping[lane].map(operand, alone(found->second, lane));
          if (failed(mapOperation(c, inner, mapping[lane], base, layout.offsetOf(reg + lane))))
            return failure();
        }
        continue;
      }
      SmallVector<Value> operands;
      for (Value operand : inner.getOperands())
        operands.push_back(together(pairOf(operand)));
      OperationState state(c.loc, inner.getName(), operands, vector, inner.getAttrs());
      values[inner.getResult(0)].both = c.builder.create(state)->getResult(0);
    }
    Value result = cast<tile::YieldOp>(op.getBody().front().getTerminator()).getValue();
    ValuePair &pair = pairOf(result);
    Value first = alone(pair, 0), second = alone(pair, 1);
    if (hasHalves(target)) {
      writeHalves(c, target, reg, first, second);
    } else {
      writeRegister(c, target, reg, toStored(c, first));
      writeRegister(c, target, reg + 1, toStored(c, second));
    }
  }
  return success();
}
