//===- AssignLayouts.cpp - Register layouts of tiles ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses a layout in registers for every local tile. Instructions dictate some
// of them; tiles that are used together follow, the most frequent uses first.
// Where a use needs another layout than its tile has, a copy into a tile of that
// layout is inserted, so that layouts never conflict.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Layout/Distribution.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Placement/TileLayouts.h"
#include "Target/NVPTX/Placement/WholeRows.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace penstock {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

namespace {

MemRefType typeOf(Value memref) { return cast<MemRefType>(memref.getType()); }

/// Returns the estimated number of executions of an operation, relative to one outside of loops.
int64_t weightOf(Operation *op) {
  int64_t weight = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(parent) && weight < 4096)
      weight *= 8;
  return weight;
}

class Assigner {
public:
  explicit Assigner(func::FuncOp kernel)
      : kernel(kernel), tileProgram(kernel->hasAttr(nv::NVDialect::tileProgramAttr)) {}

  LogicalResult run() {
    collect();
    joinTiles();
    assignTiles();
    assignVectors();
    if (failed(checkRegisters()) || (!tileProgram && failed(assignSlices())))
      return failure();
    if (failed(tileProgram ? insertConversions() : checkConversions()))
      return failure();
    for (tile::AllocOp op : tiles)
      write(op.getResult(), layouts.find(op.getResult())->second);
    return success();
  }

private:
  //===------------------------------------------------------------------===//
  // Tiles and what they are used with
  //===------------------------------------------------------------------===//

  void collect() {
    kernel.walk([&](tile::AllocOp op) {
      auto type = typeOf(op.getResult());
      if (tile::spaceOf(type) == tile::Space::Local && type.getRank() > 0) {
        tiles.push_back(op);
        together.insert(op.getResult().getAsOpaquePointer());
      }
    });
    kernel.walk([&](tile::GemmOp op) {
      if (mmaShapeOf(op))
        products[op] = mmaLayoutOf(op, nv::scopeOf(op).warps, needsWholeRows(op));
    });
  }

  bool inRegisters(Value memref) {
    auto alloc = memref.getDefiningOp<tile::AllocOp>();
    return alloc && llvm::is_contained(tiles, alloc);
  }

  /// Returns the layout that an instruction dictates for a tile.
  std::optional<Distribution> dictated(Operation *op, Value tile) {
    auto type = typeOf(tile);
    int64_t warps = nv::scopeOf(op).warps;
    if (auto product = products.find(op); product != products.end())
      return tile == cast<tile::GemmOp>(op).getAcc()
                 ? product->second
                 : mmaLeftLayoutOf(cast<tile::GemmOp>(op), warps);
    if (isa<nv::TensorLoadOp, nv::TensorStoreOp>(op))
      return layout::tensorMemoryAccumulator(type.getDimSize(0), type.getDimSize(1),
                                             warps / nv::warpgroupWarps);
    if (isa<nv::WgmmaOp>(op))
      return distributionOf(layout::wgmmaAccumulator(type.getDimSize(0), type.getDimSize(1),
                                                     warps / nv::warpgroupWarps));
    return std::nullopt;
  }

  /// Slices of tiles in explicit kernels are some of their registers. Nothing can be moved: the
  /// kernel states where threads meet.
  LogicalResult assignSlices() {
    WalkResult result = kernel.walk([&](Operation *view) {
      auto slice = dyn_cast<memref::SubViewOp>(view);
      auto known = slice || isa<memref::TransposeOp>(view) ? layouts.find(view->getOperand(0))
                                                           : layouts.end();
      if (known == layouts.end())
        return WalkResult::advance();
      auto part = slice ? partOf(slice, known->second) : std::nullopt;
      if (!part)
        return refuseSlice(view, known->second), WalkResult::interrupt();
      layouts.insert({slice.getResult(), part->layout});
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
  static void refuseSlice(Operation *view, const Distribution &layout) {
    auto diagnostic = tile::emitCoded(view, HardwareLayout)
                      << tile::describe(view->getOperand(0)) << " lies in registers as "
                      << toString(layout) << "; it is not transposed, and not divided in this way";
    tile::attachHelp(diagnostic) << "a slice has constant offsets, and each thread has the same "
                                    "registers of it: columns by multiples of 8 for wgmma";
  }

  /// Tiles of one shape that an operation names together, by falling weight.
  void joinTiles() {
    struct Edge {
      Value a, b;
      int64_t weight;
      size_t number = 0; ///< in the order of the program
    };
    SmallVector<Edge> edges;
    kernel.walk([&](Operation *op) {
      SmallVector<Value> named;
      if (auto map = dyn_cast<tile::MapOp>(op)) {
        named.push_back(map.getTarget());
        int64_t rank = typeOf(map.getTarget()).getRank();
        for (Value input : map.getInputs())
          if (typeOf(input).getRank() == rank)
            named.push_back(input);
      } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
        named = {copy.getSource(), copy.getTarget()};
      } else if (isa<nv::NVDialect>(op->getDialect())) {
        named.assign(op->operand_begin(), op->operand_end());
      }
      llvm::erase_if(named, [&](Value value) { return !inRegisters(value); });
      for (size_t i = 1; i < named.size(); ++i)
        edges.push_back({named[0], named[i], weightOf(op)});
      for (Value value : op->getOperands())
        if (inRegisters(value))
          if (auto layout = dictated(op, value))
            anchors.try_emplace(value, std::pair(*layout, op));
    });
    for (auto [i, edge] : llvm::enumerate(edges))
      edge.number = i;
    llvm::sort(edges, [](const Edge &a, const Edge &b) {
      return std::pair(-a.weight, a.number) < std::pair(-b.weight, b.number);
    });
    // Layouts that instructions dictate keep classes apart.
    llvm::DenseMap<void *, const Distribution *> ofClass;
    for (auto &[tile, anchor] : anchors)
      ofClass[tile.getAsOpaquePointer()] = &anchor.first;
    for (const Edge &edge : edges) {
      void *a = together.getLeaderValue(edge.a.getAsOpaquePointer());
      void *b = together.getLeaderValue(edge.b.getAsOpaquePointer());
      const Distribution *first = ofClass.lookup(a), *second = ofClass.lookup(b);
      if (a == b || (first && second && !(*first == *second)))
        continue;
      together.unionSets(a, b);
      ofClass[together.getLeaderValue(a)] = first ? first : second;
    }
  }

  /// Operations that work on a tile, in the order of the program.
  Operation *firstUser(Value tile) {
    Operation *first = nullptr;
    for (Operation *user : tile.getUsers())
      if (!first || (user->getBlock() == first->getBlock() && user->isBeforeInBlock(first)))
        first = user;
    return first;
  }

  /// Returns the number of neighbors that fill 16 bytes of the tensors that a tile is copied
  /// from and to, whose elements may be narrower than the tile's; 0 if there are none.
  static int64_t vectorOfTensors(tile::AllocOp alloc) {
    int64_t vector = 0;
    for (Operation *user : alloc->getUsers()) {
      auto copy = dyn_cast<tile::CopyOp>(user);
      if (!copy || !(copy.readsTensor() || copy.writesTensor()))
        continue;
      auto tensor = typeOf(copy.readsTensor() ? copy.getSource() : copy.getTarget());
      auto shape = typeOf(alloc.getResult()).getShape();
      vector = std::max(vector, vectorOf(MemRefType::get(shape, tensor.getElementType())));
    }
    return vector;
  }

  void assignTiles() {
    llvm::DenseMap<void *, std::pair<const Distribution *, Operation *>> ofClass;
    for (auto &[tile, anchor] : anchors)
      ofClass.try_emplace(together.getLeaderValue(tile.getAsOpaquePointer()), &anchor.first,
                          anchor.second);
    // Tiles that are used together are distributed alike, however wide their elements are.
    // The narrowest that tensors are copied from or to decides: it needs the most
    // neighbors for 16 bytes. Without one, the widest does.
    llvm::DenseMap<void *, int64_t> vectors, copied;
    for (tile::AllocOp op : tiles) {
      void *leader = together.getLeaderValue(op.getResult().getAsOpaquePointer());
      int64_t vector = vectorOf(typeOf(op.getResult()));
      auto [known, inserted] = vectors.try_emplace(leader, vector);
      known->second = std::min(known->second, vector);
      if (int64_t wanted = vectorOfTensors(op))
        copied[leader] = std::max(copied[leader], wanted);
    }
    for (auto [leader, vector] : copied)
      vectors[leader] = vector;
    for (tile::AllocOp op : tiles) {
      Value tile = op.getResult();
      void *leader = together.getLeaderValue(tile.getAsOpaquePointer());
      Operation *user = firstUser(tile);
      if (auto found = ofClass.find(leader); found != ofClass.end())
        layouts[tile] = *found->second.first;
      else
        layouts[tile] = naturalLayout(typeOf(tile).getShape(),
                                      threadsOf(nv::scopeOf(user ? user : op.getOperation())),
                                      vectors.lookup(leader));
    }
  }

  /// A vector lies as the operation that broadcasts or reduces most often wants it.
  void assignVectors() {
    struct Wish {
      Distribution layout;
      int64_t weight;
    };
    llvm::DenseMap<void *, SmallVector<Wish>> wishes;
    auto wish = [&](Value vector, Distribution layout, Operation *op) {
      SmallVector<Wish> &known = wishes[together.getLeaderValue(vector.getAsOpaquePointer())];
      auto same = llvm::find_if(known, [&](Wish &w) { return w.layout == layout; });
      if (same != known.end())
        same->weight += weightOf(op);
      else
        known.push_back({std::move(layout), weightOf(op)});
    };
    kernel.walk([&](Operation *op) {
      for (auto &[tile, layout] : slicesNeededBy(op))
        if (inRegisters(tile))
          wish(tile, std::move(layout), op);
    });
    for (tile::AllocOp op : tiles) {
      void *leader = together.getLeaderValue(op.getResult().getAsOpaquePointer());
      auto found = wishes.find(leader);
      bool free = llvm::none_of(anchors, [&](auto &anchor) {
        return together.isEquivalent(anchor.first.getAsOpaquePointer(), leader);
      });
      if (found == wishes.end() || !free)
        continue;
      layouts[op.getResult()] = llvm::max_element(found->second, [](const Wish &a, const Wish &b) {
                                  return a.weight < b.weight;
                                })->layout;
    }
  }

  /// Returns the distribution of an operation's work.
  Distribution layoutOf(Operation *op) {
    return workLayout(op, threadsOf(nv::scopeOf(op)), [&](Value tile) -> const Distribution * {
      auto found = layouts.find(tile);
      return found == layouts.end() ? nullptr : &found->second;
    });
  }

  /// Operands of lower rank, with the layout in which the operation takes them.
  SmallVector<std::pair<Value, Distribution>> slicesNeededBy(Operation *op) {
    SmallVector<std::pair<Value, Distribution>> needed;
    if (auto map = dyn_cast<tile::MapOp>(op)) {
      Distribution full = layoutOf(op);
      for (auto [i, input] : llvm::enumerate(map.getInputs()))
        if (typeOf(input).getRank() < typeOf(map.getTarget()).getRank())
          needed.push_back({input, sliceAlong(full, map.getInputDims(unsigned(i)))});
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      needed.push_back({reduce.getTarget(), layoutOf(op).slice(unsigned(reduce.getDim()))});
    }
    return needed;
  }

  LogicalResult checkRegisters() {
    for (tile::AllocOp op : tiles) {
      const Distribution &layout = layouts.find(op.getResult())->second;
      if (layout.registers() > 255)
        return tile::emitCoded(op, HardwareMemory)
               << tile::describe(op.getResult()) << " takes " << layout.registers()
               << " registers of each of " << layout.threads() << " threads; a thread has 255";
    }
    WalkResult checked = kernel.walk([&](nv::WgmmaOp product) {
      return failed(checkRegisters(product)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(checked.wasInterrupted());
  }

  /// ptxas cannot spill the accumulators of an MMA. Registers that warpgroups request from each
  /// other are checked when they are shared out.
  LogicalResult checkRegisters(nv::WgmmaOp product) {
    auto threads = kernel->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr);
    bool requests = kernel.walk([](nv::RegistersRequestOp) { return WalkResult::interrupt(); })
                        .wasInterrupted();
    if (!threads || requests)
      return success();
    int64_t words = nvptx::wgmmaRegisters(typeOf(product.getAcc()));
    int64_t available = nvptx::registersOfThread(threads.getInt(), nvptx::architectureOf(kernel));
    if (words + nvptx::besideWgmma <= available)
      return success();
    auto diagnostic = tile::emitCoded(product, HardwareMemory)
                      << "the accumulator " << tile::describe(product.getAcc())
                      << " of wgmma takes " << words << " registers of a thread and "
                      << nvptx::besideWgmma << " more; a thread of a block of " << threads.getInt()
                      << " threads has " << available;
    tile::attachHelp(diagnostic) << "use a smaller tile, or fewer threads";
    return diagnostic;
  }

  //===------------------------------------------------------------------===//
  // Conversions
  //===------------------------------------------------------------------===//

  void write(Value tile, const Distribution &layout) {
    nv::setLayout(tile.getDefiningOp<tile::AllocOp>(), layout);
  }

  /// A tile like \p tile with another layout.
  Value another(OpBuilder &b, Value tile, const Distribution &layout) {
    auto alloc = cast<tile::AllocOp>(tile.getDefiningOp());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(alloc);
    auto copy = tile::AllocOp::create(b, alloc.getLoc(), tile.getType(), alloc.getLabelAttr(),
                                      IntegerAttr());
    write(copy.getResult(), layout);
    return copy.getResult();
  }

  static void copy(OpBuilder &b, Location loc, Value from, Value to) {
    tile::CopyOp::create(b, loc, from, ValueRange{}, to, ValueRange{}, Value(), Value(),
                         DenseI64ArrayAttr(), StringAttr());
  }

  /// Makes an operand of \p op have \p wanted, which it reads, writes or both.
  void convert(OpOperand &use, const Distribution &wanted, bool reads, bool writes) {
    Value tile = use.get();
    auto found = layouts.find(tile);
    if (found == layouts.end() || found->second == wanted)
      return;
    Operation *op = use.getOwner();
    OpBuilder b(op);
    Value converted = another(b, tile, wanted);
    if (reads)
      copy(b, op->getLoc(), tile, converted);
    use.set(converted);
    if (writes) {
      b.setInsertionPointAfter(op);
      copy(b, op->getLoc(), converted, tile);
    }
  }

  /// Explicit kernels state where threads meet, so that no conversion is inserted.
  LogicalResult checkConversions() {
    WalkResult result = kernel.walk([&](Operation *op) {
      auto differs = [&](Value tile, const Distribution &wanted) {
        auto found = layouts.find(tile);
        return found != layouts.end() && !(found->second == wanted);
      };
      bool conflict = false;
      for (Value value : op->getOperands())
        if (auto wanted = inRegisters(value) ? dictated(op, value) : std::nullopt)
          conflict |= differs(value, *wanted);
      if (auto map = dyn_cast<tile::MapOp>(op)) {
        Distribution full = layoutOf(op);
        for (auto [i, input] : llvm::enumerate(map.getInputs()))
          conflict |= differs(input, sliceAlong(full, map.getInputDims(unsigned(i))));
      } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
        conflict = differs(reduce.getTarget(), layoutOf(op).slice(unsigned(reduce.getDim())));
      } else if (auto copy = dyn_cast<tile::CopyOp>(op); copy && layouts.count(copy.getSource())) {
        conflict = differs(copy.getTarget(), layouts.find(copy.getSource())->second);
      }
      if (!conflict)
        return WalkResult::advance();
      tile::emitCoded(op, HardwareLayout)
          << "tiles that are used together need different layouts in registers";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult insertConversions() {
    SmallVector<Operation *> ops;
    kernel.walk([&](Operation *op) {
      if (isa<tile::MapOp, tile::ReduceOp, tile::GemmOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
        if (auto layout = dictated(op, gemm.getAcc()))
          convert(gemm.getAccMutable(), *layout, !gemm.getOverwrite(), true);
        if (auto layout = dictated(op, gemm.getA()))
          convert(gemm.getAMutable(), *layout, true, false);
        continue;
      }
      Distribution full = layoutOf(op);
      if (auto map = dyn_cast<tile::MapOp>(op)) {
        for (auto [i, input] : llvm::enumerate(map.getInputsMutable()))
          convert(input, sliceAlong(full, map.getInputDims(unsigned(i))), true, false);
      } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
        convert(reduce.getTargetMutable(), full.slice(unsigned(reduce.getDim())),
                reduce.getAccumulate(), true);
      }
    }
    return success();
  }

  func::FuncOp kernel;
  bool tileProgram;
  SmallVector<tile::AllocOp> tiles;
  llvm::DenseMap<Operation *, Distribution> products; ///< accumulators of mma.sync
  llvm::EquivalenceClasses<void *> together;
  llvm::MapVector<Value, std::pair<Distribution, Operation *>> anchors;
  llvm::DenseMap<Value, Distribution> layouts;
};

struct AssignLayouts : penstock::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    if (kernel->hasAttr(nv::NVDialect::threadsAttr) && failed(Assigner(kernel).run()))
      signalPassFailure();
  }
};

} // namespace
