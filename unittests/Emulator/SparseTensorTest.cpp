//===- SparseTensorTest.cpp - tcgen05.mma.sp ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference multiplies the matrix with its zeros. Metadata are written by the layouts that
// CUTLASS has for tensor memory (shapes and strides), which the emulator does not use.
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <bit>
#include <random>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// The offset of an index by shapes and strides.
unsigned offsetOf(const std::vector<std::pair<unsigned, unsigned>> &modes, unsigned index) {
  unsigned offset = 0;
  for (auto [size, stride] : modes) {
    offset += index % size * stride;
    index /= size;
  }
  return offset;
}

struct Type {
  const char *kind;
  uint32_t instruction; ///< element types of the descriptor
  unsigned bits;        ///< of an element
  unsigned k;           ///< with zeros
  unsigned chunk;       ///< elements of which half are kept
  /// By row and by k: lane + 128 * element, of which two have `metadataBits` bits.
  std::vector<std::pair<unsigned, unsigned>> rows, columns;
  unsigned metadataBits;
  unsigned selectors;
  unsigned scales; ///< of a row; 0: no block scales
  std::vector<std::pair<float, uint32_t>> codes;
};

const std::vector<Type> types = {
    {"kind::f16",
     1 << 4,
     16,
     32,
     4,
     {{8, 1}, {2, 2048}, {8, 16}},
     {{16, 128}, {2, 8}},
     2,
     2,
     0,
     {{1, 0x3c00}, {2, 0x4000}, {-1, 0xbc00}, {3, 0x4200}, {0.5f, 0x3800}}},
    {"kind::tf32",
     1 << 4 | 2 << 7 | 2 << 10,
     32,
     16,
     2,
     {{8, 1}, {2, 1024}, {8, 16}},
     {{8, 128}, {2, 8}},
     4,
     2,
     0,
     {{1, 0x3f800000}, {2, 0x40000000}, {-1, 0xbf800000}, {3, 0x40400000}}},
    {"kind::f8f6f4",
     1 << 4,
     8,
     64,
     4,
     {{128, 1}},
     {{64, 128}},
     2,
     1,
     0,
     {{1, 0x38}, {2, 0x40}, {-1, 0xb8}, {3, 0x44}, {0.5f, 0x30}}},
    {"kind::i8",
     2 << 4 | 1 << 7 | 1 << 10,
     8,
     64,
     4,
     {{128, 1}},
     {{64, 128}},
     2,
     1,
     0,
     {{1, 1}, {7, 7}, {-1, 0xff}, {-100, 0x9c}, {50, 50}}},
    {"kind::mxf8f6f4.block_scale",
     1 << 23,
     8,
     64,
     4,
     {{128, 1}},
     {{64, 128}},
     2,
     1,
     1,
     {{1, 0x38}, {2, 0x40}, {-1, 0xb8}, {3, 0x44}, {0.5f, 0x30}}},
    {"kind::mxf4nvf4.block_scale.scale_vec::4X",
     1 << 23 | 1 << 7 | 1 << 10,
     4,
     128,
     8,
     {{128, 1}},
     {{128, 128}},
     1,
     1,
     4,
     {{0.5f, 1}, {1, 2}, {1.5f, 3}, {-1, 0xa}, {2, 4}}},
};

struct Problem {
  const Type &type;
  unsigned n, selector;
  std::vector<float> a, b;        ///< 128 x k with zeros, n x k; both scaled
  std::vector<uint8_t> operands;  ///< core matrices: A without zeros, then B
  std::vector<uint32_t> metadata; ///< two columns by lanes
  std::vector<uint32_t> scales;   ///< four columns of A and two of B by lanes

  Problem(const Type &type, unsigned seed)
      : type(type), n(16u << seed % 3), selector(seed / 3 % type.selectors), a(128 * type.k),
        b(n * type.k), operands(12288), metadata(256), scales(128 * 6) {
    std::mt19937 random(seed);
    for (uint32_t &word : metadata) // the column that is not selected has anything
      word = type.selectors == 2 ? uint32_t(random()) : 0;
    for (unsigned lane = 0; lane < 128 && type.selectors == 2; ++lane)
      metadata[lane * 2 + selector] = 0;
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned at = 0; at < type.k; at += type.chunk)
        fillChunk(random, row, at);
    for (unsigned row = 0; row < n; ++row)
      for (unsigned k = 0; k < type.k; ++k)
        b[row * type.k + k] = put(random, 4096, type.k, row, k);
    if (type.scales)
      for (auto [matrix, rows, column] : {std::tuple(&a, 128u, 0u), std::tuple(&b, n, 4u)})
        for (unsigned row = 0; row < rows; ++row)
          for (unsigned s = 0; s < type.scales; ++s)
            scaleRow(*matrix, row, s, column, unsigned(random() % 3));
  }

  uint32_t instruction() const {
    uint32_t shape = type.scales ? 1u << 27 : 8u << 24; // 128 rows
    return type.instruction | 4 | selector | n / 8 << 17 | shape;
  }

private:
  /// Two of four, one of two, or two pairs of four.
  void fillChunk(std::mt19937 &random, unsigned row, unsigned at) {
    unsigned positions = type.chunk == 2 ? 2 : 4, width = type.chunk == 8 ? 2 : 1;
    unsigned first = unsigned(random() % (positions - (positions == 4 ? 1 : 0)));
    unsigned second = first + 1 + (first < 2 ? unsigned(random() % (3 - first)) : 0);
    uint32_t code = positions == 2 ? (first ? 0b1110 : 0b0100) : first | second << 2;
    for (unsigned i = 0; i < type.chunk / 2; ++i) {
      unsigned position = (i / width ? second : first) * width + i % width;
      a[row * type.k + at + position] = put(random, 0, type.k / 2, row, at / 2 + i);
    }
    unsigned offset = offsetOf(type.rows, row) + offsetOf(type.columns, at);
    unsigned bit = offset / 128 * type.metadataBits / 2;
    metadata[offset % 128 * 2 + bit / 32 + selector] |= code << bit % 32;
  }
  /// A random value as element \p k of a row; returns it.
  float put(std::mt19937 &random, size_t start, unsigned perRow, unsigned row, unsigned k) {
    auto [value, code] = type.codes[random() % type.codes.size()];
    unsigned lines = perRow * type.bits / 128; // pieces of 16 bytes in a row
    for (unsigned bit = 0; bit < type.bits; bit += 4) {
      unsigned at = k * type.bits + bit, byte = at / 8;
      operands[start + row / 8 * lines * 128 + byte / 16 * 128 + row % 8 * 16 + byte % 16] |=
          uint8_t((code >> bit & 0xf) << at % 8);
    }
    return value;
  }
  /// UE8M0 scales: row r is in lane r % 32 of all quarters.
  void scaleRow(std::vector<float> &matrix, unsigned row, unsigned s, unsigned column,
                unsigned exponent) {
    unsigned size = type.k / type.scales;
    for (unsigned k = s * size; k < (s + 1) * size; ++k)
      matrix[row * type.k + k] *= float(1 << exponent);
    for (unsigned quarter = 0; quarter < 4; ++quarter)
      scales[(quarter * 32 + row % 32) * 6 + column + row / 32] |= (127 + exponent) << (8 * s);
  }
};

const char *const waitForStores = "tcgen05.wait::st.sync.aligned;\n";
const char *const waitForProduct =
    "B: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra B;\n";

/// D is in columns 0 to 63, metadata are from 64 on, scales from 68 on.
std::string kernelText(const Problem &problem) {
  unsigned strideB = problem.type.k * problem.type.bits / 8 / 16 * 8; // of 8 rows, in 16 bytes
  return R"(
.reg .b32 %t, %w, %r<60>; .reg .b64 %x<20>; .reg .pred %p<9>;
.shared .align 1024 .b8 tiles[12288]; .shared .align 8 .b64 bar; .shared .align 4 .b32 base;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5;
setp.ne.u32 %p0, %t, 0; @!%p0 mbarrier.init.shared.b64 [bar], 1;
setp.ne.u32 %p1, %w, 0; @%p1 bra A;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 128;
A: ld.param.u64 %x0, [p0]; mov.u32 %r0, tiles; mov.u32 %r1, %t;
COPY: mad.wide.u32 %x1, %r1, 16, %x0; mad.lo.u32 %r6, %r1, 16, %r0;
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x1]; st.shared.v4.u32 [%r6], {%r2, %r3, %r4, %r5};
add.u32 %r1, %r1, 128; setp.lt.u32 %p2, %r1, 768; @%p2 bra COPY;
fence.proxy.async.shared::cta;
bar.sync 0;
ld.shared.u32 %r10, [base];
shl.b32 %r15, %w, 21; add.u32 %r15, %r15, %r10;
ld.param.u64 %x0, [p1]; mad.wide.u32 %x1, %t, 8, %x0; ld.global.v2.u32 {%r20, %r21}, [%x1];
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r15+64], {%r20, %r21};
ld.param.u64 %x0, [p2]; mad.wide.u32 %x1, %t, 24, %x0;
ld.global.v2.u32 {%r20, %r21}, [%x1]; ld.global.v2.u32 {%r22, %r23}, [%x1+8];
ld.global.v2.u32 {%r24, %r25}, [%x1+16];
tcgen05.st.sync.aligned.32x32b.x4.b32 [%r15+68], {%r20, %r21, %r22, %r23};
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r15+72], {%r24, %r25};
)" + std::string(waitForStores) +
         R"(
bar.sync 0;
@%p0 bra B;
// No swizzle, 128 bytes between pieces along k, 256 and more between groups of 8 rows.
shr.u32 %r11, %r0, 4; cvt.u64.u32 %x2, %r11; or.b64 %x3, %x2, )" +
         std::to_string(uint64_t(0x4000) << 32 | uint64_t(strideB) << 32 | 8 << 16) +
         R"(; or.b64 %x2, %x2, 0x0000401000080000; add.u64 %x3, %x3, 256;
add.u32 %r12, %r10, 64; add.u32 %r13, %r10, 68; add.u32 %r16, %r10, 72;
mov.u32 %r14, )" +
         std::to_string(problem.instruction()) +
         ";\nsetp.ne.u32 %p4, 0, 0;\ntcgen05.mma.sp.cta_group::1." + problem.type.kind +
         " [%r10], %x2, %x3, [%r12], %r14, " + (problem.type.scales ? "[%r13], [%r16], " : "") +
         R"(%p4;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
)" + waitForProduct +
         R"(
ld.param.u64 %x0, [p3]; mad.wide.u32 %x1, %t, 256, %x0; mov.u32 %r16, 0;
READ: tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r15];
tcgen05.wait::ld.sync.aligned;
st.global.u32 [%x1], %r20;
add.u64 %x1, %x1, 4; add.u32 %r15, %r15, 1; add.u32 %r16, %r16, 1;
setp.lt.u32 %p6, %r16, )" +
         std::to_string(problem.n) + R"(; @%p6 bra READ;
bar.sync 0;
@%p1 bra C;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 128;
C: ret;)";
}

Report runSparse(const std::string &body, const Problem &problem, std::vector<uint32_t> &out,
                 const LaunchOptions &options = {}) {
  TestKernel kernel(TestKernel::wrap(body, 4));
  kernel.buffer(problem.operands);
  kernel.buffer(problem.metadata);
  kernel.buffer(problem.scales);
  uint64_t result = kernel.emptyBuffer(128 * 256);
  Report report = kernel.run(1, 128, options);
  out = kernel.read<uint32_t>(result, 128 * 64);
  return report;
}

std::string without(std::string body, const std::string &part, const std::string &instead = "") {
  size_t at = body.find(part);
  EXPECT_NE(at, std::string::npos);
  return body.replace(at, part.size(), instead);
}

TEST(SparseTensorProducts, MultiplyTheMatrixWithItsZeros) {
  for (const Type &type : types)
    for (unsigned seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(std::string(type.kind) + " " + std::to_string(seed));
      Problem problem(type, seed);
      std::vector<uint32_t> got;
      LaunchOptions options;
      options.timing = seed % 2 ? Timing::Lazy : Timing::Eager;
      EXPECT_CLEAN(runSparse(kernelText(problem), problem, got, options));
      unsigned wrong = 0;
      for (unsigned row = 0; row < 128; ++row)
        for (unsigned column = 0; column < problem.n; ++column) {
          float sum = 0;
          for (unsigned k = 0; k < type.k; ++k)
            sum += problem.a[row * type.k + k] * problem.b[column * type.k + k];
          uint32_t word = got[row * 64 + column];
          bool integers = std::string(type.kind) == "kind::i8";
          wrong += (integers ? float(int32_t(word)) : std::bit_cast<float>(word)) != sum;
        }
      EXPECT_EQ(wrong, 0u);
    }
}

TEST(SparseTensorProducts, AreAwaited) {
  for (const Type &type : {types[0], types[4]}) {
    Problem problem(type, 1);
    std::vector<uint32_t> got;
    EXPECT_FINDING(runSparse(without(kernelText(problem), waitForProduct, "B:\n"), problem, got),
                   EmuDataRace);
  }
}

TEST(SparseTensorProducts, ReadMetadataThatHaveBeenAwaited) {
  Problem problem(types[0], 1);
  std::vector<uint32_t> got;
  EXPECT_FINDING(runSparse(without(kernelText(problem), waitForStores), problem, got), EmuDataRace);
  // They are read until the product has completed.
  std::string store = "B: tcgen05.st.sync.aligned.32x32b.x1.b32 [%r15+64], {%r20};\n"
                      "tcgen05.wait::st.sync.aligned;\n"
                      "D: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra D;\n";
  std::string overwritten = without(kernelText(problem), waitForProduct, store);
  EXPECT_FINDING(runSparse(overwritten, problem, got), EmuDataRace);
}

TEST(SparseTensorProducts, IllegalDescriptors) {
  std::vector<uint32_t> got;
  auto expect = [&](const Type &type, uint32_t set, uint32_t cleared, unsigned code) {
    Problem problem(type, 1);
    std::string right = "mov.u32 %r14, " + std::to_string(problem.instruction());
    std::string wrong = "mov.u32 %r14, " + std::to_string((problem.instruction() | set) & ~cleared);
    EXPECT_FINDING(runSparse(without(kernelText(problem), right, wrong), problem, got), code);
  };
  expect(types[0], 0, 4, EmuIllegalDescriptor);               // dense
  expect(types[0], 2, 0, EmuIllegalDescriptor);               // the selector is 2
  expect(types[2], 1, 0, EmuIllegalDescriptor);               // it is 0 for 8 bits
  expect(types[0], 4u << 24, 8u << 24, EmuIllegalDescriptor); // 64 rows
  Problem problem(types[0], 1);
  EXPECT_FINDING(
      runSparse(without(kernelText(problem), "%r12, %r10, 64", "%r12, %r10, 65"), problem, got),
      EmuTensorMemoryMisuse);
}

} // namespace
