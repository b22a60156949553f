//===- LowerTensorMemory.cpp - Accesses of threads to tensor memory -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static void lowerTensorDealloc(LoweringContext &c, nv::TensorDeallocOp op) {
  for (TensorAllocation &allocation : c.tensorMemory.allocations)
    if (allocation.tiles.front().getResult() == op.getTile()) // the first stands for all
      c.when(c.cmp(arith::CmpIPredicate::ult, c.thread, c.i32(nv::warpSize)), [&] {
        c.ptx("tcgen05.dealloc" + c.mode.ctaGroup() + ".sync.aligned.b32 $0, $1;",
              {c.tensorMemory.bases.lookup(op.getTile()), c.i32(allocation.columns)});
      });
}

/// Returns the first cell of a tile in the lanes that this warp reaches and, of \p columns for each
/// warpgroup, in the columns of its warpgroup.
static Value ownLanes(LoweringContext &c, Value tile, int64_t columns, const ExecutionScope &by) {
  // A warp reaches 32 lanes, by its number in the warpgroup.
  Value first =
      c.add(tensorAddress(c, tile), c.mul(c.andBits(c.shiftRight(c.thread, 5), 3), 32 << 16));
  if (by.scope.warps == nv::warpgroupWarps)
    return first;
  Value group = arith::SubIOp::create(c.builder, c.loc, c.shiftRight(c.thread, 7),
                                      c.i32(by.scope.firstWarp / nv::warpgroupWarps));
  int64_t parts = nv::warpgroupParts(cast<MemRefType>(tile.getType()));
  if (parts == 1)
    return c.add(first, c.mul(group, columns));
  // Warpgroups of one part after the other share columns.
  first = c.add(first, c.mul(c.andBits(group, parts - 1), columnsOfPart(tile)));
  return c.add(first, c.mul(c.shiftRight(group, llvm::Log2_64(uint64_t(parts))), columns));
}

/// Returns the largest power of two of \p registers that one tcgen05.ld or st moves. Each moves
/// neighboring registers: the assembler finds no room for many.
static int64_t registersAtOnce(int64_t registers) {
  constexpr int64_t most = 32;
  int64_t count = 1;
  while (count * 2 <= std::min(registers, most))
    count *= 2;
  return count;
}

namespace {

/// The words of a tile that one tcgen05.ld or st moves.
struct Piece {
  int64_t first = 0, count = 0;
  Value address;
};

/// Access of threads to a tile in tensor memory. Of 128 rows, each has one, with a register
/// for each column; of 64 rows, a warp has 16, with four registers for eight columns.
class Reach {
public:
  Reach(LoweringContext &c, Value cells, const RegisterTile &tile, const ExecutionScope &by) {
    auto type = cast<MemRefType>(cells.getType());
    few = type.getDimSize(0) % nv::tensorLanes != 0;
    int64_t parts = few ? nv::tensorParts(type) : 1, total = words(tile) / parts;
    Value start = ownLanes(c, cells, columns(total), by);
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t at = 0, count; at < total; at += count) {
        count = registersAtOnce(total - at);
        pieces.push_back(
            {part * total + at, count, c.add(start, part * columnsOfPart(cells) + columns(at))});
      }
  }

  /// Returns the shape and repetitions of an instruction that moves \p registers.
  std::string shape(int64_t registers) const {
    return few ? "16x256b.x" + std::to_string(registers / 4)
               : "32x32b.x" + std::to_string(registers);
  }

  SmallVector<Piece> pieces;

private:
  int64_t columns(int64_t registers) const { return few ? 2 * registers : registers; }

  bool few; ///< lanes of a warp hold 16 rows
};

/// Tiles that tcgen05.ld loads, and nothing has awaited.
struct LoadedTiles {
  SmallVector<RegisterTile *> tiles;
};

} // namespace

static void lowerTensorLoad(LoweringContext &c, nv::TensorLoadOp op, const ExecutionScope &by) {
  RegisterTile &tile = *registersOf(c, op.getTarget());
  Reach reach(c, op.getSource(), tile, by);
  for (auto [first, count, address] : reach.pieces) {
    InlinePtx load = c.inlinePtx();
    for (int64_t i = 0; i < count; ++i)
      load.output(c.builder.getI32Type());
    SmallVector<Value> loaded =
        load.input(address).emit("tcgen05.ld.sync.aligned." + reach.shape(count) + ".b32 " +
                                     operandList(0, count) + ", [$" + std::to_string(count) + "];",
                                 PtxEffects::Memory);
    for (int64_t i = 0; i < count; ++i)
      writeWord(c, tile, first + i, loaded[size_t(i)]);
  }
  c.state<LoadedTiles>().tiles.push_back(&tile);
}

static void lowerTensorWaitLoad(LoweringContext &c, nv::TensorWaitLoadOp) {
  SmallVector<RegisterTile *> &loading = c.state<LoadedTiles>().tiles;
  ptxWithRegisters(c, "tcgen05.wait::ld.sync.aligned;", loading);
  loading.clear();
}

static void lowerTensorStore(LoweringContext &c, nv::TensorStoreOp op, const ExecutionScope &by) {
  RegisterTile &tile = *registersOf(c, op.getSource());
  Reach reach(c, op.getTarget(), tile, by);
  for (auto [first, count, address] : reach.pieces) {
    SmallVector<Value> operands = {address};
    for (int64_t i = 0; i < count; ++i) {
      Value word = readWord(c, tile, first + i);
      if (!word.getType().isInteger(32))
        word = LLVM::BitcastOp::create(c.builder, c.loc, c.builder.getI32Type(), word);
      operands.push_back(word);
    }
    c.ptx("tcgen05.st.sync.aligned." + reach.shape(count) + ".b32 [$0], " + operandList(1, count) +
              ";",
          operands);
  }
}

void nvptx::addTensorMemory(LoweringTable &table) {
  table.keep<nv::TensorAllocOp>();
  table.add<lowerTensorDealloc>();
  table.add<lowerTensorLoad>();
  table.add<lowerTensorWaitLoad>();
  table.add<lowerTensorStore>();
  table.addPtx<nv::TensorWaitStoreOp>("tcgen05.wait::st.sync.aligned;");
}
