//===- ClusterKernels.cpp - Self-test: blocks of a cluster ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two blocks that use each other's shared memory and barriers: by loads, remote
// arrivals, asynchronous stores, bulk copies, multicast, pairs of tcgen05, and
// by asking for each other's work.
//
//===----------------------------------------------------------------------===//
#include "selftest/Matrix.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, deadlock = EmuDeadlock;

void clusterSync(Builder &b, const std::string &tag) {
  b.op("barrier.cluster.arrive.release.aligned", tag);
  b.op("barrier.cluster.wait.acquire.aligned", tag + "-wait");
}

std::string peerOf(Builder &b, const std::string &address) {
  std::string rank = b.mov("%cluster_ctarank"), peer = b.r32(), to = b.r32();
  b.op("xor.b32 " + peer + ", " + rank + ", 1");
  b.op("mapa.shared::cluster.u32 " + to + ", " + address + ", " + peer);
  return to;
}

/// 128 words per block; out[block][i] = 2 * in[peer][i] + 1.
void exchangeData(Kernel &kernel, const char *name, Builder &b) {
  kernel.name = name;
  kernel.family = "cluster";
  kernel.text = b.finish();
  kernel.config.grid = {2, 1, 1};
  kernel.config.cluster = {2, 1, 1};
  kernel.config.block = {128, 1, 1};
  kernel.input.resize(1024);
  kernel.expected.resize(256);
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i * 31 + 7;
    memcpy(kernel.input.data() + 4 * i, &value, 4);
    kernel.expected[i ^ 128] = value * 2 + 1;
  }
}

struct Exchange {
  Builder b{"sm_90a"};
  std::string tid, rank, value, base, mine;

  Exchange() {
    b.shared("buffer", 512, 128);
    tid = b.mov("%tid.x");
    rank = b.mov("%cluster_ctarank");
    std::string index = b.mad(rank, "128", tid);
    value = b.r32();
    b.op("ld.global.u32 " + value + ", [" + b.element(b.param64("in"), index) + "]");
    base = b.mov("buffer");
    mine = b.mad(tid, "4", base);
  }
  void finish(const std::string &from, const char *space) {
    std::string r = b.r32();
    b.op("ld." + std::string(space) + ".u32 " + r + ", [" + from + "]", "read");
    std::string result = b.mad(r, "2", "1");
    std::string index = b.mad(rank, "128", tid);
    b.op("st.global.u32 [" + b.element(b.param64("out"), index) + "], " + result);
  }
};

void remoteLoads(std::vector<Kernel> &kernels) {
  for (bool acquireOnly : {false, true}) {
    Exchange x;
    x.b.op("st.shared.u32 [" + x.mine + "], " + x.value, "write");
    if (acquireOnly) {
      x.b.op("fence.acq_rel.cluster", "fence");
      x.b.op("barrier.cluster.arrive.relaxed.aligned", "sync");
      x.b.op("barrier.cluster.wait.acquire.aligned", "sync-wait");
    } else {
      clusterSync(x.b, "sync");
    }
    x.finish(peerOf(x.b, x.mine), "shared::cluster");
    clusterSync(x.b, "stay");
    Kernel kernel;
    exchangeData(kernel, acquireOnly ? "cluster-loads-fenced" : "cluster-loads", x.b);
    if (acquireOnly)
      kernel.twins = {{"no fence", "fence", "", "", {race}, {"read", "write"}},
                      {"wrong barrier",
                       "sync-wait",
                       "barrier.cluster.wait.acquire.aligned",
                       "bar.sync 0",
                       {race, EmuBarrierMisuse},
                       {"read", "write", "stay"}}};
    else
      kernel.twins = {{"relaxed arrive", "sync", ".release", ".relaxed", {race}, {"read", "write"}},
                      {"never arrives", "sync", "", "", {EmuBarrierMisuse}, {"sync-wait"}}};
    kernels.push_back(std::move(kernel));
  }
}

/// Each block tells the other by a remote arrival that its data is there.
void remoteArrivals(std::vector<Kernel> &kernels) {
  Exchange x;
  Builder &b = x.b;
  b.shared("bar", 8, 8);
  b.when(b.compare("eq", x.tid, "0"), [&] {
    b.op("mbarrier.init.shared::cta.b64 [bar], 128", "init");
    b.op("fence.mbarrier_init.release.cluster", "init-fence");
  });
  b.op("barrier.cluster.arrive.relaxed.aligned");
  b.op("barrier.cluster.wait.acquire.aligned");
  b.op("st.shared.u32 [" + x.mine + "], " + x.value, "write");
  std::string bar = b.mov("bar");
  b.op("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [" + peerOf(b, bar) + "]", "arrive");
  std::string p = b.pred(), top = b.freshLabel();
  b.label(top);
  b.op("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 " + p + ", [bar], 0", "wait");
  b.op("@!" + p + " bra " + top);
  x.finish(peerOf(b, x.mine), "shared::cluster");
  clusterSync(b, "stay");
  Kernel kernel;
  exchangeData(kernel, "cluster-remote-arrivals", b);
  kernel.twins = {{"relaxed arrival", "arrive", ".release", ".relaxed", {race}, {"read", "write"}},
                  {"arrival for the block only",
                   "arrive",
                   ".release.cluster",
                   ".release.cta",
                   {race},
                   {"read", "write"}},
                  {"wait for the block only",
                   "wait",
                   ".acquire.cluster",
                   ".acquire.cta",
                   {race},
                   {"read", "write"}},
                  {"wrong count", "init", "128", "129", {deadlock}, {"wait"}},
                  {"initialization without fence",
                   "init-fence",
                   "",
                   "",
                   {EmuMbarrierMisuse},
                   {"arrive", "wait"}},
                  {"wrong phase", "wait", "], 0", "], 1", {race}, {"read", "write"}},
                  {"does not wait", "wait", "$wait", "", {race}, {"read", "write"}}};
  kernels.push_back(std::move(kernel));
}

/// Data goes to the peer asynchronously and counts bytes at its mbarrier.
void remoteStores(std::vector<Kernel> &kernels) {
  enum Kind { Store, Reduction, Bulk };
  for (Kind kind : {Store, Reduction, Bulk}) {
    Exchange x;
    Builder &b = x.b;
    b.shared("inbox", 512, 128);
    b.shared("bar", 8, 8);
    b.when(b.compare("eq", x.tid, "0"), [&] {
      b.op("mbarrier.init.shared::cta.b64 [bar], 1", "init");
      b.op("fence.mbarrier_init.release.cluster", "init-fence");
      b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512", "expect");
    });
    std::string bar = b.mov("bar"), inbox = b.mov("inbox"), slot = b.mad(x.tid, "4", inbox);
    if (kind == Reduction)
      b.op("st.shared.u32 [" + slot + "], 0", "clear");
    b.op("barrier.cluster.arrive.release.aligned", "cleared");
    b.op("barrier.cluster.wait.acquire.aligned");
    if (kind == Bulk) {
      b.op("st.shared.u32 [" + x.mine + "], " + x.value, "write");
      b.op("fence.proxy.async.shared::cta", "fence");
      b.op("bar.sync 0", "written");
      b.when(b.compare("eq", x.tid, "0"), [&] {
        b.op("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
             "bytes [" +
                 peerOf(b, inbox) + "], [" + x.base + "], 512, [" + peerOf(b, bar) + "]",
             "send");
      });
    } else {
      b.op(std::string(kind == Store ? "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32"
                                     : "red.async.relaxed.cluster.shared::cluster."
                                       "mbarrier::complete_tx::bytes.add.u32") +
               " [" + peerOf(b, slot) + "], " + x.value + ", [" + peerOf(b, bar) + "]",
           "send");
    }
    b.wait("bar", "0", "wait");
    x.finish(slot, "shared");
    clusterSync(b, "stay");
    Kernel kernel;
    exchangeData(kernel,
                 kind == Bulk    ? "cluster-bulk-copy"
                 : kind == Store ? "cluster-st-async"
                                 : "cluster-red-async",
                 b);
    kernel.twins = {{"expects too few bytes",
                     "expect",
                     "512",
                     "496",
                     {race, EmuMbarrierMisuse, deadlock},
                     {"read", "send", "wait"}},
                    {"expects too many bytes", "expect", "512", "528", {deadlock}, {"wait"}},
                    {"does not wait", "wait", "$wait", "", {race}, {"read", "send"}}};
    if (kind == Reduction) {
      kernel.twins.push_back(
          {"reduces what was never written", "clear", "", "", {EmuUninitialized}, {"send"}});
      kernel.twins.push_back(
          {"clears without order", "cleared", ".release", ".relaxed", {race}, {"clear", "send"}});
    }
    if (kind == Bulk) {
      kernel.twins.push_back(
          {"no proxy fence", "fence", "", "", {EmuMissingProxyFence}, {"send", "write"}});
      kernel.twins.push_back(
          {"sends before all is written", "written", "", "", {race}, {"send", "write"}});
    }
    kernels.push_back(std::move(kernel));
  }
}

/// Block 0 multicasts tiles to both blocks; both give slots back to block 0.
void multicastRing(std::vector<Kernel> &kernels) {
  for (bool both : {false, true}) {
    // both: each block sends one half of every tile to both.
    Builder b("sm_90a");
    constexpr unsigned stages = 2;
    b.shared("ring", stages * 1024, 1024);
    b.shared("full", stages * 8, 8);
    b.shared("empty", stages * 8, 8);
    std::string tid = b.mov("%tid.x"), rank = b.mov("%cluster_ctarank"), n = b.r32(),
                base = b.mov("ring"), full = b.mov("full"), empty = b.mov("empty");
    b.op("ld.param.u32 " + n + ", [count]");
    b.when(b.compare("eq", tid, "0"), [&] {
      b.loop("2", [&](const std::string &s) {
        b.op("mbarrier.init.shared::cta.b64 [" + b.mad(s, "8", full) + "], 1", "init-full");
        b.op("mbarrier.init.shared::cta.b64 [" + b.mad(s, "8", empty) + "], 2", "init-empty");
      });
      b.op("fence.mbarrier_init.release.cluster", "init-fence");
    });
    b.op("barrier.cluster.arrive.relaxed.aligned");
    b.op("barrier.cluster.wait.acquire.aligned");
    std::string warp = b.r32(), end = b.freshLabel(), reader = b.freshLabel();
    b.op("shr.u32 " + warp + ", " + tid + ", 5");
    std::string isReader = b.compare("ne", warp, "0");
    b.op("@" + isReader + " bra " + reader);
    b.elect([&] {
      b.loop(n, [&](const std::string &i) {
        std::string slot, phase, flipped = b.r32();
        position(b, i, stages, slot, phase, "");
        std::string bar = b.mad(slot, "8", full);
        // Each block announces what will land in its own memory, once its own
        // slot is free; who sends must know that of both.
        b.op("xor.b32 " + flipped + ", " + phase + ", 1", "producer-phase");
        b.wait(b.mad(slot, "8", empty), flipped, "wait-empty");
        b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + bar + "], 1024", "expect");
        auto send = [&] {
          std::string y = b.mad(i, "8", both ? b.mad(rank, "4", "0") : "0");
          std::string at = b.mad(slot, "1024", base);
          if (both)
            at = b.mad(rank, "512", at);
          std::string mask = b.mov("3");
          b.op("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.multicast::cluster [" +
                   at + "], [" + b.map("map0") + ", {0, " + y + "}], [" + bar + "], mask",
               "send");
          // The mask operand has 16 bits.
          size_t p = b.body.rfind("], mask");
          std::string h = "%h" + mask.substr(2);
          b.body.replace(p + 3, 4, h);
          size_t line = b.body.rfind("  cp.async", p);
          b.body.insert(line, "  .reg .b16 " + h + ";\n  cvt.u16.u32 " + h + ", " + mask + ";\n");
        };
        if (both)
          send();
        else
          b.when(b.compare("eq", rank, "0"), send);
      });
    });
    b.op("bra " + end);
    b.label(reader);
    std::string t = b.r32(), lane = b.mov("%laneid");
    b.op("sub.u32 " + t + ", " + tid + ", 32");
    std::string out = b.param64("out");
    b.loop(n, [&](const std::string &i) {
      std::string slot, phase;
      position(b, i, stages, slot, phase, "consumer-phase");
      b.wait(b.mad(slot, "8", full), phase, "wait-full");
      std::string at = b.mad(slot, "1024", base);
      b.loop("8", [&](const std::string &j) {
        std::string word = b.mad(j, "32", t), value = b.r32();
        b.op("ld.shared.u32 " + value + ", [" + b.mad(word, "4", at) + "]", "read");
        std::string result = b.mad(value, "2", rank);
        std::string index = b.mad(i, "256", word);
        std::string block = b.mad(rank, n, "0");
        index = b.mad(block, "256", index);
        b.op("st.global.u32 [" + b.element(out, index) + "], " + result);
      });
      b.op("fence.proxy.async.shared::cta", "read-fence");
      b.op("bar.warp.sync 0xffffffff", "gather");
      // One arrival at each block of the pair.
      std::string bar = b.mad(slot, "8", empty), to = b.r32();
      b.when(b.compare("lt", lane, "2"), [&] {
        b.op("mapa.shared::cluster.u32 " + to + ", " + bar + ", " + lane);
        b.op("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [" + to + "]", "release");
      });
    });
    b.label(end);
    b.op("bar.sync 0");
    clusterSync(b, "stay");
    Kernel kernel;
    kernel.name = both ? "cluster-multicast-halves" : "cluster-multicast";
    kernel.family = "cluster";
    kernel.text = b.finish();
    kernel.config.grid = {2, 1, 1};
    kernel.config.cluster = {2, 1, 1};
    kernel.config.block = {64, 1, 1};
    kernel.iterations = 5;
    kernel.input.resize(kernel.iterations * 1024);
    kernel.expected.resize(2 * kernel.iterations * 256);
    for (uint32_t i = 0; i < kernel.iterations * 256; ++i) {
      uint32_t value = i * 77u + 5;
      memcpy(kernel.input.data() + 4 * i, &value, 4);
      kernel.expected[i] = value * 2;
      kernel.expected[kernel.iterations * 256 + i] = value * 2 + 1;
    }
    uint32_t tiles = kernel.iterations;
    kernel.maps = [tiles, both](uint64_t in, uint64_t, uint64_t, TensorMap *maps) {
      maps[0].dataType = 2;
      maps[0].rank = 2;
      maps[0].base = in;
      maps[0].dims[0] = 32;
      maps[0].dims[1] = tiles * 8;
      maps[0].strides[1] = 128;
      maps[0].box[0] = 32;
      maps[0].box[1] = both ? 4 : 8;
    };
    kernel.twins = {
        {"knows its own slot only",
         "init-empty",
         "], 2",
         "], 1",
         {race, EmuMbarrierMisuse},
         {"read", "send", "release"}},
        {"sends without waiting", "wait-empty", "$wait", "", {race}, {"read", "send"}},
        {"reads without waiting", "wait-full", "$wait", "", {race}, {"read", "send"}},
        {"relaxed release", "release", ".release", ".relaxed", {race}, {"read", "send"}},
        {"leader does not wait for the others", "gather", "", "", {race}, {"read", "send"}},
        {"no fence after the reads",
         "read-fence",
         "",
         "",
         {EmuMissingProxyFence},
         {"read", "send"}},
        {"expects too many bytes",
         "expect",
         "1024",
         "1040",
         {deadlock},
         {"wait-full", "wait-empty"}}};
    kernels.push_back(std::move(kernel));
  }
}

/// Blocks take over the work of blocks that have not started.
void launchControl(std::vector<Kernel> &kernels) {
  Builder b("sm_100a");
  b.shared("response", 16, 16);
  b.shared("bar", 8, 8);
  b.variables += "  .reg .b128 %q;\n  .reg .b32 %x<4>;\n";
  std::string tid = b.mov("%tid.x"), at = b.mov("%ctaid.x"), round = b.mov("0");
  std::string first = b.compare("eq", tid, "0");
  b.op("@" + first + " mbarrier.init.shared::cta.b64 [bar], 1", "init");
  b.op("bar.sync 0", "publish");
  std::string top = b.freshLabel(), end = b.freshLabel();
  b.label(top);
  b.when(first, [&] {
    b.op("fence.proxy.async.shared::cta", "fence");
    b.op("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16", "expect");
    b.op("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_"
         "tx::bytes.b128 [response], [bar]",
         "ask");
  });
  std::string index = b.mad(at, "32", tid);
  std::string result = b.mad(index, "3", "1");
  b.op("st.global.u32 [" + b.element(b.param64("out"), index) + "], " + result, "work");
  b.wait("bar", round, "wait");
  b.op("ld.shared.b128 %q, [response]", "read");
  std::string p = b.pred();
  b.op("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 " + p + ", %q");
  b.op("@!" + p + " bra " + end);
  b.op("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x0, "
       "%x1, %x2, %x3}, %q");
  b.op("mov.u32 " + at + ", %x0");
  b.op("xor.b32 " + round + ", " + round + ", 1", "phase");
  b.op("bar.sync 0", "reuse");
  b.op("bra " + top);
  b.label(end);
  Kernel kernel;
  kernel.name = "cluster-launch-control";
  kernel.family = "cluster";
  kernel.text = b.finish();
  kernel.config.grid = {12, 1, 1};
  kernel.config.block = {32, 1, 1};
  kernel.expected.resize(12 * 32);
  for (uint32_t i = 0; i < 12 * 32; ++i)
    kernel.expected[i] = i * 3 + 1;
  kernel.twins = {
      {"does not wait for the answer", "wait", "$wait", "", {race}, {"read", "ask"}},
      {"asks while others read", "reuse", "", "", {race}, {"read", "ask"}},
      {"expects too many bytes", "expect", "16", "32", {deadlock}, {"wait"}},
      {"stays in the first phase", "phase", "xor.b32", "and.b32", {race}, {"read", "ask"}}};
  kernels.push_back(std::move(kernel));
}

} // namespace

void addClusterKernels(std::vector<Kernel> &kernels) {
  remoteLoads(kernels);
  remoteArrivals(kernels);
  remoteStores(kernels);
  multicastRing(kernels);
  launchControl(kernels);
}

} // namespace penstock::emu::selftest
