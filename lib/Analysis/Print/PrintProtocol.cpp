//===- PrintProtocol.cpp - The pass nv-print-protocol ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelSizes.h"
#include "Analysis/Kernel/KernelTrace.h"
#include "Analysis/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_PRINTPROTOCOL
#include "Analysis/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

using Kind = sched::ProtocolStep::Kind;

const char *textOf(Kind kind) {
  switch (kind) {
  case Kind::Touch:
    return "threads";
  case Kind::Wait:
    return "wait";
  case Kind::Arrive:
    return "arrive";
  case Kind::Copy:
    return "copy";
  case Kind::Start:
    return "start";
  case Kind::Commit:
    return "commit";
  case Kind::CloseGroup:
    return "close group";
  case Kind::AwaitGroups:
    return "await groups";
  case Kind::Sync:
    return "sync";
  }
  llvm_unreachable("all kinds are covered");
}

std::string textOf(const sched::Protocol &protocol, const sched::ProtocolAccess &access) {
  std::string text =
      std::string(access.maybe ? "may " : "") +
      (access.write ? (access.maybe ? "write " : "writes ") : (access.maybe ? "read " : "reads ")) +
      protocol.tiles[access.box.tile].name + "[";
  for (unsigned d = 0; d < access.box.rank; ++d)
    text += (d ? ", " : "") + std::to_string(access.box.begin[d]) + ":" +
            std::to_string(access.box.end[d]);
  return text + "]";
}

std::string textOf(const sched::Protocol &protocol, const sched::ProtocolStep &step) {
  std::string text = "  " + protocol.sources[step.source].name + ": " + textOf(step.kind);
  bool onBarrier = step.kind == Kind::Wait || step.kind == Kind::Arrive ||
                   step.kind == Kind::Copy || step.kind == Kind::Commit;
  if (onBarrier)
    text += " " + protocol.barriers[step.barrier].name;
  if (step.kind == Kind::Arrive || step.kind == Kind::Commit)
    text += ", " + std::to_string(step.count) + " arrivals";
  if (step.kind == Kind::AwaitGroups)
    text += ", " + std::to_string(step.count) + " in flight";
  if (step.bytes)
    text += ", " + std::to_string(step.bytes) + " bytes";
  if (step.kind == Kind::Wait)
    text += ", parity " + std::to_string(step.parity);
  for (const sched::ProtocolAccess &access : step.accesses)
    text += ", " + textOf(protocol, access);
  return text;
}

struct PrintProtocol : penstock::impl::PrintProtocolBase<PrintProtocol> {
  using PrintProtocolBase::PrintProtocolBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!getOperation()->hasAttr(nv::NVDialect::threadsAttr))
      return;
    KernelTrace trace(getOperation());
    KernelSizes sizes(getOperation(), trace);
    std::optional<SizeAssignment> chosen;
    for (const KernelSizes::Choice &choice : sizes.choices()) {
      llvm::errs() << "sizes:";
      for (const auto &[name, value] : choice.assignment.sizes)
        llvm::errs() << " " << name << " = " << value;
      llvm::errs() << "; " << choice.iterations << " iterations, " << choice.rounds << " rounds\n";
      if (!chosen && choice.iterations == iterations)
        chosen = choice.assignment;
    }
    auto protocol = chosen ? trace.simulate(*chosen) : std::nullopt;
    if (chosen && !protocol)
      trace.unsupportedAt()->emitRemark(trace.reason());
    if (!protocol)
      return;
    for (const sched::ProtocolRole &role : protocol->roles) {
      llvm::errs() << role.name << ":\n";
      for (const sched::ProtocolStep &step : role.steps)
        llvm::errs() << textOf(*protocol, step) << "\n";
    }
  }
};

} // namespace
