//===- SparseTest.cpp - wgmma.mma_async.sp --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference multiplies the matrix with its zeros. The metadata follow the layouts that CUTLASS
// publishes for them: a map from threads and their bits to elements of A.
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <bit>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// A thread's bits by the elements of A they are for: sizes and strides of a layout whose index is
/// row + 64 * k.
struct MetadataLayout {
  unsigned threads[4], threadStrides[4];
  unsigned values[2], valueStrides[2];

  unsigned element(unsigned thread, unsigned value) const {
    unsigned index = 0;
    for (int i = 0; i < 4; ++i, thread /= threads[i - 1])
      index += thread % threads[i] * threadStrides[i];
    for (int i = 0; i < 2; ++i, value /= values[i - 1])
      index += value % values[i] * valueStrides[i];
    return index;
  }
};

struct Type {
  const char *shape, *types, *immediates;
  unsigned bytes, k, chunk;
  MetadataLayout layout;
  std::vector<std::pair<float, uint32_t>> codes; ///< some values and their bits
};

const Type half = {"m64n8k32",
                   "f32.f16.f16",
                   ", 1, 1, 0, 0",
                   2,
                   32,
                   4,
                   {{2, 2, 8, 4}, {1024, 0, 1, 16}, {16, 2}, {64, 8}},
                   {{1, 0x3c00}, {2, 0x4000}, {-1, 0xbc00}, {3, 0x4200}, {0.5f, 0x3800}}};
const Type tf32 = {"m64n8k16",
                   "f32.tf32.tf32",
                   ", 1, 1",
                   4,
                   16,
                   2,
                   {{2, 2, 8, 4}, {512, 0, 1, 16}, {8, 2}, {64, 8}},
                   {{1, 0x3f800000}, {2, 0x40000000}, {-1, 0xbf800000}, {0.5f, 0x3f000000}}};
const Type fp8 = {"m64n8k64",
                  "f32.e4m3.e4m3",
                  ", 1, 1",
                  1,
                  64,
                  4,
                  {{2, 2, 8, 4}, {8, 2048, 1, 16}, {32, 1}, {64, 0}},
                  {{1, 0x38}, {2, 0x40}, {-1, 0xb8}, {3, 0x44}, {0.5f, 0x30}}};
const Type integers = {"m64n8k64",
                       "s32.s8.s8",
                       "",
                       1,
                       64,
                       4,
                       {{2, 2, 8, 4}, {8, 2048, 1, 16}, {32, 1}, {64, 0}},
                       {{1, 1}, {7, 7}, {-1, 0xff}, {-100, 0x9c}, {50, 50}}};

struct Problem {
  std::vector<float> a, b;        ///< 64 x k with zeros, 8 x k
  std::vector<uint8_t> operands;  ///< core matrices: A without zeros, then B
  std::vector<uint32_t> metadata; ///< of 128 threads
  std::vector<uint32_t> fragments;

  Problem(const Type &type, unsigned selector)
      : a(64 * type.k), b(8 * type.k), operands(4096), metadata(128), fragments(512) {
    uint32_t state = 5;
    auto random = [&](size_t n) {
      state = state * 1664525 + 1013904223;
      return (state >> 16) % n;
    };
    auto put = [&](size_t start, unsigned row, unsigned k, uint32_t bits) {
      for (unsigned i = 0; i < type.bytes; ++i) {
        unsigned byte = k * type.bytes + i;
        operands[start + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16] =
            uint8_t(bits >> (8 * i));
      }
    };
    std::vector<unsigned> chunkBits(64 * type.k / type.chunk);
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned chunk = 0; chunk < type.k / type.chunk; ++chunk) {
        unsigned first = unsigned(random(type.chunk == 2 ? 2 : 3)), second = first + 1;
        if (type.chunk == 4 && second < 3)
          second += unsigned(random(4 - second));
        unsigned count = type.chunk / 2;
        for (unsigned i = 0; i < count; ++i) {
          auto [value, bits] = type.codes[random(type.codes.size())];
          a[row * type.k + chunk * type.chunk + (i ? second : first)] = value;
          put(0, row, chunk * count + i, bits);
          fragment(type, row, chunk * count + i, bits);
        }
        chunkBits[row * type.k / type.chunk + chunk] =
            type.chunk == 2 ? (first ? 0b1110 : 0b0100) : first | second << 2;
      }
    for (unsigned n = 0; n < 8; ++n)
      for (unsigned k = 0; k < type.k; ++k) {
        auto [value, bits] = type.codes[random(type.codes.size())];
        b[n * type.k + k] = value;
        put(2048, n, k, bits);
      }
    for (unsigned t = 0; t < 128; ++t) {
      if (type.bytes > 1 && t / 2 % 2 != selector)
        continue; // this pair of threads gives none
      for (unsigned v = 0; v < 32 * type.chunk / 4; v += type.chunk) {
        unsigned element = type.layout.element(t, v);
        unsigned chunk = element % 64 * type.k / type.chunk + element / 64 / type.chunk;
        metadata[t] |= chunkBits[chunk] << (v / type.chunk * 4);
      }
    }
  }
  /// Stored element \p k of A in registers, as of the dense instruction with half of K.
  void fragment(const Type &type, unsigned row, unsigned k, uint32_t bits) {
    unsigned perWord = 4 / type.bytes;
    unsigned thread = row / 16 * 32 + row % 8 * 4 + k / perWord % 4;
    unsigned index = row / 8 % 2 + k / perWord / 4 * 2;
    fragments[thread * 4 + index] |= bits << (k % perWord * type.bytes * 8);
  }
};

const char *const waitForProduct = "wgmma.wait_group.sync.aligned 0;\n";

std::string kernelText(const Type &type, unsigned selector, bool registers) {
  std::string immediates = type.immediates;
  if (registers && immediates.size() > 8)
    immediates = ", 1, 1, 0";
  return R"(
.reg .b32 %t, %d<4>, %a<4>, %r<20>; .reg .b64 %x<9>; .reg .pred %p;
.shared .align 1024 .b8 tiles[4096];
mov.u32 %t, %tid.x;
ld.param.u64 %x0, [p0]; mad.wide.u32 %x0, %t, 16, %x0;
mov.u32 %r0, tiles; mad.lo.u32 %r1, %t, 16, %r0;
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x0]; st.shared.v4.u32 [%r1], {%r2, %r3, %r4, %r5};
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x0+2048];
st.shared.v4.u32 [%r1+2048], {%r2, %r3, %r4, %r5};
fence.proxy.async.shared::cta;
bar.sync 0;
ld.param.u64 %x1, [p1]; mad.wide.u32 %x1, %t, 4, %x1; ld.global.u32 %r6, [%x1];
ld.param.u64 %x2, [p2]; mad.wide.u32 %x2, %t, 16, %x2;
ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%x2];
// No swizzle, 128 bytes between pieces along k, 256 between groups of 8 rows.
shr.u32 %r7, %r0, 4; cvt.u64.u32 %x3, %r7; or.b64 %x3, %x3, 0x0000001000080000;
add.u64 %x4, %x3, 128;
setp.ne.u32 %p, 0, 0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sp.sync.aligned.)" +
         std::string(type.shape) + "." + type.types + " {%d0, %d1, %d2, %d3}, " +
         (registers ? "{%a0, %a1, %a2, %a3}" : "%x3") + ", %x4, %r6, " + std::to_string(selector) +
         ", %p" + immediates + ";\n" + R"(
wgmma.commit_group.sync.aligned;
)" + waitForProduct +
         R"(
ld.param.u64 %x5, [p3]; mad.wide.u32 %x5, %t, 16, %x5;
st.global.v4.u32 [%x5], {%d0, %d1, %d2, %d3};
ret;)";
}

/// Runs \p body; the result by thread and register in \p out.
Report runSparse(const std::string &body, const Problem &problem, std::vector<uint32_t> &out,
                 LaunchOptions options = {}) {
  TestKernel kernel(TestKernel::wrap(body, 4, "", "sm_90a"));
  kernel.buffer(problem.operands);
  kernel.buffer(problem.metadata);
  kernel.buffer(problem.fragments);
  uint64_t result = kernel.emptyBuffer(128 * 16);
  Report report = kernel.run(1, 128, options);
  out = kernel.read<uint32_t>(result, 512);
  return report;
}

TEST(SparseProducts, MultiplyTheMatrixWithItsZeros) {
  for (const Type *type : {&half, &tf32, &fp8, &integers})
    for (unsigned selector = 0; selector < (type->bytes > 1 ? 2u : 1u); ++selector)
      for (bool registers : {false, true}) {
        SCOPED_TRACE(std::string(type->types) + " " + std::to_string(selector));
        Problem problem(*type, selector);
        std::vector<uint32_t> got;
        Report report = runSparse(kernelText(*type, selector, registers), problem, got);
        EXPECT_CLEAN(report);
        for (unsigned t = 0; t < 128; ++t)
          for (unsigned i = 0; i < 4; ++i) {
            unsigned row = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2), column = t % 4 * 2 + i % 2;
            float sum = 0;
            for (unsigned k = 0; k < type->k; ++k)
              sum += problem.a[row * type->k + k] * problem.b[column * type->k + k];
            float value = type == &integers ? float(int32_t(got[t * 4 + i]))
                                            : std::bit_cast<float>(got[t * 4 + i]);
            EXPECT_EQ(value, sum) << row << " " << column;
          }
      }
}

TEST(SparseProducts, AreAwaited) {
  std::string body = kernelText(half, 0, false);
  size_t at = body.find(waitForProduct);
  ASSERT_NE(at, std::string::npos);
  body.erase(at, std::string(waitForProduct).size());
  std::vector<uint32_t> got;
  EXPECT_FINDING(runSparse(body, Problem(half, 0), got), EmuRegisterInFlight);
}

TEST(SparseProducts, IllegalMetadata) {
  std::vector<uint32_t> got;
  Problem twice(half, 0);
  twice.metadata[4] &= ~0xfu; // positions 0 and 0
  EXPECT_FINDING(runSparse(kernelText(half, 0, false), twice, got), EmuIllegalOperand);
  Problem pairs(tf32, 1);
  pairs.metadata[6] ^= 0x2;
  EXPECT_FINDING(runSparse(kernelText(tf32, 1, false), pairs, got), EmuIllegalOperand);
}

TEST(SparseProducts, IllegalSelector) {
  for (auto [type, selector] : {std::pair(&half, 2u), std::pair(&fp8, 1u)}) {
    std::vector<Diagnostic> diagnostics;
    Device device;
    Report report;
    auto module = device.load(TestKernel::wrap(kernelText(*type, selector, false), 4, "", "sm_90a"),
                              "test.ptx", diagnostics);
    if (module) {
      LaunchConfig config;
      config.block = {128, 1, 1};
      config.params.resize(32);
      report = device.launch(*module, "k", config, {});
      diagnostics = report.findings;
    }
    EXPECT_NE(render(diagnostics).find("the sparsity selector"), std::string::npos)
        << render(diagnostics);
  }
}

} // namespace
