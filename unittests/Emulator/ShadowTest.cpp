//===- ShadowTest.cpp - Records of accesses against a model by bytes ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model keeps for each byte its last writer and the readers since then, and nothing else.
// Random accesses, by bytes and by whole cells, must conflict with the same ones in both.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Shadow.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace penstock::emu;

namespace {

constexpr unsigned segments = 2, bytes = segments * Shadow::segmentBytes;
/// The agent of an earlier access, and a byte.
using Conflicts = std::set<std::pair<uint32_t, unsigned>>;

class Model {
public:
  Conflicts access(const std::set<unsigned> &touched, uint32_t agent, bool write) {
    Conflicts found;
    for (unsigned byte : touched) {
      Byte &at = content[byte];
      if (at.writer)
        found.emplace(at.writer, byte);
      if (write) {
        for (uint32_t reader : at.readers)
          found.emplace(reader, byte);
        at = {agent, {}};
      } else {
        at.readers.insert(agent);
      }
    }
    return found;
  }
  bool written(unsigned byte) { return content[byte].writer; }

private:
  struct Byte {
    uint32_t writer = 0;
    std::set<uint32_t> readers;
  };
  std::map<unsigned, Byte> content;
};

AccessRecord record(uint32_t agent, bool write, bool engine) {
  AccessRecord access;
  access.agent = agent;
  access.lanes = 1;
  access.flags = uint8_t((write ? AccessRecord::Write : 0) | (engine ? AccessRecord::Engine : 0));
  return access;
}

/// Both kinds of accesses in random order; returns the number of conflicts.
size_t compare(unsigned seed) {
  std::mt19937 random(seed);
  Shadow shadow(bytes);
  Model model;
  size_t total = 0;
  uint32_t agent = 0;
  for (int step = 0; step < 200; ++step) {
    bool write = random() % 3 == 0, byCells = random() % 2;
    // An operation may access several parts, which are one access.
    bool goesOn = agent && random() % 4 == 0;
    if (!goesOn)
      ++agent;
    std::set<unsigned> touched;
    Conflicts found;
    if (byCells) {
      CellSet set{uint32_t(random() % segments), uint64_t(random()) << 32 | random()};
      if (random() % 4 == 0)
        set.cells = ~uint64_t(0);
      set.cells &= uint64_t(random()) << 32 | random() | 1;
      uint64_t unwritten = 0;
      for (unsigned i = 0; i < 64; ++i)
        for (unsigned b = 0; b < 16 && set.cells >> i & 1; ++b) {
          touched.insert(set.segment * 1024 + i * 16 + b);
          if (!model.written(set.segment * 1024 + i * 16 + b))
            unwritten |= uint64_t(1) << i;
        }
      EXPECT_EQ(shadow.unwritten(set), unwritten);
      shadow.access(set, record(agent, write, true), [&](const AccessRecord &r, uint64_t cells) {
        for (; cells; cells &= cells - 1)
          found.emplace(r.agent, set.segment * 1024 + unsigned(__builtin_ctzll(cells)) * 16);
        return true;
      });
    } else {
      unsigned cell = unsigned(random() % (segments * 64)), from = unsigned(random() % 16);
      unsigned to = from + 1 + unsigned(random() % (16 - from));
      uint16_t mask = 0;
      for (unsigned b = from; b < to; ++b) {
        mask |= uint16_t(1 << b);
        touched.insert(cell * 16 + b);
        EXPECT_EQ(shadow.writtenBytes(cell) >> b & 1, model.written(cell * 16 + b));
      }
      shadow.access(cell, mask, record(agent, write, true),
                    [&](const AccessRecord &r, uint16_t common) {
                      for (unsigned b = 0; b < 16; ++b)
                        if (common >> b & 1)
                          found.emplace(r.agent, cell * 16 + b);
                      return true;
                    });
    }
    Conflicts expected = model.access(touched, agent, write);
    if (byCells) { // they are reported by cells
      Conflicts rounded;
      for (auto [earlier, byte] : expected)
        rounded.emplace(earlier, byte / 16 * 16);
      expected = rounded;
    }
    // The parts of one operation are not compared with each other: the checker ignores them.
    auto ofItself = [&](const auto &each) { return each.first == agent; };
    std::erase_if(found, ofItself);
    std::erase_if(expected, ofItself);
    EXPECT_EQ(found, expected) << "step " << step << " of seed " << seed;
    total += expected.size();
    if (testing::Test::HasFailure())
      break;
  }
  return total;
}

} // namespace

TEST(Shadow, AccessesByBytesAndByCellsConflictAsInAModelByBytes) {
  size_t conflicts = 0;
  for (unsigned seed = 1; seed <= 20 && !HasFailure(); ++seed)
    conflicts += compare(seed);
  EXPECT_GT(conflicts, 5000u);
}

TEST(Shadow, ForgottenCellsWereNeverWritten) {
  Shadow shadow(bytes);
  auto none = [](const AccessRecord &, uint64_t) { return true; };
  shadow.access(CellSet{0, 0xff}, record(1, true, true), none);
  shadow.access(9, Shadow::wholeCell, record(2, true, false),
                [](const AccessRecord &, uint16_t) { return true; });
  EXPECT_EQ(shadow.unwritten({0, 0x3ff}), 0x100u);
  shadow.forget({0, 0x201});
  EXPECT_EQ(shadow.unwritten({0, 0x3ff}), 0x301u);
  EXPECT_EQ(shadow.writtenBytes(0), 0u);
  // The records stay: a new owner must still be ordered behind them.
  unsigned seen = 0;
  shadow.access(CellSet{0, 1}, record(3, true, true), [&](const AccessRecord &r, uint64_t) {
    seen = r.agent;
    return true;
  });
  EXPECT_EQ(seen, 1u);
}

TEST(Shadow, ReadersBeyondTheBoundAreNotRemembered) {
  Shadow shadow(bytes);
  for (uint32_t agent = 1; agent <= 3000; ++agent)
    shadow.access(CellSet{0, 0xff}, record(agent, false, true),
                  [](const AccessRecord &, uint64_t) { return true; });
  unsigned readers = 0;
  shadow.access(CellSet{0, 1}, record(4000, true, true),
                [&](const AccessRecord &, uint64_t) { return ++readers > 0; });
  EXPECT_EQ(readers, Shadow::maxSegmentRecords);
}
