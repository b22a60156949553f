//===- Lowering.cpp - Order of work, scopes and scalars -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Lowering.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Target/NVPTX/Engines.h"
#include "Transforms/Faults.h"
#include "Transforms/KernelAbi.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

Lowering::Lowering(func::FuncOp kernel, func::FuncOp launch, const hw::Architecture &architecture,
                   DeviceKernel &result)
    : kernel(kernel), launch(launch), architecture(architecture), result(result),
      builder(kernel.getContext()), loc(kernel.getLoc()) {}

LogicalResult Lowering::refuse(Operation *op, const Twine &why, const Twine &fix) {
  auto diagnostic = tile::emitCoded(op, HardwareTarget)
                    << "`" << op->getName().stripDialect() << "` " << why.str() << " on "
                    << architecture.name;
  if (std::string text = fix.str(); !text.empty())
    tile::attachHelp(diagnostic) << text;
  return diagnostic;
}

Type nvptx::storedAs(Type element) {
  bool moved = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  return moved || element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

LogicalResult Lowering::checkReach(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && !tile::isGlobal(operand) && !registersOf(operand) &&
        !shared.count(tile::rootOf(operand)) && !variables.count(operand))
      return refuse(op, "works on " + Twine(tile::describe(operand)) +
                            ", which is neither a whole tile in registers nor in shared memory");
  return success();
}

LogicalResult Lowering::run() {
  auto threads = kernel->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr);
  if (!threads)
    return tile::emitCoded(kernel, HardwareScope)
           << "the kernel does not say how many threads a block has";
  result.name = kernel.getName().str();
  result.architecture = architecture.name;
  result.threads = unsigned(threads.getInt());
  ownArguments = kernel.getNumArguments() - abi::NumExtra;
  kernel.walk([&](nv::TensorAllocOp) { usesTensorMemory = true; });
  inOrder = kernel->hasAttr(nv::NVDialect::inOrderAttr);
  alignedRows = kernel->hasAttr(nv::NVDialect::alignedRowsAttr);
  pair = kernel->hasAttr(nv::NVDialect::pairAttr);
  cluster = nv::clusterSize(kernel);
  result.cluster = {unsigned(cluster), 1, 1};
  if (failed(nv::checkArchitecture(kernel, architecture)) || failed(shareRegisters()))
    return failure();
  if (failed(readLaunch()))
    return failure();
  result.faults = faultsOf(kernel->getParentOfType<ModuleOp>());

  mlir::Block &body = kernel.getBody().front();
  params = body.insertArgument(0u, LLVM::LLVMPointerType::get(kernel.getContext()), loc);
  builder.setInsertionPointToStart(&body);
  layOutParameter();
  auto module = kernel->getParentOfType<ModuleOp>();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, loc, bytes, /*isConstant=*/false, LLVM::Linkage::External,
                           "penstock_shared", Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  }
  base = LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(kernel.getContext(), 3),
                                   "penstock_shared");
  for (BlockArgument argument : body.getArguments().slice(1, ownArguments))
    if (auto bytes = kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber() - 1,
                                                          nv::NVDialect::rowBytesAttr))
      needRows(argument, unsigned(bytes.getInt()), /*multiple=*/unsigned(bytes.getInt()));
  base32 = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base);
  thread = ptxValue(builder.getI32Type(), "mov.u32 $0, %tid.x;");
  if (failed(placeStorage()))
    return failure();

  // The block's number takes the place of the launch's extra argument.
  Value block = ptxValue(builder.getI32Type(), "mov.u32 $0, %ctaid.x;");
  body.getArgument(1 + ownArguments + abi::Block).replaceAllUsesWith(asIndex(block));
  for (BlockArgument argument : body.getArguments().slice(1, ownArguments))
    if (!isa<MemRefType>(argument.getType()) && !argument.use_empty())
      argument.replaceAllUsesWith(parameter(ParameterField::Scalar, argument.getArgNumber() - 1));

  ExecutionScope all;
  all.scope.warps = result.threads / nv::warpSize;
  Value first = cmp(arith::CmpIPredicate::ult, thread, i32(nv::warpSize));
  all.leader = arith::AndIOp::create(builder, loc, elected(), first);
  all.group = warpgroupOf(kernel, 0, all.scope.warps);
  initialize();
  if (failed(lowerBlock(body, all)))
    return failure();
  lowerFaults();
  eraseDead();
  // What follows takes time that grows faster than the code.
  size_t operations = 0;
  kernel.walk([&](Operation *) { ++operations; });
  if (operations > 60000) {
    auto diagnostic = tile::emitCoded(kernel, TooLarge)
                      << "the kernel becomes more than 60000 operations of each thread";
    tile::attachHelp(diagnostic) << "unroll less, or let more threads share a tile: each executes "
                                    "its elements one by one";
    return diagnostic;
  }
  result.parameterBytes = (result.parameterBytes + 63) / 64 * 64;
  kernel.setType(builder.getFunctionType({params.getType()}, {}));
  // What is left is an ordinary function; what the launch needs is in the result.
  for (StringRef attribute :
       {nv::NVDialect::threadsAttr, nv::NVDialect::pairAttr, nv::NVDialect::clusterAttr,
        nv::NVDialect::noClusterAttr, nv::NVDialect::noPairAttr, nv::NVDialect::noLaunchControlAttr,
        nv::NVDialect::inOrderAttr, nv::NVDialect::alignedRowsAttr, nv::NVDialect::architectureAttr,
        tile::TileDialect::kernelAttr, tile::TileDialect::signatureAttr, abi::packAttr,
        abi::launchSizeAttr})
    kernel->removeAttr(attribute);
  launch.erase();
  return success();
}

/// The first fault of a launch is recorded; threads go on after it.
void Lowering::lowerFaults() {
  SmallVector<func::CallOp> calls;
  kernel.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    builder.setInsertionPoint(call);
    loc = call.getLoc();
    Value record =
        LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(kernel.getContext(), 1),
                                 parameter(ParameterField::Faults, 0));
    Value number = arith::AddIOp::create(builder, loc, call.getOperand(1), i32(1));
    LLVM::AtomicCmpXchgOp::create(builder, loc, record, i32(0), number,
                                  LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic,
                                  "device");
    call.erase();
  }
  if (Operation *function = kernel->getParentOfType<ModuleOp>().lookupSymbol(abi::faultFn))
    function->erase();
}

/// Views and allocations whose users have been lowered, then the arguments.
void Lowering::eraseDead() {
  bool changed = true;
  while (changed) {
    changed = false;
    kernel.walk([&](Operation *op) {
      if (!op->use_empty())
        return;
      if (isa<memref::CastOp, memref::SubViewOp, memref::TransposeOp, memref::DimOp, tile::AllocOp,
              nv::BarrierAllocOp, nv::NamedBarrierAllocOp, nv::TensorAllocOp>(op)) {
        op->erase();
        changed = true;
      }
    });
  }
  mlir::Block &body = kernel.getBody().front();
  while (body.getNumArguments() > 1)
    body.eraseArgument(body.getNumArguments() - 1);
  kernel.removeArgAttrsAttr();
}

//===----------------------------------------------------------------------===//
// Blocks, scopes and scalars
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lowerBlock(mlir::Block &block, const ExecutionScope &by) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(lowerOp(op, by)))
      return failure();
  return success();
}

LogicalResult Lowering::lowerScope(Operation *op, Value condition, Region &body,
                                   const ExecutionScope &by) {
  auto choice = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
  mlir::Block *then = choice.thenBlock();
  Operation *yield = then->getTerminator();
  mlir::Block &from = body.front();
  from.getTerminator()->erase();
  then->getOperations().splice(yield->getIterator(), from.getOperations());
  op->erase();
  return lowerBlock(*then, by);
}

LogicalResult Lowering::lowerOp(Operation *op, const ExecutionScope &by) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  if (auto warps = dyn_cast<nv::WarpsOp>(op)) {
    Value warp = shiftRight(thread, 5);
    Value from = arith::SubIOp::create(builder, loc, warp, i32(warps.getFirst()));
    Value inside = cmp(arith::CmpIPredicate::ult, from, i32(warps.getCount()));
    ExecutionScope inner;
    inner.scope = {int64_t(warps.getFirst()), int64_t(warps.getCount()), false, false};
    // Parts of one role follow each other: they meet at one barrier.
    std::pair<int64_t, int64_t> own(warps.getFirst(), warps.getCount());
    auto known = roleBarriers.find(own);
    inner.barrier = known != roleBarriers.end() ? known->second : nextBarrier;
    // Electing must happen where all threads of the warps are.
    builder.setInsertionPointToStart(&warps.getBody().front());
    inner.leader = elected();
    if (warps.getCount() > 1) {
      Value firstWarp = cmp(arith::CmpIPredicate::eq, warp, i32(warps.getFirst()));
      inner.leader = arith::AndIOp::create(builder, loc, inner.leader, firstWarp);
    }
    inner.group = warpgroupOf(warps, warps.getFirst(), warps.getCount());
    bool named = false;
    warps.walk([&](Operation *inner) {
      named |= isa<nv::SyncOp>(inner) || (inOrder && isa<tile::TileDialect>(inner->getDialect()));
    });
    if (named && known == roleBarriers.end()) {
      nameSync(inner.barrier);
      roleBarriers.try_emplace(own, inner.barrier);
      if (failed(takeBarrier(op)))
        return failure();
    }
    builder.setInsertionPoint(op);
    return lowerScope(op, inside, warps.getBody(), inner);
  }
  if (auto elect = dyn_cast<nv::ElectOp>(op)) {
    ExecutionScope inner = by;
    inner.scope.oneThread = true;
    return lowerScope(op, by.leader, elect.getBody(), inner);
  }
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op)) {
    if (op->hasAttr(tile::TileDialect::scheduleAttr))
      return refuse(
          op, "of an explicit kernel cannot be pipelined by the compiler",
          "its barriers and phases are stated, and slots would need others: use `range` with a "
          "`Pipeline` (penstock/pipeline.h), or leave barriers to the compiler (b.copy, b.gemm)");
    for (Region &region : op->getRegions())
      for (mlir::Block &block : region)
        if (failed(lowerBlock(block, by)))
          return failure();
    return success();
  }
  if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op))
    return lowerHardware(hardware, by);
  LogicalResult ok = success();
  if (isa<tile::FillOp, tile::MapOp, tile::CopyOp, tile::ReduceOp, tile::GemmOp>(op) &&
      failed(checkReach(op))) {
    return failure();
  } else if (auto fill = dyn_cast<tile::FillOp>(op)) {
    ok = lowerFill(fill, by);
  } else if (auto map = dyn_cast<tile::MapOp>(op)) {
    ok = lowerMap(map, by);
  } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
    ok = lowerCopy(copy, by);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    ok = lowerReduce(reduce, by);
  } else if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
    ok = lowerGemm(gemm, by);
  } else if (isa<tile::WaitForPreviousOp, tile::LaunchDependentsOp>(op)) {
    // Kernels do not overlap on older GPUs: there is nothing to wait for.
    if (architecture.tma)
      ptx(isa<tile::WaitForPreviousOp>(op) ? "griddepcontrol.wait;"
                                           : "griddepcontrol.launch_dependents;");
  } else if (auto print = dyn_cast<tile::PrintOp>(op)) {
    ok = lowerPrint(print, by);
  } else if (auto parallel = dyn_cast<tile::ParallelOp>(op)) {
    ok = lowerParallel(parallel, by);
  } else if (auto atomic = dyn_cast<tile::AtomicOp>(op)) {
    ok = lowerAtomic(atomic, by);
  } else if (isa<tile::LoadOp, tile::StoreOp>(op)) {
    if (failed(checkElementAccess(op)))
      return failure();
    if (auto load = dyn_cast<tile::LoadOp>(op))
      load.replaceAllUsesWith(loadElement(load.getSource(), load.getIndices()));
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      storeElement(store.getValue(), store.getTarget(), store.getIndices(), by);
  } else if (auto bind = dyn_cast<tile::BindOp>(op)) {
    bind.replaceAllUsesWith(bind.getValue());
  } else if (auto dim = dyn_cast<memref::DimOp>(op)) {
    dim.replaceAllUsesWith(sizeOf(dim));
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    // Launch constants.
    load.replaceAllUsesWith(
        parameter(ParameterField::Constant, unsigned(*getConstantIntValue(load.getIndices()[0]))));
  } else if (isa<tile::TileDialect>(op->getDialect()) && !isa<tile::AllocOp>(op)) {
    return refuse(op, "is not supported");
  } else {
    return success(); // scalars, views and allocations
  }
  if (succeeded(ok))
    op->erase();
  return ok;
}

Value Lowering::sizeOf(memref::DimOp op) {
  return asIndex(tensorSize(op.getSource(), unsigned(*op.getConstantIndex())));
}

//===----------------------------------------------------------------------===//
// Small values
//===----------------------------------------------------------------------===//

Value Lowering::i32(int64_t value) {
  // Each once, where the kernel starts: there are thousands of uses.
  Value &known = constants[static_cast<int32_t>(value)];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    known = arith::ConstantIntOp::create(builder, kernel.getLoc(), static_cast<int32_t>(value), 32);
  }
  return known;
}
Value Lowering::i64(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }
Value Lowering::asI32(Value value) {
  if (value.getType().isInteger(32))
    return value;
  if (auto constant = getConstantIntValue(value)) {
    // A place that far out is outside of every tensor: it must not come back inside.
    if (value.getType().isIndex())
      return i32(std::clamp<int64_t>(*constant, std::numeric_limits<int32_t>::min(),
                                     std::numeric_limits<int32_t>::max()));
    return i32(value.getType().isInteger(1) ? *constant & 1 : *constant);
  }
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
  if (value.getType().getIntOrFloatBitWidth() < 32)
    return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  return arith::TruncIOp::create(builder, loc, builder.getI32Type(), value);
}
/// Whether an index was a number of at most 32 bits before.
static bool fitsI32(Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  return cast && cast.getIn().getType().getIntOrFloatBitWidth() <= 32;
}
SmallVector<Value> Lowering::coordinates(ValueRange indices) {
  return llvm::map_to_vector(indices, [&](Value index) -> Value {
    if (!index.getType().isIndex() || getConstantIntValue(index) || fitsI32(index))
      return asI32(index);
    // Far outside must stay outside; there is room for a tile's extent.
    auto limit = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    constexpr int64_t far = int64_t(1) << 30;
    Value inside = arith::MaxSIOp::create(builder, loc, index, limit(-far));
    inside = arith::MinSIOp::create(builder, loc, inside, limit(2 * far - 1));
    return asI32(inside);
  });
}
Value Lowering::asI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value);
}
Value Lowering::asIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
}
Value Lowering::add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
Value Lowering::mul(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }
Value Lowering::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, i32(b)); }
Value Lowering::cmp(arith::CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}
Value Lowering::andBits(Value a, int64_t mask) {
  return builder.createOrFold<arith::AndIOp>(loc, a, i32(mask));
}
Value Lowering::shiftRight(Value a, int64_t bits) {
  return bits ? builder.createOrFold<arith::ShRUIOp>(loc, a, i32(bits)) : a;
}

void Lowering::ptx(StringRef text, ArrayRef<Value> operands) {
  constexpr StringLiteral guard = "@issuer ";
  auto [before, guarded] = text.split(guard);
  std::string all = (before + guarded).str();
  if (electsIssuer && all.size() != text.size())
    all = "{ .reg .pred issuer; elect.sync _|issuer, 0xffffffff; " + text.str() + " }";
  inlinePtx().inputs(operands).emit(all, PtxEffects::Memory);
}

Value Lowering::ptxValue(Type type, StringRef text, ArrayRef<Value> operands) {
  // Predicates travel as words.
  bool predicate = type.isInteger(1);
  Value value = inlinePtx()
                    .output(predicate ? builder.getI32Type() : type)
                    .inputs(operands)
                    .emit(text, predicate ? PtxEffects::Ordered : PtxEffects::None)[0];
  return predicate ? cmp(arith::CmpIPredicate::ne, value, i32(0)) : value;
}

Value Lowering::blockMask(Value mask) {
  return arith::TruncIOp::create(builder, loc, builder.getI16Type(), mask);
}

Value Lowering::elected() {
  if (!architecture.tma) // no elect.sync before Hopper
    return cmp(arith::CmpIPredicate::eq, andBits(thread, nv::warpSize - 1), i32(0));
  return ptxValue(builder.getI1Type(),
                  "{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 $0, 1, 0, p; }");
}
