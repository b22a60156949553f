//===- StoreKernels.cpp - Self-test: copies from shared to global ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads write tiles of 1024 bytes to shared memory and a bulk or tensor store
// (or reduction) takes them out. The kernels differ in the number of staging
// buffers, the kind of copy, and who issues and waits.
//
//===----------------------------------------------------------------------===//
#include "selftest/Matrix.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace;

enum class Copy { Bulk, Tensor, TensorSwizzled, Reduce };

struct Variant {
  const char *name;
  Copy copy;
  unsigned buffers;
  bool fullWait = false;  ///< waits for the writes, then reads them back
  bool fenceLate = false; ///< the issuing thread fences after the barrier
};

constexpr Variant variants[] = {
    {"store-bulk", Copy::Bulk, 1},
    {"store-bulk-doubled", Copy::Bulk, 2},
    {"store-tensor", Copy::Tensor, 1},
    {"store-tensor-swizzled-doubled", Copy::TensorSwizzled, 2},
    {"store-tensor-tripled", Copy::Tensor, 3},
    {"store-bulk-read-back", Copy::Bulk, 1, true},
    {"store-tensor-late-fence", Copy::Tensor, 2, false, true},
    {"store-reduce", Copy::Reduce, 1},
};

Kernel makeKernel(const Variant &v) {
  Builder b("sm_90a");
  b.shared("stage", v.buffers * 1024, 1024);
  std::string tid = b.mov("%tid.x"), n = b.r32(), base = b.mov("stage");
  b.op("ld.param.u32 " + n + ", [count]");
  std::string in = b.param64("in"), out = b.param64("out");
  std::string first = b.compare("eq", tid, "0");
  std::string pending = std::to_string(v.buffers - 1);
  b.loop(n, [&](const std::string &i) {
    std::string slot, phase;
    position(b, i, v.buffers, slot, phase, "");
    std::string at = b.mad(slot, "1024", base);
    // The buffer is free when all but the youngest groups have been read.
    b.op("@" + first + " cp.async.bulk.wait_group.read " + pending, "wait-read");
    b.op("bar.sync 0", "free");
    b.loop("2", [&](const std::string &j) {
      std::string word = b.mad(j, "128", tid);
      std::string index = b.mad(i, "256", word), value = b.r32();
      b.op("ld.global.u32 " + value + ", [" + b.element(in, index) + "]");
      std::string result = b.mad(value, "3", "5"), offset = b.r32();
      b.op("shl.b32 " + offset + ", " + word + ", 2");
      if (v.copy == Copy::TensorSwizzled) {
        std::string row = b.r32();
        b.op("and.b32 " + row + ", " + offset + ", 0x380");
        b.op("shr.u32 " + row + ", " + row + ", 3");
        b.op("xor.b32 " + offset + ", " + offset + ", " + row);
      }
      b.op("st.shared.u32 [" + b.add(at, offset) + "], " + result, "write");
    });
    if (!v.fenceLate)
      b.op("fence.proxy.async.shared::cta", "fence");
    b.op("bar.sync 0", "written");
    b.when(first, [&] {
      if (v.fenceLate)
        b.op("fence.proxy.async.shared::cta", "fence");
      if (v.copy == Copy::Bulk || v.copy == Copy::Reduce) {
        std::string to = b.r64();
        b.op("mad.wide.u32 " + to + ", " + i + ", 1024, " + out);
        b.op(std::string(v.copy == Copy::Bulk ? "cp.async.bulk.global.shared::cta.bulk_group"
                                              : "cp.reduce.async.bulk.global.shared::cta.bulk_"
                                                "group.add.u32") +
                 " [" + to + "], [" + at + "], 1024",
             "store");
      } else {
        std::string y = b.mad(i, "8", "0");
        b.op("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [" + b.map("map2") + ", {0, " +
                 y + "}], [" + at + "]",
             "store");
      }
      b.op("cp.async.bulk.commit_group", "commit");
    });
  });
  b.when(first, [&] {
    b.op(std::string("cp.async.bulk.wait_group") + (v.fullWait ? "" : ".read") + " 0", "wait-end");
    if (v.fullWait) {
      // What this thread has waited for it may read.
      std::string value = b.r32();
      b.op("ld.global.u32 " + value + ", [" + out + "]", "read-back");
      b.op("add.u32 " + value + ", " + value + ", 1");
      b.op("st.global.u32 [" + out + "], " + value);
    }
  });
  Kernel kernel;
  kernel.name = v.name;
  kernel.family = "store";
  kernel.text = b.finish();
  kernel.config.block = {128, 1, 1};
  kernel.iterations = 2 * v.buffers + 2;
  kernel.outputStartsAtZero = v.copy == Copy::Reduce;
  kernel.input.resize(kernel.iterations * 1024);
  kernel.expected.resize(kernel.iterations * 256);
  for (uint32_t i = 0; i < kernel.expected.size(); ++i) {
    uint32_t value = i * 40503u + 17;
    memcpy(kernel.input.data() + 4 * i, &value, 4);
    kernel.expected[i] = value * 3 + 5;
  }
  if (v.fullWait)
    ++kernel.expected[0];
  uint32_t tiles = kernel.iterations;
  bool swizzled = v.copy == Copy::TensorSwizzled;
  kernel.maps = [tiles, swizzled](uint64_t, uint64_t, uint64_t out, TensorMap *maps) {
    maps[2].dataType = 2;
    maps[2].rank = 2;
    maps[2].base = out;
    maps[2].dims[0] = 32;
    maps[2].dims[1] = tiles * 8;
    maps[2].strides[1] = 128;
    maps[2].box[0] = 32;
    maps[2].box[1] = 8;
    maps[2].swizzle = swizzled ? 3 : 0;
  };
  kernel.twins = {
      {"no proxy fence", "fence", "", "", {EmuMissingProxyFence}, {"store", "write"}},
      {"stores before all is written", "written", "", "", {race}, {"store", "write"}},
      {"overwrites a buffer in use", "wait-read", "", "", {race}, {"store", "write"}},
      {"waits for one group less",
       "wait-read",
       "read " + pending,
       "read " + std::to_string(v.buffers),
       {race},
       {"store", "write"}},
      {"others do not wait", "free", "", "", {race}, {"store", "write"}},
      {"never committed",
       "commit",
       "",
       "",
       {race, EmuInFlightAtExit},
       {"store", "write", "read-back"}},
  };
  if (v.fullWait)
    kernel.twins.push_back(
        {"waits for reads only", "wait-end", " 0", ".read 0", {race}, {"read-back", "store"}});
  else
    kernel.twins.push_back(
        {"does not wait at the end", "wait-end", "", "", {EmuInFlightAtExit}, {"store"}});
  return kernel;
}

} // namespace

void addStoreKernels(std::vector<Kernel> &kernels) {
  for (const Variant &variant : variants)
    kernels.push_back(makeKernel(variant));
}

} // namespace penstock::emu::selftest
