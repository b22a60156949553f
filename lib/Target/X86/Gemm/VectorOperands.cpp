//===- VectorOperands.cpp - Operands of products of vectors ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/VectorOperands.h"

#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/RuntimeCalls.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;

VectorOperands::VectorOperands(tile::GemmOp gemm, int64_t vectorBits, const GemmCaches &caches)
    : GemmBuilder(gemm), compute(elementTypeOf(gemm.getAcc())),
      tf32(gemm.getPrecision() == tile::Precision::TF32),
      elementBytes(compute.getIntOrFloatBitWidth() / 8),
      lanes(std::max<int64_t>(4, vectorBits / 8 / elementBytes)) {
  auto shape = cast<MemRefType>(gemm.getAcc().getType()).getShape();
  m = shape[0];
  n = shape[1];
  k = cast<MemRefType>(gemm.getA().getType()).getDimSize(1);
  // 32 registers: four vectors of columns leave room for six rows. Without AVX-512 there are 16.
  bool many = vectorBits >= 512;
  // One row reads B in its tensor, all columns of a row before the next row.
  bool oneRow = m == 1 && !gemm.isPacked();
  int64_t most = oneRow ? (many ? 16 : 8) : many || m == 1 ? 4 : 2;
  wide = std::clamp<int64_t>(n / lanes, 1, most);
  rows = !many ? (wide == 2 ? 6 : 12) : wide >= 3 ? 6 : wide == 2 ? 12 : 16;
  // In a few rows no remainder beats a few more registers.
  if (m % rows && m % 4 == 0 && m < 16 * rows)
    rows = rows == 6 ? 4 : 8;
  rows = std::min(rows, m);
  step = wide * lanes;
  wideEnd = n / step * step;
  int64_t stripBytes = step * k * elementBytes;
  byRows = m > rows && stripBytes > caches.mostInL1() && stripBytes <= caches.mostInL2();
  chunk = wideEnd;
  if (byRows && wideEnd) {
    int64_t chunks = llvm::divideCeil(wideEnd * k * elementBytes, caches.mostInL2());
    chunk = llvm::alignTo(llvm::divideCeil(wideEnd, chunks), step);
    // Rounded up to whole strips, a chunk may exceed the share of L2.
    if (chunk * k * elementBytes > caches.mostInL2())
      chunk -= step;
  }
}

Value VectorOperands::widen(Value value, bool isUnsigned) {
  Type type = compute;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(vector.getShape(), compute);
  if (value.getType() != type)
    value = isa<FloatType>(compute) ? Value(arith::ExtFOp::create(b, loc, type, value))
            : isUnsigned            ? Value(arith::ExtUIOp::create(b, loc, type, value))
                                    : Value(arith::ExtSIOp::create(b, loc, type, value));
  return tf32 ? roundToTF32(value) : value;
}

Value VectorOperands::roundToTF32(Value value) {
  Type bitsType = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    bitsType = VectorType::get(vector.getShape(), bitsType);
  auto number = [&](uint32_t n) -> Value {
    auto attr = b.getI32IntegerAttr(static_cast<int32_t>(n));
    if (auto vector = dyn_cast<VectorType>(bitsType))
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, Attribute(attr)));
    return arith::ConstantOp::create(b, loc, attr);
  };
  Value bits = arith::BitcastOp::create(b, loc, bitsType, value);
  Value last =
      arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, number(13)), number(1));
  Value up = arith::AddIOp::create(b, loc, last, number(0xfff));
  Value rounded =
      arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, bits, up), number(0xffffe000));
  Value exponent = arith::AndIOp::create(b, loc, bits, number(0x7f800000));
  Value special =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, exponent, number(0x7f800000));
  Value result = arith::SelectOp::create(b, loc, special, bits, rounded);
  return arith::BitcastOp::create(b, loc, value.getType(), result);
}

Value VectorOperands::pack(Value source, bool isUnsigned) {
  auto type = cast<MemRefType>(source.getType());
  Value packed = allocate(type.getShape(), compute);
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  GemmPacking packing = packingOf(source);
  if (packing == GemmPacking::Converted)
    packRows(source, packed, rows, columns, isUnsigned);
  else if (packing == GemmPacking::Transposed)
    packTransposed(source, packed, *packType(source));
  else
    loop(0, rows, 1, [&](Value i) {
      loop(0, columns, 1, [&](Value j) { packElement(source, packed, i, j, isUnsigned); });
    });
  return packed;
}

GemmPacking VectorOperands::packingOf(Value source) {
  if (hasContiguousRows(source))
    return GemmPacking::Converted;
  return packType(source) && stridesOf(source).front() == 1 ? GemmPacking::Transposed
                                                            : GemmPacking::Elements;
}

void VectorOperands::packElement(Value source, Value packed, Value i, Value j, bool isUnsigned) {
  Value element = memref::LoadOp::create(b, loc, source, ValueRange{i, j});
  memref::StoreOp::create(b, loc, widen(element, isUnsigned), packed, ValueRange{i, j});
}

Value VectorOperands::unpack(Value source) {
  auto shape = cast<MemRefType>(source.getType()).getShape();
  int64_t columns = shape[2], group = shape[3];
  Value plain = allocate({shape[1] * group, shape[0] * columns}, compute);
  auto position = [&](Value block, int64_t size, Value inside) -> Value {
    Value first = arith::MulIOp::create(b, loc, block, index(size));
    return arith::AddIOp::create(b, loc, first, inside);
  };
  loop(0, shape[0], 1, [&](Value panel) {
    loop(0, shape[1], 1, [&](Value row) {
      loop(0, columns, 1, [&](Value j) {
        loop(0, group, 1, [&](Value e) {
          Value element = memref::LoadOp::create(b, loc, source, ValueRange{panel, row, j, e});
          memref::StoreOp::create(b, loc, widen(element), plain,
                                  ValueRange{position(row, group, e), position(panel, columns, j)});
        });
      });
    });
  });
  return plain;
}

bool VectorOperands::hasWholePanels(Value source) {
  auto shape = cast<MemRefType>(source.getType()).getShape();
  SmallVector<int64_t> strides = stridesOf(source);
  return step % shape[2] == 0 && llvm::isPowerOf2_64(uint64_t(shape[3])) &&
         LLVM::isCompatibleType(elementTypeOf(source)) && strides[3] == 1 && strides[2] == shape[3];
}

int64_t VectorOperands::panelColumnsOf(Value packed) {
  return cast<MemRefType>(packed.getType()).getDimSize(2);
}

void VectorOperands::readPanels(Value source) {
  report.right = "packed by the caller, converted as it is read, in its tensor where it is "
                 "within it";
  report.rightInTensor = bool(forwardedCopy(source));
  report.prefetches = true;
  Operand from = locate(source, [&](ValueRange strides) -> Value {
    auto is = [&](Value stride, int64_t value) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stride, index(value));
    };
    return arith::AndIOp::create(b, loc, is(strides[2], groupOf(source)), is(strides[3], 1));
  });
  panels = {toPointer(from.address), product(from.strides[0], index(bytesOf(source)))};
  panelRowStride = product(from.strides[1], index(bytesOf(source)));
}

SmallVector<Value> VectorOperands::loadRowsOf(Value source, Value at, int64_t columns) {
  int64_t group = groupOf(source);
  auto load = [&](Type type) -> Value {
    return LLVM::LoadOp::create(b, loc, type, at, /*alignment=*/unsigned(bytesOf(source)));
  };
  if (elementTypeOf(source).isBF16() && group == 2 && compute.isF32()) {
    // A bf16 is the upper half of an f32.
    VectorType words = vectorOf(columns, b.getI32Type());
    auto number = [&](uint32_t n) -> Value {
      auto attr = b.getI32IntegerAttr(static_cast<int32_t>(n));
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(words, Attribute(attr)));
    };
    auto toFloat = [&](Value bits) {
      return widen(arith::BitcastOp::create(b, loc, vectorOf(columns, compute), bits));
    };
    Value both = load(words);
    Value low = arith::ShLIOp::create(b, loc, both, number(16));
    Value high = arith::AndIOp::create(b, loc, both, number(0xffff0000));
    return {toFloat(low), toFloat(high)};
  }
  // Elements 2 i and 2 i + 1 become two vectors, until each has one row.
  SmallVector<Value> parts = {load(vectorOf(columns * group, elementTypeOf(source)))};
  for (; group > 1; group /= 2) {
    SmallVector<Value> even, odd;
    for (Value part : parts) {
      auto split = vector::DeinterleaveOp::create(b, loc, part);
      even.push_back(split.getRes1());
      odd.push_back(split.getRes2());
    }
    parts = llvm::to_vector(llvm::concat<Value>(even, odd));
  }
  return llvm::map_to_vector(parts, [&](Value part) { return widen(part); });
}

SmallVector<SmallVector<Value>> VectorOperands::loadGroup(Value kk, ArrayRef<Value> columnIndices,
                                                          ArrayRef<int64_t> widths) {
  Value source = gemm.getB();
  int64_t group = groupOf(source), size = bytesOf(source);
  SmallVector<SmallVector<Value>> rowsOfGroup(static_cast<size_t>(group));
  Value row = product(arith::DivUIOp::create(b, loc, kk, index(group)), panelRowStride);
  Value perPanel = index(panelColumnsOf(source));
  for (auto [column, width] : llvm::zip(columnIndices, widths)) {
    Value panel = arith::DivUIOp::create(b, loc, column, perPanel);
    Value inside = arith::RemUIOp::create(b, loc, column, perPanel);
    Value at = bytes(bytes(panels.pointer, product(panel, panels.stride)), row);
    at = bytes(at, product(inside, index(group * size)));
    constexpr int64_t ahead = 2048;
    prefetchIntoL2(bytes(at, index(ahead)));
    for (auto [e, part] : llvm::enumerate(loadRowsOf(source, at, width)))
      rowsOfGroup[e].push_back(part);
  }
  return rowsOfGroup;
}

void VectorOperands::unpackStrips(Value source) {
  auto shape = cast<MemRefType>(source.getType()).getShape();
  int64_t columns = shape[2], group = shape[3], depth = shape[1] * group;
  strips = wideEnd ? allocate({wideEnd / step, depth, step}, compute) : Value();
  int64_t rest = shape[0] * columns - wideEnd;
  right = rest ? allocate({depth, rest}, compute) : Value();
  rightBegin = wideEnd;
  Operand from = operandOf(source);
  Value first = toPointer(from.address);
  Value panelBytes = product(from.strides[0], index(bytesOf(source)));
  Value rowBytes = product(from.strides[1], index(bytesOf(source)));
  auto take = [&](Value panel, auto store) {
    loop(0, shape[1], 1, [&](Value row) {
      Value at = bytes(bytes(first, product(panel, panelBytes)), product(row, rowBytes));
      Value begin = product(row, index(group));
      for (auto [e, part] : llvm::enumerate(loadRowsOf(source, at, columns)))
        store(add(begin, int64_t(e)), part);
    });
  };
  loop(0, wideEnd / step, 1, [&](Value strip) {
    loop(0, step, columns, [&](Value j) {
      Value column = arith::AddIOp::create(b, loc, product(strip, index(step)), j);
      Value panel = arith::DivUIOp::create(b, loc, column, index(columns));
      take(panel, [&](Value row, Value part) {
        vector::StoreOp::create(b, loc, part, strips, ValueRange{strip, row, j});
      });
    });
  });
  loop(wideEnd / columns, shape[0], 1, [&](Value panel) {
    Value column = add(product(panel, index(columns)), -wideEnd);
    take(panel, [&](Value row, Value part) {
      vector::StoreOp::create(b, loc, part, right, ValueRange{row, column});
    });
  });
}

void VectorOperands::packRows(Value source, Value packed, int64_t rows, int64_t columns,
                              bool isUnsigned) {
  int64_t end = columns / lanes * lanes;
  loop(0, rows, 1, [&](Value i) {
    loop(0, end, lanes, [&](Value j) {
      Value row = vector::LoadOp::create(b, loc, vectorOf(lanes, elementTypeOf(source)), source,
                                         ValueRange{i, j});
      vector::StoreOp::create(b, loc, widen(row, isUnsigned), packed, ValueRange{i, j});
    });
    loop(end, columns, 1, [&](Value j) { packElement(source, packed, i, j, isUnsigned); });
  });
}

void VectorOperands::packTransposed(Value source, Value packed, PackFrom type) {
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, source);
  Value from = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, source);
  Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, packed);
  auto shape = cast<MemRefType>(source.getType()).getShape();
  Value kind = arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(type), 32);
  callRuntime(b, loc, abi::packTransposedFn,
              {kind, from, metadata.getOffset(), metadata.getStrides()[1], to, index(shape[0]),
               index(shape[1])});
}

std::optional<PackFrom> VectorOperands::packType(Value source) {
  Type type = elementTypeOf(source);
  if (!compute.isF32() || tf32)
    return std::nullopt;
  return type.isF32()    ? std::optional(PackFrom::F32)
         : type.isF16()  ? std::optional(PackFrom::F16)
         : type.isBF16() ? std::optional(PackFrom::BF16)
                         : std::nullopt;
}

Value VectorOperands::padRows(Value operand) {
  auto alloc = operand.getDefiningOp<tile::AllocOp>();
  auto type = cast<MemRefType>(operand.getType());
  constexpr int64_t line = 64, apart = 512;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (!alloc || alloc.getVersionsAttr() || type.getRank() != 2 ||
      type.getDimSize(1) * bytes % apart || !llvm::all_of(alloc->getUsers(), [&](Operation *user) {
        auto copy = dyn_cast<tile::CopyOp>(user);
        return isa<tile::GemmOp>(user) ||
               (copy && copy.getTarget() == operand && copy.readsTensor() && !copy.getAsyncAttr());
      }))
    return {};
  OpBuilder at(alloc);
  SmallVector<int64_t> shape(type.getShape());
  shape[1] += line / bytes;
  auto longer = MemRefType::get(shape, type.getElementType(), MemRefLayoutAttrInterface(),
                                type.getMemorySpace());
  Value padded =
      tile::AllocOp::create(at, alloc.getLoc(), longer, alloc.getLabelAttr(), IntegerAttr());
  auto numbers = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(
        values, [&](int64_t value) -> OpFoldResult { return at.getIndexAttr(value); });
  };
  Value view = memref::SubViewOp::create(at, alloc.getLoc(), padded, numbers({0, 0}),
                                         numbers(type.getShape()), numbers({1, 1}));
  alloc.getResult().replaceAllUsesWith(view);
  alloc.erase();
  return view;
}

void VectorOperands::chooseLeft() {
  Value a = gemm.getA();
  report.left = "read in its tile";
  if (elementTypeOf(a) != compute || tf32) {
    report.leftPacking = packingOf(a);
    report.left = "converted";
    left = pack(a, gemm.getUnsignedA());
    return;
  }
  left = a;
  // Otherwise rows are read once for each strip of columns, and are often a power of two apart.
  if (!byRows || !hasContiguousRows(a) || !forwardedCopy(a))
    return;
  Operand source = locate(a);
  leftRows = {toPointer(source.address), product(source.strides[0], index(elementBytes))};
  report.left = "read in its tensor where it is within it";
  report.leftInTensor = true;
}

void VectorOperands::chooseRight() {
  Value source = gemm.getB();
  report.right = "read in its tile";
  right = source;
  if (gemm.isPacked() && m == 1 && hasWholePanels(source) && lanes <= panelColumnsOf(source) &&
      k % groupOf(source) == 0) {
    readPanels(source);
    return;
  }
  if (gemm.isPacked() && hasWholePanels(source)) {
    unpackStrips(source);
    report.right = "packed by the caller, converted and packed in strips of columns";
    report.rightPacking = GemmPacking::Converted;
    return;
  }
  if (gemm.isPacked()) {
    right = unpack(source);
    report.right = "packed by the caller, unpacked and converted";
    report.rightPacking = GemmPacking::Elements;
    return;
  }
  bool converts = elementTypeOf(source) != compute || tf32;
  if (m == 1 && packsStrips(source) && hasContiguousRows(source)) {
    report.right = converts ? "converted as it is read, in its tensor where it is within it"
                            : "read in its tensor where it is within it";
    report.rightInTensor = true;
    report.prefetches = true;
    Operand from = locate(source);
    rightRows = {toPointer(from.address), product(from.strides[0], index(bytesOf(source)))};
    return;
  }
  if (packsStrips(source)) {
    report.right = converts ? "converted and packed in strips of columns, from its tensor where "
                              "it is within it"
                            : "packed in strips of columns, from its tensor where it is within "
                              "it";
    report.rightPacking = packingOf(source);
    report.rightInTensor = true;
    packStrips(source);
    return;
  }
  if (converts || !hasContiguousRows(source)) {
    report.right = hasContiguousRows(source) ? "converted"
                   : converts                ? "converted and transposed"
                                             : "transposed";
    report.rightPacking = packingOf(source);
    right = pack(source);
    return;
  }
  if (Value padded = padRows(source)) {
    right = padded;
    report.right = "read in its tile, whose rows are padded by 64 bytes";
  }
}

bool VectorOperands::packsStrips(Value source) {
  return forwardedCopy(source) && LLVM::isCompatibleType(elementTypeOf(source)) &&
         (hasContiguousRows(source) || packingOf(source) == GemmPacking::Transposed);
}

void VectorOperands::packStrips(Value source) {
  bool isTransposed = !hasContiguousRows(source);
  Operand from = locate(source);
  strips = wideEnd ? allocate({wideEnd / step, k, step}, compute) : Value();
  right = wideEnd < n ? allocate({k, n - wideEnd}, compute) : Value();
  rightBegin = wideEnd;
  int64_t rightBytes = bytesOf(source);
  Value rowBytes = product(from.strides[isTransposed ? 1 : 0], index(rightBytes));
  if (isTransposed) {
    Value kind = arith::ConstantIntOp::create(b, loc, int64_t(*packType(source)), 32);
    auto packColumns = [&](Value column, Value to, int64_t columns) {
      Value first = arith::AddIOp::create(b, loc, from.address, product(column, rowBytes));
      callRuntime(b, loc, abi::packTransposedFn,
                  {kind, first, index(0), from.strides[1], to, index(k), index(columns)});
    };
    if (strips) {
      Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, strips);
      loop(0, wideEnd, step, [&](Value j) {
        Value at = arith::AddIOp::create(b, loc, base, product(j, index(k * elementBytes)));
        packColumns(j, at, step);
      });
    }
    if (right)
      packColumns(index(wideEnd), memref::ExtractAlignedPointerAsIndexOp::create(b, loc, right),
                  n - wideEnd);
    return;
  }
  Value first = toPointer(from.address);
  loop(0, k, 1, [&](Value kk) {
    Value row = bytes(first, product(kk, rowBytes));
    // Rows that are far apart are not prefetched by the processor.
    constexpr int64_t ahead = 32, lineBytes = 64;
    Value after = bytes(row, product(rowBytes, index(ahead)));
    for (int64_t at = 0; at < n * rightBytes; at += lineBytes)
      prefetchIntoL2(bytes(after, index(at)));
    auto take = [&](Value column, int64_t size) {
      Value at = bytes(row, product(column, index(rightBytes)));
      return widen(LLVM::LoadOp::create(b, loc, vectorOf(size, elementTypeOf(source)), at,
                                        /*alignment=*/unsigned(rightBytes)));
    };
    loop(0, wideEnd / step, 1, [&](Value strip) {
      for (int64_t w = 0; w < wide; ++w) {
        Value column = add(product(strip, index(step)), w * lanes);
        vector::StoreOp::create(b, loc, take(column, lanes), strips,
                                ValueRange{strip, kk, index(w * lanes)});
      }
    });
    for (int64_t j = wideEnd; j < n; j += lanes)
      vector::StoreOp::create(b, loc, take(index(j), std::min(lanes, n - j)), right,
                              ValueRange{kk, index(j - wideEnd)});
  });
}

Value VectorOperands::loadRight(Value kk, Value strip, int64_t offset, Value column,
                                int64_t width) {
  VectorType type = vectorOf(width, compute);
  if (strip)
    return vector::LoadOp::create(b, loc, type, strips, ValueRange{strip, kk, index(offset)});
  if (rightRows.pointer) {
    Value source = gemm.getB();
    int64_t size = bytesOf(source);
    Value row = bytes(rightRows.pointer, product(kk, rightRows.stride));
    Value at = bytes(row, product(column, index(size)));
    // The rows of a block are far apart, so that the processor does not prefetch them.
    constexpr int64_t ahead = 16, lineBytes = 64;
    if (offset * size % lineBytes == 0)
      prefetchIntoL2(bytes(at, product(rightRows.stride, index(ahead))));
    return widen(LLVM::LoadOp::create(b, loc, vectorOf(width, elementTypeOf(source)), at,
                                      /*alignment=*/unsigned(size)));
  }
  return vector::LoadOp::create(b, loc, type, right, ValueRange{kk, add(column, -rightBegin)});
}
