//===- Frame.h - The state of a block while it runs -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_FRAME_H
#define PENSTOCK_INTERPRETER_FRAME_H

#include "Interpreter/Async.h"
#include "Interpreter/Launch.h"
#include "Interpreter/Memory.h"
#include "Interpreter/Races.h"
#include "mlir/IR/Value.h"

namespace penstock::interpreter {

/// State of the running block that operations access: values, memory, loops, and pending
/// asynchronous operations. One frame serves all blocks of a launch in turn.
class Frame {
public:
  explicit Frame(Launch &launch);

  Launch &launch;
  AsyncQueue async;
  Races races;
  Random random;
  /// The values that the last terminator handed to its parent.
  llvm::SmallVector<Scalar> yielded;
  /// The index of the element that the innermost `tile.map` computes.
  Indices element;

  /// The coordinates of a block by its number.
  std::function<llvm::SmallVector<int64_t, 3>(uint64_t)> coordinatesOf;
  /// The indices of a body of the running `tile.parallel` by its number.
  std::function<Indices(uint64_t)> bodyOf;

  /// Starts the block with this number.
  void begin(uint64_t number);
  /// Completes what is under way, and reports what was never awaited.
  void end();

  //===--- Values -------------------------------------------------------===//

  Scalar scalar(mlir::Value value) const { return scalars.lookup(value); }
  int64_t integer(mlir::Value value) const { return scalar(value).integer; }
  double real(mlir::Value value) const { return scalar(value).real; }
  bool isTrue(mlir::Value value) const { return integer(value) != 0; }
  Indices integers(mlir::ValueRange values) const;
  void set(mlir::Value value, Scalar scalar) { scalars[value] = scalar; }
  void setInteger(mlir::Value value, int64_t integer) { set(value, Scalar::of(integer)); }

  const View &view(mlir::Value memref) const { return views.find(memref)->second; }
  void setView(mlir::Value memref, View view) { views[memref] = std::move(view); }

  //===--- Memory -------------------------------------------------------===//

  /// The memory of the tile that \p alloc makes, with undefined contents.
  Storage &allocate(mlir::Operation *alloc, Element element, int64_t elements);

  /// The bits at \p index, which must lie inside. A fault if they were never
  /// written. \p memref is what \p op calls the view, for the message.
  uint64_t read(mlir::Operation *op, mlir::Value memref, const View &view,
                llvm::ArrayRef<int64_t> index, AccessKind kind = AccessKind::Read);
  /// Writes the element at \p linear of the view's memory.
  void write(mlir::Operation *op, mlir::Value memref, View &view, int64_t linear, uint64_t bits,
             AccessKind kind = AccessKind::Write);
  void write(mlir::Operation *op, mlir::Value memref, View &view, llvm::ArrayRef<int64_t> index,
             uint64_t bits) {
    write(op, memref, view, view.linearIndex(index), bits);
  }

  /// Returns whether \p index lies inside of the view; a fault if not.
  bool inside(mlir::Operation *op, mlir::Value memref, const View &view,
              llvm::ArrayRef<int64_t> index);

  /// Checks the elements of an asynchronous operation that is about to be issued
  /// against those under way.
  Footprint footprint(mlir::Operation *op, mlir::Value memref, const View &view,
                      std::vector<int64_t> elements, bool writes, const void *chain = nullptr);

  //===--- Control ------------------------------------------------------===//

  /// Runs one operation, or a block of them to its terminator. Returns false if
  /// the launch was given up.
  bool run(mlir::Operation &op);
  bool run(mlir::Block &block);

  /// Marks the beginning of an iteration of \p loop.
  void nextIteration(mlir::Operation *loop) { ++iterations[loop]; }
  /// The tag of what \p op issues or waits for now.
  IssueTag tagOf(mlir::Operation *op) const;

private:
  void checkRace(mlir::Operation *op, mlir::Value memref, const View &view, int64_t linear,
                 AccessKind kind);
  /// False, with a fault, if an asynchronous operation under way uses the
  /// element.
  bool checkInFlight(mlir::Operation *op, mlir::Value memref, const View &view, int64_t linear,
                     bool writes, const void *chain = nullptr);

  llvm::DenseMap<mlir::Value, Scalar> scalars;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Storage>> tiles;
  llvm::DenseMap<mlir::Operation *, int64_t> iterations;
};

/// The element type that a scalar or memref of this type holds.
Element elementOf(mlir::Type type);

/// "`As`", or "a tile" if it has no name.
std::string nameInMessage(mlir::Value memref);

} // namespace penstock::interpreter

#include "Interpreter/InterpreterInterface.h.inc"

#endif // PENSTOCK_INTERPRETER_FRAME_H
