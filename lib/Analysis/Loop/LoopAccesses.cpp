//===- LoopAccesses.cpp - Accesses of a loop's statements -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/LoopAccesses.h"
#include "Dialect/Tile/TileTypes.h"

#include <numeric>

using namespace mlir;
using namespace penstock;

//===----------------------------------------------------------------------===//
// What runs
//===----------------------------------------------------------------------===//

/// Does an operation inside of a statement run whenever the statement does?
static bool alwaysRuns(Operation *inner, Operation *statement) {
  for (Operation *op = inner; op != statement;) {
    op = op->getParentOp();
    if (isa<scf::IfOp>(op))
      return false;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      auto begin = getConstantIntValue(loop.getLowerBound());
      auto end = getConstantIntValue(loop.getUpperBound());
      if (!begin || !end || *begin >= *end)
        return false;
    }
  }
  return true;
}

static bool isWholeWrite(const tile::TileAccess &access) {
  return access.writes && access.isWhole() && access.memref == tile::rootOf(access.memref);
}

static bool writesWhole(Block &block, Value tile) {
  return llvm::any_of(block.getOps<tile::TileAccessOpInterface>(), [&](auto op) {
    SmallVector<tile::TileAccess> accesses;
    op.getAccesses(accesses);
    return llvm::any_of(accesses, [&](const tile::TileAccess &access) {
      return isWholeWrite(access) && access.memref == tile;
    });
  });
}

/// The same for what it writes, which may be written in either branch of a
/// condition.
static bool alwaysWrites(const tile::TileAccess &access, Operation *inner, Operation *statement) {
  if (alwaysRuns(inner, statement))
    return true;
  auto branch = dyn_cast<scf::IfOp>(inner->getParentOp());
  return branch && branch.elseBlock() && isWholeWrite(access) &&
         writesWhole(*branch.thenBlock(), access.memref) &&
         writesWhole(*branch.elseBlock(), access.memref) && alwaysRuns(branch, statement);
}

/// Returns the trip count of a loop inside of a statement; 0 if it is unknown or above \p most.
static int64_t knownRounds(Operation *op, int64_t most) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return 0;
  auto begin = getConstantIntValue(loop.getLowerBound()),
       end = getConstantIntValue(loop.getUpperBound()), step = getConstantIntValue(loop.getStep());
  if (!begin || !end || !step || *step <= 0 || *begin >= *end)
    return 0;
  uint64_t span = uint64_t(*end) - uint64_t(*begin), rounds = (span - 1) / uint64_t(*step) + 1;
  return rounds <= uint64_t(most) ? int64_t(rounds) : 0;
}

void LoopAccesses::add(sched::StatementId number, Operation *op,
                       llvm::function_ref<sched::BufferId(Value)> bufferOf) {
  visit({number, op, bufferOf}, op, /*inSequence=*/true);
}

void LoopAccesses::visit(const Statement &statement, Operation *op, bool inSequence) {
  if (auto access = dyn_cast<tile::TileAccessOpInterface>(op)) {
    SmallVector<tile::TileAccess> list;
    access.getAccesses(list);
    ++operations;
    for (const tile::TileAccess &touched : list) {
      Value root = tile::rootOf(touched.memref);
      accesses.push_back({statement.number, statement.bufferOf(root), touched.reads, touched.writes,
                          !alwaysWrites(touched, op, statement.op), operations, inSequence,
                          inSequence && !access.getAsyncName(), boxOf(touched)});
    }
  }
  int64_t count = knownRounds(op, mostRounds / repeated);
  bool sequence = inSequence && (count || isa<tile::StatementOp>(op));
  auto visitInside = [&] {
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        visit(statement, &inner, sequence);
  };
  if (count == 0)
    return visitInside();
  auto inner = cast<scf::ForOp>(op);
  int64_t begin = *getConstantIntValue(inner.getLowerBound());
  int64_t step = *getConstantIntValue(inner.getStep());
  repeated *= count;
  for (int64_t round = 0; round < count; ++round) {
    rounds[inner.getInductionVar()] = begin + round * step;
    visitInside();
  }
  rounds.erase(inner.getInductionVar());
  repeated /= count;
}

void LoopAccesses::addBefore(sched::StatementId wait, tile::TileAccessOpInterface op,
                             bool sameIteration,
                             llvm::function_ref<std::optional<sched::BufferId>(Value)> bufferOf) {
  SmallVector<tile::TileAccess> list;
  op.getAccesses(list);
  for (const tile::TileAccess &touched : list) {
    Value root = tile::rootOf(touched.memref);
    std::optional<sched::BufferId> buffer = bufferOf(root);
    if (!buffer)
      continue;
    // An offset that an earlier iteration computed says nothing of this one.
    std::vector<Extent> box = boxOf(touched);
    if (!sameIteration)
      box.assign(box.size(), Extent());
    accessesBefore.push_back({.statement = wait,
                              .buffer = *buffer,
                              .reads = touched.reads,
                              .writes = touched.writes,
                              .box = std::move(box)});
  }
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// The box of the allocation or tensor that an access touches, through slices of
/// slices and transposes.
std::vector<LoopAccesses::Extent> LoopAccesses::boxOf(const tile::TileAccess &access) const {
  SmallVector<Operation *> views;
  Value root = access.memref;
  for (Operation *op = root.getDefiningOp();
       isa_and_nonnull<memref::SubViewOp, memref::TransposeOp>(op); op = root.getDefiningOp()) {
    views.push_back(op);
    root = op->getOperand(0);
  }
  auto type = cast<MemRefType>(tile::rootOf(access.memref).getType());
  std::vector<Extent> box(size_t(type.getRank()));
  if (root != tile::rootOf(access.memref))
    return box; // anywhere: a view as a matrix
  for (auto [extent, size] : llvm::zip(box, type.getShape()))
    extent = {AffineOffset(), ShapedType::isDynamic(size) ? -1 : size};

  // Which dimension of the root each dimension of the view runs along.
  SmallVector<size_t> along(box.size());
  std::iota(along.begin(), along.end(), 0);
  bool whole = true;
  auto narrow = [&](ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
    whole = false;
    for (auto [dim, offset, size] : llvm::zip_equal(along, offsets, sizes)) {
      box[dim].begin = sum(box[dim].begin, affineOffset(offset, loop, rounds, ranges));
      box[dim].length = getConstantIntValue(size).value_or(-1);
    }
  };
  for (Operation *op : llvm::reverse(views)) {
    SmallVector<size_t> before = along;
    along.clear();
    if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
      for (AffineExpr from : transpose.getPermutation().getResults())
        along.push_back(before[cast<AffineDimExpr>(from).getPosition()]);
      continue;
    }
    auto slice = cast<memref::SubViewOp>(op);
    along = before;
    narrow(slice.getMixedOffsets(), slice.getMixedSizes());
    along.clear();
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [i, dim] : llvm::enumerate(before))
      if (!dropped[unsigned(i)])
        along.push_back(dim);
  }
  if (!access.isWhole())
    narrow(access.offsets, access.sizes);
  return whole ? std::vector<Extent>() : box;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Offsets of one dimension can be compared if the parts that do not change
/// in the loop are the same; then they cancel. These are the parts that most
/// likely are, for each dimension of a buffer.
std::vector<LoopAccesses::Invariants>
LoopAccesses::commonInvariants(sched::BufferId buffer, size_t rank, bool readAfter) const {
  std::vector<Invariants> common(rank);
  std::vector<bool> found(rank, false);
  bool wholes = readAfter;
  for (const Access &access : accesses) {
    if (access.buffer != buffer)
      continue;
    wholes |= access.box.empty();
    for (size_t d = 0; d < access.box.size(); ++d)
      if (access.box[d].begin && !found[d]) {
        found[d] = true;
        common[d] = access.box[d].begin->invariants;
      }
  }
  // A whole tile begins at zero.
  if (wholes)
    common.assign(rank, {});
  return common;
}

sched::Region LoopAccesses::regionOf(const Access &access, bool write, MemRefType type,
                                     ArrayRef<Invariants> common) {
  sched::Region region;
  if (access.box.empty())
    return region;
  bool exact = true, placed = false;
  for (auto [extent, invariants, size] : llvm::zip_equal(access.box, common, type.getShape())) {
    bool comparable = extent.comparesWith(invariants);
    // Boxes are relative to the invariants: without any, a tile lies from zero on.
    bool bounded = invariants.empty() && !ShapedType::isDynamic(size);
    exact &= comparable;
    placed |= comparable || bounded;
    if (comparable)
      region.box.push_back({extent.begin->scale, extent.begin->offset, extent.length});
    else // anywhere along this dimension
      region.box.push_back(bounded ? sched::AffineInterval{0, 0, size}
                                   : sched::AffineInterval{.unbounded = true});
  }
  region.kind = sched::Region::Kind::Box;
  // A box that is too large would pretend that a tile is written where it is
  // not; too large a read, or a write of a tensor, does no such harm.
  bool tile = type.hasStaticShape();
  if (!placed || (!exact && write && tile))
    region = {sched::Region::Kind::Unknown, {}};
  return region;
}

/// Returns whether an access is at an unknown offset.
bool LoopAccesses::isAnywhere(const Access &access, ArrayRef<Invariants> common) {
  return llvm::any_of(llvm::zip(access.box, common), [](auto pair) {
    auto &[extent, invariants] = pair;
    return !extent.comparesWith(invariants);
  });
}

/// A whole tile as a box, so that parts of it can be taken away.
static sched::Region asBox(sched::Region region, MemRefType type) {
  if (region.kind != sched::Region::Kind::Whole || !type.hasStaticShape())
    return region;
  region.kind = sched::Region::Kind::Box;
  for (int64_t size : type.getShape())
    region.box.push_back({0, 0, size});
  return region;
}

/// The parts of a read that see what others wrote.
static std::vector<sched::Region> seenBy(sched::Region region, bool isAnywhere, MemRefType type,
                                         const std::vector<sched::Region> &written) {
  if (written.empty())
    return {region};
  // Of a read at an unknown offset, no part can be taken away.
  sched::Region box = asBox(region, type);
  if (isAnywhere)
    return sched::covered(box, written) ? std::vector<sched::Region>() : std::vector{region};
  return sched::uncovered(box, written);
}

/// Makes a box of two that lie side by side, or one on the other.
static bool join(sched::Region &known, const sched::Region &more) {
  if (known == more)
    return true;
  if (known.kind != sched::Region::Kind::Box || more.kind != sched::Region::Kind::Box)
    return false;
  sched::AffineInterval *differs = nullptr;
  const sched::AffineInterval *other = nullptr;
  for (auto [mine, theirs] : llvm::zip_equal(known.box, more.box)) {
    if (mine == theirs)
      continue;
    if (differs || mine.scale != theirs.scale || mine.unbounded || theirs.unbounded)
      return false;
    differs = &mine;
    other = &theirs;
  }
  int64_t end = differs->offset + differs->length, otherEnd = other->offset + other->length;
  if (other->offset > end || differs->offset > otherEnd)
    return false;
  differs->offset = std::min(differs->offset, other->offset);
  differs->length = std::max(end, otherEnd) - differs->offset;
  return true;
}

/// Rounds of a loop often touch parts that are one part together.
static void addTo(std::vector<sched::Access> &accesses, sched::Access access) {
  for (sched::Access &known : llvm::reverse(accesses))
    if (known.buffer == access.buffer && known.write == access.write &&
        known.maybe == access.maybe && join(known.region, access.region))
      return;
  accesses.push_back(std::move(access));
}

void LoopAccesses::finish(sched::Problem &problem, ArrayRef<Value> buffers) const {
  for (sched::BufferId buffer = 0; buffer < buffers.size(); ++buffer) {
    auto type = cast<MemRefType>(buffers[buffer].getType());
    std::vector<Invariants> common = commonInvariants(buffer, static_cast<size_t>(type.getRank()),
                                                      !problem.buffers[buffer].readAfter.empty());
    // If a statement writes a region before it reads it, the read is not of an earlier iteration,
    // and the write represents both.
    std::vector<sched::Region> written, writing; // by operations before, by this one
    const Access *last = nullptr;
    for (const Access &access : accesses) {
      if (access.buffer != buffer)
        continue;
      if (last && last->by != access.by) {
        written.insert(written.end(), writing.begin(), writing.end());
        writing.clear();
      }
      if (last && last->statement != access.statement)
        written.clear();
      last = &access;
      auto &to = problem.statements[access.statement].accesses;
      if (access.reads && !access.inSequence)
        addTo(to, {buffer, false, regionOf(access, false, type, common)});
      else if (access.reads)
        for (const sched::Region &left : seenBy(regionOf(access, false, type, common),
                                                isAnywhere(access, common), type, written))
          addTo(to, {buffer, false, left});
      if (!access.writes)
        continue;
      sched::Region region = regionOf(access, true, type, common);
      addTo(to, {buffer, true, region, sched::Proxy::Generic, access.maybe});
      // A box that is too large, as those of tensors may be, covers nothing.
      if (access.settles && !access.maybe && !isAnywhere(access, common))
        writing.push_back(region);
    }
    for (const Access &access : accessesBefore)
      for (bool write : {false, true})
        if (access.buffer == buffer && (write ? access.writes : access.reads))
          problem.statements[access.statement].settles.push_back(
              {buffer, write, regionOf(access, write, type, common)});
  }
}
