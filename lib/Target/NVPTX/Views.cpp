//===- Views.cpp - Where tiles lie ----------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Target/NVPTX/Lowering.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

//===----------------------------------------------------------------------===//
// Shared and tensor memory
//===----------------------------------------------------------------------===//

/// Whether an engine reads or writes the tile behind this view, so that it lies
/// as engines want it.
static bool isEngineUse(Operation *op) {
  return isa<nv::TmaLoadOp, nv::TmaStoreOp, nv::TensorMmaOp, nv::TensorCopyOp, nv::WgmmaOp,
             nv::AsyncCopyOp>(op);
}

static bool usedByEngines(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation *user) {
    if (isEngineUse(user))
      return true;
    return isa<memref::CastOp, memref::SubViewOp, memref::TransposeOp>(user) &&
           usedByEngines(user->getResult(0));
  });
}

LogicalResult Lowering::placeStorage() {
  if (failed(placeShared()))
    return failure();
  return placeRegisters();
}

LogicalResult Lowering::placeShared() {
  int64_t offset = 0;
  auto reserve = [&](int64_t bytes, int64_t alignment) {
    offset = (offset + alignment - 1) / alignment * alignment;
    int64_t at = offset;
    offset += bytes;
    return at;
  };
  // The strictest alignment first: no gaps.
  SmallVector<tile::AllocOp> tiles;
  kernel.walk([&](tile::AllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (tile::spaceOf(type) != tile::Space::Shared)
      return;
    SharedPlace place;
    int64_t rank = type.getRank();
    place.layout.rows = rank > 1 ? type.getDimSize(rank - 2) : 1;
    place.layout.cols = rank ? type.getDimSize(rank - 1) : 1;
    place.layout.elementBits = int(type.getElementTypeBitWidth());
    place.layout.linear = true;
    // Rows that are no multiples of 16 bytes: only threads copy them, to a plain tile.
    auto layout = nv::sharedLayoutOf(type);
    if (layout && usedByEngines(op.getResult()))
      place.layout = *layout;
    place.slotBytes = place.layout.bytes();
    shared[op.getResult()] = place;
    tiles.push_back(op);
  });
  SmallVector<tile::AllocOp> placed;
  for (int64_t alignment : {1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1})
    for (tile::AllocOp op : tiles)
      if (shared[op.getResult()].layout.alignment() == alignment)
        placed.push_back(op);
  for (tile::AllocOp op : placed) {
    auto type = cast<MemRefType>(op.getResult().getType());
    SharedPlace &place = shared[op.getResult()];
    int64_t slots = 1;
    for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim)
      slots *= type.getDimSize(dim);
    place.offset = reserve(place.slotBytes * slots, place.layout.alignment());
    nameStorage(op, StorageName::Shared, place.offset, place.slotBytes * slots,
                type.getRank() > 2 ? place.slotBytes : 0);
  }
  kernel.walk([&](nv::BarrierAllocOp op) {
    barrierOffsets[op.getResult()] = reserve(int64_t(op.getCounts().size()) * 8, 8);
    nameBarriers(op);
  });
  int64_t columns = 0;
  Operation *last = nullptr;
  kernel.walk([&](nv::TensorAllocOp op) {
    tensorSlots[op.getResult()] = reserve(4, 4);
    columns += allocatedColumns(op.getResult());
    last = op;
  });
  const hw::Architecture *hardware = hw::findArchitecture(architecture);
  int64_t limit = hardware->limits.sharedBytesPerBlock;
  if (offset > limit) {
    auto diagnostic = tile::emitCoded(kernel, HardwareMemory)
                      << "the kernel's tiles and barriers take " << offset
                      << " bytes of shared memory; a block of " << architecture << " has " << limit;
    for (tile::AllocOp op : tiles)
      diagnostic.attachNote(op.getLoc())
          << tile::describe(op.getResult()) << " takes "
          << shared[op.getResult()].slotBytes *
                 (cast<MemRefType>(op.getResult().getType()).getNumElements() /
                  (shared[op.getResult()].layout.rows * shared[op.getResult()].layout.cols))
          << " bytes";
    tile::attachHelp(diagnostic) << "use fewer stages or smaller tiles";
    return diagnostic;
  }
  if (columns > 512)
    return tile::emitCoded(last, HardwareMemory) << "the kernel's accumulators take " << columns
                                                 << " columns of tensor memory; there are 512";
  nameSync(0);
  result.sharedBytes = uint32_t((offset + 15) / 16 * 16);
  return success();
}

void Lowering::nameStorage(Operation *alloc, StorageName::Kind kind, int64_t first, int64_t size,
                           int64_t slot) {
  std::string name = tile::nameOf(alloc->getResult(0));
  if (name.empty())
    name = "tile of line " + std::to_string(tile::placeOf(alloc->getLoc()).line);
  result.names.push_back({kind, name, uint32_t(first), uint32_t(size), uint32_t(slot)});
}

void Lowering::nameBarriers(nv::BarrierAllocOp op) {
  int64_t first = barrierOffsets.lookup(op.getResult()), count = int64_t(op.getCounts().size());
  // `auto [loaded, multiplied] = ..` names each of them.
  std::string label = tile::nameOf(op.getResult());
  SmallVector<StringRef> names;
  StringRef(label).split(names, ", ");
  if (!label.empty() && int64_t(names.size()) == count) {
    for (auto [i, name] : llvm::enumerate(names))
      result.names.push_back(
          {StorageName::Shared, name.str(), uint32_t(first + int64_t(i) * 8), 8, 0});
    return;
  }
  if (label.empty())
    label = "barriers of line " + std::to_string(tile::placeOf(op.getLoc()).line);
  result.names.push_back({StorageName::Shared, label, uint32_t(first), uint32_t(count * 8), 8});
}

int64_t Lowering::allocatedColumns(Value tile) {
  auto type = cast<MemRefType>(tile.getType());
  int64_t columns = type.getDimSize(1) * type.getElementTypeBitWidth() / 32;
  return int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(32, columns))));
}

View Lowering::viewOf(Value memref) {
  // A slice that is the whole tile has been folded to a cast.
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return viewOf(cast.getSource());
  if (auto transpose = memref.getDefiningOp<memref::TransposeOp>()) {
    View view = viewOf(transpose.getIn());
    std::swap(view.dims[0], view.dims[1]);
    std::swap(view.shape[0], view.shape[1]);
    return view;
  }
  if (auto slice = memref.getDefiningOp<memref::SubViewOp>()) {
    View view = viewOf(slice.getSource());
    auto dropped = slice.getDroppedDims();
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < view.dims.size(); ++dim) {
      OpFoldResult offset = slice.getMixedOffsets()[dim];
      unsigned rootDim = view.dims[dim];
      if (auto constant = getConstantIntValue(offset))
        view.offsets[rootDim] = add(view.offsets[rootDim], *constant);
      else
        view.offsets[rootDim] = add(view.offsets[rootDim], asI32(cast<Value>(offset)));
      if (!dropped.test(dim))
        dims.push_back(rootDim);
    }
    view.dims = dims;
    view.shape = SmallVector<int64_t>(slice.getType().getShape());
    return view;
  }
  View view;
  view.root = memref;
  auto type = cast<MemRefType>(memref.getType());
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    view.offsets.push_back(i32(0));
    view.dims.push_back(dim);
  }
  view.shape = SmallVector<int64_t>(type.getShape());
  return view;
}

Value Lowering::slotOffset(const View &view) {
  const SharedPlace &place = shared.find(view.root)->second;
  auto type = cast<MemRefType>(view.root.getType());
  Value slot;
  for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim) {
    slot = slot ? mul(slot, type.getDimSize(dim)) : Value();
    slot = slot ? add(slot, view.offsets[dim]) : view.offsets[dim];
  }
  Value start = i32(place.offset);
  return slot ? add(mul(slot, place.slotBytes), start) : start;
}

Value Lowering::engineAddress(const View &view) {
  int64_t span = layout::spanBytes(shared.find(view.root)->second.layout.swizzle);
  Value row = view.offsets[view.offsets.size() - 2];
  return sharedAddress(add(slotOffset(view), mul(row, span)));
}

Value Lowering::rowOffset(const View &view) {
  const layout::SharedTile &tile = shared.find(view.root)->second.layout;
  unsigned rank = view.offsets.size();
  Value element = view.offsets[rank - 1];
  if (rank > 1)
    element = add(mul(view.offsets[rank - 2], tile.cols), element);
  return add(slotOffset(view), mul(element, tile.elementBits / 8));
}

Value Lowering::barrierOffset(Value barriers, Value index) {
  return add(mul(asI32(index), 8), barrierOffsets.lookup(barriers));
}

Value Lowering::sharedPointer(Value offset) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value Lowering::sharedAddress(Value offset) { return add(base32, offset); }

Value Lowering::sharedElement(const View &view, Value row, Value col, int64_t inRow) {
  const SharedPlace &place = shared.find(view.root)->second;
  const layout::SharedTile &tile = place.layout;
  unsigned rank = view.offsets.size();
  // A transposed view runs along the other dimension of its tile.
  if (view.dims.size() == 2 && view.dims[0] > view.dims[1]) {
    col = add(col, inRow);
    inRow = 0;
    std::swap(row, col);
  }
  if (rank > 1)
    row = add(row, view.offsets[rank - 2]);
  col = add(col, view.offsets[rank - 1]);
  int64_t bytes = tile.elementBits / 8;
  Value start = slotOffset(view);
  if (tile.linear) {
    Value element = add(mul(row, tile.cols), col);
    Value pointer = sharedPointer(add(start, mul(element, bytes)));
    return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(inRow * bytes)});
  }
  // Within a chunk, pieces of 16 bytes change places; what is inside of a piece
  // stays in order, so that neighbours can be accessed together.
  int64_t span = layout::spanBytes(tile.swizzle), piece = 16 / bytes;
  Value column = add(col, inRow / piece * piece);
  Value chunk = builder.createOrFold<arith::DivUIOp>(loc, column, i32(tile.chunkCols()));
  Value inChunk = builder.createOrFold<arith::RemUIOp>(loc, column, i32(tile.chunkCols()));
  Value pieceBytes = andBits(mul(inChunk, bytes), ~int64_t(15) & 0xffffffff);
  Value rest = andBits(mul(inChunk, bytes), 15);
  if (tile.swizzle != layout::Swizzle::None) {
    Value turn = andBits(shiftRight(mul(row, span), 7), span / 16 - 1);
    pieceBytes = builder.createOrFold<arith::XOrIOp>(loc, pieceBytes, mul(turn, 16));
  }
  Value offset = add(start, mul(chunk, tile.chunkBytes()));
  offset = add(offset, mul(row, span));
  offset = add(add(offset, pieceBytes), rest);
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             sharedPointer(offset),
                             ArrayRef<LLVM::GEPArg>{int32_t(inRow % piece * bytes)});
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Value Lowering::tensorSize(Value tensor, unsigned dim) {
  return parameter(ParameterField::Size, cast<BlockArgument>(tensor).getArgNumber() - 1, dim);
}

Value Lowering::insideTensor(Value tensor, ArrayRef<Value> indices) {
  Value inside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value fits = cmp(arith::CmpIPredicate::ult, index, asI32(tensorSize(tensor, dim)));
    inside = inside ? arith::AndIOp::create(builder, loc, inside, fits).getResult() : fits;
  }
  return inside;
}

Value Lowering::globalElement(Value tensor, ArrayRef<Value> indices, int64_t inRow) {
  unsigned argument = cast<BlockArgument>(tensor).getArgNumber() - 1;
  Value address = parameter(ParameterField::Address, argument);
  Value element = i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value wide = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), index);
    if (dim + 1 < indices.size())
      wide = mul(wide, parameter(ParameterField::Stride, argument, dim));
    element = add(element, wide);
  }
  auto type = LLVM::LLVMPointerType::get(kernel.getContext(), 1);
  Value start = LLVM::IntToPtrOp::create(builder, loc, type, address);
  Type stored = storedAs(cast<MemRefType>(tensor.getType()).getElementType());
  Value first =
      LLVM::GEPOp::create(builder, loc, type, stored, start, ArrayRef<LLVM::GEPArg>{element});
  if (inRow == 0)
    return first;
  return LLVM::GEPOp::create(builder, loc, type, stored, first,
                             ArrayRef<LLVM::GEPArg>{int32_t(inRow)});
}

std::pair<Value, Value> Lowering::tensorElement(Value tensor, ValueRange start,
                                                ArrayRef<int64_t> dims, Value row, Value col,
                                                int64_t inRow) {
  SmallVector<Value> first;
  for (Value index : start)
    first.push_back(asI32(index));
  if (dims.size() > 1)
    first[size_t(dims[0])] = add(first[size_t(dims[0])], row);
  Value &along = first[size_t(dims.back())];
  along = add(along, col);
  SmallVector<Value> indices = first;
  indices[size_t(dims.back())] = add(along, inRow);
  Value inside = insideTensor(tensor, indices);
  // Elements of a row differ by a number that needs no arithmetic.
  bool lastDim = dims.back() + 1 == int64_t(first.size());
  return {inside, lastDim ? globalElement(tensor, first, inRow) : globalElement(tensor, indices)};
}

/// The integer that an instruction moves for an element, and its constraint.
static std::pair<Type, const char *> movedAs(OpBuilder &builder, Type element) {
  switch (element.getIntOrFloatBitWidth()) {
  case 64:
    return {builder.getI64Type(), "l"};
  case 32:
    return {builder.getI32Type(), "r"};
  default: // bytes travel in 16 bits
    return {builder.getI16Type(), "h"};
  }
}

// Predicates instead of branches: there is one for each element at an edge.

Value Lowering::loadInside(Value inside, Value address, Type element) {
  element = storedAs(element);
  auto [word, constraint] = movedAs(builder, element);
  unsigned bits = element.getIntOrFloatBitWidth();
  std::string width = std::to_string(bits), moved = std::to_string(std::max(bits, 16u));
  auto load =
      LLVM::InlineAsmOp::create(builder, loc, TypeRange(word), ValueRange{address, inside},
                                "mov.b" + moved + " $0, 0; @$2 ld.global.b" + width + " $0, [$1];",
                                "=&" + std::string(constraint) + ",l,b,~{memory}",
                                /*has_side_effects=*/true, /*is_align_stack=*/false,
                                LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  Value loaded = load.getResult(0);
  if (bits < 16)
    loaded = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits), loaded);
  return LLVM::BitcastOp::create(builder, loc, element, loaded);
}

void Lowering::storeInside(Value inside, Value address, Value value) {
  auto [word, constraint] = movedAs(builder, value.getType());
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  value = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(bits), value);
  if (bits < 16)
    value = arith::ExtUIOp::create(builder, loc, word, value);
  ptx("@$2 st.global.b" + std::to_string(bits) + " [$0], $1;", {address, value, inside},
      "l," + std::string(constraint) + ",b");
}

/// CUtensorMapDataType of an element.
static unsigned mapType(Type element) {
  if (element.isF16())
    return 6;
  if (element.isF32())
    return 7;
  if (element.isF64())
    return 8;
  if (element.isBF16())
    return 9;
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return 0;
  case 16:
    return 1;
  case 32:
    return 3;
  default:
    return 5;
  }
}

void Lowering::needRows(Value tensor, unsigned bytes) {
  RowRule rule{cast<BlockArgument>(tensor).getArgNumber() - 1, bytes};
  if (!llvm::is_contained(result.rowAligned, rule))
    result.rowAligned.push_back(rule);
}

Value Lowering::tensorMap(Value tensor, Value tile, std::optional<ArrayRef<int64_t>> dims) {
  View view = viewOf(tile);
  const layout::SharedTile &layout = shared.find(view.root)->second.layout;
  auto type = cast<MemRefType>(tensor.getType());
  TensorMapRecipe recipe;
  recipe.argument = cast<BlockArgument>(tensor).getArgNumber() - 1;
  recipe.dataType = mapType(type.getElementType());
  size_t rank = size_t(type.getRank());
  recipe.box.resize(rank, 1);
  recipe.box[0] = uint32_t(layout.chunkCols());
  recipe.box[rank - 1 - rowDim(rank, dims)] = uint32_t(view.shape[0]);
  recipe.swizzle = layout::tensorMapCode(layout.swizzle);
  needRows(tensor, 16);
  unsigned number = unsigned(llvm::find(result.maps, recipe) - result.maps.begin());
  if (number == result.maps.size()) {
    result.maps.push_back(recipe);
    unsigned offset = (result.parameterBytes + 63) / 64 * 64;
    result.fields.push_back({ParameterField::Map, number, 0, offset});
    result.parameterBytes = offset + 128;
  }
  return parameter(ParameterField::Map, number);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

int64_t RegisterTile::registers() const {
  return rank == 2 ? fragment.registers : int64_t(rowOf.size());
}

/// Tiles that meet in an operation are spread alike: by the instruction that
/// fills or multiplies one of them, or else so that plain copies coalesce.
LogicalResult Lowering::placeRegisters() {
  llvm::EquivalenceClasses<void *> together;
  llvm::DenseMap<void *, std::pair<Spread, Operation *>> stated;
  SmallVector<tile::AllocOp> tiles;
  kernel.walk([&](tile::AllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (tile::spaceOf(type) != tile::Space::Local)
      return;
    if (type.getRank() == 0) {
      Value one = i32(1);
      variables[op.getResult()] =
          LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(kernel.getContext()),
                                 type.getElementType(), one);
      return;
    }
    tiles.push_back(op);
    together.insert(op.getResult().getAsOpaquePointer());
  });
  auto isRegister = [&](Value memref) {
    auto alloc = tile::rootOf(memref).getDefiningOp<tile::AllocOp>();
    return alloc && llvm::is_contained(tiles, alloc);
  };
  LogicalResult ok = success();
  kernel.walk([&](Operation *op) {
    SmallVector<Value> involved;
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) && isRegister(operand))
        involved.push_back(tile::rootOf(operand));
    if (isa<memref::SubViewOp, memref::TransposeOp>(op) && !involved.empty()) {
      tile::emitCoded(op, HardwareLayout)
          << tile::describe(involved[0])
          << " lies in registers; it is used as a whole, not by slices";
      ok = failure();
    }
    for (Value other : involved)
      together.unionSets(involved[0].getAsOpaquePointer(), other.getAsOpaquePointer());
    std::optional<Spread> spread;
    if (isa<nv::TensorLoadOp, nv::TensorStoreOp>(op))
      spread = Spread::TensorRows;
    else if (isa<nv::WgmmaOp>(op))
      spread = Spread::Accumulator;
    if (spread && !involved.empty())
      stated[involved[0].getAsOpaquePointer()] = {*spread, op};
  });
  if (failed(ok))
    return failure();
  llvm::DenseMap<void *, std::pair<Spread, Operation *>> ofClass;
  for (auto &[member, how] : stated) {
    auto [known, inserted] = ofClass.try_emplace(together.getLeaderValue(member), how);
    if (!inserted && known->second.first != how.first) {
      auto diagnostic = tile::emitCoded(how.second, HardwareLayout)
                        << "tiles that are used together need different layouts in registers";
      diagnostic.attachNote(known->second.second->getLoc()) << "the other one is needed here";
      return diagnostic;
    }
  }
  // Tiles that are used together are spread alike, however wide their elements are:
  // register by register, the same elements.
  llvm::DenseMap<void *, int64_t> vectors;
  for (tile::AllocOp op : tiles) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (type.getRank() != 2)
      continue;
    void *leader = together.getLeaderValue(op.getResult().getAsOpaquePointer());
    auto [vector, inserted] = vectors.try_emplace(leader, neighbours(type));
    vector->second = std::min(vector->second, neighbours(type));
  }
  for (tile::AllocOp op : tiles) {
    auto type = cast<MemRefType>(op.getResult().getType());
    RegisterTile tile;
    tile.element = storedAs(type.getElementType());
    tile.rank = type.getRank();
    void *leader = together.getLeaderValue(op.getResult().getAsOpaquePointer());
    auto found = ofClass.find(leader);
    Operation *user = op->use_empty() ? op : *op->getUsers().begin();
    int64_t warps = nv::scopeOf(user).warps;
    int64_t cols = tile.rank > 1 ? type.getDimSize(1) : 8;
    if (tile.rank > 2)
      return tile::emitCoded(op, HardwareLayout)
             << tile::describe(op.getResult()) << " has more than two dimensions";
    tile.spread = found == ofClass.end() ? Spread::Coalesced : found->second.first;
    if (found != ofClass.end())
      warps = nv::scopeOf(found->second.second).warps;
    int64_t rows = type.getDimSize(0);
    switch (tile.spread) {
    case Spread::TensorRows:
      tile.fragment = layout::tensorMemoryRows(rows, cols);
      break;
    case Spread::Accumulator:
      tile.fragment = layout::wgmmaAccumulator(rows, cols, warps / nv::warpgroupWarps);
      break;
    case Spread::Coalesced:
      if (tile.rank == 1)
        return tile::emitCoded(op, HardwareLayout)
               << tile::describe(op.getResult())
               << " is used with no tile that says which thread holds which row";
      tile.fragment = layout::spread(rows, cols, warps * nv::warpSize, vectors.lookup(leader));
      break;
    }
    if (tile.rank == 1)
      for (int64_t reg = 0; reg < tile.fragment.registers; ++reg)
        if (int64_t row = tile.fragment.offsetOf(reg).row; !llvm::is_contained(tile.rowOf, row))
          tile.rowOf.push_back(row);
    if (tile.registers() > 255)
      return tile::emitCoded(op, HardwareMemory)
             << tile::describe(op.getResult()) << " takes " << tile.registers()
             << " registers of each of " << tile.fragment.threads << " threads; a thread has 255";
    auto array = LLVM::LLVMArrayType::get(tile.element, unsigned(tile.registers()));
    tile.storage = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(kernel.getContext()), array, i32(1));
    registers[op.getResult()] = std::move(tile);
  }
  kernel.walk([&](nv::WgmmaOp op) {
    RegisterTile *tile = registersOf(op.getAcc());
    if (!llvm::is_contained(accumulators, tile))
      accumulators.push_back(tile);
  });
  return success();
}
