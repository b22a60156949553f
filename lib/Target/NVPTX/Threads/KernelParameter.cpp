//===- KernelParameter.cpp - Values that a launch passes ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/KernelParameter.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static std::optional<LaunchStep::Kind> stepKind(Operation *op) {
  using S = LaunchStep;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    static constexpr S::Kind kinds[] = {S::Eq,  S::Ne,  S::LtS, S::LeS, S::GtS,
                                        S::GeS, S::LtU, S::LeU, S::GtU, S::GeU};
    return kinds[unsigned(compare.getPredicate())];
  }
  return llvm::StringSwitch<std::optional<S::Kind>>(op->getName().getStringRef())
      .Case("arith.addi", S::Add)
      .Case("arith.subi", S::Sub)
      .Case("arith.muli", S::Mul)
      .Case("arith.divsi", S::DivS)
      .Case("arith.divui", S::DivU)
      .Case("arith.remsi", S::RemS)
      .Case("arith.remui", S::RemU)
      .Case("arith.ceildivsi", S::CeilDivS)
      .Case("arith.floordivsi", S::FloorDivS)
      .Case("arith.minsi", S::MinS)
      .Case("arith.maxsi", S::MaxS)
      .Case("arith.minui", S::MinU)
      .Case("arith.maxui", S::MaxU)
      .Case("arith.andi", S::And)
      .Case("arith.ori", S::Or)
      .Case("arith.xori", S::Xor)
      .Case("arith.shli", S::Shl)
      .Case("arith.shrsi", S::ShrS)
      .Case("arith.shrui", S::ShrU)
      .Default(std::nullopt);
}

static int64_t widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

LogicalResult nvptx::readLaunch(func::FuncOp launch, DeviceKernel &result) {
  LaunchProgram &program = result.launch;
  llvm::DenseMap<Value, unsigned> steps;
  auto push = [&](LaunchStep step) {
    program.steps.push_back(step);
    return unsigned(program.steps.size() - 1);
  };
  auto stepOf = [&](Value value) {
    auto known = steps.find(value);
    if (known != steps.end())
      return known->second;
    auto argument = cast<BlockArgument>(value); // a scalar
    unsigned step =
        push({LaunchStep::Scalar, argument.getArgNumber(), 0, 0, widthOf(value.getType())});
    return steps[value] = step;
  };
  // Narrow results wrap to their own width.
  auto narrowed = [&](unsigned step, Type type) {
    int64_t width = widthOf(type);
    return width >= 64 ? step : push({LaunchStep::SignExtend, step, 0, 0, width});
  };
  for (Operation &op : launch.getBody().front()) {
    if (isa<func::ReturnOp>(op))
      break;
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      int64_t entry = *getConstantIntValue(store.getIndices()[0]);
      if (program.results.size() <= size_t(entry))
        program.results.resize(size_t(entry) + 1);
      program.results[size_t(entry)] = stepOf(store.getValueToStore());
      continue;
    }
    if (auto require = dyn_cast<tile::AssertOp>(op)) {
      Diagnostic broken;
      broken.code = FaultAssert;
      broken.location = tile::sourceLocationOf(op.getLoc());
      broken.message = "assertion failed: " + require.getMessage().str();
      program.requirements.push_back({stepOf(require.getCondition()), std::move(broken)});
      continue;
    }
    Value value = op.getResult(0);
    if (auto constant = getConstantIntValue(value)) {
      steps[value] = push({LaunchStep::Constant, 0, 0, 0, *constant});
    } else if (auto dim = dyn_cast<memref::DimOp>(op)) {
      steps[value] = push({LaunchStep::Size, cast<BlockArgument>(dim.getSource()).getArgNumber(), 0,
                           0, *dim.getConstantIndex()});
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      unsigned a = stepOf(select.getCondition()), b = stepOf(select.getTrueValue()),
               c = stepOf(select.getFalseValue());
      steps[value] = push({LaunchStep::Select, a, b, c});
    } else if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) {
      steps[value] = push({LaunchStep::ZeroExtend, stepOf(op.getOperand(0)), 0, 0,
                           widthOf(op.getOperand(0).getType())});
    } else if (isa<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>(op)) {
      steps[value] = narrowed(stepOf(op.getOperand(0)), value.getType());
    } else if (auto bind = dyn_cast<tile::BindOp>(op)) {
      steps[value] = stepOf(bind.getValue());
    } else if (auto kind = stepKind(&op)) {
      unsigned a = stepOf(op.getOperand(0)), b = stepOf(op.getOperand(1));
      // Steps hold narrow numbers with their sign, which these would take for digits.
      int64_t width = widthOf(op.getOperand(0).getType());
      if (isa<arith::DivUIOp, arith::RemUIOp, arith::ShRUIOp>(op) && width < 64) {
        a = push({LaunchStep::ZeroExtend, a, 0, 0, width});
        b = push({LaunchStep::ZeroExtend, b, 0, 0, width});
      }
      steps[value] = narrowed(push({*kind, a, b}), value.getType());
    } else {
      return tile::emitCoded(&op, NotLaunchConstant)
             << "`" << op.getName() << "` cannot be computed when a GPU kernel is launched";
    }
  }
  return success();
}

void nvptx::layOutParameter(LoweringContext &c) {
  unsigned offset = 0;
  auto field = [&](ParameterField::Kind kind, unsigned index, unsigned dim = 0) {
    c.result.fields.push_back({kind, index, dim, offset});
    offset += 8;
  };
  for (BlockArgument argument :
       c.kernel.getBody().front().getArguments().slice(1, c.mode.ownArguments)) {
    unsigned index = argument.getArgNumber() - 1;
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      field(ParameterField::Scalar, index);
      continue;
    }
    field(ParameterField::Address, index);
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      field(ParameterField::Size, index, dim);
    for (unsigned dim = 0; dim + 1 < type.getRank(); ++dim)
      field(ParameterField::Stride, index, dim);
  }
  for (unsigned i = 0; i < c.result.launch.results.size(); ++i)
    field(ParameterField::Constant, i);
  if (!c.result.faults.empty())
    field(ParameterField::Faults, 0);
  if (c.kernel.walk([](tile::PrintOp) { return WalkResult::interrupt(); }).wasInterrupted())
    field(ParameterField::Prints, 0);
  c.result.parameterBytes = offset;
}

Value nvptx::parameter(LoweringContext &c, ParameterField::Kind kind, unsigned index,
                       unsigned dim) {
  auto found = llvm::find_if(c.result.fields, [&](const ParameterField &f) {
    return f.kind == kind && f.index == index && f.dim == dim;
  });
  // Loaded once, where the kernel starts: parameters do not change.
  Value &known = c.parameters.loaded[size_t(found - c.result.fields.begin())];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointAfter(c.shared.base.getDefiningOp());
  Value address =
      LLVM::GEPOp::create(c.builder, c.loc, c.parameters.address.getType(), c.builder.getI8Type(),
                          c.parameters.address, ArrayRef<LLVM::GEPArg>{int32_t(found->offset)});
  if (kind == ParameterField::Map) {
    Value number = LLVM::PtrToIntOp::create(c.builder, c.loc, c.builder.getI64Type(), address);
    // The assembler would add the offset anew for each copy. It does not for a number that comes
    // from one lane; and as all lanes have the same, it leaves these shuffles out.
    return known = c.ptxValue(
               c.builder.getI64Type(),
               "{ .reg .b32 low, high; mov.b64 {low, high}, $1; "
               "shfl.sync.idx.b32 low, low, 0, 31, 0xffffffff; "
               "shfl.sync.idx.b32 high, high, 0, 31, 0xffffffff; mov.b64 $0, {low, high}; }",
               {number});
  }
  Type type = c.builder.getI64Type();
  if (kind == ParameterField::Scalar) {
    Type stated = c.kernel.getBody().front().getArgument(index + 1).getType();
    if (!stated.isIndex())
      type = stated;
  }
  Value loaded = LLVM::LoadOp::create(c.builder, c.loc, type, address, /*alignment=*/8);
  if (kind == ParameterField::Scalar &&
      c.kernel.getBody().front().getArgument(index + 1).getType().isIndex())
    loaded = arith::IndexCastOp::create(c.builder, c.loc, c.builder.getIndexType(), loaded);
  return known = loaded;
}

void nvptx::prefetchTensorMaps(LoweringContext &c) {
  if (!c.shared.initialization)
    return;
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(c.shared.initialization);
  for (unsigned i = 0; i < c.result.maps.size(); ++i)
    c.ptx("prefetch.tensormap [$0];", {parameter(c, ParameterField::Map, i)});
}
