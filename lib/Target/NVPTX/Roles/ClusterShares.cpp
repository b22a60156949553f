//===- ClusterShares.cpp - Copies that blocks of a cluster share ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Roles/ClusterShares.h"
#include "Dialect/NV/NVDialect.h"
#include "Target/NVPTX/Plans/PlanPoints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace penstock;
using nvptx::ClusterShares;

namespace {

/// The extents along which blocks share a copy; none if they do not.
ArrayRef<int64_t> sharedAlong(Operation *op) {
  auto along = op->getAttrOfType<DenseI64ArrayAttr>(nv::NVDialect::sharedAlongAttr);
  return along ? along.asArrayRef() : ArrayRef<int64_t>();
}

Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

} // namespace

std::optional<ClusterShares> ClusterShares::of(const PipelineLoop &loop, const LoopPlan &of) {
  ClusterShares result;
  auto kernel = scf::ForOp(loop.loop)->getParentOfType<func::FuncOp>();
  auto grids = kernel.getBody().front().getOps<tile::GridOp>();
  if (!kernel->hasAttr(nv::NVDialect::clusterAttr) || grids.empty())
    return std::nullopt;
  for (unsigned dim = 0; dim < (*grids.begin()).getNumResults(); ++dim)
    result.cluster.push_back((*grids.begin()).clusterAlong(dim));
  const sched::Plan &plan = of.plan;
  // By barrier that counts bytes: how its copies are shared.
  std::map<sched::BarrierId, std::set<Extents>> counted;
  for (const sched::PlanRole &role : plan.roles) {
    bool shares = false;
    for (const sched::PlanPoint &point : role.points)
      if (point.kind == sched::PlanPoint::Issue && point.barrier != sched::none) {
        ArrayRef<int64_t> along = sharedAlong(loop.statements[of.statements[point.at].number].op);
        std::set<Extents> &groups = counted[point.barrier];
        if (!along.empty()) {
          groups.insert(Extents(along));
          result.groups.insert(Extents(along));
          shares = true;
        }
      }
    for (const sched::PlanPoint &point : role.points)
      if (shares && point.kind == sched::PlanPoint::WaitBarrier)
        result.wide.insert(point.barrier);
  }
  bool complete = llvm::all_of(counted, [&](const auto &each) {
    return llvm::all_of(result.groups,
                        [&](const Extents &group) { return each.second.count(group) != 0; });
  });
  if (result.groups.empty() || !complete)
    return std::nullopt;
  return result;
}

int64_t ClusterShares::stride(int64_t dim) const {
  int64_t product = 1;
  for (int64_t along : ArrayRef(cluster).take_front(size_t(dim)))
    product *= along;
  return product;
}

std::set<ClusterShares::Extents> ClusterShares::distances() const {
  std::set<Extents> all;
  for (const Extents &group : groups) {
    std::set<Extents> here = {Extents(cluster.size(), 0)};
    for (int64_t dim : group) {
      std::set<Extents> further;
      for (Extents each : here)
        for (int64_t at = 0; at < cluster[size_t(dim)]; ++at) {
          each[size_t(dim)] = at;
          further.insert(each);
        }
      here = std::move(further);
    }
    all.merge(here);
  }
  return all;
}

int64_t ClusterShares::blocks() const { return int64_t(distances().size()); }

int64_t ClusterShares::arrivalsAt(const sched::Plan &plan, sched::BarrierId barrier) const {
  return nvptx::arrivalsByWarp(plan, barrier) * blocks();
}

std::string ClusterShares::describe(const PipelineLoop &loop, const sched::Plan &plan) const {
  std::string text;
  for (auto [i, statement] : llvm::enumerate(loop.statements))
    if (ArrayRef<int64_t> along = sharedAlong(statement.op); !along.empty()) {
      int64_t parts = partsOf(along);
      int64_t rows =
          cast<MemRefType>(cast<tile::CopyOp>(statement.op).getTarget().getType()).getDimSize(0) /
          parts;
      text += "  " + loop.problem.statements[i].name + ": each of " + std::to_string(parts) +
              " blocks copies " + std::to_string(rows) + " rows to all of them\n";
    }
  for (sched::BarrierId barrier : wide)
    text += "  barrier " + plan.barriers[barrier].name + " counts " +
            std::to_string(arrivalsAt(plan, barrier)) + " arrivals of " + std::to_string(blocks()) +
            " blocks\n";
  return text;
}

int64_t ClusterShares::partsOf(ArrayRef<int64_t> along) const {
  int64_t parts = 1;
  for (int64_t dim : along)
    parts *= cluster[size_t(dim)];
  return parts;
}

void ClusterShares::writeRank(OpBuilder &b, Location loc) {
  Value rank = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                          nv::ClusterRankOp::create(b, loc, b.getIndexType()));
  own.clear();
  for (auto [dim, along] : llvm::enumerate(cluster)) {
    Value quotient = b.createOrFold<arith::DivUIOp>(loc, rank, constant(b, loc, stride(dim)));
    own.push_back(along == 1
                      ? constant(b, loc, 0)
                      : b.createOrFold<arith::RemUIOp>(loc, quotient, constant(b, loc, along)));
  }
}

SmallVector<Value> ClusterShares::ranks(OpBuilder &b, Location loc) const {
  SmallVector<Value> result;
  for (const Extents &distance : distances()) {
    Value rank = constant(b, loc, 0);
    for (auto [dim, by] : llvm::enumerate(distance)) {
      Value at = b.createOrFold<arith::AddIOp>(loc, own[dim], constant(b, loc, by));
      if (by)
        at = b.createOrFold<arith::RemUIOp>(loc, at, constant(b, loc, cluster[dim]));
      at = b.createOrFold<arith::MulIOp>(loc, at, constant(b, loc, stride(int64_t(dim))));
      rank = b.createOrFold<arith::AddIOp>(loc, rank, at);
    }
    result.push_back(arith::IndexCastOp::create(b, loc, b.getIndexType(), rank));
  }
  return result;
}

Value ClusterShares::mask(OpBuilder &b, Location loc) const {
  Value all;
  for (const Extents &group : groups) {
    Value one = maskOf(b, loc, group);
    all = all ? b.createOrFold<arith::OrIOp>(loc, all, one) : one;
  }
  return all;
}

Value ClusterShares::maskOf(OpBuilder &b, Location loc, ArrayRef<int64_t> along) const {
  // The bits of the group of rank 0, which lie further up by the position of this one.
  int64_t bits = 1;
  Value position = constant(b, loc, 0);
  for (auto [dim, count] : llvm::enumerate(cluster)) {
    int64_t step = stride(int64_t(dim));
    if (llvm::is_contained(along, int64_t(dim))) {
      int64_t once = bits;
      for (int64_t at = 1; at < count; ++at)
        bits |= once << (at * step);
    } else {
      Value up = b.createOrFold<arith::MulIOp>(loc, own[dim], constant(b, loc, step));
      position = b.createOrFold<arith::AddIOp>(loc, position, up);
    }
  }
  return b.createOrFold<arith::ShLIOp>(loc, constant(b, loc, bits), position);
}

std::optional<ClusterShares::Part> ClusterShares::partOf(OpBuilder &b, Location loc,
                                                         Operation *copy) const {
  ArrayRef<int64_t> along = sharedAlong(copy);
  if (along.empty())
    return std::nullopt;
  int64_t parts = 1;
  Value position = constant(b, loc, 0);
  for (int64_t dim : along) {
    Value at = b.createOrFold<arith::MulIOp>(loc, own[size_t(dim)], constant(b, loc, parts));
    position = b.createOrFold<arith::AddIOp>(loc, position, at);
    parts *= cluster[size_t(dim)];
  }
  auto target = cast<MemRefType>(cast<tile::CopyOp>(copy).getTarget().getType());
  Part part;
  part.rows = target.getDimSize(0) / parts;
  Value row = b.createOrFold<arith::MulIOp>(loc, position, constant(b, loc, part.rows));
  part.first = arith::IndexCastOp::create(b, loc, b.getIndexType(), row);
  part.blocks = maskOf(b, loc, along);
  return part;
}
