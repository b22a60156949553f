//===- ProxyKernels.cpp - Self-test: generic accesses beside engines ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads and engines use the same memory: a tile that is refilled after it was
// read, a tensor map that is edited after a copy has used it, and a word to which
// both add.
//
//===----------------------------------------------------------------------===//
#include "selftest/Builder.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, fence = EmuMissingProxyFence;

Kernel begin(const char *name, unsigned threads) {
  Kernel kernel;
  kernel.name = std::string("proxy-") + name;
  kernel.family = "proxy";
  kernel.config.block = {threads, 1, 1};
  return kernel;
}

/// \p words of input, counted from 1.
void countInput(Kernel &kernel, uint32_t words) {
  for (uint32_t i = 0; i < words; ++i)
    for (unsigned byte = 0; byte < 4; ++byte)
      kernel.input.push_back(uint8_t((i + 1) >> 8 * byte));
}

/// A tile is read by all threads, and overwritten by the next copy after a barrier.
void addRefill(std::vector<Kernel> &kernels, const char *name, const char *target, bool byLoad) {
  constexpr unsigned tiles = 3, threads = 64;
  Builder b(target);
  b.shared("tile", 256, 128);
  b.shared("full", 8, 8);
  std::string tid = b.mov("%tid.x"), in = b.param64("in"), out = b.param64("out");
  std::string first = b.compare("eq", tid, "0"), tile = b.mov("tile"), full = b.mov("full");
  b.when(first, [&] {
    b.op("mbarrier.init.shared::cta.b64 [" + full + "], 1");
    b.op("fence.mbarrier_init.release.cluster");
  });
  b.op("bar.sync 0");
  b.loop(std::to_string(tiles), [&](const std::string &i) {
    b.when(first, [&] {
      b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + full + "], 256");
      std::string from = b.r64();
      b.op("mad.wide.u32 " + from + ", " + i + ", 256, " + in);
      b.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" + tile + "], [" +
               from + "], 256, [" + full + "]",
           "fill");
    });
    std::string phase = b.r32();
    b.op("and.b32 " + phase + ", " + i + ", 1");
    b.wait(full, phase, "wait");
    std::string value = b.r32(), at = b.mad(tid, "4", tile);
    if (byLoad)
      b.op("ld.shared.u32 " + value + ", [" + at + "]", "read");
    else
      b.op("atom.shared.exch.b32 " + value + ", [" + at + "], 0", "read");
    b.op("st.global.u32 [" + b.element(out, b.mad(i, "64", tid)) + "], " + value);
    b.op("fence.proxy.async.shared::cta", "fence");
    b.op("bar.sync 0", "release");
  });
  Kernel kernel = begin(name, threads);
  kernel.text = b.finish();
  countInput(kernel, tiles * threads);
  for (uint32_t i = 0; i < tiles * threads; ++i)
    kernel.expected.push_back(i + 1);
  kernel.twins = {{"no fence", "fence", "", "", {fence}, {"read", "fill"}},
                  {"no barrier", "release", "", "", {race, fence}, {"read", "fill"}}};
  kernels.push_back(std::move(kernel));
}

/// One thread copies two tiles by a map in memory, which it changes in between.
void addMap(std::vector<Kernel> &kernels, const char *name, bool byGroup) {
  Builder b("sm_90a");
  b.shared("map", 128, 128);
  b.shared("tile", 512, 128);
  b.shared("full", 8, 8);
  std::string tid = b.mov("%tid.x"), in = b.param64("in"), out = b.param64("out");
  std::string work = b.param64("in2"), first = b.compare("eq", tid, "0");
  std::string map = b.mov("map"), tile = b.mov("tile"), full = b.mov("full"), zero = b.mov("0");
  b.when(first, [&] {
    std::string from = b.map("map0"), word = b.r64();
    for (unsigned i = 0; i < 16; ++i) {
      std::string offset = "+" + std::to_string(8 * i) + "]";
      b.op("ld.u64 " + word + ", [" + from + offset);
      b.op("st.shared.u64 [" + map + offset + ", " + word);
    }
    b.op("mbarrier.init.shared::cta.b64 [" + full + "], 1");
    b.op("fence.mbarrier_init.release.cluster");
  });
  b.op("bar.sync 0");
  auto publish = [&](const std::string &tag) {
    b.op(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [" +
            work + "], [" + map + "], 128",
        tag);
  };
  auto load = [&](const std::string &to, const std::string &tag) {
    b.when(first, [&] {
      b.op("fence.proxy.tensormap::generic.acquire.gpu [" + work + "], 128");
      b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + full + "], 256");
      b.op("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [" + to +
               "], [" + work + ", {" + zero + "}], [" + full + "]",
           tag);
      if (byGroup) {
        b.op("cp.async.bulk.commit_group");
        b.op("cp.async.bulk.wait_group.read 0", "drain");
      }
    });
    b.op("bar.warp.sync 0xffffffff");
  };
  publish("");
  load(tile, "load");
  if (!byGroup)
    b.wait(full, "0", "drain");
  std::string moved = b.r64();
  b.op("add.u64 " + moved + ", " + in + ", 256");
  b.op("@" + first + " tensormap.replace.tile.global_address.shared::cta.b1024.b64 [" + map +
       "], " + moved);
  b.op("bar.warp.sync 0xffffffff");
  publish("edit");
  if (byGroup)
    b.wait(full, "0", "");
  load(b.add(tile, "256"), "load2");
  b.wait(full, "1", "");
  for (unsigned i = 0; i < 4; ++i) {
    std::string value = b.r32(), word = b.add(tid, std::to_string(32 * i));
    b.op("ld.shared.u32 " + value + ", [" + b.mad(word, "4", tile) + "]");
    b.op("st.global.u32 [" + b.element(out, word) + "], " + value);
  }
  Kernel kernel = begin(name, 32);
  kernel.text = b.finish();
  countInput(kernel, 128);
  kernel.input2.resize(128);
  for (uint32_t i = 0; i < 128; ++i)
    kernel.expected.push_back(i + 1);
  kernel.maps = [](uint64_t in, uint64_t, uint64_t, TensorMap *maps) {
    maps[0].dataType = 2; // u32
    maps[0].rank = 1;
    maps[0].base = in;
    maps[0].dims[0] = 64;
    maps[0].box[0] = 64;
  };
  if (byGroup)
    kernel.twins = {{"edited while in use", "drain", "", "", {race}, {"load", "edit"}}};
  else
    kernel.twins = {{"edited while in use", "drain", "$wait", "", {race}, {"load", "edit"}}};
  kernels.push_back(std::move(kernel));
}

/// An engine and a thread add to the same words, one after the other.
void addReduction(std::vector<Kernel> &kernels) {
  Builder b("sm_90a");
  b.shared("part", 128, 128);
  std::string tid = b.mov("%tid.x"), out = b.param64("out"), part = b.mov("part");
  std::string first = b.compare("eq", tid, "0"), second = b.compare("ge", tid, "32");
  std::string mine = b.r32();
  b.op("and.b32 " + mine + ", " + tid + ", 31");
  b.when(b.compare("lt", tid, "32"), [&] {
    b.op("st.shared.u32 [" + b.mad(mine, "4", part) + "], 5");
    b.op("fence.proxy.async.shared::cta");
    b.op("bar.warp.sync 0xffffffff");
  });
  b.when(first, [&] {
    b.op("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [" + out + "], [" + part +
             "], 128",
         "reduce");
    b.op("cp.async.bulk.commit_group");
    b.op("cp.async.bulk.wait_group 0", "await");
  });
  b.op("bar.sync 0", "order");
  b.op("@" + second + " red.relaxed.gpu.global.add.u32 [" + b.element(out, mine) + "], 2", "add");
  Kernel kernel = begin("reduction-beside-atomics", 64);
  kernel.text = b.finish();
  kernel.outputStartsAtZero = true;
  kernel.expected.assign(32, 7);
  kernel.twins = {{"no wait", "await", "", "", {race}, {"reduce", "add"}},
                  {"no barrier", "order", "", "", {race}, {"reduce", "add"}}};
  kernels.push_back(std::move(kernel));
}

} // namespace

void addProxyKernels(std::vector<Kernel> &kernels) {
  addRefill(kernels, "refill", "sm_90a", true);
  addRefill(kernels, "refill-blackwell", "sm_100a", true);
  addRefill(kernels, "refill-atomic", "sm_90a", false);
  addMap(kernels, "map", false);
  addMap(kernels, "map-group", true);
  addReduction(kernels);
}

} // namespace penstock::emu::selftest
