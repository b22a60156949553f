//===- LowerPrint.cpp - Records of what a kernel prints -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread of those that execute a `print` writes the record of a line; threads
// that hold elements of printed tiles write records of these (PrintRecords.h). No
// thread waits for another one, so that a kernel runs as without its prints.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static Value wordAt(OpBuilder &builder, Location loc, Value from, LLVM::GEPArg at) {
  return LLVM::GEPOp::create(builder, loc, from.getType(), builder.getI64Type(), from,
                             ArrayRef<LLVM::GEPArg>{at});
}

void Lowering::writeRecord(int64_t words, bool isLine, llvm::function_ref<void(Value)> body) {
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext(), 1);
  Value buffer =
      LLVM::IntToPtrOp::create(builder, loc, pointer, parameter(ParameterField::Prints, 0));
  auto count = [&](unsigned counter, int64_t by) -> Value {
    return LLVM::AtomicRMWOp::create(builder, loc, LLVM::AtomicBinOp::add,
                                     wordAt(builder, loc, buffer, int32_t(counter)), i64(by),
                                     LLVM::AtomicOrdering::monotonic, "device");
  };
  Value start = count(PrintBuffer::Taken, words);
  Value capacity = LLVM::LoadOp::create(builder, loc, builder.getI64Type(),
                                        wordAt(builder, loc, buffer, PrintBuffer::Capacity));
  Value fits = cmp(arith::CmpIPredicate::ule, add(start, i64(words)), capacity);
  auto choice = scf::IfOp::create(builder, loc, TypeRange(), fits, /*withElse=*/isLine);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  body(wordAt(builder, loc, wordAt(builder, loc, buffer, start), PrintBuffer::FirstRecord));
  if (isLine) {
    builder.setInsertionPointToStart(choice.elseBlock());
    count(PrintBuffer::Lost, 1);
  }
}

/// A number as records hold it.
Value Lowering::printedWord(Value value) {
  Type type = value.getType();
  if (isa<FloatType>(type)) {
    // There are no conversions from the narrow formats to f64.
    if (type.getIntOrFloatBitWidth() < 32)
      value = converted(value, builder.getF32Type());
    return builder.createOrFold<arith::BitcastOp>(loc, builder.getI64Type(),
                                                  converted(value, builder.getF64Type()));
  }
  if (type.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
  return asI64(value);
}

LogicalResult Lowering::lowerPrint(tile::PrintOp op, const ExecutionScope &by) {
  if (failed(checkReach(op)))
    return failure();
  PrintStatement statement;
  int64_t lineWords = PrintRecord::headerWords;
  StringRef rest = op.getText();
  bool hasParts = false;
  for (Value operand : op.getOperands()) {
    auto [before, after] = rest.split("{}");
    statement.texts.push_back(before.str());
    rest = after;
    PrintStatement::Operand printed;
    Type element = operand.getType();
    if (auto tile = dyn_cast<MemRefType>(element)) {
      element = tile.getElementType();
      printed.shape.assign(tile.getShape().begin(), tile.getShape().end());
      printed.inRegisters = registersOf(operand) != nullptr;
      hasParts |= printed.inRegisters;
      if (printed.inRegisters && by.scope.oneThread)
        return refuse(op, "of a tile in registers by one thread is not supported");
    }
    printed.real = isa<FloatType>(element);
    if (!printed.inRegisters)
      lineWords += int64_t(printed.elements());
    statement.operands.push_back(std::move(printed));
  }
  statement.texts.push_back(rest.str());

  // Threads count executions, so that parts of a line find each other.
  Value execution = i32(0);
  if (hasParts) {
    Value counter;
    {
      OpBuilder::InsertionGuard guard(builder);
      Value one = i32(1), zero = i32(0);
      builder.setInsertionPointAfter(base.getDefiningOp());
      counter = LLVM::AllocaOp::create(
          builder, loc, LLVM::LLVMPointerType::get(kernel.getContext()), builder.getI32Type(), one);
      LLVM::StoreOp::create(builder, loc, zero, counter);
    }
    execution = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), counter);
    LLVM::StoreOp::create(builder, loc, add(execution, 1), counter);
  }
  Value block = ptxValue(builder.getI32Type(), "mov.u32 $0, %ctaid.x;");
  auto halves = [&](Value low, Value high) -> Value {
    auto wide = [&](Value half) -> Value {
      return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), half);
    };
    Value shifted = arith::ShLIOp::create(builder, loc, wide(high), i64(32));
    return arith::OrIOp::create(builder, loc, wide(low), shifted);
  };
  auto write = [&](Value record, LLVM::GEPArg word, Value value) {
    LLVM::StoreOp::create(builder, loc, value, wordAt(builder, loc, record, word));
  };
  auto writeHeader = [&](Value record, int64_t words, uint32_t operand) {
    write(record, 0, halves(i32(words), i32(int64_t(result.prints.size()))));
    write(record, 1, halves(block, thread));
    write(record, 2, halves(i32(operand), execution));
  };
  auto writeMemory = [&](Value record, int64_t word, Value tile) {
    auto shape = cast<MemRefType>(tile.getType()).getShape();
    int64_t elements = cast<MemRefType>(tile.getType()).getNumElements();
    auto loop = scf::ForOp::create(builder, loc, i32(0), i32(elements), i32(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    SmallVector<Value> at(shape.size());
    int64_t weight = 1;
    for (size_t dim = shape.size(); dim-- > 0; weight *= shape[dim])
      at[dim] = asIndex(digitOf(number, weight, shape[dim]));
    write(wordAt(builder, loc, record, int32_t(word)), number, printedWord(loadElement(tile, at)));
  };

  when(by.scope.oneThread ? Value() : by.leader, [&] {
    writeRecord(lineWords, /*isLine=*/true, [&](Value record) {
      writeHeader(record, lineWords, PrintRecord::line);
      int64_t word = PrintRecord::headerWords;
      for (auto [operand, printed] : llvm::zip_equal(op.getOperands(), statement.operands)) {
        if (printed.inRegisters)
          continue;
        if (isa<MemRefType>(operand.getType()))
          writeMemory(record, word, operand);
        else
          write(record, int32_t(word), printedWord(operand));
        word += int64_t(printed.elements());
      }
    });
  });
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    RegisterTile *tile = isa<MemRefType>(operand.getType()) ? registersOf(operand) : nullptr;
    if (!tile)
      continue;
    SmallVector<Value> first = baseOf(tile->layout, by);
    int64_t words = PrintRecord::headerWords + 2 * tile->registers();
    // A thread without the first of its elements has none.
    Value any = holdsElement(tile->layout, first, tile->layout.offsetOf(0));
    when(both(holdsFirstCopy(tile->layout, by), any), [&] {
      writeRecord(words, /*isLine=*/false, [&](Value record) {
        writeHeader(record, words, uint32_t(number));
        for (int64_t reg = 0; reg < tile->registers(); ++reg) {
          auto offset = tile->layout.offsetOf(reg);
          Value index = i32(0);
          for (size_t dim = 0; dim < tile->layout.rank(); ++dim)
            index = add(mul(index, tile->layout.shape[dim]), add(first[dim], offset[dim]));
          Value known = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), index);
          if (Value held = holdsElement(tile->layout, first, offset))
            known = arith::SelectOp::create(builder, loc, held, known, i64(-1));
          auto word = int32_t(PrintRecord::headerWords + 2 * reg);
          write(record, word, known);
          write(record, word + 1, printedWord(fromStored(readRegister(*tile, reg), tile->type)));
        }
      });
    });
  }
  result.prints.push_back(std::move(statement));
  return success();
}
