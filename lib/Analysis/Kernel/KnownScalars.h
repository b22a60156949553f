//===- KnownScalars.h - Scalars of a kernel for given sizes -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_KERNEL_KNOWNSCALARS_H
#define PENSTOCK_ANALYSIS_KERNEL_KNOWNSCALARS_H

#include "Interpreter/Frame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace penstock {

/// Values that the scalars of a kernel depend on.
struct SizeAssignment {
  /// Of tensors, others are `defaultSize`; and coordinates of the block, others are 0.
  std::map<std::string, int64_t> sizes;
  int64_t defaultSize = 4096;
  int64_t grants = 0; ///< how often work is granted by cluster launch control
};

/// Scalars of a kernel whose values are known.
class KnownScalars {
public:
  explicit KnownScalars(mlir::func::FuncOp kernel);

  void begin(const SizeAssignment &assignment);
  /// The name of the size, by the kernel's signature.
  std::string sizeName(mlir::BlockArgument tensor, int64_t dim) const;
  /// The name of a coordinate of the block, which counts as a size.
  static std::string coordinateName(unsigned dim);
  static bool isCoordinate(llvm::StringRef name);
  /// Computes the results of a scalar operation, if its operands are known.
  void evaluate(mlir::Operation *op);
  std::optional<int64_t> get(mlir::Value value) const {
    auto found = known.find(value);
    return found == known.end() ? std::nullopt : std::optional(frame.integer(value));
  }
  void set(mlir::Value value, std::optional<int64_t> integer);
  /// The value of an expression over sizes, whose operations have not been
  /// evaluated.
  std::optional<int64_t> compute(mlir::Value value);

private:
  std::vector<std::vector<std::string>> names; ///< by argument and dimension
  InterpretOptions options;
  interpreter::Launch launch;
  interpreter::Frame frame;
  llvm::DenseSet<mlir::Value> known;
  llvm::DenseMap<mlir::Operation *, bool> pure; ///< operations that can be computed
  SizeAssignment assignment;
};

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_KERNEL_KNOWNSCALARS_H
