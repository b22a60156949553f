//===- Compiler.h - From a tile program to an executable --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that the public compile() and the tools share. Every function here gives
// data and diagnostics; none prints.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_COMPILER_H
#define PENSTOCK_COMPILER_COMPILER_H

#include "Artifact/Artifact.h"
#include "Cuda/Program.h"
#include "Hardware/Architecture.h"
#include "Runtime/Emulated/EmulatedLaunch.h"
#include "Runtime/KernelInfo.h"
#include "Runtime/NativeLaunch.h"
#include "Target/X86/NativeCode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "penstock/cache.h"
#include "penstock/inspect.h"

#include <atomic>
#include <mutex>

namespace penstock {

/// A context with our dialects loaded. Making one takes milliseconds, so they
/// are kept for reuse; each is used by one thread at a time.
class PooledContext {
public:
  /// Dialects that are loaded at least. Kernels that the cache has need no others than those
  /// of recorded programs, and LLVM's takes as long to load as all of these.
  enum class Dialects : uint8_t { Recorded, All };
  explicit PooledContext(Dialects dialects = Dialects::All);
  ~PooledContext();
  PooledContext(PooledContext &&) = default;
  PooledContext &operator=(PooledContext &&) = default;
  mlir::MLIRContext *operator->() const { return context.get(); }
  mlir::MLIRContext *get() const { return context.get(); }
  void loadAllDialects() { context->loadAllAvailableDialects(); }

private:
  std::unique_ptr<mlir::MLIRContext> context;
};

/// Options of a compilation, beyond those that a user of the library sets.
struct BackendOptions {
  Target target = Target::native();
  bool lateCompletion = false;
  bool checkBarriers = true;
  bool contract = false; ///< products may be fused with sums
  Cpu cpu = Cpu::Host;   ///< of native code
  /// For tests: leaves out this point of every plan of a GPU kernel.
  int64_t omittedPoint = -1;
  /// Off for tests that compile far more than they run.
  bool optimized = true;
  std::map<std::string, int64_t> fixedSizes = {};
  /// Verifies the program after every pass. Always on; tools can say otherwise.
  bool verify = true;
  /// Receives the program after each pass, and how long each took.
  std::function<void(llvm::StringRef pass, llvm::StringRef text)> afterPass = {};
  bool timing = false;
  /// File for a reproducer of an internal error; empty: none.
  std::string reproducer = {};
};

/// The architecture of a GPU target.
const hw::Architecture &architectureOf(Target target);

/// Returns the instructions of a level on this machine. No value, with an error, if it has not.
std::optional<NativeCpu> nativeCpuFor(Cpu level, llvm::StringRef kernel,
                                      const SourceLocation &location,
                                      std::vector<Diagnostic> &diagnostics);

/// Reads a tile program from text: bounded nesting, only our language.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(mlir::MLIRContext *context, llvm::StringRef text,
                                               llvm::StringRef fileName,
                                               std::vector<Diagnostic> &diagnostics);

/// Compiles one kernel of a verified tile program.
detail::ExecutableRef compileProgram(PooledContext context,
                                     mlir::OwningOpRef<mlir::ModuleOp> module,
                                     llvm::StringRef kernel, const BackendOptions &options,
                                     std::vector<Diagnostic> &diagnostics);

/// Creates an executable before compilation: its launch checks and its program.
detail::ExecutableRef beginExecutable(mlir::ModuleOp module, llvm::StringRef kernel,
                                      const BackendOptions &options);

/// Links the object of a kernel and finds its entries; null and an error text on failure.
std::unique_ptr<NativeCode> linkNative(NativeObject object, llvm::StringRef kernel,
                                       NativeEntries &entries, std::string &error);

/// Records a kernel function into a verified tile program.
mlir::OwningOpRef<mlir::ModuleOp> recordKernel(mlir::MLIRContext *context,
                                               const detail::KernelSource &source,
                                               const CompileOptions &options,
                                               std::vector<Diagnostic> &diagnostics);

/// A registered kernel with its fields set; no value on errors.
std::optional<detail::KernelSource> kernelSource(const std::string &kernel,
                                                 const InspectOptions &options,
                                                 std::vector<Diagnostic> &diagnostics);

/// Returns the data of a kernel that launches need.
KernelInfo infoOf(mlir::func::FuncOp kernel);

/// PS1503 for a text that has no kernel of a name.
Diagnostic noKernel(mlir::ModuleOp module, const std::string &file, const std::string &kernel);

namespace detail {

class Executable {
public:
  std::atomic<int> users = 0;
  KernelInfo info;
  std::string tileProgram;
  bool lateCompletion = false;
  // Native code ...
  std::shared_ptr<NativeCode> code;
  NativeEntries entries;
  // ... or a kernel for a GPU ...
  /// In order of preference. With what compileRest makes, the last one takes every tensor.
  std::vector<std::shared_ptr<EmulatedKernel>> devices;
  using CompileRest = std::function<std::shared_ptr<EmulatedKernel>(std::vector<Diagnostic> &)>;
  CompileRest compileRest; ///< empty: there is no rest
  /// All of them. The rest is compiled by the first call; errors are added each time.
  const std::vector<std::shared_ptr<EmulatedKernel>> &allDevices(std::vector<Diagnostic> &errors);
  /// Returns whether no compiled kernel accepts these arguments.
  bool needsRest(std::span<const Argument> arguments) const;
  /// The kernel for these arguments; null, with errors, if it cannot be compiled.
  const EmulatedKernel *deviceFor(std::span<const Argument> arguments,
                                  std::vector<Diagnostic> &errors);
  bool emulated = false;
  std::vector<Cubin> cubins; ///< of the artifact that it was loaded from
  /// Cache of machine code; no value: that of the process.
  std::optional<KernelCache> cache;
  /// The kernel on GPUs, made by the first launch; null, with errors, if it cannot be compiled.
  cuda::Program *gpuFor(std::span<const Argument> arguments, std::vector<Diagnostic> &errors);
  cuda::Program &gpu();
  /// Variants as data: all of them, or some.
  Artifact artifact(std::vector<Diagnostic> &errors);
  Artifact artifactOf(const std::vector<std::shared_ptr<EmulatedKernel>> &variants) const;
  /// Assemblers with the cache.
  cuda::LoadPolicy loadPolicy() const;
  // ... or a program for the interpreter, which runs one launch at a time.
  std::unique_ptr<PooledContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp kernel;
  std::mutex interpreting;

private:
  std::once_flag gpuMade, allGpuMade, allMade;
  std::unique_ptr<cuda::Program> gpuProgram, allGpuProgram;
  std::vector<std::shared_ptr<EmulatedKernel>> all;
  std::vector<Diagnostic> restErrors;
};

} // namespace detail

/// Compiles the kernel for rows that the first one does not take, from a recorded program.
detail::Executable::CompileRest compileRestOf(mlir::ModuleOp recorded,
                                              const BackendOptions &options);

} // namespace penstock

#endif // PENSTOCK_COMPILER_COMPILER_H
