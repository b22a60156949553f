//===- Coverage.h - Parts of a tile program that runs exercise --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records runs of a tile program on the interpreter, over all shapes and data of a check. A
// hole is a grid of one block, a loop that never repeats or never fills its pipeline, a
// condition or mask that never changes, or a copy that no tensor edge clips although one could.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_CHECK_COVERAGE_H
#define PENSTOCK_TESTING_CHECK_COVERAGE_H

#include "Testing/Inputs/SizeConditions.h"

#include <map>

namespace penstock {

class Coverage : public LaunchObserver {
public:
  Coverage(std::shared_ptr<TestedProgram> program,
           const std::vector<ArgumentDescription> &arguments);

  void onGrid(mlir::Operation *grid, llvm::ArrayRef<int64_t> extents) override;
  void onLoop(mlir::Operation *loop, int64_t iterations) override;
  void onChoice(mlir::Operation *op, bool condition) override;
  void onCopy(mlir::Operation *copy, llvm::ArrayRef<int64_t> offsets,
              llvm::ArrayRef<int64_t> sizes) override;

  /// Returns the holes left by runs with these shapes, in source order: one for each line and
  /// kind. \p conditions decide which copies can be clipped. Helps name shapes that close holes.
  std::vector<Diagnostic> holes(const std::vector<Shape> &shapes,
                                const SizeConditions &conditions) const;

  /// Returns whether a loop never ran twice, or never filled its pipeline.
  bool hasShortLoop() const;

private:
  /// Hole that a loop's iterations leave, and the number of iterations that closes it; empty: none.
  struct LoopHole {
    std::string text;
    int64_t iterations = 0;
  };
  LoopHole holeOf(mlir::Operation *loop) const;

  struct Choice {
    bool wasTrue = false, wasFalse = false;
  };
  struct Extents {
    llvm::SmallVector<int64_t, 4> most;
  };

  /// Returns a shape for which a copy may cross the edge of its tensor along a dimension.
  std::optional<Shape> clippingShape(mlir::Operation *copy, unsigned dim,
                                     const std::vector<Shape> &shapes,
                                     const SizeConditions &conditions) const;

  std::shared_ptr<TestedProgram> program;
  std::vector<ArgumentDescription> arguments;
  llvm::DenseMap<mlir::Operation *, int64_t> iterations;
  llvm::DenseMap<mlir::Operation *, Choice> choices;
  llvm::DenseMap<mlir::Operation *, Extents> grids;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<bool, 4>> clipped; ///< by tensor dimension
};

} // namespace penstock

#endif // PENSTOCK_TESTING_CHECK_COVERAGE_H
