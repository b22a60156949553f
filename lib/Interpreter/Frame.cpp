//===- Frame.cpp - The state of a block while it runs ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Frame.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

#include "Interpreter/InterpreterInterface.cpp.inc"

namespace penstock::interpreter {

Frame::Frame(Launch &launch)
    : launch(launch), async(launch.options.completion, random), random(0) {}

void Frame::begin(uint64_t number) {
  launch.block = coordinatesOf(number);
  races.beginBlock();
  iterations.clear();
  // Each block has a sequence of its own, so that its behavior does not depend
  // on how many blocks ran before it.
  random = Random(Random(launch.options.seed).next() ^ number);
}

/// "the asynchronous `copy` "load"".
static std::string describe(const AsyncQueue::Pending &operation) {
  return "the asynchronous `" + operation.op->getName().stripDialect().str() + "` \"" +
         operation.name.str() + "\"";
}

void Frame::end() {
  for (const AsyncQueue::Pending &operation : async.finish())
    launch.fault(operation.op, FaultNotAwaited,
                 describe(operation) + " is not awaited before the block ends", {},
                 {"add `b.wait(\"" + operation.name.str() +
                  "\")` after it; a wait with a lag leaves the last iterations under way"});
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

static std::string verbOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Read:
    return "reads";
  case AccessKind::Write:
    return "writes";
  case AccessKind::Atomic:
    return "updates";
  }
  return "";
}

/// "`copy` reads `As` at [0, 1]".
static std::string describe(Operation *op, Value memref, const View &view, int64_t linear,
                            AccessKind kind) {
  return "`" + op->getName().stripDialect().str() + "` " + verbOf(kind) + " " +
         nameInMessage(memref) +
         (view.sizes.empty() ? "" : " at " + inBrackets(view.indexOf(linear)));
}

static std::string inParentheses(ArrayRef<int64_t> index) {
  std::string text = inBrackets(index);
  return "(" + text.substr(1, text.size() - 2) + ")";
}

static DiagnosticNote noteAt(Operation *op, std::string message) {
  return {tile::sourceLocationOf(op->getLoc()), std::move(message), ""};
}

void Frame::checkRace(Operation *op, Value memref, const View &view, int64_t linear,
                      AccessKind kind) {
  std::optional<Races::Conflict> conflict = races.access(*view.shadow, linear, op, kind);
  if (!conflict)
    return;
  DiagnosticCode code = conflict->block ? FaultBlockRace : FaultParallelRace;
  if (!launch.wants(op, code))
    return;
  std::string message = describe(op, memref, view, linear, kind);
  if (conflict->block) {
    std::string other = "block " + inParentheses(coordinatesOf(*conflict->block));
    return launch.fault(op, code, message + ", which " + other + " " + verbOf(conflict->kind),
                        {noteAt(conflict->op, other + " " + verbOf(conflict->kind) + " it here")},
                        {"blocks run in any order and at the same time; let each block access "
                         "elements of its own, or use `b.atomic` for all accesses"});
  }
  if (std::optional<uint64_t> body = races.body())
    message += " in body " + inParentheses(bodyOf(*body)) + " of `parallel`";
  std::string other =
      conflict->body ? "body " + inParentheses(bodyOf(*conflict->body)) : "a body of `parallel`";
  bool isVariable = view.shadow->memory == Shadow::Memory::Variable;
  launch.fault(op, code, message + ", which " + other + " " + verbOf(conflict->kind),
               {noteAt(conflict->op, other + " " + verbOf(conflict->kind) + " it here")},
               {isVariable
                    ? "a variable that bodies of `parallel` change has no defined value for "
                      "others; update an element of a tile with `b.atomic`"
                    : "bodies of `parallel` run in any order and at the same time; let each "
                      "body access elements of its own, or use `b.atomic` for all accesses"});
}

bool Frame::checkInFlight(Operation *op, Value memref, const View &view, int64_t linear,
                          bool writes, const void *chain) {
  const AsyncQueue::Pending *other = async.conflict(view.data, linear, writes, chain);
  if (!other)
    return true;
  if (launch.wants(op, FaultInFlight))
    launch.fault(op, FaultInFlight,
                 describe(op, memref, view, linear, writes ? AccessKind::Write : AccessKind::Read) +
                     ", which " + describe(*other) + " still uses",
                 {noteAt(other->op, "it is issued here, and not awaited in between")},
                 {"add `b.wait(\"" + other->name.str() + "\")` before this access"});
  return false;
}

Footprint Frame::footprint(Operation *op, Value memref, const View &view,
                           std::vector<int64_t> elements, bool writes, const void *chain) {
  if (async.busy())
    for (int64_t linear : elements)
      if (!checkInFlight(op, memref, view, linear, writes, chain))
        break;
  return Footprint(view.data, writes, std::move(elements));
}

void Frame::write(Operation *op, Value memref, View &view, int64_t linear, uint64_t bits,
                  AccessKind kind) {
  if (view.shadow && kind != AccessKind::Atomic) // its read has recorded it
    checkRace(op, memref, view, linear, kind);
  if (async.busy())
    checkInFlight(op, memref, view, linear, /*writes=*/true);
  view.setBits(linear, bits);
}

uint64_t Frame::read(Operation *op, Value memref, const View &view, ArrayRef<int64_t> index,
                     AccessKind kind) {
  int64_t linear = view.linearIndex(index);
  if (view.shadow)
    checkRace(op, memref, view, linear, kind);
  // For an element that is still being written, report that instead of a missing write.
  if (async.busy() && !checkInFlight(op, memref, view, linear, /*writes=*/false))
    return view.bits(linear);
  if (!view.isWritten(linear) && launch.wants(op, FaultUninitialized))
    launch.fault(op, FaultUninitialized,
                 "`" + op->getName().stripDialect().str() + "` reads " + nameInMessage(memref) +
                     (index.empty() ? "" : " at " + inBrackets(index)) +
                     ", which nothing has written");
  return view.bits(linear);
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
  if (isa<Float8E8M0FNUType>(type))
    return Element::f8e8m0;
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
