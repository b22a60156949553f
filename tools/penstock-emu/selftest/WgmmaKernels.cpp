//===- WgmmaKernels.cpp - Self-test: wgmma --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D = A * B^T with 64 rows per warpgroup and 16 columns, k in steps of 64. The
// kernels differ in how operands get into shared memory and are published, in
// how many groups stay in flight, in where A comes from and in how the result
// leaves.
//
//===----------------------------------------------------------------------===//
#include "selftest/Matrix.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, deadlock = EmuDeadlock;

enum class Source { TmaRing, BulkRing, TmaOneRole, CpAsync, Stores };

struct Variant {
  const char *name;
  Source source;
  unsigned stages = 2, groups = 1; ///< warpgroups
  unsigned inFlight = 0;           ///< wgmma groups kept running
  bool leader = false;             ///< one arrival per warpgroup
  bool registersA = false;
  bool tmaStore = false;
};

constexpr Variant variants[] = {
    {"wgmma-ring", Source::TmaRing},
    {"wgmma-ring-leader", Source::TmaRing, 3, 1, 0, true},
    {"wgmma-ring-in-flight", Source::TmaRing, 4, 1, 1},
    {"wgmma-ring-two-groups", Source::TmaRing, 2, 2, 0, true},
    {"wgmma-ring-two-groups-in-flight", Source::TmaRing, 3, 2, 1, true},
    {"wgmma-ring-registers", Source::TmaRing, 2, 1, 0, false, true},
    {"wgmma-ring-tma-store", Source::TmaRing, 3, 1, 0, false, false, true},
    {"wgmma-bulk-ring", Source::BulkRing},
    {"wgmma-bulk-ring-leader", Source::BulkRing, 3, 1, 1, true},
    {"wgmma-one-role", Source::TmaOneRole, 2},
    {"wgmma-cp-async", Source::CpAsync, 1},
    {"wgmma-stores", Source::Stores, 1},
    {"wgmma-stores-tma-store", Source::Stores, 1, 1, 0, false, false, true},
};

constexpr unsigned columns = 16;

Kernel makeKernel(const Variant &v) {
  Builder b("sm_90a");
  unsigned rows = 64 * v.groups, threads = 128 * v.groups;
  bool ring = v.source == Source::TmaRing || v.source == Source::BulkRing;
  Tiles tiles{rows, columns, v.source == Source::TmaRing || v.source == Source::TmaOneRole};
  unsigned slotBytes = tiles.bytes();
  std::string stages = std::to_string(v.stages);
  b.shared("ring", v.stages * slotBytes, 1024);
  if (v.tmaStore)
    b.shared("result", rows * columns * 4, 1024);
  b.shared("full", v.stages * 8, 8);
  b.shared("empty", v.stages * 8, 8);
  std::string tid = b.mov("%tid.x"), n = b.r32(), base = b.mov("ring"), full = b.mov("full"),
              empty = b.mov("empty");
  b.op("ld.param.u32 " + n + ", [count]");
  unsigned emptyCount = v.leader ? v.groups : threads;
  b.when(b.compare("eq", tid, "0"), [&] {
    b.loop(stages, [&](const std::string &s) {
      b.op("mbarrier.init.shared::cta.b64 [" + b.mad(s, "8", full) + "], 1", "init-full");
      b.op("mbarrier.init.shared::cta.b64 [" + b.mad(s, "8", empty) + "], " +
               std::to_string(emptyCount),
           "init-empty");
    });
    b.op("fence.mbarrier_init.release.cluster");
  });
  b.op("bar.sync 0", "publish");
  std::string end = b.freshLabel();
  // The producer is the warp after the warpgroups.
  if (ring) {
    std::string consumer = b.freshLabel();
    std::string isConsumer = b.compare("lt", tid, std::to_string(threads));
    b.op("@" + isConsumer + " bra " + consumer);
    b.elect([&] {
      b.loop(n, [&](const std::string &i) {
        std::string slot, phase;
        position(b, i, v.stages, slot, phase, "");
        std::string flipped = b.r32();
        b.op("xor.b32 " + flipped + ", " + phase + ", 1", "producer-phase");
        b.wait(b.mad(slot, "8", empty), flipped, "wait-empty");
        tiles.load(b, v.source == Source::BulkRing, i, b.mad(slot, std::to_string(slotBytes), base),
                   b.mad(slot, "8", full));
      });
    });
    b.op("bra " + end);
    b.label(consumer);
  }
  // Accumulators.
  std::vector<std::string> d;
  for (unsigned i = 0; i < columns / 2; ++i)
    d.push_back(b.mov("0"));
  std::string group = b.r32(), t = b.r32(), rowOffset = b.r32();
  b.op("shr.u32 " + group + ", " + tid + ", 7");
  b.op("and.b32 " + t + ", " + tid + ", 127");
  b.op("shl.b32 " + rowOffset + ", " + group + ", 13"); // 64 rows of 128 bytes
  std::string first = b.compare("eq", tid, "0");
  if (v.source == Source::TmaOneRole)
    b.when(first, [&] { tiles.load(b, false, "0", base, full); });
  b.loop(n, [&](const std::string &i) {
    std::string slot, phase;
    position(b, i, v.stages, slot, phase, "consumer-phase");
    std::string at = b.mad(slot, std::to_string(slotBytes), base);
    if (v.source == Source::TmaOneRole) {
      // Thread 0 loads one tile ahead; the barrier at the end of an iteration
      // tells that the other slot is free.
      std::string next = b.add(i, "1");
      std::string more = b.pred();
      b.op("setp.lt.u32 " + more + ", " + next + ", " + n);
      b.op("and.pred " + more + ", " + more + ", " + first);
      b.when(more, [&] {
        std::string s, p;
        position(b, next, v.stages, s, p, "");
        tiles.load(b, false, next, b.mad(s, std::to_string(slotBytes), base), b.mad(s, "8", full));
      });
    }
    if (ring || v.source == Source::TmaOneRole) {
      b.wait(b.mad(slot, "8", full), phase, "wait-full");
    } else {
      tiles.copyByThreads(b, v.source == Source::CpAsync, i, at, tid, threads);
      b.op("fence.proxy.async.shared::cta", "proxy-fence");
      b.op("bar.sync 0", "filled");
    }
    std::string rowsA = b.add(at, rowOffset);
    // Fragments of A in registers are read as any other data.
    std::vector<std::string> a;
    if (v.registersA) {
      for (unsigned kk = 0; kk < 4; ++kk)
        tiles.loadFragments(b, rowsA, t, kk, a);
      b.op("fence.proxy.async.shared::cta", "read-fence");
    }
    b.op("wgmma.fence.sync.aligned", "fence");
    std::string scale = b.pred();
    std::string list;
    for (const std::string &reg : d)
      list += (list.empty() ? "" : ", ") + reg;
    for (unsigned kk = 0; kk < 4; ++kk) {
      if (kk == 0)
        b.op("setp.ne.u32 " + scale + ", " + i + ", 0");
      else if (kk == 1)
        b.op("setp.eq.u32 " + scale + ", 0, 0");
      std::string descA = v.registersA ? "{" + a[kk * 4] + ", " + a[kk * 4 + 1] + ", " +
                                             a[kk * 4 + 2] + ", " + a[kk * 4 + 3] + "}"
                                       : tiles.descriptor(b, rowsA, kk, false);
      std::string descB = tiles.descriptor(b, b.add(at, std::to_string(tiles.bytesA())), kk, false);
      b.op("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {" + list + "}, " + descA + ", " +
               descB + ", " + scale + ", 1, 1, " + (v.registersA ? "0" : "0, 0"),
           kk == 0 ? "mma" : "mma" + std::to_string(kk));
    }
    b.op("wgmma.commit_group.sync.aligned", "commit");
    b.op("wgmma.wait_group.sync.aligned " + std::to_string(v.inFlight), "wait");
    if (ring) {
      // With groups in flight the slot before this one has become free.
      auto release = [&](const std::string &freed) {
        std::string arrive =
            "mbarrier.arrive.shared::cta.b64 _, [" + b.mad(freed, "8", empty) + "]";
        if (v.leader) {
          // The product is one operation of four warps: the wait of the leader covers them.
          std::string leader = b.compare("eq", t, "0");
          b.op("@" + leader + " " + arrive, "release");
        } else {
          b.op(arrive, "release");
        }
      };
      if (v.inFlight == 0) {
        release(slot);
      } else {
        b.when(b.compare("ge", i, "1"), [&] {
          std::string before = b.add(i, "-1"), s, p;
          position(b, before, v.stages, s, p, "");
          release(s);
        });
      }
    }
  });
  if (v.inFlight)
    b.op("wgmma.wait_group.sync.aligned 0", "wait-all");
  tiles.storeFragments(b, d, t, b.mad(group, "64", "0"), v.tmaStore, threads, tid);
  b.label(end);

  Kernel kernel;
  kernel.name = v.name;
  kernel.family = "wgmma";
  kernel.text = b.finish();
  kernel.config.block = {threads + (ring ? 32 : 0), 1, 1};
  kernel.iterations = 2 * v.stages + 1;
  tiles.data(kernel);

  auto twin = [&](Twin each) { kernel.twins.push_back(std::move(each)); };
  const std::vector<std::string> mmas = {"mma", "mma1", "mma2", "mma3"};
  std::vector<std::string> access = mmas;
  for (const char *tag : {"load-a", "load-b", "fill", "fragment"})
    access.push_back(tag);
  if (v.inFlight == 0)
    twin({"reads the result too early",
          "wait",
          "",
          "",
          {EmuRegisterInFlight},
          {"result", "mma", "fragment"}});
  else
    twin({"reads the result too early",
          "wait-all",
          "",
          "",
          {EmuRegisterInFlight},
          {"result", "mma"}});
  twin({"no wgmma.fence", "fence", "", "", {EmuRegisterInFlight}, mmas});
  if (ring || v.source == Source::TmaOneRole) {
    twin({"multiplies without waiting", "wait-full", "$wait", "", {race}, access});
    twin({"consumer in the wrong phase", "consumer-phase", "and.b32", "or.b32", {race}, access});
    twin({"expects too many bytes",
          "expect",
          std::to_string(slotBytes),
          std::to_string(slotBytes + 1024),
          {deadlock},
          {"wait-full", "wait-empty"}});
    twin({"expects too few bytes",
          "expect",
          std::to_string(slotBytes),
          std::to_string(slotBytes - columns * 128),
          {race, deadlock, EmuMbarrierMisuse},
          {"mma", "mma1", "mma2", "mma3", "load-a", "load-b", "wait-full", "wait-empty", "fragment",
           "expect"}});
  } else {
    twin({"no proxy fence", "proxy-fence", "", "", {EmuMissingProxyFence}, access});
    twin({"no barrier after filling", "filled", "", "", {race}, access});
    if (v.source == Source::CpAsync)
      twin({"no wait for cp.async", "wait-copies", "", "", {race}, access});
  }
  if (ring) {
    twin({"fills without waiting", "wait-empty", "$wait", "", {race}, access});
    twin({"never released", "release", "", "", {deadlock}, {"wait-empty", "wait-full"}});
    if (v.registersA)
      twin({"no fence after the reads", "read-fence", "", "", {EmuMissingProxyFence}, access});
    if (v.inFlight)
      twin({"releases a slot in use", "wait", std::to_string(v.inFlight), "2", {race}, access});
  }
  if (v.tmaStore) {
    twin({"no proxy fence before the store",
          "store-fence",
          "",
          "",
          {EmuMissingProxyFence},
          {"store", "write"}});
    twin({"no wait for the store", "store-wait", "", "", {EmuInFlightAtExit}, {"store"}});
  }
  return kernel;
}

} // namespace

void addWgmmaKernels(std::vector<Kernel> &kernels) {
  for (const Variant &variant : variants)
    kernels.push_back(makeKernel(variant));
}

} // namespace penstock::emu::selftest
