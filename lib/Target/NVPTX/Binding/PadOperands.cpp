//===- PadOperands.cpp - Packed operands as tensor cores read them --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05 and ldmatrix read values of 6 bits, and of 4 bits beside wider ones, padded from
// shared memory; only TMA writes them so. That changes the shapes of tiles, and so it is
// decided before engines are bound.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace penstock {
#define GEN_PASS_DEF_PADOPERANDS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Returns whether \p value is known to be a multiple of \p factor, by constants in it.
bool isMultiple(Value value, int64_t factor) {
  if (auto constant = getConstantIntValue(value))
    return *constant % factor == 0;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return isMultiple(op->getOperand(0), factor) && isMultiple(op->getOperand(1), factor);
  return isa_and_nonnull<arith::MulIOp>(op) &&
         (isMultiple(op->getOperand(0), factor) || isMultiple(op->getOperand(1), factor));
}

/// Builds \p value / \p from * \p to, of a multiple of \p from.
Value rescaled(OpBuilder &b, Location loc, Value value, int64_t from, int64_t to) {
  if (auto constant = getConstantIntValue(value))
    return arith::ConstantIndexOp::create(b, loc, *constant / from * to);
  Operation *op = value.getDefiningOp();
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (isa<arith::MulIOp>(op)) {
    bool first = isMultiple(left, from);
    Value factor = rescaled(b, loc, first ? left : right, from, to);
    return arith::MulIOp::create(b, loc, first ? right : left, factor);
  }
  left = rescaled(b, loc, left, from, to);
  right = rescaled(b, loc, right, from, to);
  if (isa<arith::AddIOp>(op))
    return arith::AddIOp::create(b, loc, left, right);
  return arith::SubIOp::create(b, loc, left, right);
}

class Padder {
public:
  explicit Padder(func::FuncOp kernel) : kernel(kernel) {}

  void run() {
    std::string reason = collect();
    if (reason.empty())
      reason = whyNotPadded();
    if (!reason.empty()) { // the products will be expanded
      for (tile::GemmOp gemm : products)
        gemm->setAttr(nv::NVDialect::engineReasonAttr,
                      StringAttr::get(kernel.getContext(), reason));
      return;
    }
    for (const auto &[tile, packing] : operands)
      pad(tile, packing);
    for (tile::GemmOp gemm : products) {
      if (auto packing = gemm.packingOfA())
        gemm.setPackingA(tile::padded(*packing));
      if (auto packing = gemm.packingOfB())
        gemm.setPackingB(tile::padded(*packing));
    }
  }

private:
  /// Finds the tiles to pad. Returns an operand that cannot be padded as such, or an empty text.
  std::string collect() {
    std::string reason;
    kernel.walk([&](tile::GemmOp gemm) {
      if (!gemm.isScaled())
        return;
      auto a = gemm.packingOfA(), b = gemm.packingOfB();
      if (tile::areReadByTensorCores(a, b))
        return;
      products.push_back(gemm);
      for (auto [operand, packing] : {std::pair(gemm.getA(), a), std::pair(gemm.getB(), b)})
        if (reason.empty() && !add(operand, packing))
          reason = notPadded(operand, "it is not a tile of one type of values");
    });
    return reason;
  }

  /// Returns why scales are applied to an operand in a bf16 tile.
  static std::string notPadded(Value operand, StringRef why) {
    return "scales are applied to bf16 tiles, because TMA does not pad " + tile::describe(operand) +
           ": " + why.str();
  }

  /// Returns a reason against padding all tiles, or an empty text.
  std::string whyNotPadded() {
    findWritten();
    for (auto [tile, packing] : operands)
      if (StringRef why = whyNotPadded(tile, packing); !why.empty())
        return notPadded(tile, why);
    return "";
  }

  bool add(Value operand, std::optional<tile::Packing> packing) {
    if (!packing)
      return true;
    auto tile = tile::rootOf(operand).getDefiningOp<tile::AllocOp>();
    if (!tile)
      return false;
    auto [at, isNew] = operands.insert({tile, *packing});
    return isNew || at->second == *packing;
  }

  void findWritten() {
    kernel.walk([&](tile::TileAccessOpInterface op) {
      SmallVector<tile::TileAccess> accesses;
      op.getAccesses(accesses);
      for (const tile::TileAccess &access : accesses)
        if (access.writes)
          written.insert(tile::rootOf(access.memref));
    });
  }

  StringRef whyNotPadded(tile::AllocOp tile, tile::Packing packing) {
    auto type = cast<MemRefType>(tile.getResult().getType());
    if (type.getRank() != 2 || tile::spaceOf(type) != tile::Space::Shared)
      return "it is not a shared tile of two dimensions";
    if (type.getDimSize(1) % boxBytes(packing))
      return "its rows are not multiples of 128 values";
    auto isProduct = [&](Operation *user) { return llvm::is_contained(products, user); };
    for (Operation *user : tile->getUsers()) {
      if (auto copy = dyn_cast<tile::CopyOp>(user)) {
        if (StringRef why = whyNotPadded(copy, tile.getResult(), packing); !why.empty())
          return why;
        continue;
      }
      auto transpose = dyn_cast<memref::TransposeOp>(user);
      if (transpose ? !llvm::all_of(transpose->getUsers(), isProduct) : !isProduct(user))
        return "not only copies and matmuls with scales use it";
    }
    return "";
  }

  /// Bytes of the tensor that a row of a box has.
  static int64_t boxBytes(tile::Packing packing) { return tile::bytesOf(packing, nv::paddedBox); }

  StringRef whyNotPadded(tile::CopyOp copy, Value tile, tile::Packing packing) {
    auto tensor = dyn_cast<BlockArgument>(copy.getSource());
    if (copy.getTarget() != tile || !tensor || !copy.readsTensor() || copy.getRows() ||
        copy.getAsync() || nvptx::boxDims(copy) ||
        (copy.getFill() && !matchPattern(copy.getFill(), m_Zero())))
      return "a copy of it is not a plain copy from a tensor";
    if (written.contains(tensor) ||
        kernel.getArgAttr(tensor.getArgNumber(), tile::TileDialect::overlapsAttr))
      return "the kernel writes the tensor that it is copied from";
    if (!nvptx::isPipelinedStatement(copy))
      return "a copy to it is outside of pipelined loops";
    if (!isMultiple(copy.getSourceOffsets().back(), boxBytes(packing)))
      return "an offset of a copy to it is not known to be a multiple of 128 values";
    return "";
  }

  void pad(tile::AllocOp tile, tile::Packing packing) {
    auto type = cast<MemRefType>(tile.getResult().getType());
    OpBuilder b(tile);
    for (Operation *user : tile->getUsers())
      if (auto copy = dyn_cast<tile::CopyOp>(user)) {
        OpBuilder at(copy);
        copy.getSourceOffsetsMutable()
            .slice(unsigned(copy.getSourceOffsets().size() - 1), 1)
            .assign(rescaled(at, copy.getLoc(), copy.getSourceOffsets().back(), boxBytes(packing),
                             nv::paddedBox));
        copy.setPadding(tile::padded(packing));
      }
    int64_t values = tile::valuesIn(packing, type.getDimSize(1));
    tile.getResult().setType(
        tile::tileType({type.getDimSize(0), values}, type.getElementType(), tile::Space::Shared));
    for (Operation *user : llvm::make_early_inc_range(tile->getUsers()))
      if (auto transpose = dyn_cast<memref::TransposeOp>(user)) {
        OpBuilder at(transpose);
        Value again = memref::TransposeOp::create(at, transpose.getLoc(), tile.getResult(),
                                                  transpose.getPermutationAttr());
        transpose.replaceAllUsesWith(again);
        transpose.erase();
      }
  }

  func::FuncOp kernel;
  SmallVector<tile::GemmOp> products;
  llvm::MapVector<tile::AllocOp, tile::Packing> operands;
  llvm::DenseSet<Value> written; ///< tensors and tiles that the kernel writes
};

struct PadOperands : penstock::impl::PadOperandsBase<PadOperands> {
  void runOnKernel() override { Padder(getOperation()).run(); }
};

} // namespace
