//===- LoweringTable.h - Lowerings of operations by their names -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_LOWERINGTABLE_H
#define PENSTOCK_TARGET_NVPTX_THREADS_LOWERINGTABLE_H

#include "Target/NVPTX/Threads/ExecutionScope.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <string>

namespace penstock::nvptx {

struct LoweringContext;

/// Maps operations to functions that lower them. Each file of a family of operations adds its
/// operations (Operations/Operations.h).
class LoweringTable {
public:
  using Function = std::function<mlir::LogicalResult(LoweringContext &, mlir::Operation *,
                                                     const ExecutionScope &)>;
  struct Entry {
    Function lower;
    /// The function erases the operation or keeps it, and all threads of the scope execute it.
    /// Other operations are erased, and those of `nv` are lowered for the thread that issues them.
    bool isStructure = false;
    /// Returns whether the PTX of an operation of one thread elects that thread.
    bool (*electsIssuer)(mlir::Operation *) = nullptr;
    /// Returns the bytes of scratch memory that an operation needs.
    int64_t (*scratchBytes)(mlir::Operation *) = nullptr;
  };

  /// Adds `Result lower(LoweringContext &, Op, const ExecutionScope &)`. The result is void or
  /// LogicalResult, and the scope may be missing.
  template <auto lower> Entry &add() {
    using Op = decltype(operationOf(lower));
    return insert<Op>([](LoweringContext &c, mlir::Operation *op, const ExecutionScope &by) {
      return call(lower, c, llvm::cast<Op>(op), by);
    });
  }
  /// Adds an operation of one thread whose PTX elects that thread in a warp.
  template <auto lower> void addElecting() {
    add<lower>().electsIssuer = [](mlir::Operation *) { return true; };
  }
  /// Adds a function that erases the operation, or keeps it.
  template <auto lower> void addStructure() { add<lower>().isStructure = true; }
  /// Adds an operation that is always the same instruction.
  template <class Op> void addPtx(llvm::StringRef text) { insert<Op>(instruction(text.str())); }
  /// Adds operations without code; they are erased when the kernel has been lowered.
  template <class... Ops> void keep() {
    ((insert<Ops>([](LoweringContext &, mlir::Operation *, const ExecutionScope &) {
        return mlir::success();
      }).isStructure = true),
     ...);
  }
  /// Adds `int64_t bytes(Op)`: the scratch memory of an operation.
  template <auto bytes> void addScratch() {
    using Op = decltype(argumentOf(bytes));
    entries[mlir::TypeID::get<Op>()].scratchBytes = [](mlir::Operation *op) {
      return bytes(llvm::cast<Op>(op));
    };
  }
  /// Adds a function that runs before all lowerings, when storage has been assigned.
  void addPreparation(void (*prepare)(LoweringContext &)) { preparations.push_back(prepare); }

  /// Returns the entry of an operation; null if no file has added it.
  const Entry *find(mlir::Operation *op) const;
  void prepare(LoweringContext &c) const;

private:
  template <class Result, class Op, class... Scope>
  static Op operationOf(Result (*)(LoweringContext &, Op, Scope...));
  template <class Op> static Op argumentOf(int64_t (*)(Op));

  template <class Lower, class Op>
  static mlir::LogicalResult call(Lower lower, LoweringContext &c, Op op,
                                  const ExecutionScope &by) {
    auto invoke = [&] {
      if constexpr (std::is_invocable_v<Lower, LoweringContext &, Op, const ExecutionScope &>)
        return lower(c, op, by);
      else
        return lower(c, op);
    };
    if constexpr (std::is_void_v<decltype(invoke())>)
      return invoke(), mlir::success();
    else
      return invoke();
  }

  template <class Op> Entry &insert(Function lower) {
    Entry &entry = entries[mlir::TypeID::get<Op>()];
    assert(!entry.lower && "two functions lower an operation");
    entry.lower = std::move(lower);
    return entry;
  }
  /// Returns a function that emits one instruction.
  static Function instruction(std::string text);

  llvm::DenseMap<mlir::TypeID, Entry> entries;
  llvm::SmallVector<void (*)(LoweringContext &)> preparations;
};

/// Lowers an operation, or those of a block in order.
mlir::LogicalResult lowerOp(LoweringContext &c, mlir::Operation *op, const ExecutionScope &by);
mlir::LogicalResult lowerBlock(LoweringContext &c, mlir::Block &block, const ExecutionScope &by);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_LOWERINGTABLE_H
