//===- ProgramMutations.cpp - Small changes of tile programs --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/ProgramMutations.h"
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Operations that are exchanged for one with the same operands and results.
struct Exchange {
  StringLiteral from, to;
};
constexpr Exchange exchanges[] = {
    {"arith.addi", "arith.subi"},
    {"arith.subi", "arith.addi"},
    {"arith.muli", "arith.addi"},
    {"arith.divsi", "arith.remsi"},
    {"arith.remsi", "arith.divsi"},
    {"arith.ceildivsi", "arith.floordivsi"},
    {"arith.floordivsi", "arith.remsi"},
    {"arith.andi", "arith.ori"},
    {"arith.ori", "arith.andi"},
    {"arith.minsi", "arith.maxsi"},
    {"arith.maxsi", "arith.minsi"},
    {"arith.addf", "arith.subf"},
    {"arith.subf", "arith.addf"},
    {"arith.mulf", "arith.divf"},
    {"arith.divf", "arith.mulf"},
    {"arith.maximumf", "arith.minimumf"},
    {"arith.minimumf", "arith.maximumf"},
    {"arith.maxnumf", "arith.minnumf"},
    {"arith.minnumf", "arith.maxnumf"},
    {"math.exp", "math.exp2"},
    {"math.exp2", "math.exp"},
    {"math.log", "math.log2"},
    {"math.log2", "math.log"},
    {"math.sqrt", "math.rsqrt"},
    {"math.rsqrt", "math.sqrt"},
    {"math.tanh", "math.erf"},
    {"math.erf", "math.tanh"},
    {"math.sin", "math.cos"},
    {"math.cos", "math.sin"},
};

/// "copy", "addf".
std::string nameOf(StringRef operation) { return operation.split('.').second.str(); }

arith::CmpIPredicate atBoundary(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::sle;
  case P::sle:
    return P::slt;
  case P::sgt:
    return P::sge;
  case P::sge:
    return P::sgt;
  case P::ult:
    return P::ule;
  case P::ule:
    return P::ult;
  case P::ugt:
    return P::uge;
  case P::uge:
    return P::ugt;
  case P::eq:
    return P::sle;
  case P::ne:
    return P::slt;
  }
  return predicate;
}

arith::CmpFPredicate atBoundary(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OLT:
    return P::OLE;
  case P::OLE:
    return P::OLT;
  case P::OGT:
    return P::OGE;
  case P::OGE:
    return P::OGT;
  case P::OEQ:
    return P::OLE;
  default:
    return P::OLT;
  }
}

arith::CmpFPredicate inverted(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OLT:
    return P::OGE;
  case P::OLE:
    return P::OGT;
  case P::OGT:
    return P::OLE;
  case P::OGE:
    return P::OLT;
  case P::OEQ:
    return P::ONE;
  default:
    return P::OEQ;
  }
}

tile::ReduceKind another(tile::ReduceKind kind) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return tile::ReduceKind::Max;
  case tile::ReduceKind::Max:
    return tile::ReduceKind::Min;
  case tile::ReduceKind::Min:
    return tile::ReduceKind::Max;
  case tile::ReduceKind::Prod:
    return tile::ReduceKind::Sum;
  }
  return kind;
}

tile::AtomicKind another(tile::AtomicKind kind) {
  switch (kind) {
  case tile::AtomicKind::Add:
    return tile::AtomicKind::Max;
  case tile::AtomicKind::Max:
    return tile::AtomicKind::Min;
  case tile::AtomicKind::Min:
    return tile::AtomicKind::Max;
  case tile::AtomicKind::Exchange:
    return tile::AtomicKind::Add;
  }
  return kind;
}

/// Returns another constant of the same type: twice the value, or 1 instead of 0; infinities
/// become 0. No value for conditions.
std::optional<TypedAttr> anotherConstant(Attribute value, std::string &change) {
  std::string from;
  llvm::raw_string_ostream stream(from);
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    if (integer.getType().isInteger(1))
      return std::nullopt;
    APInt doubled = integer.getValue().isZero() ? APInt(integer.getValue().getBitWidth(), 1)
                                                : integer.getValue().shl(1);
    integer.getValue().print(stream, /*isSigned=*/true);
    change = "constant " + from + " is " + (integer.getValue().isZero() ? "1" : "doubled");
    return IntegerAttr::get(integer.getType(), doubled);
  }
  auto real = dyn_cast<FloatAttr>(value);
  if (!real)
    return std::nullopt;
  double old = real.getValueAsDouble();
  double other = old == 0 ? 1 : std::isinf(old) ? 0 : 2 * old;
  stream << llvm::format("%g", old);
  change = "constant " + from + " is " + (old == 0 ? "1" : std::isinf(old) ? "0" : "doubled");
  return FloatAttr::get(real.getType(), other);
}

/// Returns the coordinates of blocks, loops and bodies that an operation can use, outermost first.
SmallVector<Value> indexVariablesAt(Operation *op) {
  SmallVector<Value> result;
  auto function = op->getParentOfType<func::FuncOp>();
  for (auto grid : function.getBody().front().getOps<tile::GridOp>())
    if (op->getParentOp() != function || grid->isBeforeInBlock(op))
      result.append(grid.getResults().begin(), grid.getResults().end());
  SmallVector<Value> inner;
  for (Operation *parent = op->getParentOp(); parent != function; parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      inner.insert(inner.begin(), loop.getInductionVar());
    else if (auto parallel = dyn_cast<tile::ParallelOp>(parent))
      inner.insert(inner.begin(), parallel.getBody().getArguments().begin(),
                   parallel.getBody().getArguments().end());
  }
  result.append(inner);
  return result;
}

bool isIndexVariable(Value value) {
  if (value.getDefiningOp<tile::GridOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(owner))
    return loop.getInductionVar() == value;
  return isa<tile::ParallelOp>(owner);
}

/// Returns whether a value only affects assertions and printed text.
bool affectsNoResult(Operation *op) {
  if (isa<tile::AssertOp, tile::PrintOp>(op))
    return true;
  if (op->getNumResults() == 0 || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  return llvm::all_of(op->getUsers(), affectsNoResult);
}

class Finder {
public:
  std::vector<ProgramMutation> find(func::FuncOp kernel) {
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != kernel && !affectsNoResult(op))
        visit(op);
      ++number;
    });
    return std::move(found);
  }

private:
  void add(Operation *op, std::string change, std::function<void(Operation *)> apply) {
    found.push_back({number, nameOf(op->getName().getStringRef()), std::move(change),
                     tile::sourceLocationOf(op->getLoc()), std::move(apply)});
  }
  /// Replaces one operand by a value that \p make computes before the operation.
  void addOperand(Operation *op, unsigned operand, std::string change,
                  std::function<Value(OpBuilder &, Operation *)> make) {
    add(op, std::move(change), [operand, make = std::move(make)](Operation *target) {
      OpBuilder builder(target);
      target->setOperand(operand, make(builder, target));
    });
  }

  void visit(Operation *op) {
    visitStatement(op);
    visitControl(op);
    visitComparison(op);
    visitArithmetic(op);
    visitCoordinates(op);
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      visitOperand(op, i);
  }

  void visitStatement(Operation *op) {
    bool unused = llvm::all_of(op->getResults(), [](Value v) { return v.use_empty(); });
    if (unused && isa<tile::CopyOp, tile::FillOp, tile::GemmOp, tile::ReduceOp, tile::MapOp,
                      tile::StoreOp, tile::AtomicOp, tile::WaitOp>(op))
      add(op, "removed", [](Operation *target) { target->erase(); });
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      add(op, "is " + stringifyReduceKind(another(reduce.getKind())).str(), [](Operation *target) {
        auto to = cast<tile::ReduceOp>(target);
        to.setKind(another(to.getKind()));
      });
      add(op, reduce.getAccumulate() ? "does not accumulate" : "accumulates",
          [](Operation *target) {
            auto to = cast<tile::ReduceOp>(target);
            to.setAccumulate(!to.getAccumulate());
          });
    }
    if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
      add(op, gemm.getOverwrite() ? "accumulates" : "does not accumulate", [](Operation *target) {
        auto to = cast<tile::GemmOp>(target);
        to.setOverwrite(!to.getOverwrite());
      });
      if (gemm.getA() != gemm.getB())
        add(op, "multiplies exchanged operands", [](Operation *target) {
          Value a = target->getOperand(0);
          target->setOperand(0, target->getOperand(1));
          target->setOperand(1, a);
        });
    }
    if (auto atomic = dyn_cast<tile::AtomicOp>(op))
      add(op, "is " + stringifyAtomicKind(another(atomic.getKind())).str(), [](Operation *target) {
        auto to = cast<tile::AtomicOp>(target);
        to.setKind(another(to.getKind()));
      });
  }

  void visitControl(Operation *op) {
    if (isa<scf::IfOp, arith::SelectOp>(op) && !getConstantIntValue(op->getOperand(0)))
      for (bool value : {true, false})
        addOperand(op, 0, value ? "condition is always true" : "condition is always false",
                   [value](OpBuilder &builder, Operation *target) -> Value {
                     return arith::ConstantOp::create(builder, target->getLoc(),
                                                      builder.getBoolAttr(value));
                   });
    if (isa<scf::ForOp>(op))
      addOperand(op, 1, "runs one iteration less",
                 [](OpBuilder &builder, Operation *target) -> Value {
                   return arith::SubIOp::create(builder, target->getLoc(), target->getOperand(1),
                                                target->getOperand(2));
                 });
    if (auto index = dyn_cast<tile::ElementIndexOp>(op)) {
      auto map = op->getParentOfType<tile::MapOp>();
      int64_t rank = map ? cast<MemRefType>(map.getTarget().getType()).getRank() : 1;
      if (rank > 1)
        add(op, "is along another dimension", [rank](Operation *target) {
          auto to = cast<tile::ElementIndexOp>(target);
          to.setDim((int64_t(to.getDim()) + 1) % rank);
        });
    }
  }

  void visitComparison(Operation *op) {
    if (isa<arith::CmpIOp>(op)) {
      add(op, "has the other boundary", [](Operation *target) {
        auto to = cast<arith::CmpIOp>(target);
        to.setPredicate(atBoundary(to.getPredicate()));
      });
      add(op, "is inverted", [](Operation *target) {
        auto to = cast<arith::CmpIOp>(target);
        to.setPredicate(arith::invertPredicate(to.getPredicate()));
      });
    }
    if (isa<arith::CmpFOp>(op)) {
      add(op, "has the other boundary", [](Operation *target) {
        auto to = cast<arith::CmpFOp>(target);
        to.setPredicate(atBoundary(to.getPredicate()));
      });
      add(op, "is inverted", [](Operation *target) {
        auto to = cast<arith::CmpFOp>(target);
        to.setPredicate(inverted(to.getPredicate()));
      });
    }
  }

  void visitArithmetic(Operation *op) {
    for (const Exchange &exchange : exchanges)
      if (op->getName().getStringRef() == exchange.from)
        add(op, "is " + nameOf(exchange.to), [to = exchange.to](Operation *target) {
          OpBuilder builder(target);
          OperationState state(target->getLoc(), to, target->getOperands(),
                               target->getResultTypes());
          target->replaceAllUsesWith(builder.create(state));
          target->erase();
        });
    if (isa<arith::SubIOp, arith::SubFOp, arith::DivFOp, arith::DivSIOp, arith::RemSIOp,
            arith::CeilDivSIOp>(op) &&
        op->getOperand(0) != op->getOperand(1))
      add(op, "has exchanged operands", [](Operation *target) {
        Value left = target->getOperand(0);
        target->setOperand(0, target->getOperand(1));
        target->setOperand(1, left);
      });
    if (isa<arith::NegFOp, math::AbsFOp, math::AbsIOp, math::FloorOp>(op))
      add(op, "removed", [](Operation *target) {
        target->getResult(0).replaceAllUsesWith(target->getOperand(0));
        target->erase();
      });
  }

  void visitCoordinates(Operation *op) {
    unsigned begin = 0, count = 0;
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      begin = copy.readsTensor() ? 1 : 2;
      count = copy.getSourceOffsets().size() + copy.getTargetOffsets().size();
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      begin = 1, count = load.getIndices().size();
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      begin = 2, count = store.getIndices().size();
    } else if (auto atomic = dyn_cast<tile::AtomicOp>(op)) {
      begin = 2, count = atomic.getIndices().size();
    }
    for (unsigned i = 0; i < count; ++i)
      addOperand(op, begin + i, "coordinate " + std::to_string(i) + " is one more",
                 [operand = begin + i](OpBuilder &builder, Operation *target) -> Value {
                   Value one = arith::ConstantIndexOp::create(builder, target->getLoc(), 1);
                   return arith::AddIOp::create(builder, target->getLoc(),
                                                target->getOperand(operand), one);
                 });
  }

  void visitOperand(Operation *op, unsigned operand) {
    Value value = op->getOperand(operand);
    if (isIndexVariable(value)) {
      SmallVector<Value> variables = indexVariablesAt(op);
      auto at = llvm::find(variables, value);
      if (at != variables.end() && variables.size() > 1) {
        size_t next = size_t(at - variables.begin() + 1) % variables.size();
        addOperand(
            op, operand, "uses another index variable",
            [next](OpBuilder &, Operation *target) { return indexVariablesAt(target)[next]; });
      }
    }
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant || isa<memref::DimOp>(op))
      return;
    std::string change;
    if (auto other = anotherConstant(constant.getValue(), change))
      addOperand(op, operand, change, [operand](OpBuilder &builder, Operation *target) -> Value {
        std::string ignored;
        auto old = target->getOperand(operand).getDefiningOp<arith::ConstantOp>();
        return arith::ConstantOp::create(builder, target->getLoc(),
                                         *anotherConstant(old.getValue(), ignored));
      });
  }

  std::vector<ProgramMutation> found;
  unsigned number = 0;
};

} // namespace

std::vector<ProgramMutation> penstock::programMutationsOf(func::FuncOp kernel) {
  return Finder().find(kernel);
}

bool penstock::applyMutation(func::FuncOp kernel, const ProgramMutation &mutation) {
  unsigned number = 0;
  Operation *target = nullptr;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (number++ == mutation.number)
      target = op;
  });
  if (!target)
    return false;
  mutation.apply(target);
  // An invalid mutant is not a mistake that compiles; why is of no interest.
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](mlir::Diagnostic &) { return success(); });
  auto module = kernel->getParentOfType<ModuleOp>();
  return succeeded(verify(module)) && succeeded(tile::verifyLanguage(module));
}

std::string penstock::canonicalText(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager passes(copy->getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  std::string text;
  if (failed(passes.run(*copy)))
    return text;
  llvm::raw_string_ostream(text) << *copy;
  return text;
}
