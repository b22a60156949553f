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
  AnyKernel() = default;
  explicit AnyKernel(detail::ExecutableRef executable);
  explicit operator bool() const { return bool(executable); }

  std::vector<ArgumentDescription> arguments() const;
  std::vector<Diagnostic> launch(detail::List<const detail::Argument> arguments,
                                 const LaunchOptions &options = {}) const;
  std::string tile_program() const;
  std::string llvm_ir() const;
  std::string assembly() const;
  /// Only for GPU kernels.
  std::string ptx() const;
  /// Only for GPU kernels: everything that a launch needs, as Kernel::artifact().
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
PENSTOCK_EXPORT AnyKernel compile_registered(const std::string &kernel,
                                             const InspectOptions &options,
                                             std::vector<Diagnostic> &diagnostics);
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
PENSTOCK_EXPORT std::string architecture_of_text(const std::string &text, const std::string &file,
                                                 const std::string &kernel,
                                                 std::vector<Diagnostic> &diagnostics);

/// Explains the pipelined loops of a kernel for an architecture ("sm_90a", "sm_100a",
/// "x86"): schedule, multi-buffering, what bounds the interval, cost and gain of a
/// deeper pipeline. For "x86" also its products in native code, at a level of instructions: block
/// of sums in registers, packing, cache blocking, what bounds the loop.
PENSTOCK_EXPORT std::string explain_registered(const std::string &kernel,
                                               const std::string &architecture,
                                               const InspectOptions &options,
                                               std::vector<Diagnostic> &diagnostics);
PENSTOCK_EXPORT std::string explain_text(const std::string &text, const std::string &file,
                                         const std::string &kernel, const std::string &architecture,
                                         std::vector<Diagnostic> &diagnostics, Cpu cpu = Cpu::Host);

/// Engine of a product, or of a copy from a tensor, in a kernel for a GPU.
struct EngineUse {
  enum Kind { Product, Copy };
  Kind kind = Product;
  SourceLocation location;
  /// "wgmma", "tcgen05.mma", "mma.sync"; "tma.load", "cp.async"; "threads".
  std::string engine;
  /// Shapes of the tiles: "128x64xf16 64x128xf16 128x128xf32" for a product.
  std::string tiles;
  /// Product: whether both operands are tiles in shared memory.
  bool operands_in_shared = false;
  /// Copy: how many versions its target has. More than one: the next ones are copied while
  /// this one is used.
  int slots = 1;
};

/// Lists the engines of a kernel as it is emitted for a GPU ("sm_90a").
PENSTOCK_EXPORT std::vector<EngineUse> engines_of_registered(const std::string &kernel,
                                                             const std::string &architecture,
                                                             const InspectOptions &options,
                                                             std::vector<Diagnostic> &diagnostics);

/// Predicted run time of a kernel on H100 or B200, as text and as JSON: TFLOP/s with a range,
/// what bounds the kernel, where the time goes, which fields to change.
struct PredictedRun {
  std::string chip; ///< "H100"
  std::string text;
  std::string json;
  /// SVG: from the peak at the highest clock to the predicted rate, loss by loss.
  std::string waterfall;
  double seconds = 0;
  double tflops = 0, low = 0, high = 0;
  /// Threads compute in the loop for longer than the tensor core multiplies. The model has no warps
  /// that drift apart, and predict_from_run is closer.
  bool bound_by_threads = false;
};
/// \p sizes by their names in the kernel's signature; \p architecture is "sm_90a", "sm_100a",
/// "x86" for native code on all threads, or "graniterapids" for one thread of that. With \p
/// suggest, other values of the kernel's fields are predicted, too. The text is empty if there is
/// an error.
PENSTOCK_EXPORT PredictedRun predict_registered(
    const std::string &kernel, const std::string &architecture,
    const std::vector<std::pair<std::string, double>> &sizes, const InspectOptions &options,
    std::vector<Diagnostic> &diagnostics, bool suggest = true);
PENSTOCK_EXPORT PredictedRun predict_text(const std::string &text, const std::string &file,
                                          const std::string &kernel,
                                          const std::string &architecture,
                                          const std::vector<std::pair<std::string, double>> &sizes,
                                          std::vector<Diagnostic> &diagnostics, Cpu cpu = Cpu::Host,
                                          const std::string &machine = {});

/// A run that was measured beside its prediction, in seconds.
struct CalibrationRow {
  std::string chip;
  double measured = 0, predicted = 0;
  std::string what; ///< kernel, fields and shape
};
/// Adds a row to a machine file, which is made if there is none.
PENSTOCK_EXPORT std::vector<Diagnostic> add_calibration(const std::string &file,
                                                        const CalibrationRow &row);
/// The factor of a machine file by which runs on a chip take longer than predicted; 0, with an
/// error, if it has none.
PENSTOCK_EXPORT double machine_factor(const std::string &file, const std::string &chip,
                                      std::vector<Diagnostic> &diagnostics);

/// Predicted timeline of a pipelined loop, as an SVG Gantt chart and as a trace for Chrome
/// and Perfetto.
struct PredictedTrace {
  std::string loop; ///< "file:line"
  std::string svg;
  std::string trace;
};
PENSTOCK_EXPORT std::vector<PredictedTrace>
trace_registered(const std::string &kernel, const std::string &architecture, int iterations,
                 const InspectOptions &options, std::vector<Diagnostic> &diagnostics);
PENSTOCK_EXPORT std::vector<PredictedTrace>
trace_text(const std::string &text, const std::string &file, const std::string &kernel,
           const std::string &architecture, int iterations, std::vector<Diagnostic> &diagnostics);

/// Returns the size of one element in bytes, and its name in C++.
PENSTOCK_EXPORT size_t bytes_of(Element element);
PENSTOCK_EXPORT std::string name_of(Element element);

} // namespace penstock

#endif // PENSTOCK_INSPECT_H
