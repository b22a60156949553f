//===- RingKernels.cpp - Self-test: producers, rings, consumers -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp fills a ring of slots of 1024 bytes, other warps read them and write
// 2x + 1 to global memory. The kernels differ in who fills (tensor copies of
// several ranks and swizzles, bulk copies, cp.async, plain stores), in how a
// slot is given back, in how waits are written and in the number of slots and
// of consumers.
//
//===----------------------------------------------------------------------===//
#include "selftest/Matrix.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, deadlock = EmuDeadlock;

enum class Fill {
  Tensor1,
  Tensor2,
  Tensor2Swizzled,
  Tensor3,
  Tensor5,
  Bulk,
  BulkHalves,
  CpAsync,
  Stores
};
enum class Release { Threads, WarpLeader, GroupLeader };

struct Ring {
  const char *name;
  Fill fill;
  Release release;
  Builder::Wait wait;
  unsigned stages, consumers; ///< consumers: warps
  bool expectAfter = false;   ///< bytes are announced after the copy
  bool cluster = false;       ///< launched as a cluster of one, init fence
  bool watched = false;       ///< one more warp waits for each slot, and gives it back
};

constexpr Ring rings[] = {
    {"ring-tensor1-threads", Fill::Tensor1, Release::Threads, Builder::Wait::Try, 2, 1},
    {"ring-tensor2-threads", Fill::Tensor2, Release::Threads, Builder::Wait::Try, 3, 2},
    {"ring-tensor2-swizzled-threads", Fill::Tensor2Swizzled, Release::Threads,
     Builder::Wait::TryHint, 4, 4},
    {"ring-tensor3-warp", Fill::Tensor3, Release::WarpLeader, Builder::Wait::Try, 2, 2},
    {"ring-tensor5-warp", Fill::Tensor5, Release::WarpLeader, Builder::Wait::Try, 3, 4},
    {"ring-tensor2-swizzled-group", Fill::Tensor2Swizzled, Release::GroupLeader, Builder::Wait::Try,
     2, 4},
    {"ring-tensor1-group", Fill::Tensor1, Release::GroupLeader, Builder::Wait::Test, 3, 2},
    {"ring-tensor2-expect-after", Fill::Tensor2, Release::WarpLeader, Builder::Wait::TryHint, 2, 1,
     true},
    {"ring-tensor3-cluster", Fill::Tensor3, Release::Threads, Builder::Wait::Try, 4, 1, false,
     true},
    {"ring-bulk-threads", Fill::Bulk, Release::Threads, Builder::Wait::Try, 2, 2},
    {"ring-bulk-warp", Fill::Bulk, Release::WarpLeader, Builder::Wait::Test, 3, 4},
    {"ring-bulk-halves-group", Fill::BulkHalves, Release::GroupLeader, Builder::Wait::TryHint, 4,
     2},
    {"ring-bulk-halves-after", Fill::BulkHalves, Release::Threads, Builder::Wait::Try, 2, 1, true},
    {"ring-bulk-cluster", Fill::Bulk, Release::GroupLeader, Builder::Wait::Try, 3, 1, false, true},
    {"ring-cp-async-threads", Fill::CpAsync, Release::Threads, Builder::Wait::Try, 2, 1},
    {"ring-cp-async-group", Fill::CpAsync, Release::GroupLeader, Builder::Wait::Test, 4, 2},
    {"ring-bulk-watched", Fill::Bulk, Release::WarpLeader, Builder::Wait::Try, 4, 1, false, false,
     true},
    {"ring-stores-threads", Fill::Stores, Release::Threads, Builder::Wait::Try, 2, 2},
    {"ring-stores-warp", Fill::Stores, Release::WarpLeader, Builder::Wait::TryHint, 3, 4},
};

bool usesTensor(Fill fill) { return fill <= Fill::Tensor5; }
bool countsBytes(Fill fill) { return fill <= Fill::BulkHalves; }

void fillSlot(Builder &b, const Ring &ring, const std::string &i, const std::string &slotAddress,
              const std::string &bar, const std::string &lane) {
  auto tensor = [&](const std::string &rank, const std::string &coordinates) {
    b.op("cp.async.bulk.tensor." + rank +
             "d.shared::cluster.global.mbarrier::complete_tx::bytes [" + slotAddress + "], [" +
             b.map("map0") + ", {" + coordinates + "}], [" + bar + "]",
         "load");
  };
  std::string from = b.r64();
  switch (ring.fill) {
  case Fill::Tensor1: {
    std::string x = b.r32();
    b.op("shl.b32 " + x + ", " + i + ", 8");
    tensor("1", x);
    break;
  }
  case Fill::Tensor2:
  case Fill::Tensor2Swizzled: {
    std::string y = b.r32();
    b.op("shl.b32 " + y + ", " + i + ", 3");
    tensor("2", "0, " + y);
    break;
  }
  case Fill::Tensor3:
    tensor("3", "0, 0, " + i);
    break;
  case Fill::Tensor5:
    tensor("5", "0, 0, 0, 0, " + i);
    break;
  case Fill::Bulk:
  case Fill::BulkHalves: {
    b.op("mad.wide.u32 " + from + ", " + i + ", 1024, " + b.param64("in"));
    bool halves = ring.fill == Fill::BulkHalves;
    std::string bytes = halves ? "512" : "1024";
    b.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" + slotAddress +
             "], [" + from + "], " + bytes + ", [" + bar + "]",
         "load");
    if (halves)
      b.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
           "[" +
               slotAddress + "+512], [" + from + "+512], 512, [" + bar + "]",
           "load2");
    break;
  }
  case Fill::CpAsync: {
    b.op("mad.wide.u32 " + from + ", " + i + ", 1024, " + b.param64("in"));
    std::string offset = b.r32(), to = b.r32();
    b.op("shl.b32 " + offset + ", " + lane + ", 4");
    b.op("add.u32 " + to + ", " + slotAddress + ", " + offset);
    std::string wide = b.r64();
    b.op("cvt.u64.u32 " + wide + ", " + offset);
    b.op("add.u64 " + from + ", " + from + ", " + wide);
    b.op("cp.async.cg.shared.global [" + to + "], [" + from + "], 16", "load");
    b.op("cp.async.cg.shared.global [" + to + "+512], [" + from + "+512], 16");
    b.op("cp.async.mbarrier.arrive.noinc.shared.b64 [" + bar + "]", "filled");
    break;
  }
  case Fill::Stores: {
    b.op("mad.wide.u32 " + from + ", " + i + ", 1024, " + b.param64("in"));
    for (int j = 0; j < 8; ++j) {
      std::string v = b.r32();
      std::string word = b.add(lane, std::to_string(j * 32));
      b.op("ld.global.u32 " + v + ", [" + b.element(from, word) + "]");
      b.op("st.shared.u32 [" + b.mad(word, "4", slotAddress) + "], " + v, j == 0 ? "load" : "");
    }
    b.op("mbarrier.arrive.shared::cta.b64 _, [" + bar + "]", "filled");
    break;
  }
  }
}

Kernel makeRing(const Ring &ring) {
  Builder b("sm_90a");
  unsigned threads = ring.consumers * 32;
  std::string stages = std::to_string(ring.stages);
  b.shared("ring", ring.stages * 1024, 1024);
  b.shared("full", ring.stages * 8, 8);
  b.shared("empty", ring.stages * 8, 8);
  std::string tid = b.mov("%tid.x"), lane = b.mov("%laneid");
  std::string n = b.r32();
  b.op("ld.param.u32 " + n + ", [count]");
  std::string base = b.mov("ring"), full = b.mov("full"), empty = b.mov("empty");
  std::string warp = b.r32();
  b.op("shr.u32 " + warp + ", " + tid + ", 5");
  bool lanes = !countsBytes(ring.fill); // all lanes of the producer take part
  unsigned emptyCount = ring.release == Release::Threads      ? threads
                        : ring.release == Release::WarpLeader ? ring.consumers
                                                              : 1;
  std::string emptyText = std::to_string(emptyCount), watches;
  if (ring.watched) {
    watches = b.r32();
    b.op("mov.u32 " + watches + ", 1", "watches");
    emptyText = b.add(watches, emptyText);
  }
  b.when(b.compare("eq", tid, "0"), [&] {
    b.loop(stages, [&](const std::string &s) {
      std::string f = b.mad(s, "8", full), e = b.mad(s, "8", empty);
      b.op("mbarrier.init.shared::cta.b64 [" + f + "], " + (lanes ? "32" : "1"), "init-full");
      b.op("mbarrier.init.shared::cta.b64 [" + e + "], " + emptyText, "init-empty");
    });
    if (ring.cluster)
      b.op("fence.mbarrier_init.release.cluster", "init-fence");
  });
  if (ring.cluster) {
    b.op("barrier.cluster.arrive.relaxed.aligned", "publish");
    b.op("barrier.cluster.wait.acquire.aligned", "publish-wait");
  } else {
    b.op("bar.sync 0", "publish");
  }

  std::string consumer = b.freshLabel(), end = b.freshLabel();
  if (ring.watched) {
    std::string unwatched = b.freshLabel();
    b.op("@" + b.compare("ne", warp, std::to_string(ring.consumers + 1)) + " bra " + unwatched);
    b.loop(n, [&](const std::string &i) {
      std::string slot, phase;
      position(b, i, ring.stages, slot, phase, "");
      b.wait(b.mad(slot, "8", full), phase, "watch", ring.wait);
      b.op("bar.warp.sync 0xffffffff");
      std::string leads = b.compare("lt", lane, watches);
      b.op("@" + leads + " mbarrier.arrive.shared::cta.b64 _, [" + b.mad(slot, "8", empty) + "]");
    });
    b.op("bra " + end);
    b.label(unwatched);
  }
  std::string isConsumer = b.compare("ne", warp, "0");
  b.op("@" + isConsumer + " bra " + consumer);
  auto produce = [&] {
    b.loop(n, [&](const std::string &i) {
      std::string slot, phase;
      position(b, i, ring.stages, slot, phase, "");
      std::string flipped = b.r32();
      b.op("xor.b32 " + flipped + ", " + phase + ", 1", "producer-phase");
      b.wait(b.mad(slot, "8", empty), flipped, "wait-empty", ring.wait);
      std::string bar = b.mad(slot, "8", full);
      std::string at = b.mad(slot, "1024", base);
      auto expect = [&] {
        b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + bar + "], 1024", "expect");
      };
      if (countsBytes(ring.fill) && !ring.expectAfter)
        expect();
      fillSlot(b, ring, i, at, bar, lane);
      if (countsBytes(ring.fill) && ring.expectAfter)
        expect();
    });
  };
  if (lanes)
    produce();
  else
    b.elect(produce);
  b.op("bra " + end);

  b.label(consumer);
  std::string t = b.r32();
  b.op("sub.u32 " + t + ", " + tid + ", 32");
  std::string out = b.param64("out");
  b.loop(n, [&](const std::string &i) {
    std::string slot, phase;
    position(b, i, ring.stages, slot, phase, "consumer-phase");
    b.wait(b.mad(slot, "8", full), phase, "wait-full", ring.wait);
    std::string at = b.mad(slot, "1024", base);
    b.loop(std::to_string(256 / threads), [&](const std::string &j) {
      std::string word = b.mad(j, std::to_string(threads), t);
      std::string offset = b.r32();
      b.op("shl.b32 " + offset + ", " + word + ", 2");
      if (ring.fill == Fill::Tensor2Swizzled) {
        std::string row = b.r32();
        b.op("and.b32 " + row + ", " + offset + ", 0x380");
        b.op("shr.u32 " + row + ", " + row + ", 3");
        b.op("xor.b32 " + offset + ", " + offset + ", " + row);
      }
      std::string value = b.r32(), where = b.add(at, offset);
      b.op("ld.shared.u32 " + value + ", [" + where + "]", "read");
      std::string result = b.mad(value, "2", "1");
      std::string index = b.mad(i, "256", word);
      b.op("st.global.u32 [" + b.element(out, index) + "], " + result);
    });
    if (countsBytes(ring.fill))
      b.op("fence.proxy.async.shared::cta", "read-fence");
    std::string bar = b.mad(slot, "8", empty);
    std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [" + bar + "]";
    if (ring.release == Release::Threads) {
      b.op(arrive, "release");
    } else if (ring.release == Release::WarpLeader) {
      b.op("bar.warp.sync 0xffffffff", "gather");
      std::string leader = b.compare("eq", lane, "0");
      b.op("@" + leader + " " + arrive, "release");
    } else {
      b.op("bar.sync 1, " + std::to_string(threads), "gather");
      std::string leader = b.compare("eq", t, "0");
      b.op("@" + leader + " " + arrive, "release");
    }
  });
  b.label(end);

  Kernel kernel;
  kernel.name = ring.name;
  kernel.family = usesTensor(ring.fill) ? "tma-ring" : "ring";
  kernel.text = b.finish();
  kernel.config.block = {32 + threads + (ring.watched ? 32 : 0), 1, 1};
  kernel.iterations = 3 * ring.stages + 1;
  kernel.input.resize(kernel.iterations * 1024);
  kernel.expected.resize(kernel.iterations * 256);
  for (uint32_t i = 0; i < kernel.expected.size(); ++i) {
    uint32_t value = i * 2654435761u;
    memcpy(kernel.input.data() + 4 * i, &value, 4);
    kernel.expected[i] = value * 2 + 1;
  }
  Fill fill = ring.fill;
  uint32_t tiles = kernel.iterations;
  kernel.maps = [fill, tiles](uint64_t in, uint64_t, uint64_t, TensorMap *maps) {
    if (!usesTensor(fill))
      return;
    TensorMap &map = maps[0];
    map.dataType = 2; // u32
    map.base = in;
    switch (fill) {
    case Fill::Tensor1:
      map.rank = 1;
      map.dims[0] = tiles * 256;
      map.box[0] = 256;
      break;
    case Fill::Tensor2:
    case Fill::Tensor2Swizzled:
      map.rank = 2;
      map.dims[0] = 32;
      map.dims[1] = tiles * 8;
      map.strides[1] = 128;
      map.box[0] = 32;
      map.box[1] = 8;
      map.swizzle = fill == Fill::Tensor2Swizzled ? 3 : 0;
      break;
    case Fill::Tensor3:
      map.rank = 3;
      map.dims[0] = 16;
      map.dims[1] = 16;
      map.dims[2] = tiles;
      map.strides[1] = 64;
      map.strides[2] = 1024;
      map.box[0] = 16;
      map.box[1] = 16;
      break;
    default:
      map.rank = 5;
      map.dims[0] = map.dims[1] = map.dims[2] = 4;
      map.dims[3] = 4;
      map.dims[4] = tiles;
      map.strides[1] = 16;
      map.strides[2] = 64;
      map.strides[3] = 256;
      map.strides[4] = 1024;
      for (int d = 0; d < 4; ++d)
        map.box[d] = 4;
      break;
    }
  };

  auto twin = [&](Twin each) { kernel.twins.push_back(std::move(each)); };
  // A polling wait never blocks; its deadlocks show as lack of progress and
  // take long to find, so they are left to the blocking rings.
  bool blocks = ring.wait != Builder::Wait::Test;
  const std::vector<std::string> access = {"read", "load", "load2"};
  twin({"reads without waiting", "wait-full", "$wait", "", {race}, access});
  twin({"fills without waiting", "wait-empty", "$wait", "", {race}, access});
  twin({"consumer in the wrong phase", "consumer-phase", "and.b32", "or.b32", {race}, access});
  twin({"relaxed release", "release", ".shared", ".relaxed.cta.shared", {race}, access});
  if (emptyCount > 1)
    twin({"one arrival too few is needed",
          "init-empty",
          "], " + emptyText,
          "], " + std::to_string(emptyCount - 1),
          {race, EmuMbarrierMisuse},
          {"read", "load", "load2", "release"}});
  // Who is not waited for keeps up with the others, unless it does not get to run.
  if (ring.watched)
    twin({"no thread waits for the watcher", "watches", "1", "0", {deadlock}, {"watch"}});
  if (blocks && !ring.watched)
    twin({"one arrival too many is needed",
          "init-empty",
          "], " + emptyText,
          "], " + std::to_string(emptyCount + 1),
          {deadlock},
          {"wait-empty", "wait-full"}});
  if (blocks) {
    twin(
        {"slots are never given back", "release", "", "", {deadlock}, {"wait-empty", "wait-full"}});
    twin({"producer in the wrong phase",
          "producer-phase",
          "xor.b32",
          "or.b32",
          {race, deadlock},
          {"read", "load", "load2", "wait-full", "wait-empty"}});
  }
  if (countsBytes(ring.fill)) {
    twin({"no fence after the reads", "read-fence", "", "", {EmuMissingProxyFence}, access});
    twin({"expects too few bytes",
          "expect",
          "1024",
          "512",
          {race, deadlock, EmuMbarrierMisuse},
          {"read", "load", "load2", "wait-full", "wait-empty", "expect"}});
    if (blocks)
      twin({"expects too many bytes",
            "expect",
            "1024",
            "2048",
            {deadlock},
            {"wait-full", "wait-empty"}});
  } else {
    twin({"relaxed fill",
          "filled",
          ring.fill == Fill::Stores ? ".arrive.shared" : ".noinc",
          ring.fill == Fill::Stores ? ".arrive.relaxed.cta.shared" : "",
          {race, deadlock},
          {"read", "load", "wait-full", "wait-empty"}});
  }
  if (ring.release != Release::Threads)
    twin({"leader does not wait for the others", "gather", "", "", {race}, access});
  if (ring.cluster)
    twin({"initialization without fence",
          "init-fence",
          "",
          "",
          {EmuMbarrierMisuse},
          {"wait-empty", "wait-full", "expect", "load", "release", "filled"}});
  else
    twin({"initialization not published",
          "publish",
          "",
          "",
          {EmuMbarrierMisuse},
          {"wait-empty", "wait-full", "expect", "load", "release", "filled"}});
  return kernel;
}

} // namespace

void addRingKernels(std::vector<Kernel> &kernels) {
  for (const Ring &ring : rings)
    kernels.push_back(makeRing(ring));
}

} // namespace penstock::emu::selftest
