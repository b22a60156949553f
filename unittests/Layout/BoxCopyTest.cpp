//===- BoxCopyTest.cpp - Tiles as boxes of TMA write them -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator copies a matrix by boxes, one for each chunk of a tile, and every
// element must be at the byte that SharedTile says. What LegalShapes says of boxes
// is compared with what the emulator's tensor maps accept.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/TensorMap.h"
#include "Layout/LegalShapes.h"

#include "../Emulator/TestKernel.h"

using namespace penstock;
using namespace penstock::layout;

namespace {

/// CUtensorMapDataType of unsigned integers.
uint32_t dataType(int bits) { return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 4; }

emu::TensorMap mapOf(uint64_t base, int bits, int64_t rows, int64_t cols,
                     const std::vector<int64_t> &box, Swizzle swizzle) {
  emu::TensorMap map;
  map.dataType = dataType(bits);
  map.rank = uint32_t(box.size());
  map.base = base;
  map.strides[0] = uint64_t(bits / 8);
  for (size_t i = 0; i < box.size() && i < 5; ++i) {
    map.dims[i] = uint64_t(i == 0 ? cols : i == 1 ? rows : 1);
    if (i > 0)
      map.strides[i] = uint64_t(cols * bits / 8 * (i > 1 ? rows : 1));
    map.box[i] = uint32_t(box[i]);
  }
  map.swizzle = tensorMapCode(swizzle);
  return map;
}

void expectCopied(const SharedTile &tile) {
  std::vector<int64_t> box = {tile.chunkCols(), tile.rows};
  ASSERT_FALSE(refuseTmaTile(tile));
  int64_t bytes = tile.bytes(), element = tile.elementBits / 8;
  std::string size = std::to_string(bytes);
  std::string body = R"(
.reg .b32 %t, %s, %i; .reg .b64 %m, %o, %x; .reg .pred %p; .reg .b8 %v;
.shared .align 1024 .b8 tile[)" +
                     size + R"(]; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; ld.param.u64 %m, [p1]; ld.param.u64 %o, [p2];
setp.ne.u32 %p, %t, 0; @%p bra READY;
mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], )" +
                     size + ";\nmov.u32 %s, tile;\n";
  for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk)
    body += "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s+" +
            std::to_string(chunk * tile.chunkBytes()) + "], [%m, {" +
            std::to_string(chunk * tile.chunkCols()) + ", 0}], [bar];\n";
  body += R"(READY: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra WAIT;
mov.u32 %i, %t;
COPY: mov.u32 %s, tile; add.u32 %s, %s, %i; ld.shared.u8 %v, [%s];
cvt.u64.u32 %x, %i; add.u64 %x, %o, %x; st.global.u8 [%x], %v;
add.u32 %i, %i, 128; setp.lt.u32 %p, %i, )" +
          size + "; @%p bra COPY;\nret;";

  emu::TestKernel kernel(emu::TestKernel::wrap(body, 3));
  std::vector<uint8_t> matrix;
  for (int64_t i = 0; i < bytes; ++i)
    matrix.push_back(uint8_t(i * 7 + i / 251));
  uint64_t base = kernel.buffer(matrix);
  emu::TensorMap map = mapOf(base, tile.elementBits, tile.rows, tile.cols, box, tile.swizzle);
  ASSERT_EQ(emu::checkTensorMap(map), "");
  std::vector<uint8_t> encoded(emu::tensorMapBytes);
  emu::encodeTensorMap(map, encoded.data());
  kernel.buffer(encoded);
  uint64_t out = kernel.emptyBuffer(size_t(bytes));
  emu::Report report = kernel.run(1, 128);
  EXPECT_CLEAN(report);
  auto got = kernel.read<uint8_t>(out, size_t(bytes));
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t col = 0; col < tile.cols; ++col)
      for (int64_t b = 0; b < element; ++b)
        ASSERT_EQ(got[size_t(tile.byteOffset(row, col) + b)],
                  matrix[size_t((row * tile.cols + col) * element + b)])
            << "row " << row << ", column " << col;
}

TEST(BoxCopy, WritesTheTile) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (int bits : {8, 16, 32})
      for (int64_t rows : {8, 40})
        expectCopied({rows, 3 * spanBytes(swizzle) * 8 / bits, bits, swizzle, false});
}

TEST(BoxCopy, LegalBoxesAreThoseOfTensorMaps) {
  unsigned legal = 0, refused = 0;
  for (int bits : {8, 16, 32, 64})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
      for (size_t rank = 1; rank <= 5; ++rank)
        for (int64_t inner : {0, 1, 2, 4, 8, 12, 16, 24, 32, 64, 96, 128, 256, 264})
          for (int64_t outer : {0, 1, 77, 256, 257}) {
            std::vector<int64_t> box(rank, 1);
            box.back() = outer;
            box[0] = inner;
            std::string said = emu::checkTensorMap(mapOf(4096, bits, 512, 512, box, swizzle));
            std::optional<std::string> refusal = refuseTmaBox(bits, box, swizzle);
            ASSERT_EQ(refusal.has_value(), !said.empty())
                << bits << " bits, rank " << rank << ", " << inner << " x " << outer << ": "
                << refusal.value_or("legal") << " / " << said;
            ++(refusal ? refused : legal);
          }
  EXPECT_GT(legal, 200u);
  EXPECT_GT(refused, 200u);
}

} // namespace
