//===- TraceTiles.cpp - Tile accesses of roles in a trace -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of KernelTrace that knows which part of a tile is touched, also by loops
// without barriers, and the variables of a kernel.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelTrace.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Layout/Distribution.h"

#include <limits>

using namespace mlir;

namespace penstock {

using Kind = sched::ProtocolStep::Kind;

/// Returns whether other threads than the owner access the tile.
static bool isTracked(MemRefType type) {
  auto space = dyn_cast_or_null<tile::SpaceAttr>(type.getMemorySpace());
  return space &&
         (space.getValue() == tile::Space::Shared || space.getValue() == tile::Space::Tensor);
}

bool isVariable(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.getRank() == 0 && type.getElementType().isIntOrIndex();
}

/// Returns whether a loop without barriers may touch other parts of tiles in one iteration than in
/// another.
bool KernelTrace::iterationsDiffer(scf::ForOp loop) {
  auto [found, isNew] = differing.try_emplace(loop, true);
  if (!isNew)
    return found->second;
  auto changes = [&](Value value) {
    return loop->isAncestor(value.getParentBlock()->getParentOp());
  };
  bool differ = !loop.getInitArgs().empty();
  loop.getBody()->walk([&](Operation *op) {
    if (auto view = dyn_cast<memref::SubViewOp>(op))
      differ |=
          isTracked(view.getType()) && llvm::any_of(llvm::drop_begin(view->getOperands()), changes);
    else if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      differ |= isa<scf::WhileOp>(op) || llvm::any_of(op->getOperands(), changes);
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      differ |= isVariable(store.getTarget());
  });
  return differing[loop] = differ;
}

/// Without barriers between them, steps that touch what the same operation has touched
/// before say nothing new: no other role can tell them apart.
size_t KernelTrace::dropRepeated(size_t first, std::set<std::vector<int64_t>> &touched) {
  auto isNew = [&](const sched::ProtocolStep &step) {
    std::vector<int64_t> key = {int64_t(step.source)};
    for (const sched::ProtocolAccess &access : step.accesses) {
      key.insert(key.end(), {access.box.tile, access.write, access.maybe, access.scope});
      key.insert(key.end(), access.box.begin.begin(), access.box.begin.end());
      key.insert(key.end(), access.box.end.begin(), access.box.end.end());
    }
    return touched.insert(std::move(key)).second;
  };
  size_t kept = first;
  for (size_t i = first; i < steps->size(); ++i)
    if ((*steps)[i].kind != Kind::Touch || isNew((*steps)[i])) {
      if (kept != i)
        (*steps)[kept] = std::move((*steps)[i]);
      ++kept;
    }
  steps->resize(kept);
  return kept;
}

sched::ProtocolBox KernelTrace::boxOf(Value memref, int64_t rank, bool &exact) {
  SmallVector<Operation *> views;
  Value root = memref;
  while (Operation *op = root.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::TransposeOp, memref::CastOp>(op))
      break;
    views.push_back(op);
    root = op->getOperand(0);
  }
  auto type = cast<MemRefType>(root.getType());
  sched::ProtocolBox box;
  box.tile = tileOf(root, rank);
  exact = type.getRank() <= int64_t(sched::ProtocolBox::maxRank);
  if (!exact)
    return box;
  box.rank = unsigned(type.getRank());
  for (unsigned d = 0; d < box.rank; ++d)
    box.end[d] = type.getDimSize(d);
  // Which of the root's dimensions each dimension of the view is.
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, box.rank));
  for (Operation *op : llvm::reverse(views)) {
    if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
      SmallVector<unsigned> permuted;
      for (AffineExpr result : transpose.getPermutation().getResults())
        permuted.push_back(dims[cast<AffineDimExpr>(result).getPosition()]);
      dims = permuted;
    } else if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      auto valueOf = [&](OpFoldResult value) -> std::optional<int64_t> {
        if (auto attr = dyn_cast<Attribute>(value))
          return cast<IntegerAttr>(attr).getInt();
        return scalars.get(cast<Value>(value));
      };
      llvm::SmallBitVector dropped = view.getDroppedDims();
      SmallVector<unsigned> kept;
      for (auto [i, offset, size] : llvm::enumerate(view.getMixedOffsets(), view.getMixedSizes())) {
        auto begin = valueOf(offset), length = valueOf(size);
        unsigned d = dims[i];
        if (begin && length) {
          box.begin[d] += *begin;
          box.end[d] = box.begin[d] + *length;
        } else {
          exact = false;
        }
        if (!dropped[unsigned(i)])
          kept.push_back(d);
      }
      dims = kept;
    }
  }
  return box;
}

void KernelTrace::access(sched::ProtocolStep &to, Value memref, bool write, int64_t rank,
                         int64_t scope) {
  if (!isTracked(cast<MemRefType>(memref.getType())))
    return;
  bool exact = true;
  sched::ProtocolBox box = boxOf(memref, rank, exact);
  to.accesses.push_back({box, write, uncertain || !exact, scope});
}

/// The elements of a tile of one dimension that warps of a role, if they are a part of those that
/// copy it, hold in registers: from the first one, to that after the last.
std::optional<std::pair<int64_t, int64_t>> KernelTrace::heldBy(Operation *op) const {
  auto copy = dyn_cast<tile::CopyOp>(op);
  nv::ThreadScope scope = nv::scopeOf(op);
  if (!copy || copy.readsTensor() || copy.writesTensor() || warpRole.warps == scope.warps ||
      cast<MemRefType>(copy.getTarget().getType()).getRank() != 1)
    return std::nullopt;
  for (Value tile : {copy.getSource(), copy.getTarget()}) {
    const layout::Distribution *layout = nv::layoutOf(tile);
    if (!layout)
      continue;
    int64_t first = layout->shape[0], end = 0;
    int64_t thread = (warpRole.firstWarp - scope.firstWarp) * nv::warpSize;
    for (int64_t i = 0; i < warpRole.warps * nv::warpSize; ++i)
      for (int64_t reg = 0; reg < layout->registers(); ++reg) {
        int64_t element = layout->baseOf(thread + i)[0] + layout->offsetOf(reg)[0];
        first = std::min(first, element);
        end = std::max(end, std::min(element + 1, layout->shape[0]));
      }
    if (first < end)
      return std::pair(first, end);
  }
  return std::nullopt;
}

bool KernelTrace::runVariable(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    auto found = variables.find(load.getSource());
    scalars.set(load.getResult(), found == variables.end() ? std::nullopt : found->second);
    return true;
  }
  auto store = cast<tile::StoreOp>(op);
  variables[store.getTarget()] = uncertain ? std::nullopt : scalars.get(store.getValue());
  return true;
}

bool KernelTrace::runTileOp(Operation *op) {
  if (auto divide = dyn_cast<tile::DivModOp>(op)) {
    auto dividend = scalars.get(op->getOperand(0)), divisor = scalars.get(op->getOperand(1));
    bool known = dividend && divisor && *divisor != 0 &&
                 !(*divisor == -1 && *dividend == std::numeric_limits<int64_t>::min());
    assign(divide->getResults(), {known ? std::optional(*dividend / *divisor) : std::nullopt,
                                  known ? std::optional(*dividend % *divisor) : std::nullopt});
    return true;
  }
  if (isa<tile::LoadOp, tile::StoreOp>(op)) {
    Value memref = isa<tile::LoadOp>(op) ? cast<tile::LoadOp>(op).getSource()
                                         : cast<tile::StoreOp>(op).getTarget();
    if (isVariable(memref))
      return runVariable(op);
  }
  if (auto accesses = dyn_cast<tile::TileAccessOpInterface>(op)) {
    SmallVector<tile::TileAccess> list;
    accesses.getAccesses(list);
    sched::ProtocolStep &to = step(Kind::Touch, op);
    for (const tile::TileAccess &one : list)
      for (bool write : {false, true})
        if (write ? one.writes : one.reads)
          access(to, one.memref, write, warpRole.rank, scopeOf(op));
    if (auto own = heldBy(op))
      for (sched::ProtocolAccess &access : to.accesses) {
        unsigned last = access.box.rank - 1; // slots of a ring come first
        access.box.begin[last] += own->first;
        access.box.end[last] = access.box.begin[last] + own->second - own->first;
      }
    if (to.accesses.empty() && !limits.plainSteps)
      steps->pop_back();
  }
  for (Value result : op->getResults())
    scalars.set(result, std::nullopt);
  return true;
}

} // namespace penstock
