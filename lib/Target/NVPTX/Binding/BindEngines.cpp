//===- BindEngines.cpp - Engines of copies and MMAs -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the engine of each product, and of each copy that is a statement of a
// pipelined loop, on the operation. The first that is legal is taken, fast ones
// first. What an engine can take is decided in one place only, the verifier of its
// operation: an operation is built, verified and erased again.
//
// tcgen05 accumulates in tensor memory, which nv-place-accumulators makes visible.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Scheduling/Problem/Problem.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Plans/OpenRings.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"

#include <numeric>

namespace penstock {
#define GEN_PASS_DEF_BINDENGINES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using sched::Engine;

namespace {

/// Stores the error of an operation that does not verify in \p reason.
LogicalResult verifySilently(Operation *op, std::string *reason = nullptr) {
  std::vector<penstock::Diagnostic> errors;
  tile::DiagnosticCollector silent(op->getContext(), errors, InternalError);
  if (succeeded(verify(op)))
    return success();
  if (reason && !errors.empty())
    *reason = errors.front().message;
  return failure();
}

/// Returns whether the operation that \p build creates verifies.
bool isLegal(Operation *at, llvm::function_ref<Operation *(OpBuilder &)> build,
             std::string *reason = nullptr) {
  OpBuilder b(at);
  Operation *op = build(b);
  bool legal = succeeded(verifySilently(op, reason));
  op->erase();
  return legal;
}

/// Returns whether wgmma multiplies a gemm that some tensor core multiplies.
bool isWgmma(tile::GemmOp gemm, std::string *reason = nullptr) {
  Operation *more = nullptr;
  bool legal = isLegal(
      gemm,
      [&](OpBuilder &b) -> Operation * {
        Value yes = arith::ConstantIntOp::create(b, gemm.getLoc(), 1, 1);
        more = yes.getDefiningOp();
        return nv::WgmmaOp::create(b, gemm.getLoc(), gemm.getA(), gemm.getB(), gemm.getAcc(), yes);
      },
      reason);
  more->erase();
  return legal;
}

class Binder {
public:
  explicit Binder(func::FuncOp kernel)
      : kernel(kernel), architecture(nvptx::architectureOf(kernel)),
        alignedRows(kernel->hasAttr(nv::NVDialect::alignedRowsAttr)) {}

  LogicalResult run() {
    findWritten();
    SmallVector<tile::CopyOp> copies;
    SmallVector<tile::GemmOp> products;
    kernel.walk([&](Operation *op) {
      if (auto copy = dyn_cast<tile::CopyOp>(op)) {
        if (nvptx::isPipelinedStatement(op))
          copies.push_back(copy);
        else if (op->getParentOfType<tile::StatementOp>()) // nv-overlap-products may open it
          nvptx::setEngine(op, Engine::Threads);
      }
      if (auto gemm = dyn_cast<tile::GemmOp>(op))
        products.push_back(gemm);
    });
    for (tile::CopyOp copy : copies) {
      Engine engine = engineOf(copy);
      if (copy.getPadding() && engine != Engine::TmaLoad)
        return refusePadding(copy);
      nvptx::setEngine(copy, engine);
    }
    for (tile::GemmOp gemm : products) {
      std::string reason;
      Engine engine = engineOf(gemm, reason);
      if (!reason.empty())
        gemm->setAttr(nv::NVDialect::engineReasonAttr, StringAttr::get(gemm.getContext(), reason));
      if (gemm.isScaled() && engine != scaledEngine())
        return refuseScales(gemm);
      nvptx::setEngine(gemm, engine);
    }
    for (auto copy : kernel.getBody().front().getOps<tile::CopyOp>())
      if (loadsOperand(copy) && engineOf(copy) == Engine::TmaLoad)
        nvptx::setEngine(copy, Engine::TmaLoad);
    return success();
  }

private:
  /// Tensors that the kernel writes are not copied by engines, which take another path
  /// to memory than threads.
  void findWritten() {
    kernel.walk([&](tile::TileAccessOpInterface op) {
      SmallVector<tile::TileAccess> accesses;
      op.getAccesses(accesses);
      for (const tile::TileAccess &access : accesses)
        if (access.writes) {
          written.insert(tile::rootOf(access.memref));
          overlapped |= mayOverlap(access.memref);
        }
    });
  }

  bool mayOverlap(Value memref) {
    auto argument = dyn_cast<BlockArgument>(tile::rootOf(memref));
    return argument && kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr);
  }

  Engine engineOf(tile::CopyOp copy) {
    if (!alignedRows || !copy.readsTensor() || written.contains(tile::rootOf(copy.getSource())) ||
        (overlapped && mayOverlap(copy.getSource())))
      return Engine::Threads;
    if (copy.getFill() && !matchPattern(copy.getFill(), m_AnyZeroFloat()) &&
        !matchPattern(copy.getFill(), m_Zero()))
      return Engine::Threads;
    auto from = cast<MemRefType>(copy.getSource().getType());
    auto to = cast<MemRefType>(copy.getTarget().getType());
    if (tile::spaceOf(to) != tile::Space::Shared || from.getElementType() != to.getElementType() ||
        from != tile::tensorType(from.getElementType(), from.getRank()))
      return Engine::Threads;
    DenseI64ArrayAttr dims = nvptx::boxDims(copy);
    if (architecture.tma && isLegal(copy, [&](OpBuilder &b) -> Operation * {
          auto barriers =
              nv::BarrierAllocOp::create(b, copy.getLoc(), nv::BarriersType::get(b.getContext(), 1),
                                         StringAttr(), ArrayRef<int64_t>{1});
          Value zero = arith::ConstantIndexOp::create(b, copy.getLoc(), 0);
          trial = {zero.getDefiningOp(), barriers};
          auto load =
              nv::TmaLoadOp::create(b, copy.getLoc(), copy.getSource(), copy.getSourceOffsets(),
                                    copy.getTarget(), barriers, zero, dims, copy.getRowsAttr());
          load.setPaddingAttr(copy.getPaddingAttr());
          return load;
        }))
      return eraseTrial(), Engine::TmaLoad;
    eraseTrial();
    int64_t bytes = nvptx::asyncCopyBytes(copy);
    if (bytes && isLegal(copy, [&](OpBuilder &b) -> Operation * {
          return nv::AsyncCopyOp::create(b, copy.getLoc(), copy.getSource(),
                                         copy.getSourceOffsets(), copy.getTarget(), dims, bytes,
                                         /*l1=*/false, copy.getRowsAttr());
        }))
      return Engine::CpAsync;
    return Engine::Threads;
  }

  /// Returns whether TMA can load the copy's tile before the warp roles start: the copy precedes
  /// all pipelined loops and all other accesses to the tile, and a `tile.gemm` reads the tile.
  bool loadsOperand(tile::CopyOp copy) {
    Value tile = copy.getTarget();
    auto isLoopBefore = [&](scf::ForOp loop) { return loop->isBeforeInBlock(copy); };
    if (copy.getPadding() || copy.getAsyncAttr() || !tile.getDefiningOp<tile::AllocOp>() ||
        llvm::any_of(copy->getBlock()->getOps<scf::ForOp>(), isLoopBefore) ||
        !llvm::all_of(copy.getSourceOffsets(), isWithoutEffects))
      return false;
    SmallVector<Operation *> users;
    nvptx::usersOf(tile, users);
    return llvm::any_of(users, [](Operation *user) { return isa<tile::GemmOp>(user); }) &&
           llvm::all_of(users, [&](Operation *user) {
             return user == copy ||
                    copy->isBeforeInBlock(copy->getBlock()->findAncestorOpInBlock(*user));
           });
  }

  /// Returns whether a value is computed by side-effect-free operations and `tile.grid` only.
  static bool isWithoutEffects(Value value) {
    SmallVector<Value> work = {value};
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || isa<tile::GridOp>(op) || !seen.insert(op).second)
        continue;
      if (!isPure(op) || op->getNumRegions())
        return false;
      llvm::append_range(work, op->getOperands());
    }
    return true;
  }

  /// Refuses a copy that only TMA makes: nv-pad-operands has chosen it for that.
  LogicalResult refusePadding(tile::CopyOp copy) {
    auto diagnostic = tile::emitCoded(copy, PaddedCopy)
                      << "TMA does not copy " << tile::describe(copy.getSource()) << " to "
                      << tile::describe(copy.getTarget()) << ", whose values are padded";
    tile::attachHelp(diagnostic) << "copy from a tensor of at most 5 dimensions; or unpack the "
                                    "values with b.unpack(packed, values)";
    return diagnostic;
  }

  void eraseTrial() {
    for (Operation *op : trial)
      op->erase();
    trial.clear();
  }

  /// Sets \p reason if the result is neither wgmma nor tcgen05, and the target has one of them.
  Engine engineOf(tile::GemmOp gemm, std::string &reason) {
    bool hopper = architecture.family == hw::Architecture::Family::Hopper;
    bool multiplied = nvptx::mmaShapeOf(gemm).has_value();
    if (!hopper && !hasTensorMemory())
      return multiplied ? Engine::MmaSync : Engine::Threads;
    if (!multiplied) {
      reason = whyNoTensorCore(gemm);
      return Engine::Threads;
    }
    if (!gemm.getAcc().getDefiningOp<tile::AllocOp>()) {
      reason = "the accumulator is a part of a tile";
      return Engine::MmaSync;
    }
    if (hopper)
      return isWgmma(gemm, &reason) ? Engine::Wgmma : Engine::MmaSync;
    return fitsTensorMemory(gemm, reason) ? Engine::Tcgen05Mma : Engine::MmaSync;
  }

  std::string whyNoTensorCore(tile::GemmOp gemm) {
    auto typeOf = [](Value tile) { return cast<MemRefType>(tile.getType()); };
    if (typeOf(gemm.getA()).getElementType().isF32())
      return "products of f32 are exact unless `.tf32 = true` allows tf32";
    return "no tensor core multiplies " + tile::describe(gemm.getA()) + " and " +
           tile::describe(gemm.getB()) + " into " + tile::describe(gemm.getAcc());
  }

  /// Returns the engine that multiplies with scales, where such products have not been expanded.
  Engine scaledEngine() const {
    return architecture.scales == hw::BlockScales::MmaSync ? Engine::MmaSync : Engine::Tcgen05Mma;
  }

  /// Refuses a product with scales that tcgen05 does not take: nothing else does where it exists.
  LogicalResult refuseScales(tile::GemmOp gemm) {
    auto diagnostic = tile::emitCoded(gemm, ScaledProduct)
                      << "the tensor core of " << architecture.name << " does not multiply "
                      << tile::describe(gemm.getA()) << " by " << tile::describe(gemm.getB())
                      << " into " << tile::describe(gemm.getAcc()) << " with scales";
    tile::attachHelp(diagnostic)
        << "operands and scales are shared tiles, the accumulator is a local one of 128 or 256 "
           "rows "
           "and 128 or 256 columns; tensor memory has 512 columns for accumulators and scales";
    return diagnostic;
  }

  /// Returns whether tcgen05 executes the MMA, and threads can access its accumulator in tensor
  /// memory.
  bool fitsTensorMemory(tile::GemmOp gemm, std::string &reason) {
    Value acc = gemm.getAcc();
    int64_t needed = accumulators.contains(acc) ? 0 : nvptx::takenColumns(acc);
    for (Value scales : {gemm.getScaleA(), gemm.getScaleB()})
      needed += scales ? nvptx::takenColumns(scales) : 0;
    if (!isTensorProduct(gemm, reason))
      return false;
    if (columns + needed > architecture.limits.tensorColumns) {
      reason = "tensor memory has " + std::to_string(architecture.limits.tensorColumns) +
               " columns; this accumulator takes " + std::to_string(needed) +
               ", and those before it " + std::to_string(columns);
      return false;
    }
    columns += needed;
    accumulators.insert(acc);
    return true;
  }

  bool isTensorProduct(tile::GemmOp gemm, std::string &reason) {
    auto type = cast<MemRefType>(gemm.getAcc().getType());
    auto tensor = tile::tileType(type.getShape(), type.getElementType(), tile::Space::Tensor);
    auto build = [&](OpBuilder &b) -> Value {
      Value more = arith::ConstantIntOp::create(b, gemm.getLoc(), 1, 1);
      auto cells = nv::TensorAllocOp::create(b, gemm.getLoc(), tensor, StringAttr());
      trial = {more.getDefiningOp(), cells};
      return cells;
    };
    if (gemm.isScaled() && !areSharedScales(gemm))
      return false;
    auto multiply = [&](OpBuilder &b) -> Operation * {
      Value cells = build(b);
      SmallVector<Value, 2> scales;
      for (Value shared : {gemm.getScaleA(), gemm.getScaleB()}) {
        if (!shared) {
          scales.push_back(Value());
          continue;
        }
        auto own = cast<MemRefType>(shared.getType());
        auto copied = nv::TensorAllocOp::create(
            b, gemm.getLoc(),
            tile::tileType(own.getShape(), own.getElementType(), tile::Space::Tensor),
            StringAttr());
        trial.push_back(copied);
        scales.push_back(copied);
      }
      return nv::TensorMmaOp::create(b, gemm.getLoc(), gemm.getA(), gemm.getB(), cells,
                                     trial.front()->getResult(0), scales[0], scales[1],
                                     IntegerAttr(), gemm.getPackingAAttr(), gemm.getPackingBAttr());
    };
    auto load = [&](OpBuilder &b) -> Operation * {
      return nv::TensorLoadOp::create(b, gemm.getLoc(), build(b), gemm.getAcc());
    };
    bool legal = isLegal(gemm, multiply, &reason);
    for (Operation *op : ArrayRef(trial).drop_front())
      legal = legal && succeeded(verifySilently(op, &reason));
    eraseTrial();
    legal = legal && isLegal(gemm, load, &reason);
    eraseTrial();
    return legal;
  }

  /// Returns whether tcgen05.cp can copy the scales: from shared tiles that are not parts of
  /// others.
  static bool areSharedScales(tile::GemmOp gemm) {
    return llvm::all_of(ArrayRef{gemm.getScaleA(), gemm.getScaleB()}, [](Value scales) {
      return scales.getDefiningOp<tile::AllocOp>() &&
             tile::spaceOf(cast<MemRefType>(scales.getType())) == tile::Space::Shared;
    });
  }

  bool hasTensorMemory() const { return architecture.limits.tensorColumns > 0; }

  func::FuncOp kernel;
  const hw::Architecture &architecture;
  bool alignedRows; ///< as TMA and cp.async need
  llvm::DenseSet<Value> written;
  bool overlapped = false;
  llvm::DenseSet<Value> accumulators; ///< in tensor memory
  int64_t columns = 0;                ///< that they take
  SmallVector<Operation *> trial;     ///< operands of the operation that was tried last
};

struct BindEngines : penstock::impl::BindEnginesBase<BindEngines> {
  void runOnKernel() override {
    if (failed(Binder(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

bool nvptx::isWgmmaProduct(tile::GemmOp gemm, const hw::Architecture &architecture) {
  if (architecture.family != hw::Architecture::Family::Hopper || !mmaShapeOf(gemm) ||
      !gemm.getAcc().getDefiningOp<tile::AllocOp>())
    return false;
  return isWgmma(gemm);
}

bool nvptx::isMmaSyncProduct(tile::GemmOp gemm, const hw::Architecture &architecture) {
  return mmaShapeOf(gemm) && !architecture.limits.tensorColumns &&
         !isWgmmaProduct(gemm, architecture);
}

Engine nvptx::engineOf(Operation *op) {
  auto engine = op->getAttrOfType<nv::EngineAttr>(nv::NVDialect::engineAttr);
  return engine ? engine.getValue() : Engine::Threads;
}

bool nvptx::isLoadBeforeLoops(Operation *op) {
  // Loops that were not specialized leave copies under conditions to threads.
  return isa<tile::CopyOp>(op) && engineOf(op) == Engine::TmaLoad && !isPipelinedStatement(op) &&
         !nv::isPaired(op) && isa<func::FuncOp, nv::WarpsOp>(op->getParentOp());
}

bool nvptx::multipliesByTcgen05(Operation *op) {
  return isa<tile::GemmOp>(op) && engineOf(op) == Engine::Tcgen05Mma;
}

Operation *nvptx::firstUserAfter(tile::GemmOp gemm, Value tile) {
  Operation *first = nullptr;
  for (Operation *user : tile.getUsers()) {
    Operation *at = gemm->getBlock()->findAncestorOpInBlock(*user);
    if (at && gemm->isBeforeInBlock(at) && (!first || at->isBeforeInBlock(first)))
      first = at;
  }
  return first;
}

int64_t nvptx::takenColumns(MemRefType type) {
  return int64_t(llvm::alignTo(uint64_t(nv::tensorColumns(type)), 32));
}

int64_t nvptx::takenColumns(Value tile) { return takenColumns(cast<MemRefType>(tile.getType())); }

bool nvptx::isPipelinedStatement(Operation *op) {
  Operation *parent = op->getParentOp();
  while (isa_and_nonnull<scf::IfOp>(parent))
    parent = parent->getParentOp();
  return isa_and_nonnull<scf::ForOp>(parent) && parent->hasAttr(tile::TileDialect::scheduleAttr);
}

void nvptx::setEngine(Operation *op, Engine engine) {
  op->setAttr(nv::NVDialect::engineAttr, nv::EngineAttr::get(op->getContext(), engine));
}

/// Returns whether a value is known to be a multiple of a power of two.
bool nvptx::isMultipleOf(Value value, int64_t factor) {
  if (factor <= 1)
    return true;
  if (auto constant = getConstantIntValue(value))
    return *constant % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() &&
           isMultipleOf(loop.getLowerBound(), factor) && isMultipleOf(loop.getStep(), factor);
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return isMultipleOf(op->getOperand(0), factor) && isMultipleOf(op->getOperand(1), factor);
  // A power of two divides what wraps, too.
  if (isa<arith::IndexCastOp, arith::TruncIOp, arith::ExtSIOp, tile::BindOp>(op))
    return isMultipleOf(op->getOperand(0), factor);
  if (isa<arith::MulIOp>(op))
    for (unsigned i : {0u, 1u})
      if (auto constant = getConstantIntValue(op->getOperand(i)); constant && *constant)
        return isMultipleOf(op->getOperand(1 - i), factor / std::gcd(factor, *constant));
  return false;
}

int64_t nvptx::asyncCopyBytes(tile::CopyOp copy) {
  auto type = cast<MemRefType>(copy.getTarget().getType());
  int64_t element = type.getElementTypeBitWidth() / 8;
  for (int64_t bytes : {16, 8, 4})
    if (element && bytes >= element && type.getShape().back() * element % bytes == 0 &&
        isMultipleOf(copy.getSourceOffsets().back(), bytes / element))
      return bytes;
  return 0;
}

DenseI64ArrayAttr nvptx::boxDims(tile::CopyOp copy) {
  auto tensor = cast<MemRefType>(copy.getSource().getType());
  SmallVector<int64_t> dims = copy.getTensorDims();
  int64_t rank = tensor.getRank();
  bool last = true;
  for (auto [i, dim] : llvm::enumerate(dims))
    last &= dim == rank - int64_t(dims.size()) + int64_t(i);
  if (last)
    return {};
  return DenseI64ArrayAttr::get(copy.getContext(), dims);
}
