//===- UnpackNibbles.cpp - Maps that unpack 4-bit integers ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of integers to f16 execute at a quarter of the rate of other instructions, and need
// the sign extended before. Instead, four bits become the low bits of the significand of a number
// whose ULP is known: 0x6400 in f16 is 1024, with a ULP of 1. The sign bit is inverted, which
// adds 8. One FMA subtracts both for two elements.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/LowerMapBody.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

/// Returns the element index that an operation divides by two, without a sign.
template <class Division> static tile::ElementIndexOp halvedIndex(Value value) {
  auto op = value.getDefiningOp<Division>();
  return op && isConstantIntValue(op.getRhs(), 2)
             ? op.getLhs().template getDefiningOp<tile::ElementIndexOp>()
             : tile::ElementIndexOp();
}

namespace {

/// Evaluates an expression of a byte and of the parity of an index.
struct Evaluation {
  tile::LoadOp load;
  unsigned lastDim;
  Attribute byte, parity;
  llvm::DenseMap<Value, Attribute> known{};

  /// Returns null for values that depend on anything else.
  Attribute of(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    Attribute result = compute(value);
    return known[value] = result;
  }

private:
  Attribute compute(Value value) {
    if (value == load.getResult())
      return byte;
    if (auto index = halvedIndex<arith::RemUIOp>(value))
      return index.getDim() == lastDim ? parity : Attribute();
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumResults() != 1 || !isa<arith::ArithDialect>(op->getDialect()))
      return {};
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(of(operand));
      if (!operands.back())
        return {};
    }
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.size() != 1)
      return {};
    if (auto attribute = dyn_cast<Attribute>(results[0]))
      return attribute;
    return of(cast<Value>(results[0]));
  }
};

} // namespace

/// Returns whether \p value is the signed integer in the low bits of a byte for even indices, and
/// in its high bits for odd ones.
static bool isSignedNibble(Value value, tile::LoadOp load, unsigned lastDim) {
  Builder b(value.getContext());
  for (int64_t byte = 0; byte < 256; ++byte)
    for (int64_t odd : {0, 1}) {
      Evaluation evaluation{load, lastDim, b.getI8IntegerAttr(int8_t(byte)), b.getIndexAttr(odd)};
      int64_t bits = odd ? byte >> 4 : byte & 15;
      int64_t expected = bits - (bits & 8 ? 16 : 0);
      Attribute result = evaluation.of(value);
      auto real = dyn_cast_or_null<FloatAttr>(result);
      if (!real || real.getValueAsDouble() != double(expected))
        return false;
    }
  return true;
}

std::optional<NibbleMap> NibbleMap::match(LoweringContext &c, tile::MapOp op,
                                          const Distribution &layout) {
  Value value = cast<tile::YieldOp>(op.getBody().front().getTerminator()).getValue();
  Type type = value.getType();
  auto loads = op.getBody().getOps<tile::LoadOp>();
  if (!(type.isF16() || type.isBF16() || type.isF32()) || !op.getInputs().empty() ||
      !llvm::hasSingleElement(loads) || !layout.isFull() || layout.run() < 2)
    return std::nullopt;
  tile::LoadOp load = *loads.begin();
  if (llvm::any_of(op.getBody().front().without_terminator(),
                   [&](Operation &inner) { return &inner != load && !isMemoryEffectFree(&inner); }))
    return std::nullopt;
  Value source = load.getSource();
  unsigned last = unsigned(layout.rank()) - 1;
  if (!elementOf(source).isInteger(8) || load.getIndices().size() != layout.rank())
    return std::nullopt;
  for (unsigned dim = 0; dim < last; ++dim) {
    auto index = load.getIndices()[dim].getDefiningOp<tile::ElementIndexOp>();
    if (!index || index.getDim() != dim)
      return std::nullopt;
  }
  auto half = halvedIndex<arith::DivUIOp>(load.getIndices()[last]);
  if (!half || half.getDim() != last || !isSignedNibble(value, load, last))
    return std::nullopt;
  // Words of four bytes are aligned, and so are pieces of four words, and lie in a row.
  View view = viewOf(c, source);
  auto allocation = c.shared.tiles.find(view.root);
  if (allocation == c.shared.tiles.end() || view.dims.back() + 1 != view.offsets.size() ||
      allocation->second.layout.cols % 16 || view.shape.back() * 2 != layout.shape[last])
    return std::nullopt;
  auto start = getConstantIntValue(view.offsets.back());
  if (!start || *start % 16)
    return std::nullopt;
  // A pair is in one word, at a constant from the thread's part of the coordinate.
  for (const Distribution::Digit &digit : layout.registerDigits)
    if (digit.dim == int64_t(last) && digit.stride >= 8 && digit.stride % 8)
      return std::nullopt;
  for (int64_t reg = 0; reg < layout.registers(); reg += 2)
    if (layout.largestRemainder(last, 8) + layout.offsetOf(reg)[last] % 8 >= 8)
      return std::nullopt;
  return NibbleMap(c, source, type, layout);
}

/// Returns the four bytes that hold a pair.
Value NibbleMap::wordAt(ArrayRef<Value> base, ArrayRef<int64_t> offset, bool known) {
  // A thread whose own coordinate selects no other word of a piece loads the piece at once.
  size_t last = base.size() - 1;
  bool whole =
      known && layout.largestRemainder(unsigned(last), 32) < 8 && layout.shape[last] % 32 == 0;
  int64_t values = whole ? 32 : 8;
  std::vector<int64_t> first(offset.begin(), offset.end());
  first[last] = offset[last] / values * values;
  SmallVector<Value> &words = loaded[first];
  if (words.empty()) {
    SmallVector<Value> at(base);
    at[last] = c.mul(c.shiftRight(base[last], whole ? 5 : 3), values / 2);
    first[last] /= 2;
    Value address = sharedElement(c, viewOf(c, tile), at, first);
    words = loadShared(c, address, c.builder.getI32Type(), values / 8);
  }
  return words[size_t(offset[last] % values / 8)];
}

SmallVector<Value, 2> NibbleMap::pair(ArrayRef<Value> base, ArrayRef<int64_t> offset, bool known) {
  Type i32 = c.builder.getI32Type();
  Value word = wordAt(base, offset, known);
  // The byte of the pair in its word.
  Value byte = c.add(c.shiftRight(c.andBits(base.back(), 7), 1), offset.back() % 8 / 2);
  auto permuted = [&](Value other, int64_t each, int64_t selector) {
    return c.inlinePtx()
        .output(i32)
        .inputs({word, other, c.add(c.mul(byte, each), selector)})
        .emit("prmt.b32 $0, $1, $2, $3;", PtxEffects::None)[0];
  };
  auto merged = [&](Value bits, uint32_t mask, uint32_t with) {
    return c
        .inlinePtx() // ptxas does not merge two operations with constants
        .output(i32)
        .inputs({bits, c.i32(int32_t(mask)), c.i32(int32_t(with))})
        .emit("lop3.b32 $0, $1, $2, $3, 0x6a;", PtxEffects::None)[0]; // (a & b) ^ c
  };
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(c.builder, c.loc, c.builder.getF32FloatAttr(float(value)));
  };
  if (type.isF32()) {
    // 2^23 + 8 + v, and 2^23 + 16 (8 + v) with the bits in their place.
    Value all = permuted(c.i32(0), 1, 0x4440);
    auto real = [&](uint32_t mask, uint32_t with) -> Value {
      return arith::BitcastOp::create(c.builder, c.loc, type, merged(all, mask, with));
    };
    Value low =
        arith::AddFOp::create(c.builder, c.loc, real(0x0f, 0x4b000008), constant(-(0x1p23 + 8)));
    Value high = math::FmaOp::create(c.builder, c.loc, real(0xf0, 0x4b000080), constant(0x1p-4),
                                     constant(-(0x1p19 + 8)));
    return {low, high};
  }
  auto fma = [&](const char *text, Value bits, uint32_t factors, uint32_t addends) {
    return c.inlinePtx()
        .output(i32)
        .inputs({bits, c.i32(int32_t(factors)), c.i32(int32_t(addends))})
        .emit(text, PtxEffects::None)[0];
  };
  Value both;
  if (type.isF16()) {
    // 1024 + 8 + v, and 1024 + 16 (8 + v), times 1 and 1/16, minus 1032 and 72.
    Value bits = merged(permuted(c.i32(0), 0x0101, 0x4040), 0x00f0000f, 0x64806408);
    both = fma("fma.rn.f16x2 $0, $1, $2, $3;", bits, 0x2c003c00, 0xd480e408);
  } else {
    // The significand of bf16 has 7 bits: high bits are moved. 128 + 8 + v, minus 136.
    Value bits = merged(permuted(c.shiftRight(word, 4), 0x1111, 0x4400), 0x000f000f, 0x43084308);
    both = fma("fma.rn.bf16x2 $0, $1, $2, $3;", bits, 0x3f803f80, 0xc308c308);
  }
  return {both};
}

SmallVector<Value> NibbleMap::values(ArrayRef<Value> base, ArrayRef<int64_t> offset, bool known,
                                     int64_t count) {
  SmallVector<Value> result;
  SmallVector<int64_t> at(offset);
  for (int64_t i = 0; i < count; i += 2, at.back() += 2) {
    SmallVector<Value, 2> two = pair(base, at, known);
    if (two.size() == 2) {
      llvm::append_range(result, two);
      continue;
    }
    Value both = LLVM::BitcastOp::create(c.builder, c.loc, VectorType::get({2}, type), two.front());
    for (int64_t half : {0, 1})
      result.push_back(LLVM::ExtractElementOp::create(c.builder, c.loc, both, c.i32(half)));
  }
  return result;
}
