//===- Launch.cpp - State shared by a launch's blocks ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Launch.h"
#include "Dialect/Tile/Locations.h"

using namespace mlir;

namespace penstock::interpreter {

/// More faults than anyone reads.
static constexpr size_t maxFaults = 100;

bool Launch::charge(Operation *op, uint64_t steps) {
  if (stop)
    return false;
  if (steps > options.maxSteps - used) {
    used = options.maxSteps;
    fatal(op, FaultSteps,
          "the kernel did not end within " + std::to_string(options.maxSteps) + " steps");
    return false;
  }
  used += steps;
  return true;
}

bool Launch::wants(Operation *op, DiagnosticCode code) const {
  return faults.size() < maxFaults && !seen.contains({op, code});
}

void Launch::fault(Operation *op, DiagnosticCode code, std::string message,
                   std::vector<DiagnosticNote> notes, std::vector<std::string> helps) {
  if (!wants(op, code))
    return;
  seen.insert({op, code});
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.location = tile::sourceLocationOf(op->getLoc());
  diagnostic.message = std::move(message);
  diagnostic.notes = std::move(notes);
  diagnostic.helps = std::move(helps);
  if (!block.empty()) {
    std::string coordinates;
    for (int64_t coordinate : block)
      coordinates += (coordinates.empty() ? "" : ",") + std::to_string(coordinate);
    diagnostic.label = "in block (" + coordinates + ")";
    diagnostic.facts.emplace_back("block", coordinates);
  }
  faults.push_back(std::move(diagnostic));
}

void Launch::fatal(Operation *op, DiagnosticCode code, std::string message) {
  // Why the launch ended must be told, even after a hundred other faults.
  if (faults.size() >= maxFaults)
    faults.pop_back();
  fault(op, code, std::move(message));
  stop = true;
}

} // namespace penstock::interpreter
