//===- AddedTile.cpp - Parallel bodies that add a tile to a tensor --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Placement/AddedTile.h"
#include "Analysis/Value/ValueRanges.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/Signature.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

/// An index of the body: at most one of its arguments, and terms that are the same for all
/// elements.
struct ElementIndex {
  std::optional<unsigned> argument;
  SmallVector<Value> terms;
};

class Matcher {
public:
  Matcher(func::FuncOp kernel, tile::ParallelOp body, std::string &reason)
      : kernel(kernel), body(body), reason(reason) {
    if (auto text = kernel->getAttrOfType<StringAttr>(tile::TileDialect::signatureAttr))
      signature = parseSignature(text.getValue());
  }

  std::optional<AddedTile> run() {
    if (!findAddition())
      return std::nullopt;
    AddedTile found;
    found.body = body;
    found.tile = load.getSource();
    found.tensor = atomic.getTarget();
    auto type = cast<MemRefType>(found.tensor.getType());
    found.terms.resize(size_t(type.getRank()));
    found.dims.assign(body.getExtents().size(), -1);
    for (auto [dim, index] : llvm::enumerate(atomic.getIndices())) {
      auto of = indexOf(index);
      if (!of)
        return refuse("a coordinate is not the sum of an element's index and an offset");
      if (!llvm::all_of(of->terms, isNonNegative))
        return refuse("an offset may be negative");
      if (of->argument && found.dims[*of->argument] >= 0)
        return refuse("an index of the body occurs twice among the coordinates");
      if (!isClipped(*of, unsigned(dim)))
        return refuse("nothing leaves out elements outside of " + tile::describe(found.tensor) +
                      " along dimension " + std::to_string(dim) + ", where TMA would clip them");
      if (of->argument)
        found.dims[*of->argument] = int64_t(dim);
      found.terms[dim] = of->terms;
    }
    if (llvm::is_contained(found.dims, -1))
      return refuse("elements of the tile are added to one element of the tensor");
    if (conditions.size() != clips.size())
      return refuse("it has conditions that TMA does not check");
    return found;
  }

private:
  std::nullopt_t refuse(const Twine &why) {
    reason = why.str();
    return std::nullopt;
  }

  bool isInBody(Value value) { return body.getBody().isAncestor(value.getParentRegion()); }

  /// Finds the only load and the only update, and the conditions above the update.
  bool findAddition() {
    bool other = false;
    body.getBody().walk([&](Operation *op) {
      if (auto one = dyn_cast<tile::AtomicOp>(op); one && one.getKind() == tile::AtomicKind::Add &&
                                                   tile::isGlobal(one.getTarget()) && !atomic)
        atomic = one;
      else if (auto one = dyn_cast<tile::LoadOp>(op); one && !load)
        load = one;
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        other |= branch.getNumResults() != 0 || !branch.getElseRegion().empty();
      else
        other |= !isa<scf::YieldOp, tile::YieldOp>(op) && !isMemoryEffectFree(op);
    });
    if (!atomic)
      return false;
    if (other)
      return refuse("the body does more than to add an element"), false;
    if (!atomic.getOld().use_empty())
      return refuse("the old value is used"), false;
    if (!load || atomic.getValue() != load.getResult())
      return refuse("the value is not an element of a shared tile"), false;
    auto type = cast<MemRefType>(load.getSource().getType());
    if (tile::spaceOf(type) != tile::Space::Shared ||
        !llvm::equal(type.getShape(), body.getExtents()) ||
        !llvm::equal(load.getIndices(), body.getBody().getArguments()))
      return refuse("the value is not the same element of a shared tile of the body's shape"),
             false;
    for (Operation *up = atomic->getParentOp(); up != body; up = up->getParentOp())
      addCondition(cast<scf::IfOp>(up).getCondition());
    return true;
  }

  void addCondition(Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      addCondition(both.getLhs());
      addCondition(both.getRhs());
    } else {
      conditions.insert(condition);
    }
  }

  /// Returns whether a value can be computed before the body.
  bool isUniform(Value value, unsigned depth = 0) {
    if (!isInBody(value))
      return true;
    Operation *op = value.getDefiningOp();
    return op && depth < 16 && isPure(op) && op->getNumRegions() == 0 &&
           llvm::all_of(
               op->getOperands(), [&](Value operand) { return isUniform(operand, depth + 1); });
  }

  std::optional<ElementIndex> indexOf(Value value, unsigned depth = 0) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner()->getParentOp() == body.getOperation())
      return ElementIndex{argument.getArgNumber(), {}};
    if (getConstantIntValue(value) == 0)
      return ElementIndex();
    auto sum = value.getDefiningOp<arith::AddIOp>();
    if (sum && isInBody(value) && depth < 16) {
      auto a = indexOf(sum.getLhs(), depth + 1), b = indexOf(sum.getRhs(), depth + 1);
      if (!a || !b || (a->argument && b->argument))
        return std::nullopt;
      if (b->argument)
        a->argument = b->argument;
      a->terms.append(b->terms);
      return a;
    }
    if (!isUniform(value))
      return std::nullopt;
    return ElementIndex{std::nullopt, {value}};
  }

  /// The name that the signature gives a size, or its number; empty if it is neither.
  std::string sizeName(Value tensor, int64_t dim) {
    auto type = cast<MemRefType>(tensor.getType());
    if (!type.isDynamicDim(unsigned(dim)))
      return std::to_string(type.getDimSize(unsigned(dim)));
    auto argument = dyn_cast<BlockArgument>(tensor);
    if (!argument || argument.getOwner() != &kernel.getBody().front())
      return "";
    size_t number = argument.getArgNumber();
    if (number < signature.arguments.size() &&
        size_t(dim) < signature.arguments[number].sizes.size())
      return signature.arguments[number].sizes[size_t(dim)];
    return "size " + std::to_string(dim) + " of argument " + std::to_string(number);
  }

  static Value unnamed(Value value) {
    while (auto bind = value.getDefiningOp<tile::BindOp>())
      value = bind.getValue();
    return value;
  }

  /// Returns whether a value is a size of a tensor; launches check that sizes of one name are
  /// equal.
  bool isSize(Value value, Value tensor, int64_t dim) {
    std::string wanted = sizeName(tensor, dim);
    value = unnamed(value);
    if (auto constant = getConstantIntValue(value))
      return std::to_string(*constant) == wanted;
    auto size = value.getDefiningOp<memref::DimOp>();
    auto index = size ? size.getConstantIndex() : std::nullopt;
    return index && !wanted.empty() && sizeName(size.getSource(), *index) == wanted;
  }

  /// Returns whether two values are the same, or computed by the same operations.
  static bool isSame(Value a, Value b, unsigned depth = 0) {
    if (a == b)
      return true;
    Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    if (!x || !y || depth > 16 || x->getName() != y->getName() || !isMemoryEffectFree(x) ||
        x->getNumRegions() || x->getAttrDictionary() != y->getAttrDictionary() ||
        x->getResultTypes() != y->getResultTypes() || x->getNumOperands() != y->getNumOperands() ||
        cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
      return false;
    return llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()), [&](auto pair) {
      return isSame(std::get<0>(pair), std::get<1>(pair), depth + 1);
    });
  }

  static bool isSame(const ElementIndex &a, const ElementIndex &b) {
    if (a.argument != b.argument || a.terms.size() != b.terms.size())
      return false;
    SmallVector<Value> rest(b.terms);
    for (Value term : a.terms) {
      auto *found = llvm::find_if(rest, [&](Value other) { return isSame(term, other); });
      if (found == rest.end())
        return false;
      rest.erase(found);
    }
    return true;
  }

  /// Returns whether only elements inside of the tensor are added along a dimension: as a condition
  /// says, or because there are no others.
  bool isClipped(const ElementIndex &index, unsigned dim) {
    Value tensor = atomic.getTarget();
    bool known = isInside(index, tensor, dim);
    for (Value condition : conditions) {
      auto compare = condition.getDefiningOp<arith::CmpIOp>();
      if (!compare)
        continue;
      using Predicate = arith::CmpIPredicate;
      Value less = compare.getLhs(), than = compare.getRhs();
      Predicate predicate = compare.getPredicate();
      if (predicate == Predicate::sgt || predicate == Predicate::ugt)
        std::swap(less, than);
      else if (predicate != Predicate::slt && predicate != Predicate::ult)
        continue;
      auto compared = indexOf(less);
      if (compared && isSame(*compared, index) && isSize(than, tensor, dim)) {
        known = true;
        clips.insert(condition);
      }
    }
    return known;
  }

  /// Returns whether an index is inside of the tensor for all elements of the body.
  bool isInside(const ElementIndex &index, Value tensor, unsigned dim) {
    auto type = cast<MemRefType>(tensor.getType());
    int64_t extent = index.argument ? body.getExtents()[*index.argument] : 1;
    if (!type.isDynamicDim(dim)) {
      int64_t last = extent - 1;
      for (Value term : index.terms) {
        auto constant = getConstantIntValue(term);
        if (!constant || *constant >= type.getDimSize(dim))
          return false;
        last += *constant;
      }
      return last < type.getDimSize(dim);
    }
    if (index.argument || index.terms.size() != 1)
      return false;
    Value term = unnamed(index.terms.front());
    if (auto work = term.getDefiningOp<nv::ClcWorkOp>())
      for (auto [own, first] : llvm::zip_equal(work.getCoordinates(), work.getFirst()))
        if (own == term) {
          term = first;
          break;
        }
    if (auto grid = term.getDefiningOp<tile::GridOp>())
      return isSize(grid.getExtents()[cast<OpResult>(term).getResultNumber()], tensor, dim);
    auto argument = dyn_cast<BlockArgument>(term);
    auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    return loop && argument == loop.getInductionVar() && isSize(loop.getUpperBound(), tensor, dim);
  }

  func::FuncOp kernel;
  tile::ParallelOp body;
  std::string &reason;
  Signature signature;
  tile::AtomicOp atomic;
  tile::LoadOp load;
  llvm::SetVector<Value> conditions; ///< of the update
  llvm::SmallDenseSet<Value> clips;  ///< those that leave out elements outside of the tensor
};

} // namespace

std::optional<AddedTile> nvptx::matchAddedTile(func::FuncOp kernel, tile::ParallelOp body,
                                               std::string &reason) {
  reason.clear();
  return Matcher(kernel, body, reason).run();
}

/// Clones what computes a value of a body before it.
static Value hoist(Value value, tile::ParallelOp body, OpBuilder &b, IRMapping &hoisted) {
  if (!body.getBody().isAncestor(value.getParentRegion()))
    return value;
  if (Value known = hoisted.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    hoisted.map(operand, hoist(operand, body, b, hoisted));
  b.clone(*op, hoisted);
  return hoisted.lookup(value);
}

SmallVector<Value> AddedTile::offsets() const {
  OpBuilder b(body);
  IRMapping hoisted;
  SmallVector<Value> result;
  for (const SmallVector<Value> &along : terms) {
    Value sum;
    for (Value term : along) {
      Value next = hoist(term, body, b, hoisted);
      sum = sum ? Value(arith::AddIOp::create(b, body->getLoc(), sum, next)) : next;
    }
    result.push_back(sum ? sum : arith::ConstantIndexOp::create(b, body->getLoc(), 0));
  }
  return result;
}
