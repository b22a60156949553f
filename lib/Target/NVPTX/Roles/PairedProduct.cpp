//===- PairedProduct.cpp - Products of two blocks -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Roles/PairedProduct.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Plans/OpenRings.h"
#include "Target/NVPTX/Roles/ClusterShares.h"

using namespace mlir;
using namespace penstock;
using nvptx::PairedProduct;
using sched::Engine;

namespace {

/// The rows of a block's accumulator in a pair, and the most columns.
constexpr int64_t pairedRows = 128, mostColumns = 256;

bool isLoad(Operation *op) { return nvptx::engineOf(op) == Engine::TmaLoad; }

/// The only copy that writes a tile; null if something other than it and \p reader uses the tile.
tile::CopyOp onlyCopyInto(Value tile, Operation *reader) {
  tile::CopyOp copy;
  SmallVector<Operation *> work(tile.getUsers());
  while (!work.empty()) {
    Operation *user = work.pop_back_val();
    if (isa<memref::TransposeOp>(user)) {
      llvm::append_range(work, user->getUsers());
      continue;
    }
    auto one = dyn_cast<tile::CopyOp>(user);
    if (user == reader)
      continue;
    if (!one || copy || !isLoad(one) || one.getTarget() != tile)
      return {};
    copy = one;
  }
  return copy;
}

} // namespace

std::string nvptx::pairBlocks(func::FuncOp kernel) {
  if (!architectureOf(kernel).limits.tensorColumns)
    return "the GPU has none";
  SmallVector<tile::GemmOp> products;
  SmallVector<tile::CopyOp> copies;
  bool threadsStore = false;
  kernel.walk([&](Operation *op) {
    threadsStore |= engineOf(op) == Engine::Tcgen05Store;
    if (multipliesByTcgen05(op))
      products.push_back(cast<tile::GemmOp>(op));
    if (isLoad(op))
      copies.push_back(cast<tile::CopyOp>(op));
  });
  auto loop =
      products.size() == 1 ? dyn_cast<scf::ForOp>(products[0]->getParentOp()) : scf::ForOp();
  if (!loop || !products[0]->hasAttr(nv::NVDialect::roleAttr))
    return "the kernel has other than one product by tcgen05, in a pipelined loop";
  if (loop->getParentOp() != kernel && !mayStayOpen(analyzeLoop(loop)))
    return "all roles meet between two runs of the loop";
  // The first block issues the MMAs of both; no barrier of the plan tells it that the second block
  // has written its part.
  if (threadsStore)
    return "threads write the accumulator: it does not start at zero";
  tile::GemmOp product = products[0];
  auto sums = cast<MemRefType>(product.getAcc().getType());
  if (sums.getDimSize(0) != pairedRows || sums.getDimSize(1) > mostColumns ||
      sums.getDimSize(1) % (4 * swizzledRows) != 0)
    return "a block's accumulator does not have 128 rows and up to 256 columns, a multiple of 32";
  tile::CopyOp left = onlyCopyInto(tile::rootOf(product.getA()), product);
  tile::CopyOp right = onlyCopyInto(tile::rootOf(product.getB()), product);
  if (!left || !right || copies.size() != 2)
    return "the loop copies by TMA other than one tile for each operand";
  if (left->hasAttr(nv::NVDialect::sharedAlongAttr) ||
      !right->hasAttr(nv::NVDialect::sharedAlongAttr) || !nv::isTransposed(product.getB()))
    return "blocks do not have rows of a transposed right operand in common";
  if (stageOf(right) == stageOf(product))
    return "the loop has one stage";
  right->removeAttr(nv::NVDialect::sharedAlongAttr);
  right.setHalved(true);
  kernel->setAttr(nv::NVDialect::pairAttr, UnitAttr::get(kernel.getContext()));
  return {};
}

std::optional<PairedProduct> PairedProduct::of(const PipelineLoop &loop) {
  PairedProduct result;
  result.loop = &loop;
  for (const PipelineStatement &statement : loop.statements)
    if (auto copy = dyn_cast<tile::CopyOp>(statement.op); copy && copy.getHalved())
      result.halved = tile::rootOf(copy.getTarget());
  return result.halved ? std::optional(result) : std::nullopt;
}

bool PairedProduct::multiplies(const sched::PlanRole &role) const {
  return llvm::any_of(role.points, [&](const sched::PlanPoint &point) {
    return point.kind == sched::PlanPoint::Issue &&
           loop->problem.statements[point.at].executedBy == Engine::Tcgen05Mma;
  });
}

int64_t PairedProduct::factorOf(Operation *copy) const {
  return cast<tile::CopyOp>(copy).getHalved() ? 1 : 2;
}

void PairedProduct::writeRank(OpBuilder &b, Location loc) {
  rank = nv::ClusterRankOp::create(b, loc, b.getIndexType());
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rank, zero);
  second = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rank, zero);
}

Value PairedProduct::rowOf(OpBuilder &b, Location loc) const {
  int64_t half = cast<MemRefType>(halved.getType()).getDimSize(0) / 2;
  return arith::MulIOp::create(b, loc, rank, arith::ConstantIndexOp::create(b, loc, half));
}

std::string PairedProduct::describe() const {
  int64_t half = cast<MemRefType>(halved.getType()).getDimSize(0) / 2;
  return "  pairs of blocks multiply as one: each copies " + std::to_string(half) + " rows of `" +
         tile::nameOf(halved) + "`, and the first one issues products\n";
}
