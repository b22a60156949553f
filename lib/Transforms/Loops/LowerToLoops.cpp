//===- LowerToLoops.cpp - Tile operations as loops over elements ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/RuntimeCalls.h"
#include "Transforms/Loops/LoopBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERTOLOOPS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

class CopyLowering : LoopBuilder {
public:
  explicit CopyLowering(tile::CopyOp op) : LoopBuilder(op), op(op) {}

  void run() {
    if (op.readsTensor() || op.writesTensor()) {
      withTensor();
    } else if (tile::rootOf(op.getSource()) == tile::rootOf(op.getTarget())) {
      // Two views of one tile may overlap: all is read before any is written.
      Value between = temporary();
      tileToTile(op.getSource(), between);
      tileToTile(between, op.getTarget());
    } else {
      tileToTile(op.getSource(), op.getTarget());
    }
    op.erase();
  }

private:
  static Type elementOf(Value memref) { return typeOf(memref).getElementType(); }

  void tileToTile(Value source, Value target) {
    nest(op.getTileShape(),
         [&](ValueRange at) { store(convert(load(source, at), elementOf(target)), target, at); });
  }

  Value temporary() {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().getBody().front());
    return tile::AllocOp::create(
        b, loc, tile::tileType(op.getTileShape(), elementOf(op.getSource()), tile::Space::Local),
        StringAttr(), IntegerAttr());
  }

  /// The part of the tile that exists in the tensor is a box; where it is the
  /// whole tile, loops have constant length.
  void withTensor() {
    SmallVector<int64_t> shape = op.getBoxShape();
    Box box = boxOf(op);
    auto branch = scf::IfOp::create(b, loc, TypeRange(), box.inside, true, true);
    inBranch(branch.thenBlock(), [&] { nest(shape, [&](ValueRange at) { element(at); }); });
    inBranch(branch.elseBlock(), [&] {
      if (op.readsTensor()) {
        Value fill = op.getFill() ? op.getFill() : zero(elementOf(op.getTarget()));
        nest(op.getTileShape(), [&](ValueRange at) { store(fill, op.getTarget(), at); });
      }
      if (!box.begins.empty())
        nest(box.begins, box.ends, [&](ValueRange at) { element(at); });
    });
  }

  template <typename Body> void inBranch(Block *block, Body body) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    body();
    b.setInsertionPointToEnd(block);
    if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(b, loc);
  }

  /// Copies the element at index \p at of the box.
  void element(ValueRange at) {
    SmallVector<Value> position = inTensor(op, at), own = inTile(at);
    ValueRange from = op.readsTensor() ? position : own;
    ValueRange to = op.writesTensor() ? position : own;
    Value value = load(op.getSource(), from);
    store(convert(value, elementOf(op.getTarget())), op.getTarget(), to);
  }

  /// The element of the tile at index \p at of the box.
  SmallVector<Value> inTile(ValueRange at) {
    auto rows = op.getRows();
    if (!rows)
      return at;
    Value row = at[0];
    for (auto [i, extent] : llvm::zip(at.drop_front(), rows->drop_front()))
      row = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, row, index(extent)), i);
    return {row, at.back()};
  }

  tile::CopyOp op;
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

class ReduceLowering : LoopBuilder {
public:
  explicit ReduceLowering(tile::ReduceOp op)
      : LoopBuilder(op), op(op), type(typeOf(op.getTarget()).getElementType()) {}

  void run() {
    MemRefType source = typeOf(op.getSource());
    int64_t dim = op.getDim(), last = source.getRank() - 1;
    ArrayRef<int64_t> kept = typeOf(op.getTarget()).getShape();
    if (dim == last) {
      nest(kept, [&](ValueRange at) {
        Value start = op.getAccumulate() ? load(op.getTarget(), at) : neutral(op);
        bool isExtreme =
            op.getKind() == tile::ReduceKind::Max || op.getKind() == tile::ReduceKind::Min;
        store(isExtreme && type.isF32() ? extreme(at, start) : running(at, start), op.getTarget(),
              at);
      });
    } else {
      // All elements of the target at once, so that the inner loop is
      // contiguous.
      if (!op.getAccumulate()) {
        Value start = neutral(op);
        nest(kept, [&](ValueRange at) { store(start, op.getTarget(), at); });
      }
      SmallVector<int64_t> extents = {source.getDimSize(dim)};
      llvm::append_range(extents, kept);
      nest(extents, [&](ValueRange at) {
        SmallVector<Value> to(at.drop_front()), from(at.drop_front());
        from.insert(from.begin() + dim, at.front());
        Value value = convert(load(op.getSource(), from), type);
        store(combine(op, load(op.getTarget(), to), value), op.getTarget(), to);
      });
    }
    op.erase();
  }

private:
  /// Element \p i of the row at \p at.
  Value element(ValueRange at, Value i) {
    SmallVector<Value> from(at);
    from.push_back(i);
    return convert(load(op.getSource(), from), type);
  }

  scf::ForOp overRow(ValueRange starts) {
    int64_t extent = typeOf(op.getSource()).getDimSize(op.getDim());
    return scf::ForOp::create(b, loc, index(0), index(extent), index(1), starts);
  }

  Value running(ValueRange at, Value start) {
    auto loop = overRow(start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value value = element(at, loop.getInductionVar());
    scf::YieldOp::create(b, loc, combine(op, loop.getRegionIterArg(0), value));
    return loop.getResult(0);
  }

  /// The largest or smallest number. Instructions for them neither pass NaN on nor order zeros:
  /// without both, a loop has half as many. It also finds the largest magnitude as an integer,
  /// which is that of NaN if there is one; then, or if the result is a zero, the row is reduced
  /// again.
  Value extreme(ValueRange at, Value start) {
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, loc, value, 32);
    };
    auto loop = overRow({start, number(0)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value value = element(at, loop.getInductionVar()), sofar = loop.getRegionIterArg(0);
      auto flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
      Value next = op.getKind() == tile::ReduceKind::Max
                       ? Value(arith::MaxNumFOp::create(b, loc, sofar, value, flags))
                       : Value(arith::MinNumFOp::create(b, loc, sofar, value, flags));
      Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), value);
      Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
      Value largest = arith::MaxUIOp::create(b, loc, loop.getRegionIterArg(1), magnitude);
      scf::YieldOp::create(b, loc, ValueRange{next, largest});
    }
    Value found = loop.getResult(0);
    Value hasNaN = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, loop.getResult(1),
                                         number(0x7f800000));
    Value startsWithNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, start, start);
    hasNaN = arith::OrIOp::create(b, loc, hasNaN, startsWithNaN);
    // A choice, because with NaN the loop has found poison.
    Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, found, zero(type));
    Value again = arith::SelectOp::create(b, loc, hasNaN, hasNaN, isZero);
    auto branch = scf::IfOp::create(b, loc, type, again, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, running(at, start));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, found);
    return branch.getResult(0);
  }

  tile::ReduceOp op;
  Type type;
};

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

class ElementLowering : LoopBuilder {
public:
  explicit ElementLowering(Operation *op) : LoopBuilder(op) {}

  void fill(tile::FillOp op) {
    nest(typeOf(op.getTarget()).getShape(),
         [&](ValueRange at) { store(op.getValue(), op.getTarget(), at); });
    op.erase();
  }

  void map(tile::MapOp op) {
    nest(typeOf(op.getTarget()).getShape(), [&](ValueRange at) {
      IRMapping mapping;
      for (auto [i, input] : llvm::enumerate(op.getInputs())) {
        SmallVector<int64_t> dims = op.getInputDims(i);
        SmallVector<Value> from;
        for (int64_t dim : dims)
          from.push_back(at[dim]);
        OpBuilder::InsertionGuard guard(b);
        if (staysInInnermostLoop(op, dims))
          b.setInsertionPoint(b.getBlock()->getParentOp());
        mapping.map(op.getBody().getArgument(i), load(input, from));
      }
      cloneBody(op.getBody().front(), mapping, at);
      auto yield = cast<tile::YieldOp>(op.getBody().front().getTerminator());
      store(mapping.lookupOrDefault(yield.getValue()), op.getTarget(), at);
    });
    op.erase();
  }

  void parallel(tile::ParallelOp op) {
    nest(op.getExtents(), [&](ValueRange at) {
      IRMapping mapping;
      mapping.map(op.getBody().getArguments(), at);
      cloneBody(op.getBody().front(), mapping, at);
    });
    op.erase();
  }

  void print(tile::PrintOp op) {
    StringRef rest = op.getText();
    for (Value operand : op.getOperands()) {
      auto [before, after] = rest.split("{}");
      text(before);
      if (isa<MemRefType>(operand.getType()))
        printTile(operand, {});
      else
        printScalar(operand);
      rest = after;
    }
    text(rest);
    callRuntime(b, loc, abi::printEndFn, {});
    op.erase();
  }

private:
  /// An input that is broadcast along the last dimension is loaded before the
  /// innermost loop. It is not the target, nor a part of it: the verifier of
  /// tile.map has seen to that. LLVM does not know, since tiles are parts of one
  /// memory, and would neither move the load nor vectorize the loop.
  static bool staysInInnermostLoop(tile::MapOp op, ArrayRef<int64_t> dims) {
    int64_t last = typeOf(op.getTarget()).getRank() - 1;
    return last >= 0 && !llvm::is_contained(dims, last);
  }

  /// Text goes to the runtime eight characters at a time: no global data, and
  /// printing is not where speed matters.
  void text(StringRef text) {
    while (!text.empty()) {
      StringRef part = text.take_front(8);
      uint64_t bits = 0;
      memcpy(&bits, part.data(), part.size());
      Value chars = arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(bits), 64);
      Value size = arith::ConstantIntOp::create(b, loc, part.size(), 32);
      callRuntime(b, loc, abi::printTextFn, {chars, size});
      text = text.drop_front(part.size());
    }
  }

  void printScalar(Value value) {
    Type type = value.getType();
    if (isa<FloatType>(type)) {
      callRuntime(b, loc, abi::printFloatFn, convert(value, b.getF64Type()));
      return;
    }
    if (type.isIndex())
      value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    else if (type.isSignlessInteger(1))
      value = arith::ExtUIOp::create(b, loc, b.getI64Type(), value);
    else if (!type.isSignlessInteger(64))
      value = arith::ExtSIOp::create(b, loc, b.getI64Type(), value);
    callRuntime(b, loc, abi::printIntFn, value);
  }

  void printTile(Value tile, SmallVector<Value> at) {
    MemRefType type = typeOf(tile);
    if (static_cast<int64_t>(at.size()) == type.getRank()) {
      printScalar(load(tile, at));
      return;
    }
    text("[");
    int64_t extent = type.getDimSize(at.size());
    auto loop = scf::ForOp::create(b, loc, index(0), index(extent), index(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value later =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), index(0));
      auto comma = scf::IfOp::create(b, loc, TypeRange(), later, true, false);
      {
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPointToStart(comma.thenBlock());
        text(", ");
        if (comma.thenBlock()->empty() ||
            !comma.thenBlock()->back().hasTrait<OpTrait::IsTerminator>())
          scf::YieldOp::create(b, loc);
      }
      at.push_back(loop.getInductionVar());
      printTile(tile, at);
    }
    text("]");
  }
};

struct LowerToLoops : penstock::impl::LowerToLoopsBase<LowerToLoops> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    // Statements first: what they hold then stands in plain sight.
    getOperation().walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa_and_nonnull<tile::TileDialect>(op->getDialect()))
        work.push_back(op);
    });
    for (Operation *op : work)
      llvm::TypeSwitch<Operation *>(op)
          .Case<tile::CopyOp>([](auto op) { CopyLowering(op).run(); })
          .Case<tile::ReduceOp>([](auto op) { ReduceLowering(op).run(); })
          .Case<tile::FillOp>([](auto op) { ElementLowering(op).fill(op); })
          .Case<tile::MapOp>([](auto op) { ElementLowering(op).map(op); })
          .Case<tile::ParallelOp>([](auto op) { ElementLowering(op).parallel(op); })
          .Case<tile::PrintOp>([](auto op) { ElementLowering(op).print(op); })
          .Case<tile::BindOp>([](auto op) {
            op.getResult().replaceAllUsesWith(op.getValue());
            op.erase();
          })
          .Case<tile::WaitForPreviousOp, tile::LaunchDependentsOp>([](auto op) { op.erase(); })
          .Case<tile::StatementOp>([](auto op) {
            Block &body = op.getBody().front();
            body.getTerminator()->erase();
            op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
            op.erase();
          });
  }
};

} // namespace
