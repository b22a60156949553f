//===- PlanWriterPoints.cpp - Points, barriers and statements of a plan ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Plans/IssueProducts.h"
#include "Target/NVPTX/Plans/PlanWriter.h"

using namespace mlir;
using namespace penstock;
using nvptx::PlanWriter;
using sched::Engine;
using sched::PlanPoint;

bool PlanWriter::isRing(size_t buffer) const {
  const sched::Buffer &tile = body.problem.buffers[buffer];
  return tile.space == sched::Space::Shared ||
         (tile.space == sched::Space::Tensor && tile.readAfter.empty());
}

MemRefType PlanWriter::typeOf(size_t buffer) const {
  MemRefType whole = PipelineWriter::typeOf(buffer);
  if (!pair || !pair->isHalved(body.buffers[buffer]))
    return whole;
  return tile::tileType({whole.getDimSize(0) / 2, whole.getDimSize(1)}, whole.getElementType(),
                        tile::Space::Shared);
}

Value PlanWriter::allocate(MemRefType type, StringAttr label) {
  if (tile::spaceOf(type) != tile::Space::Tensor)
    return PipelineWriter::allocate(type, label);
  if (type.getRank() == 3)
    type = tile::tileType({type.getDimSize(1), type.getDimSize(0) * type.getDimSize(2)},
                          type.getElementType(), tile::Space::Tensor);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&loop->getParentOfType<func::FuncOp>().getBody().front());
  return nv::TensorAllocOp::create(b, loc, type, label);
}

Value PlanWriter::slotOf(size_t buffer, Value k) {
  auto ahead = step.aheadOf.find(k);
  if (ahead == step.aheadOf.end() && open)
    return writer.asIndex(loc, current.tokens.divide(b, loc, versions[buffer], k).slot);
  if (ahead == step.aheadOf.end())
    return PipelineWriter::slotOf(buffer, k);
  return writer.asIndex(loc, slotsOfTiles().at(b, loc, versions[buffer], ahead->second).slot);
}

Value PlanWriter::versionOf(size_t buffer, Value k) {
  int64_t count = versions[buffer];
  if (isRing(buffer) && body.problem.buffers[buffer].space == sched::Space::Tensor)
    return nvptx::columnsOf(b, loc, storage[buffer].front(), count, slotOf(buffer, k));
  if (isRing(buffer))
    return PipelineWriter::versionOf(buffer, k);
  return storage[buffer][size_t(((step.iteration % count) + count) % count)];
}

void PlanWriter::writePoint(const PlanPoint &point, Value k) {
  OpBuilder::InsertionGuard guard(b);
  if (point.at != sched::none)
    loc = statementOf(point).op->getLoc();
  if (point.guarded) {
    IRMapping mapping = iterationOf(k);
    enter(statementOf(point).conditions, mapping);
  }
  switch (point.kind) {
  case PlanPoint::Issue:
    step.part = of.statements[point.at].part;
    return writeInstance(of.statements[point.at].number, k);
  case PlanPoint::WaitGroup:
    return writer.waitGroup(loc, point,
                            groupsAfter(point, size_t(&point - current.role->points.data())));
  case PlanPoint::WaitBarrier:
    return waitBarrier(point, awaited(point, k));
  case PlanPoint::Expect: {
    Value bytes = bytesOf(point, k);
    if (pair) // of both blocks
      openIf(pair->isFirst());
    return writer.arrive(loc, barriers[point.barrier], slotOfToken(point.barrier, k), bytes,
                         /*leader=*/true);
  }
  case PlanPoint::Fence:
    return writer.fence(loc, point.fence);
  case PlanPoint::Join:
    nv::SyncOp::create(b, loc);
    return;
  case PlanPoint::Arrive: {
    bool wide = isWide(point);
    if (!point.leader && publishesByThreads(*current.role, point.barrier))
      nv::WarpSyncOp::create(b, loc); // one arrives for all threads of its warp
    return writer.arrive(loc, barriers[point.barrier], slotOfToken(point.barrier, k), Value(),
                         point.leader, wide ? ValueRange(sharing) : ValueRange(),
                         /*relaxed=*/wide && isRelaxed(point.barrier));
  }
  case PlanPoint::Commit:
    return writer.commit(loc, point.engine, barriers[point.barrier], slotOfToken(point.barrier, k),
                         isWide(point) ? shares->mask(b, loc) : Value());
  }
}

bool PlanWriter::isRelaxed(sched::BarrierId barrier) const {
  return llvm::all_of(plan.roles, [&](const sched::PlanRole &role) {
    return llvm::all_of(role.points, [&](const PlanPoint &point) {
      bool arrives = point.kind == PlanPoint::Arrive || point.kind == PlanPoint::Commit;
      return !arrives || point.barrier != barrier ||
             (point.kind == PlanPoint::Arrive && !publishesByThreads(role, barrier));
    });
  });
}

/// Returns the other roles that observe an arrival of \p from on a barrier: the roles that wait for
/// it, and transitively the roles that wait for an arrival of one of them.
static llvm::SmallPtrSet<const sched::PlanRole *, 4>
rolesAfter(const sched::Plan &plan, const sched::PlanRole &from, sched::BarrierId barrier) {
  llvm::SmallPtrSet<const sched::PlanRole *, 4> roles;
  SmallVector<sched::BarrierId> work = {barrier};
  while (!work.empty()) {
    sched::BarrierId next = work.pop_back_val();
    for (const sched::PlanRole &role : plan.roles) {
      bool waits = llvm::any_of(role.points, [&](const PlanPoint &point) {
        return point.kind == PlanPoint::WaitBarrier && point.barrier == next;
      });
      if (!waits || &role == &from || !roles.insert(&role).second)
        continue;
      for (const PlanPoint &point : role.points)
        if (point.kind != PlanPoint::WaitBarrier && point.barrier != sched::none)
          work.push_back(point.barrier);
    }
  }
  return roles;
}

bool PlanWriter::publishesByThreads(const sched::PlanRole &role, sched::BarrierId barrier) const {
  auto anyAccess = [&](const sched::PlanRole &of,
                       llvm::function_ref<bool(const sched::Access &)> is) {
    return llvm::any_of(of.points, [&](const PlanPoint &point) {
      return point.kind == PlanPoint::Issue &&
             llvm::any_of(plan.bound.statements[point.at].accesses, is);
    });
  };
  auto spaceOf = [&](const sched::Access &access) {
    return plan.bound.buffers[access.buffer].space;
  };
  auto after = rolesAfter(plan, role, barrier);
  return anyAccess(role, [&](const sched::Access &own) {
    sched::Space space = spaceOf(own);
    bool isMemory = space == sched::Space::Shared || space == sched::Space::Global;
    if (own.proxy != sched::Proxy::Generic || !isMemory)
      return false;
    return llvm::any_of(after, [&](const sched::PlanRole *other) {
      return anyAccess(*other, [&](const sched::Access &theirs) {
        // Tensors may overlap, but engines do not copy tensors that the kernel writes.
        bool meet = own.buffer == theirs.buffer ||
                    (space == sched::Space::Global && spaceOf(theirs) == space &&
                     theirs.proxy == sched::Proxy::Generic);
        return meet && (own.write || theirs.write);
      });
    });
  });
}

nvptx::SlotCounters::Position PlanWriter::awaited(const PlanPoint &point, Value k) {
  int64_t slots = plan.barriers[point.barrier].slots;
  // The phase before the first is complete from the start.
  if (point.distance == slots && open && !step.aheadOf.contains(k)) {
    nvptx::SlotCounters::Position at = tokenOf(point.barrier, k);
    Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
    return {at.slot, b.createOrFold<arith::XOrIOp>(loc, at.phase, one)};
  }
  if (point.distance && !(point.distance == slots && step.aheadOf.contains(k))) {
    Value number = k;
    if (open)
      number = arith::AddIOp::create(b, loc, k, writer.asIndex(loc, firstToken));
    openIf(compare(arith::CmpIPredicate::sge, number, index(point.distance)));
  }
  return tokenOf(point.barrier, earlier(k, point.distance));
}

void PlanWriter::writeDrain(const PlanPoint &point) {
  OpBuilder::InsertionGuard guard(b);
  switch (point.kind) {
  case PlanPoint::WaitGroup:
    return writer.waitGroup(loc, point, groupsAfter(point, current.role->points.size()));
  case PlanPoint::WaitBarrier: {
    Value token = before(trips, point.distance + 1);
    openIf(compare(arith::CmpIPredicate::sge, token, index(0)));
    return waitBarrier(point, tokenOf(point.barrier, token));
  }
  case PlanPoint::Join:
    nv::SyncOp::create(b, loc);
    return;
  default:
    return writer.fence(loc, point.fence);
  }
}

int64_t PlanWriter::groupsAfter(const PlanPoint &point, size_t at) const {
  return nvptx::countGroups(plan, *current.role, point.engine, point.pending, at, step.closed);
}

void PlanWriter::waitBarrier(const PlanPoint &point, nvptx::SlotCounters::Position at) {
  bool leader = point.leader && (plan.roles.size() == 1 || current.role->warps > 1);
  at.slot = inArray(point.barrier, at.slot);
  writer.wait(loc, barriers[point.barrier], at, leader,
              /*cluster=*/isWide(point) && !isRelaxed(point.barrier));
}

Value PlanWriter::bytesOf(const PlanPoint &expect, Value k) {
  Value sum = index(0);
  for (const PlanPoint &point : current.role->points) {
    if (point.kind != PlanPoint::Issue || point.barrier != expect.barrier)
      continue;
    Value bytes = index(point.bytes * (pair ? pair->factorOf(statementOf(point).op) : 1));
    IRMapping mapping = iterationOf(k);
    for (Value condition : statementOf(point).conditions)
      bytes = arith::SelectOp::create(b, loc, replay(condition, mapping), bytes, index(0));
    sum = b.createOrFold<arith::AddIOp>(loc, sum, bytes);
  }
  return sum;
}

void PlanWriter::makeBarriers() {
  auto function = loop->getParentOfType<func::FuncOp>();
  // The parts of one are an array.
  std::vector<sched::PlanBarrier> arrays;
  std::vector<size_t> arrayOf;
  for (auto [barrier, origin] : llvm::zip_equal(plan.barriers, of.barriers)) {
    bool first = origin.part.value_or(0) == 0;
    arrayOf.push_back(first ? arrays.size() : arrayOf[origin.number]);
    if (first)
      arrays.push_back(barrier);
    if (first && origin.part)
      arrays.back().slots *= of.parts;
    if (auto id = sched::BarrierId(arrayOf.size() - 1); first)
      arrays.back().arrivals = shares && shares->isWide(id) ? shares->arrivalsAt(plan, id)
                                                            : nvptx::arrivalsByWarp(plan, id);
  }
  std::vector<Value> allocated = nvptx::PointWriter::allocate(b, loc, function, arrays);
  for (size_t array : arrayOf)
    barriers.push_back(allocated[array]);
  for (const sched::PlanRole &each : plan.roles)
    for (const PlanPoint &point : each.points)
      if (point.kind == PlanPoint::Issue && point.barrier != sched::none)
        signals[of.statements[point.at].number] = point.barrier;
  if (barriers.empty() || loop->getParentOp() == function)
    return;
  // Phases go on where the loop is entered again.
  tokenCount = allocate(tile::tileType({}, b.getI32Type(), tile::Space::Local), StringAttr());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(tokenCount.getDefiningOp());
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
    tile::StoreOp::create(b, loc, zero, tokenCount, ValueRange());
  }
  firstToken = tile::LoadOp::create(b, loc, b.getI32Type(), tokenCount, ValueRange());
}

nvptx::SlotCounters::Position PlanWriter::tokenOf(sched::BarrierId barrier, Value k) {
  int64_t count = plan.barriers[barrier].slots;
  auto ahead = step.aheadOf.find(k);
  return ahead == step.aheadOf.end() ? current.tokens.divide(b, loc, count, k)
                                     : current.tokens.at(b, loc, count, ahead->second);
}

Value PlanWriter::slotOfToken(sched::BarrierId barrier, Value k) {
  return writer.asIndex(loc, inArray(barrier, tokenOf(barrier, k).slot));
}

Value PlanWriter::inArray(sched::BarrierId barrier, Value slot) {
  std::optional<int64_t> number = of.barriers[barrier].part;
  if (!number || (!current.ownPart && *number == 0))
    return slot;
  Value at = current.ownPart ? current.ownPart
                             : arith::ConstantIntOp::create(b, loc, *number, 32).getResult();
  Value slots = arith::ConstantIntOp::create(b, loc, plan.barriers[barrier].slots, 32);
  return b.createOrFold<arith::AddIOp>(loc, slot, b.createOrFold<arith::MulIOp>(loc, at, slots));
}

Value PlanWriter::earlier(Value k, int64_t distance) {
  Value result = before(k, distance);
  if (auto ahead = step.aheadOf.find(k); ahead != step.aheadOf.end())
    step.aheadOf.try_emplace(result, ahead->second - distance);
  return result;
}

void PlanWriter::countSlots() {
  current.tokens = nvptx::SlotCounters(firstToken);
  current.slots = nvptx::SlotCounters();
  for (const PlanPoint &point : current.role->points) {
    int64_t ahead = current.lastIssue - point.stage;
    if (point.barrier != sched::none)
      current.tokens.add(plan.barriers[point.barrier].slots, ahead - point.distance,
                         point.kind == PlanPoint::WaitBarrier);
    if (point.kind == PlanPoint::Issue)
      for (const sched::Access &access : plan.bound.statements[point.at].accesses)
        if (size_t buffer = of.buffers[access.buffer].number;
            !storage[buffer].empty() && isRing(buffer))
          slotsOfTiles().add(versions[buffer], ahead);
  }
}

void PlanWriter::writeOp(size_t i, IRMapping &mapping, Value k) {
  Operation *op = body.statements[i].op;
  if (isa<tile::WaitOp>(op))
    return; // the plan has waits of its own
  Engine engine = body.problem.statements[i].executedBy;
  if (engine == Engine::TmaLoad || engine == Engine::CpAsync) {
    auto copy = cast<tile::CopyOp>(op);
    SmallVector<Value> offsets;
    for (Value offset : copy.getSourceOffsets())
      offsets.push_back(mapping.lookupOrDefault(offset));
    Value source = mapping.lookupOrDefault(copy.getSource());
    Value target = mapping.lookupOrDefault(copy.getTarget());
    DenseI64ArrayAttr dims = nvptx::boxDims(copy);
    if (engine == Engine::CpAsync) {
      nv::AsyncCopyOp::create(b, op->getLoc(), source, offsets, target, dims,
                              nvptx::asyncCopyBytes(copy), /*l1=*/false, copy.getRowsAttr());
      return;
    }
    sched::BarrierId barrier = signals.lookup(unsigned(i));
    Value blocks;
    if (auto part = shares ? shares->partOf(b, loc, op) : std::nullopt) {
      size_t alongRows = dims ? size_t(dims[0]) : offsets.size() - 2;
      offsets[alongRows] = arith::AddIOp::create(b, loc, offsets[alongRows], part->first);
      target = rowsOf(target, part->first, part->rows);
      blocks = part->blocks;
    }
    if (pair && pair->isHalved(copy.getTarget())) {
      Value &row = offsets[dims ? size_t(dims[0]) : offsets.size() - 2];
      row = arith::AddIOp::create(b, loc, row, pair->rowOf(b, loc));
    }
    nv::TmaLoadOp::create(b, op->getLoc(), source, offsets, target, barriers[barrier],
                          slotOfToken(barrier, k), blocks, dims, /*cache=*/StringAttr(),
                          copy.getRowsAttr(), copy.getPaddingAttr());
    return;
  }
  Operation *copy = cloneWithViews(op, mapping);
  storeResults(op, copy);
  // Loops and conditions need order inside.
  if (isa<tile::CopyOp, tile::FillOp, tile::MapOp, tile::ReduceOp, tile::GemmOp, tile::ParallelOp,
          tile::StatementOp>(copy))
    copy->setAttr(nv::NVDialect::plannedAttr, b.getI64IntegerAttr(number));
  if (isa<tile::ReduceOp>(copy) && endsBeforeWait(i))
    copy->setAttr(nv::NVDialect::beforeWaitAttr, b.getUnitAttr());
  if (nvptx::isTensorCore(engine))
    nvptx::writeIssue(b, copy, engine, compare(arith::CmpIPredicate::eq, k, index(0)), step.part);
}

Value PlanWriter::rowsOf(Value tile, Value first, int64_t rows) {
  int64_t columns = cast<MemRefType>(tile.getType()).getDimSize(1);
  SmallVector<OpFoldResult> offsets = {first, b.getIndexAttr(0)};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(rows), b.getIndexAttr(columns)};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  return memref::SubViewOp::create(b, loc, tile, offsets, sizes, strides);
}

bool PlanWriter::endsBeforeWait(size_t statement) const {
  auto after = llvm::find_if(current.role->points, [&](const PlanPoint &point) {
    return point.kind == PlanPoint::Issue && of.statements[point.at].number == statement;
  });
  for (const PlanPoint &point : llvm::make_range(std::next(after), current.role->points.end())) {
    if (point.kind == PlanPoint::WaitGroup && point.engine == Engine::Wgmma)
      return true;
    if (point.kind == PlanPoint::Issue &&
        (plan.bound.statements[point.at].executedBy == Engine::Wgmma ||
         isa<tile::ReduceOp>(statementOf(point).op)))
      return false;
  }
  return false;
}
