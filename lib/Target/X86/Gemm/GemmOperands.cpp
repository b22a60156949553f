//===- GemmOperands.cpp - Operands of products in memory ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a CPU a tile is ordinary memory, so an operand that is copied from a tensor is often
// read there instead. Lowerings then have an address that is chosen at run time.
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/GemmBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace penstock;

SmallVector<int64_t> penstock::stridesOf(Value memref) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(memref.getType()).getStridesAndOffset(strides, offset)))
    strides.clear();
  return strides;
}

bool penstock::hasContiguousRows(Value memref) {
  auto transposed = memref.getDefiningOp<memref::TransposeOp>();
  return stridesOf(memref).back() == 1 && (!transposed || transposed.getPermutation().isIdentity());
}

Type penstock::elementTypeOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

Value GemmBuilder::allocate(ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  auto function = gemm->getParentOfType<func::FuncOp>();
  b.setInsertionPointToStart(&function.getBody().front());
  return tile::AllocOp::create(b, loc, tile::tileType(shape, element, tile::Space::Local),
                               StringAttr(), IntegerAttr());
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

GemmBuilder::Operand GemmBuilder::operandOf(Value memref) {
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  int64_t size = elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  Value offset = product(metadata.getOffset(), index(size));
  return {arith::AddIOp::create(b, loc, base, offset),
          SmallVector<Value, 4>(metadata.getStrides())};
}

Value GemmBuilder::toPointer(Value address) {
  return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()),
                                  toI64(address));
}

Value GemmBuilder::pointerTo(Value memref) { return toPointer(operandOf(memref).address); }

GemmBuilder::Address GemmBuilder::addressOf(Value memref, unsigned strideOf) {
  Operand operand = operandOf(memref);
  int64_t size = elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  return {toPointer(operand.address), product(operand.strides[strideOf], index(size))};
}

Value GemmBuilder::bytes(Value pointer, Value offset) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ValueRange{toI64(offset)});
}

void GemmBuilder::prefetch(Value pointer, uint32_t locality) {
  constexpr uint32_t reads = 0, data = 1;
  LLVM::Prefetch::create(b, loc, pointer, reads, locality, data);
}

Value GemmBuilder::intrinsic(StringRef name, ValueRange arguments, Type result) {
  auto text = b.getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, loc, text, arguments);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(b, loc, result, text, arguments).getResult(0);
}

//===----------------------------------------------------------------------===//
// Operands in tensors
//===----------------------------------------------------------------------===//

bool penstock::isPlain(tile::CopyOp copy) {
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  auto dims = copy.getTensorDims();
  return !copy.getRows() && elementTypeOf(copy.getSource()) == elementTypeOf(copy.getTarget()) &&
         !dims.empty() && dims.back() == cast<MemRefType>(tensor.getType()).getRank() - 1 &&
         llvm::is_sorted(dims);
}

/// Returns whether nothing writes a tensor while a kernel runs.
static bool isConstant(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function || !function->hasAttr(tile::TileDialect::kernelAttr))
    return false;
  unsigned i = argument.getArgNumber();
  auto access = function.getArgAttrOfType<StringAttr>(i, tile::TileDialect::accessAttr);
  return access && access == "in" && !function.getArgAttr(i, tile::TileDialect::overlapsAttr);
}

tile::CopyOp GemmBuilder::copyBefore(Value tile) {
  if (!tile.getDefiningOp<tile::AllocOp>())
    return {};
  tile::CopyOp copy;
  for (Operation *user : tile.getUsers()) {
    if (user == gemm || isa<memref::TransposeOp>(user))
      continue;
    auto other = dyn_cast<tile::CopyOp>(user);
    if (!other || copy)
      return {};
    copy = other;
  }
  if (!copy || copy.getTarget() != tile || !copy.readsTensor() || !isConstant(copy.getSource()) ||
      copy.getAsyncAttr() || copy->getBlock() != reader->getBlock() ||
      !copy->isBeforeInBlock(reader))
    return {};
  return isPlain(copy) ? copy : tile::CopyOp();
}

/// The outermost loop around a product in which nothing but products uses the tile \p alloc; the
/// product itself if there is none.
static Operation *outsideOfLoops(tile::GemmOp gemm, tile::AllocOp alloc) {
  SmallVector<Operation *> users(alloc->getUsers());
  for (size_t i = 0; i < users.size(); ++i)
    if (isa<memref::TransposeOp>(users[i]))
      llvm::append_range(users, users[i]->getUsers());
  auto keeps = [&](Operation *user) {
    auto product = dyn_cast<tile::GemmOp>(user);
    return product ? product.getAcc() != alloc.getResult() &&
                         !llvm::is_contained(users, product.getAcc().getDefiningOp())
                   : isa<memref::TransposeOp>(user);
  };
  // Asynchronous operations, and those through other views, may write it at any time.
  for (Operation *user : users)
    if (!keeps(user) && (!isa<tile::TileAccessOpInterface>(user) || user->hasAttr("async")))
      return gemm;
  Operation *outside = gemm;
  while (auto loop = dyn_cast<scf::ForOp>(outside->getParentOp())) {
    if (loop->isAncestor(alloc) || llvm::any_of(users, [&, loop = loop](Operation *user) {
          return loop->isAncestor(user) && !keeps(user);
        }))
      break;
    outside = loop;
  }
  return outside;
}

void GemmBuilder::beforeLoops(Value operand, llvm::function_ref<void()> body) {
  auto transposed = operand.getDefiningOp<memref::TransposeOp>();
  auto alloc = (transposed ? transposed.getIn() : operand).getDefiningOp<tile::AllocOp>();
  if (!alloc)
    return body();
  OpBuilder::InsertionGuard guard(b);
  llvm::SaveAndRestore outside(reader, outsideOfLoops(gemm, alloc));
  if (transposed && reader->isProperAncestor(transposed))
    transposed->moveBefore(reader);
  b.setInsertionPoint(reader);
  body();
}

static OperandRange offsetsOf(tile::CopyOp copy) {
  return copy.readsTensor() ? copy.getSourceOffsets() : copy.getTargetOffsets();
}

/// Of one value for each dimension of a copy's tensor, those of its tile.
static SmallVector<Value, 4> inTile(tile::CopyOp copy, ArrayRef<Value> ofTensor) {
  SmallVector<Value, 4> result;
  for (int64_t dim : copy.getTensorDims())
    result.push_back(ofTensor[size_t(dim)]);
  return result;
}

GemmBuilder::Operand GemmBuilder::boxOf(tile::CopyOp copy) {
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  Operand box = operandOf(tensor);
  int64_t size = elementTypeOf(tensor).getIntOrFloatBitWidth() / 8;
  for (auto [offset, stride] : llvm::zip(offsetsOf(copy), box.strides)) {
    Value step = product(product(offset, stride), index(size));
    box.address = arith::AddIOp::create(b, loc, box.address, step);
  }
  box.strides = inTile(copy, box.strides);
  return box;
}

Value GemmBuilder::isInside(tile::CopyOp copy) {
  Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
  auto require = [&](Value x, Value y) {
    Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, x, y);
    inside = arith::AndIOp::create(b, loc, inside, ok);
  };
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  auto dims = copy.getTensorDims();
  for (auto [i, offset] : llvm::enumerate(offsetsOf(copy))) {
    auto at = llvm::find(dims, int64_t(i));
    int64_t extent = at == dims.end() ? 1 : copy.getTileShape()[size_t(at - dims.begin())];
    Value size = memref::DimOp::create(b, loc, tensor, int64_t(i));
    require(offset, index(0));
    require(arith::SubIOp::create(b, loc, size, offset), index(extent));
  }
  return inside;
}

tile::CopyOp GemmBuilder::forwardedCopy(Value memref) {
  auto transposed = memref.getDefiningOp<memref::TransposeOp>();
  if (transposed && (!transposed->hasOneUse() || transposed.getPermutation().isIdentity()))
    return {};
  Value tile = transposed ? transposed.getIn() : memref;
  tile::CopyOp copy = copyBefore(tile);
  // A tile that is both operands, or is transposed for another product, is not forwarded.
  if (!copy || std::distance(tile.use_begin(), tile.use_end()) != 2)
    return {};
  return copy;
}

GemmBuilder::Operand GemmBuilder::locate(Value memref,
                                         llvm::function_ref<Value(ValueRange)> suits) {
  auto transposed = memref.getDefiningOp<memref::TransposeOp>();
  tile::CopyOp copy = forwardedCopy(memref);
  if (!copy)
    return operandOf(memref);
  Value tile = copy.getTarget();
  Value condition = isInside(copy);
  SmallVector<Value, 4> strides = inTile(copy, operandOf(copy.getSource()).strides);
  if (suits)
    condition = arith::AndIOp::create(b, loc, condition, suits(strides));
  SmallVector<Type> types(1 + strides.size(), b.getIndexType());
  auto branch = scf::IfOp::create(b, loc, types, condition, /*addElseBlock=*/true);
  auto yield = [&](Operand operand) {
    SmallVector<Value> values = {operand.address};
    llvm::append_range(values, operand.strides);
    scf::YieldOp::create(b, loc, values);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    yield(boxOf(copy));
    b.setInsertionPointToStart(branch.elseBlock());
    copy->moveBefore(branch.elseBlock(), b.getInsertionPoint());
    b.setInsertionPointToEnd(branch.elseBlock());
    yield(operandOf(tile));
  }
  Operand result{branch.getResult(0), SmallVector<Value, 4>(branch.getResults().drop_front())};
  if (transposed)
    std::swap(result.strides[0], result.strides[1]);
  return result;
}
