//===- wgmma.cpp - Products of a warpgroup on Hopper ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Operands.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(Wgmma, "wgmma", "sm_90a");

constexpr size_t space = 65536;

struct Product {
  unsigned n, depth;
  Number a, b;
  OperandLayout layoutA = {}, layoutB = {};
  int sign = 1; ///< of the product
  bool halfResult = false, registersA = false, noSign = false;
};

/// Row and column of element \p i of thread \p t's accumulators.
unsigned rowOf(unsigned t, unsigned i) { return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8; }
unsigned columnOf(unsigned t, unsigned i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }

/// D: what the accumulators are made of; \p decode gives element i of a
/// thread's registers.
template <class D> void multiply(Launch k, const Product &p) {
  Random random;
  Operand a(random, 64, p.depth, p.a, p.layoutA, space, p.noSign);
  Operand b(random, p.n, p.depth, p.b, p.layoutB, space, p.noSign);
  unsigned elements = p.n / 2, registers = p.halfResult ? p.n / 4 : p.n / 2;
  std::vector<int> start(128 * elements);
  std::vector<D> c(128 * registers);
  for (size_t i = 0; i < start.size(); ++i) {
    start[i] = random.between(-9, 9);
    if (p.halfResult)
      c[i / 2] = D(uint32_t(c[i / 2]) | uint32_t(halfBits(float(start[i]))) << (i % 2 * 16));
    else
      c[i] = D(start[i]);
  }
  k.in(a.image);
  k.in(b.image);
  k.in(c);
  Buffer out = k.out<D>(c.size());
  k.value(p.layoutA.descriptor(false));
  k.value(p.layoutB.descriptor(false));
  if (p.registersA) {
    // Register r of thread t: row t / 4 (+ 8 with odd r), and of each half of k
    // as many neighbors as fit into 32 bits.
    unsigned per = 32 / p.a.bits;
    std::vector<uint32_t> fragments(128 * 4);
    for (unsigned t = 0; t < 128; ++t)
      for (unsigned r = 0; r < 4; ++r)
        for (unsigned e = 0; e < per; ++e) {
          unsigned row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8;
          unsigned kk = r / 2 * (p.depth / 2) + t % 4 * per + e;
          fragments[t * 4 + r] |= p.a.encode(a.at(row, kk)) << (e * p.a.bits);
        }
    k.in(fragments);
  }
  k.block = {128, 1, 1};
  k.dynamicShared = 2 * space;
  k.run([&](const Results &results) {
    auto got = results.get<D>(out);
    for (unsigned t = 0; t < 128; ++t)
      for (unsigned i = 0; i < elements; ++i) {
        int sum = 0;
        for (unsigned x = 0; x < p.depth; ++x)
          sum += a.at(rowOf(t, i), x) * b.at(columnOf(t, i), x);
        double want = start[t * elements + i] + p.sign * sum;
        double value =
            p.halfResult ? f16.value(uint32_t(got[t * registers + i / 2]) >> (i % 2 * 16) & 0xffff)
                         : double(got[t * registers + i]);
        ASSERT_EQ(value, want) << "thread " << t << " element " << i;
      }
  });
}

TEST_P(Wgmma, HalfInAllLayouts) {
  for (unsigned swizzle : {0u, 32u, 64u, 128u}) {
    SCOPED_TRACE(swizzle);
    OperandLayout layout{false, swizzle};
    multiply<float>(launch("f16"), {32, 16, f16Number(), f16Number(), layout, layout});
    OperandLayout transposed{true, swizzle};
    multiply<float>(launch("f16_transposed"),
                    {32, 16, f16Number(), f16Number(), transposed, transposed, -1});
  }
  // One step along k inside of a swizzled row.
  OperandLayout inside{false, 128, 32};
  multiply<float>(launch("f16"), {32, 16, f16Number(), f16Number(), inside, inside});
}

TEST_P(Wgmma, WidthsAndAccumulators) {
  OperandLayout layout{false, 128};
  multiply<float>(launch("f16_n8"), {8, 16, f16Number(), f16Number(), layout, layout});
  multiply<float>(launch("f16_n256"), {256, 16, f16Number(), f16Number(), layout, layout});
  multiply<uint32_t>(launch("f16_half"),
                     {32, 16, f16Number(), f16Number(), layout, layout, -1, true});
}

TEST_P(Wgmma, OperandInRegisters) {
  OperandLayout layout{false, 128}, transposed{true, 64};
  multiply<float>(launch("f16_registers"),
                  {32, 16, f16Number(), f16Number(), layout, transposed, 1, false, true});
  multiply<float>(launch("tf32_registers"),
                  {32, 8, tf32Number(), tf32Number(), layout, layout, 1, false, true});
  multiply<float>(launch("e4m3_registers"),
                  {32, 32, e4m3Number(), e4m3Number(), layout, layout, 1, false, true});
  multiply<int32_t>(launch("s8_registers"),
                    {32, 32, s8Number(), s8Number(), layout, layout, 1, false, true});
}

TEST_P(Wgmma, Types) {
  OperandLayout wide{false, 128}, narrow{false, 32}, plain, transposed{true, 32};
  multiply<float>(launch("bf16"), {32, 16, bf16Number(), bf16Number(), wide, transposed});
  multiply<float>(launch("tf32"), {32, 8, tf32Number(), tf32Number(), wide, narrow});
  multiply<float>(launch("e4m3"), {32, 32, e4m3Number(), e4m3Number(), narrow, plain});
  multiply<float>(launch("e5m2"), {32, 32, e5m2Number(), e4m3Number(), plain, wide});
  multiply<uint32_t>(launch("e4m3_half"),
                     {32, 32, e4m3Number(), e5m2Number(), wide, wide, 1, true});
  multiply<int32_t>(launch("s8"), {32, 32, s8Number(), s8Number(), wide, narrow});
  Product unsignedProduct{32, 32, u8Number(), u8Number(), wide, wide};
  unsignedProduct.noSign = true;
  multiply<int32_t>(launch("u8"), unsignedProduct);
}

} // namespace
