//===- PassInstruments.cpp - Looking at passes while they run -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/PassInstruments.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

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

} // namespace

void penstock::installInstruments(PassManager &passes, const BackendOptions &options) {
  if (options.afterPass)
    passes.addInstrumentation(std::make_unique<AfterPass>(options.afterPass));
  if (options.timing)
    passes.enableTiming();
  if (!options.reproducer.empty())
    passes.enableCrashReproducerGeneration(options.reproducer);
}
