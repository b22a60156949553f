//===- PredictNative.h - Predicted run times on CPUs ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_PREDICTNATIVE_H
#define PENSTOCK_EXPLAIN_PREDICTNATIVE_H

#include "Explain/ExplainTiming.h"
#include "Explain/NativeWork.h"

#include <memory>

namespace penstock {

/// The processor that native code is predicted for.
struct NativeTarget {
  std::shared_ptr<const hw::Cpu> cpu;
  NativeCpu isa;
  int64_t threads = 1;
  /// The constants are those of this very processor.
  bool known = true;
  timing::NativeOptions options;
};

/// The host, with all threads that launches use. A processor without constants is predicted with
/// those of another one and its own caches, and `known` is false.
std::optional<NativeTarget> nativeTarget(Cpu level, const std::string &kernel,
                                         const SourceLocation &location,
                                         std::vector<Diagnostic> &diagnostics);
/// A processor of the tables, e.g. "graniterapids", with all its instructions and one thread;
/// no value if there is none.
std::optional<NativeTarget> tabledTarget(const std::string &name);

struct TimedNative {
  timing::NativeKernel work;
  timing::NativePrediction prediction;
};

/// Predicts a kernel of a module; no value, with diagnostics, if it cannot be.
std::optional<TimedNative> predictNativeModule(mlir::ModuleOp module, const std::string &kernel,
                                               const NativeTarget &target, const Sizes &sizes,
                                               std::vector<Diagnostic> &diagnostics);

std::string renderNative(const TimedNative &, const NativeTarget &,
                         const std::vector<Suggestion> &suggestions);
std::string nativeJson(const TimedNative &, const NativeTarget &,
                       const std::vector<Suggestion> &suggestions);
/// From all threads at work to the predicted rate, as SVG.
std::string nativeWaterfall(const TimedNative &, const NativeTarget &, const std::string &title);
/// The kind of work that takes most time.
std::string boundOf(const TimedNative &);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_PREDICTNATIVE_H
