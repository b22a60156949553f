//===- KernelProtocol.cpp - Check of a kernel's barriers ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelProtocol.h"
#include "Analysis/Kernel/KernelSizes.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Locations.h"

using namespace mlir;

namespace penstock {
namespace {

class Check {
public:
  explicit Check(func::FuncOp kernel) : kernel(kernel), trace(kernel) {}

  ProtocolReport run();

private:
  bool simulate(const SizeAssignment &assignment);
  /// A loop with barriers that was never entered, if there is one.
  Operation *loopNotEntered();
  void decideForEveryNumber();

  func::FuncOp kernel;
  KernelTrace trace;
  std::vector<sched::Protocol> simulated;
  std::vector<Diagnostic> doubts; ///< that could not be resolved
  ProtocolReport report;
};

/// False if there is no point in going on.
bool Check::simulate(const SizeAssignment &assignment) {
  std::optional<sched::Protocol> protocol = trace.simulate(assignment);
  if (!protocol) {
    report.unsupportedAt = trace.unsupportedAt();
    report.why = trace.reason();
    return false;
  }
  report.findings = sched::simulateProtocol(*protocol, doubts.empty());
  simulated.push_back(std::move(*protocol));
  // Doubts about a phase become definite errors, with their cause, with more iterations.
  if (!report.findings.empty() && report.findings.front().code == PhaseNotExact) {
    if (doubts.empty())
      doubts = std::move(report.findings);
    report.findings.clear();
  }
  return report.findings.empty();
}

Operation *Check::loopNotEntered() {
  Operation *found = nullptr;
  kernel.walk([&](LoopLikeOpInterface loop) {
    auto counted = dyn_cast<scf::ForOp>(*loop);
    if (!found && (counted ? !hasKnownLength(counted) : isa<scf::WhileOp>(*loop)) &&
        touchesBarriers(loop) && !trace.entered(loop))
      found = loop;
  });
  return found;
}

/// Checks the lists with the event graph if they form rings.
void Check::decideForEveryNumber() {
  report.roles = sched::rolesOf(simulated);
  if (!report.roles)
    return;
  sched::RolesVerdict verdict = sched::checkRoles(*report.roles);
  if (!verdict.live) {
    report.findings.push_back(verdict.reason);
    return;
  }
  sched::ParityVerdict parity = sched::checkParity(*report.roles);
  if (parity.exact) {
    report.everyNumber = true;
    return;
  }
  // Phases that depend on the timing are not errors in themselves. For numbers that
  // were simulated it is known that they do no harm.
  int64_t from = 0;
  for (const auto &[name, value] : parity.reason.facts)
    if (name == "iterations")
      from = std::stoll(value);
  if (from > report.iterations)
    report.findings.push_back(parity.reason);
}

ProtocolReport Check::run() {
  KernelSizes sizes(kernel, trace);
  for (const KernelSizes::Choice &choice : sizes.choices()) {
    if (!simulate(choice.assignment)) {
      if (report.findings.empty())
        report.findings = std::move(doubts);
      return std::move(report);
    }
    report.iterations = std::max(report.iterations, choice.iterations);
    report.rounds = std::max({report.rounds, choice.rounds, choice.assignment.grants + 1});
  }
  if (!doubts.empty()) {
    report.findings = std::move(doubts);
    return std::move(report);
  }
  report.allAllowed = !sizes.excluded();
  if (simulated.empty()) {
    report.unsupportedAt = kernel;
    report.why = "its requirements exclude the sizes that were tried";
    return std::move(report);
  }
  if (Operation *loop = loopNotEntered()) {
    report.unsupportedAt = loop;
    report.why = "no sizes were found for which this loop runs";
    return std::move(report);
  }
  if (sizes.countsOneLoop() && !trace.nested())
    decideForEveryNumber();
  return std::move(report);
}

} // namespace

std::optional<ProtocolReport> checkProtocol(func::FuncOp kernel) {
  bool hasBarriers = false;
  kernel.walk(
      [&](Operation *op) { hasBarriers |= isa<nv::BarrierAllocOp, nv::NamedBarrierAllocOp>(op); });
  if (!hasBarriers || !kernel->hasAttr(nv::NVDialect::threadsAttr))
    return std::nullopt;
  return Check(kernel).run();
}

Diagnostic unsupportedWarning(const ProtocolReport &report) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = ProtocolUnsupported;
  d.location = tile::sourceLocationOf(report.unsupportedAt->getLoc());
  d.message = "not all of the barriers were checked: " + report.why;
  d.helps.push_back("barriers, phases and trip counts that follow from sizes of tensors are "
                    "checked here; the emulator checks the rest: `penstock check`");
  return d;
}

std::string describe(const ProtocolReport &report) {
  if (report.unsupportedAt) {
    SourceLocation location = tile::sourceLocationOf(report.unsupportedAt->getLoc());
    return "not all of the barriers were checked: line " + std::to_string(location.line) + ": " +
           report.why + "; the emulator checks the rest";
  }
  std::string upTo = "0 to " + std::to_string(report.iterations) + " iterations";
  if (report.rounds > 1)
    upTo += ", in up to " + std::to_string(report.rounds) + " rounds of the loop around them";
  if (!report.allAllowed)
    upTo += " where its requirements allow them";
  return report.everyNumber
             ? "barriers are right for every number of iterations, the use of tiles for " + upTo
             : "barriers and the use of tiles are right for " + upTo;
}

} // namespace penstock
