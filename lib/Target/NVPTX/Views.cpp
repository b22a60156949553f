//===- Views.cpp - Where tiles lie ----------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/Lowering.h"
#include "Target/NVPTX/TileLayouts.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

//===----------------------------------------------------------------------===//
// Shared and tensor memory
//===----------------------------------------------------------------------===//

LogicalResult Lowering::placeStorage() {
  if (failed(placeShared()))
    return failure();
  return allocateRegisters();
}

/// What conversions, reductions over warps and broadcasts of scalars need at most, by the first
/// warp of their scope: roles run at the same time.
std::map<int64_t, int64_t> Lowering::scratchBytes() {
  std::map<int64_t, int64_t> bytes;
  auto layoutOf = [](Value tile) -> std::optional<layout::Distribution> {
    auto alloc = tile.getDefiningOp<tile::AllocOp>();
    auto text = alloc ? alloc->getAttrOfType<StringAttr>(nv::NVDialect::layoutAttr) : StringAttr();
    return text ? layout::parseDistribution(text.str()) : std::nullopt;
  };
  kernel.walk([&](Operation *op) {
    int64_t needed = 0;
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      auto type = cast<MemRefType>(copy.getSource().getType());
      if (auto from = layoutOf(copy.getSource()), to = layoutOf(copy.getTarget());
          from && to && !(*from == *to))
        needed =
            type.getNumElements() * storedAs(type.getElementType()).getIntOrFloatBitWidth() / 8;
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      needed = reductionScratch(
          workLayout(op, threadsOf(nv::scopeOf(op)), layoutOf), int64_t(reduce.getDim()),
          storedAs(cast<MemRefType>(reduce.getTarget().getType()).getElementType()));
      if (cast<MemRefType>(reduce.getTarget().getType()).getElementTypeBitWidth() == 8)
        needed *= 4; // combined in f32
    } else if (isa<tile::AtomicOp>(op)) {
      needed = 8;
    }
    if (needed) {
      int64_t &most = bytes[nv::scopeOf(op).firstWarp];
      most = std::max(most, needed);
    }
  });
  return bytes;
}

LogicalResult Lowering::placeShared() {
  int64_t offset = 0;
  auto reserve = [&](int64_t bytes, int64_t alignment) {
    offset = (offset + alignment - 1) / alignment * alignment;
    int64_t at = offset;
    offset += bytes;
    return at;
  };
  SmallVector<tile::AllocOp> tiles = sharedTiles(kernel);
  for (tile::AllocOp op : tiles) {
    if (!op->hasAttr(nv::NVDialect::offsetAttr))
      return tile::emitCoded(op, ToolUsage)
             << tile::describe(op.getResult()) << " has no offset: run nv-plan-memory before";
    SharedAllocation allocation = allocationOf(op);
    shared[op.getResult()] = allocation;
    offset = std::max(offset, allocation.end());
    bool ring = cast<MemRefType>(op.getResult().getType()).getRank() > 2;
    nameStorage(op, StorageName::Shared, allocation.offset, allocation.bytes(),
                ring ? allocation.slotBytes : 0);
  }
  kernel.walk([&](nv::BarrierAllocOp op) {
    barrierOffsets[op.getResult()] = reserve(int64_t(op.getCounts().size()) * 8, 8);
    nameBarriers(op);
  });
  for (auto [firstWarp, bytes] : scratchBytes())
    scratchOffsets[firstWarp] = reserve(bytes, 16);
  divideTensorMemory();
  int64_t columns = 0;
  for (TensorAllocation &allocation : tensorAllocations) {
    allocation.slot = reserve(4, 4);
    columns += allocation.columns;
  }
  int64_t limit = architecture.limits.sharedBytesPerBlock;
  if (offset > limit) {
    auto diagnostic = tile::emitCoded(kernel, HardwareMemory)
                      << "the kernel's tiles and barriers take " << offset
                      << " bytes of shared memory; a block of " << architecture.name << " has "
                      << limit;
    for (tile::AllocOp op : tiles)
      diagnostic.attachNote(op.getLoc()) << tile::describe(op.getResult()) << " takes "
                                         << shared[op.getResult()].bytes() << " bytes";
    tile::attachHelp(diagnostic) << "use fewer stages or smaller tiles";
    return diagnostic;
  }
  if (columns > 512)
    return tile::emitCoded(tensorAllocations.back().tiles.back(), HardwareMemory)
           << "the kernel's accumulators take " << columns
           << " columns of tensor memory; there are 512";
  nameSync(0);
  result.sharedBytes = uint32_t((offset + 15) / 16 * 16);
  return success();
}

void Lowering::nameStorage(Operation *alloc, StorageName::Kind kind, int64_t first, int64_t size,
                           int64_t slot) {
  std::string name = tile::nameOf(alloc->getResult(0));
  if (name.empty())
    name = "tile of line " + std::to_string(tile::sourceLocationOf(alloc->getLoc()).line);
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
    label = "barriers of line " + std::to_string(tile::sourceLocationOf(op.getLoc()).line);
  result.names.push_back({StorageName::Shared, label, uint32_t(first), uint32_t(count * 8), 8});
}

View Lowering::viewOf(Value memref) {
  // A slice that is the whole tile has been folded to a cast.
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return viewOf(cast.getSource());
  if (auto transpose = memref.getDefiningOp<memref::TransposeOp>()) {
    View view = viewOf(transpose.getIn());
    if (transpose.getPermutation().isIdentity())
      return view; // two have been folded to one that exchanges nothing
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

Value Lowering::slotOffset(const View &view, int64_t unit) {
  const SharedAllocation &allocation = shared.find(view.root)->second;
  auto type = cast<MemRefType>(view.root.getType());
  Value slot;
  for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim) {
    slot = slot ? mul(slot, type.getDimSize(dim)) : Value();
    slot = slot ? add(slot, view.offsets[dim]) : view.offsets[dim];
  }
  Value start = i32(allocation.offset / unit);
  return slot ? add(mul(slot, allocation.slotBytes / unit), start) : start;
}

Value Lowering::engineOffset(const View &view, int64_t unit) {
  int64_t span = layout::spanBytes(shared.find(view.root)->second.layout.swizzle);
  Value row = view.offsets[view.offsets.size() - 2];
  return add(slotOffset(view, unit), mul(row, span / unit));
}

Value Lowering::engineAddress(const View &view) { return sharedAddress(engineOffset(view)); }

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

Value Lowering::sharedElement(const View &view, ArrayRef<Value> at, ArrayRef<int64_t> offset,
                              const layout::Distribution *layout) {
  const SharedAllocation &allocation = shared.find(view.root)->second;
  const layout::SharedTile &tile = allocation.layout;
  size_t rank = view.offsets.size();
  int64_t bytes = tile.elementBits / 8, piece = 16 / bytes;
  View element = view;
  int64_t inRow = 0;
  for (size_t dim = 0; dim < view.dims.size(); ++dim) {
    size_t along = view.dims[dim];
    int64_t rest = offset[dim];
    // A constant along rows becomes part of the address, unless it may lead out of a
    // piece that the swizzle moves as a whole.
    if (along + 1 == rank) {
      auto start = getConstantIntValue(view.offsets[along]);
      bool stays = layout && start && *start % piece == 0 &&
                   layout->largestRemainder(unsigned(dim), piece) + rest % piece < piece;
      if (tile.linear || stays) {
        inRow = rest;
        rest = 0;
      }
    }
    element.offsets[along] = add(element.offsets[along], add(at[dim], rest));
  }
  Value row = rank > 1 ? element.offsets[rank - 2] : i32(0);
  Value col = rank ? element.offsets[rank - 1] : i32(0);
  Value start = slotOffset(element);
  if (tile.linear) {
    Value index = add(mul(row, tile.cols), col);
    Value pointer = sharedPointer(add(start, mul(index, bytes)));
    return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(inRow * bytes)});
  }
  // Within a chunk, pieces of 16 bytes change places; what is inside of a piece
  // stays in order, so that neighbors can be accessed together.
  int64_t span = layout::spanBytes(tile.swizzle);
  Value column = add(col, inRow / piece * piece);
  Value chunk = builder.createOrFold<arith::DivUIOp>(loc, column, i32(tile.chunkCols()));
  Value inChunk = builder.createOrFold<arith::RemUIOp>(loc, column, i32(tile.chunkCols()));
  Value pieceBytes = andBits(mul(inChunk, bytes), ~int64_t(15) & 0xffffffff);
  Value rest = andBits(mul(inChunk, bytes), 15);
  if (tile.swizzle != layout::Swizzle::None) {
    // The pattern follows the address, so that chunks of a few rows begin in its middle.
    Value line = mul(row, span);
    if (tile.chunkBytes() % layout::repeatBytes(tile.swizzle))
      line = add(mul(chunk, tile.chunkBytes()), line);
    Value turn = andBits(shiftRight(line, 7), span / 16 - 1);
    pieceBytes = builder.createOrFold<arith::XOrIOp>(loc, pieceBytes, mul(turn, 16));
  }
  Value address = add(start, mul(chunk, tile.chunkBytes()));
  address = add(address, mul(row, span));
  address = add(add(address, pieceBytes), rest);
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             sharedPointer(address),
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

SmallVector<Value> Lowering::inRows(Value row, ArrayRef<int64_t> rows) {
  SmallVector<Value> result;
  for (int64_t extent : llvm::reverse(rows.drop_front())) {
    result.push_back(arith::RemUIOp::create(builder, loc, row, i32(extent)));
    row = arith::DivUIOp::create(builder, loc, row, i32(extent));
  }
  result.push_back(row);
  std::reverse(result.begin(), result.end());
  return result;
}

std::pair<Value, Value> Lowering::tensorElement(Value tensor, ValueRange start,
                                                ArrayRef<int64_t> dims, Extents rows,
                                                ArrayRef<Value> at, ArrayRef<int64_t> offset) {
  SmallVector<Value> first = coordinates(start);
  SmallVector<Value> inBox;
  SmallVector<int64_t> offsetInBox;
  if (rows) {
    inBox = inRows(add(at[0], offset[0]), *rows);
    offsetInBox.assign(inBox.size(), 0);
    inBox.push_back(at[1]);
    offsetInBox.push_back(offset[1]);
    at = inBox;
    offset = offsetInBox;
  }
  // Elements of a row differ by a number that needs no arithmetic.
  int64_t inRow = 0;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    size_t along = size_t(dims[dim]);
    bool last = along + 1 == first.size();
    if (last)
      inRow = offset[dim];
    first[along] = add(first[along], last ? at[dim] : add(at[dim], offset[dim]));
  }
  SmallVector<Value> indices = first;
  indices.back() = add(indices.back(), inRow);
  return {insideTensor(tensor, indices), globalElement(tensor, first, inRow)};
}

/// The integer that an instruction moves for an element: bytes travel in 16 bits.
static Type movedAs(OpBuilder &builder, Type element) {
  return builder.getIntegerType(std::max(element.getIntOrFloatBitWidth(), 16u));
}

// Predicates instead of branches: there is one for each element at an edge.

Value Lowering::loadInside(Value inside, Value address, Type element) {
  element = storedAs(element);
  Type word = movedAs(builder, element);
  unsigned bits = element.getIntOrFloatBitWidth();
  std::string width = std::to_string(bits), moved = std::to_string(std::max(bits, 16u));
  Value loaded = inlinePtx()
                     .earlyOutput(word)
                     .inputs({address, inside})
                     .emit("mov.b" + moved + " $0, 0; @$2 ld.global.b" + width + " $0, [$1];",
                           PtxEffects::Memory)[0];
  if (bits < 16)
    loaded = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits), loaded);
  return LLVM::BitcastOp::create(builder, loc, element, loaded);
}

void Lowering::storeInside(Value inside, Value address, Value value) {
  Type word = movedAs(builder, value.getType());
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  value = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(bits), value);
  if (bits < 16)
    value = arith::ExtUIOp::create(builder, loc, word, value);
  ptx("@$2 st.global.b" + std::to_string(bits) + " [$0], $1;", {address, value, inside});
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
    return 4; // unsigned: TMA adds no signed integers of 64 bits, and the sums are the same
  }
}

/// The same of packed values that are padded to 16 bytes for 16 of them.
static unsigned paddedMapType(tile::Packing packing) {
  return tile::bitsOf(packing) == 6 ? 15 : 14;
}

void Lowering::needRows(Value tensor, unsigned bytes, unsigned multiple) {
  RowAlignment rule{cast<BlockArgument>(tensor).getArgNumber() - 1, bytes,
                    multiple == 1 ? 0 : multiple};
  if (!llvm::is_contained(result.rowAligned, rule))
    result.rowAligned.push_back(rule);
}

Value Lowering::tensorMap(Value tensor, Value tile, Extents dims, Extents rows,
                          std::optional<tile::Packing> padding) {
  View view = viewOf(tile);
  const layout::SharedTile &layout = shared.find(view.root)->second.layout;
  auto type = cast<MemRefType>(tensor.getType());
  TensorMapRecipe recipe;
  recipe.argument = cast<BlockArgument>(tensor).getArgNumber() - 1;
  recipe.dataType = padding ? paddedMapType(*padding) : mapType(type.getElementType());
  size_t rank = size_t(type.getRank());
  recipe.box.resize(rank, 1);
  recipe.box[0] = uint32_t(layout.chunkCols());
  if (size_t tileRank = view.shape.size(); tileRank > 2) // all of it at once
    for (size_t dim = 0; dim < tileRank; ++dim)
      recipe.box[dim] = uint32_t(view.shape[tileRank - 1 - dim]);
  else if (rows)
    for (size_t i = 0; i < rows->size(); ++i)
      recipe.box[rank - 1 - rowDim(rank, dims, *rows, i)] = uint32_t((*rows)[i]);
  else
    recipe.box[rank - 1 - rowDim(rank, dims)] = uint32_t(layout::tmaBoxRows(view.shape[0]));
  recipe.swizzle = layout::tensorMapCode(layout.swizzle);
  if (padding) // the map counts boxes of values
    needRows(tensor, 32, unsigned(nv::paddedBox * tile::bitsOf(*padding) / 8));
  else
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
