//===- VectorAccess.cpp - Accesses to tensors of up to 16 bytes -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread accesses neighbors of a row together if rows are aligned, and each group
// of neighbors lies inside of the tensor or outside as a whole. Launches of tile
// programs choose a kernel that relies on that. The other kernel, and explicit ones,
// test it where they run, by a condition that is the same for all threads of a copy;
// if it does not hold, the copy accesses element by element.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/VectorAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

int64_t nvptx::vectorOfTensor(Value tensor, ArrayRef<int64_t> dims,
                              const layout::Distribution &layout) {
  auto type = cast<MemRefType>(tensor.getType());
  if (dims.empty() || dims.back() + 1 != type.getRank())
    return 1;
  Type stored = storedAs(type.getElementType());
  return std::min<int64_t>(layout.run(), 128 / stored.getIntOrFloatBitWidth());
}

int64_t nvptx::bytesInTensor(Value tensor) {
  return storedAs(cast<MemRefType>(tensor.getType()).getElementType()).getIntOrFloatBitWidth() / 8;
}

Value nvptx::rowsAreAligned(LoweringContext &c, Value tensor, ValueRange start, int64_t extent,
                            int64_t vector) {
  auto type = cast<MemRefType>(tensor.getType());
  unsigned argument = cast<BlockArgument>(tensor).getArgNumber() - 1;
  int64_t bytes = bytesInTensor(tensor);
  auto rank = unsigned(type.getRank());
  Value first = c.coordinates(start).back();
  auto either = [&](Value a, Value b) -> Value {
    return arith::OrIOp::create(c.builder, c.loc, a, b);
  };
  // In elements: what must be a multiple of the vector.
  Value elements = arith::ExtSIOp::create(c.builder, c.loc, c.builder.getI64Type(), first);
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    elements = either(elements, parameter(c, ParameterField::Stride, argument, dim));
  Value all =
      either(c.mul(elements, c.i64(bytes)), parameter(c, ParameterField::Address, argument));
  auto isMultiple = [&](Value value, int64_t of) {
    Value rest = arith::AndIOp::create(c.builder, c.loc, value, c.i64(of - 1));
    return c.cmp(arith::CmpIPredicate::eq, rest, c.i64(0));
  };
  Value size = tensorSize(c, tensor, rank - 1);
  Value whole = either(isMultiple(size, vector),
                       c.cmp(arith::CmpIPredicate::sle, c.add(first, extent), c.asI32(size)));
  return c.both(isMultiple(all, vector * bytes), whole);
}

/// The integer that an instruction moves for an element: bytes travel in 16 bits.
static Type movedAs(OpBuilder &builder, Type element) {
  return builder.getIntegerType(std::max(element.getIntOrFloatBitWidth(), 16u));
}

// Predicates instead of branches: there is one for each element at an edge.

Value nvptx::loadInside(LoweringContext &c, Value inside, Value address, Type element) {
  element = storedAs(element);
  Type word = movedAs(c.builder, element);
  unsigned bits = element.getIntOrFloatBitWidth();
  std::string width = std::to_string(bits), moved = std::to_string(std::max(bits, 16u));
  Value loaded = c.inlinePtx()
                     .earlyOutput(word)
                     .inputs({address, inside})
                     .emit("mov.b" + moved + " $0, 0; @$2 ld.global.b" + width + " $0, [$1];",
                           PtxEffects::Memory)[0];
  if (bits < 16)
    loaded = arith::TruncIOp::create(c.builder, c.loc, c.builder.getIntegerType(bits), loaded);
  return LLVM::BitcastOp::create(c.builder, c.loc, element, loaded);
}

void nvptx::storeInside(LoweringContext &c, Value inside, Value address, Value value) {
  Type word = movedAs(c.builder, value.getType());
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  value = LLVM::BitcastOp::create(c.builder, c.loc, c.builder.getIntegerType(bits), value);
  if (bits < 16)
    value = arith::ExtUIOp::create(c.builder, c.loc, word, value);
  c.ptx("@$2 st.global.b" + std::to_string(bits) + " [$0], $1;", {address, value, inside});
}

namespace {

/// The registers that an instruction moves: words of 32 bits, or one of 16.
struct Words {
  int64_t count;
  unsigned bits;
  std::string suffix() const {
    return (count > 1 ? ".v" + std::to_string(count) : std::string()) + ".b" + std::to_string(bits);
  }
  /// "{$0, $1}", or "$0".
  std::string operands(int64_t first) const {
    std::string text = count > 1 ? "{" : "";
    for (int64_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return text + (count > 1 ? "}" : "");
  }
};

Words wordsFor(int64_t bytes) { return bytes < 4 ? Words{1, 16} : Words{bytes / 4, 32}; }

} // namespace

SmallVector<Value> nvptx::loadVector(LoweringContext &c, Value inside, Value address, Type element,
                                     int64_t count) {
  Type stored = storedAs(element);
  unsigned bits = stored.getIntOrFloatBitWidth();
  Words words = wordsFor(count * bits / 8);
  Type word = c.builder.getIntegerType(words.bits);
  std::string text;
  InlinePtx load = c.inlinePtx();
  for (int64_t i = 0; i < words.count; ++i) {
    text += "mov.b" + std::to_string(words.bits) + " $" + std::to_string(i) + ", 0; ";
    load.earlyOutput(word);
  }
  std::string from = "$" + std::to_string(words.count);
  text += "@$" + std::to_string(words.count + 1) + " ld.global" + words.suffix() + " " +
          words.operands(0) + ", [" + from + "];";
  SmallVector<Value> moved = load.inputs({address, inside}).emit(text, PtxEffects::Memory);
  Value all = LLVM::BitcastOp::create(c.builder, c.loc, VectorType::get({count}, stored),
                                      words.count > 1 ? c.packed(moved) : moved[0]);
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        fromStored(c, LLVM::ExtractElementOp::create(c.builder, c.loc, all, c.i32(i)), element));
  return values;
}

void nvptx::storeVector(LoweringContext &c, Value inside, Value address, ArrayRef<Value> values) {
  SmallVector<Value> stored =
      llvm::map_to_vector(values, [&](Value value) { return toStored(c, value); });
  auto count = int64_t(stored.size());
  Words words = wordsFor(count * stored[0].getType().getIntOrFloatBitWidth() / 8);
  Type word = c.builder.getIntegerType(words.bits);
  Value all = c.packed(stored);
  SmallVector<Value> operands = {address};
  if (words.count == 1) {
    operands.push_back(LLVM::BitcastOp::create(c.builder, c.loc, word, all));
  } else {
    all = LLVM::BitcastOp::create(c.builder, c.loc, VectorType::get({words.count}, word), all);
    for (int64_t i = 0; i < words.count; ++i)
      operands.push_back(LLVM::ExtractElementOp::create(c.builder, c.loc, all, c.i32(i)));
  }
  operands.push_back(inside);
  c.ptx("@$" + std::to_string(words.count + 1) + " st.global" + words.suffix() + " [$0], " +
            words.operands(1) + ";",
        operands);
}
