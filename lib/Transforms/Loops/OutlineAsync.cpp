//===- OutlineAsync.cpp - Asynchronous operations on a CPU ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Runtime/Iterations.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/RuntimeCalls.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_OUTLINEASYNC
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct OutlineAsync : penstock::impl::OutlineAsyncBase<OutlineAsync> {
  using OutlineAsyncBase::OutlineAsyncBase;

  void runOnOperation() override {
    SmallVector<tile::TileAccessOpInterface> issued;
    SmallVector<tile::WaitOp> waits;
    getOperation().walk([&](Operation *op) {
      if (auto wait = dyn_cast<tile::WaitOp>(op)) {
        waits.push_back(wait);
      } else if (auto access = dyn_cast<tile::TileAccessOpInterface>(op);
                 access && access.getAsyncName()) {
        issued.push_back(access);
        numberOf(access.getAsyncName(), statedIteration(op) != Value());
      }
    });
    if (!late) {
      for (auto op : issued)
        op->removeAttr("async");
      for (tile::WaitOp wait : waits)
        wait.erase();
      return;
    }
    for (auto op : issued)
      outline(op);
    for (tile::WaitOp wait : waits)
      lowerWait(wait);
  }

  /// Operations of pipelined loops count their iterations apart from others of the
  /// same name.
  int64_t numberOf(StringAttr name, bool stated) {
    return numbers[stated].try_emplace(name, numbers[0].size() + numbers[1].size()).first->second;
  }

  /// The iteration that an operation states for itself, if any.
  static Value statedIteration(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return copy.getInstance();
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      return gemm.getInstance();
    return cast<tile::WaitOp>(op).getThrough();
  }

  /// The number of the iteration of the innermost loop around \p op.
  static Value iterationOf(OpBuilder &b, Operation *op) {
    Location loc = op->getLoc();
    if (Value stated = statedIteration(op))
      return stated;
    auto loop = op->getParentOfType<scf::ForOp>();
    if (!loop)
      return arith::ConstantIndexOp::create(b, loc, 0);
    Value done = arith::SubIOp::create(b, loc, loop.getInductionVar(), loop.getLowerBound());
    return arith::DivSIOp::create(b, loc, done, loop.getStep());
  }

  void outline(tile::TileAccessOpInterface op) {
    Location loc = op->getLoc();
    int64_t number = numberOf(op.getAsyncName(), statedIteration(op) != Value());
    auto kernel = op->getParentOfType<func::FuncOp>();
    if (auto loop = op->getParentOfType<scf::ForOp>(); loop && !statedIteration(op)) {
      // Operations of an earlier run of the loop are older than all operations of this run.
      OpBuilder b(loop);
      Value name = arith::ConstantIntOp::create(b, loc, number, 32);
      callRuntime(b, loc, abi::asyncLoopFn, name);
    }
    OpBuilder at(op);
    SmallVector<Value> operands = {iterationOf(at, op), chainOf(at, op)};
    size_t own = operands.size();
    llvm::append_range(operands, op->getOperands());
    Value between = temporaryOf(op, kernel);
    if (between)
      operands.push_back(between);
    operands.push_back(runtimeHandle(at));

    OpBuilder b(kernel);
    std::string symbol = (kernel.getName() + ".async." + Twine(functions++)).str();
    auto function = func::FuncOp::create(b, loc, symbol,
                                         b.getFunctionType(ValueRange(operands).getTypes(), {}));
    function.setPrivate();
    function->setAttr(abi::packAttr, b.getUnitAttr());
    Block *body = function.addEntryBlock();
    OpBuilder inner = OpBuilder::atBlockBegin(body);
    ValueRange arguments = body->getArguments();
    Operation *copy = inner.clone(*op.getOperation());
    copy->removeAttr("async");
    copy->setOperands(arguments.slice(own, op->getNumOperands()));
    if (between)
      copyThrough(cast<tile::CopyOp>(copy), arguments[own + op->getNumOperands()]);
    func::ReturnOp::create(inner, loc);

    auto call = func::CallOp::create(at, loc, function, operands);
    call->setAttr(abi::asyncAttr, at.getI64IntegerAttr(number));
    op->erase();
  }

  /// Returns a common number for operations that take effect in issue order: `gemm`s into one tile.
  /// Others have 0.
  static Value chainOf(OpBuilder &b, Operation *op) {
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      return memref::ExtractAlignedPointerAsIndexOp::create(b, op->getLoc(),
                                                            tile::rootOf(gemm.getAcc()));
    return arith::ConstantIndexOp::create(b, op->getLoc(), 0);
  }

  /// Allocates a temporary tile for a copy between two views of one tile; none for other copies. In
  /// an outlined function, the two views are not known to alias.
  static Value temporaryOf(Operation *op, func::FuncOp kernel) {
    auto copy = dyn_cast<tile::CopyOp>(op);
    if (!copy || copy.readsTensor() || copy.writesTensor() ||
        tile::rootOf(copy.getSource()) != tile::rootOf(copy.getTarget()))
      return {};
    OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
    Type element = cast<MemRefType>(copy.getSource().getType()).getElementType();
    return tile::AllocOp::create(b, op->getLoc(),
                                 tile::tileType(copy.getTileShape(), element, tile::Space::Local),
                                 StringAttr(), IntegerAttr());
  }

  static void copyThrough(tile::CopyOp copy, Value between) {
    OpBuilder b(copy);
    auto plain = [&](Value from, Value to) {
      tile::CopyOp::create(b, copy.getLoc(), from, ValueRange(), to, ValueRange(), Value(), Value(),
                           DenseI64ArrayAttr(), StringAttr());
    };
    plain(copy.getSource(), between);
    plain(between, copy.getTarget());
    copy.erase();
  }

  void lowerWait(tile::WaitOp wait) {
    OpBuilder b(wait);
    Location loc = wait.getLoc();
    for (Attribute attribute : wait.getNames())
      for (bool stated : {false, true}) {
        auto found = numbers[stated].find(cast<StringAttr>(attribute));
        if (found == numbers[stated].end())
          continue;
        Value number = arith::ConstantIntOp::create(b, loc, found->second, 32);
        // Iterations count among what counts them alike; all of the rest is ended.
        bool counts = stated ? wait.getThrough() != Value() : wait.getLag() != 0;
        Value iteration = arith::ConstantIntOp::create(b, loc, allIterations, 64);
        if (counts)
          iteration = arith::IndexCastOp::create(b, loc, b.getI64Type(), iterationOf(b, wait));
        Value lag = arith::ConstantIntOp::create(b, loc, wait.getLag(), 64);
        callRuntime(b, loc, abi::asyncWaitFn, {number, iteration, lag});
      }
    wait.erase();
  }

  llvm::DenseMap<StringAttr, int64_t> numbers[2]; ///< by whether iterations are stated
  unsigned functions = 0;
};

} // namespace
