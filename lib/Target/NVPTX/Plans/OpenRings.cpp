//===- OpenRings.cpp - Pipelined loops inside of a loop over tiles --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/OpenRings.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Queues.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Plans/LoopPlans.h"
#include "Target/NVPTX/Plans/LoopSurroundings.h"

using namespace mlir;
using namespace penstock;
using nvptx::AccumulatorRing;
using sched::Engine;
using sched::PlanPoint;

namespace {

/// Use of a loop's memory by operations outside of it.
struct OutsideUse {
  bool allowed = true;
  Value accumulator; ///< in tensor memory, read after the loop; null: none
};

OutsideUse outsideUse(const PipelineLoop &loop) {
  OutsideUse use;
  scf::ForOp op = loop.loop;
  auto isRead = [&](Operation *user) {
    Operation *at = op->getBlock()->findAncestorOpInBlock(*user);
    return nvptx::engineOf(user) == Engine::Tcgen05Load && at && op->isBeforeInBlock(at);
  };
  for (Value buffer : loop.buffers) {
    // A buffer without a value stands for printed output.
    auto type = buffer ? dyn_cast<MemRefType>(buffer.getType()) : MemRefType();
    tile::Space space = type ? tile::spaceOf(type) : tile::Space::Local;
    if (space != tile::Space::Shared && space != tile::Space::Tensor)
      continue;
    SmallVector<Operation *> users;
    nvptx::usersOf(buffer, users);
    bool outside = false, products = true, reads = true;
    for (Operation *user : users) {
      bool inside = op->isAncestor(user);
      outside |= !inside;
      products &= !inside || nvptx::engineOf(user) == Engine::Tcgen05Mma;
      reads &= inside || isRead(user);
    }
    if (!outside)
      continue;
    use.allowed &= space == tile::Space::Tensor && products && reads && !use.accumulator;
    use.accumulator = buffer;
  }
  return use;
}

/// The most versions of an accumulator that tensor memory has columns for, up to two: one is
/// read while the other one is filled.
int64_t versionsOf(Value accumulator) {
  auto kernel = accumulator.getDefiningOp()->getParentOfType<func::FuncOp>();
  const hw::Architecture &architecture = nvptx::architectureOf(kernel);
  auto type = cast<MemRefType>(accumulator.getType());
  // Tiles that products overwrite may have a second version, too.
  int64_t others = 0;
  kernel.walk([&](nv::TensorAllocOp op) {
    bool overwritten = llvm::any_of(op.getResult().getUsers(), [](Operation *user) {
      auto gemm = dyn_cast<tile::GemmOp>(user);
      return gemm && gemm.getOverwrite();
    });
    if (op.getResult() != accumulator)
      others += nvptx::takenColumns(op.getResult()) * (overwritten ? 2 : 1);
  });
  MemRefType twice =
      MemRefType::Builder(type).setShape({type.getDimSize(0), 2 * type.getDimSize(1)});
  return others + nvptx::takenColumns(twice) <= architecture.limits.tensorColumns ? 2 : 1;
}

/// The loop around as a pipeline of two statements: a run fills the accumulator, what follows
/// reads it.
sched::Plan planAround(Value accumulator, int64_t versions, const sched::PlanRole &fills,
                       int64_t warps) {
  sched::Problem problem;
  problem.name = "tiles";
  problem.location = tile::sourceLocationOf(accumulator.getLoc());
  sched::Buffer buffer;
  buffer.name = tile::nameOf(accumulator);
  buffer.space = sched::Space::Tensor;
  buffer.versioning = sched::Buffer::Versioning::Allowed;
  buffer.statedVersions = unsigned(versions);
  problem.buffers.push_back(buffer);
  problem.queues.push_back(
      {"products into " + buffer.name, hw::orderOf(hw::Queue::Tensor).products, {0}});
  sched::Statement fill, read;
  fill.name = "products into " + buffer.name;
  fill.async = true;
  fill.queue = 0;
  fill.executedBy = Engine::Tcgen05Mma;
  sched::Access access;
  access.buffer = 0;
  read.accesses.push_back(access);
  access.write = true;
  fill.accesses.push_back(access);
  read.name = "epilogue of " + buffer.name;
  read.async = true;
  read.executedBy = Engine::Tcgen05Load;
  problem.statements = {fill, read};
  return sched::derive(problem, {{0, versions - 1}, {0, 1}},
                       {.roleOf = {0, 1}, .names = {fills.name, nvptx::computeRole}},
                       {{fills.firstWarp, 0}, {fills.warps, warps}});
}

} // namespace

void nvptx::usersOf(Value memref, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : memref.getUsers())
    if (isa<memref::SubViewOp, memref::TransposeOp, memref::CastOp>(user))
      usersOf(user->getResult(0), users);
    else
      users.push_back(user);
}

Value nvptx::columnsOf(OpBuilder &b, Location loc, Value all, int64_t versions, Value slot) {
  auto type = cast<MemRefType>(all.getType());
  int64_t columns = type.getDimSize(1) / versions;
  Value first =
      arith::MulIOp::create(b, loc, slot, arith::ConstantIndexOp::create(b, loc, columns));
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), first};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(type.getDimSize(0)), b.getIndexAttr(columns)};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  return memref::SubViewOp::create(b, loc, all, offsets, sizes, strides);
}

/// Returns whether roles pass on parts of a buffer that move with the iterations. These begin anew
/// with the next run, which plans that stay open do not know.
static bool passesMovingParts(const PipelineLoop &loop) {
  for (auto [number, buffer] : llvm::enumerate(loop.buffers)) {
    llvm::SmallSetVector<Attribute, 2> roles;
    bool written = false;
    for (auto [statement, accesses] : llvm::zip_equal(loop.statements, loop.problem.statements))
      for (const sched::Access &access : accesses.accesses)
        if (access.buffer == number) {
          roles.insert(statement.op->getAttr(nv::NVDialect::roleAttr));
          written |= access.write;
        }
    if (roles.size() < 2 || !written || !buffer)
      continue;
    auto moves = [](Operation *user) {
      auto view = dyn_cast<memref::SubViewOp>(user);
      return view && ShapedType::isDynamicShape(view.getStaticOffsets());
    };
    if (tile::isGlobal(buffer) || llvm::any_of(buffer.getUsers(), moves))
      return true;
  }
  return false;
}

/// Returns whether a role accesses a tensor that others access outside of the loop, where the
/// order counts: roles that stay open do not wait for those.
static bool conflictsOutside(const PipelineLoop &loop) {
  nvptx::TensorAccesses outside;
  scf::ForOp op = loop.loop;
  op->getParentOfType<func::FuncOp>()->walk<WalkOrder::PreOrder>([&](Operation *each) {
    if (each == op)
      return WalkResult::skip();
    outside.add(each);
    return WalkResult::advance();
  });
  auto conflicts = [&](const sched::Access &access) {
    Value buffer = loop.buffers[access.buffer];
    return (!buffer || tile::isGlobal(buffer)) && outside.conflict(buffer, access.write);
  };
  for (auto [statement, accesses] : llvm::zip_equal(loop.statements, loop.problem.statements))
    if (statement.op->hasAttr(nv::NVDialect::roleAttr) &&
        llvm::any_of(accesses.accesses, conflicts))
      return true;
  return false;
}

bool nvptx::mayStayOpen(const PipelineLoop &loop) {
  scf::ForOp op = loop.loop;
  bool roles = llvm::any_of(loop.statements, [](const PipelineStatement &statement) {
    return statement.op->hasAttr(nv::NVDialect::roleAttr);
  });
  return roles && op->getParentOfType<scf::ForOp>() && outsideUse(loop).allowed &&
         !passesMovingParts(loop) && !conflictsOutside(loop);
}

std::optional<AccumulatorRing> AccumulatorRing::of(PipelineLoop &loop, const sched::Plan &inner,
                                                   int64_t warps, bool paired) {
  Value accumulator = outsideUse(loop).accumulator;
  if (!accumulator)
    return std::nullopt;
  for (const sched::PlanRole &role : inner.roles)
    for (const PlanPoint &point : role.points)
      if (point.kind == PlanPoint::Issue &&
          inner.bound.statements[point.at].executedBy == Engine::Tcgen05Mma)
        return AccumulatorRing(loop, accumulator,
                               planAround(accumulator, versionsOf(accumulator), role, warps),
                               paired);
  return std::nullopt;
}

AccumulatorRing::AccumulatorRing(PipelineLoop &loop, Value accumulator, sched::Plan plan,
                                 bool paired)
    : loop(&loop), plan(std::move(plan)), paired(paired), b(loop.loop) {
  if (diagnostics().empty())
    makeVersions(accumulator);
}

bool AccumulatorRing::isWide(sched::BarrierId barrier) const {
  return paired && llvm::any_of(plan.roles[1].points, [&](const PlanPoint &point) {
           return point.kind == PlanPoint::Arrive && point.barrier == barrier;
         });
}

void AccumulatorRing::makeVersions(Value accumulator) {
  scf::ForOp op = loop->loop;
  Location loc = accumulator.getLoc();
  auto kernel = op->getParentOfType<func::FuncOp>();
  auto type = cast<MemRefType>(accumulator.getType());
  int64_t versions = plan.slots[0], columns = type.getDimSize(1);
  std::vector<sched::PlanBarrier> allocated = plan.barriers;
  for (auto [i, barrier] : llvm::enumerate(allocated))
    barrier.arrivals =
        arrivalsByWarp(this->plan, sched::BarrierId(i)) * (isWide(sched::BarrierId(i)) ? 2 : 1);
  barriers = PointWriter::allocate(b, loc, kernel, allocated);
  Value count;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    count = tile::AllocOp::create(b, loc, tile::tileType({}, b.getI32Type(), tile::Space::Local),
                                  StringAttr(), IntegerAttr());
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
    tile::StoreOp::create(b, loc, zero, count, ValueRange());
  }
  run = tile::LoadOp::create(b, loc, b.getI32Type(), count, ValueRange());
  Value next = arith::AddIOp::create(b, loc, run, arith::ConstantIntOp::create(b, loc, 1, 32));
  tile::StoreOp::create(b, loc, next, count, ValueRange());
  if (versions == 1)
    return;
  auto alloc = cast<nv::TensorAllocOp>(accumulator.getDefiningOp());
  OpBuilder atAlloc(alloc);
  Value all = nv::TensorAllocOp::create(atAlloc, loc,
                                        tile::tileType({type.getDimSize(0), versions * columns},
                                                       type.getElementType(), tile::Space::Tensor),
                                        alloc.getLabelAttr());
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  SlotCounters::Position at = SlotCounters(run).divide(b, loc, versions, zero);
  Value version = columnsOf(b, loc, all, versions, PointWriter(b).asIndex(loc, at.slot));
  accumulator.replaceAllUsesWith(version);
  llvm::replace(loop->buffers, accumulator, all);
  alloc.erase();
}

std::string AccumulatorRing::describe() const {
  std::string text;
  for (const sched::PlanRole &role : plan.roles) {
    text += "  for each run, " + role.name + ":";
    for (const PlanPoint &point : role.points)
      text += (&point == role.points.data() ? " " : "; ") + sched::printPoint(plan, point);
    text += "\n";
  }
  return text;
}

void AccumulatorRing::writeBefore(const sched::PlanRole &role, OpBuilder &at) {
  if (isFilledBy(role))
    write(at, 0, /*before=*/true);
}

void AccumulatorRing::writeAfter(const sched::PlanRole &role, OpBuilder &at) {
  if (isFilledBy(role))
    write(at, 0, /*before=*/false);
}

void AccumulatorRing::writeEpilogue() {
  write(b, 1, /*before=*/true);
  OpBuilder atEnd(loop->loop->getBlock()->getTerminator());
  write(atEnd, 1, /*before=*/false);
}

void AccumulatorRing::write(OpBuilder &at, unsigned role, bool before) {
  const std::vector<PlanPoint> &points = plan.roles[role].points;
  auto issue = llvm::find_if(points, [](const PlanPoint &p) { return p.kind == PlanPoint::Issue; });
  Location loc = loop->loop.getLoc();
  PointWriter writer(at);
  SlotCounters runs(run);
  Value zero = arith::ConstantIndexOp::create(at, loc, 0);
  for (const PlanPoint &point : before ? llvm::make_range(points.begin(), issue)
                                       : llvm::make_range(std::next(issue), points.end())) {
    SlotCounters::Position position;
    if (point.barrier != sched::none)
      position = runs.divide(at, loc, plan.barriers[point.barrier].slots, zero);
    switch (point.kind) {
    case PlanPoint::WaitBarrier: {
      // A wait for the run that used this slot before; the phase before the first is complete
      // from the start.
      if (point.distance) {
        Value one = arith::ConstantIntOp::create(at, loc, 1, 32);
        position.phase = arith::XOrIOp::create(at, loc, position.phase, one);
      }
      writer.wait(loc, barriers[point.barrier], position,
                  point.leader && plan.roles[role].warps > 1, isWide(point.barrier));
      break;
    }
    case PlanPoint::Arrive: {
      // One arrival per warp, because a whole warp loads from tensor memory and waits for the
      // loads. CTA pairs arrive at their first block, where tcgen05.fence orders the loads.
      SmallVector<Value> blocks;
      if (isWide(point.barrier))
        blocks.push_back(zero);
      writer.arrive(loc, barriers[point.barrier], writer.asIndex(loc, position.slot), Value(),
                    point.leader, blocks, /*relaxed=*/!blocks.empty());
      break;
    }
    case PlanPoint::Commit:
      writer.commit(loc, point.engine, barriers[point.barrier], writer.asIndex(loc, position.slot));
      break;
    case PlanPoint::Fence:
      writer.fence(loc, point.fence);
      break;
    case PlanPoint::WaitGroup:
      writer.waitGroup(loc, point, point.pending);
      break;
    case PlanPoint::Join:
      nv::SyncOp::create(at, loc);
      break;
    case PlanPoint::Expect:
    case PlanPoint::Issue:
      break; // neither copies nor second statements
    }
  }
}
