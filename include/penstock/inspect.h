//===- inspect.h - Kernels without their C++ types --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the `penstock` tool is made of, for programs that want the same: find
// registered kernels, set their fields, look at what they became, run them on
// arguments that are described at run time. Nothing here throws or prints.
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
  /// Names or numbers of the sizes, from the signature; empty without one.
  std::vector<std::string> sizes;
};

/// A kernel of a loaded library, or of a text.
struct KernelDescription {
  std::string name;
  std::string signature;
  SourcePlace place;
  /// Fields that can be set, with their default values.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Loads a shared library so that its kernels are registered.
PENSTOCK_EXPORT std::vector<Diagnostic> load_library(const std::string &path);

/// All registered kernels.
PENSTOCK_EXPORT std::vector<KernelDescription> registered_kernels();

/// The kernels of a tile program in text form.
PENSTOCK_EXPORT std::vector<KernelDescription>
kernels_of_text(const std::string &text, const std::string &file,
                std::vector<Diagnostic> &diagnostics);

struct InspectOptions {
  Target target = Target::native();
  /// Values for a kernel's fields, as text.
  std::vector<std::pair<std::string, std::string>> set = {};
  CompileOptions compile = {};
  /// Receives each pass's name and the program after it.
  Callback<std::string_view, std::string_view> after_pass = {};
  /// Prints how long each pass took to standard error.
  bool timing = false;
  /// Written when the compiler itself fails; empty: none.
  std::string reproducer = {};
};

/// A compiled kernel whose arguments are known at run time only.
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
  /// Of a kernel for a GPU.
  std::string ptx() const;

private:
  detail::ExecutableRef executable;
};

/// The tile program of a registered kernel; empty on errors.
PENSTOCK_EXPORT std::string print_registered(const std::string &kernel,
                                             const InspectOptions &options,
                                             std::vector<Diagnostic> &diagnostics);
PENSTOCK_EXPORT AnyKernel compile_registered(const std::string &kernel,
                                             const InspectOptions &options,
                                             std::vector<Diagnostic> &diagnostics);
PENSTOCK_EXPORT AnyKernel compile_text(const std::string &text, const std::string &file,
                                       const std::string &kernel, const InspectOptions &options,
                                       std::vector<Diagnostic> &diagnostics);

/// The architecture that a kernel is written for, "sm_90a" or "sm_100a": the one that
/// its operations require. Empty if any will do.
PENSTOCK_EXPORT std::string architecture_of_registered(const std::string &kernel,
                                                       const InspectOptions &options,
                                                       std::vector<Diagnostic> &diagnostics);
PENSTOCK_EXPORT std::string architecture_of_text(const std::string &text, const std::string &file,
                                                 const std::string &kernel,
                                                 std::vector<Diagnostic> &diagnostics);

/// What became of each pipelined loop of a kernel, as predicted for an
/// architecture ("sm_90a", "sm_100a", "x86"): schedule, versions, what bounds
/// the interval, what a deeper pipeline would cost and gain.
PENSTOCK_EXPORT std::string explain_registered(const std::string &kernel,
                                               const std::string &architecture,
                                               const InspectOptions &options,
                                               std::vector<Diagnostic> &diagnostics);
PENSTOCK_EXPORT std::string explain_text(const std::string &text, const std::string &file,
                                         const std::string &kernel, const std::string &architecture,
                                         std::vector<Diagnostic> &diagnostics);

/// The predicted timeline of a pipelined loop: a Gantt chart as SVG and the
/// same slices as a trace for Chrome and Perfetto.
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

/// Bytes of one element, and its name in C++.
PENSTOCK_EXPORT size_t bytes_of(Element element);
PENSTOCK_EXPORT std::string name_of(Element element);

} // namespace penstock

#endif // PENSTOCK_INSPECT_H
