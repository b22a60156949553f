//===- LowerLaunch.cpp - Per-launch and per-block code --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/GridCoordinates.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERLAUNCH
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Builds `@k.launch`: clones what launch constants are computed from and
/// stores them. Behind the kernel's arguments it takes the array and the
/// runtime's handle.
class LaunchBuilder {
public:
  LaunchBuilder(func::FuncOp kernel) : kernel(kernel), builder(kernel) {
    SmallVector<Type> types(kernel.getArgumentTypes());
    types.push_back(arrayType(builder));
    types.push_back(LLVM::LLVMPointerType::get(kernel.getContext()));
    launch =
        func::FuncOp::create(builder, kernel.getLoc(), (kernel.getName() + abi::launchSuffix).str(),
                             builder.getFunctionType(types, {}));
    Block *body = launch.addEntryBlock();
    for (auto [from, to] : llvm::zip(kernel.getArguments(), body->getArguments()))
      mapping.map(from, to);
    builder.setInsertionPointToEnd(body);
    func::ReturnOp::create(builder, kernel.getLoc());
    builder.setInsertionPoint(body->getTerminator());
  }

  static MemRefType arrayType(OpBuilder &builder) {
    return MemRefType::get({ShapedType::kDynamic}, builder.getI64Type());
  }

  /// The value that \p value has in the launch function.
  Value clone(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      clone(operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  }

  void store(Value value, unsigned entry) {
    Location loc = value.getLoc();
    if (value.getType().isIndex())
      value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    Value index = arith::ConstantIndexOp::create(builder, loc, entry);
    memref::StoreOp::create(builder, loc, value, launch.getArgument(launch.getNumArguments() - 2),
                            ValueRange{index});
    numEntries = std::max(numEntries, entry + 1);
  }

  func::FuncOp kernel, launch;
  OpBuilder builder;
  IRMapping mapping;
  unsigned numEntries = abi::gridEntries;
};

struct LowerLaunch : penstock::impl::LowerLaunchBase<LowerLaunch> {
  using LowerLaunchBase::LowerLaunchBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(tile::TileDialect::kernelAttr) && failed(lower(kernel)))
        return signalPassFailure();
  }

  /// Returns whether a value depends on floating-point numbers; a launch computes with integers.
  static bool usesFloats(Value value) {
    if (isa<FloatType>(value.getType()))
      return true;
    Operation *op = value.getDefiningOp();
    return op && llvm::any_of(op->getOperands(), usesFloats);
  }

  LogicalResult moveRequirements(func::FuncOp kernel, LaunchBuilder &launch) {
    SmallVector<tile::AssertOp> requirements;
    kernel.walk([&](tile::AssertOp op) { requirements.push_back(op); });
    for (tile::AssertOp op : requirements) {
      // Blocks check assertions that arguments alone do not determine.
      if (!isa<func::FuncOp>(op->getParentOp()) || !tile::isLaunchConstant(op.getCondition()).ok ||
          usesFloats(op.getCondition()))
        continue;
      launch.clone(op.getCondition());
      launch.builder.clone(*op, launch.mapping);
      op.erase();
    }
    return success();
  }

  LogicalResult lower(func::FuncOp kernel) {
    LaunchBuilder launch(kernel);
    // First: they may keep what follows from dividing by zero.
    if (requirements && failed(moveRequirements(kernel, launch)))
      return failure();
    OpBuilder builder(kernel.getContext());
    Block &body = kernel.getBody().front();
    Location loc = kernel.getLoc();
    Type extra[abi::NumExtra];
    extra[abi::Block] = builder.getIndexType();
    extra[abi::LaunchConstants] = LaunchBuilder::arrayType(builder);
    extra[abi::Scratch] = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    extra[abi::Context] = LLVM::LLVMPointerType::get(kernel.getContext());
    unsigned first = kernel.getNumArguments();
    for (Type type : extra)
      (void)kernel.insertArgument(kernel.getNumArguments(), type, {}, loc);
    Value block = body.getArgument(first + abi::Block);
    constants = body.getArgument(first + abi::LaunchConstants);

    tile::GridOp grid;
    kernel.walk([&](tile::GridOp op) { grid = op; });
    if (grid && !clusters)
      grid.removeClusterAttr();
    for (unsigned i = 0; i < abi::gridEntries; ++i)
      launch.store(grid && i < grid.getExtents().size()
                       ? wholeClusters(launch, grid, i)
                       : Value(arith::ConstantIndexOp::create(launch.builder, loc, 1)),
                   i);
    if (grid)
      lowerGrid(grid, block);
    llvm::DenseMap<Value, unsigned> magic;
    SmallVector<tile::DivModOp> divisions;
    kernel.walk([&](tile::DivModOp op) { divisions.push_back(op); });
    for (tile::DivModOp op : divisions)
      lowerDivMod(op, launch, magic);
    kernel->setAttr(abi::packAttr, builder.getUnitAttr());
    launch.launch->setAttr(abi::packAttr, builder.getUnitAttr());
    kernel->setAttr(abi::launchSizeAttr, builder.getI64IntegerAttr(launch.numEntries));
    return success();
  }

  /// An extent of the grid, up to a multiple of the blocks of a cluster.
  static Value wholeClusters(LaunchBuilder &launch, tile::GridOp grid, unsigned dim) {
    Value extent = launch.clone(grid.getExtents()[dim]);
    int64_t along = grid.clusterAlong(dim);
    if (along == 1)
      return extent;
    OpBuilder &b = launch.builder;
    Location loc = grid.getLoc();
    Value one = arith::ConstantIndexOp::create(b, loc, along);
    Value rest = arith::RemSIOp::create(b, loc, extent, one);
    Value up = arith::AddIOp::create(b, loc, extent, arith::SubIOp::create(b, loc, one, rest));
    // A negative extent stays one, which a launch refuses.
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, rest, zero);
    return arith::SelectOp::create(b, loc, more, up, extent);
  }

  Value loadEntry(OpBuilder &b, Location loc, unsigned entry) {
    Value index = arith::ConstantIndexOp::create(b, loc, entry);
    Value value = memref::LoadOp::create(b, loc, constants, ValueRange{index});
    return value;
  }
  Value loadIndex(OpBuilder &b, Location loc, unsigned entry) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), loadEntry(b, loc, entry));
  }

  /// Block numbers to coordinates.
  void lowerGrid(tile::GridOp grid, Value block) {
    OpBuilder b(grid);
    Location loc = grid.getLoc();
    unsigned rank = grid.getNumResults();
    auto extentOf = [&](unsigned dim) {
      Value extent = loadIndex(b, loc, dim);
      int64_t along = grid.clusterAlong(dim);
      return along == 1
                 ? extent
                 : safeQuotient(b, loc, extent, arith::ConstantIndexOp::create(b, loc, along));
    };
    SmallVector<Value> extents;
    for (unsigned dim = 0; dim < rank; ++dim)
      if (grid.getSwizzle() || dim + 1 < rank)
        extents.push_back(extentOf(dim));
      else
        extents.push_back(Value()); // not needed
    grid.replaceAllUsesWith(coordinatesOfBlock(b, grid, extents, block));
    grid.erase();
  }

  /// Division of n in [0, 2^31) by d in [1, 2^31) as (n * m) >> s, with
  /// s = 31 + ceil(log2 d) and m = ceil(2^s / d): the error of m is below
  /// d / 2^s, so n * error < 1 / d and the quotient is exact. The product stays
  /// below 2^63 because m <= 2^32.
  void lowerDivMod(tile::DivModOp op, LaunchBuilder &launch,
                   llvm::DenseMap<Value, unsigned> &magic) {
    Location loc = op.getLoc();
    auto [found, inserted] = magic.try_emplace(op.getDivisor(), launch.numEntries);
    if (inserted) {
      OpBuilder &b = launch.builder;
      auto i64 = [&](int64_t value) -> Value {
        return arith::ConstantIntOp::create(b, loc, value, 64);
      };
      Value divisor = launch.clone(op.getDivisor());
      Value d = arith::IndexCastOp::create(b, loc, b.getI64Type(), divisor);
      Value low = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, d, i64(1));
      Value high =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, d, i64(int64_t(1) << 31));
      Value fits = arith::AndIOp::create(b, loc, low, high);
      Value safe = arith::SelectOp::create(b, loc, fits, d, i64(1));
      // ceil(log2 d) by comparing with the powers of two.
      Value log = i64(0);
      for (int bit = 0; bit < 31; ++bit) {
        Value above =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, safe, i64(int64_t(1) << bit));
        log = arith::AddIOp::create(b, loc, log,
                                    arith::ExtUIOp::create(b, loc, b.getI64Type(), above));
      }
      Value shift = arith::AddIOp::create(b, loc, log, i64(31));
      Value power = arith::ShLIOp::create(b, loc, i64(1), shift);
      Value rounded =
          arith::AddIOp::create(b, loc, power, arith::SubIOp::create(b, loc, safe, i64(1)));
      Value multiplier = arith::DivUIOp::create(b, loc, rounded, safe);
      // A multiplier of zero tells the block to divide.
      multiplier = arith::SelectOp::create(b, loc, fits, multiplier, i64(0));
      launch.store(multiplier, found->second);
      launch.store(shift, found->second + 1);
    }
    OpBuilder b(op);
    Type i64 = b.getI64Type();
    Value n = arith::IndexCastOp::create(b, loc, i64, op.getDividend());
    Value multiplier = loadEntry(b, loc, found->second);
    Value shift = loadEntry(b, loc, found->second + 1);
    Value limit = arith::ConstantIntOp::create(b, loc, int64_t(1) << 31, 64);
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
    Value inRange = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, n, limit);
    Value usable = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, multiplier, zero);
    Value fast = arith::AndIOp::create(b, loc, inRange, usable);
    SmallVector<Type> results(2, b.getIndexType());
    auto choice = scf::IfOp::create(b, loc, results, fast, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(choice.thenBlock());
      Value product = arith::MulIOp::create(b, loc, n, multiplier);
      Value q = arith::ShRUIOp::create(b, loc, product, shift);
      q = arith::IndexCastOp::create(b, loc, b.getIndexType(), q);
      Value whole = arith::MulIOp::create(b, loc, q, op.getDivisor());
      Value rest = arith::SubIOp::create(b, loc, op.getDividend(), whole);
      scf::YieldOp::create(b, loc, ValueRange{q, rest});
      b.setInsertionPointToEnd(choice.elseBlock());
      Value quotient = arith::DivSIOp::create(b, loc, op.getDividend(), op.getDivisor());
      Value remainder = arith::RemSIOp::create(b, loc, op.getDividend(), op.getDivisor());
      scf::YieldOp::create(b, loc, ValueRange{quotient, remainder});
    }
    op.replaceAllUsesWith(choice.getResults());
    op.erase();
  }

  Value constants;
};

} // namespace
