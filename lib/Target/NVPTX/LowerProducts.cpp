//===- LowerProducts.cpp - wgmma, tcgen05 and tensor memory ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// What is multiplied, in the words of the instructions.
static const char *kindOf(layout::MmaType type) {
  switch (type) {
  case layout::MmaType::F16:
  case layout::MmaType::BF16:
    return "f16";
  case layout::MmaType::TF32:
    return "tf32";
  case layout::MmaType::E4M3:
  case layout::MmaType::E5M2:
    return "f8f6f4";
  case layout::MmaType::S8:
  case layout::MmaType::U8:
    break;
  }
  return "i8";
}

LogicalResult Lowering::lowerTensorMma(nv::TensorMmaOp op, const Executing &) {
  nv::Product product = nv::productOf(op.getA(), op.getB(), op.getAcc(), pair);
  auto a = layout::tcgen05Descriptor(product.aOperand);
  auto b = layout::tcgen05Descriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  uint32_t instruction = layout::tcgen05InstructionDescriptor(
      {product.a, product.b, product.d, int(product.m), int(product.n), product.aOperand.major,
       product.bOperand.major});
  auto descriptor = [&](Value operand, uint64_t fixed) -> Value {
    Value address = andBits(sharedAddress(slotOffset(viewOf(operand))), 0x3ffff);
    Value field =
        arith::ExtUIOp::create(builder, loc, builder.getI64Type(), shiftRight(address, 4));
    return arith::OrIOp::create(builder, loc, field, i64(int64_t(fixed)));
  };
  Value da = descriptor(op.getA(), *a), db = descriptor(op.getB(), *b);
  View acc = viewOf(op.getAcc());
  Value target = add(tensorBases.lookup(acc.root), acc.offsets[1]);
  Value accumulate = asI32(op.getAccumulate());
  int64_t step = layout::instructionK(product.a);
  for (int64_t k = 0; k < product.k; k += step) {
    auto at = [&](Value fixed, const layout::MatrixOperand &operand) {
      int64_t bytes = layout::operandStepBytes(operand, 0, k);
      return bytes ? add(fixed, i64(bytes >> 4)) : fixed;
    };
    ptx("{ .reg .pred more; setp.ne.b32 more, $4, 0; tcgen05.mma" + ctaGroup() +
            ".kind::" + std::string(kindOf(product.a)) + " [$0], $1, $2, $3, more; }",
        {target, at(da, product.aOperand), at(db, product.bOperand), i32(int32_t(instruction)),
         accumulate},
        "r,l,l,r,r");
    accumulate = i32(1);
  }
  return success();
}

void Lowering::lowerTensorLoad(nv::TensorLoadOp op, const Executing &) {
  View view = viewOf(op.getSource());
  RegisterTile &tile = *registersOf(op.getTarget());
  Value address = add(tensorBases.lookup(view.root), view.offsets[1]);
  // A warp reaches the 32 lanes of its place in the warpgroup.
  Value lanes = mul(andBits(shiftRight(thread, 5), 3), 32 << 16);
  address = add(address, lanes);
  int64_t total = view.shape[1];
  for (int64_t at = 0; at < total;) {
    int64_t count = 1;
    while (count * 2 <= std::min<int64_t>(total - at, 128))
      count *= 2;
    std::string names, constraints;
    for (int64_t i = 0; i < count; ++i) {
      names += (i ? ", $" : "$") + std::to_string(i);
      constraints += "=r,";
    }
    SmallVector<Type> words(count, builder.getI32Type());
    Type type =
        count == 1 ? words[0] : LLVM::LLVMStructType::getLiteral(kernel.getContext(), words);
    auto load = LLVM::InlineAsmOp::create(
        builder, loc, TypeRange(type), ValueRange{add(address, at)},
        "tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(count) + ".b32 {" + names + "}, [$" +
            std::to_string(count) + "];",
        constraints + "r,~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    for (int64_t i = 0; i < count; ++i) {
      Value word =
          count == 1 ? load.getResult(0)
                     : LLVM::ExtractValueOp::create(builder, loc, load.getResult(0), i).getResult();
      if (!tile.element.isInteger(32))
        word = LLVM::BitcastOp::create(builder, loc, tile.element, word);
      writeRegister(tile, at + i, word);
    }
    at += count;
  }
  loading.push_back(&tile);
}

void Lowering::lowerTensorWaitLoad() {
  ptxWithRegisters("tcgen05.wait::ld.sync.aligned;", loading);
  loading.clear();
}

void Lowering::ptxWithRegisters(StringRef text, ArrayRef<RegisterTile *> tiles) {
  SmallVector<Value> values;
  SmallVector<Type> types;
  std::string outputs, inputs;
  for (RegisterTile *tile : tiles)
    for (int64_t reg = 0; reg < tile->registers(); ++reg) {
      inputs += std::to_string(values.size()) + ",";
      outputs += tile->element.isF32() ? "=f," : "=r,";
      values.push_back(readRegister(*tile, reg));
      types.push_back(tile->element);
    }
  if (values.empty()) {
    ptx(text, {}, "");
    return;
  }
  Type type = types.size() == 1
                  ? types[0]
                  : Type(LLVM::LLVMStructType::getLiteral(kernel.getContext(), types));
  auto op = LLVM::InlineAsmOp::create(builder, loc, TypeRange(type), values, text,
                                      outputs + inputs + "~{memory}", /*has_side_effects=*/true,
                                      /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                      LLVM::AsmDialectAttr(), ArrayAttr());
  int64_t next = 0;
  for (RegisterTile *tile : tiles)
    for (int64_t reg = 0; reg < tile->registers(); ++reg, ++next)
      writeRegister(
          *tile, reg,
          types.size() == 1
              ? op.getResult(0)
              : LLVM::ExtractValueOp::create(builder, loc, op.getResult(0), next).getResult());
}

LogicalResult Lowering::lowerWgmma(nv::WgmmaOp op, const Executing &by) {
  nv::Product product = nv::productOf(op.getA(), op.getB(), op.getAcc());
  auto a = layout::wgmmaDescriptor(product.aOperand);
  auto b = layout::wgmmaDescriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  RegisterTile &tile = *registersOf(op.getAcc());
  int64_t groups = by.scope.warps / nv::warpgroupWarps;
  int64_t perGroup = product.m / groups; // rows of one warpgroup
  Value group = arith::DivUIOp::create(
      builder, loc,
      arith::SubIOp::create(builder, loc, shiftRight(thread, 5), i32(by.scope.firstWarp)),
      i32(nv::warpgroupWarps));
  // Rows of A move the start of its descriptor by whole groups of rows.
  int64_t groupBytes = layout::operandStepBytes(product.aOperand, perGroup, 0);
  auto descriptor = [&](Value operand, uint64_t fixed, Value extra) -> Value {
    Value address = sharedAddress(slotOffset(viewOf(operand)));
    if (extra)
      address = add(address, extra);
    Value field = arith::ExtUIOp::create(builder, loc, builder.getI64Type(),
                                         shiftRight(andBits(address, 0x3ffff), 4));
    return arith::OrIOp::create(builder, loc, field, i64(int64_t(fixed)));
  };
  Value da = descriptor(op.getA(), *a, groups > 1 ? mul(group, groupBytes) : Value());
  Value db = descriptor(op.getB(), *b, Value());
  int64_t step = layout::instructionK(product.a), count = tile.registers() / (perGroup / 64);
  std::string shape = "m64n" + std::to_string(product.n) + "k" + std::to_string(step);
  std::string types = std::string(".") + layout::nameOf(product.d) + "." +
                      layout::nameOf(product.a) + "." + layout::nameOf(product.b);
  bool transposable = product.a == layout::MmaType::F16 || product.a == layout::MmaType::BF16;
  bool scales = product.a != layout::MmaType::S8 && product.a != layout::MmaType::U8;
  std::string tail = scales ? ", 1, 1" : "";
  if (transposable)
    tail += std::string(", ") + (product.aOperand.major == layout::Major::MN ? "1" : "0") + ", " +
            (product.bOperand.major == layout::Major::MN ? "1" : "0");
  for (int64_t m = 0; m < perGroup; m += 64) {
    Value accumulate = asI32(op.getAccumulate());
    int64_t firstRegister = m / 64 * count;
    for (int64_t k = 0; k < product.k; k += step) {
      std::string names, outputs, inputs;
      SmallVector<Value> operands;
      for (int64_t i = 0; i < count; ++i) {
        names += (i ? ", $" : "$") + std::to_string(i);
        outputs += tile.element.isF32() ? "=f," : "=r,";
        inputs += std::to_string(i) + ",";
        operands.push_back(readRegister(tile, firstRegister + i));
      }
      auto at = [&](Value fixed, int64_t bytes) {
        return bytes ? add(fixed, i64(bytes >> 4)) : fixed;
      };
      operands.push_back(at(da, layout::operandStepBytes(product.aOperand, m, k)));
      operands.push_back(at(db, layout::operandStepBytes(product.bOperand, 0, k)));
      operands.push_back(accumulate);
      auto operand = [&](int64_t i) { return "$" + std::to_string(2 * count + i); };
      SmallVector<Type> results(count, tile.element);
      auto mma = LLVM::InlineAsmOp::create(
          builder, loc, TypeRange(LLVM::LLVMStructType::getLiteral(kernel.getContext(), results)),
          operands,
          "{ .reg .pred more; setp.ne.b32 more, " + operand(2) +
              ", 0; wgmma.mma_async.sync.aligned." + shape + types + " {" + names + "}, " +
              operand(0) + ", " + operand(1) + ", more" + tail + "; }",
          outputs + inputs + "l,l,r,~{memory}", /*has_side_effects=*/true,
          /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
      for (int64_t i = 0; i < count; ++i)
        writeRegister(tile, firstRegister + i,
                      LLVM::ExtractValueOp::create(builder, loc, mma.getResult(0), i));
      accumulate = i32(1);
    }
  }
  return success();
}
