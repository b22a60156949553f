//===- ElementWork.cpp - Instructions of loops over elements --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/ElementWork.h"
#include "Analysis/Kernel/KernelTrace.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using timing::VectorWork;

namespace {

/// f32 in a vector. Narrower elements are computed in as many lanes.
constexpr int64_t lanes = 16;

/// Rows of one loop over elements: `rows` times `length` of them.
struct Rows {
  double rows = 1, length = 1;
  double vectors() const { return rows * std::ceil(length / double(lanes)); }
};

Rows rowsOf(ArrayRef<int64_t> shape) {
  Rows result;
  if (shape.empty())
    return result;
  for (int64_t extent : shape.drop_back())
    result.rows *= double(extent);
  result.length = double(shape.back());
  return result;
}

bool isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         (strides.empty() || strides.back() == 1);
}

unsigned bitsOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

/// Instructions of a conversion between types of floating-point numbers.
double conversionCost(Type from, Type to) {
  if (from == to)
    return 0;
  auto narrow = bitsOf(from) < bitsOf(to) ? from : to;
  bool widens = narrow == from;
  if (narrow.isF16())
    return 2; // vcvtph2ps and vcvtps2ph are two on 512 bits
  if (narrow.isBF16())
    return widens ? 2 : 7; // integer arithmetic, with rounding to even
  return widens ? 8 : 20;  // f8: tables of bits
}

/// Adds one vector instruction for an operation of a body.
void addOperation(Operation &op, double vectors, VectorWork &work) {
  if (op.hasTrait<OpTrait::ConstantLike>() || op.getNumResults() != 1)
    return;
  Type type = op.getResult(0).getType();
  if (type.isIndex())
    return; // addresses
  double wide = bitsOf(type) > 32 ? 2 : 1;
  llvm::TypeSwitch<Operation *>(&op)
      .Case<arith::MaximumFOp, arith::MinimumFOp>([&](auto) { work.maxima += wide * vectors; })
      .Case<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(
          [&](auto) { work.divisions += wide * vectors; })
      .Case<math::ExpOp, math::Exp2Op>([&](auto) { work.exponentials += vectors; })
      .Case<math::LogOp, math::Log2Op, math::TanhOp, math::ErfOp, math::SinOp, math::CosOp,
            math::PowFOp>([&](auto) { work.exponentials += 1.5 * vectors; })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *cast) {
        work.arithmetic += vectors * conversionCost(cast->getOperand(0).getType(), type);
      })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { work.scalars += 4 * vectors * double(lanes); })
      .Case<arith::NegFOp, arith::BitcastOp>([&](auto) { work.arithmetic += 0.5 * vectors; })
      .Default([&](Operation *) { work.arithmetic += wide * vectors; });
}

void addReduction(bool isMaximum, const Rows &rows, VectorWork &work) {
  if (isMaximum) {
    work.rowMaxima += rows.rows;
    work.maximumVectors += rows.vectors();
  } else {
    work.sumVectors += rows.vectors();
    work.sums += rows.rows;
  }
}

bool isMaximum(tile::ReduceOp reduce) {
  return (reduce.getKind() == tile::ReduceKind::Max || reduce.getKind() == tile::ReduceKind::Min) &&
         isa<FloatType>(elementTypeOf(reduce.getTarget()));
}

int64_t tripsOf(scf::ForOp loop) {
  APInt from, to, step;
  if (matchPattern(loop.getLowerBound(), m_ConstantInt(&from)) &&
      matchPattern(loop.getUpperBound(), m_ConstantInt(&to)) &&
      matchPattern(loop.getStep(), m_ConstantInt(&step)) && step.getSExtValue() > 0)
    return tripCount(from.getSExtValue(), to.getSExtValue(), step.getSExtValue());
  return 1;
}

/// Returns whether a value depends on a loop's induction variable.
bool dependsOn(Value value, Value variable) {
  if (value == variable)
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == variable.getParentBlock() &&
         llvm::any_of(op->getOperands(), [&](Value each) { return dependsOn(each, variable); });
}

class NestWork {
public:
  VectorWork run(scf::ForOp nest) {
    visit(nest, 1);
    return work;
  }

private:
  void visit(scf::ForOp loop, double times) {
    Rows rows{times, double(tripsOf(loop))};
    bool innermost = true;
    for (Operation &op : *loop.getBody())
      if (auto inner = dyn_cast<scf::ForOp>(op)) {
        visit(inner, times * rows.length);
        innermost = false;
      }
    if (innermost)
      return visitElements(loop, rows);
    for (Operation &op : loop.getBody()->without_terminator())
      if (isa<memref::LoadOp, memref::StoreOp>(op))
        work.loads += times * rows.length;
  }

  void visitElements(scf::ForOp loop, const Rows &rows) {
    work.rows += rows.rows;
    Value variable = loop.getInductionVar();
    auto *yield = loop.getBody()->getTerminator();
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto access = [&](Value memref, ValueRange indices, double &count) {
        bool moves = llvm::any_of(indices, [&](Value i) { return dependsOn(i, variable); });
        auto type = cast<MemRefType>(memref.getType());
        bool contiguous = isContiguous(type) &&
                          (indices.empty() || !moves || dependsOn(indices.back(), variable));
        if (!moves)
          count += rows.rows;
        else if (contiguous)
          count += rows.vectors();
        else
          work.scalars += rows.rows * rows.length;
      };
      if (auto load = dyn_cast<memref::LoadOp>(op))
        access(load.getMemRef(), load.getIndices(), work.loads);
      else if (auto store = dyn_cast<memref::StoreOp>(op))
        access(store.getMemRef(), store.getIndices(), work.stores);
      else if (op.hasOneUse() && *op.user_begin() == yield)
        addReduction(isa<arith::MaximumFOp, arith::MinimumFOp>(op), rows, work);
      else
        addOperation(op, rows.vectors(), work);
    }
  }

  VectorWork work;
};

} // namespace

VectorWork penstock::elementWorkOf(tile::CopyOp copy) {
  VectorWork work;
  Rows rows = rowsOf(copy.getBoxShape());
  auto from = cast<MemRefType>(copy.getSource().getType()),
       to = cast<MemRefType>(copy.getTarget().getType());
  SmallVector<int64_t> dims = copy.getTensorDims();
  bool ordered = (!copy.readsTensor() && !copy.writesTensor()) || dims.empty() ||
                 dims.back() == (copy.readsTensor() ? from : to).getRank() - 1;
  work.rows = rows.rows;
  if (!isContiguous(from) || !isContiguous(to) || !ordered) {
    work.scalars = rows.rows * rows.length;
    return work;
  }
  double bits = std::max(bitsOf(from.getElementType()), bitsOf(to.getElementType()));
  double vectors = rows.rows * std::ceil(rows.length * bits / 512);
  work.loads = work.stores = vectors;
  work.arithmetic = vectors * conversionCost(from.getElementType(), to.getElementType());
  return work;
}

VectorWork penstock::elementWorkOf(tile::FillOp fill) {
  VectorWork work;
  auto type = cast<MemRefType>(fill.getTarget().getType());
  Rows rows = rowsOf(type.getShape());
  work.rows = rows.rows;
  work.stores = rows.vectors();
  return work;
}

VectorWork penstock::elementWorkOf(tile::MapOp map) {
  VectorWork work;
  auto type = cast<MemRefType>(map.getTarget().getType());
  Rows rows = rowsOf(type.getShape());
  work.rows = rows.rows;
  for (auto [i, input] : llvm::enumerate(map.getInputs())) {
    SmallVector<int64_t> dims = map.getInputDims(unsigned(i));
    bool alongRow = llvm::is_contained(dims, type.getRank() - 1);
    if (!alongRow)
      work.loads += rows.rows;
    else if (dims.back() == type.getRank() - 1 && isContiguous(cast<MemRefType>(input.getType())))
      work.loads += rows.vectors();
    else
      work.scalars += rows.rows * rows.length;
  }
  for (Operation &op : map.getBody().front().without_terminator())
    addOperation(op, rows.vectors(), work);
  work.stores += rows.vectors();
  return work;
}

VectorWork penstock::elementWorkOf(tile::ReduceOp reduce) {
  VectorWork work;
  auto type = cast<MemRefType>(reduce.getSource().getType());
  Rows rows = rowsOf(type.getShape());
  work.rows = rows.rows;
  work.loads = rows.vectors();
  if (int64_t(reduce.getDim()) == type.getRank() - 1) {
    addReduction(isMaximum(reduce), rows, work);
    return work;
  }
  // Whole rows are added to each other.
  work.loads += rows.vectors();
  work.stores = rows.vectors();
  (isMaximum(reduce) ? work.maxima : work.arithmetic) += rows.vectors();
  return work;
}

VectorWork penstock::elementWorkOf(scf::ForOp nest) { return NestWork().run(nest); }

VectorWork penstock::packingWork(GemmPacking packing, MemRefType type) {
  VectorWork work;
  double elements = double(type.getNumElements());
  double bytes = elements * double(type.getElementTypeBitWidth()) / 8;
  switch (packing) {
  case GemmPacking::None:
    break;
  case GemmPacking::Converted:
    work.loads = work.stores = elements / double(lanes);
    work.arithmetic = 2 * work.loads;
    work.rows = double(type.getDimSize(0));
    break;
  case GemmPacking::Transposed:
    work.transposes = elements / 256;
    if (!type.getElementType().isF32())
      work.arithmetic = 2 * elements / double(lanes);
    break;
  case GemmPacking::Elements:
    work.scalars = elements;
    break;
  case GemmPacking::Rows:
    work.loads = work.stores = bytes / 64;
    work.rows = double(type.getDimSize(0));
    break;
  case GemmPacking::Tiles:
    // Rows are padded to 64 bytes.
    work.packedTiles =
        double(type.getDimSize(0)) * std::ceil(bytes / double(type.getDimSize(0)) / 64);
    work.packCalls = 1;
    break;
  case GemmPacking::Panels:
    (type.getElementTypeBitWidth() == 16 ? work.packedPairs : work.packedQuads) = bytes / 64;
    // Columns of a panel that is not full go one by one.
    work.scalars = double(type.getDimSize(0) * (type.getDimSize(1) % lanes));
    work.packCalls = 1;
    break;
  case GemmPacking::TransposedPanels:
    work.packedColumns = bytes / 64;
    work.packCalls = 1;
    break;
  }
  return work;
}

bool penstock::isElementLoop(scf::ForOp loop) {
  bool elements = false, other = false;
  loop.walk([&](Operation *op) {
    elements |= isa<memref::LoadOp, memref::StoreOp>(op);
    other |= isa<tile::TileDialect>(op->getDialect()) || isa<scf::IfOp, scf::WhileOp>(op);
  });
  return elements && !other;
}

void penstock::elementAccesses(scf::ForOp nest, SmallVectorImpl<ElementAccess> &accesses) {
  auto add = [&](Operation *op, Value memref, ValueRange indices, bool write) {
    auto type = cast<MemRefType>(memref.getType());
    ElementAccess access{memref, SmallVector<Value, 4>(indices), 0, 0, write};
    double elements = 1, row = 1;
    for (Operation *at = op->getParentOp(); at; at = at->getParentOp()) {
      auto loop = dyn_cast<scf::ForOp>(at);
      if (!loop)
        break;
      bool moves = llvm::any_of(indices, [&](Value index) {
        SmallVector<Value> pending = {index};
        while (!pending.empty()) {
          Value value = pending.pop_back_val();
          if (value == loop.getInductionVar())
            return true;
          if (Operation *made = value.getDefiningOp(); made && nest->isAncestor(made))
            llvm::append_range(pending, made->getOperands());
        }
        return false;
      });
      if (moves) {
        if (elements == 1)
          row = double(tripsOf(loop));
        elements *= double(tripsOf(loop));
      }
      if (at == nest)
        break;
    }
    double size = double(type.getElementTypeBitWidth()) / 8;
    access.bytes = elements * size;
    access.rowBytes = row * size;
    accesses.push_back(std::move(access));
  };
  nest.walk([&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      add(op, load.getMemRef(), load.getIndices(), false);
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      add(op, store.getMemRef(), store.getIndices(), true);
  });
}
