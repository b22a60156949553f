//===- LowerReduce.cpp - Reductions over registers, lanes and warps -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction along a dimension combines what differs in the digits of that
// dimension: registers in each thread, lanes by a butterfly of shuffles, warps
// through shared memory. Every thread along the dimension then holds the result.
// Registers are combined in a tree, because each instruction of a chain waits for
// the previous one.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/LowerElementwise.h"
#include "Target/NVPTX/Operations/LowerMapBody.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Placement/TileLayouts.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <algorithm>

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

namespace {

/// Threads of a digit along the reduced dimension.
struct ThreadSpan {
  int64_t weight, extent;
};

/// The digits of a dimension, cut where warps begin.
std::pair<SmallVector<ThreadSpan>, SmallVector<ThreadSpan>> spansOf(const Distribution &layout,
                                                                    int64_t dim) {
  SmallVector<ThreadSpan> lanes, warps;
  int64_t weight = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    int64_t inWarp = std::min(digit.extent, std::max<int64_t>(1, nv::warpSize / weight));
    if (digit.dim == dim && inWarp > 1)
      lanes.push_back({weight, inWarp});
    if (digit.dim == dim && digit.extent > inWarp)
      warps.push_back({weight * inWarp, digit.extent / inWarp});
    weight *= digit.extent;
  }
  return {lanes, warps};
}

} // namespace

/// Returns the bytes of shared memory for a reduction along \p dim over several warps.
static int64_t reductionScratch(const Distribution &layout, int64_t dim, Type element) {
  int64_t partials = 1;
  for (const ThreadSpan &span : spansOf(layout, dim).second)
    partials *= span.extent;
  if (partials == 1)
    return 0;
  for (int64_t size : layout.slice(unsigned(dim)).shape)
    partials *= size;
  return partials * element.getIntOrFloatBitWidth() / 8;
}

/// The value that changes nothing.
static TypedAttr neutral(OpBuilder &builder, tile::ReduceKind kind, Type type) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    switch (kind) {
    case tile::ReduceKind::Sum:
      return builder.getFloatAttr(type, -0.0); // 0 would change the sign of -0
    case tile::ReduceKind::Prod:
      return builder.getFloatAttr(type, 1.0);
    case tile::ReduceKind::Max:
    case tile::ReduceKind::Min:
      return builder.getFloatAttr(
          type, APFloat::getInf(semantics, /*Negative=*/kind == tile::ReduceKind::Max));
    }
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  switch (kind) {
  case tile::ReduceKind::Sum:
    return builder.getIntegerAttr(type, 0);
  case tile::ReduceKind::Prod:
    return builder.getIntegerAttr(type, 1);
  case tile::ReduceKind::Max:
    return builder.getIntegerAttr(type, APInt::getSignedMinValue(bits));
  case tile::ReduceKind::Min:
    break;
  }
  return builder.getIntegerAttr(type, APInt::getSignedMaxValue(bits));
}

static Value combine(LoweringContext &c, tile::ReduceKind kind, Value a, Value b,
                     bool contract = false) {
  bool floating = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  auto flags = contract ? arith::FastMathFlags::contract : arith::FastMathFlags::none;
  switch (kind) {
  case tile::ReduceKind::Sum:
    return floating ? arith::AddFOp::create(c.builder, c.loc, a, b, flags).getResult()
                    : arith::AddIOp::create(c.builder, c.loc, a, b).getResult();
  case tile::ReduceKind::Prod:
    return floating ? arith::MulFOp::create(c.builder, c.loc, a, b).getResult()
                    : arith::MulIOp::create(c.builder, c.loc, a, b).getResult();
  case tile::ReduceKind::Max:
    return floating ? arith::MaximumFOp::create(c.builder, c.loc, a, b).getResult()
                    : arith::MaxSIOp::create(c.builder, c.loc, a, b).getResult();
  case tile::ReduceKind::Min:
    break;
  }
  return floating ? arith::MinimumFOp::create(c.builder, c.loc, a, b).getResult()
                  : arith::MinSIOp::create(c.builder, c.loc, a, b).getResult();
}

namespace {

/// Reductions whose multiplications are fused into the additions.
struct FusedSums {
  llvm::DenseSet<Operation *> reductions;
};

/// Returns whether a vector instruction that combines two pairs of elements saves instructions. It
/// does not if multiplications are fused into the additions, or if f16 is added without a
/// conversion.
bool combinesPairs(LoweringContext &c, tile::ReduceOp op, Type source, Type sum) {
  bool isArithmetic =
      op.getKind() == tile::ReduceKind::Sum || op.getKind() == tile::ReduceKind::Prod;
  return c.architecture.limits.tensorColumns && isArithmetic && source.isF32() && sum.isF32() &&
         !c.state<FusedSums>().reductions.contains(op);
}

/// Combines values in a tree, each as early as possible, so that few are live at a time. Its leaves
/// are chains of adjacent values: a chain can use fused multiply-adds, f16 additions without a
/// conversion, and three-operand instructions that combine two values.
class Tree {
public:
  /// \p count: the number of values that follow.
  /// \p later: instructions that depend on the total: over lanes, and with an old value.
  /// \p pairs: combine pairs of values with vector instructions.
  Tree(LoweringContext &c, tile::ReduceKind kind, size_t count, size_t later, bool contract = false,
       bool pairs = false)
      : c(c), kind(kind), contract(contract), pairs(pairs) {
    count = pairs ? count / 2 : count;
    constexpr size_t most = 10; // dependent instructions
    size_t longest = most - std::clamp<size_t>(later, 3, most);
    size_t chains = 1;
    while (2 * chains < count &&
           llvm::divideCeil(count, chains) - 1 + llvm::Log2_64(chains) > longest)
      chains *= 2;
    chainLength = llvm::divideCeil(count, chains);
  }

  void add(Value value) {
    if (pairs && !first) {
      first = value;
      return;
    }
    if (pairs)
      value = vectorOf(std::exchange(first, Value()), value);
    chain = chain ? combine(c, kind, chain, value, contract) : value;
    if (++inChain == chainLength)
      endChain();
  }

  Value total() {
    if (chain)
      endChain();
    Value result;
    for (const Part &part : llvm::reverse(parts))
      result = result ? combine(c, kind, part.value, result) : part.value;
    return pairs ? combine(c, kind, element(result, 0), element(result, 1)) : result;
  }

private:
  struct Part {
    Value value;
    unsigned height;
  };

  Value vectorOf(Value a, Value b) {
    auto type = VectorType::get({2}, a.getType());
    Value vector = LLVM::PoisonOp::create(c.builder, c.loc, type);
    vector = LLVM::InsertElementOp::create(c.builder, c.loc, vector, a, c.i32(0));
    return LLVM::InsertElementOp::create(c.builder, c.loc, vector, b, c.i32(1));
  }
  Value element(Value vector, int64_t at) {
    return LLVM::ExtractElementOp::create(c.builder, c.loc, vector, c.i32(at));
  }

  void endChain() {
    Part part = {std::exchange(chain, Value()), 0};
    inChain = 0;
    for (; !parts.empty() && parts.back().height == part.height; ++part.height)
      part.value = combine(c, kind, parts.pop_back_val().value, part.value);
    parts.push_back(part);
  }

  LoweringContext &c;
  tile::ReduceKind kind;
  bool contract, pairs;
  size_t chainLength, inChain = 0;
  Value chain, first;      ///< of a pair
  SmallVector<Part> parts; ///< by falling height
};

} // namespace

static Value shuffled(LoweringContext &c, Value value, int64_t distance) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto exchange = [&](Value word) {
    return c.inlinePtx()
        .output(word.getType())
        .inputs({word, c.i32(distance)})
        .emit("shfl.sync.bfly.b32 $0, $1, $2, 0x1f, 0xffffffff;", PtxEffects::Ordered)[0];
  };
  Type i32Type = c.builder.getI32Type();
  if (bits == 64) {
    auto pair = VectorType::get({2}, i32Type);
    Value words = LLVM::BitcastOp::create(c.builder, c.loc, pair, value), result = words;
    for (int64_t i = 0; i < 2; ++i)
      result = LLVM::InsertElementOp::create(
          c.builder, c.loc, result,
          exchange(LLVM::ExtractElementOp::create(c.builder, c.loc, words, c.i32(i))), c.i32(i));
    return LLVM::BitcastOp::create(c.builder, c.loc, type, result);
  }
  Type whole = c.builder.getIntegerType(bits);
  Value word = c.builder.createOrFold<arith::BitcastOp>(c.loc, whole, value);
  if (bits < 32)
    word = arith::ExtUIOp::create(c.builder, c.loc, i32Type, word);
  word = exchange(word);
  if (bits < 32)
    word = arith::TruncIOp::create(c.builder, c.loc, whole, word);
  return c.builder.createOrFold<arith::BitcastOp>(c.loc, type, word);
}

/// Keeps the assembler from moving what the values need behind this point. An event of the
/// performance monitor, which changes nothing, would be triggered by one value among 2^32.
static void computeNow(LoweringContext &c, ArrayRef<Value> values) {
  InlinePtx ptx = c.inlinePtx();
  std::string text = "{ .reg .pred odd; ";
  int64_t count = 0;
  for (Value value : values) {
    if (value.getType().getIntOrFloatBitWidth() != 32)
      continue;
    ptx.input(value);
    bool first = count == 0;
    text += (first ? "setp.eq.b32 odd, $" : "setp.eq.or.b32 odd, $") + std::to_string(count++) +
            (first ? ", 0x7fedcba9; " : ", 0x7fedcba9, odd; ");
  }
  if (count)
    ptx.emit(text + "@odd pmevent 0; }", PtxEffects::Ordered);
}

/// Each warp along the dimension leaves its totals in shared memory; all threads
/// read those of all warps.
static void combineWarps(LoweringContext &c, tile::ReduceKind kind, RegisterTile &totals,
                         const Distribution &layout, int64_t dim, const ExecutionScope &by) {
  auto [lanes, warps] = spansOf(layout, dim);
  const Distribution &sliced = totals.layout;
  int64_t bytes = totals.element.getIntOrFloatBitWidth() / 8, count = 1;
  // The number of this warp among those along the dimension.
  Value number = c.i32(0), first;
  for (const ThreadSpan &span : warps) {
    number = c.add(number, c.mul(c.digitOf(threadInScope(c, by), span.weight, span.extent), count));
    count *= span.extent;
  }
  for (const ThreadSpan &span : lanes)
    first =
        c.both(first, c.cmp(arith::CmpIPredicate::eq,
                            c.digitOf(threadInScope(c, by), span.weight, span.extent), c.i32(0)));
  // Copies that were there before write once.
  int64_t below = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    if (digit.dim < 0)
      first = c.both(first, c.cmp(arith::CmpIPredicate::eq,
                                  c.digitOf(threadInScope(c, by), below, digit.extent), c.i32(0)));
    below *= digit.extent;
  }
  SmallVector<Value> base = baseOf(c, sliced, by);
  auto address = [&](int64_t reg, Value warp) {
    auto offset = sliced.offsetOf(reg);
    Value element = warp;
    for (size_t d = 0; d < sliced.rank(); ++d)
      element = c.add(c.mul(element, sliced.shape[d]), c.add(base[d], offset[d]));
    return sharedPointer(c, c.add(c.mul(element, bytes), scratchOf(c, by)));
  };
  syncThreads(c, by); // who still reads the scratch memory
  for (int64_t reg = 0; reg < totals.registers(); ++reg)
    c.when(c.both(first, holdsElement(c, sliced, base, sliced.offsetOf(reg))),
           [&] { storeShared(c, address(reg, number), {readRegister(c, totals, reg)}); });
  syncThreads(c, by);
  for (int64_t reg = 0; reg < totals.registers(); ++reg)
    c.when(holdsElement(c, sliced, base, sliced.offsetOf(reg)), [&] {
      Tree tree(c, kind, size_t(count), 0);
      for (int64_t warp = 0; warp < count; ++warp)
        tree.add(loadShared(c, address(reg, c.i32(warp)), totals.type, 1)[0]);
      writeRegister(c, totals, reg, toStored(c, tree.total()));
    });
}

static LogicalResult lowerReduce(LoweringContext &c, tile::ReduceOp op, const ExecutionScope &by) {
  if (failed(c.checkReach(op)))
    return failure();
  Distribution layout = workLayoutOf(c, op, by);
  unsigned dim = unsigned(op.getDim());
  Distribution sliced = layout.slice(dim);
  auto [lanes, warps] = spansOf(layout, int64_t(dim));
  // Roles of an explicit kernel would share the scratch memory.
  if (!warps.empty() && !by.scope.wholeBlock && !c.mode.tileProgram)
    return c.refuse(op, "over several warps of a role is not supported");
  Type source = cast<MemRefType>(op.getSource().getType()).getElementType();
  Type type = cast<MemRefType>(op.getTarget().getType()).getElementType();
  // Formats that no instruction adds are combined in f32.
  bool narrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
  Type sum = narrow ? c.builder.getF32Type() : type;
  RegisterTile *from = registersOf(c, op.getSource());
  SmallVector<Value> base = baseOf(c, layout, by);

  // In each thread, register by register of the result.
  int64_t results = sliced.registers(), perResult = layout.registers() / results;
  RegisterTile totals = makeRegisters(c, sliced, sum);
  Value none = arith::ConstantOp::create(c.builder, c.loc, neutral(c.builder, op.getKind(), sum));
  size_t later = op.getAccumulate();
  for (const ThreadSpan &span : lanes)
    later += llvm::Log2_64_Ceil(uint64_t(span.extent));
  std::vector<Tree> trees(size_t(results),
                          Tree(c, op.getKind(), size_t(perResult), later,
                               op->hasAttr(tile::TileDialect::contractAttr),
                               perResult % 2 == 0 && combinesPairs(c, op, source, sum)));
  for (int64_t reg = 0; reg < layout.registers(); ++reg) {
    auto offset = layout.offsetOf(reg);
    Value held = holdsElement(c, layout, base, offset), value;
    if (from) {
      value = fromStored(c, readRegister(c, *from, reg), source);
    } else {
      View view = viewOf(c, op.getSource());
      if (held) {
        // Elements beyond the tile are not read; the address of its first element replaces theirs.
        SmallVector<Value> at;
        for (size_t d = 0; d < layout.rank(); ++d)
          at.push_back(
              arith::SelectOp::create(c.builder, c.loc, held, c.add(base[d], offset[d]), c.i32(0)));
        SmallVector<int64_t> zeros(layout.rank(), 0);
        value = loadShared(c, sharedElement(c, view, at, zeros), source, 1)[0];
      } else {
        value = loadShared(c, sharedElement(c, view, base, offset, &layout), source, 1,
                           neighborsFrom(c, layout, op.getSource(), offset))[0];
      }
    }
    value = converted(c, value, sum);
    if (held)
      value = arith::SelectOp::create(c.builder, c.loc, held, value, none);
    trees[size_t(layout.sliceRegister(dim, reg))].add(value);
  }
  SmallVector<Value> total;
  for (Tree &tree : trees)
    total.push_back(tree.total());
  for (Value &value : total)
    for (const ThreadSpan &span : lanes)
      for (int64_t distance = 1; distance < span.extent; distance *= 2)
        value = combine(c, op.getKind(), value, shuffled(c, value, distance * span.weight));
  if (op->hasAttr(nv::NVDialect::beforeWaitAttr))
    computeNow(c, total);
  for (int64_t reg = 0; reg < results; ++reg)
    writeRegister(c, totals, reg, toStored(c, total[size_t(reg)]));
  SmallVector<Value> resultBase = baseOf(c, sliced, by);
  if (!warps.empty())
    combineWarps(c, op.getKind(), totals, layout, int64_t(dim), by);

  RegisterTile *to = registersOf(c, op.getTarget());
  auto variable = c.registers.variables.find(op.getTarget());
  Value first = to ? Value() : holdsFirstCopy(c, sliced, by);
  for (int64_t reg = 0; reg < results; ++reg) {
    auto offset = sliced.offsetOf(reg);
    Value value = fromStored(c, readRegister(c, totals, reg), sum);
    auto finish = [&](Value old) {
      Value result = value;
      if (op.getAccumulate())
        result = combine(c, op.getKind(), converted(c, old, sum), value);
      return converted(c, result, type);
    };
    if (to) {
      Value old = op.getAccumulate() ? fromStored(c, readRegister(c, *to, reg), type) : Value();
      writeRegister(c, *to, reg, toStored(c, finish(old)));
    } else if (variable != c.registers.variables.end()) {
      Value old = LLVM::LoadOp::create(c.builder, c.loc, storedAs(type), variable->second);
      LLVM::StoreOp::create(c.builder, c.loc, toStored(c, finish(fromStored(c, old, type))),
                            variable->second);
    } else {
      c.when(c.both(first, holdsElement(c, sliced, resultBase, offset)), [&] {
        Value address = sharedElement(c, viewOf(c, op.getTarget()), resultBase, offset, &sliced);
        Value old = op.getAccumulate() ? loadShared(c, address, type, 1)[0] : Value();
        storeShared(c, address, {finish(old)});
      });
    }
  }
  return success();
}

static void lowerWarpDiffers(LoweringContext &c, nv::WarpDiffersOp op) {
  RegisterTile &tile = *registersOf(c, op.getTile());
  Value with = arith::ConstantOp::create(c.builder, c.loc, op.getValueAttr()), any;
  for (int64_t reg = 0; reg < tile.registers(); ++reg) {
    Value held = fromStored(c, readRegister(c, tile, reg), tile.type);
    Value differs = arith::CmpFOp::create(c.builder, c.loc, arith::CmpFPredicate::UNE, held, with);
    any = any ? arith::OrIOp::create(c.builder, c.loc, any, differs).getResult() : differs;
  }
  Value voted = c.ptxValue(c.builder.getI32Type(),
                           "{ .reg .pred own, any; setp.ne.b32 own, $1, 0; vote.sync.any.pred any, "
                           "own, 0xffffffff; selp.b32 $0, 1, 0, any; }",
                           {c.asI32(any)});
  op.replaceAllUsesWith(c.cmp(arith::CmpIPredicate::ne, voted, c.i32(0)));
}

static int64_t scratchOfReduce(tile::ReduceOp op) {
  auto type = cast<MemRefType>(op.getTarget().getType());
  int64_t bytes = reductionScratch(workLayout(op, threadsOf(nv::scopeOf(op)), nv::layoutOf),
                                   int64_t(op.getDim()), storedAs(type.getElementType()));
  return type.getElementTypeBitWidth() == 8 ? 4 * bytes : bytes; // combined in f32
}

/// Finds the sums while the maps before them exist.
static void findFusedSums(LoweringContext &c) {
  c.kernel.walk([&](tile::MapOp map) {
    if (sumTakesProduct(map))
      c.state<FusedSums>().reductions.insert(map->getNextNode());
  });
}

void nvptx::addReductions(LoweringTable &table) {
  table.addPreparation(findFusedSums);
  table.add<lowerReduce>();
  table.addScratch<scratchOfReduce>();
  table.add<lowerWarpDiffers>();
}
