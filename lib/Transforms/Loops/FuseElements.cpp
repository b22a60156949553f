//===- FuseElements.cpp - One loop for several operations on elements -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is a sequence of copies, fills, maps and reductions along the last dimension, all over
// one shape. Each element goes through all of them before the next one does, which is allowed if
// they meet in elements of equal index only. Copies are entirely within their tensors in the
// fused loop; where one is not, the operations run one after the other, as they do without this
// pass.
//
//===----------------------------------------------------------------------===//
#include "Transforms/Loops/LoopBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace penstock {
#define GEN_PASS_DEF_FUSEELEMENTS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

bool isTile(Value value) { return bool(value.getDefiningOp<tile::AllocOp>()); }

/// Returns whether a tensor overlaps no other one of its kernel.
bool isAlone(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  return function && function->hasAttr(tile::TileDialect::kernelAttr) &&
         !function.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr);
}

bool isIdentity(ArrayRef<int64_t> dims, int64_t rank) {
  return int64_t(dims.size()) == rank && llvm::equal(dims, llvm::seq<int64_t>(0, rank));
}

/// Accesses of a member of a group. Tiles are whole allocations.
struct Member {
  Operation *op = nullptr;
  ArrayRef<int64_t> shape;
  SmallVector<Value, 4> reads = {};     ///< the element with the same index
  SmallVector<Value, 4> broadcast = {}; ///< another one
  Value writes = {}, reduces = {};      ///< tiles
  Value tensorRead = {}, tensorWritten = {};
};

std::optional<Member> memberOf(tile::CopyOp copy) {
  if (copy.getAsyncAttr() || copy.getInstance() || copy.getRows() ||
      (copy.readsTensor() && copy.writesTensor()))
    return std::nullopt;
  Member member{copy, copy.getTileShape()};
  if (copy.readsTensor())
    member.tensorRead = copy.getSource();
  else
    member.reads.push_back(copy.getSource());
  if (copy.writesTensor())
    member.tensorWritten = copy.getTarget();
  else
    member.writes = copy.getTarget();
  return member;
}

std::optional<Member> memberOf(tile::MapOp map) {
  // Twice in the program, and faults have one number each: only what cannot fail.
  if (!llvm::all_of(map.getBody().front().without_terminator(), [](Operation &op) {
        return !op.getNumRegions() && (isa<tile::ElementIndexOp>(op) || isPure(&op));
      }))
    return std::nullopt;
  Member member{map, typeOf(map.getTarget()).getShape()};
  member.writes = map.getTarget();
  for (auto [i, input] : llvm::enumerate(map.getInputs()))
    (isIdentity(map.getInputDims(unsigned(i)), int64_t(member.shape.size())) ? member.reads
                                                                             : member.broadcast)
        .push_back(input);
  return member;
}

std::optional<Member> memberOf(tile::ReduceOp reduce) {
  MemRefType type = typeOf(reduce.getSource());
  if (int64_t(reduce.getDim()) != type.getRank() - 1)
    return std::nullopt;
  Member member{reduce, type.getShape()};
  member.reads.push_back(reduce.getSource());
  member.reduces = reduce.getTarget();
  return member;
}

std::optional<Member> memberOf(Operation *op) {
  auto member =
      llvm::TypeSwitch<Operation *, std::optional<Member>>(op)
          .Case<tile::CopyOp, tile::MapOp, tile::ReduceOp>([](auto op) { return memberOf(op); })
          .Case<tile::FillOp>([](tile::FillOp fill) {
            Member member{fill, typeOf(fill.getTarget()).getShape()};
            member.writes = fill.getTarget();
            return std::optional(member);
          })
          .Default(std::optional<Member>());
  if (!member || member->shape.empty())
    return std::nullopt;
  auto known = [](Value tile) { return !tile || isTile(tile); };
  auto alone = [](Value tensor) { return !tensor || isAlone(tensor); };
  bool ok = llvm::all_of(member->reads, known) && llvm::all_of(member->broadcast, known) &&
            known(member->writes) && known(member->reduces) && alone(member->tensorRead) &&
            alone(member->tensorWritten) && !llvm::is_contained(member->broadcast, member->writes);
  return ok ? member : std::nullopt;
}

class Group {
public:
  /// Adds a member if each element may go through it before the next one is begun.
  bool add(const Member &member) {
    if (!members.empty() && (member.shape != members.front().shape || !allows(member)))
      return false;
    for (Value tile : member.reads) {
      forwards |= written.contains(tile);
      read.insert(tile);
    }
    for (Value tile : member.broadcast)
      broadcast.insert(tile);
    if (member.writes)
      written.insert(member.writes);
    if (member.reduces)
      reduced.insert(member.reduces);
    if (member.tensorRead)
      tensorsRead.insert(member.tensorRead);
    if (member.tensorWritten)
      tensorsWritten.insert(member.tensorWritten);
    members.push_back(member);
    return true;
  }

  /// Returns whether an operation between members can be hoisted above all of them.
  bool isIndependent(const Member &member) const {
    auto set = [&](Value tile) { return written.contains(tile) || reduced.contains(tile); };
    auto used = [&](Value tile) {
      return tile && (set(tile) || read.contains(tile) || broadcast.contains(tile));
    };
    return llvm::none_of(member.reads, set) && llvm::none_of(member.broadcast, set) &&
           !used(member.writes) && !used(member.reduces) && !conflicts(member);
  }

  /// Returns whether the operation sets a tile before it reads it.
  bool defines(Value tile) const {
    for (const Member &member : members) {
      if (llvm::is_contained(member.reads, tile) || llvm::is_contained(member.broadcast, tile) ||
          member.reduces == tile)
        return false;
      if (member.writes == tile)
        return true;
    }
    return false;
  }

  SmallVector<Member> members;
  llvm::SmallSetVector<Value, 4> written;
  bool forwards = false; ///< a member reads what another one writes

private:
  bool allows(const Member &member) const {
    // A statement that sets a tile anew begins another group, which may then keep the tile in
    // registers.
    if (written.contains(member.writes) && !llvm::is_contained(member.reads, member.writes))
      return false;
    auto readsTooEarly = [&](Value tile) { return reduced.contains(tile); };
    auto readsOthers = [&](Value tile) { return written.contains(tile) || reduced.contains(tile); };
    if (llvm::any_of(member.reads, readsTooEarly) || llvm::any_of(member.broadcast, readsOthers))
      return false;
    if (member.writes && (broadcast.contains(member.writes) || reduced.contains(member.writes)))
      return false;
    if (Value tile = member.reduces; tile && (read.contains(tile) || broadcast.contains(tile) ||
                                              written.contains(tile) || reduced.contains(tile)))
      return false;
    return !conflicts(member);
  }

  bool conflicts(const Member &member) const {
    return (member.tensorRead && tensorsWritten.contains(member.tensorRead)) ||
           (member.tensorWritten && (tensorsRead.contains(member.tensorWritten) ||
                                     tensorsWritten.contains(member.tensorWritten)));
  }

  llvm::SmallSetVector<Value, 4> read, broadcast, reduced, tensorsRead, tensorsWritten;
};

class FusedLoops : LoopBuilder {
public:
  /// In place of the last member: all that others need is computed before.
  explicit FusedLoops(const Group &group) : LoopBuilder(group.members.back().op), group(group) {}

  /// Values of tiles in \p unused stay in registers.
  void run(const llvm::SmallDenseSet<Value> &unused) {
    merged = mergedDimensions();
    Value inside;
    for (const Member &member : group.members)
      if (member.tensorRead || member.tensorWritten) {
        auto copy = cast<tile::CopyOp>(member.op);
        Value ok = boxOf(copy).inside;
        inside = inside ? Value(arith::AndIOp::create(b, loc, inside, ok)) : ok;
        if (merged > 1)
          inside = arith::AndIOp::create(b, loc, inside, isContiguous(copy));
      }
    if (!inside) {
      write(unused);
      for (const Member &member : llvm::reverse(group.members))
        member.op->erase();
      return;
    }
    auto branch = scf::IfOp::create(b, loc, inside, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    write(unused);
    for (const Member &member : group.members)
      member.op->moveBefore(branch.elseBlock()->getTerminator());
  }

private:
  //===------------------------------------------------------------------===//
  // Dimensions with few elements
  //===------------------------------------------------------------------===//

  /// Returns how many of the last dimensions one loop runs over. Panels of packed operands have a
  /// last dimension of 2 or 4 elements, too few for vectors; tiles are contiguous, so the loop
  /// takes the dimensions before it as well.
  int64_t mergedDimensions() {
    constexpr int64_t fewest = 16;
    ArrayRef<int64_t> shape = group.members.front().shape;
    auto rank = int64_t(shape.size()), most = rank;
    if (shape.back() >= fewest)
      return 1;
    auto keep = [&](int64_t dim) { most = std::min(most, rank - 1 - dim); };
    for (const Member &member : group.members) {
      if (isa<tile::ReduceOp>(member.op))
        return 1;
      if (auto map = dyn_cast<tile::MapOp>(member.op)) {
        for (unsigned i = 0; i < map.getInputs().size(); ++i)
          if (SmallVector<int64_t> dims = map.getInputDims(i); !isIdentity(dims, rank))
            llvm::for_each(dims, keep);
        map.getBody().walk([&](tile::ElementIndexOp index) { keep(int64_t(index.getDim())); });
      }
      if (member.tensorRead || member.tensorWritten) {
        keep(0); // slices are seldom contiguous along their first dimension
        SmallVector<int64_t> dims = cast<tile::CopyOp>(member.op).getTensorDims();
        int64_t last =
            typeOf(member.tensorRead ? member.tensorRead : member.tensorWritten).getRank();
        for (int64_t dim = rank - 1; dim >= 0; --dim)
          if (dims[size_t(dim)] != last - (rank - dim))
            keep(dim);
      }
    }
    return std::max<int64_t>(most, 1);
  }

  /// The shape that loops run over.
  SmallVector<int64_t> mergedShape() {
    SmallVector<int64_t> shape(group.members.front().shape);
    for (int64_t i = 1; i < merged; ++i) {
      int64_t last = shape.pop_back_val();
      shape.back() *= last;
    }
    return shape;
  }

  static Value tensorOf(tile::CopyOp copy) {
    return copy.readsTensor() ? copy.getSource() : copy.getTarget();
  }

  /// Returns whether the merged dimensions of a copy's tensor are contiguous.
  Value isContiguous(tile::CopyOp copy) {
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, tensorOf(copy));
    ArrayRef<int64_t> shape = group.members.front().shape;
    Value all = arith::ConstantIntOp::create(b, loc, 1, 1);
    int64_t expected = 1;
    for (int64_t i = 0; i < merged; ++i) {
      Value stride = metadata.getStrides()[metadata.getStrides().size() - 1 - size_t(i)];
      Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stride, index(expected));
      all = arith::AndIOp::create(b, loc, all, ok);
      expected *= shape[shape.size() - 1 - size_t(i)];
    }
    return all;
  }

  /// A tile in the shape of the loops.
  Value mergedTile(Value tile) {
    SmallVector<int64_t> shape = mergedShape(), strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i)
      strides[i - 1] = strides[i] * shape[i];
    auto type = MemRefType::get(shape, typeOf(tile).getElementType(), MemRefLayoutAttrInterface(),
                                typeOf(tile).getMemorySpace());
    return memref::ReinterpretCastOp::create(b, loc, type, tile, /*offset=*/0, shape, strides);
  }

  /// The box of a copy's tensor in the shape of the loops.
  Value mergedBox(tile::CopyOp copy) {
    Value tensor = tensorOf(copy);
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, tensor);
    Value first = metadata.getOffset();
    for (auto [offset, stride] :
         llvm::zip(copy.readsTensor() ? copy.getSourceOffsets() : copy.getTargetOffsets(),
                   metadata.getStrides()))
      first = arith::AddIOp::create(b, loc, first, arith::MulIOp::create(b, loc, offset, stride));
    SmallVector<int64_t> shape = mergedShape(), dims = copy.getTensorDims();
    SmallVector<OpFoldResult> sizes, strides;
    SmallVector<int64_t> known;
    for (auto [i, size] : llvm::enumerate(shape)) {
      bool last = i + 1 == shape.size();
      sizes.push_back(b.getIndexAttr(size));
      strides.push_back(last ? OpFoldResult(b.getIndexAttr(1))
                             : OpFoldResult(metadata.getStrides()[size_t(dims[i])]));
      known.push_back(last ? 1 : ShapedType::kDynamic);
    }
    auto type = MemRefType::get(shape, typeOf(tensor).getElementType(),
                                StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, known),
                                typeOf(tensor).getMemorySpace());
    return memref::ReinterpretCastOp::create(b, loc, type, tensor, OpFoldResult(first), sizes,
                                             strides);
  }

  /// Makes views of all tiles and tensors, before the loops.
  void mergeAll() {
    for (const Member &member : group.members) {
      SmallVector<Value, 4> tiles(member.reads);
      if (member.writes)
        tiles.push_back(member.writes);
      for (Value tile : tiles)
        if (!views.contains(tile))
          views[tile] = mergedTile(tile);
      if (member.tensorRead || member.tensorWritten)
        boxes[member.op] = mergedBox(cast<tile::CopyOp>(member.op));
    }
  }

  Value loadTensor(tile::CopyOp copy, ValueRange at) {
    return merged > 1 ? load(boxes.lookup(copy), at) : load(copy.getSource(), inTensor(copy, at));
  }
  void storeTensor(Value value, tile::CopyOp copy, ValueRange at) {
    if (merged > 1)
      store(value, boxes.lookup(copy), at);
    else
      store(value, copy.getTarget(), inTensor(copy, at));
  }
  Value viewOf(Value tile) { return merged > 1 ? views.lookup(tile) : tile; }

  //===------------------------------------------------------------------===//
  // Loops
  //===------------------------------------------------------------------===//

  void write(const llvm::SmallDenseSet<Value> &unused) {
    if (merged > 1)
      mergeAll();
    SmallVector<int64_t> merging = mergedShape();
    ArrayRef<int64_t> shape = merging;
    nest(shape.drop_back(), [&](ValueRange row) {
      SmallVector<tile::ReduceOp> reductions;
      SmallVector<Value> starts;
      for (const Member &member : group.members)
        if (auto reduce = dyn_cast<tile::ReduceOp>(member.op)) {
          reductions.push_back(reduce);
          starts.push_back(reduce.getAccumulate() ? load(reduce.getTarget(), row)
                                                  : neutral(reduce));
        }
      auto loop = scf::ForOp::create(b, loc, index(0), index(shape.back()), index(1), starts);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        SmallVector<Value> at(row), sums(loop.getRegionIterArgs());
        at.push_back(loop.getInductionVar());
        elements.clear();
        unsigned next = 0;
        for (const Member &member : group.members)
          execute(member.op, at, loop, sums, next);
        for (auto [tile, value] : elements)
          if (group.written.contains(tile) && !unused.contains(tile))
            store(value, viewOf(tile), at);
        if (!sums.empty())
          scf::YieldOp::create(b, loc, sums);
      }
      for (auto [i, reduce] : llvm::enumerate(reductions))
        store(loop.getResult(unsigned(i)), reduce.getTarget(), row);
    });
  }

  void execute(Operation *op, ValueRange at, scf::ForOp loop, MutableArrayRef<Value> sums,
               unsigned &next) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<tile::FillOp>([&](auto fill) { elements[fill.getTarget()] = fill.getValue(); })
        .Case<tile::CopyOp>([&](auto copy) {
          Value value = copy.readsTensor() ? loadTensor(copy, at) : element(copy.getSource(), at);
          value = convert(value, typeOf(copy.getTarget()).getElementType());
          if (copy.writesTensor())
            storeTensor(value, copy, at);
          else
            elements[copy.getTarget()] = value;
        })
        .Case<tile::ReduceOp>([&](auto reduce) {
          Value value =
              convert(element(reduce.getSource(), at), typeOf(reduce.getTarget()).getElementType());
          sums[next] = combine(reduce, sums[next], value);
          ++next;
        })
        .Case<tile::MapOp>([&](auto map) { evaluate(map, at, loop); });
  }

  void evaluate(tile::MapOp map, ValueRange at, scf::ForOp loop) {
    IRMapping mapping;
    Block &body = map.getBody().front();
    for (auto [i, input] : llvm::enumerate(map.getInputs())) {
      SmallVector<int64_t> dims = map.getInputDims(unsigned(i));
      if (isIdentity(dims, int64_t(typeOf(map.getTarget()).getRank()))) {
        mapping.map(body.getArgument(unsigned(i)), element(input, at));
        continue;
      }
      SmallVector<Value> from;
      for (int64_t dim : dims)
        from.push_back(at[dim]);
      OpBuilder::InsertionGuard guard(b);
      if (!llvm::is_contained(dims, int64_t(at.size()) - 1))
        b.setInsertionPoint(loop);
      mapping.map(body.getArgument(unsigned(i)), load(input, from));
    }
    cloneBody(body, mapping, at);
    elements[map.getTarget()] =
        mapping.lookupOrDefault(cast<tile::YieldOp>(body.getTerminator()).getValue());
  }

  Value element(Value tile, ValueRange at) {
    Value &value = elements[tile];
    if (!value)
      value = load(viewOf(tile), at);
    return value;
  }

  const Group &group;
  int64_t merged = 1;                            ///< dimensions of the innermost loop
  llvm::SmallDenseMap<Value, Value> views;       ///< tiles, if dimensions are merged
  llvm::SmallDenseMap<Operation *, Value> boxes; ///< tensors of copies, likewise
  llvm::MapVector<Value, Value> elements;        ///< of tiles, at the current index
};

struct FuseElements : penstock::impl::FuseElementsBase<FuseElements> {
  void runOnOperation() override {
    std::vector<Group> groups;
    getOperation().walk([&](Block *block) {
      if (isa<func::FuncOp, scf::ForOp, scf::IfOp, scf::WhileOp, tile::StatementOp>(
              block->getParentOp()))
        find(*block, groups);
    });
    // Tiles that all their users, in groups, set before they read them.
    llvm::SmallDenseSet<Value> unused;
    llvm::DenseMap<Operation *, const Group *> groupOf;
    for (const Group &group : groups)
      for (const Member &member : group.members)
        groupOf[member.op] = &group;
    for (const Group &group : groups)
      for (Value tile : group.written)
        if (llvm::all_of(tile.getUsers(), [&](Operation *user) {
              const Group *its = groupOf.lookup(user);
              return its && its->defines(tile);
            }))
          unused.insert(tile);
    for (const Group &group : groups)
      FusedLoops(group).run(unused);
  }

  static void find(Block &block, std::vector<Group> &groups) {
    SmallVector<Member> members;
    for (Operation &op : block) {
      if (auto member = memberOf(&op)) {
        members.push_back(*member);
      } else if (!isa<tile::AllocOp>(op) && (op.getNumRegions() || !isMemoryEffectFree(&op))) {
        find(members, groups);
        members.clear();
      }
    }
    find(members, groups);
  }

  /// Operations of another shape that do not depend on a group may be between its members. They
  /// run before it, and form groups of their own.
  static void find(ArrayRef<Member> members, std::vector<Group> &groups) {
    while (!members.empty()) {
      Group group;
      SmallVector<Member> between;
      size_t last = 0, betweenLast = 0;
      for (size_t i = 0; i < members.size(); ++i) {
        const Member &member = members[i];
        if (i && member.shape != members.front().shape && group.isIndependent(member)) {
          between.push_back(member);
          continue;
        }
        if (!group.add(member))
          break;
        last = i;
        betweenLast = between.size();
      }
      if (group.forwards) {
        groups.push_back(std::move(group));
        find(ArrayRef(between).take_front(betweenLast), groups);
      } else {
        last = 0;
      }
      members = members.drop_front(last + 1);
    }
  }
};

} // namespace
