//===- ExplainTiming.h - Predicted run times of kernels ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_EXPLAINTIMING_H
#define PENSTOCK_EXPLAIN_EXPLAINTIMING_H

#include "Analysis/Kernel/KernelWork.h"
#include "Diagnostics/Json.h"
#include "Hardware/Chip.h"
#include "Timing/Predict.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace penstock {

using Sizes = std::map<std::string, int64_t>;

struct TimedKernel {
  KernelWork work;
  timing::Prediction prediction;
};

/// Predicts a kernel of a module; no value, with diagnostics, if it cannot be. Runs on the
/// machine take \p factor times as long as predicted; 0: it was never measured.
std::optional<TimedKernel> predictModule(mlir::ModuleOp module, const std::string &kernel,
                                         const hw::Chip &chip, const Sizes &sizes, int draws,
                                         std::vector<Diagnostic> &diagnostics, double factor = 0);

/// Errors if sizes of the kernel's signature are missing or unknown.
bool checkSizes(mlir::func::FuncOp function, const Sizes &sizes,
                std::vector<Diagnostic> &diagnostics);

/// Fact of a diagnostic: a run of the kernel's PTX would predict it.
inline constexpr const char *neededRun = "needs_run";

/// A change of fields, and what it would bring.
struct Suggestion {
  std::string change; ///< "stages=4"
  double gain = 1;    ///< in speed
  std::string bound;
};

/// Constants of a table with the members of \p of that they name.
template <class Constants, class Machine>
std::string constantsJson(const Constants &constants, const Machine &of) {
  return jsonArray(constants, [&](const auto &constant) {
    const hw::Measured &m = of.*constant.member;
    return JsonObject()
        .text("name", std::string(constant.name))
        .text("unit", std::string(constant.unit))
        .number("value", m.value)
        .number("low", m.low)
        .number("high", m.high)
        .text("by", std::string(describe(m.by)))
        .text("source", std::string(m.source))
        .str();
  });
}

std::string renderTiming(const TimedKernel &, const hw::Chip &,
                         const std::vector<Suggestion> &suggestions);
/// From the peak to the predicted rate, as SVG.
std::string timingWaterfall(const TimedKernel &, const hw::Chip &, const std::string &title);
std::string timingJson(const TimedKernel &, const hw::Chip &,
                       const std::vector<Suggestion> &suggestions);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_EXPLAINTIMING_H
