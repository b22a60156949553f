//===- PrintExecution.cpp - The pass nv-print-execution -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Passes.h"
#include "Dialect/NV/NVDialect.h"

namespace penstock {
#define GEN_PASS_DEF_PRINTEXECUTION
#include "Analysis/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

std::string textOf(nv::Issuer issuer) {
  switch (issuer) {
  case nv::Issuer::EachThread:
    return "by each thread";
  case nv::Issuer::Warps:
    return "by whole warps";
  case nv::Issuer::Warpgroups:
    return "by whole warpgroups";
  case nv::Issuer::Block:
    return "by the block";
  case nv::Issuer::OneThread:
    return "by one thread";
  }
  llvm_unreachable("all issuers are covered");
}

std::string textOf(nv::Queue queue) {
  switch (queue) {
  case nv::Queue::Tensor:
    return "queue `tcgen05`";
  case nv::Queue::Wgmma:
    return "queue `wgmma`";
  case nv::Queue::AsyncCopy:
    return "queue `cp.async`";
  case nv::Queue::BulkStore:
    return "queue `bulk store`";
  }
  llvm_unreachable("all queues are covered");
}

std::string textOf(nv::Availability availability) {
  switch (availability) {
  case nv::Availability::Sm80AndLater:
    return "sm_80 and later";
  case nv::Availability::Sm90AndLater:
    return "sm_90 and later";
  case nv::Availability::OnlySm90a:
    return "sm_90a only";
  case nv::Availability::OnlySm100a:
    return "sm_100a only";
  }
  llvm_unreachable("all architectures are covered");
}

/// Describes completion and synchronization.
std::string effectOf(nv::HardwareOpInterface op) {
  if (op.getCompletion() == nv::Completion::OnBarrier)
    return "completes on its mbarrier";
  if (op.getCompletion() == nv::Completion::InQueue)
    return "completes in " + textOf(*op.getQueue());
  switch (op.getSynchronization()) {
  case nv::Synchronization::None:
    return "completes immediately";
  case nv::Synchronization::Sync:
    return "synchronizes threads";
  case nv::Synchronization::Arrive:
    return "arrives on a barrier";
  case nv::Synchronization::Wait:
    return "waits for a barrier";
  case nv::Synchronization::CloseGroup:
    return "closes a group of " + textOf(*op.getQueue());
  case nv::Synchronization::AwaitGroups:
    return "awaits groups of " + textOf(*op.getQueue());
  case nv::Synchronization::Commit:
    return "arrives on a barrier after " + textOf(*op.getQueue());
  }
  llvm_unreachable("all kinds are covered");
}

std::string textOf(const nv::HardwareAccess &access) {
  std::string text;
  if (access.reads)
    text = access.readsIf ? "may read" : "reads";
  if (access.writes)
    text += text.empty() ? "writes" : " and writes";
  std::string name = tile::nameOf(access.memref);
  text += access.offsets.empty() ? " `" + name + "`" : std::string(" a tensor");
  return text + (access.engineLayout ? " in the layout of engines" : "");
}

struct PrintExecution : penstock::impl::PrintExecutionBase<PrintExecution> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    getOperation().walk([](nv::HardwareOpInterface op) {
      if (op->hasTrait<OpTrait::IsTerminator>())
        return;
      SmallVector<nv::HardwareAccess> accesses;
      op.getAccesses(accesses);
      std::string text = textOf(op.getIssuer()) + "; " + effectOf(op);
      for (auto [i, access] : llvm::enumerate(accesses))
        text += (i ? ", " : "; ") + textOf(access);
      op->emitRemark(text + "; " + textOf(op.getAvailability()));
    });
  }
};

} // namespace
