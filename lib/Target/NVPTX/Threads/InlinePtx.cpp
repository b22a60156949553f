//===- InlinePtx.cpp - Builder of inline PTX ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/InlinePtx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace penstock::nvptx;

/// Returns LLVM's constraint for a register of this type.
static const char *registerOf(Type type) {
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return "b";
    case 16:
      return "h";
    case 64:
      return "l";
    default:
      break;
    }
  if (isa<LLVM::LLVMPointerType>(type))
    return "l";
  return "r"; // words: i32, and packed elements of 32 bits
}

InlinePtx &InlinePtx::addOutput(Type type, StringRef prefix) {
  types.push_back(type);
  outputConstraints.push_back((prefix + registerOf(type)).str());
  return *this;
}

InlinePtx &InlinePtx::addInOut(Value value, StringRef prefix) {
  assert(llvm::none_of(inputConstraints, [](StringRef one) { return llvm::isAlpha(one[0]); }) &&
         "inputs that are outputs as well come first");
  inputConstraints.push_back(std::to_string(types.size()));
  operands.push_back(value);
  return addOutput(value.getType(), prefix);
}

InlinePtx &InlinePtx::input(Value value) {
  inputConstraints.push_back(registerOf(value.getType()));
  operands.push_back(value);
  return *this;
}

InlinePtx &InlinePtx::inputs(ArrayRef<Value> values) {
  for (Value value : values)
    input(value);
  return *this;
}

SmallVector<Value> InlinePtx::emit(StringRef text, PtxEffects effects) {
  SmallVector<std::string> constraints = outputConstraints;
  llvm::append_range(constraints, inputConstraints);
  if (effects == PtxEffects::Memory)
    constraints.push_back("~{memory}");
  SmallVector<Type> result;
  if (types.size() == 1)
    result = types;
  else if (!types.empty())
    result = {LLVM::LLVMStructType::getLiteral(builder.getContext(), types)};
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, TypeRange(result), operands, text, llvm::join(constraints, ","),
      /*has_side_effects=*/effects != PtxEffects::None, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (types.size() == 1)
    return {op.getResult(0)};
  SmallVector<Value> values;
  for (size_t i = 0; i < types.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, op.getResult(0), int64_t(i)));
  return values;
}

std::string penstock::nvptx::operandList(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}
