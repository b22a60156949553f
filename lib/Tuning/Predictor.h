//===- Predictor.h - Predicted times of candidates --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_PREDICTOR_H
#define PENSTOCK_TUNING_PREDICTOR_H

#include "Diagnostics/Diagnostic.h"
#include "Tuning/ShapeClasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "penstock/compile.h"

#include <memory>
#include <optional>

namespace penstock::tuning {

/// Predicts run times, so that few candidates have to be measured.
class Predictor {
public:
  virtual ~Predictor() = default;
  /// Name in records: a better model is another one.
  virtual std::string name() const = 0;
  /// Seconds of the kernel of a recorded program; no value, with reasons, if it cannot run
  /// or is not predicted.
  virtual std::optional<double> seconds(mlir::ModuleOp program, const std::string &kernel,
                                        const Sizes &sizes,
                                        std::vector<Diagnostic> &reasons) const = 0;
};

/// The timing model where it covers the kernel, else the predicted intervals of its
/// pipelined loops times waves of blocks. Null for CPUs, which have no model.
std::unique_ptr<Predictor> predictorFor(Target target);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_PREDICTOR_H
