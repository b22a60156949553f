//===- InterpretTileElements.cpp - The tile dialect's other operations ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grid, single elements, statements and waits, and looking inside.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Interpreter/Models.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace penstock::tile;

namespace penstock::interpreter {

//===----------------------------------------------------------------------===//
// The grid and scalars
//===----------------------------------------------------------------------===//

static void execute(GridOp op, Frame &frame) {
  for (auto [result, coordinate] : llvm::zip_equal(op.getCoordinates(), frame.launch.block))
    frame.setInteger(result, coordinate);
}

static void execute(DivModOp op, Frame &frame) {
  int64_t a = frame.integer(op.getDividend());
  int64_t b = frame.integer(op.getDivisor());
  // As / and %.
  bool overflows = b == -1 && a == std::numeric_limits<int64_t>::min();
  bool fits = b != 0 && !overflows;
  if (!fits)
    frame.launch.fault(op, FaultDivision,
                       overflows ? "the quotient of " + std::to_string(a) +
                                       " and -1 does not fit into 64 bits"
                                 : std::string("division by zero"));
  frame.setInteger(op.getQuotient(), fits ? a / b : 0);
  frame.setInteger(op.getRemainder(), fits ? a % b : 0);
}

static void execute(BindOp op, Frame &frame) {
  frame.set(op.getResult(), frame.scalar(op.getValue()));
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

static void execute(LoadOp op, Frame &frame) {
  View view = frame.view(op.getSource());
  Indices index = frame.integers(op.getIndices());
  uint64_t bits = 0;
  if (frame.inside(op, op.getSource(), view, index))
    bits = frame.read(op, op.getSource(), view, index);
  frame.set(op.getResult(), decode(view.element, bits));
}

static void execute(StoreOp op, Frame &frame) {
  View view = frame.view(op.getTarget());
  Indices index = frame.integers(op.getIndices());
  if (frame.inside(op, op.getTarget(), view, index))
    frame.write(op, op.getTarget(), view, index, encode(view.element, frame.scalar(op.getValue())));
}

static Scalar combine(AtomicKind kind, Element element, Scalar old, Scalar value) {
  switch (kind) {
  case AtomicKind::Add:
    return sum(element, old, value);
  case AtomicKind::Max:
    return greater(element, old, value);
  case AtomicKind::Min:
    return lesser(element, old, value);
  case AtomicKind::Exchange:
    return value;
  }
  return value;
}

static void execute(AtomicOp op, Frame &frame) {
  View view = frame.view(op.getTarget());
  Indices index = frame.integers(op.getIndices());
  Scalar old;
  if (frame.inside(op, op.getTarget(), view, index)) {
    old = decode(view.element, frame.read(op, op.getTarget(), view, index, AccessKind::Atomic));
    Scalar updated = combine(op.getKind(), view.element, old, frame.scalar(op.getValue()));
    frame.write(op, op.getTarget(), view, view.linearIndex(index), encode(view.element, updated),
                AccessKind::Atomic);
  }
  frame.set(op.getOld(), old);
}

/// In index order; in an order of the seed's choosing under Random, to show
/// bodies that depend on each other.
static void execute(ParallelOp op, Frame &frame) {
  ArrayRef<int64_t> extents = op.getExtents();
  int64_t total = ShapedType::getNumElements(extents);
  if (!frame.launch.charge(op, total))
    return;
  SmallVector<uint32_t, 0> order(total);
  std::iota(order.begin(), order.end(), 0);
  if (frame.launch.options.completion == Completion::Random)
    for (size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[frame.random.below(left)]);
  Block &body = op.getBody().front();
  frame.bodyOf = [&](uint64_t number) {
    Indices index(extents.size());
    int64_t rest = order[number];
    for (size_t dim = extents.size(); dim-- > 0; rest /= extents[dim])
      index[dim] = rest % extents[dim];
    return index;
  };
  if (total > 1)
    frame.races.beginParallel();
  for (size_t number = 0; number < order.size(); ++number) {
    frame.races.beginBody();
    for (auto [argument, index] : llvm::zip_equal(body.getArguments(), frame.bodyOf(number)))
      frame.setInteger(argument, index);
    if (!frame.run(body))
      return;
  }
  frame.races.endParallel();
}

//===----------------------------------------------------------------------===//
// Statements, waits, looking inside
//===----------------------------------------------------------------------===//

static void execute(StatementOp op, Frame &frame) { frame.run(op.getBody().front()); }

static void execute(WaitOp op, Frame &frame) {
  frame.async.wait(op.getNames(), op.getLag(), frame.tagOf(op));
}

// The kernels of a stream run one after the other.
static void execute(WaitForPreviousOp, Frame &) {}
static void execute(LaunchDependentsOp, Frame &) {}

static std::string format(Element element, Scalar value) {
  if (element == Element::i1)
    return value.integer ? "1" : "0";
  if (!isFloat(element))
    return std::to_string(value.integer);
  if (std::isnan(value.real)) // printf shows its sign on some machines
    return "nan";
  char text[64];
  std::snprintf(text, sizeof text, "%g", value.real);
  return text;
}

/// A tile as nested brackets.
static std::string format(PrintOp op, Frame &frame, Value memref) {
  View view = frame.view(memref);
  std::string text;
  forEachIndex(view.sizes, [&](ArrayRef<int64_t> index) {
    // Brackets open where indices start over, and close where they end.
    size_t rank = index.size(), opening = 0, closing = 0;
    while (opening < rank && index[rank - 1 - opening] == 0)
      ++opening;
    while (closing < rank && index[rank - 1 - closing] == view.sizes[rank - 1 - closing] - 1)
      ++closing;
    if (!text.empty())
      text += ", ";
    text.append(opening, '[');
    text += format(view.element, decode(view.element, frame.read(op, memref, view, index)));
    text.append(closing, ']');
  });
  return text;
}

static void execute(PrintOp op, Frame &frame) {
  std::string line;
  StringRef text = op.getText();
  for (Value operand : op.getOperands()) {
    auto [before, after] = text.split("{}");
    line += before;
    text = after;
    if (isa<MemRefType>(operand.getType())) {
      if (!frame.launch.charge(op, frame.view(operand).numElements()))
        return;
      line += format(op, frame, operand);
    } else {
      line += format(elementOf(operand.getType()), frame.scalar(operand));
    }
  }
  line += text;
  line += "\n";
  if (frame.launch.options.print)
    frame.launch.options.print(line);
  else
    std::fwrite(line.data(), 1, line.size(), stdout);
}

static void execute(AssertOp op, Frame &frame) {
  if (!frame.isTrue(op.getCondition()))
    frame.launch.fault(op, FaultAssert,
                       op.getMessage().empty() ? std::string("an assertion failed")
                                               : "assertion failed: " + op.getMessage().str());
}

void addTileElementModels(DialectRegistry &registry) {
  addModels<TileDialect, GridOp, DivModOp, BindOp, LoadOp, StoreOp, AtomicOp, ParallelOp,
            StatementOp, WaitOp, WaitForPreviousOp, LaunchDependentsOp, PrintOp, AssertOp>(
      registry);
}

} // namespace penstock::interpreter
