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

/// On GPUs the timing model where it covers the kernel, else the predicted intervals of its
/// pipelined loops times waves of blocks. On a CPU its model; null if the constants of this
/// processor were never measured.
std::unique_ptr<Predictor> predictorFor(Target target);
/// The chip of a machine file that a target is predicted for; empty: none.
std::string chipOf(Target target);
/// The same predictions times a factor that was measured on this machine.
std::unique_ptr<Predictor> scaled(std::unique_ptr<Predictor> predictor, double factor);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_PREDICTOR_H
