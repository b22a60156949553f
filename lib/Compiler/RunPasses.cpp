//===- RunPasses.cpp - Runs a pipeline of passes --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/RunPasses.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/CrashRecoveryContext.h"

using namespace mlir;
using namespace penstock;

namespace {

class AfterPass : public PassInstrumentation {
public:
  explicit AfterPass(std::function<void(StringRef, StringRef)> callback)
      : callback(std::move(callback)) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    // Adaptors hold pipelines; the passes in them report for themselves.
    if (pass->getArgument().empty())
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    op->print(os);
    callback(pass->getArgument(), text);
  }

private:
  std::function<void(StringRef, StringRef)> callback;
};

/// Runs \p work; returns false if it crashed. Signals are only caught where a
/// reproducer is asked for, which is in tools: a library leaves them to its user.
bool runGuarded(bool guarded, llvm::function_ref<void()> work) {
  if (!guarded) {
    work();
    return true;
  }
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  return recovery.RunSafely(work);
}

/// Leaves out what upstream adds to a refusal, such as that a pattern failed.
/// Returns false if there is no refusal.
bool keepRefusals(std::vector<penstock::Diagnostic> &said) {
  auto isRefusal = [](const penstock::Diagnostic &d) {
    return d.severity == Severity::Error && d.code != InternalError;
  };
  auto first = llvm::find_if(said, isRefusal);
  if (first == said.end())
    return false;
  said.erase(std::remove_if(first, said.end(),
                            [](const penstock::Diagnostic &d) { return d.code == InternalError; }),
             said.end());
  return true;
}

} // namespace

penstock::Diagnostic penstock::internalError(const std::string &text) {
  penstock::Diagnostic d;
  d.code = InternalError;
  d.message = "internal error while compiling: " + text;
  d.helps.push_back("this is a bug in Penstock, not in the kernel; please report it with the "
                    "kernel's tile program");
  return d;
}

bool penstock::runPasses(PassManager &passes, ModuleOp module, const BackendOptions &options,
                         std::vector<penstock::Diagnostic> &diagnostics) {
  passes.enableVerifier(options.verify);
  if (options.afterPass)
    passes.addInstrumentation(std::make_unique<AfterPass>(options.afterPass));
  if (options.timing)
    passes.enableTiming();
  // Passes change the program before they fail.
  bool reproducible = !options.reproducer.empty();
  OwningOpRef<ModuleOp> original;
  if (reproducible)
    original = module.clone();
  std::vector<penstock::Diagnostic> said;
  LogicalResult result = failure();
  bool returned;
  {
    tile::DiagnosticCollector collector(module.getContext(), said, InternalError);
    returned = runGuarded(reproducible, [&] { result = passes.run(module); });
  }
  bool refused = failed(result) && returned && keepRefusals(said);
  bool silent = llvm::none_of(
      said, [](const penstock::Diagnostic &d) { return d.severity == Severity::Error; });
  if (failed(result) && (silent || !returned))
    said.push_back(internalError(returned ? "a pass failed without saying why" : "a pass crashed"));
  if (failed(result) && !refused && reproducible)
    said.back().helps.push_back(makeReproducer(passes.getOpAnchorName(), passes.getPasses(),
                                               *original, options.reproducer,
                                               /*disableThreads=*/true, options.verify));
  diagnostics.insert(diagnostics.end(), std::make_move_iterator(said.begin()),
                     std::make_move_iterator(said.end()));
  return succeeded(result);
}
