//===- Phases.cpp - Invariants of phases ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Phases/Phases.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Dialect/NV/AttributeRules.h"
#include "Dialect/Tile/Target.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Phases/KernelPass.h"

using namespace mlir;
using namespace penstock;
using nv::NVDialect;
using nv::Phase;
using tile::TileDialect;

namespace {

/// A violation: what is wrong, after the name of the operation.
using Violation = std::optional<std::string>;

std::string quoted(StringRef name) { return ("`" + name + "`").str(); }

class PhaseVerifier {
public:
  PhaseVerifier(func::FuncOp kernel, Phase phase)
      : kernel(kernel), phase(phase), tileProgram(nvptx::isTileProgram(kernel)) {}

  LogicalResult run(StringRef pass) {
    WalkResult walked = kernel->walk([&](Operation *op) {
      Violation wrong = violationOf(op);
      if (!wrong)
        return WalkResult::advance();
      op->emitError() << "after `" << pass << "` the kernel is not in phase `"
                      << nv::stringifyPhase(phase) << "`: `" << op->getName() << "` " << *wrong;
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

private:
  Violation violationOf(Operation *op) {
    if (auto name = nv::attributeOfOtherPhase(op, phase))
      return "has `" + name->str() + "`, which does not exist in this phase";
    if (op == kernel)
      return ofKernel();
    if (Violation wrong = ofSchedule(op))
      return wrong;
    if (isa<NVDialect>(op->getDialect()))
      return ofHardware(op);
    return ofTiles(op);
  }

  Violation ofKernel() {
    auto marked = kernel->getAttrOfType<nv::PhaseAttr>(NVDialect::phaseAttr);
    if (!marked)
      return "has no `nv.phase`";
    if (marked.getValue() != phase)
      return "is in phase " + quoted(nv::stringifyPhase(marked.getValue()));
    if (!tile::targetOf(kernel))
      return "has no `tile.target`";
    if (tileProgram && phase >= Phase::Bound && !kernel->hasAttr(NVDialect::threadsAttr))
      return "has no `nv.threads`";
    return std::nullopt;
  }

  Violation ofSchedule(Operation *op) {
    if (phase < Phase::Ordered || !tileProgram)
      return std::nullopt;
    for (StringRef name : {TileDialect::scheduleAttr, TileDialect::scheduledAttr,
                           TileDialect::formAttr, TileDialect::roleAttr})
      if (op->hasAttr(name))
        return "has " + quoted(name) + ", which plans have replaced";
    return std::nullopt;
  }

  /// Sequential programs have no operations of `nv` but the loop over blocks and, with engines,
  /// tiles of tensor memory and the barrier at the end of a cluster.
  Violation ofHardware(Operation *op) {
    if (!tileProgram || phase >= Phase::Pipelined || isa<nv::ClcWorkOp>(op) ||
        (phase == Phase::Bound && isa<nv::TensorAllocOp, nv::ClusterSyncOp>(op)))
      return std::nullopt;
    return "does not exist in a sequential program";
  }

  Violation ofTiles(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return ofCopy(copy);
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      return ofGemm(gemm);
    if (auto alloc = dyn_cast<tile::AllocOp>(op))
      return ofAlloc(alloc);
    if (phase >= Phase::Ordered && tileProgram && isa<tile::WaitOp, tile::StatementOp>(op))
      return "does not exist where all that is asynchronous is of `nv`";
    if (phase >= Phase::Placed && isa<memref::DeallocOp>(op))
      return "does not exist after offsets in shared memory are final";
    return std::nullopt;
  }

  Violation ofCopy(tile::CopyOp copy) {
    if (phase == Phase::Bound && tileProgram && nvptx::isPipelinedStatement(copy) &&
        !copy->hasAttr(NVDialect::engineAttr))
      return "is a statement of a pipelined loop and has no `nv.engine`";
    if (phase >= Phase::Pipelined && (copy.getPadding() || copy.getHalved()))
      return "is padded or halved, which only TMA copies";
    return ofAsync(copy.getAsyncAttr());
  }

  Violation ofGemm(tile::GemmOp gemm) {
    bool engines = phase == Phase::Bound || phase == Phase::Pipelined;
    if (engines && tileProgram && !gemm->hasAttr(NVDialect::engineAttr))
      return "has no `nv.engine`";
    if (phase >= Phase::Ordered && tileProgram && gemm.getStarts())
      return "starts an accumulator, which only async engines do";
    return ofAsync(gemm.getAsyncAttr());
  }

  Violation ofAsync(StringAttr name) {
    if (phase >= Phase::Ordered && tileProgram && name)
      return "is asynchronous, and nothing awaits it";
    return std::nullopt;
  }

  Violation ofAlloc(tile::AllocOp alloc) {
    if (phase < Phase::Placed || alloc->use_empty())
      return std::nullopt;
    auto type = cast<MemRefType>(alloc.getResult().getType());
    tile::Space space = tile::spaceOf(type);
    if (space == tile::Space::Shared && !alloc->hasAttr(NVDialect::offsetAttr))
      return "is in shared memory and has no `nv.offset`";
    if (space == tile::Space::Local && type.getRank() > 0 && tileProgram &&
        !alloc->hasAttr(NVDialect::layoutAttr))
      return "is in registers and has no `nv.layout`";
    return std::nullopt;
  }

  func::FuncOp kernel;
  Phase phase;
  bool tileProgram;
};

} // namespace

LogicalResult nvptx::verifyPhase(func::FuncOp kernel, Phase phase, StringRef pass) {
  return PhaseVerifier(kernel, phase).run(pass);
}

/// Whether two descriptions have the same statements. Those of \p known may have been erased.
static bool sameStatements(const PipelineLoop &known, const PipelineLoop &now) {
  return llvm::equal(known.statements, now.statements,
                     [](const PipelineStatement &a, const PipelineStatement &b) {
                       return a.op == b.op && a.conditions == b.conditions && a.loads == b.loads;
                     });
}

LogicalResult nvptx::verifySchedules(func::FuncOp kernel, PipelineLoops &loops, StringRef pass) {
  WalkResult walked = kernel.walk([&](scf::ForOp loop) {
    if (!loop->hasAttr(TileDialect::scheduleAttr))
      return WalkResult::advance();
    PipelineLoop body = analyzeLoop(loop);
    if (!sameStatements(loops.of(loop), body)) {
      loop->emitError() << "after `" << pass << "` the kernel is not in phase `bound`: a pass has "
                        << "changed the statements of this loop and preserved `PipelineLoops`";
      return WalkResult::interrupt();
    }
    Operation *statement = findUnscheduled(body);
    if (!statement)
      return WalkResult::advance();
    statement->emitError() << "after `" << pass << "` the kernel is not in phase `bound`: `"
                           << statement->getName()
                           << "` is a statement of a pipelined loop and has no `"
                           << TileDialect::scheduledAttr << "`";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

bool nvptx::isTileProgram(func::FuncOp function) {
  return function->hasAttr(NVDialect::tileProgramAttr);
}

LogicalResult nvptx::enterPhase(func::FuncOp kernel, Phase required, StringRef pass) {
  if (!tile::targetOf(kernel))
    return kernel.emitError() << "`" << pass << "` requires `tile.target` on kernels";
  auto phase = kernel->getAttrOfType<nv::PhaseAttr>(NVDialect::phaseAttr);
  if (!phase || phase.getValue() == required)
    return success();
  return kernel.emitError() << "`" << pass << "` requires a kernel in phase `"
                            << nv::stringifyPhase(required) << "`; this one is in phase `"
                            << nv::stringifyPhase(phase.getValue()) << "`";
}

LogicalResult nvptx::leavePhase(func::FuncOp kernel, Phase produced, StringRef pass) {
  if (!kernel->hasAttr(NVDialect::phaseAttr))
    return success();
  kernel->setAttr(NVDialect::phaseAttr, nv::PhaseAttr::get(kernel.getContext(), produced));
#ifndef NDEBUG
  return verifyPhase(kernel, produced, pass);
#else
  (void)pass;
  return success();
#endif
}
