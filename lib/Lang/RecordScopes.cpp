//===- RecordScopes.cpp - The grid, loops, conditions, statements ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/RecordSupport.h"
#include "Lang/Recorder.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::lang;

void penstock::detail::grid(Refs extents, int64_t swizzle, List<Ref> out, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  for (Ref &ref : out)
    ref = r->poison();
  SmallVector<mlir::Value> values;
  for (Ref extent : extents) {
    Entry *entry = r->use(extent, at, "extent of the grid");
    if (!entry)
      return;
    values.push_back(entry->value);
  }
  SmallVector<Type> types(values.size(), r->builder.getIndexType());
  auto op = tile::GridOp::create(r->builder, r->locationOf(at), types, values,
                                 swizzle == noSwizzle ? IntegerAttr()
                                                      : r->builder.getI64IntegerAttr(swizzle),
                                 /*cluster=*/DenseI64ArrayAttr());
  if (!r->verify(op))
    return;
  for (auto [ref, coordinate] : llvm::zip(out, op.getCoordinates()))
    ref = r->add(coordinate);
}

void penstock::detail::prefer(Ints blocks, bool pair, bool launchControl, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  auto grids = r->function.getBody().front().getOps<tile::GridOp>();
  if (grids.empty())
    return r->error(GridForm, at, "`prefer` is called before `grid`",
                    "blocks of a cluster are counted along the extents of the grid");
  tile::GridOp grid = *grids.begin();
  // A copy is verified: an error names this call, and coordinates of the grid stay in use.
  auto asked = cast<tile::GridOp>(r->builder.clone(*grid));
  asked->setLoc(r->locationOf(at));
  SmallVector<int64_t> cluster(blocks.begin(), blocks.end());
  if (cluster.empty()) // not stated
    cluster.assign(grid.getNumResults(), 1);
  if (pair && llvm::all_of(cluster, [](int64_t along) { return along == 1; }))
    cluster.front() = 2;
  asked.setCluster(cluster);
  asked.setPair(pair);
  asked.setLaunchControl(launchControl);
  if (!r->verify(asked))
    return;
  asked.erase();
  if (!llvm::all_of(cluster, [](int64_t along) { return along == 1; }))
    grid.setCluster(cluster);
  grid.setPair(pair);
  grid.setLaunchControl(launchControl);
}

/// A loop that is only there so that the body of a wrong one can be recorded.
static penstock::detail::Scope openPoisonedLoop(Recorder *r, Ref &index, Location loc) {
  mlir::Value zero = r->constant(r->builder.getIndexAttr(0));
  mlir::Value one = r->constant(r->builder.getIndexAttr(1));
  auto loop = scf::ForOp::create(r->builder, loc, zero, zero, one);
  index = r->poison();
  return r->open(loop, loop.getBody());
}

penstock::detail::Scope penstock::detail::openLoop(const LoopArguments &arguments, Ref &index,
                                                   Loc at) {
  RECORDING(r, at);
  Location loc = r->locationOf(at);
  Entry *begin = r->use(arguments.begin, at, "start of the loop");
  Entry *end = r->use(arguments.end, at, "end of the loop");
  Entry *step = r->use(arguments.step, at, "step of the loop");
  if (!begin || !end || !step)
    return openPoisonedLoop(r, index, loc);
  if (auto constant = getConstantIntValue(step->value); constant && *constant <= 0) {
    r->error(DivisorForm, at,
             "the step of a loop is " + std::to_string(*constant) + "; it must be positive",
             *constant ? "to run backwards, count upwards and use end - 1 - i "
                         "in the body"
                       : "");
    return openPoisonedLoop(r, index, loc);
  }
  SmallVector<NamedAttribute> attributes;
  if (arguments.pipelined) {
    auto list = [](List<const int> from) { return SmallVector<int64_t>(from.begin(), from.end()); };
    SmallVector<int64_t> stage = list(arguments.stage), order = list(arguments.order),
                         asyncStages = list(arguments.asyncStages),
                         asyncProducers = list(arguments.asyncProducers),
                         asyncProducerGroups = list(arguments.asyncProducerGroups);
    using Entries = ArrayRef<int64_t>;
    auto schedule = tile::ScheduleAttr::getChecked(
        [&] { return mlir::emitError(loc); }, r->context, static_cast<int64_t>(arguments.numStages),
        Entries(stage), Entries(order), Entries(asyncStages), Entries(asyncProducers),
        Entries(asyncProducerGroups), static_cast<int64_t>(arguments.solverSeconds));
    if (!schedule)
      return openPoisonedLoop(r, index, loc);
    attributes.push_back(r->builder.getNamedAttr(tile::TileDialect::scheduleAttr, schedule));
    if (!arguments.form.empty())
      attributes.push_back(r->builder.getNamedAttr(tile::TileDialect::formAttr,
                                                   r->builder.getStringAttr(arguments.form)));
  }
  if (arguments.unroll != -1) {
    if (arguments.unroll < 0 || arguments.unroll > 64) {
      r->error(UnrollFactor, at,
               "the unroll factor is " + std::to_string(arguments.unroll) +
                   "; it must be between 0 (unroll fully) and 64");
      return openPoisonedLoop(r, index, loc);
    }
    attributes.push_back(r->builder.getNamedAttr(tile::TileDialect::unrollAttr,
                                                 r->builder.getI64IntegerAttr(arguments.unroll)));
  }
  auto loop = scf::ForOp::create(r->builder, loc, begin->value, end->value, step->value);
  for (NamedAttribute attribute : attributes)
    loop->setAttr(attribute.getName(), attribute.getValue());
  Scope scope = r->open(loop, loop.getBody());
  index = r->add(loop.getInductionVar());
  return scope;
}

penstock::detail::Scope penstock::detail::openCondition(Ref condition, bool hasElse, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(condition, at, "condition");
  mlir::Value value = entry ? entry->value : r->constant(r->builder.getBoolAttr(false));
  auto op = scf::IfOp::create(r->builder, r->locationOf(at), TypeRange(), value,
                              /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  OpBuilder inner(r->context);
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()})
    if (!region->empty() && region->front().empty()) {
      inner.setInsertionPointToEnd(&region->front());
      scf::YieldOp::create(inner, op.getLoc());
    }
  return r->open(op, &op.getThenRegion().front());
}

void penstock::detail::openElse(Scope scope) {
  Recorder *r = Recorder::current();
  if (!r || r->id != scope.recorder || !r->isOpen(scope.token))
    return;
  r->openSecondBranch(scope.token);
}

penstock::detail::Scope penstock::detail::openStatement(std::string_view name,
                                                        std::string_view role, Loc at) {
  RECORDING(r, at);
  Location loc = r->locationOf(at);
  auto op = tile::StatementOp::create(r->builder, loc, StringRef(name));
  OpBuilder inner(r->context);
  mlir::Block *body = inner.createBlock(&op.getBody());
  tile::YieldOp::create(inner, loc);
  if (name.empty())
    r->error(OpForm, at, "a statement needs a name",
             "the name identifies it in schedules and messages, as in "
             "b.statement(\"softmax\", ..)");
  if (!role.empty() && !tile::TileDialect::isRoleName(role))
    r->error(OpForm, at, "`" + std::string(role) + "` is not a name of a role",
             "roles are named like variables, as in {.role = \"softmax\"}");
  else if (!role.empty())
    op->setAttr(tile::TileDialect::roleAttr, r->builder.getStringAttr(role));
  return r->open(op, body);
}

penstock::detail::Scope penstock::detail::openParallel(Ints extents, List<Ref> indices, Loc at) {
  RECORDING(r, at);
  Location loc = r->locationOf(at);
  auto op =
      tile::ParallelOp::create(r->builder, loc, ArrayRef<int64_t>(extents.data(), extents.size()));
  OpBuilder inner(r->context);
  mlir::Block *body = inner.createBlock(&op.getBody());
  for (size_t i = 0; i < extents.size(); ++i)
    body->addArgument(r->builder.getIndexType(), loc);
  tile::YieldOp::create(inner, loc);
  Scope scope = r->open(op, body);
  for (auto [ref, argument] : llvm::zip(indices, body->getArguments()))
    ref = r->add(argument);
  return scope;
}

void penstock::detail::close(Scope scope) {
  Recorder *r = Recorder::current();
  if (!r || r->id != scope.recorder)
    return;
  r->close(scope.token);
}

void penstock::detail::abandon(Scope scope) {
  Recorder *r = Recorder::current();
  if (!r || r->id != scope.recorder || !r->isOpen(scope.token))
    return;
  r->abandon(scope.token);
}
