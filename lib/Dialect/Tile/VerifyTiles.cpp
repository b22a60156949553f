//===- VerifyTiles.cpp - Verifiers of operations on whole tiles -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies, fills, products, reductions and maps. The messages use the names of the C++
// API; help attached to them suggests a fix.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileChecks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

/// "`transposed(Bs)`", for a help.
static std::string transposedName(Value memref) {
  std::string name = nameOf(memref);
  return "`transposed(" + (name.empty() ? ".." : name) + ")`";
}

static bool areTransposed(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
}

ArrayRef<int64_t> CopyOp::getTileShape() {
  return typeOf(readsTensor() ? getTarget() : getSource()).getShape();
}

SmallVector<int64_t> CopyOp::getBoxShape() {
  SmallVector<int64_t> shape(getTileShape());
  if (auto rows = getRows()) {
    shape.assign(rows->begin(), rows->end());
    shape.push_back(getTileShape().back());
  }
  return shape;
}

SmallVector<int64_t> CopyOp::getTensorDims() {
  if (auto dims = getDims())
    return SmallVector<int64_t>(*dims);
  Value tensor = readsTensor() ? getSource() : getTarget();
  int64_t rank = int64_t(getBoxShape().size());
  int64_t first = typeOf(tensor).getRank() - rank;
  return llvm::to_vector(llvm::seq<int64_t>(first, first + rank));
}

/// The extents that `rows` gives to the rows of a copied tile.
static LogicalResult verifyRows(CopyOp op) {
  auto rows = op.getRows();
  if (!rows)
    return success();
  ArrayRef<int64_t> shape = op.getTileShape();
  bool fits = (op.readsTensor() || op.writesTensor()) && shape.size() == 2 && rows->size() >= 2 &&
              int64_t(rows->size()) < maxTileRank;
  int64_t product = 1;
  for (size_t i = 0; fits && i < rows->size(); ++i) {
    fits = (*rows)[i] >= 1 && (*rows)[i] <= shape[0];
    product *= (*rows)[i];
    fits &= product <= shape[0];
  }
  if (fits && product == shape[0])
    return success();
  return fail(emitCoded(op, ShapeMismatch)
                  << "`rows` does not give the rows of a tile that is copied from or to a tensor",
              "name two or more extents, whose product is the number of rows of a tile of rank 2");
}

LogicalResult CopyOp::verify() {
  Value source = getSource(), target = getTarget();
  if (readsTensor() && writesTensor())
    return fail(emitCoded(*this, SpaceMismatch)
                    << "`copy` goes from " << describe(source) << " to " << describe(target)
                    << ": both are slices of tensors",
                "copy into a tile first, then from the tile");
  if (!readsTensor() && failed(verifyTile(*this, source, "source")))
    return failure();
  if (!writesTensor() && failed(verifyTile(*this, target, "target")))
    return failure();
  if (failed(verifyWritable(*this, target)))
    return failure();
  if (!convertsImplicitly(elementOf(source), elementOf(target)))
    return fail(emitCoded(*this, ElementMismatch)
                    << "`copy` goes from " << describe(source) << " to " << describe(target),
                "only floating-point elements are converted by a copy; use "
                "`set` with a cast for others");
  if (readsTensor() || writesTensor()) {
    Value tensor = readsTensor() ? source : target;
    Value tile = readsTensor() ? target : source;
    ValueRange offsets = readsTensor() ? getSourceOffsets() : getTargetOffsets();
    int64_t rank = typeOf(tensor).getRank();
    if (failed(verifyRows(*this)))
      return failure();
    auto boxRank = int64_t(getBoxShape().size());
    if (static_cast<int64_t>(offsets.size()) != rank)
      return fail(emitCoded(*this, OffsetCount)
                  << describe(tensor) << " has rank " << rank << " and " << offsets.size()
                  << " offsets are given");
    if (!isGlobal(tensor))
      return fail(emitCoded(*this, SpaceMismatch)
                      << "offsets are given for " << describe(tensor) << ", which is a tile",
                  "take a slice of the tile instead");
    if (boxRank > rank)
      return fail(emitCoded(*this, ShapeMismatch)
                      << describe(tile) << " has a higher rank than " << describe(tensor),
                  "copy into a tile of the tensor's rank, and use it with "
                  "broadcast_rows(..) or broadcast_cols(..)");
    if (auto dims = getDims()) {
      if (static_cast<int64_t>(dims->size()) != boxRank)
        return fail(emitCoded(*this, ShapeMismatch)
                        << "`dims` names " << dims->size()
                        << (dims->size() == 1 ? " dimension" : " dimensions") << " of "
                        << describe(tensor) << " for " << describe(tile) << ", which has "
                        << boxRank,
                    "name one dimension of the tensor for each dimension of "
                    "the tile");
      int64_t last = -1;
      for (int64_t dim : *dims) {
        if (dim <= last || dim >= rank)
          return fail(emitCoded(*this, ShapeMismatch)
                      << "`dims` must name increasing dimensions of " << describe(tensor));
        last = dim;
      }
    }
  } else if (typeOf(source).getShape() != typeOf(target).getShape()) {
    return fail(emitCoded(*this, ShapeMismatch) << "`copy` goes from " << describe(source) << " to "
                                                << describe(target) << ": the shapes differ",
                areTransposed(typeOf(source).getShape(), typeOf(target).getShape())
                    ? "did you mean " + transposedName(source) + "?"
                    : std::string("use slice(..) to copy a part of the larger one"));
  } else if (getRows()) {
    return verifyRows(*this);
  } else if (getDims()) {
    return fail(emitCoded(*this, ShapeMismatch) << "`dims` is given for a copy between two tiles");
  }
  if (Value fill = getFill()) {
    if (!readsTensor())
      return fail(emitCoded(*this, SpaceMismatch)
                  << "`fill` is given, but nothing outside of a tensor is read");
    if (fill.getType() != elementOf(target))
      return fail(emitCoded(*this, ElementMismatch)
                  << "`fill` is a " << describe(fill.getType()) << " and " << describe(target)
                  << " holds " << describe(elementOf(target)));
  }
  return success();
}

LogicalResult FillOp::verify() {
  if (failed(verifyTile(*this, getTarget(), "target")))
    return failure();
  return verifyElement(*this, getTarget(), getValue().getType());
}

/// Shape, type and strides of a packed second operand.
static LogicalResult verifyPacked(GemmOp op) {
  MemRefType type = typeOf(op.getB());
  Type element = type.getElementType();
  int64_t group = isa<Float16Type, BFloat16Type>(element) ? 2
                  : element.isSignlessInteger(8)          ? 4
                                                          : 0;
  if (!group)
    return fail(emitCoded(op, PackedOperand)
                    << "a packed operand of `gemm` has elements of f16, bf16 or i8, not "
                    << describe(element),
                "other types are multiplied from two-dimensional tiles");
  if (type.getDimSize(2) != GemmOp::panelColumns || type.getDimSize(3) != group)
    return fail(emitCoded(op, PackedOperand)
                    << "the packed operand " << describe(op.getB()) << " of `gemm` must end in "
                    << GemmOp::panelColumns << "x" << group,
                "pack(..) arranges a K x N tensor as N / 16 x K / " + std::to_string(group) +
                    " x 16 x " + std::to_string(group));
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides[3] != 1 || strides[2] != group ||
      strides[1] != group * GemmOp::panelColumns)
    return fail(emitCoded(op, PackedOperand)
                    << "the packed operand " << describe(op.getB())
                    << " of `gemm` is not contiguous in its last three dimensions",
                "multiply by a whole tile");
  return success();
}

/// Element types, order and scales of a product with scales; its shapes fit.
static LogicalResult verifyScaled(GemmOp op) {
  Value scales[] = {op.getScaleA(), op.getScaleB()};
  if (!scales[0] || !scales[1])
    return fail(emitCoded(op, ScaledProduct) << "`gemm` has scales of one operand only",
                "give both .scale_a and .scale_b");
  Type ea = elementOf(op.getA()), eb = elementOf(op.getB()), es = elementOf(scales[0]);
  auto scalable = [](Type element, std::optional<Packing> packing) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(element) ||
           (element.isSignlessInteger(8) && packing != Packing::I4);
  };
  std::optional<Packing> pa = op.packingOfA(), pb = op.packingOfB();
  bool powers = isa<Float8E8M0FNUType>(es);
  bool small = pa == Packing::F4E2M1 && pb == pa && isa<Float8E4M3FNType>(es);
  if (!scalable(ea, pa) || !scalable(eb, pb) || (!powers && !small) || elementOf(scales[1]) != es ||
      !elementOf(op.getAcc()).isF32())
    return fail(emitCoded(op, ScaledProduct)
                    << "`gemm` cannot multiply " << describe(op.getA()) << " with scales "
                    << describe(scales[0]) << " by " << describe(op.getB()) << " with scales "
                    << describe(scales[1]) << " into " << describe(op.getAcc()),
                "f8, f4e2m1x2, f6e2m3_packed and f6e3m2_packed take scales of f8e8m0, two operands "
                "of f4e2m1x2 also of f8e4m3; they accumulate in f32");
  if (op.getPrecision() != Precision::Full || op.getUnsignedA() || op.getAsync())
    return fail(emitCoded(op, ScaledProduct)
                    << "tf32, unsigned_a and async do not apply to a product with scales",
                "leave them out; pipelined loops keep products in flight by themselves");
  // K last: of the second operand, which is K x N, the first dimension is contiguous.
  std::tuple<Value, unsigned, StringRef> operands[] = {{op.getA(), 1, "first"},
                                                       {op.getB(), 0, "second"}};
  for (auto [memref, k, which] : operands) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(typeOf(memref).getStridesAndOffset(strides, offset)) || strides[k] != 1)
      return fail(emitCoded(op, ScaledProduct)
                      << "the " << which << " operand " << describe(memref)
                      << " of a product with scales does not lie with k last",
                  k ? "store it as M x K" : "store it as N x K and multiply by transposed(..)");
  }
  int64_t k = op.valuesOfK(), block = op.scaleBlock();
  std::tuple<Value, int64_t, StringRef> shapes[] = {
      {scales[0], typeOf(op.getAcc()).getDimSize(0), "rows"},
      {scales[1], typeOf(op.getAcc()).getDimSize(1), "columns"}};
  for (auto [scale, rows, which] : shapes) {
    if (failed(verifyTile(op, scale, "scale")))
      return failure();
    if (rows % 128 || k % (4 * block))
      return fail(emitCoded(op, ScaledProduct) << "a product with scales has " << rows << " "
                                               << which << " and " << k << " values of k",
                  "rows and columns are multiples of 128, values of k of " +
                      std::to_string(4 * block));
    int64_t shape[] = {rows / 128, k / (4 * block), 32, 16};
    if (typeOf(scale).getShape() != ArrayRef<int64_t>(shape))
      return fail(emitCoded(op, ScaledProduct)
                      << "the scales " << describe(scale) << " do not fit " << rows << " " << which
                      << " and " << k << " values of k",
                  "their shape is " + std::to_string(shape[0]) + "x" + std::to_string(shape[1]) +
                      "x32x16: 128 " + which.str() + " by 4 blocks of " + std::to_string(block) +
                      " values each");
    if (rootOf(scale) == rootOf(op.getAcc()))
      return fail(emitCoded(op, ScaledProduct)
                  << "the accumulator " << describe(op.getAcc()) << " is also a scale of `gemm`");
  }
  return success();
}

/// An operand of bytes holds two f4e2m1 in each, unless \p stated says something else.
static std::optional<Packing> packingOf(Value operand, std::optional<Packing> stated) {
  if (!typeOf(operand).getElementType().isSignlessInteger(8))
    return std::nullopt;
  return stated.value_or(Packing::F4E2M1);
}

std::optional<Packing> GemmOp::packingOfA() { return packingOf(getA(), getPackingA()); }
std::optional<Packing> GemmOp::packingOfB() { return packingOf(getB(), getPackingB()); }

int64_t GemmOp::valuesOfK() {
  int64_t elements = typeOf(getA()).getDimSize(1);
  auto packing = packingOfA();
  return packing ? valuesIn(*packing, elements) : elements;
}

LogicalResult GemmOp::verify() {
  std::pair<Value, StringRef> operands[] = {
      {getA(), "first operand"}, {getB(), "second operand"}, {getAcc(), "accumulator"}};
  for (auto [memref, role] : operands) {
    if (failed(verifyTile(*this, memref, role)))
      return failure();
    if (typeOf(memref).getRank() != 2 && !(memref == getB() && isPacked()))
      return fail(emitCoded(*this, ShapeMismatch)
                  << "the " << role << " of `gemm`, " << describe(memref)
                  << ", is not two-dimensional");
  }
  SmallVector<int64_t> a(typeOf(getA()).getShape()), b(typeOf(getB()).getShape()),
      acc(typeOf(getAcc()).getShape());
  if (isPacked()) {
    if (failed(verifyPacked(*this)))
      return failure();
    b = {b[1] * b[3], b[0] * b[2]};
  }
  if (isScaled()) { // operands may have different numbers of values in a byte
    if (auto packing = packingOfA())
      a[1] = valuesIn(*packing, a[1]);
    if (auto packing = packingOfB())
      b[0] = valuesIn(*packing, b[0]);
  }
  if (a[1] != b[0]) {
    return fail(
        emitCoded(*this, ShapeMismatch) << "the inner sizes of `gemm` differ: " << describe(getA())
                                        << " times " << describe(getB()),
        isScaled() && (packingOfA() || packingOfB())
            ? "the first operand has " + std::to_string(a[1]) + " values of k, the second " +
                  std::to_string(b[0])
        : a[1] == b[1] ? "the second operand is K x N; did you mean " + transposedName(getB()) + "?"
        : a[0] == b[0] ? "the first operand is M x K; did you mean " + transposedName(getA()) + "?"
                       : std::string("the first operand is M x K, the second K x N"));
  }
  if (acc[0] != a[0] || acc[1] != b[1])
    return fail(emitCoded(*this, ShapeMismatch)
                    << "the product of " << describe(getA()) << " and " << describe(getB())
                    << " is " << a[0] << "x" << b[1] << ", but the accumulator is "
                    << describe(getAcc()),
                "the first operand is M x K, the second K x N and the "
                "accumulator M x N");
  if (rootOf(getAcc()) == rootOf(getA()) || rootOf(getAcc()) == rootOf(getB()))
    return fail(emitCoded(*this, ShapeMismatch)
                    << "the accumulator " << describe(getAcc()) << " is also an operand of `gemm`",
                "copy the operand into a tile of its own first");
  if (isScaled())
    return verifyScaled(*this);
  if (getPackingA() || getPackingB())
    return fail(emitCoded(*this, ScaledProduct) << "a product of packed values without scales");
  Type ea = elementOf(getA()), eb = elementOf(getB()), ec = elementOf(getAcc());
  bool f8 = isa<Float8E4M3FNType, Float8E5M2Type>(ea) && isa<Float8E4M3FNType, Float8E5M2Type>(eb);
  bool floats = (ea == eb && isa<Float16Type, BFloat16Type, Float32Type>(ea)) || f8;
  bool ints = ea == eb && ea.isSignlessInteger(8);
  if (!(floats && ec.isF32()) && !(ints && ec.isSignlessInteger(32)))
    return fail(emitCoded(*this, ElementMismatch)
                    << "`gemm` cannot multiply " << describe(ea) << " by " << describe(eb)
                    << " into " << describe(ec),
                "f16, bf16, f32 and the two f8 types accumulate in f32, i8 in "
                "i32; both operands have one type (the f8 types may be mixed)");
  if (getUnsignedA() && !ints)
    return fail(emitCoded(*this, ElementMismatch)
                    << "unsigned_a applies to i8 operands, not to " << describe(ea),
                "leave .unsigned_a out");
  if (getPrecision() == Precision::TF32 && !ea.isF32())
    return fail(emitCoded(*this, ElementMismatch)
                    << "precision tf32 applies to f32 operands, not to " << describe(ea),
                "leave .tf32 out; other types are multiplied as they are");
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyTile(*this, getSource(), "source")) ||
      failed(verifyTile(*this, getTarget(), "target")))
    return failure();
  MemRefType source = typeOf(getSource());
  int64_t dim = getDim();
  if (dim < 0 || dim >= source.getRank())
    return fail(emitCoded(*this, ReduceDim)
                    << "`reduce` runs along dimension " << dim << " of " << describe(getSource())
                    << ", which has rank " << source.getRank(),
                "dimensions are counted from 0; along the last one, each row is "
                "reduced to one element");
  SmallVector<int64_t> expected(source.getShape());
  expected.erase(expected.begin() + dim);
  if (ArrayRef<int64_t>(expected) != typeOf(getTarget()).getShape())
    return fail(emitCoded(*this, ShapeMismatch)
                    << "`reduce` of " << describe(getSource()) << " along dimension " << dim
                    << " does not fit " << describe(getTarget()),
                "the target has the source's shape without the reduced "
                "dimension");
  if (source.getElementType().isSignlessInteger(1))
    return fail(emitCoded(*this, ElementMismatch) << "`reduce` combines numbers, and "
                                                  << describe(getSource()) << " holds conditions",
                "`set` an i32 tile with cast<i32>(..) first");
  if (isa<Float8E8M0FNUType>(elementOf(getTarget())))
    return fail(emitCoded(*this, ElementMismatch)
                    << "`reduce` combines into " << describe(getTarget()),
                "reduce into f32, and convert the result");
  if (!reducesImplicitly(source.getElementType(), elementOf(getTarget())))
    return fail(emitCoded(*this, ElementMismatch) << "`reduce` goes from " << describe(getSource())
                                                  << " to " << describe(getTarget()),
                "a reduction converts floating-point elements, and integers to wider ones; "
                "`set` a tile with a cast first");
  if (rootOf(getSource()) == rootOf(getTarget()))
    return fail(emitCoded(*this, ShapeMismatch)
                    << "`reduce` writes to the tile that it reads, " << describe(getTarget()),
                "reduce into a tile of its own");
  return success();
}

SmallVector<int64_t> MapOp::getInputDims(unsigned i) {
  SmallVector<int64_t> dims;
  for (Attribute dim : cast<ArrayAttr>(getDims()[i]))
    dims.push_back(cast<IntegerAttr>(dim).getInt());
  return dims;
}

/// Returns whether two values are the same view of one tile: `x[i]`, said twice.
static bool isSameView(Value a, Value b) {
  while (a != b) {
    Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
    if (!left || !right ||
        !isa<memref::SubViewOp, memref::TransposeOp, memref::CollapseShapeOp>(left) ||
        left->getName() != right->getName() || a.getType() != b.getType() ||
        left->getAttrDictionary() != right->getAttrDictionary() ||
        !llvm::equal(llvm::drop_begin(left->getOperands()), llvm::drop_begin(right->getOperands())))
      return false;
    a = left->getOperand(0);
    b = right->getOperand(0);
  }
  return true;
}

LogicalResult MapOp::verify() {
  if (failed(verifyTile(*this, getTarget(), "target")))
    return failure();
  if (getDims().size() != getInputs().size())
    return fail(emitCoded(*this, BroadcastForm)
                << "`map` has " << getInputs().size() << " inputs and `dims` " << getDims().size()
                << " entries");
  ArrayRef<int64_t> shape = typeOf(getTarget()).getShape();
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    if (failed(verifyTile(*this, input, "input")))
      return failure();
    auto dims = dyn_cast<ArrayAttr>(getDims()[i]);
    if (!dims || !llvm::all_of(dims, llvm::IsaPred<IntegerAttr>))
      return fail(emitCoded(*this, BroadcastForm)
                  << "`dims` holds one list of integers for each input");
    SmallVector<int64_t> runs = getInputDims(i);
    ArrayRef<int64_t> inputShape = typeOf(input).getShape();
    bool fits = runs.size() == inputShape.size();
    for (size_t d = 0; fits && d < runs.size(); ++d)
      fits = runs[d] >= 0 && runs[d] < static_cast<int64_t>(shape.size()) &&
             shape[runs[d]] == inputShape[d] && llvm::count(runs, runs[d]) == 1;
    if (!fits && runs.size() == 1 && inputShape.size() == 1 && shape.size() == 2 &&
        (runs[0] == 0 || runs[0] == 1)) {
      std::string name = nameOf(input);
      bool rows = runs[0] == 0;
      return fail(
          emitCoded(*this, BroadcastForm)
              << describe(input) << " has one value for each of " << inputShape[0]
              << (rows ? " rows" : " columns") << ", but " << describe(getTarget()) << " has "
              << shape[runs[0]],
          shape[1 - runs[0]] == inputShape[0]
              ? std::string("did you mean `") + (rows ? "broadcast_cols(" : "broadcast_rows(") +
                    (name.empty() ? ".." : name) + ")`?"
              : std::string("broadcast_rows(..) takes one value for each row, broadcast_cols(..) "
                            "one for each column"));
    }
    if (!fits)
      return fail(emitCoded(*this, BroadcastForm)
                      << describe(input) << " does not broadcast to " << describe(getTarget()),
                  "an operand has the target's shape, or is broadcast with "
                  "broadcast_rows(..) or broadcast_cols(..)");
  }
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    // Reading another element of the target than the one being written would
    // make the result depend on the order of elements.
    bool same = isSameView(input, getTarget());
    if (rootOf(input) == rootOf(getTarget()) && !same)
      return fail(emitCoded(*this, BroadcastForm) << "`set` reads another view of the tile that it "
                                                  << "writes, " << describe(getTarget()),
                  "copy what you read into a tile of its own first");
    if (same)
      for (auto [d, run] : llvm::enumerate(getInputDims(i)))
        if (run != static_cast<int64_t>(d))
          return fail(emitCoded(*this, BroadcastForm)
                      << "`set` reads " << describe(input) << " transposed while it writes it");
  }
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return fail(emitCoded(*this, BroadcastForm)
                << "the body of `map` takes " << block.getNumArguments() << " elements for "
                << getInputs().size() << " inputs");
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (argument.getType() != elementOf(input))
      return fail(emitCoded(*this, ElementMismatch)
                  << "the body of `map` takes a " << describe(argument.getType())
                  << " for an element of " << describe(input));
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || yield.getValue().getType() != elementOf(getTarget()))
    return fail(emitCoded(*this, ElementMismatch)
                << "the body of `map` must yield one " << describe(elementOf(getTarget()))
                << " for " << describe(getTarget()));
  WalkResult walk = getBody().walk([&](Operation *op) {
    // Not isPure: a division may not be executed speculatively, but it only
    // computes a value. Operations of other dialects are the language's
    // business: guards against faults are lowered before maps are.
    if (isa<YieldOp, ElementIndexOp, LoadOp>(op) || !isa<TileDialect>(op->getDialect()) ||
        isMemoryEffectFree(op))
      return WalkResult::advance();
    emitCoded(op, ParallelRace) << "the body of `map` only computes values; `" << op->getName()
                                << "` does more";
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  walk = getBody().walk([&](LoadOp load) {
    if (rootOf(load.getSource()) != rootOf(getTarget()))
      return WalkResult::advance();
    (void)fail(emitCoded(load, BroadcastForm)
                   << "`set` loads single elements of the tile that it writes, "
                   << describe(getTarget()),
               "copy what you read into a tile of its own first");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ElementIndexOp::verify() {
  auto map = (*this)->getParentOfType<MapOp>();
  if (!map)
    return fail(emitCoded(*this, OpForm) << "`element_index` must be in the body of a `map`");
  int64_t rank = typeOf(map.getTarget()).getRank(), dim = getDim();
  if (dim < 0 || dim >= rank)
    return fail(emitCoded(*this, BroadcastForm) << "an element of " << describe(map.getTarget())
                                                << " has no index along dimension " << dim);
  return success();
}
