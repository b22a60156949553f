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

/// Names the element types of a product as the instructions do.
static const char *kindOf(layout::MmaType type) {
  switch (type) {
  case layout::MmaType::F16:
  case layout::MmaType::BF16:
    return "f16";
  case layout::MmaType::TF32:
    return "tf32";
  case layout::MmaType::E4M3:
  case layout::MmaType::E5M2:
  case layout::MmaType::E2M3:
  case layout::MmaType::E3M2:
  case layout::MmaType::E2M1:
    return "f8f6f4";
  case layout::MmaType::S8:
  case layout::MmaType::U8:
  case layout::MmaType::E2M1x2: // has scales
    break;
  }
  return "i8";
}

/// The same of products with scales, and the number of values that share one.
static std::string scaledKindOf(const nv::Product &product) {
  if (product.a != layout::MmaType::E2M1x2)
    return "mxf8f6f4.block_scale.scale_vec::1X";
  return product.scaleBlock == 16 ? "mxf4nvf4.block_scale.scale_vec::4X"
                                  : "mxf4.block_scale.scale_vec::2X";
}

/// Descriptors count addresses in units of 16 bytes.
constexpr int64_t descriptorUnit = 16;

Value Lowering::descriptorStart(Value tile, uint64_t fixed, Value extraUnits) {
  auto low = uint32_t(fixed);
  Value &start = descriptorBases[low];
  if (!start) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(base32);
    // Of a cluster's blocks, addresses have a rank above these bits. LLVM would take the sum
    // apart and add its constants in every iteration.
    start = ptxValue(builder.getI32Type(), "add.s32 $0, $1, " + std::to_string(low) + ";",
                     {shiftRight(andBits(base32, 0x3ffff), 4)});
  }
  // A sum of units, instead of bytes that are divided, takes one instruction in a loop.
  Value first = add(start, engineOffset(viewOf(tile), descriptorUnit));
  return extraUnits ? add(first, extraUnits) : first;
}

/// Columns between the parts of a tile in tensor memory.
static int64_t columnsOfPart(Value tile) {
  auto type = cast<MemRefType>(tile::rootOf(tile).getType());
  return type.getDimSize(1) * type.getElementTypeBitWidth() / 32;
}

/// The high word of a descriptor, as text.
static std::string highWord(uint64_t fixed) { return std::to_string(fixed >> 32); }

Value Lowering::matrixDescriptor(Value start, uint64_t fixed) {
  // Opaque to LLVM, which would add the constants of a sum to both words.
  return ptxValue(builder.getI64Type(), "mov.b64 $0, {$1, " + highWord(fixed) + "};", {start});
}

/// A descriptor, moved by bytes.
static int64_t descriptorStep(int64_t bytes) { return bytes / descriptorUnit; }

Value Lowering::tensorAddress(Value tile) {
  View view = viewOf(tile);
  int64_t elementsOfCell = 32 / cast<MemRefType>(tile.getType()).getElementTypeBitWidth();
  Value column = builder.createOrFold<arith::DivUIOp>(loc, view.offsets[1], i32(elementsOfCell));
  return add(tensorBases.lookup(view.root), column);
}

Value Lowering::ownLanes(Value tile, int64_t columns, const ExecutionScope &by) {
  // A warp reaches the 32 lanes of its place in the warpgroup.
  Value first = add(tensorAddress(tile), mul(andBits(shiftRight(thread, 5), 3), 32 << 16));
  if (by.scope.warps == nv::warpgroupWarps)
    return first;
  Value group = arith::SubIOp::create(builder, loc, shiftRight(thread, 7),
                                      i32(by.scope.firstWarp / nv::warpgroupWarps));
  int64_t parts = nv::tensorParts(cast<MemRefType>(tile.getType()));
  if (parts == 1)
    return add(first, mul(group, columns));
  // Warpgroups of one part after the other share columns.
  first = add(first, mul(andBits(group, parts - 1), columnsOfPart(tile)));
  return add(first, mul(shiftRight(group, llvm::Log2_64(uint64_t(parts))), columns));
}

LogicalResult Lowering::lowerScaledMma(nv::TensorMmaOp op) {
  auto scaleType = cast<MemRefType>(op.getScaleA().getType());
  nv::Product product =
      nv::scaledProductOf(op.getA(), op.getB(), op.getAcc(),
                          {scaleType.getElementType(), op.getPackingA(), op.getPackingB()});
  auto a = layout::tcgen05Descriptor(product.aOperand);
  auto b = layout::tcgen05Descriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  int64_t parts = nv::tensorParts(cast<MemRefType>(op.getAcc().getType()));
  Value da = descriptorStart(op.getA(), *a), db = descriptorStart(op.getB(), *b);
  Value target = tensorAddress(op.getAcc());
  Value scalesA = tensorBases.lookup(op.getScaleA()), scalesB = tensorBases.lookup(op.getScaleB());
  int64_t step = layout::instructionK(product.a);
  int64_t valuesOfStep = product.a == layout::MmaType::E2M1x2 ? 2 * step : step;
  int64_t scalesOfStep = valuesOfStep / product.scaleBlock;
  // The 128 rows of a tile of scales take four columns; a word holds the scales of four blocks.
  constexpr int64_t columnsOfRows = 4, scalesOfWord = 4;
  int64_t rowsB = cast<MemRefType>(op.getScaleB().getType()).getDimSize(0);
  auto multiply = [&](int64_t part) {
    Value accumulate = asI32(op.getAccumulate());
    for (int64_t k = 0; k < product.k; k += step) {
      auto at = [&](Value start, const layout::MatrixOperand &operand, int64_t row) {
        return add(start, descriptorStep(layout::operandStepBytes(operand, row, k)));
      };
      int64_t first = k / step * scalesOfStep, group = first / scalesOfWord;
      layout::ScaleFields fields;
      fields.powers = isa<Float8E8M0FNUType>(scaleType.getElementType());
      fields.aByte = fields.bByte = int(first % scalesOfWord);
      uint32_t instruction = layout::tcgen05ScaledDescriptor(
          {product.a, product.b, product.d, int(product.m / parts), int(product.n),
           product.aOperand.major, product.bOperand.major},
          fields);
      ptx("{ .reg .pred more; .reg .b64 a, b; setp.ne.b32 more, $6, 0; mov.b64 a, {$1, " +
              highWord(*a) + "}; mov.b64 b, {$2, " + highWord(*b) + "}; @issuer tcgen05.mma" +
              ctaGroup() + ".kind::" + scaledKindOf(product) +
              " [$0], a, b, $3, [$4], [$5], more; }",
          {add(target, part * columnsOfPart(op.getAcc())),
           at(da, product.aOperand, part * nv::tensorLanes), at(db, product.bOperand, 0),
           i32(int32_t(instruction)),
           add(scalesA, columnsOfRows * (group * scaleType.getDimSize(0) + part)),
           add(scalesB, columnsOfRows * group * rowsB), accumulate});
      accumulate = i32(1);
    }
  };
  for (int64_t part = 0; part < parts; ++part)
    if (op.getPart().value_or(uint64_t(part)) == uint64_t(part))
      multiply(part);
  return success();
}

LogicalResult Lowering::lowerTensorMma(nv::TensorMmaOp op, const ExecutionScope &) {
  if (op.getScaleA())
    return lowerScaledMma(op);
  nv::Product product = nv::productOf(op.getA(), op.getB(), op.getAcc(), pair);
  bool inTensorMemory = tensorBases.count(tile::rootOf(op.getA()));
  auto a =
      inTensorMemory ? std::optional<uint64_t>(0) : layout::tcgen05Descriptor(product.aOperand);
  auto b = layout::tcgen05Descriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  int64_t parts = pair ? 1 : nv::tensorParts(cast<MemRefType>(op.getAcc().getType()));
  uint32_t instruction = layout::tcgen05InstructionDescriptor(
      {product.a, product.b, product.d, int(product.m / parts), int(product.n),
       product.aOperand.major, product.bOperand.major});
  Value da = inTensorMemory ? tensorAddress(op.getA()) : descriptorStart(op.getA(), *a);
  Value db = descriptorStart(op.getB(), *b);
  Value target = tensorAddress(op.getAcc());
  int64_t step = layout::instructionK(product.a);
  int64_t bits = cast<MemRefType>(op.getA().getType()).getElementTypeBitWidth();
  auto multiply = [&](int64_t part) {
    Value accumulate = asI32(op.getAccumulate());
    for (int64_t k = 0; k < product.k; k += step) {
      auto at = [&](Value start, const layout::MatrixOperand &operand, int64_t row) {
        return add(start, descriptorStep(layout::operandStepBytes(operand, row, k)));
      };
      Value left = inTensorMemory ? add(da, part * columnsOfPart(op.getA()) + k * bits / 32)
                                  : at(da, product.aOperand, part * nv::tensorLanes);
      // Descriptors are joined here from two words: each is then one instruction and a constant.
      std::string join = inTensorMemory ? "" : "mov.b64 a, {$1, " + highWord(*a) + "}; ";
      ptx("{ .reg .pred more; .reg .b64 a, b; setp.ne.b32 more, $4, 0; " + join +
              "mov.b64 b, {$2, " + highWord(*b) + "}; @issuer tcgen05.mma" + ctaGroup() +
              ".kind::" + std::string(kindOf(product.a)) + " [$0], " +
              (inTensorMemory ? "[$1]" : "a") + ", b, $3, more; }",
          {add(target, part * columnsOfPart(op.getAcc())), left, at(db, product.bOperand, 0),
           i32(int32_t(instruction)), accumulate});
      accumulate = i32(1);
    }
  };
  for (int64_t part = 0; part < parts; ++part)
    if (op.getPart().value_or(uint64_t(part)) == uint64_t(part))
      multiply(part);
  return success();
}

/// Returns the largest power of two of \p registers that one tcgen05.ld or st moves. Each moves
/// neighboring registers: the assembler finds no room for many.
static int64_t registersAtOnce(int64_t registers) {
  constexpr int64_t most = 32;
  int64_t count = 1;
  while (count * 2 <= std::min(registers, most))
    count *= 2;
  return count;
}

namespace {

/// Access of threads to a tile in tensor memory. Of 128 rows, each has one, with a register
/// for each column; of 64 rows, a warp has 16, with four registers for eight columns.
struct Reach {
  explicit Reach(Value cells) : few(cast<MemRefType>(cells.getType()).getDimSize(0) == 64) {}

  /// Returns the shape and repetitions of an instruction that moves \p registers.
  std::string shape(int64_t registers) const {
    return few ? "16x256b.x" + std::to_string(registers / 4)
               : "32x32b.x" + std::to_string(registers);
  }
  int64_t columns(int64_t registers) const { return few ? 2 * registers : registers; }

  bool few;
};

} // namespace

/// "{$0, $1}" for operands from \p first on.
static std::string operandList(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

void Lowering::lowerTensorLoad(nv::TensorLoadOp op, const ExecutionScope &by) {
  RegisterTile &tile = *registersOf(op.getTarget());
  Reach reach(op.getSource());
  int64_t total = words(tile);
  Value address = ownLanes(op.getSource(), reach.columns(total), by);
  for (int64_t at = 0, count; at < total; at += count) {
    count = registersAtOnce(total - at);
    InlinePtx load = inlinePtx();
    for (int64_t i = 0; i < count; ++i)
      load.output(builder.getI32Type());
    SmallVector<Value> loaded =
        load.input(add(address, reach.columns(at)))
            .emit("tcgen05.ld.sync.aligned." + reach.shape(count) + ".b32 " +
                      operandList(0, count) + ", [$" + std::to_string(count) + "];",
                  PtxEffects::Memory);
    for (int64_t i = 0; i < count; ++i)
      writeWord(tile, at + i, loaded[size_t(i)]);
  }
  loading.push_back(&tile);
}

void Lowering::lowerTensorStore(nv::TensorStoreOp op, const ExecutionScope &by) {
  RegisterTile &tile = *registersOf(op.getSource());
  Reach reach(op.getTarget());
  int64_t total = words(tile);
  Value address = ownLanes(op.getTarget(), reach.columns(total), by);
  for (int64_t at = 0, count; at < total; at += count) {
    count = registersAtOnce(total - at);
    SmallVector<Value> operands = {add(address, reach.columns(at))};
    for (int64_t i = 0; i < count; ++i) {
      Value word = readWord(tile, at + i);
      if (!word.getType().isInteger(32))
        word = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), word);
      operands.push_back(word);
    }
    ptx("tcgen05.st.sync.aligned." + reach.shape(count) + ".b32 [$0], " + operandList(1, count) +
            ";",
        operands);
  }
}

/// Copies 128 rows and 4 blocks of k at a time: 512 bytes to four columns. Those of one block of k
/// lie side by side, so that an instruction finds all of its rows.
void Lowering::lowerScalesCopy(nv::TensorCopyOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  constexpr int64_t bytes = 512, columns = 4;
  uint64_t fixed = layout::scalesDescriptor();
  Value from = descriptorStart(op.getSource(), fixed);
  Value to = tensorBases.lookup(op.getTarget());
  int64_t rows = type.getDimSize(0), blocks = type.getDimSize(1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block)
      ptx("{ .reg .b64 from; mov.b64 from, {$1, " + highWord(fixed) + "}; @issuer tcgen05.cp" +
              ctaGroup() + ".32x128b.warpx4 [$0], from; }",
          {add(to, columns * (block * rows + row)),
           add(from, descriptorStep(bytes * (row * blocks + block)))});
}

LogicalResult Lowering::lowerTensorCopy(nv::TensorCopyOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  if (nv::isScales(type)) {
    lowerScalesCopy(op);
    return success();
  }
  layout::MatrixOperand operand{*nv::sharedLayoutOf(type), layout::Major::K};
  auto fixed = layout::tcgen05Descriptor(operand);
  if (!fixed)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(op.getSource());
  Value from = matrixDescriptor(descriptorStart(op.getSource(), *fixed), *fixed);
  Value to = tensorAddress(op.getTarget());
  constexpr int64_t bitsAtOnce = 256;
  int64_t bits = type.getElementTypeBitWidth();
  for (int64_t col = 0; col < type.getDimSize(1); col += bitsAtOnce / bits) {
    int64_t bytes = layout::operandStepBytes(operand, 0, col);
    ptx("tcgen05.cp" + ctaGroup() + ".128x256b [$0], $1;",
        {add(to, col * bits / 32), bytes ? add(from, i64(descriptorStep(bytes))) : from});
  }
  return success();
}

void Lowering::lowerTensorWaitLoad() {
  ptxWithRegisters("tcgen05.wait::ld.sync.aligned;", loading);
  loading.clear();
}

void Lowering::ptxWithRegisters(StringRef text, ArrayRef<RegisterTile *> tiles) {
  InlinePtx statement = inlinePtx();
  for (RegisterTile *tile : tiles)
    for (int64_t word = 0; word < words(*tile); ++word)
      statement.inOut(readWord(*tile, word));
  SmallVector<Value> values = statement.emit(text, PtxEffects::Memory);
  size_t next = 0;
  for (RegisterTile *tile : tiles)
    for (int64_t word = 0; word < words(*tile); ++word)
      writeWord(*tile, word, values[next++]);
}

/// Left operands in registers are part of what a fence orders: those of the
/// products behind it, up to the next fence.
void Lowering::lowerWgmmaFence(nv::WgmmaFenceOp op) {
  SmallVector<RegisterTile *> tiles = accumulators;
  for (Operation *next = op->getNextNode(); next && !isa<nv::WgmmaFenceOp>(next);
       next = next->getNextNode())
    next->walk([&](nv::WgmmaOp product) {
      RegisterTile *tile = registersOf(product.getA());
      if (tile && !llvm::is_contained(tiles, tile))
        tiles.push_back(tile);
    });
  ptxWithRegisters("wgmma.fence.sync.aligned;", tiles);
}

Value Lowering::warpgroupOf(Operation *scope, int64_t firstWarp, int64_t warps) {
  bool asked = false;
  scope->walk([&](Operation *op) {
    if (!isa<nv::WgmmaOp, nv::WarpgroupOp>(op))
      return;
    auto role = op->getParentOfType<nv::WarpsOp>();
    asked |= role ? role == scope : isa<func::FuncOp>(scope);
  });
  if (!asked || warps <= nv::warpgroupWarps)
    return {};
  // Taken from one lane, the assembler knows that all have the same number, and addresses of
  // operands stay in uniform registers.
  Value warp = arith::SubIOp::create(builder, loc, shiftRight(thread, 5), i32(firstWarp));
  Value same = ptxValue(builder.getI32Type(), "shfl.sync.idx.b32 $0, $1, 0, 31, 0xffffffff;",
                        {shiftRight(warp, 2)});
  return same;
}

LogicalResult Lowering::lowerWgmma(nv::WgmmaOp op, const ExecutionScope &by) {
  nv::Product product = nv::productOf(op.getA(), op.getB(), op.getAcc());
  RegisterTile *left = registersOf(op.getA());
  auto a = left ? std::optional<uint64_t>(0) : layout::wgmmaDescriptor(product.aOperand);
  auto b = layout::wgmmaDescriptor(product.bOperand);
  if (!a || !b)
    return tile::emitCoded(op, HardwareShape)
           << "no descriptor describes " << tile::describe(a ? op.getB() : op.getA());
  RegisterTile &tile = *registersOf(op.getAcc());
  int64_t groups = by.scope.warps / nv::warpgroupWarps;
  int64_t perGroup = product.m / groups; // rows of one warpgroup
  // Rows of A move the start of its descriptor by whole groups of rows.
  Value da;
  if (!left) {
    int64_t groupBytes = layout::operandStepBytes(product.aOperand, perGroup, 0);
    Value group = groups > 1 ? mul(by.group, descriptorStep(groupBytes)) : Value();
    da = descriptorStart(op.getA(), *a, group);
  }
  Value db = descriptorStart(op.getB(), *b);
  // Of a tile that loops do not move, the assembler computes descriptors where they are used,
  // which takes two instructions from words; of others it takes one to add to both.
  auto descriptor = [&](Value tile, Value start, uint64_t fixed, int64_t bytes) -> Value {
    int64_t units = descriptorStep(bytes);
    if (cast<MemRefType>(tile::rootOf(tile).getType()).getRank() == 2)
      return matrixDescriptor(add(start, units), fixed);
    Value first = matrixDescriptor(start, fixed);
    return units ? add(first, i64(units)) : first;
  };
  int64_t step = layout::instructionK(product.a), count = tile.registers() / (perGroup / 64);
  std::string shape = "m64n" + std::to_string(product.n) + "k" + std::to_string(step);
  std::string types = std::string(".") + layout::nameOf(product.d) + "." +
                      layout::nameOf(product.a) + "." + layout::nameOf(product.b);
  bool transposable = product.a == layout::MmaType::F16 || product.a == layout::MmaType::BF16;
  bool scales = product.a != layout::MmaType::S8 && product.a != layout::MmaType::U8;
  std::string tail = scales ? ", 1, 1" : "";
  auto order = [](const layout::MatrixOperand &operand) {
    return operand.major == layout::Major::MN ? ", 1" : ", 0";
  };
  if (transposable)
    tail += std::string(left ? "" : order(product.aOperand)) + order(product.bOperand);
  // One instruction takes four registers of a left operand that lies there.
  constexpr int64_t leftWords = 4;
  int64_t leftOfGroup = left ? words(*left) / (perGroup / 64) : 0;
  Value accumulate = asI32(op.getAccumulate());
  for (int64_t m = 0; m < perGroup; m += 64) {
    // All steps in one statement: LLVM would take each register apart between two of them.
    int64_t firstRegister = m / 64 * count;
    InlinePtx mma = inlinePtx();
    for (int64_t i = 0; i < count; ++i)
      mma.earlyInOut(readRegister(tile, firstRegister + i));
    int64_t next = 2 * count; // both as outputs and as inputs
    mma.input(accumulate);
    std::string text = "{ .reg .pred more, always; setp.ne.b32 more, $" + std::to_string(next++) +
                       ", 0; setp.eq.b32 always, 0, 0;";
    for (int64_t k = 0; k < product.k; k += step) {
      std::string leftNames;
      if (left) {
        leftNames = operandList(next, leftWords);
        next += leftWords;
        for (int64_t i = 0; i < leftWords; ++i)
          mma.input(readWord(*left, m / 64 * leftOfGroup + k / step * leftWords + i));
      } else {
        leftNames = "$" + std::to_string(next++);
        mma.input(descriptor(op.getA(), da, *a, layout::operandStepBytes(product.aOperand, m, k)));
      }
      mma.input(descriptor(op.getB(), db, *b, layout::operandStepBytes(product.bOperand, 0, k)));
      text += " wgmma.mma_async.sync.aligned." + shape + types + " " + operandList(0, count) +
              ", " + leftNames + ", $" + std::to_string(next++) + (k ? ", always" : ", more") +
              tail + ";";
    }
    SmallVector<Value> sums = mma.emit(text + " }", PtxEffects::Memory);
    for (int64_t i = 0; i < count; ++i)
      writeRegister(tile, firstRegister + i, sums[size_t(i)]);
  }
  return success();
}
