//===- ResolveSchedules.cpp - Check or choose schedules of loops ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/PipelineLoop.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileDialect.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_RESOLVESCHEDULES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct ResolveSchedules : penstock::impl::ResolveSchedulesBase<ResolveSchedules> {
  void runOnOperation() override {
    bool ok = true;
    getOperation().walk([&](scf::ForOp loop) {
      auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
      if (schedule && !schedule.getResolved())
        ok &= resolve(loop);
    });
    if (!ok)
      signalPassFailure();
  }

  bool resolve(scf::ForOp loop) {
    PipelineLoop body = analyzeLoop(loop);
    sched::PipelinedLoop resolved;
    resolved.diagnostics = sched::check(body.problem);
    if (resolved.diagnostics.empty())
      resolved = sched::resolve(body.problem, body.annotations, body.namedScalars);
    for (const penstock::Diagnostic &diagnostic : resolved.diagnostics)
      tile::emit(locationOf(diagnostic, body), diagnostic);
    if (!resolved.schedule)
      return false;
    loop->setAttr(tile::TileDialect::scheduleAttr,
                  tile::ScheduleAttr::get(&getContext(), 0, resolved.schedule->stage,
                                          resolved.schedule->order, true));
    return true;
  }

  /// The library knows places, not locations.
  static Location locationOf(const penstock::Diagnostic &diagnostic, const PipelineLoop &body) {
    for (size_t i = 0; i < body.statements.size(); ++i)
      if (body.problem.statements[i].place == diagnostic.place)
        return body.statements[i].op->getLoc();
    return body.loop->getLoc();
  }
};

} // namespace
