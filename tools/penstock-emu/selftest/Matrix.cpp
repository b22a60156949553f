//===- Matrix.cpp - Operand tiles of the self-test's GEMMs ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "selftest/Matrix.h"
#include "Emulator/Float.h"

namespace penstock::emu::selftest {

void position(Builder &b, const std::string &i, unsigned stages, std::string &slot,
              std::string &phase, const std::string &tag) {
  slot = b.r32();
  std::string turn = b.r32();
  phase = b.r32();
  b.op("rem.u32 " + slot + ", " + i + ", " + std::to_string(stages));
  b.op("div.u32 " + turn + ", " + i + ", " + std::to_string(stages));
  b.op("and.b32 " + phase + ", " + turn + ", 1", tag);
}

void Tiles::load(Builder &b, bool bulk, const std::string &i, const std::string &at,
                 const std::string &bar) const {
  b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + bar + "], " + std::to_string(bytes()),
       "expect");
  std::string atB = b.add(at, std::to_string(bytesA()));
  if (bulk) {
    std::string from = b.r64();
    b.op("mad.wide.u32 " + from + ", " + i + ", " + std::to_string(bytes()) + ", " +
         b.param64("in"));
    b.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" + at + "], [" +
             from + "], " + std::to_string(bytesA()) + ", [" + bar + "]",
         "load-a");
    b.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" + atB + "], [" +
             from + "+" + std::to_string(bytesA()) + "], " + std::to_string(bytesB()) + ", [" +
             bar + "]",
         "load-b");
    return;
  }
  std::string x = b.mad(i, "64", "0");
  const std::string copy = "cp.async.bulk.tensor.2d.shared::cluster.global."
                           "mbarrier::complete_tx::bytes [";
  b.op(copy + at + "], [" + b.map("map0") + ", {" + x + ", 0}], [" + bar + "]", "load-a");
  b.op(copy + atB + "], [" + b.map("map1") + ", {" + x + ", 0}], [" + bar + "]", "load-b");
}

void Tiles::copyByThreads(Builder &b, bool cpAsync, const std::string &i, const std::string &at,
                          const std::string &tid, unsigned threads) const {
  std::string from = b.r64();
  b.op("mad.wide.u32 " + from + ", " + i + ", " + std::to_string(bytes()) + ", " + b.param64("in"));
  b.loop(std::to_string(bytes() / 16 / threads), [&](const std::string &j) {
    std::string piece = b.mad(j, std::to_string(threads), tid);
    std::string source = b.r64(), to = b.mad(piece, "16", at);
    b.op("mad.wide.u32 " + source + ", " + piece + ", 16, " + from);
    if (cpAsync) {
      b.op("cp.async.cg.shared.global [" + to + "], [" + source + "], 16", "fill");
      return;
    }
    std::string v[4];
    for (std::string &reg : v)
      reg = b.r32();
    std::string list = "{" + v[0] + ", " + v[1] + ", " + v[2] + ", " + v[3] + "}";
    b.op("ld.global.v4.u32 " + list + ", [" + source + "]");
    b.op("st.shared.v4.u32 [" + to + "], " + list, "fill");
  });
  if (cpAsync) {
    b.op("cp.async.commit_group");
    b.op("cp.async.wait_group 0", "wait-copies");
  }
}

std::string Tiles::descriptor(Builder &b, const std::string &address, unsigned kk,
                              bool tcgen05) const {
  uint64_t constant = uint64_t(1024 >> 4) << 32;
  if (swizzled)
    constant |= uint64_t(1) << 16 | (tcgen05 ? uint64_t(2) << 61 : uint64_t(1) << 62);
  else
    constant |= uint64_t(128 >> 4) << 16;
  if (tcgen05)
    constant |= uint64_t(1) << 46;
  std::string start = b.add(address, std::to_string(kk * (swizzled ? 32 : 256)));
  b.op("and.b32 " + start + ", " + start + ", 0x3ffff");
  b.op("shr.u32 " + start + ", " + start + ", 4");
  std::string d = b.r64();
  b.op("cvt.u64.u32 " + d + ", " + start);
  b.op("or.b64 " + d + ", " + d + ", " + std::to_string(constant));
  return d;
}

void Tiles::loadFragments(Builder &b, const std::string &rowsA, const std::string &t, unsigned kk,
                          std::vector<std::string> &out) const {
  // Row t/4 % 8 + 16 * (t / 32), then + 8; k 2 * (t % 4), then + 8.
  std::string row = b.r32(), warp = b.r32(), quad = b.r32();
  b.op("shr.u32 " + row + ", " + t + ", 2");
  b.op("and.b32 " + row + ", " + row + ", 7");
  b.op("shr.u32 " + warp + ", " + t + ", 5");
  b.op("mad.lo.u32 " + row + ", " + warp + ", 16, " + row);
  b.op("and.b32 " + quad + ", " + t + ", 3");
  for (unsigned r = 0; r < 4; ++r) {
    std::string line = b.add(row, std::to_string(8 * (r % 2)));
    // Chunk of 16 bytes: 2 * kk + r / 2, swizzled by the row.
    std::string swizzle = b.r32(), chunk = b.r32(), value = b.r32();
    b.op("and.b32 " + swizzle + ", " + line + ", 7");
    b.op("xor.b32 " + chunk + ", " + swizzle + ", " + std::to_string(2 * kk + r / 2));
    std::string at = b.mad(line, "128", rowsA);
    at = b.mad(chunk, "16", at);
    at = b.mad(quad, "4", at);
    b.op("ld.shared.u32 " + value + ", [" + at + "]", "fragment");
    out.push_back(value);
  }
}

void Tiles::storeFragments(Builder &b, const std::vector<std::string> &d, const std::string &t,
                           const std::string &row0, bool tmaStore, unsigned threads,
                           const std::string &tid) const {
  std::string row = b.r32(), warp = b.r32(), column = b.r32();
  b.op("shr.u32 " + row + ", " + t + ", 2");
  b.op("and.b32 " + row + ", " + row + ", 7");
  b.op("shr.u32 " + warp + ", " + t + ", 5");
  b.op("mad.lo.u32 " + row + ", " + warp + ", 16, " + row);
  b.op("add.u32 " + row + ", " + row + ", " + row0);
  b.op("and.b32 " + column + ", " + t + ", 3");
  b.op("shl.b32 " + column + ", " + column + ", 1");
  std::string out = b.param64("out"), shared;
  if (tmaStore)
    shared = b.mov("result");
  for (size_t i = 0; i < d.size(); ++i) {
    std::string r = b.add(row, std::to_string(8 * (i / 2 % 2)));
    std::string c = b.add(column, std::to_string(i % 2 + 8 * (i / 4)));
    std::string index = b.mad(r, std::to_string(columns), c);
    if (tmaStore)
      b.op("st.shared.u32 [" + b.mad(index, "4", shared) + "], " + d[i], i == 0   ? "result"
                                                                         : i == 1 ? "write"
                                                                                  : "");
    else
      b.op("st.global.u32 [" + b.element(out, index) + "], " + d[i], i == 0 ? "result" : "");
  }
  if (!tmaStore)
    return;
  b.op("fence.proxy.async.shared::cta", "store-fence");
  b.op("bar.sync 7, " + std::to_string(threads), "store-barrier");
  b.when(b.compare("eq", tid, "0"), [&] {
    b.op("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [" + b.map("map2") +
             ", {0, 0}], [" + shared + "]",
         "store");
    b.op("cp.async.bulk.commit_group", "store-commit");
    b.op("cp.async.bulk.wait_group.read 0", "store-wait");
  });
}

void Tiles::data(Kernel &kernel) const {
  unsigned steps = kernel.iterations, k = 64 * steps;
  std::vector<float> a(size_t(rows) * k), bt(size_t(columns) * k);
  uint32_t state = 99;
  auto next = [&] {
    state = state * 1664525 + 1013904223;
    return float(int(state >> 24) % 7 - 3);
  };
  for (float &x : a)
    x = next();
  for (float &x : bt)
    x = next();
  kernel.expected.resize(size_t(rows) * columns);
  for (unsigned m = 0; m < rows; ++m)
    for (unsigned n = 0; n < columns; ++n) {
      float sum = 0;
      for (unsigned x = 0; x < k; ++x)
        sum += a[size_t(m) * k + x] * bt[size_t(n) * k + x];
      kernel.expected[m * columns + n] = std::bit_cast<uint32_t>(sum);
    }
  auto half = [](float x, uint8_t *to) {
    uint16_t h = floatToHalf(x);
    memcpy(to, &h, 2);
  };
  if (swizzled) {
    kernel.input.resize(a.size() * 2);
    kernel.input2.resize(bt.size() * 2);
    for (size_t i = 0; i < a.size(); ++i)
      half(a[i], kernel.input.data() + 2 * i);
    for (size_t i = 0; i < bt.size(); ++i)
      half(bt[i], kernel.input2.data() + 2 * i);
  } else {
    kernel.input.resize(size_t(bytes()) * steps);
    for (unsigned s = 0; s < steps; ++s)
      for (unsigned part = 0; part < 2; ++part)
        for (unsigned r = 0; r < (part ? columns : rows); ++r)
          for (unsigned x = 0; x < 64; ++x) {
            size_t at = size_t(s) * bytes() + (part ? bytesA() : 0) + r / 8 * 1024 + x / 8 * 128 +
                        r % 8 * 16 + x % 8 * 2;
            half(part ? bt[size_t(r) * k + s * 64 + x] : a[size_t(r) * k + s * 64 + x],
                 kernel.input.data() + at);
          }
  }
  Tiles self = *this;
  kernel.maps = [self, k](uint64_t in, uint64_t in2, uint64_t out, TensorMap *maps) {
    for (int i = 0; i < 2; ++i) {
      TensorMap &map = maps[i];
      map.dataType = 6;
      map.rank = 2;
      map.base = i ? in2 : in;
      map.dims[0] = k;
      map.dims[1] = i ? self.columns : self.rows;
      map.strides[1] = uint64_t(k) * 2;
      map.box[0] = 64;
      map.box[1] = i ? self.columns : self.rows;
      map.swizzle = 3;
    }
    TensorMap &map = maps[2];
    map.dataType = 7; // f32
    map.rank = 2;
    map.base = out;
    map.dims[0] = self.columns;
    map.dims[1] = self.rows;
    map.strides[1] = uint64_t(self.columns) * 4;
    map.box[0] = self.columns;
    map.box[1] = self.rows;
  };
}

} // namespace penstock::emu::selftest
