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
#include "Target/NVPTX/Operations/LowerElements.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static Value wordAt(LoweringContext &c, Value from, LLVM::GEPArg at) {
  return LLVM::GEPOp::create(c.builder, c.loc, from.getType(), c.builder.getI64Type(), from,
                             ArrayRef<LLVM::GEPArg>{at});
}

/// Reserves a record and calls \p body with its address; counts a line that does not
/// fit as lost.
static void writeRecord(LoweringContext &c, int64_t words, bool isLine,
                        llvm::function_ref<void(Value)> body) {
  auto pointer = LLVM::LLVMPointerType::get(c.kernel.getContext(), 1);
  Value buffer =
      LLVM::IntToPtrOp::create(c.builder, c.loc, pointer, parameter(c, ParameterField::Prints, 0));
  auto count = [&](unsigned counter, int64_t by) -> Value {
    return LLVM::AtomicRMWOp::create(c.builder, c.loc, LLVM::AtomicBinOp::add,
                                     wordAt(c, buffer, int32_t(counter)), c.i64(by),
                                     LLVM::AtomicOrdering::monotonic, "device");
  };
  Value start = count(PrintBuffer::Taken, words);
  Value capacity = LLVM::LoadOp::create(c.builder, c.loc, c.builder.getI64Type(),
                                        wordAt(c, buffer, PrintBuffer::Capacity));
  Value fits = c.cmp(arith::CmpIPredicate::ule, c.add(start, c.i64(words)), capacity);
  auto choice = scf::IfOp::create(c.builder, c.loc, TypeRange(), fits, /*withElse=*/isLine);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(choice.thenBlock());
  body(wordAt(c, wordAt(c, buffer, start), PrintBuffer::FirstRecord));
  if (isLine) {
    c.builder.setInsertionPointToStart(choice.elseBlock());
    count(PrintBuffer::Lost, 1);
  }
}

/// A number as records hold it.
static Value printedWord(LoweringContext &c, Value value) {
  Type type = value.getType();
  if (isa<FloatType>(type)) {
    // There are no conversions from the narrow formats to f64.
    if (type.getIntOrFloatBitWidth() < 32)
      value = converted(c, value, c.builder.getF32Type());
    return c.builder.createOrFold<arith::BitcastOp>(c.loc, c.builder.getI64Type(),
                                                    converted(c, value, c.builder.getF64Type()));
  }
  if (type.isInteger(1))
    return arith::ExtUIOp::create(c.builder, c.loc, c.builder.getI64Type(), value);
  return c.asI64(value);
}

static LogicalResult lowerPrint(LoweringContext &c, tile::PrintOp op, const ExecutionScope &by) {
  if (failed(c.checkReach(op)))
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
      printed.inRegisters = registersOf(c, operand) != nullptr;
      hasParts |= printed.inRegisters;
      if (printed.inRegisters && by.scope.oneThread)
        return c.refuse(op, "of a tile in registers by one thread is not supported");
    }
    printed.real = isa<FloatType>(element);
    if (!printed.inRegisters)
      lineWords += int64_t(printed.elements());
    statement.operands.push_back(std::move(printed));
  }
  statement.texts.push_back(rest.str());

  // Threads count executions, so that parts of a line find each other.
  Value execution = c.i32(0);
  if (hasParts) {
    Value counter;
    {
      OpBuilder::InsertionGuard guard(c.builder);
      Value one = c.i32(1), zero = c.i32(0);
      c.builder.setInsertionPointAfter(c.shared.base.getDefiningOp());
      counter = LLVM::AllocaOp::create(c.builder, c.loc,
                                       LLVM::LLVMPointerType::get(c.kernel.getContext()),
                                       c.builder.getI32Type(), one);
      LLVM::StoreOp::create(c.builder, c.loc, zero, counter);
    }
    execution = LLVM::LoadOp::create(c.builder, c.loc, c.builder.getI32Type(), counter);
    LLVM::StoreOp::create(c.builder, c.loc, c.add(execution, 1), counter);
  }
  Value block = c.ptxValue(c.builder.getI32Type(), "mov.u32 $0, %ctaid.x;");
  auto halves = [&](Value low, Value high) -> Value {
    auto wide = [&](Value half) -> Value {
      return arith::ExtUIOp::create(c.builder, c.loc, c.builder.getI64Type(), half);
    };
    Value shifted = arith::ShLIOp::create(c.builder, c.loc, wide(high), c.i64(32));
    return arith::OrIOp::create(c.builder, c.loc, wide(low), shifted);
  };
  auto write = [&](Value record, LLVM::GEPArg word, Value value) {
    LLVM::StoreOp::create(c.builder, c.loc, value, wordAt(c, record, word));
  };
  auto writeHeader = [&](Value record, int64_t words, uint32_t operand) {
    write(record, 0, halves(c.i32(words), c.i32(int64_t(c.result.prints.size()))));
    write(record, 1, halves(block, c.thread));
    write(record, 2, halves(c.i32(operand), execution));
  };
  auto writeMemory = [&](Value record, int64_t word, Value tile) {
    auto shape = cast<MemRefType>(tile.getType()).getShape();
    int64_t elements = cast<MemRefType>(tile.getType()).getNumElements();
    auto loop = scf::ForOp::create(c.builder, c.loc, c.i32(0), c.i32(elements), c.i32(1));
    OpBuilder::InsertionGuard guard(c.builder);
    c.builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    SmallVector<Value> at(shape.size());
    int64_t weight = 1;
    for (size_t dim = shape.size(); dim-- > 0; weight *= shape[dim])
      at[dim] = c.asIndex(c.digitOf(number, weight, shape[dim]));
    write(wordAt(c, record, int32_t(word)), number, printedWord(c, loadElement(c, tile, at, at)));
  };

  c.when(by.scope.oneThread ? Value() : by.leader, [&] {
    writeRecord(c, lineWords, /*isLine=*/true, [&](Value record) {
      writeHeader(record, lineWords, PrintRecord::line);
      int64_t word = PrintRecord::headerWords;
      for (auto [operand, printed] : llvm::zip_equal(op.getOperands(), statement.operands)) {
        if (printed.inRegisters)
          continue;
        if (isa<MemRefType>(operand.getType()))
          writeMemory(record, word, operand);
        else
          write(record, int32_t(word), printedWord(c, operand));
        word += int64_t(printed.elements());
      }
    });
  });
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    RegisterTile *tile = isa<MemRefType>(operand.getType()) ? registersOf(c, operand) : nullptr;
    if (!tile)
      continue;
    SmallVector<Value> first = baseOf(c, tile->layout, by);
    int64_t words = PrintRecord::headerWords + 2 * tile->registers();
    // A thread without the first of its elements has none.
    Value any = holdsElement(c, tile->layout, first, tile->layout.offsetOf(0));
    c.when(c.both(holdsFirstCopy(c, tile->layout, by), any), [&] {
      writeRecord(c, words, /*isLine=*/false, [&](Value record) {
        writeHeader(record, words, uint32_t(number));
        for (int64_t reg = 0; reg < tile->registers(); ++reg) {
          auto offset = tile->layout.offsetOf(reg);
          Value index = c.i32(0);
          for (size_t dim = 0; dim < tile->layout.rank(); ++dim)
            index = c.add(c.mul(index, tile->layout.shape[dim]), c.add(first[dim], offset[dim]));
          Value known = arith::ExtUIOp::create(c.builder, c.loc, c.builder.getI64Type(), index);
          if (Value held = holdsElement(c, tile->layout, first, offset))
            known = arith::SelectOp::create(c.builder, c.loc, held, known, c.i64(-1));
          auto word = int32_t(PrintRecord::headerWords + 2 * reg);
          write(record, word, known);
          write(record, word + 1,
                printedWord(c, fromStored(c, readRegister(c, *tile, reg), tile->type)));
        }
      });
    });
  }
  c.result.prints.push_back(std::move(statement));
  return success();
}

void nvptx::addPrint(LoweringTable &table) { table.add<lowerPrint>(); }
