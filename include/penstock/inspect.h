//===- inspect.h - Kernels without their C++ types --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The API of the `penstock` tool: lists registered kernels, sets their fields, prints
// their IR and code, runs them on arguments that are described at run time. No
// function throws or prints.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INSPECT_H
#define PENSTOCK_INSPECT_H

#include "penstock/compile.h"

namespace penstock {

struct ArgumentDescription {
  std::string name;
  bool tensor = false;
  Element element = Element::f32;
  int rank = 0;
  bool written = false;
  /// Names or constants of the sizes, from the signature; empty without one.
  std::vector<std::string> sizes;
};

/// Kernel of a loaded library or of a text.
struct KernelDescription {
  std::string name;
  std::string signature;
  /// FLOPs of a run, a sum of products of numbers and sizes, as the kernel's static member
  /// `flops` states them; empty without one.
  std::string flops;
  SourceLocation location;
  /// Settable fields with their default values.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Loads a shared library, which registers its kernels.
PENSTOCK_EXPORT std::vector<Diagnostic> load_library(const std::string &path);

/// Returns all registered kernels.
PENSTOCK_EXPORT std::vector<KernelDescription> registered_kernels();

/// Returns the kernels that a library of load_library registered.
PENSTOCK_EXPORT std::vector<KernelDescription> kernels_of_library(const std::string &path);

/// Returns the kernels of a tile program in text form.
PENSTOCK_EXPORT std::vector<KernelDescription>
kernels_of_text(const std::string &text, const std::string &file,
                std::vector<Diagnostic> &diagnostics);

struct InspectOptions {
  Target target = Target::native();
  /// Looks registered kernels up in this library, a path of load_library; empty: in all, in
  /// the order of their registration.
  std::string library = {};
  /// Values for a kernel's fields, as text.
  std::vector<std::pair<std::string, std::string>> set = {};
  CompileOptions compile = {};
  /// Called after each pass with its name and the program.
  Callback<std::string_view, std::string_view> after_pass = {};
  /// Prints the time of each pass to standard error.
  bool timing = false;
  /// File to write when a pass of the compiler fails; empty: none.
  std::string reproducer = {};
  /// Machine file (`penstock bench --calibrate`) that predictions are scaled by; empty: none.
  std::string machine = {};
};

/// Compiled kernel with dynamically typed arguments.
class PENSTOCK_EXPORT AnyKernel {
public:
  /// No kernel.
  AnyKernel() = default;
  explicit AnyKernel(detail::ExecutableRef executable);
  /// Returns whether there is a kernel.
  explicit operator bool() const { return bool(executable); }

  /// Returns the arguments that a launch takes.
  std::vector<ArgumentDescription> arguments() const;
  /// Runs the kernel and returns errors; empty on success.
  std::vector<Diagnostic> launch(detail::List<const detail::Argument> arguments,
                                 const LaunchOptions &options = {}) const;
  /// Returns the tile program.
  std::string tile_program() const;
  /// Returns the LLVM IR of native code.
  std::string llvm_ir() const;
  /// Returns the assembly of native code.
  std::string assembly() const;
  /// Returns the PTX of a GPU kernel.
  std::string ptx() const;
  /// Returns the bytes of a GPU kernel, as Kernel::artifact().
  std::string artifact() const;
  /// Only for GPU kernels: assembles them into the cache that they were compiled with, so that
  /// the first launch finds machine code. Returns errors (PS1607).
  std::vector<Diagnostic> store_machine_code() const;

private:
  detail::ExecutableRef executable;
};

/// Returns the tile program of a registered kernel; empty on errors.
PENSTOCK_EXPORT std::string print_registered(const std::string &kernel,
                                             const InspectOptions &options,
                                             std::vector<Diagnostic> &diagnostics);
/// Compiles a registered kernel, or one of a text in the syntax of MLIR. No kernel, with
/// diagnostics, on errors.
PENSTOCK_EXPORT AnyKernel compile_registered(const std::string &kernel,
                                             const InspectOptions &options,
                                             std::vector<Diagnostic> &diagnostics);
/// Compiles a kernel of a text in the syntax of MLIR.
PENSTOCK_EXPORT AnyKernel compile_text(const std::string &text, const std::string &file,
                                       const std::string &kernel, const InspectOptions &options,
                                       std::vector<Diagnostic> &diagnostics);

/// Makes a kernel from the bytes of AnyKernel::artifact() or Kernel::artifact().
PENSTOCK_EXPORT AnyKernel load_artifact(std::string_view bytes,
                                        std::vector<Diagnostic> &diagnostics);

/// Returns the architecture that the operations of a kernel require, "sm_90a" or
/// "sm_100a". Empty: any.
PENSTOCK_EXPORT std::string architecture_of_registered(const std::string &kernel,
                                                       const InspectOptions &options,
                                                       std::vector<Diagnostic> &diagnostics);
/// The same for a kernel of a text.
PENSTOCK_EXPORT std::string architecture_of_text(const std::string &text, const std::string &file,
                                                 const std::string &kernel,
                                                 std::vector<Diagnostic> &diagnostics);

/// Summary of a kernel on an architecture ("sm_90a", "sm_100a", "x86"): its form, warp roles,
/// copies, MMAs and memory. Errors leave the text empty.
struct KernelSummary {
  /// "explicit", "warp-specialized", "skewed", "in order", or "native" for "x86".
  std::string form;
  /// Labeled rows, as in PredictedRun::text.
  std::string text;
  std::string json;
  /// Source lines of loops, copies and MMAs.
  std::vector<SourceLocation> lines;
};
/// Summarizes a registered kernel, as `penstock explain` does without options.
PENSTOCK_EXPORT KernelSummary summarize_registered(const std::string &kernel,
                                                   const std::string &architecture,
                                                   const InspectOptions &options,
                                                   std::vector<Diagnostic> &diagnostics);
/// The same for a kernel of a text.
PENSTOCK_EXPORT KernelSummary summarize_text(const std::string &text, const std::string &file,
                                             const std::string &kernel,
                                             const std::string &architecture,
                                             std::vector<Diagnostic> &diagnostics,
                                             Cpu cpu = Cpu::Host);

/// Explains the pipelined loops of a kernel for an architecture ("sm_90a", "sm_100a",
/// "x86"): schedule, multi-buffering, bound of the interval, cost and gain of a deeper
/// pipeline. For "x86" also its matmuls in native code, at an instruction level: accumulator
/// block in registers, packing, cache blocking, bound of the loop.
PENSTOCK_EXPORT std::string explain_registered(const std::string &kernel,
                                               const std::string &architecture,
                                               const InspectOptions &options,
                                               std::vector<Diagnostic> &diagnostics);
/// The same for a kernel of a text.
PENSTOCK_EXPORT std::string explain_text(const std::string &text, const std::string &file,
                                         const std::string &kernel, const std::string &architecture,
                                         std::vector<Diagnostic> &diagnostics, Cpu cpu = Cpu::Host);

/// Engine of an MMA, or of a copy from a tensor, in a GPU kernel.
struct EngineUse {
  enum Kind { Product, Copy };
  Kind kind = Product;
  SourceLocation location;
  /// "wgmma", "tcgen05.mma", "mma.sync"; "tma.load", "cp.async"; "threads".
  std::string engine;
  /// Shapes of the tiles: "128x64xf16 64x128xf16 128x128xf32" for an MMA.
  std::string tiles;
  /// Names of its operands: "A -> As" for a copy, "As, Bs -> acc" for an MMA.
  std::string operands;
  /// MMA: why it is neither wgmma nor tcgen05, or why scales are applied before it, on a target
  /// whose tensor cores do that.
  std::string reason;
  /// MMA: true if both operands are tiles in shared memory.
  bool operands_in_shared = false;
  /// Copy: number of versions of its target. With more than one, the next copies overlap the use
  /// of this one.
  int slots = 1;
  /// Copy: bytes of one version of its target.
  int64_t bytes = 0;
};

/// Lists the engines of a kernel as it is emitted for a GPU ("sm_90a").
PENSTOCK_EXPORT std::vector<EngineUse> engines_of_registered(const std::string &kernel,
                                                             const std::string &architecture,
                                                             const InspectOptions &options,
                                                             std::vector<Diagnostic> &diagnostics);

/// Predicted run time of a kernel on H100 or B200, as text and as JSON: TFLOP/s with a range,
/// bottleneck, shares of the time, suggested fields.
struct PredictedRun {
  std::string chip; ///< "H100"
  std::string text;
  std::string json;
  /// SVG of each loss from the peak at the highest clock to the predicted rate.
  std::string waterfall;
  double seconds = 0;
  double tflops = 0, low = 0, high = 0;
  /// True if thread code of the loop takes longer than its MMAs. The model does not represent
  /// warps that drift apart, so predict_from_run is more accurate.
  bool bound_by_threads = false;
};
/// Predicts the run time of a registered kernel. \p sizes have the names of the signature.
/// \p architecture is "sm_90a", "sm_100a", "x86" for native code on all threads, or "graniterapids"
/// for one thread of that processor. With \p suggest, other values of the kernel's fields are
/// predicted, too. The text is empty if there is an error.
PENSTOCK_EXPORT PredictedRun predict_registered(
    const std::string &kernel, const std::string &architecture,
    const std::vector<std::pair<std::string, double>> &sizes, const InspectOptions &options,
    std::vector<Diagnostic> &diagnostics, bool suggest = true);
/// The same for a kernel of a text, which has no fields.
PENSTOCK_EXPORT PredictedRun predict_text(const std::string &text, const std::string &file,
                                          const std::string &kernel,
                                          const std::string &architecture,
                                          const std::vector<std::pair<std::string, double>> &sizes,
                                          std::vector<Diagnostic> &diagnostics, Cpu cpu = Cpu::Host,
                                          const std::string &machine = {});

/// A measured run with its prediction, in seconds.
struct CalibrationRow {
  std::string chip;
  double measured = 0, predicted = 0;
  std::string what; ///< kernel, fields and shape
};
/// Adds a row to a machine file; creates the file if it does not exist.
PENSTOCK_EXPORT std::vector<Diagnostic> add_calibration(const std::string &file,
                                                        const CalibrationRow &row);
/// Returns the factor of a machine file by which runs on a chip take longer than predicted; 0,
/// with an error, if it has none.
PENSTOCK_EXPORT double machine_factor(const std::string &file, const std::string &chip,
                                      std::vector<Diagnostic> &diagnostics);

/// Predicted timeline of a pipelined loop, as an SVG Gantt chart and as a trace for Chrome
/// and Perfetto.
struct PredictedTrace {
  std::string loop; ///< "file:line"
  std::string svg;
  std::string trace;
};
/// Draws each pipelined loop of a registered kernel.
PENSTOCK_EXPORT std::vector<PredictedTrace>
trace_registered(const std::string &kernel, const std::string &architecture, int iterations,
                 const InspectOptions &options, std::vector<Diagnostic> &diagnostics);
/// The same for a kernel of a text.
PENSTOCK_EXPORT std::vector<PredictedTrace>
trace_text(const std::string &text, const std::string &file, const std::string &kernel,
           const std::string &architecture, int iterations, std::vector<Diagnostic> &diagnostics);

/// Returns the size of one element in bytes, and its name in C++.
PENSTOCK_EXPORT size_t bytes_of(Element element);
/// Returns the name of an element type: "f16".
PENSTOCK_EXPORT std::string name_of(Element element);

} // namespace penstock

#endif // PENSTOCK_INSPECT_H
