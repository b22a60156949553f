//===- NativeWork.cpp - Work of native code, for timing -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/NativeWork.h"
#include "Analysis/Kernel/KernelTrace.h"
#include "Compiler/Pipelines.h"
#include "Compiler/RunPasses.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Explain/ElementWork.h"
#include "Explain/ExplainProducts.h"
#include "Interpreter/Grid.h"
#include "Target/X86/Gemm/GemmBuilder.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace penstock;
using timing::NativeAccess;
using timing::NativeEvent;
using timing::NativeStep;

namespace {

/// Events of the simulated blocks, together; later blocks are like the last of them.
constexpr size_t mostEvents = 6000;
/// Iterations of a loop that are simulated; each stands for an equal share of all.
constexpr int64_t mostIterations = 64;

double bytesOf(MemRefType type) {
  return double(type.getNumElements()) * double(type.getElementTypeBitWidth()) / 8;
}

/// The allocation or argument that a view is part of.
Value rootOf(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (isa<memref::TransposeOp, memref::SubViewOp, memref::CastOp, memref::CollapseShapeOp,
            memref::ExpandShapeOp>(op))
      memref = op->getOperand(0);
    else
      break;
  }
  return memref;
}

/// A product as tile-lower-gemm reports it.
class LoweredProduct {
public:
  explicit LoweredProduct(DictionaryAttr report) : report(report) {}
  int64_t number(StringRef name) const { return report.getAs<IntegerAttr>(name).getInt(); }
  bool flag(StringRef name) const { return report.getAs<BoolAttr>(name).getValue(); }
  StringRef instruction() const { return report.getAs<StringAttr>("instruction").getValue(); }
  bool isTiles() const { return instruction().starts_with("tdp"); }
  GemmPacking packing(StringRef side) const { return GemmPacking(number(side.str() + "_packing")); }

private:
  DictionaryAttr report;
};

class WorkBuilder {
public:
  WorkBuilder(func::FuncOp kernel, ArrayAttr reports, const std::map<std::string, int64_t> &sizes,
              int64_t threads)
      : kernel(kernel), sizes(sizes), scalars(kernel) {
    work.kernel.threads = threads;
    kernel.walk([&](tile::GemmOp gemm) {
      if (products.size() < reports.size())
        products.try_emplace(gemm, LoweredProduct(cast<DictionaryAttr>(reports[products.size()])));
    });
    for (auto &[op, product] : products) {
      auto gemm = cast<tile::GemmOp>(op);
      if (product.flag("left_in_tensor"))
        inPlace.insert(rootOf(gemm.getA()));
      if (product.flag("right_in_tensor"))
        inPlace.insert(rootOf(gemm.getB()));
      if (product.flag("starts_as_zero"))
        startAsZero.insert(rootOf(gemm.getAcc()));
      if (product.flag("ends_in_tensor"))
        endInTensor.insert(rootOf(gemm.getAcc()));
    }
  }

  NativeWork run() {
    assignment.sizes = sizes;
    tensorBytes();
    SmallVector<int64_t> extents;
    int64_t swizzle = 0;
    scalars.begin(assignment);
    kernel.walk([&](tile::GridOp grid) {
      swizzle = grid.getSwizzle().value_or(0);
      for (Value extent : grid.getExtents()) {
        auto size = scalars.compute(extent);
        if (!size)
          refuse(grid, "the size of its grid depends on data");
        extents.push_back(std::max<int64_t>(1, size.value_or(1)));
      }
    });
    double all = 1;
    for (int64_t extent : extents)
      all *= double(extent);
    work.kernel.allBlocks = all;
    size_t events = 0;
    for (double block = 0; block < all && events < mostEvents && work.unsupported.empty();
         block += double(work.kernel.threads)) {
      auto coordinates = interpreter::coordinatesOf(int64_t(block), extents, swizzle);
      for (auto [i, coordinate] : llvm::enumerate(coordinates))
        assignment.sizes[KnownScalars::coordinateName(unsigned(i))] = coordinate;
      scalars.begin(assignment);
      work.kernel.blocks.emplace_back();
      run(kernel.getBody().front(), 1);
      events += work.kernel.blocks.back().size();
    }
    work.kernel.flop *= all; // so far of the first block
    return std::move(work);
  }

private:
  //===------------------------------------------------------------------===//
  // Control flow
  //===------------------------------------------------------------------===//

  void run(mlir::Block &block, double times) {
    for (Operation &op : block) {
      if (!work.unsupported.empty())
        return;
      llvm::TypeSwitch<Operation *>(&op)
          .Case<scf::ForOp>([&](scf::ForOp loop) {
            if (isElementLoop(loop))
              runElements(loop, times);
            else
              runLoop(loop, times);
          })
          .Case<scf::IfOp>([&](scf::IfOp branch) { runBranch(branch, times); })
          .Case<tile::StatementOp>(
              [&](tile::StatementOp statement) { run(statement.getBody().front(), times); })
          .Case<tile::CopyOp, tile::FillOp, tile::MapOp, tile::ReduceOp, tile::GemmOp>(
              [&](auto op) { execute(op, times); })
          .Case<tile::ParallelOp, tile::AtomicOp, tile::LoadOp, tile::StoreOp, scf::WhileOp>(
              [&](Operation *op) {
                refuse(op, isa<scf::WhileOp>(op) ? "the lengths of its loops depend on data"
                                                 : "it accesses single elements");
              })
          .Case<tile::AssertOp>([&](tile::AssertOp requirement) {
            if (auto holds = scalars.compute(requirement.getCondition()); holds && !*holds)
              refuse(requirement, "the sizes violate a requirement");
          })
          .Default([&](Operation *op) { scalars.evaluate(op); });
    }
  }

  void runLoop(scf::ForOp loop, double times) {
    auto from = scalars.compute(loop.getLowerBound()), to = scalars.compute(loop.getUpperBound()),
         step = scalars.compute(loop.getStep());
    if (!from || !to || !step || *step <= 0)
      return refuse(loop, "the lengths of its loops depend on data");
    int64_t trips = tripCount(*from, *to, *step), simulated = std::min(trips, mostIterations);
    llvm::SaveAndRestore inThis(innerTrips, trips);
    for (int64_t i = 0; i < simulated; ++i) {
      // Spread over the loop, so that the last iteration is among them.
      int64_t at = simulated > 1 ? i * (trips - 1) / (simulated - 1) : 0;
      scalars.set(loop.getInductionVar(), *from + at * *step);
      for (Value carried : loop.getRegionIterArgs())
        scalars.set(carried, std::nullopt);
      run(*loop.getBody(), times * double(trips) / double(simulated));
    }
  }

  void runBranch(scf::IfOp branch, double times) {
    auto condition = scalars.compute(branch.getCondition());
    if (condition) {
      Region &taken = *condition ? branch.getThenRegion() : branch.getElseRegion();
      if (!taken.empty())
        run(taken.front(), times);
      return;
    }
    // Data decide: each is taken half of the time.
    run(branch.getThenRegion().front(), times / 2);
    if (!branch.getElseRegion().empty())
      run(branch.getElseRegion().front(), times / 2);
  }

  //===------------------------------------------------------------------===//
  // Steps
  //===------------------------------------------------------------------===//

  void refuse(Operation *op, std::string why) {
    if (!work.unsupported.empty())
      return;
    work.unsupported = std::move(why);
    work.unsupportedAt = tile::sourceLocationOf(op->getLoc());
  }

  template <class F> uint32_t stepFor(Operation *op, unsigned part, NativeStep::Kind kind, F fill) {
    auto [found, isNew] = steps.try_emplace({op, part}, uint32_t(work.kernel.steps.size()));
    if (isNew) {
      NativeStep step;
      step.kind = kind;
      step.line = int64_t(tile::sourceLocationOf(op->getLoc()).line);
      fill(step);
      work.kernel.steps.push_back(std::move(step));
    }
    return found->second;
  }

  NativeEvent &event(uint32_t step, double times, double share = 1) {
    NativeEvent made;
    made.step = step;
    made.times = times;
    made.share = share;
    work.kernel.blocks.back().push_back(std::move(made));
    return work.kernel.blocks.back().back();
  }

  uint32_t objectOf(Value root, std::vector<int64_t> offsets = {}) {
    offsets.insert(offsets.begin(),
                   int64_t(reinterpret_cast<uintptr_t>(root.getAsOpaquePointer())));
    return objects.try_emplace(std::move(offsets), uint32_t(objects.size())).first->second;
  }
  /// Memory that a step allocates for itself.
  uint32_t ownObject(Operation *op, int64_t part) {
    return objects
        .try_emplace({int64_t(reinterpret_cast<uintptr_t>(op)), part}, uint32_t(objects.size()))
        .first->second;
  }

  NativeAccess tileAccess(Value tile, bool write) {
    Value root = rootOf(tile);
    return {objectOf(root), bytesOf(cast<MemRefType>(root.getType())), 0, write};
  }

  /// The slice of a tensor that a copy touches, clipped at the tensor's edges, and which share
  /// of the tile that is.
  std::pair<NativeAccess, double> sliceAccess(tile::CopyOp copy) {
    bool write = copy.writesTensor();
    Value tensor = write ? copy.getTarget() : copy.getSource();
    OperandRange offsets = write ? copy.getTargetOffsets() : copy.getSourceOffsets();
    auto type = cast<MemRefType>(tensor.getType());
    std::vector<int64_t> at;
    for (Value offset : offsets)
      at.push_back(scalars.compute(offset).value_or(0));
    double share = 1, elements = 1, row = 1;
    SmallVector<int64_t> shape = copy.getBoxShape();
    for (auto [dim, extent] : llvm::zip(copy.getTensorDims(), shape)) {
      int64_t size = sizeOf(tensor, dim);
      int64_t inside = std::clamp<int64_t>(size - at[size_t(dim)], 0, extent);
      share *= double(inside) / double(std::max<int64_t>(1, extent));
      elements *= double(inside);
      row = inside == size ? row * double(inside) : double(inside);
    }
    double size = double(type.getElementTypeBitWidth()) / 8;
    return {{objectOf(tensor, at), elements * size, row * size, write}, share};
  }

  int64_t sizeOf(Value tensor, int64_t dim) {
    auto type = cast<MemRefType>(tensor.getType());
    if (!type.isDynamicDim(unsigned(dim)))
      return type.getDimSize(unsigned(dim));
    auto argument = dyn_cast<BlockArgument>(tensor);
    auto found = argument ? sizes.find(scalars.sizeName(argument, dim)) : sizes.end();
    return found == sizes.end() ? assignment.defaultSize : found->second;
  }

  void tensorBytes() {
    for (BlockArgument argument : kernel.getArguments())
      if (auto type = dyn_cast<MemRefType>(argument.getType())) {
        double bytes = double(type.getElementTypeBitWidth()) / 8;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          bytes *= double(sizeOf(argument, dim));
        work.kernel.tensorBytes += bytes;
      }
  }

  void execute(tile::CopyOp copy, double times) {
    bool fromTensor = copy.readsTensor(), toTensor = copy.writesTensor();
    uint32_t step = stepFor(copy, 0, NativeStep::Kind::Copy, [&](NativeStep &s) {
      s.name = "copy";
      s.vectors = elementWorkOf(copy);
    });
    if (!fromTensor && !toTensor) {
      NativeEvent &made = event(step, times);
      made.accesses = {tileAccess(copy.getSource(), false), tileAccess(copy.getTarget(), true)};
      return;
    }
    auto [slice, share] = sliceAccess(copy);
    Value tile = rootOf(fromTensor ? copy.getTarget() : copy.getSource());
    // The product reads the slice itself.
    if (fromTensor && share == 1 && inPlace.contains(tile)) {
      forwarded[tile] = slice;
      return;
    }
    if (fromTensor)
      forwarded.erase(tile);
    if (toTensor && share == 1 && endInTensor.contains(tile)) {
      // The last product stored its sums there.
      event(step, times, 0).accesses = {slice};
      return;
    }
    NativeEvent &made = event(step, times, fromTensor && share < 1 ? 1 + share : share);
    made.accesses = {slice};
    if (tile != (fromTensor ? copy.getSource() : copy.getTarget()))
      made.accesses.insert(fromTensor ? made.accesses.end() : made.accesses.begin(),
                           tileAccess(tile, fromTensor));
  }

  void execute(tile::FillOp fill, double times) {
    if (startAsZero.contains(rootOf(fill.getTarget())))
      return;
    uint32_t step = stepFor(fill, 0, NativeStep::Kind::Elements, [&](NativeStep &s) {
      s.name = "fill";
      s.vectors = elementWorkOf(fill);
    });
    event(step, times).accesses = {tileAccess(fill.getTarget(), true)};
  }

  void execute(tile::MapOp map, double times) {
    uint32_t step = stepFor(map, 0, NativeStep::Kind::Elements, [&](NativeStep &s) {
      s.name = "set";
      s.vectors = elementWorkOf(map);
    });
    NativeEvent &made = event(step, times);
    for (Value input : map.getInputs())
      made.accesses.push_back(tileAccess(input, false));
    made.accesses.push_back(tileAccess(map.getTarget(), true));
  }

  void execute(tile::ReduceOp reduce, double times) {
    uint32_t step = stepFor(reduce, 0, NativeStep::Kind::Elements, [&](NativeStep &s) {
      s.name = "reduce";
      s.vectors = elementWorkOf(reduce);
    });
    event(step, times).accesses = {tileAccess(reduce.getSource(), false),
                                   tileAccess(reduce.getTarget(), true)};
  }

  /// A nest of fused loops.
  void runElements(scf::ForOp loop, double times) {
    SmallVector<ElementAccess> touched;
    uint32_t step = stepFor(loop, 0, NativeStep::Kind::Elements, [&](NativeStep &s) {
      s.name = "elements";
      s.vectors = elementWorkOf(loop);
    });
    elementAccesses(loop, touched);
    loop.walk([&](scf::ForOp each) { scalars.set(each.getInductionVar(), 0); });
    NativeEvent &made = event(step, times);
    for (const ElementAccess &access : touched) {
      Value root = rootOf(access.memref);
      if (!isa<BlockArgument>(root)) {
        made.accesses.push_back(
            {objectOf(root), bytesOf(cast<MemRefType>(root.getType())), 0, access.write});
        continue;
      }
      std::vector<int64_t> at;
      for (Value index : access.indices)
        at.push_back(computeIn(index));
      made.accesses.push_back({objectOf(root, at), access.bytes, access.rowBytes, access.write});
    }
  }

  /// The value of an index for the first element of a nest.
  int64_t computeIn(Value index) { return scalars.compute(index).value_or(0); }

  //===------------------------------------------------------------------===//
  // Products
  //===------------------------------------------------------------------===//

  void execute(tile::GemmOp gemm, double times) {
    auto found = products.find(gemm);
    if (found == products.end())
      return refuse(gemm, "a product is not lowered by itself");
    const LoweredProduct &p = found->second;
    NativeAccess left = operand(gemm, p, gemm.getA(), "left", times, 0);
    NativeAccess right = operand(gemm, p, gemm.getB(), "right", times, 1);
    uint32_t step = stepFor(gemm, 2, NativeStep::Kind::Product, [&](NativeStep &s) {
      s.name = "gemm";
      timing::NativeProduct &to = s.product;
      to.m = p.number("m");
      to.n = p.number("n");
      to.rows = p.number("rows");
      to.columns = p.number("columns");
      to.lanes = std::max<int64_t>(1, to.columns / std::max<int64_t>(1, p.number("right_loads")));
      to.leftBytes = double(p.number("left_bytes"));
      to.rightBytes = double(p.number("right_bytes"));
      to.stripBytes = double(p.number("strip_bytes"));
      to.sumBytes = double(to.m * to.n * 4);
      to.instruction = cyclesOfProduct(p.instruction());
      to.tileRows = p.isTiles() ? 16 : 1;
      // A row of B has the same bytes in each step.
      double rightStep = double(p.number("right_loads")) * (p.isTiles() ? 1024 : 64);
      to.steps = int64_t(std::ceil(to.stripBytes / rightStep));
      to.loadsSums = !gemm.getOverwrite();
    });
    work.kernel.flop += work.kernel.blocks.size() == 1
                            ? times * 2 * double(p.number("m") * p.number("n") * p.number("k"))
                            : 0;
    NativeAccess sums = tileAccess(gemm.getAcc(), false), stored = sums;
    stored.write = true;
    NativeEvent &made = event(step, times);
    made.accesses = {left, right, sums, stored};
  }

  /// Packs an operand if it has to be, and returns what the product then reads.
  NativeAccess operand(tile::GemmOp gemm, const LoweredProduct &p, Value memref, StringRef side,
                       double times, unsigned part) {
    Value root = rootOf(memref);
    auto slice = forwarded.find(root);
    NativeAccess source = slice == forwarded.end() ? tileAccess(root, false) : slice->second;
    GemmPacking packing = p.packing(side);
    if (packing == GemmPacking::None)
      return source;
    bool isNear = p.number("left_bytes") <= nearRows * p.number("m");
    if (side == "left" && p.flag("left_read_once") && innerTrips == 1 && isNear &&
        slice != forwarded.end())
      return source;
    NativeAccess packed{ownObject(gemm, part), double(p.number(side.str() + "_bytes")), 0, true};
    uint32_t step = stepFor(gemm, part, NativeStep::Kind::Pack, [&](NativeStep &s) {
      s.name = "pack";
      s.vectors = packingWork(packing, cast<MemRefType>(memref.getType()));
    });
    event(step, times).accesses = {source, packed};
    packed.write = false;
    return packed;
  }

  func::FuncOp kernel;
  const std::map<std::string, int64_t> &sizes;
  SizeAssignment assignment;
  KnownScalars scalars;
  NativeWork work;
  llvm::MapVector<Operation *, LoweredProduct> products;
  llvm::SmallDenseSet<Value> inPlace, startAsZero, endInTensor;
  llvm::DenseMap<Value, NativeAccess> forwarded; ///< slices that products read in place
  std::map<std::pair<Operation *, unsigned>, uint32_t> steps;
  std::map<std::vector<int64_t>, uint32_t> objects;
  int64_t innerTrips = 0; ///< of the innermost loop
};

} // namespace

std::optional<NativeWork> penstock::nativeWork(ModuleOp module, const std::string &name,
                                               const std::map<std::string, int64_t> &sizes,
                                               const NativeCpu &isa, int64_t threads,
                                               std::vector<penstock::Diagnostic> &diagnostics) {
  auto reports = productReports(module, name, isa, diagnostics);
  if (!reports)
    return std::nullopt;
  OwningOpRef<ModuleOp> copy(module.clone());
  for (auto function : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (function.getName() != name)
      function.erase();
  PassManager passes(copy->getContext());
  buildSchedulePipeline(passes, *hw::findArchitecture("x86"));
  passes.addNestedPass<func::FuncOp>(createUnrollLoops());
  passes.addNestedPass<func::FuncOp>(createFuseElements());
  if (!runPasses(passes, *copy, {}, diagnostics))
    return std::nullopt;
  return WorkBuilder(copy->lookupSymbol<func::FuncOp>(name), reports, sizes, threads).run();
}
