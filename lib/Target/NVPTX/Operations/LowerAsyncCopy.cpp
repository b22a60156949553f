//===- LowerAsyncCopy.cpp - Copies by cp.async ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread copies pieces of 16 bytes or fewer (CopyPieces.h). It computes one address in the
// tensor, from which pieces are multiples of a stride away, and one address in shared memory per
// group of pieces at constant distances under the swizzle. Loop-invariant parts are computed before
// the loop around the copy, including one word with a bit per piece: set if the piece is
// out-of-bounds along a loop-invariant dimension.
//
// For out-of-bounds pieces, the instruction reads nothing and writes zeros, so their addresses may
// be invalid.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/CopyPieces.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Placement/IndexBounds.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>
#include <map>
#include <utility>

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

/// Condition for a piece to be out-of-bounds: a bit of a word, a condition, or either.
struct Absence {
  Value word, condition;
  uint32_t bit = 0;
};

class AsyncCopy {
public:
  AsyncCopy(LoweringContext &c, nv::AsyncCopyOp op, const ExecutionScope &by);
  void emit();

private:
  /// Emits code before the loop around the copy, if there is one.
  template <class Body> auto beforeLoop(Body body) {
    OpBuilder::InsertionGuard guard(c.builder);
    if (loop)
      c.builder.setInsertionPoint(loop);
    return body();
  }
  bool isInvariant(unsigned dim) const { return !loop || invariant[dim]; }

  void emit(const CopyPieces &pieces);
  void emitPiece(const CopyPiece &piece, Value address, const Absence &absence);
  void computeCoordinates(const CopyPieces &pieces);
  Value wide(unsigned dim);
  Value firstAddress();
  Value stepAlong(ArrayRef<int64_t> distances);

  SmallVector<Absence> absences(const CopyPieces &pieces);
  Value isOutside(unsigned dim, int64_t at, Value size = {});
  Value isOutside(ArrayRef<unsigned> dims, const CopyPiece &piece);
  Value either(Value a, Value b);
  Value unless(Value absent, Value number);
  Value invariantWord(ArrayRef<unsigned> dims, ArrayRef<CopyPiece> pieces);
  Value bytesPresent(int64_t column);

  std::pair<Value, int64_t> sharedAddressOf(const CopyPiece &piece);
  std::optional<int64_t> sharedStep(const CopyPiece &from, const CopyPiece &to);

  LoweringContext &c;
  nv::AsyncCopyOp op;
  LoopLikeOpInterface loop; ///< the innermost one around the copy
  const View view;
  const layout::SharedTile &tile;
  const unsigned rank;             ///< of the tensor
  const int64_t pieceBytes, bytes; ///< of a piece and an element
  const bool wholePieces;          ///< no piece crosses an edge of the tensor
  layout::Distribution layout;
  SmallVector<Value> base;     ///< the thread's part of the coordinates in the tile
  SmallVector<bool> invariant; ///< whether each offset is loop-invariant
  SmallVector<Value> first;    ///< coordinates in the tensor, without constants
  std::map<std::vector<int64_t>, Value> steps;
  std::map<int64_t, Value> present;
  SmallVector<std::pair<CopyPiece, Value>> sharedBases;
};

} // namespace

/// Hoists the computation of \p value out of a loop. Returns whether it is loop-invariant.
static bool hoist(LoopLikeOpInterface loop, Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions() ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return hoist(loop, operand); }))
    return false;
  op->moveBefore(loop);
  return true;
}

/// Returns whether a coordinate of 32 bits without a sign is the offset plus the thread's part of
/// it: nv-narrow-masks narrows offsets that need 32 bits and no sign.
static bool isUnsigned(Value offset) {
  auto isWide = [](Type type) { return type.isIndex() || type.getIntOrFloatBitWidth() >= 32; };
  for (Operation *cast = offset.getDefiningOp();
       isa_and_nonnull<arith::IndexCastOp, arith::TruncIOp>(cast) && isWide(offset.getType());
       cast = offset.getDefiningOp())
    offset = cast->getOperand(0);
  constexpr int64_t room = int64_t(1) << 30; // for the thread's part
  auto bounds = boundsOf(offset);
  return bounds && bounds->low >= 0 && bounds->high <= std::numeric_limits<uint32_t>::max() - room;
}

namespace {
/// For each copy and dimension of the tensor. Found before anything is lowered, because bounds
/// follow from sizes of tensors.
struct UnsignedOffsets {
  llvm::DenseMap<Operation *, SmallVector<bool>> of;
};
} // namespace

static void findUnsignedOffsets(LoweringContext &c) {
  c.kernel.walk([&](nv::AsyncCopyOp op) {
    c.state<UnsignedOffsets>().of[op] = llvm::map_to_vector(op.getOffsets(), isUnsigned);
  });
}

AsyncCopy::AsyncCopy(LoweringContext &c, nv::AsyncCopyOp op, const ExecutionScope &by)
    : c(c), op(op), loop(op->getParentOfType<LoopLikeOpInterface>()),
      view(viewOf(c, op.getTarget())), tile(c.shared.tiles.find(view.root)->second.layout),
      rank(unsigned(op.getOffsets().size())), pieceBytes(int64_t(op.getBytes())),
      bytes(tile.elementBits / 8), wholePieces(c.mode.alignedRows) {
  ArrayRef<int64_t> shape = cast<MemRefType>(op.getTarget().getType()).getShape();
  layout = layout::blocked({shape.begin(), shape.end()}, by.scope.warps * nv::warpSize,
                           pieceBytes / bytes);
  for (Value offset : op.getOffsets())
    invariant.push_back(loop && hoist(loop, offset));
  base = beforeLoop([&] { return baseOf(c, layout, by); });
  // In tile programs, copies start at multiples of the piece size (asyncCopyBytes).
  needRows(c, op.getSource(), unsigned(pieceBytes),
           /*multiple=*/wholePieces ? unsigned(pieceBytes) : 0);
}

void AsyncCopy::computeCoordinates(const CopyPieces &pieces) {
  first.clear();
  for (unsigned dim = 0; dim < rank; ++dim) {
    auto compute = [&] {
      Value start = c.coordinates(op.getOffsets()[dim])[0];
      return pieces.inTensor[dim] ? c.add(start, pieces.inTensor[dim]) : start;
    };
    first.push_back(isInvariant(dim) ? beforeLoop(compute) : compute());
  }
}

/// Returns a first coordinate in 64 bits. Zero-extended, its product with a stride takes two
/// instructions; sign-extended, four.
Value AsyncCopy::wide(unsigned dim) {
  if (!c.state<UnsignedOffsets>().of.lookup(op)[dim])
    return c.asI64(first[dim]);
  return arith::ExtUIOp::create(c.builder, c.loc, c.builder.getI64Type(), first[dim]);
}

/// Returns the byte address of the element at the `first` coordinates.
Value AsyncCopy::firstAddress() {
  unsigned argument = cast<BlockArgument>(op.getSource()).getArgNumber() - 1;
  auto addTerms = [&](Value address, bool ofInvariants) {
    for (unsigned dim = 0; dim < rank; ++dim) {
      if (isInvariant(dim) != ofInvariants)
        continue;
      Value factor = c.i64(bytes);
      if (dim + 1 < rank)
        factor = beforeLoop([&] {
          return c.mul(parameter(c, ParameterField::Stride, argument, dim), c.i64(bytes));
        });
      address = c.add(address, c.mul(wide(dim), factor));
    }
    return address;
  };
  Value start = parameter(c, ParameterField::Address, argument);
  start = beforeLoop([&] { return addTerms(start, /*ofInvariants=*/true); });
  return addTerms(start, /*ofInvariants=*/false);
}

/// Returns the bytes between elements whose coordinates differ by \p distances.
Value AsyncCopy::stepAlong(ArrayRef<int64_t> distances) {
  Value &step = steps[distances.vec()];
  unsigned argument = cast<BlockArgument>(op.getSource()).getArgNumber() - 1;
  if (!step)
    step = beforeLoop([&] {
      Value sum;
      for (auto [dim, distance] : llvm::enumerate(distances))
        if (distance) {
          Value stride = parameter(c, ParameterField::Stride, argument, unsigned(dim));
          Value term = c.mul(stride, c.i64(distance * bytes));
          sum = sum ? c.add(sum, term) : term;
        }
      return sum;
    });
  return step;
}

Value AsyncCopy::isOutside(unsigned dim, int64_t at, Value size) {
  if (!size)
    size = c.asI32(tensorSize(c, op.getSource(), dim));
  return c.cmp(arith::CmpIPredicate::uge, c.add(first[dim], at), size);
}

Value AsyncCopy::isOutside(ArrayRef<unsigned> dims, const CopyPiece &piece) {
  Value any;
  for (unsigned dim : dims)
    any = either(any, isOutside(dim, piece.inTensor[dim]));
  return any;
}

Value AsyncCopy::either(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::OrIOp::create(c.builder, c.loc, a, b);
}

/// Returns \p number, or zero if \p absent holds. \p absent may be null.
Value AsyncCopy::unless(Value absent, Value number) {
  if (!absent)
    return number;
  return arith::SelectOp::create(c.builder, c.loc, absent, c.i32(0), number);
}

/// Returns a word with one bit per piece, set if the piece is out-of-bounds along any of \p dims.
/// Uses inline PTX, because LLVM would keep the compared values live instead of the word, which
/// saves no registers.
Value AsyncCopy::invariantWord(ArrayRef<unsigned> dims, ArrayRef<CopyPiece> pieces) {
  SmallVector<Value> bits;
  std::string text = "{ .reg .b32 bit; mov.b32 $0, 0; ";
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    bits.push_back(isOutside(dims, piece));
    text += "selp.b32 bit, " + std::to_string(uint32_t(1) << i) + ", 0, $" + std::to_string(i + 1) +
            "; or.b32 $0, $0, bit; ";
  }
  return c.inlinePtx()
      .earlyOutput(c.builder.getI32Type())
      .inputs(bits)
      .emit(text + "}", PtxEffects::None)[0];
}

SmallVector<Absence> AsyncCopy::absences(const CopyPieces &group) {
  // `same`: dimensions along which all pieces have the same coordinate; `differ`: all others.
  SmallVector<unsigned> same, sameInLoop, differ, differInLoop;
  for (unsigned dim = 0; dim < (wholePieces ? rank : rank - 1); ++dim) {
    bool variant = loop && !isInvariant(dim);
    if (group.isSame(dim))
      (variant ? sameInLoop : same).push_back(dim);
    else // without a loop, a word saves nothing
      (variant || !loop ? differInLoop : differ).push_back(dim);
  }
  ArrayRef<CopyPiece> pieces = group.pieces;
  Value all = isOutside(sameInLoop, pieces.front()), word;
  if (differ.empty()) {
    Value before = beforeLoop([&] { return isOutside(same, pieces.front()); });
    // One comparison per piece: a size of zero makes every piece out-of-bounds.
    Value size;
    if (!differInLoop.empty())
      size = unless(all, beforeLoop([&] {
                      return unless(before,
                                    c.asI32(tensorSize(c, op.getSource(), differInLoop.front())));
                    }));
    else
      all = either(all, before);
    return llvm::map_to_vector(pieces, [&](const CopyPiece &piece) {
      if (!size)
        return Absence{{}, all};
      unsigned dim = differInLoop.front();
      return Absence{{},
                     either(isOutside(dim, piece.inTensor[dim], size),
                            isOutside(ArrayRef(differInLoop).drop_front(), piece))};
    });
  }
  llvm::append_range(same, differ);
  SmallVector<Absence> result;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    constexpr size_t bits = 32;
    if (i % bits == 0) {
      word = beforeLoop([&] { return invariantWord(same, pieces.drop_front(i).take_front(bits)); });
      if (all) // inline PTX, because LLVM would test each piece twice
        word = c.ptxValue(c.builder.getI32Type(), "selp.b32 $0, -1, $1, $2;", {word, all});
    }
    result.push_back({word, isOutside(differInLoop, piece), uint32_t(1) << (i % bits)});
  }
  return result;
}

/// Returns the number of bytes of a piece that are inside its row. No piece crosses the left edge,
/// because pieces start at multiples of their size.
Value AsyncCopy::bytesPresent(int64_t column) {
  Value &known = present[column];
  if (known)
    return known;
  Value width = c.asI32(tensorSize(c, op.getSource(), rank - 1));
  Value left = arith::SubIOp::create(c.builder, c.loc, width, c.add(first.back(), column));
  left = arith::MinSIOp::create(c.builder, c.loc, left, c.i32(pieceBytes / bytes));
  return known = unless(isOutside(rank - 1, column), c.mul(left, bytes));
}

/// Returns the constant distance in shared memory between two pieces, if there is one.
std::optional<int64_t> AsyncCopy::sharedStep(const CopyPiece &from, const CopyPiece &to) {
  int64_t cols = to.inTile.back() - from.inTile.back();
  int64_t rows = layout.rank() == 2 ? to.inTile.front() - from.inTile.front() : 0;
  size_t rootRank = view.offsets.size();
  if (view.dims.back() + 1 != rootRank || (rows && view.dims.front() + 2 != rootRank))
    return std::nullopt;
  if (tile.linear)
    return (rows * tile.cols + cols) * bytes;
  int64_t span = layout::spanBytes(tile.swizzle), chunks = cols / tile.chunkCols();
  int64_t repeat = tile.swizzle == layout::Swizzle::None ? 1 : layout::repeatBytes(tile.swizzle);
  if (rows * span % repeat || cols % tile.chunkCols() || chunks * tile.chunkBytes() % repeat)
    return std::nullopt;
  return rows * span + chunks * tile.chunkBytes();
}

/// Returns the address of a piece in shared memory: a value shared between pieces, and a constant.
std::pair<Value, int64_t> AsyncCopy::sharedAddressOf(const CopyPiece &piece) {
  for (const auto &[known, address] : sharedBases)
    if (auto step = sharedStep(known, piece))
      return {address, *step};
  SmallVector<Value> at;
  for (auto [thread, constant] : llvm::zip_equal(base, piece.inTile))
    at.push_back(c.add(thread, constant));
  SmallVector<int64_t> zeros(at.size(), 0);
  Value address = LLVM::PtrToIntOp::create(c.builder, c.loc, c.builder.getI32Type(),
                                           sharedElement(c, view, at, zeros));
  sharedBases.push_back({piece, address});
  return {address, 0};
}

void AsyncCopy::emitPiece(const CopyPiece &piece, Value address, const Absence &absence) {
  auto [to, offset] = sharedAddressOf(piece);
  SmallVector<Value> operands = {to, address};
  auto add = [&](Value operand) {
    operands.push_back(operand);
    return "$" + std::to_string(operands.size() - 1);
  };
  auto memory = [](StringRef operand, int64_t at) {
    return ("[" + operand + (at ? "+" + Twine(at) : Twine()) + "]").str();
  };
  std::string before, after, source;
  std::string bit = std::to_string(absence.bit);
  if (!wholePieces) {
    Value absent = absence.condition;
    if (absence.word)
      absent = either(
          absent, c.cmp(arith::CmpIPredicate::ne, c.andBits(absence.word, absence.bit), c.i32(0)));
    source = add(unless(absent, bytesPresent(piece.inTensor.back())));
  } else if (absence.word) {
    before = "{ .reg .pred absent; .reg .b32 bit; and.b32 bit, " + add(absence.word) + ", " + bit;
    before += absence.condition
                  ? "; setp.ne.or.b32 absent, bit, 0, " + add(absence.condition) + "; "
                  : "; setp.ne.b32 absent, bit, 0; ";
    source = "absent";
    after = " }";
  } else {
    source = add(absence.condition);
  }
  if (Value held = holdsElement(c, layout, base, piece.inTile))
    before += "@" + add(held) + " ";
  std::string kind = pieceBytes < 16 || op.getL1() ? "cp.async.ca" : "cp.async.cg";
  c.ptx(before + kind + ".shared.global " + memory("$0", offset) + ", " +
            memory("$1", piece.inTensor.back() * bytes) + ", " + std::to_string(pieceBytes) + ", " +
            source + ";" + after,
        operands);
}

void AsyncCopy::emit(const CopyPieces &group) {
  present.clear();
  computeCoordinates(group);
  SmallVector<Absence> absent = absences(group);
  Value address = firstAddress();
  SmallVector<int64_t> reached(rank - 1, 0); // columns are constants of the instruction
  for (auto [piece, absence] : llvm::zip_equal(group.pieces, absent)) {
    SmallVector<int64_t> distances;
    for (auto [from, to] : llvm::zip_first(reached, piece.inTensor))
      distances.push_back(to - std::exchange(from, to));
    if (Value step = stepAlong(distances))
      address = c.add(address, step);
    emitPiece(piece, address, absence);
  }
}

void AsyncCopy::emit() {
  CopyBox box{rank, op.getDims(), op.getRows()};
  auto groups = beforeLoop([&] { return copyPieces(c, layout, base, pieceBytes / bytes, box); });
  for (const CopyPieces &group : groups)
    emit(group);
}

static LogicalResult lowerAsyncCopy(LoweringContext &c, nv::AsyncCopyOp op,
                                    const ExecutionScope &by) {
  AsyncCopy(c, op, by).emit();
  return success();
}

static void lowerAsyncArrive(LoweringContext &c, nv::AsyncArriveOp op) {
  c.ptx("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];",
        {barrierAddress(c, op.getBarriers(), op.getIndex())});
}

static void lowerAsyncWait(LoweringContext &c, nv::AsyncWaitOp op) {
  c.ptx(("cp.async.wait_group " + Twine(op.getPending()) + ";").str());
}

void nvptx::addAsyncCopies(LoweringTable &table) {
  table.addPreparation(findUnsignedOffsets);
  table.add<lowerAsyncCopy>();
  table.add<lowerAsyncArrive>();
  table.addPtx<nv::AsyncCommitOp>("cp.async.commit_group;");
  table.add<lowerAsyncWait>();
}
