//===- MemoryKernels.cpp - Self-test: blocks that wait for each other -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks communicate through global memory: semaphores, flags, locks, queues,
// barriers and scans. Most threads of such kernels poll, which is no deadlock if
// another thread writes the value. In the twins no thread does, or a fence or a
// barrier is missing.
//
//===----------------------------------------------------------------------===//
#include "selftest/Builder.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, deadlock = EmuDeadlock;
constexpr unsigned blockSize = 64;

/// The word \p i of the input.
uint32_t inputWord(uint32_t i) { return 3 * i + 1; }

/// A kernel of several blocks. The output starts with zeros.
class Grid : public Builder {
public:
  Grid(const char *name, unsigned blocks, unsigned inputWords) : Builder("sm_90") {
    kernel.name = std::string("memory-") + name;
    kernel.family = "memory";
    kernel.outputStartsAtZero = true;
    kernel.config.grid = {blocks, 1, 1};
    kernel.config.block = {blockSize, 1, 1};
    for (uint32_t i = 0; i < inputWords; ++i)
      for (unsigned byte = 0; byte < 4; ++byte)
        kernel.input.push_back(uint8_t(inputWord(i) >> 8 * byte));
    in = param64("in");
    out = param64("out");
    tid = mov("%tid.x");
    block = mov("%ctaid.x");
    first = compare("eq", tid, "0");
  }

  /// A word of the output at a constant index.
  std::string word(unsigned index) const {
    return "[" + out + "+" + std::to_string(4 * index) + "]";
  }
  std::string at(const std::string &base, const std::string &index) {
    return "[" + element(base, index) + "]";
  }
  /// One instruction with a 32-bit result: \p text has its opcode, \p operands the rest.
  std::string value(const std::string &text, const std::string &operands,
                    const std::string &tag = "") {
    std::string r = r32();
    op(text + " " + r + ", " + operands, tag);
    return r;
  }
  /// Repeats \p read until its result is \p how \p wanted.
  void spin(const std::string &text, const std::string &operands, const std::string &tag,
            const std::string &how, const std::string &wanted) {
    std::string r = r32(), top = freshLabel();
    label(top);
    op(text + " " + r + ", " + operands, tag);
    op("@!" + compare(how, r, wanted) + " bra " + top);
  }
  void barrier(const std::string &tag = "") { op("bar.sync 0", tag); }
  /// Adds a twin without the line \p tag.
  void without(const std::string &tag, unsigned code, std::vector<std::string> where) {
    kernel.twins.push_back({"no " + tag, tag, "", "", {code}, std::move(where)});
  }
  void changed(const std::string &tag, const std::string &from, const std::string &to,
               unsigned code, std::vector<std::string> where) {
    kernel.twins.push_back({to + " on " + tag, tag, from, to, {code}, std::move(where)});
  }
  void finishKernel(std::vector<Kernel> &kernels, std::vector<uint32_t> expected) {
    kernel.text = finish();
    kernel.expected = std::move(expected);
    kernels.push_back(std::move(kernel));
  }

  Kernel kernel;
  std::string in, out, tid, block, first;
};

/// The blocks of one tile add to it in order, each when the semaphore has its number.
void addSplitK(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 4, semaphore = blockSize;
  Grid g("split-k-semaphore", blocks, blocks * blockSize);
  g.when(g.first,
         [&] { g.spin("ld.acquire.gpu.global.u32", g.word(semaphore), "poll", "eq", g.block); });
  g.barrier("enter");
  std::string part = g.value("ld.global.u32", g.at(g.in, g.mad(g.block, "64", g.tid)));
  std::string sum = g.value("ld.global.u32", g.at(g.out, g.tid), "read");
  g.op("st.global.u32 " + g.at(g.out, g.tid) + ", " + g.add(sum, part), "write");
  g.barrier("leave");
  g.when(g.first, [&] {
    g.op("st.release.gpu.global.u32 " + g.word(semaphore) + ", " + g.add(g.block, "1"), "raise");
  });
  g.without("raise", deadlock, {"poll"});
  g.changed("raise", ".release", ".relaxed", race, {"read", "write"});
  g.without("enter", race, {"read", "write"});
  g.without("leave", race, {"read", "write"});
  std::vector<uint32_t> expected(blockSize + 1);
  for (unsigned b = 0; b < blocks; ++b)
    for (unsigned t = 0; t < blockSize; ++t)
      expected[t] += inputWord(b * blockSize + t);
  expected[semaphore] = blocks;
  g.finishKernel(kernels, expected);
}

/// Stream-K: blocks store partial results, which the block that owns the tile adds.
void addFixup(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 4, flag = blocks * blockSize;
  Grid g("stream-k-fixup", blocks, blocks * blockSize);
  std::string mine = g.mad(g.block, "64", g.tid);
  std::string owner = g.compare("eq", g.block, "0");
  std::string other = g.compare("ne", g.block, "0");
  std::string part = g.value("ld.global.u32", g.at(g.in, mine));
  g.when(other, [&] {
    g.op("st.global.u32 " + g.at(g.out, mine) + ", " + part, "partial");
    g.barrier();
    g.when(g.first, [&] {
      g.op("fence.acq_rel.gpu", "publish");
      g.op("red.relaxed.gpu.global.add.u32 " + g.word(flag) + ", 1", "raise");
    });
  });
  g.when(owner, [&] {
    g.when(g.first, [&] {
      g.spin("ld.volatile.global.u32", g.word(flag), "poll", "eq", "3");
      g.op("fence.acq_rel.gpu");
    });
    g.barrier();
    std::string sum = part;
    for (unsigned b = 1; b < blocks; ++b)
      sum = g.add(sum,
                  g.value("ld.global.u32", g.at(g.out, g.add(g.tid, std::to_string(b * blockSize))),
                          b == 1 ? "read" : ""));
    g.op("st.global.u32 " + g.at(g.out, g.tid) + ", " + sum);
  });
  g.without("raise", deadlock, {"poll"});
  g.without("publish", race, {"partial", "read"});
  std::vector<uint32_t> expected(flag + 1);
  for (unsigned t = 0; t < blockSize; ++t)
    for (unsigned b = 0; b < blocks; ++b) {
      expected[t] += inputWord(b * blockSize + t);
      if (b)
        expected[b * blockSize + t] = inputWord(b * blockSize + t);
    }
  expected[flag] = blocks - 1;
  g.finishKernel(kernels, expected);
}

/// Persistent blocks take items from a counter until none is left.
void addQueue(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 3, items = 8, counter = items * blockSize;
  Grid g("persistent-queue", blocks, items * blockSize);
  g.shared("item", 4, 4);
  std::string top = g.freshLabel(), end = g.freshLabel();
  g.label(top);
  g.when(g.first, [&] {
    std::string taken = g.value("atom.relaxed.gpu.global.add.u32", g.word(counter) + ", 1", "take");
    g.op("st.shared.u32 [item], " + taken, "give");
  });
  g.barrier("given");
  std::string item = g.value("ld.shared.u32", "[item]", "get");
  g.barrier("got");
  g.op("@" + g.compare("ge", item, std::to_string(items)) + " bra " + end);
  std::string index = g.mad(item, "64", g.tid);
  std::string word = g.value("ld.global.u32", g.at(g.in, index));
  g.op("st.global.u32 " + g.at(g.out, index) + ", " + word);
  g.op("bra " + top);
  g.label(end);
  g.without("given", race, {"give", "get"});
  g.without("got", race, {"give", "get"});
  g.changed("take", ".gpu", ".cta", race, {"take"});
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < items * blockSize; ++i)
    expected.push_back(inputWord(i));
  expected.push_back(items + blocks);
  g.finishKernel(kernels, expected);
}

/// A lock that is passed on in the order of tickets.
void addTickets(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 4;
  Grid g("ticket-lock", blocks, blocks);
  g.when(g.first, [&] {
    std::string ticket = g.value("atom.relaxed.gpu.global.add.u32", g.word(1) + ", 1");
    g.spin("ld.acquire.gpu.global.u32", g.word(2), "poll", "eq", ticket);
    std::string mine = g.value("ld.global.u32", g.at(g.in, g.block));
    std::string sum = g.value("ld.global.u32", g.word(0), "read");
    g.op("st.global.u32 " + g.word(0) + ", " + g.add(sum, mine), "write");
    g.op("st.release.gpu.global.u32 " + g.word(2) + ", " + g.add(ticket, "1"), "unlock");
  });
  g.without("unlock", deadlock, {"poll"});
  g.changed("unlock", ".release", ".relaxed", race, {"read", "write"});
  g.changed("poll", ".acquire", ".relaxed", race, {"read", "write"});
  uint32_t sum = 0;
  for (unsigned b = 0; b < blocks; ++b)
    sum += inputWord(b);
  g.finishKernel(kernels, {sum, blocks, blocks});
}

/// A lock by compare-and-swap. \p backOff: what a thread does until it tries again.
void addLock(std::vector<Kernel> &kernels, const char *name,
             const std::function<void(Grid &)> &backOff) {
  constexpr unsigned blocks = 3;
  Grid g(name, blocks, blocks);
  g.when(g.first, [&] {
    std::string top = g.freshLabel(), locked = g.freshLabel();
    g.label(top);
    std::string old = g.value("atom.acquire.gpu.global.cas.b32", g.word(1) + ", 0, 1", "lock");
    g.op("@" + g.compare("eq", old, "0") + " bra " + locked);
    backOff(g);
    g.op("bra " + top);
    g.label(locked);
    std::string mine = g.value("ld.global.u32", g.at(g.in, g.block));
    std::string sum = g.value("ld.global.u32", g.word(0), "read");
    g.op("st.global.u32 " + g.word(0) + ", " + g.add(sum, mine), "write");
    g.op("atom.release.gpu.global.exch.b32 " + g.r32() + ", " + g.word(1) + ", 0", "unlock");
  });
  g.without("unlock", deadlock, {"lock"});
  g.changed("unlock", ".release", ".relaxed", race, {"read", "write"});
  uint32_t sum = 0;
  for (unsigned b = 0; b < blocks; ++b)
    sum += inputWord(b);
  g.finishKernel(kernels, {sum, 0});
}

/// All blocks wait until the last one has arrived, three times.
void addGridBarrier(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 4, rounds = 3, count = blocks * blockSize;
  Grid g("grid-barrier", blocks, blocks * blockSize);
  std::string mine = g.mad(g.block, "64", g.tid);
  std::string word = g.value("ld.global.u32", g.at(g.in, mine));
  g.op("st.global.u32 " + g.at(g.out, mine) + ", " + word, "write");
  std::string next = g.add(g.block, "1");
  g.op("and.b32 " + next + ", " + next + ", 3");
  std::string neighbor = g.mad(next, "64", g.tid);
  g.kernel.iterations = rounds;
  g.loop(std::to_string(rounds), [&](const std::string &i) {
    // Two barriers: after the writes, and after the reads.
    for (unsigned half = 0; half < 2; ++half) {
      std::string goal = g.mad(i, std::to_string(2 * blocks), std::to_string(blocks * (half + 1)));
      g.barrier(half ? "" : "enter");
      g.when(g.first, [&] {
        g.op("red.release.gpu.global.add.u32 " + g.word(count) + ", 1", half ? "" : "arrive");
        g.spin("ld.acquire.gpu.global.u32", g.word(count), half ? "poll2" : "poll", "ge", goal);
      });
      g.barrier(half ? "" : "leave");
      if (half)
        g.op("st.global.u32 " + g.at(g.out, mine) + ", " + word, "rewrite");
      else
        g.op("add.u32 " + word + ", " + g.value("ld.global.u32", g.at(g.out, neighbor), "read") +
             ", 1");
    }
  });
  g.without("arrive", deadlock, {"poll", "poll2"});
  g.without("enter", race, {"write", "read", "rewrite"});
  g.without("leave", race, {"write", "read", "rewrite"});
  g.changed("poll", ".acquire", ".relaxed", race, {"write", "read", "rewrite"});
  std::vector<uint32_t> expected;
  for (unsigned b = 0; b < blocks; ++b)
    for (unsigned t = 0; t < blockSize; ++t)
      expected.push_back(inputWord((b + rounds) % blocks * blockSize + t) + rounds);
  expected.push_back(2 * rounds * blocks);
  g.finishKernel(kernels, expected);
}

/// Block 0 hands buffers to block 1 by a flag that block 1 takes back by compare-and-swap.
void addFlag(std::vector<Kernel> &kernels) {
  constexpr unsigned trips = 4, flag = blockSize;
  Grid g("flag", 2, trips * blockSize);
  g.kernel.iterations = trips;
  std::string consumes = g.compare("eq", g.block, "1");
  std::string produces = g.compare("eq", g.block, "0");
  std::string sum = g.mov("0");
  g.loop(std::to_string(trips), [&](const std::string &i) {
    g.when(produces, [&] {
      g.when(g.first,
             [&] { g.spin("ld.acquire.gpu.global.u32", g.word(flag), "poll-empty", "eq", "0"); });
      g.barrier();
      std::string word = g.value("ld.global.u32", g.at(g.in, g.mad(i, "64", g.tid)));
      g.op("st.global.u32 " + g.at(g.out, g.tid) + ", " + word, "fill");
      g.barrier("filled");
      g.op("@" + g.first + " st.release.gpu.global.u32 " + g.word(flag) + ", 1", "raise");
    });
    g.when(consumes, [&] {
      g.when(g.first, [&] {
        g.spin("atom.acquire.gpu.global.cas.b32", g.word(flag) + ", 1, 2", "poll-full", "eq", "1");
      });
      g.barrier("full");
      g.op("add.u32 " + sum + ", " + sum + ", " +
           g.value("ld.global.u32", g.at(g.out, g.tid), "use"));
      g.barrier("used");
      g.op("@" + g.first + " st.release.gpu.global.u32 " + g.word(flag) + ", 0", "release");
    });
  });
  g.op("@" + consumes + " st.global.u32 " + g.at(g.out, g.add(g.tid, "128")) + ", " + sum);
  g.without("raise", deadlock, {"poll-full"});
  g.without("release", deadlock, {"poll-empty"});
  g.without("filled", race, {"fill", "use"});
  g.without("full", race, {"fill", "use"});
  g.without("used", race, {"fill", "use"});
  std::vector<uint32_t> expected(3 * blockSize);
  for (unsigned t = 0; t < blockSize; ++t) {
    expected[t] = inputWord((trips - 1) * blockSize + t);
    for (unsigned i = 0; i < trips; ++i)
      expected[128 + t] += inputWord(i * blockSize + t);
  }
  g.finishKernel(kernels, expected);
}

/// Scan with decoupled look-back: a word holds a state (1: the sum of this block, 2: of all up
/// to it) and a value.
void addLookBack(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 5;
  Grid g("look-back-scan", blocks, blocks);
  std::string pack = g.r64(), state = g.r64(), mine = g.value("ld.global.u32", g.at(g.in, g.block));
  std::string status = g.r64(), before = g.mov("0"), from = g.mov(g.block);
  g.op("mad.wide.u32 " + status + ", " + g.block + ", 8, " + g.out);
  auto store = [&](const std::string &kind, const std::string &value, const std::string &tag) {
    g.op("mov.b64 " + pack + ", {" + value + ", " + g.mov(kind) + "}");
    g.op("st.relaxed.gpu.global.u64 [" + status + "], " + pack, tag);
  };
  g.op("@!" + g.first + " ret");
  std::string done = g.freshLabel(), top = g.freshLabel();
  g.op("@" + g.compare("eq", g.block, "0") + " bra " + done);
  store("1", mine, "aggregate");
  g.label(top);
  std::string look = g.r64(), value = g.r32(), kind = g.r32(), previous = g.r32();
  g.op("sub.u32 " + previous + ", " + from + ", 1");
  g.op("mad.wide.u32 " + look + ", " + previous + ", 8, " + g.out);
  g.op("ld.relaxed.gpu.global.u64 " + state + ", [" + look + "]", "poll");
  g.op("mov.b64 {" + value + ", " + kind + "}, " + state);
  g.op("@" + g.compare("eq", kind, "0") + " bra " + top);
  g.op("add.u32 " + before + ", " + before + ", " + value);
  g.op("mov.u32 " + from + ", " + previous);
  g.op("@" + g.compare("eq", kind, "1") + " bra " + top);
  g.label(done);
  store("2", g.add(before, mine), "prefix");
  g.without("prefix", deadlock, {"poll"});
  g.changed("prefix", ".relaxed.gpu", "", race, {"prefix", "poll", "aggregate"});
  std::vector<uint32_t> expected;
  uint32_t sum = 0;
  for (unsigned b = 0; b < blocks; ++b) {
    expected.push_back(sum += inputWord(b));
    expected.push_back(2);
  }
  g.finishKernel(kernels, expected);
}

/// The block that arrives last adds the partial results of all.
void addLastBlock(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 4, counter = blocks * blockSize, result = counter + 1;
  Grid g("last-block", blocks, blocks * blockSize);
  g.shared("last", 4, 4);
  std::string mine = g.mad(g.block, "64", g.tid);
  std::string word = g.value("ld.global.u32", g.at(g.in, mine));
  g.op("st.global.u32 " + g.at(g.out, mine) + ", " + word, "partial");
  g.barrier("written");
  g.when(g.first, [&] {
    g.op("fence.acq_rel.gpu", "publish");
    std::string count = g.value("atom.relaxed.gpu.global.add.u32", g.word(counter) + ", 1");
    g.op("fence.acq_rel.gpu", "acquire");
    g.op("st.shared.u32 [last], " + count, "give");
  });
  g.barrier("given");
  std::string last = g.value("ld.shared.u32", "[last]", "get");
  g.when(g.compare("eq", last, std::to_string(blocks - 1)), [&] {
    std::string sum = g.mov("0");
    for (unsigned b = 0; b < blocks; ++b)
      g.op("add.u32 " + sum + ", " + sum + ", " +
           g.value("ld.global.u32", g.at(g.out, g.add(g.tid, std::to_string(b * blockSize))),
                   b ? "" : "read"));
    g.op("st.global.u32 " + g.at(g.out, g.add(g.tid, std::to_string(result))) + ", " + sum);
  });
  g.without("publish", race, {"partial", "read"});
  g.without("written", race, {"partial", "read"});
  g.without("acquire", race, {"partial", "read"});
  g.without("given", race, {"give", "get"});
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < blocks * blockSize; ++i)
    expected.push_back(inputWord(i));
  expected.push_back(blocks);
  for (unsigned t = 0; t < blockSize; ++t) {
    uint32_t sum = 0;
    for (unsigned b = 0; b < blocks; ++b)
      sum += inputWord(b * blockSize + t);
    expected.push_back(sum);
  }
  g.finishKernel(kernels, expected);
}

/// The threads of a block poll together, with barriers in the loop.
void addBlockPoll(std::vector<Kernel> &kernels) {
  constexpr unsigned flag = 2 * blockSize;
  Grid g("block-polls", 2, blockSize);
  g.shared("seen", 4, 4);
  std::string word = g.value("ld.global.u32", g.at(g.in, g.tid));
  std::string waits = g.compare("eq", g.block, "1");
  std::string writes = g.compare("eq", g.block, "0");
  g.when(writes, [&] {
    g.op("st.global.u32 " + g.at(g.out, g.tid) + ", " + word, "write");
    g.barrier();
    g.op("@" + g.first + " st.release.gpu.global.u32 " + g.word(flag) + ", 1", "raise");
  });
  g.when(waits, [&] {
    std::string top = g.freshLabel();
    g.label(top);
    g.when(g.first, [&] {
      g.op("st.shared.u32 [seen], " + g.value("ld.acquire.gpu.global.u32", g.word(flag), "poll"),
           "give");
    });
    g.barrier("given");
    std::string seen = g.value("ld.shared.u32", "[seen]", "get");
    g.barrier("got");
    g.op("@" + g.compare("eq", seen, "0") + " bra " + top);
    std::string read = g.value("ld.global.u32", g.at(g.out, g.tid), "read");
    g.op("st.global.u32 " + g.at(g.out, g.add(g.tid, "64")) + ", " + read);
  });
  g.without("raise", deadlock, {"poll", "given", "got"});
  g.without("given", race, {"give", "get"});
  g.changed("poll", ".acquire", ".relaxed", race, {"write", "read"});
  std::vector<uint32_t> expected;
  for (unsigned i = 0; i < 2 * blockSize; ++i)
    expected.push_back(inputWord(i % blockSize));
  expected.push_back(1);
  g.finishKernel(kernels, expected);
}

/// Block \p writer stores a word or zeroes a sum, and raises a counter that the others test before
/// they use it. A twin raises or reads it without a test, which orders the blocks by chance:
/// whether the writer has the highest or the lowest number, it has to be seen.
void addUntestedCounters(std::vector<Kernel> &kernels) {
  constexpr unsigned blocks = 3, counter = 1;
  for (unsigned writer : {0u, blocks - 1})
    for (bool adds : {false, true}) {
      std::string name = adds ? "zeroed-sum-" : "message-";
      Grid g((name + std::to_string(writer)).c_str(), blocks, 1);
      g.op("@!" + g.first + " ret");
      std::string which = std::to_string(writer);
      g.when(g.compare("eq", g.block, which), [&] {
        g.op("st.global.u32 " + g.word(0) + ", 5", "write");
        g.op("atom.acq_rel.gpu.global.add.u32 " + g.r32() + ", " + g.word(counter) + ", 1",
             "raise");
      });
      g.when(g.compare("ne", g.block, which), [&] {
        std::string top = g.freshLabel();
        g.label(top);
        std::string seen =
            g.value("atom.acq_rel.gpu.global.add.u32", g.word(counter) + ", 0", "take");
        g.op("@" + g.compare("eq", seen, "0") + " bra " + top, "test");
        if (adds)
          g.op("red.relaxed.gpu.global.add.u32 " + g.word(0) + ", 1", "use");
        else
          g.op("st.global.u32 " + g.at(g.out, g.add(g.block, "2")) + ", " +
               g.value("ld.global.u32", g.word(0), "use"));
      });
      g.without("test", race, {"write", "use"});
      g.changed("raise", ".acq_rel", ".relaxed", race, {"write", "use"});
      std::vector<uint32_t> expected(2 + blocks);
      expected[0] = adds ? 5 + blocks - 1 : 5;
      expected[counter] = 1;
      for (unsigned b = 0; b < blocks && !adds; ++b)
        expected[2 + b] = b == writer ? 0 : 5;
      g.finishKernel(kernels, expected);
    }
}

} // namespace

void addMemoryKernels(std::vector<Kernel> &kernels) {
  addSplitK(kernels);
  addFixup(kernels);
  addQueue(kernels);
  addTickets(kernels);
  addLock(kernels, "lock", [](Grid &) {});
  addLock(kernels, "lock-sleep", [](Grid &g) { g.op("nanosleep.u32 64"); });
  // A thread waits for a while by a clock.
  addLock(kernels, "lock-clock", [](Grid &g) {
    std::string begin = g.r64(), now = g.r64(), p = g.pred(), top = g.freshLabel();
    g.op("mov.u64 " + begin + ", %clock64");
    g.label(top);
    g.op("mov.u64 " + now + ", %clock64");
    g.op("sub.u64 " + now + ", " + now + ", " + begin);
    g.op("setp.lt.u64 " + p + ", " + now + ", 50");
    g.op("@" + p + " bra " + top);
  });
  addGridBarrier(kernels);
  addFlag(kernels);
  addLookBack(kernels);
  addLastBlock(kernels);
  addBlockPoll(kernels);
  addUntestedCounters(kernels);
}

} // namespace penstock::emu::selftest
