//===- BarrierKernels.cpp - Self-test: threads among themselves -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges through shared and global memory, each with another way to
// synchronize: barriers of all kinds, warp synchronization, mbarriers by token
// and by parity, atomics with fences, cp.async groups.
//
//===----------------------------------------------------------------------===//
#include "selftest/Builder.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, deadlock = EmuDeadlock;

/// 256 words in, 256 words out: out[i] = in[i ^ 32] + 1 in all of these.
void finishExchange(Kernel &kernel, Builder &b, const std::string &name, unsigned threads = 256) {
  kernel.name = name;
  kernel.family = "threads";
  kernel.text = b.finish();
  kernel.config.block = {threads, 1, 1};
  kernel.input.resize(1024);
  kernel.expected.resize(256);
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i * 7 + 3;
    memcpy(kernel.input.data() + 4 * i, &value, 4);
  }
  for (uint32_t i = 0; i < 256; ++i)
    kernel.expected[i] = (i ^ 32) * 7 + 3 + 1;
}

struct Exchange {
  Builder b{"sm_90a"};
  std::string tid, value, mine, other;

  Exchange() {
    b.shared("buffer", 1024, 16);
    tid = b.mov("%tid.x");
    std::string in = b.param64("in");
    value = b.r32();
    b.op("ld.global.u32 " + value + ", [" + b.element(in, tid) + "]");
    std::string base = b.mov("buffer");
    mine = b.mad(tid, "4", base);
    std::string partner = b.r32();
    b.op("xor.b32 " + partner + ", " + tid + ", 32");
    other = b.mad(partner, "4", base);
  }
  void write() { b.op("st.shared.u32 [" + mine + "], " + value, "write"); }
  void readAndStore() {
    std::string r = b.r32();
    b.op("ld.shared.u32 " + r + ", [" + other + "]", "read");
    b.op("add.u32 " + r + ", " + r + ", 1");
    b.op("st.global.u32 [" + b.element(b.param64("out"), tid) + "], " + r);
  }
};

void simpleBarriers(std::vector<Kernel> &kernels) {
  struct Variant {
    const char *name, *instruction;
    const char *wrongFrom, *wrongTo;
    unsigned wrongCode;
    const char *wrongAt;
  };
  const Variant variants[] = {
      {"bar-sync", "bar.sync 0", "bar.sync 0", "bar.arrive 0, 256", race, "read"},
      {"barrier-sync-counted", "barrier.sync 1, 256", "256", "288", deadlock, "sync"},
      {"barrier-cta-aligned", "barrier.cta.sync.aligned 2, 256", "256", "512", deadlock, "sync"},
  };
  for (const Variant &v : variants) {
    Exchange x;
    x.write();
    x.b.op(v.instruction, "sync");
    x.readAndStore();
    Kernel kernel;
    finishExchange(kernel, x.b, v.name);
    kernel.twins = {
        {"no barrier", "sync", "", "", {race}, {"read", "write"}},
        {"wrong barrier", "sync", v.wrongFrom, v.wrongTo, {v.wrongCode}, {v.wrongAt}},
    };
    kernels.push_back(std::move(kernel));
  }
}

/// Pairs of warps meet at a barrier of their own.
void pairBarriers(std::vector<Kernel> &kernels) {
  Exchange x;
  std::string pair = x.b.r32();
  x.b.op("shr.u32 " + pair + ", " + x.tid + ", 6");
  x.b.op("add.u32 " + pair + ", " + pair + ", 1", "id");
  x.write();
  x.b.op("bar.sync " + pair + ", 64", "sync");
  x.readAndStore();
  Kernel kernel;
  finishExchange(kernel, x.b, "named-barrier-per-pair");
  kernel.twins = {
      {"no barrier", "sync", "", "", {race}, {"read", "write"}},
      {"one warp only", "sync", "64", "32", {race}, {"read", "write"}},
  };
  kernels.push_back(std::move(kernel));
}

/// bar.arrive by the writers, bar.sync by the readers.
void arriveAndSync(std::vector<Kernel> &kernels) {
  Builder b("sm_90a");
  b.shared("buffer", 1024, 16);
  std::string tid = b.mov("%tid.x"), base = b.mov("buffer");
  std::string writer = b.compare("lt", tid, "256");
  std::string end = b.freshLabel(), reader = b.freshLabel();
  b.op("@!" + writer + " bra " + reader);
  std::string v = b.r32();
  b.op("ld.global.u32 " + v + ", [" + b.element(b.param64("in"), tid) + "]");
  b.op("st.shared.u32 [" + b.mad(tid, "4", base) + "], " + v, "write");
  b.op("bar.arrive 1, 512", "arrive");
  b.op("bra " + end);
  b.label(reader);
  std::string index = b.r32();
  b.op("sub.u32 " + index + ", " + tid + ", 256");
  std::string partner = b.r32();
  b.op("xor.b32 " + partner + ", " + index + ", 32");
  b.op("bar.sync 1, 512", "sync");
  std::string r = b.r32();
  b.op("ld.shared.u32 " + r + ", [" + b.mad(partner, "4", base) + "]", "read");
  b.op("add.u32 " + r + ", " + r + ", 1");
  b.op("st.global.u32 [" + b.element(b.param64("out"), index) + "], " + r);
  b.label(end);
  Kernel kernel;
  finishExchange(kernel, b, "arrive-and-sync", 512);
  kernel.twins = {
      {"no arrive", "arrive", "", "", {deadlock}, {"sync"}},
      {"no sync", "sync", "", "", {race}, {"read", "write"}},
      {"too few", "sync", "512", "256", {EmuBarrierMisuse, race}, {"sync", "arrive", "read"}},
  };
  kernels.push_back(std::move(kernel));
}

/// An mbarrier waited for by token or by parity, with a count per thread or one
/// arrival per warp.
void mbarriers(std::vector<Kernel> &kernels) {
  for (int variant = 0; variant < 4; ++variant) {
    bool byToken = variant == 1, perWarp = variant >= 2, drop = variant == 3;
    Exchange x;
    Builder &b = x.b;
    b.shared("bar", 8, 8);
    std::string first = b.compare("eq", x.tid, "0");
    b.op("@" + first + " mbarrier.init.shared::cta.b64 [bar], " + (perWarp ? "8" : "256"), "init");
    b.op("bar.sync 0", "published");
    x.write();
    std::string token = b.r64();
    if (perWarp) {
      b.op("bar.warp.sync 0xffffffff", "warpsync");
      std::string lane = b.mov("%laneid");
      std::string leader = b.compare("eq", lane, "0");
      b.op("@" + leader + " mbarrier.arrive" + (drop ? "_drop" : "") + ".shared::cta.b64 _, [bar]",
           "arrive");
    } else {
      b.op("mbarrier.arrive.shared::cta.b64 " + token + ", [bar]", "arrive");
    }
    if (byToken) {
      std::string p = b.pred(), top = b.freshLabel();
      b.label(top);
      b.op("mbarrier.try_wait.shared::cta.b64 " + p + ", [bar], " + token, "wait");
      b.op("@!" + p + " bra " + top);
    } else {
      b.wait("bar", "0", "wait", variant == 2 ? Builder::Wait::Test : Builder::Wait::Try);
    }
    x.readAndStore();
    Kernel kernel;
    finishExchange(kernel, b,
                   byToken   ? "mbarrier-token"
                   : drop    ? "mbarrier-drop-per-warp"
                   : perWarp ? "mbarrier-test-per-warp"
                             : "mbarrier-parity");
    std::string count = perWarp ? "], 8" : "], 256", fewer = perWarp ? "], 7" : "], 255",
                more = perWarp ? "], 9" : "], 257";
    // A polling wait never blocks: it runs out of its budget instead.
    std::vector<unsigned> stuck = {deadlock};
    if (variant != 2)
      kernel.twins.push_back({"count too large", "init", count, more, stuck, {"wait"}});
    kernel.twins.push_back({"count too small",
                            "init",
                            count,
                            fewer,
                            {race, EmuMbarrierMisuse},
                            {"read", "write", "arrive"}});
    kernel.twins.push_back({"initialization not published",
                            "published",
                            "",
                            "",
                            {EmuMbarrierMisuse},
                            {"arrive", "wait"}});
    kernel.twins.push_back(
        {"relaxed arrive", "arrive", ".shared", ".relaxed.cta.shared", {race}, {"read", "write"}});
    if (perWarp)
      kernel.twins.push_back(
          {"no warp synchronization", "warpsync", "", "", {race}, {"read", "write"}});
    if (!byToken)
      kernel.twins.push_back({"wrong phase", "wait", "], 0", "], 1", {race}, {"read", "write"}});
    kernels.push_back(std::move(kernel));
  }
}

/// cp.async into shared memory: groups, wait_all, and arrivals on an mbarrier.
void asyncCopies(std::vector<Kernel> &kernels) {
  for (int variant = 0; variant < 3; ++variant) {
    Builder b("sm_90a");
    b.shared("buffer", 1024, 16);
    b.shared("bar", 8, 8);
    std::string tid = b.mov("%tid.x"), base = b.mov("buffer");
    std::string from = b.element(b.param64("in"), tid);
    std::string mine = b.mad(tid, "4", base);
    if (variant == 2) {
      std::string first = b.compare("eq", tid, "0");
      b.op("@" + first + " mbarrier.init.shared::cta.b64 [bar], 256", "init");
      b.op("bar.sync 0");
    }
    b.op("cp.async.ca.shared.global [" + mine + "], [" + from + "], 4", "copy");
    if (variant == 0) {
      b.op("cp.async.commit_group", "commit");
      b.op("cp.async.wait_group 0", "wait");
      b.op("bar.sync 0", "sync");
    } else if (variant == 1) {
      b.op("cp.async.wait_all", "wait");
      b.op("bar.sync 0", "sync");
    } else {
      b.op("cp.async.mbarrier.arrive.noinc.shared.b64 [bar]", "arrive");
      b.wait("bar", "0", "wait");
    }
    std::string partner = b.r32(), r = b.r32();
    b.op("xor.b32 " + partner + ", " + tid + ", 32");
    b.op("ld.shared.u32 " + r + ", [" + b.mad(partner, "4", base) + "]", "read");
    b.op("add.u32 " + r + ", " + r + ", 1");
    b.op("st.global.u32 [" + b.element(b.param64("out"), tid) + "], " + r);
    Kernel kernel;
    finishExchange(kernel, b,
                   variant == 0   ? "cp-async-groups"
                   : variant == 1 ? "cp-async-wait-all"
                                  : "cp-async-mbarrier");
    if (variant == 0)
      kernel.twins = {{"waits for one group less", "wait", "0", "1", {race}, {"read", "copy"}},
                      {"no commit", "commit", "", "", {race}, {"read", "copy"}},
                      {"no barrier", "sync", "", "", {race}, {"read", "copy"}}};
    else if (variant == 1)
      kernel.twins = {{"no wait", "wait", "", "", {race}, {"read", "copy"}},
                      {"no barrier", "sync", "", "", {race}, {"read", "copy"}}};
    else
      kernel.twins = {{"counts itself", "arrive", ".noinc", "", {deadlock}, {"wait"}},
                      {"wrong count",
                       "init",
                       "256",
                       "200",
                       {race, EmuMbarrierMisuse},
                       {"read", "copy", "arrive"}},
                      {"wrong phase", "wait", "], 0", "], 1", {race}, {"read", "copy"}}};
    kernels.push_back(std::move(kernel));
  }
}

/// The last block to finish adds up what the others left in global memory.
void lastBlock(std::vector<Kernel> &kernels) {
  for (int variant = 0; variant < 2; ++variant) {
    Builder b("sm_90a");
    std::string tid = b.mov("%ctaid.x"), out = b.param64("out");
    std::string value = b.mad(tid, "5", "2");
    std::string slot = b.add(tid, "1");
    b.op("st.global.u32 [" + b.element(out, slot) + "], " + value, "write");
    std::string old = b.r32();
    if (variant == 0) {
      b.op("fence.acq_rel.gpu", "release");
      b.op("atom.relaxed.gpu.global.add.u32 " + old + ", [" + out + "], 1", "atom");
      b.op("fence.acq_rel.gpu", "acquire");
    } else {
      b.op("atom.acq_rel.gpu.global.add.u32 " + old + ", [" + out + "], 1", "atom");
    }
    std::string last = b.compare("eq", old, "7");
    b.when(last, [&] {
      std::string sum = b.mov("0");
      b.loop("8", [&](const std::string &i) {
        std::string r = b.r32();
        b.op("ld.global.u32 " + r + ", [" + b.element(out, b.add(i, "1")) + "]", "read");
        b.op("add.u32 " + sum + ", " + sum + ", " + r);
      });
      b.op("st.global.u32 [" + out + "+36], " + sum);
    });
    Kernel kernel;
    kernel.name = variant ? "last-block-atomics" : "last-block-fences";
    kernel.family = "threads";
    kernel.text = b.finish();
    kernel.config.grid = {8, 1, 1};
    kernel.outputStartsAtZero = true;
    kernel.expected = {8, 2, 7, 12, 17, 22, 27, 32, 37, 2 + 7 + 12 + 17 + 22 + 27 + 32 + 37};
    if (variant == 0)
      kernel.twins = {
          {"no release fence", "release", "", "", {race}, {"read", "write"}},
          {"no acquire fence", "acquire", "", "", {race}, {"read", "write"}},
          {"release for the block only", "release", ".gpu", ".cta", {race}, {"read", "write"}}};
    else
      kernel.twins = {{"only acquires", "atom", ".acq_rel", ".acquire", {race}, {"read", "write"}},
                      {"only releases", "atom", ".acq_rel", ".release", {race}, {"read", "write"}},
                      {"for the block only", "atom", ".gpu", ".cta", {race}, {"read", "write"}}};
    kernels.push_back(std::move(kernel));
  }
}

/// A warp passes values through shared memory with bar.warp.sync only.
void warpOnly(std::vector<Kernel> &kernels) {
  Builder b("sm_90a");
  b.shared("buffer", 1024, 16);
  std::string tid = b.mov("%tid.x"), base = b.mov("buffer"), v = b.r32();
  b.op("ld.global.u32 " + v + ", [" + b.element(b.param64("in"), tid) + "]");
  std::string mine = b.mad(tid, "4", base);
  b.op("st.shared.u32 [" + mine + "], " + v, "write");
  b.op("bar.warp.sync 0xffffffff", "sync");
  std::string partner = b.r32(), r = b.r32();
  b.op("xor.b32 " + partner + ", " + tid + ", 1");
  std::string other = b.mad(partner, "4", base);
  b.op("ld.shared.u32 " + r + ", [" + other + "]", "read");
  b.op("bar.warp.sync 0xffffffff", "sync2");
  b.op("add.u32 " + r + ", " + r + ", 1");
  b.op("st.shared.u32 [" + mine + "], " + r, "again");
  b.op("ld.shared.u32 " + r + ", [" + mine + "]");
  b.op("st.global.u32 [" + b.element(b.param64("out"), tid) + "], " + r);
  Kernel kernel;
  finishExchange(kernel, b, "warp-sync");
  for (uint32_t i = 0; i < 256; ++i)
    kernel.expected[i] = (i ^ 1) * 7 + 3 + 1;
  kernel.twins = {{"no synchronization", "sync", "", "", {race}, {"read", "write"}},
                  {"half of the warp", "sync2", "", "", {race}, {"again", "read"}}};
  kernels.push_back(std::move(kernel));
}

} // namespace

void addBarrierKernels(std::vector<Kernel> &kernels) {
  simpleBarriers(kernels);
  pairBarriers(kernels);
  arriveAndSync(kernels);
  mbarriers(kernels);
  asyncCopies(kernels);
  lastBlock(kernels);
  warpOnly(kernels);
}

} // namespace penstock::emu::selftest
