//===- ProductTest.cpp - Products through our layouts, emulated -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole products on the emulator: operands are put into shared memory where
// SharedTile says, the instruction gets our descriptors, and the result is looked
// for where Fragment and TensorAccumulator say. The emulator shares no code with
// this library, so a layout that is wrong on one side gives a wrong product.
//
//===----------------------------------------------------------------------===//
#include "Layout/LegalShapes.h"
#include "Layout/TensorMemory.h"

#include "../Emulator/TestKernel.h"

#include <bit>

using namespace penstock;
using namespace penstock::layout;

namespace {

/// The bits of a small integer; all types represent those up to 8.
uint32_t encoded(int value, MmaType type) {
  if (type == MmaType::S8 || type == MmaType::U8)
    return uint8_t(value);
  uint32_t bits = std::bit_cast<uint32_t>(float(value));
  struct Format {
    int exponentBits, mantissaBits;
  };
  Format format = type == MmaType::F16    ? Format{5, 10}
                  : type == MmaType::BF16 ? Format{8, 7}
                  : type == MmaType::TF32 ? Format{8, 23}
                  : type == MmaType::E4M3 ? Format{4, 3}
                                          : Format{5, 2};
  if (value == 0)
    return 0;
  int bias = (1 << (format.exponentBits - 1)) - 1;
  uint32_t exponent = uint32_t(int(bits >> 23 & 255) - 127 + bias);
  uint32_t mantissa = (bits & 0x7FFFFF) >> (23 - format.mantissaBits);
  return (bits >> 31) << (format.exponentBits + format.mantissaBits) |
         exponent << format.mantissaBits | mantissa;
}

/// One operand with values of its own and its image in shared memory.
struct Operand {
  MatrixOperand where;
  MmaType type;
  int64_t mn, k;
  std::vector<int> values; ///< [mn][k]

  Operand(int64_t mn, int64_t k, MmaType type, Major major, Swizzle swizzle, unsigned seed)
      : where{{major == Major::K ? mn : k, major == Major::K ? k : mn, elementBits(type), swizzle,
               false},
              major},
        type(type), mn(mn), k(k) {
    for (int64_t i = 0; i < mn * k; ++i) {
      seed = seed * 1664525 + 1013904223;
      int value = int(seed >> 24) % 4;
      values.push_back(type == MmaType::U8 || seed >> 23 & 1 ? value : -value);
    }
  }
  int at(int64_t i, int64_t l) const { return values[size_t(i * k + l)]; }

  /// Rows [from, from + count) of M or N, as a tile of their own.
  Operand part(int64_t from, int64_t count) const {
    Operand out = *this;
    out.mn = count;
    (where.major == Major::K ? out.where.tile.rows : out.where.tile.cols) = count;
    out.values.assign(values.begin() + from * k, values.begin() + (from + count) * k);
    return out;
  }

  void writeTo(uint8_t *image) const {
    for (int64_t i = 0; i < mn; ++i)
      for (int64_t l = 0; l < k; ++l) {
        bool kMajor = where.major == Major::K;
        int64_t byte = where.tile.byteOffset(kMajor ? i : l, kMajor ? l : i);
        uint32_t bits = encoded(at(i, l), type);
        for (int b = 0; b < elementBits(type) / 8; ++b)
          image[byte + b] = uint8_t(bits >> (8 * b));
      }
  }
};

int product(const Operand &a, const Operand &b, int64_t m, int64_t n) {
  int sum = 0;
  for (int64_t l = 0; l < a.k; ++l)
    sum += a.at(m, l) * b.at(n, l);
  return sum;
}

std::string registers(const std::string &prefix, int64_t count) {
  std::string out = "{";
  for (int64_t i = 0; i < count; ++i)
    out += (i ? ", " : "") + prefix + std::to_string(i);
  return out + "}";
}

constexpr int64_t operandBytes = 16384;

/// Every block copies its 2 * operandBytes of p0 to `tile`.
std::string copyIn() {
  return R"(
.reg .b32 %t, %c, %i, %s, %r<8>; .reg .b64 %g, %o, %x<4>, %a, %b; .reg .pred %p, %q;
.reg .b32 %v<4>, %w<16>, %d<256>;
.shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 bar; .shared .align 4 .b32 base;
mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; ld.param.u64 %g, [p0]; ld.param.u64 %o, [p1];
mul.wide.u32 %x0, %c, 32768; add.u64 %g, %g, %x0;
shl.b32 %i, %t, 4;
COPY: cvt.u64.u32 %x0, %i; add.u64 %x0, %g, %x0; ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%x0];
mov.u32 %s, tile; add.u32 %s, %s, %i; st.shared.v4.u32 [%s], {%v0, %v1, %v2, %v3};
add.u32 %i, %i, 2048; setp.lt.u32 %p, %i, 32768; @%p bra COPY;
fence.proxy.async.shared::cta;
)";
}

/// Puts a whole descriptor into a register.
std::string descriptor(const std::string &to, uint64_t bits, int64_t offset) {
  return "mov.u32 %s, tile; add.u32 %s, %s, " + std::to_string(offset) +
         "; and.b32 %s, %s, 0x3FFFF; shr.u32 %s, %s, 4; cvt.u64.u32 %x0, %s;\n" + "mov.u64 " + to +
         ", " + std::to_string(bits) + "; add.u64 " + to + ", " + to + ", %x0;\n";
}

/// Steps of K, each with the descriptors in %a and %b and its number's predicate.
template <class Issue>
std::string steps(const Operand &a, const Operand &b, bool hopper, Issue issue) {
  std::string out;
  uint64_t aBits = *(hopper ? wgmmaDescriptor(a.where) : tcgen05Descriptor(a.where));
  uint64_t bBits = *(hopper ? wgmmaDescriptor(b.where) : tcgen05Descriptor(b.where));
  for (int64_t k = 0; k < a.k; k += instructionK(a.type)) {
    out += descriptor("%a", aBits, operandStepBytes(a.where, 0, k));
    out += descriptor("%b", bBits, operandBytes + operandStepBytes(b.where, 0, k));
    out += "setp.ne.u32 %p, " + std::to_string(k) + ", 0;\n" + issue();
  }
  return out;
}

/// Result registers of a thread to p1, after those of all threads before it.
std::string copyOut(int64_t count) {
  std::string out = "mad.lo.u32 %i, %c, %ntid.x, %t; mul.wide.u32 %x0, %i, " +
                    std::to_string(4 * count) + "; add.u64 %o, %o, %x0;\n";
  for (int64_t i = 0; i < count; ++i)
    out += "st.global.u32 [%o+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  return out;
}

int asInteger(uint32_t bits, AccType type) {
  return type == AccType::S32 ? int(bits) : int(std::bit_cast<float>(bits));
}

void expectWgmma(int64_t n, MmaType type, Major aMajor, Major bMajor, Swizzle swizzle) {
  AccType acc = type == MmaType::S8 || type == MmaType::U8 ? AccType::S32 : AccType::F32;
  ASSERT_FALSE(refuseWgmma(64, int(n), type, type, acc, aMajor, bMajor));
  int64_t k = 4 * instructionK(type);
  Operand a(64, k, type, aMajor, swizzle, 1), b(n, k, type, bMajor, swizzle, 2);
  Fragment d = wgmmaAccumulator(64, n);
  std::string shape = "m64n" + std::to_string(n) + "k" + std::to_string(instructionK(type));
  std::string body = copyIn() + "bar.sync 0;\nwgmma.fence.sync.aligned;\n";
  body += steps(a, b, true, [&] {
    std::string out = "wgmma.mma_async.sync.aligned." + shape + "." + nameOf(acc) + "." +
                      nameOf(type) + "." + nameOf(type) + " " + registers("%d", d.registers) +
                      ", %a, %b, %p";
    if (acc == AccType::F32)
      out += ", 1, 1";
    if (elementBits(type) == 16)
      out +=
          std::string(aMajor == Major::MN ? ", 1" : ", 0") + (bMajor == Major::MN ? ", 1" : ", 0");
    return out + ";\n";
  });
  body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  body += copyOut(d.registers) + "ret;";

  emu::TestKernel kernel(emu::TestKernel::wrap(body, 2, "", "sm_90a"));
  std::vector<uint8_t> image(2 * operandBytes);
  a.writeTo(image.data());
  b.writeTo(image.data() + operandBytes);
  kernel.buffer(image);
  uint64_t out = kernel.emptyBuffer(size_t(d.threads * d.registers * 4));
  emu::Report report = kernel.run(1, 128);
  EXPECT_CLEAN(report);
  auto got = kernel.read<uint32_t>(out, size_t(d.threads * d.registers));
  for (int64_t t = 0; t < d.threads; ++t)
    for (int64_t r = 0; r < d.registers; ++r) {
      Coordinate c = d.at(t, r);
      ASSERT_EQ(asInteger(got[size_t(t * d.registers + r)], acc), product(a, b, c.row, c.col))
          << nameOf(type) << ", row " << c.row << ", column " << c.col;
    }
}

TEST(Product, WgmmaReadsEverySwizzle) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    expectWgmma(64, MmaType::F16, Major::K, Major::K, swizzle);
}

TEST(Product, WgmmaReadsBothMajors) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (Major a : {Major::K, Major::MN})
      expectWgmma(64, MmaType::BF16, a, Major::MN, swizzle);
}

TEST(Product, WgmmaReadsEveryType) {
  for (MmaType type : {MmaType::TF32, MmaType::E4M3, MmaType::E5M2, MmaType::S8, MmaType::U8})
    expectWgmma(24, type, Major::K, Major::K, Swizzle::B64);
}

/// A in registers, which threads fill from where the image has one thread's words after
/// the other's.
void expectWgmmaOfRegisters(MmaType type) {
  AccType acc = type == MmaType::S8 ? AccType::S32 : AccType::F32;
  constexpr int64_t n = 16;
  int64_t k = 4 * instructionK(type);
  Operand a(64, k, type, Major::K, Swizzle::B128, 5), b(n, k, type, Major::K, Swizzle::B128, 6);
  Fragment held = wgmmaOperandA(k, elementBits(type)), d = wgmmaAccumulator(64, n);
  // Each of the four instructions takes four words.
  ASSERT_EQ(held.registers * elementBits(type), 16 * 32);
  uint64_t bBits = *wgmmaDescriptor(b.where);
  std::string body = copyIn() + "bar.sync 0;\nmov.u32 %s, tile; mad.lo.u32 %s, %t, 64, %s;\n";
  for (int i = 0; i < 16; ++i)
    body += "ld.shared.u32 %w" + std::to_string(i) + ", [%s+" + std::to_string(4 * i) + "];\n";
  body += "wgmma.fence.sync.aligned;\n";
  for (int step = 0; step < 4; ++step) {
    int64_t from = step * instructionK(type);
    body += descriptor("%b", bBits, operandBytes + operandStepBytes(b.where, 0, from));
    body += "setp.ne.u32 %p, " + std::to_string(step) + ", 0;\n";
    body += "wgmma.mma_async.sync.aligned.m64n16k" + std::to_string(instructionK(type)) + "." +
            nameOf(acc) + "." + nameOf(type) + "." + nameOf(type) + " " +
            registers("%d", d.registers) + ", {";
    for (int i = 0; i < 4; ++i)
      body += (i ? ", %w" : "%w") + std::to_string(4 * step + i);
    body += "}, %b, %p";
    if (acc == AccType::F32)
      body += ", 1, 1";
    if (elementBits(type) == 16)
      body += ", 0";
    body += ";\n";
  }
  body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  body += copyOut(d.registers) + "ret;";

  emu::TestKernel kernel(emu::TestKernel::wrap(body, 2, "", "sm_90a"));
  std::vector<uint8_t> image(2 * operandBytes);
  int64_t bytes = elementBits(type) / 8;
  for (int64_t t = 0; t < held.threads; ++t)
    for (int64_t r = 0; r < held.registers; ++r) {
      Coordinate c = held.at(t, r);
      uint32_t bits = encoded(a.at(c.row, c.col), type);
      for (int64_t i = 0; i < bytes; ++i)
        image[size_t(t * 64 + r * bytes + i)] = uint8_t(bits >> (8 * i));
    }
  b.writeTo(image.data() + operandBytes);
  kernel.buffer(image);
  uint64_t out = kernel.emptyBuffer(size_t(d.threads * d.registers * 4));
  emu::Report report = kernel.run(1, 128);
  EXPECT_CLEAN(report);
  auto got = kernel.read<uint32_t>(out, size_t(d.threads * d.registers));
  for (int64_t t = 0; t < d.threads; ++t)
    for (int64_t r = 0; r < d.registers; ++r) {
      Coordinate c = d.at(t, r);
      ASSERT_EQ(asInteger(got[size_t(t * d.registers + r)], acc), product(a, b, c.row, c.col))
          << nameOf(type) << ", row " << c.row << ", column " << c.col;
    }
}

TEST(Product, WgmmaTakesRegisters) {
  for (MmaType type : {MmaType::F16, MmaType::BF16, MmaType::TF32, MmaType::E4M3, MmaType::S8})
    expectWgmmaOfRegisters(type);
}

/// Loads the accumulator by pieces of \p shape; each warp those of its lanes.
void expectTcgen05(int ctas, int64_t m, int64_t n, MmaType type, Major aMajor, Major bMajor,
                   Swizzle swizzle, TensorShape shape) {
  AccType acc = type == MmaType::S8 || type == MmaType::U8 ? AccType::S32 : AccType::F32;
  ASSERT_FALSE(refuseTcgen05(ctas, int(m), int(n), type, type, acc, aMajor, bMajor));
  int64_t k = 2 * instructionK(type);
  Operand a(m, k, type, aMajor, swizzle, 3), b(n, k, type, bMajor, swizzle, 4);
  TensorAccumulator d{ctas, m, n};
  int64_t perRepeat = tensorMemoryPiece(shape, 1).cols;
  Fragment piece = tensorMemoryPiece(shape, d.columns() / perRepeat);
  ASSERT_EQ(piece.cols, d.columns());

  std::string group = ".cta_group::" + std::to_string(ctas);
  const char *kind = elementBits(type) == 16                      ? ".kind::f16"
                     : type == MmaType::TF32                      ? ".kind::tf32"
                     : type == MmaType::S8 || type == MmaType::U8 ? ".kind::i8"
                                                                  : ".kind::f8f6f4";
  uint32_t idesc = tcgen05InstructionDescriptor({type, type, acc, int(m), int(n), aMajor, bMajor});
  std::string barrier = ctas == 1 ? "bar.sync 0;\n"
                                  : "barrier.cluster.arrive.release.aligned;\n"
                                    "barrier.cluster.wait.acquire.aligned;\n";
  std::string body = copyIn();
  body += "setp.ge.u32 %p, %t, 32; @%p bra ALLOCATED;\n"
          "tcgen05.alloc" +
          group +
          ".sync.aligned.shared::cta.b32 [base], 128;\n"
          "setp.ne.u32 %p, %t, 0; @%p bra ALLOCATED;\n"
          "mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n"
          "ALLOCATED:\n"
          "tcgen05.fence::before_thread_sync;\n" +
          barrier +
          "tcgen05.fence::after_thread_sync;\n"
          "ld.shared.u32 %r0, [base];\n"
          "mad.lo.u32 %i, %c, %ntid.x, %t; setp.ne.u32 %q, %i, 0; @%q bra ISSUED;\n"
          "mov.u32 %r1, " +
          std::to_string(idesc) + ";\n";
  // Two CTAs read their own halves of A and B through one descriptor.
  Operand ownA = a.part(0, m / ctas), ownB = b.part(0, n / ctas);
  body += steps(ownA, ownB, false,
                [&] { return "tcgen05.mma" + group + kind + " [%r0], %a, %b, %r1, %p;\n"; });
  body += ctas == 1 ? "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
                      "[bar];\n"
                    : "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                      ".multicast::cluster.b64 [bar], 3;\n";
  body += "ISSUED:\n"
          "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra WAIT;\n"
          "tcgen05.fence::after_thread_sync;\n"
          "shr.u32 %r2, %t, 5; shl.b32 %r2, %r2, 21; add.u32 %r2, %r2, %r0;\n"
          "tcgen05.ld.sync.aligned." +
          std::string(nameOf(shape)) + ".x" + std::to_string(piece.cols / perRepeat) + ".b32 " +
          registers("%d", piece.registers) +
          ", [%r2];\n"
          "tcgen05.wait::ld.sync.aligned;\n" +
          copyOut(piece.registers) + "tcgen05.fence::before_thread_sync;\n" + barrier +
          "tcgen05.fence::after_thread_sync;\n"
          "setp.ge.u32 %p, %t, 32; @%p bra DONE;\n"
          "tcgen05.dealloc" +
          group + ".sync.aligned.b32 %r0, 128;\nDONE: ret;";

  emu::TestKernel kernel(emu::TestKernel::wrap(body, 2));
  std::vector<uint8_t> image(size_t(ctas) * 2 * operandBytes);
  for (int64_t cta = 0; cta < ctas; ++cta) {
    uint8_t *own = image.data() + cta * 2 * operandBytes;
    a.part(cta * m / ctas, m / ctas).writeTo(own);
    b.part(cta * n / ctas, n / ctas).writeTo(own + operandBytes);
  }
  kernel.buffer(image);
  size_t words = size_t(ctas * 128 * piece.registers);
  uint64_t out = kernel.emptyBuffer(words * 4);
  emu::LaunchConfig config;
  config.grid = {uint32_t(ctas), 1, 1};
  config.cluster = {uint32_t(ctas), 1, 1};
  config.block = {128, 1, 1};
  emu::Report report = kernel.run(config);
  EXPECT_CLEAN(report);
  auto got = kernel.read<uint32_t>(out, words);

  for (int64_t cta = 0; cta < ctas; ++cta) {
    // What each cell of the CTA's tensor memory held.
    std::vector<std::optional<int>> cells(size_t(128 * d.columns()));
    for (int64_t t = 0; t < 128; ++t)
      for (int64_t r = 0; r < piece.registers; ++r) {
        Coordinate c = piece.at(t % 32, r);
        cells[size_t((t / 32 * 32 + c.row) * d.columns() + c.col)] =
            asInteger(got[size_t((cta * 128 + t) * piece.registers + r)], acc);
      }
    for (int64_t row = 0; row < d.rowsPerCta(); ++row)
      for (int64_t col = 0; col < n; ++col) {
        TensorCell cell = d.cellOf(row, col);
        ASSERT_EQ(cells[size_t(cell.lane * d.columns() + cell.column)],
                  product(a, b, cta * d.rowsPerCta() + row, col))
            << nameOf(type) << ", CTA " << cta << ", row " << row << ", column " << col;
      }
  }
}

TEST(Product, Tcgen05ReadsEverySwizzle) {
  for (Major major : {Major::K, Major::MN})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B32})
      expectTcgen05(1, 128, 64, MmaType::F16, major, major, swizzle, TensorShape::S32x32b);
  // Wider spans need more K, or more of M and N, than the tests' two steps.
  expectTcgen05(1, 128, 64, MmaType::F16, Major::K, Major::K, Swizzle::B64, TensorShape::S32x32b);
  for (Swizzle swizzle : {Swizzle::B64, Swizzle::B128}) {
    expectTcgen05(1, 128, 64, MmaType::F16, Major::MN, Major::MN, swizzle, TensorShape::S32x32b);
    expectTcgen05(1, 128, 128, MmaType::E4M3, Major::MN, Major::MN, swizzle, TensorShape::S32x32b);
  }
}

TEST(Product, Tcgen05ReadsEveryType) {
  for (MmaType type :
       {MmaType::BF16, MmaType::TF32, MmaType::E4M3, MmaType::E5M2, MmaType::S8, MmaType::U8})
    expectTcgen05(1, 128, 32, type, Major::K, Major::K, Swizzle::B64, TensorShape::S32x32b);
}

TEST(Product, Tcgen05HasEveryAccumulator) {
  // 64 rows are in the lower half of each warp's lanes, which pieces of 16 lanes load.
  for (TensorShape shape : {TensorShape::S16x64b, TensorShape::S16x128b, TensorShape::S16x256b})
    expectTcgen05(1, 64, 32, MmaType::F16, Major::K, Major::K, Swizzle::B64, shape);
  expectTcgen05(2, 128, 64, MmaType::F16, Major::K, Major::K, Swizzle::B64, TensorShape::S32x32b);
  expectTcgen05(2, 256, 64, MmaType::F16, Major::K, Major::MN, Swizzle::B64, TensorShape::S32x32b);
}

} // namespace
