//===- Frame.cpp - The state of a block while it runs ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Frame.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

#include "Interpreter/InterpreterInterface.cpp.inc"

namespace penstock::interpreter {

Frame::Frame(Launch &launch)
    : launch(launch), async(launch.options.completion, random), random(0) {}

void Frame::begin(uint64_t number, ArrayRef<int64_t> coordinates) {
  launch.block.assign(coordinates.begin(), coordinates.end());
  iterations.clear();
  // Each block has a sequence of its own, so that its behaviour does not depend
  // on how many blocks ran before it.
  random = Random(Random(launch.options.seed).next() ^ number);
}

Indices Frame::integers(ValueRange values) const {
  Indices result;
  for (Value value : values)
    result.push_back(integer(value));
  return result;
}

Storage &Frame::allocate(Operation *alloc, Element element, int64_t elements) {
  std::unique_ptr<Storage> &storage = tiles[alloc];
  if (!storage)
    storage = std::make_unique<Storage>();
  storage->reset(element, elements);
  return *storage;
}

static std::string inBrackets(ArrayRef<int64_t> index) {
  std::string text;
  for (int64_t i : index)
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

uint64_t Frame::read(Operation *op, Value memref, const View &view, ArrayRef<int64_t> index) {
  int64_t place = view.place(index);
  if (!view.isWritten(place) && launch.wants(op, FaultUninitialized))
    launch.fault(op, FaultUninitialized,
                 "`" + op->getName().stripDialect().str() + "` reads " + nameInMessage(memref) +
                     (index.empty() ? "" : " at " + inBrackets(index)) +
                     ", which nothing has written");
  return view.bits(place);
}

bool Frame::inside(Operation *op, Value memref, const View &view, ArrayRef<int64_t> index) {
  std::optional<unsigned> dim = view.outside(index);
  if (!dim)
    return true;
  if (launch.wants(op, FaultBounds))
    launch.fault(op, FaultBounds,
                 "`" + op->getName().stripDialect().str() + "` at " + inBrackets(index) +
                     " is outside of " + nameInMessage(memref) + ": dimension " +
                     std::to_string(*dim) + " has size " + std::to_string(view.sizes[*dim]));
  return false;
}

bool Frame::run(Operation &op) {
  if (!launch.charge(&op, 1))
    return false;
  if (auto interpretable = dyn_cast<InterpretableOpInterface>(op))
    interpretable.interpret(*this);
  else
    launch.fatal(&op, InternalError,
                 "`" + op.getName().getStringRef().str() + "` cannot be interpreted");
  return !launch.stopped();
}

bool Frame::run(Block &block) {
  for (Operation &op : block)
    if (!run(op))
      return false;
  return true;
}

IssueTag Frame::tagOf(Operation *op) const {
  // What a pipeline wrote out carries its iteration; all such tags belong to
  // the kernel as if it were one loop.
  Value stated;
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    stated = copy.getInstance();
  else if (auto gemm = dyn_cast<tile::GemmOp>(op))
    stated = gemm.getInstance();
  else if (auto wait = dyn_cast<tile::WaitOp>(op))
    stated = wait.getThrough();
  if (stated)
    return {op->getParentOfType<func::FuncOp>(), integer(stated)};
  Operation *loop = op->getParentOfType<scf::ForOp>();
  return {loop, iterations.lookup(loop)};
}

Element elementOf(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    type = memref.getElementType();
  if (isa<Float16Type>(type))
    return Element::f16;
  if (isa<BFloat16Type>(type))
    return Element::bf16;
  if (isa<Float32Type>(type))
    return Element::f32;
  if (isa<Float64Type>(type))
    return Element::f64;
  if (isa<Float8E4M3FNType>(type))
    return Element::f8e4m3;
  if (isa<Float8E5M2Type>(type))
    return Element::f8e5m2;
  if (type.isInteger(1))
    return Element::i1;
  if (type.isInteger(8))
    return Element::i8;
  if (type.isInteger(16))
    return Element::i16;
  if (type.isInteger(32))
    return Element::i32;
  return type.isIndex() ? Element::index : Element::i64;
}

std::string nameInMessage(Value memref) {
  std::string name = tile::nameOf(memref);
  if (name.empty())
    return tile::isGlobal(memref) ? "a tensor" : "a tile";
  return "`" + name + "`";
}

} // namespace penstock::interpreter
