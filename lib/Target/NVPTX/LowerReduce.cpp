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
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

namespace {

/// What the threads of a digit along the reduced dimension are.
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

int64_t nvptx::reductionScratch(const Distribution &layout, int64_t dim, Type element) {
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

Value Lowering::combine(tile::ReduceKind kind, Value a, Value b, bool contract) {
  bool floating = isa<FloatType>(a.getType());
  auto flags = contract ? arith::FastMathFlags::contract : arith::FastMathFlags::none;
  switch (kind) {
  case tile::ReduceKind::Sum:
    return floating ? arith::AddFOp::create(builder, loc, a, b, flags).getResult()
                    : arith::AddIOp::create(builder, loc, a, b).getResult();
  case tile::ReduceKind::Prod:
    return floating ? arith::MulFOp::create(builder, loc, a, b).getResult()
                    : arith::MulIOp::create(builder, loc, a, b).getResult();
  case tile::ReduceKind::Max:
    return floating ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
                    : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  case tile::ReduceKind::Min:
    break;
  }
  return floating ? arith::MinimumFOp::create(builder, loc, a, b).getResult()
                  : arith::MinSIOp::create(builder, loc, a, b).getResult();
}

Value Lowering::shuffled(Value value, int64_t distance) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto exchange = [&](Value word) {
    return inlinePtx()
        .output(word.getType())
        .inputs({word, i32(distance)})
        .emit("shfl.sync.bfly.b32 $0, $1, $2, 0x1f, 0xffffffff;", PtxEffects::Ordered)[0];
  };
  Type i32Type = builder.getI32Type();
  if (bits == 64) {
    auto pair = VectorType::get({2}, i32Type);
    Value words = LLVM::BitcastOp::create(builder, loc, pair, value), result = words;
    for (int64_t i = 0; i < 2; ++i)
      result = LLVM::InsertElementOp::create(
          builder, loc, result,
          exchange(LLVM::ExtractElementOp::create(builder, loc, words, i32(i))), i32(i));
    return LLVM::BitcastOp::create(builder, loc, type, result);
  }
  Type whole = builder.getIntegerType(bits);
  Value word = builder.createOrFold<arith::BitcastOp>(loc, whole, value);
  if (bits < 32)
    word = arith::ExtUIOp::create(builder, loc, i32Type, word);
  word = exchange(word);
  if (bits < 32)
    word = arith::TruncIOp::create(builder, loc, whole, word);
  return builder.createOrFold<arith::BitcastOp>(loc, type, word);
}

LogicalResult Lowering::lowerReduce(tile::ReduceOp op, const ExecutionScope &by) {
  Distribution layout = workLayoutOf(op, by);
  unsigned dim = unsigned(op.getDim());
  Distribution sliced = layout.slice(dim);
  auto [lanes, warps] = spansOf(layout, int64_t(dim));
  // Roles of an explicit kernel would share the scratch memory.
  if (!warps.empty() && !by.scope.wholeBlock && !inOrder)
    return refuse(op, "over several warps of a role is not supported");
  Type source = cast<MemRefType>(op.getSource().getType()).getElementType();
  Type type = cast<MemRefType>(op.getTarget().getType()).getElementType();
  // Formats that no instruction adds are combined in f32.
  bool narrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
  Type sum = narrow ? builder.getF32Type() : type;
  RegisterTile *from = registersOf(op.getSource());
  SmallVector<Value> base = baseOf(layout, by);

  // In each thread, register by register of the result.
  int64_t results = sliced.registers();
  RegisterTile totals = makeRegisters(sliced, sum);
  Value none = arith::ConstantOp::create(builder, loc, neutral(builder, op.getKind(), sum));
  SmallVector<Value> total(static_cast<size_t>(results));
  bool contract = op->hasAttr(tile::TileDialect::contractAttr);
  for (int64_t reg = 0; reg < layout.registers(); ++reg) {
    auto offset = layout.offsetOf(reg);
    Value held = holdsElement(layout, base, offset), value;
    if (from) {
      value = fromStored(readRegister(*from, reg), source);
    } else {
      View view = viewOf(op.getSource());
      if (held) {
        // What lies beyond the tile is not read: the address of its first element is.
        SmallVector<Value> at;
        for (size_t d = 0; d < layout.rank(); ++d)
          at.push_back(
              arith::SelectOp::create(builder, loc, held, add(base[d], offset[d]), i32(0)));
        SmallVector<int64_t> zeros(layout.rank(), 0);
        value = loadShared(sharedElement(view, at, zeros), source, 1)[0];
      } else {
        value = loadShared(sharedElement(view, base, offset, &layout), source, 1,
                           neighborsFrom(layout, op.getSource(), offset))[0];
      }
    }
    value = converted(value, sum);
    if (held)
      value = arith::SelectOp::create(builder, loc, held, value, none);
    Value &into = total[size_t(layout.sliceRegister(dim, reg))];
    into = into ? combine(op.getKind(), into, value, contract) : value;
  }
  for (Value &value : total)
    for (const ThreadSpan &span : lanes)
      for (int64_t distance = 1; distance < span.extent; distance *= 2)
        value = combine(op.getKind(), value, shuffled(value, distance * span.weight));
  if (op->hasAttr(nv::NVDialect::beforeWaitAttr))
    computeNow(total);
  for (int64_t reg = 0; reg < results; ++reg)
    writeRegister(totals, reg, toStored(total[size_t(reg)]));
  SmallVector<Value> resultBase = baseOf(sliced, by);
  if (!warps.empty())
    combineWarps(op.getKind(), totals, layout, int64_t(dim), by);

  RegisterTile *to = registersOf(op.getTarget());
  auto variable = variables.find(op.getTarget());
  Value first = to ? Value() : holdsFirstCopy(sliced, by);
  for (int64_t reg = 0; reg < results; ++reg) {
    auto offset = sliced.offsetOf(reg);
    Value value = fromStored(readRegister(totals, reg), sum);
    auto finish = [&](Value old) {
      Value result = value;
      if (op.getAccumulate())
        result = combine(op.getKind(), converted(old, sum), value);
      return converted(result, type);
    };
    if (to) {
      Value old = op.getAccumulate() ? fromStored(readRegister(*to, reg), type) : Value();
      writeRegister(*to, reg, toStored(finish(old)));
    } else if (variable != variables.end()) {
      Value old = LLVM::LoadOp::create(builder, loc, storedAs(type), variable->second);
      LLVM::StoreOp::create(builder, loc, toStored(finish(fromStored(old, type))),
                            variable->second);
    } else {
      when(both(first, holdsElement(sliced, resultBase, offset)), [&] {
        Value address = sharedElement(viewOf(op.getTarget()), resultBase, offset, &sliced);
        Value old = op.getAccumulate() ? loadShared(address, type, 1)[0] : Value();
        storeShared(address, {finish(old)});
      });
    }
  }
  return success();
}

void Lowering::lowerWarpDiffers(nv::WarpDiffersOp op) {
  RegisterTile &tile = *registersOf(op.getTile());
  Value with = arith::ConstantOp::create(builder, loc, op.getValueAttr()), any;
  for (int64_t reg = 0; reg < tile.registers(); ++reg) {
    Value held = fromStored(readRegister(tile, reg), tile.type);
    Value differs = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, held, with);
    any = any ? arith::OrIOp::create(builder, loc, any, differs).getResult() : differs;
  }
  Value voted = ptxValue(builder.getI32Type(),
                         "{ .reg .pred own, any; setp.ne.b32 own, $1, 0; vote.sync.any.pred any, "
                         "own, 0xffffffff; selp.b32 $0, 1, 0, any; }",
                         {asI32(any)});
  op.replaceAllUsesWith(cmp(arith::CmpIPredicate::ne, voted, i32(0)));
}

/// Keeps the assembler from moving what the values need behind this point. An event of the
/// performance monitor, which changes nothing, would be triggered by one value among 2^32.
void Lowering::computeNow(ArrayRef<Value> values) {
  InlinePtx ptx = inlinePtx();
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
void Lowering::combineWarps(tile::ReduceKind kind, RegisterTile &totals, const Distribution &layout,
                            int64_t dim, const ExecutionScope &by) {
  auto [lanes, warps] = spansOf(layout, dim);
  const Distribution &sliced = totals.layout;
  int64_t bytes = totals.element.getIntOrFloatBitWidth() / 8, count = 1;
  // The number of this warp among those along the dimension.
  Value number = i32(0), first;
  for (const ThreadSpan &span : warps) {
    number = add(number, mul(digitOf(threadInScope(by), span.weight, span.extent), count));
    count *= span.extent;
  }
  for (const ThreadSpan &span : lanes)
    first = both(first, cmp(arith::CmpIPredicate::eq,
                            digitOf(threadInScope(by), span.weight, span.extent), i32(0)));
  // Copies that were there before write once.
  int64_t below = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    if (digit.dim < 0)
      first = both(first, cmp(arith::CmpIPredicate::eq,
                              digitOf(threadInScope(by), below, digit.extent), i32(0)));
    below *= digit.extent;
  }
  SmallVector<Value> base = baseOf(sliced, by);
  auto address = [&](int64_t reg, Value warp) {
    auto offset = sliced.offsetOf(reg);
    Value element = warp;
    for (size_t d = 0; d < sliced.rank(); ++d)
      element = add(mul(element, sliced.shape[d]), add(base[d], offset[d]));
    return sharedPointer(add(mul(element, bytes), scratchOf(by)));
  };
  lowerSync(by); // who still reads the scratch memory
  for (int64_t reg = 0; reg < totals.registers(); ++reg)
    when(both(first, holdsElement(sliced, base, sliced.offsetOf(reg))),
         [&] { storeShared(address(reg, number), {readRegister(totals, reg)}); });
  lowerSync(by);
  for (int64_t reg = 0; reg < totals.registers(); ++reg)
    when(holdsElement(sliced, base, sliced.offsetOf(reg)), [&] {
      Value total;
      for (int64_t warp = 0; warp < count; ++warp) {
        Value part = loadShared(address(reg, i32(warp)), totals.type, 1)[0];
        total = total ? combine(kind, total, part) : part;
      }
      writeRegister(totals, reg, toStored(total));
    });
}
