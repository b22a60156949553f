//===- RecordsTest.cpp - Records of tuning --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Records.h"
#include "Kernels.h"
#include "Tuning/Samples.h"

#include <random>

using namespace penstock;
using namespace penstock::tuning;
using namespace testing;

namespace {

using Random = std::mt19937;

int draw(Random &random, int below) { return int(random() % unsigned(below)); }

Record randomRecord(Random &random) {
  Record record;
  if (draw(random, 4) == 0) {
    record.removedBy = draw(random, 2) ? "check" : "resources";
    record.code = unsigned(1100 + draw(random, 3));
    record.reason = "because of " + std::to_string(draw(random, 3));
  }
  if (draw(random, 2))
    record.predicted = 1e-6 * (1 + draw(random, 1000));
  for (int i = draw(random, 4); i > 0; --i) {
    Record one;
    one.runs.push_back({"run" + std::to_string(draw(random, 5)), {}, {}});
    for (int s = 1 + draw(random, 5); s > 0; --s) {
      one.runs[0].samples.push_back(1e-3 / (1 + draw(random, 1000)));
      one.runs[0].disturbed.push_back(draw(random, 3) == 0);
    }
    record.merge(one);
  }
  return record;
}

TEST(TuningRecords, TextKeepsAllBits) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    Record record = randomRecord(random);
    auto read = readRecord(writeRecord(record));
    ASSERT_TRUE(read) << writeRecord(record);
    EXPECT_EQ(*read, record);
  }
}

TEST(TuningRecords, MergingIsAUnion) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    Record a = randomRecord(random), b = randomRecord(random), c = randomRecord(random);
    // Runs of one id are one run: equal, or a prefix.
    auto unify = [](const Record &from, Record &to) {
      for (const RecordedRun &run : from.runs)
        for (RecordedRun &other : to.runs)
          if (run.id == other.id)
            other = run;
    };
    unify(a, b), unify(a, c), unify(b, c), unify(a, c);
    auto merged = [](Record x, const Record &y) {
      x.merge(y);
      return x;
    };
    EXPECT_EQ(merged(a, b), merged(b, a));
    EXPECT_EQ(merged(merged(a, b), c), merged(a, merged(b, c)));
    EXPECT_EQ(merged(a, a), a);
    EXPECT_EQ(merged(merged(a, b), b), merged(a, b));
  }
}

TEST(TuningRecords, DamagedTextsAreNotRecords) {
  for (const char *text :
       {"", "penstock-record 2\n", "penstock-record 1\nfoo\n", "penstock-record 1\nrun\n",
        "penstock-record 1\nrun a\n", "penstock-record 1\nrun a nan\n",
        "penstock-record 1\nrun a -1\n", "penstock-record 1\nrun a 1 2x\n",
        "penstock-record 1\nrun a 0\n", "penstock-record 1\nremoved\n",
        "penstock-record 1\nremoved check x y\n", "penstock-record 1\npredicted inf\n"})
    EXPECT_FALSE(readRecord(text)) << text;
  // Whatever is read back is a record that can be written.
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = writeRecord(randomRecord(random));
    for (int change = 1 + draw(random, 3); change > 0; --change)
      text[size_t(draw(random, int(text.size())))] = char(draw(random, 128));
    if (auto read = readRecord(text)) {
      EXPECT_EQ(readRecord(writeRecord(*read)), read) << text;
    }
  }
}

TEST(TuningRecords, DisturbedSamplesCountOnlyIfThereAreNoOthers) {
  TuneCandidate candidate;
  candidate.samples = {5, 1, 9, 2, 3};
  candidate.disturbed = {true, false, true, false, false};
  summarize(candidate);
  EXPECT_EQ(candidate.seconds, 2); // of 1, 2, 3
  EXPECT_EQ(candidate.spread, 0.5);
  candidate.disturbed = {true, true, true, false, false};
  summarize(candidate);
  EXPECT_EQ(candidate.seconds, 3); // of all
}

TEST(TuningRecords, DefaultIsReplacedOnlyForAGain) {
  std::vector<TuneCandidate> candidates(3);
  candidates[1].is_default = true;
  candidates[0].seconds = 0.99, candidates[1].seconds = 1, candidates[2].seconds = 2;
  EXPECT_EQ(fastest(candidates), 1);
  candidates[0].seconds = 0.97;
  EXPECT_EQ(fastest(candidates), 0);
  // A default that was removed or never timed is no choice.
  candidates[0].seconds = 0.99;
  candidates[1].removed_by = "result";
  EXPECT_EQ(fastest(candidates), 0);
  candidates[1] = {};
  EXPECT_EQ(fastest(candidates), 0);
}

TEST(TuningRecords, StoreHoldsTheUnionOfTwoRuns) {
  TemporaryCache folder;
  auto kernel = detail::tunableOf(Scale{}, "Scale", here());
  Points points(kernel);
  Record first, second;
  first.runs = {{"a", {1, 2}, {false, false}}};
  second.runs = {{"b", {3}, {true}}};
  {
    KernelCache cache = folder.open();
    Records records(*cache.store(), points, Target::native(), TimeSource::Native, "machine");
    EXPECT_TRUE(records.add("N=2^4", 1, first));
    EXPECT_TRUE(records.addClass("N=2^4"));
  }
  KernelCache cache = folder.open();
  Records records(*cache.store(), points, Target::native(), TimeSource::Native, "machine");
  EXPECT_TRUE(records.add("N=2^4", 1, second));
  EXPECT_TRUE(records.addClass("N=2^5"));
  EXPECT_TRUE(records.addClass("N=2^4"));
  EXPECT_THAT(records.classes(), ElementsAre("N=2^4", "N=2^5"));
  auto both = records.lookup("N=2^4", 1);
  ASSERT_TRUE(both);
  ASSERT_EQ(both->runs.size(), 2u);
  EXPECT_EQ(both->runs[0].samples, (std::vector<double>{1, 2}));
  EXPECT_EQ(both->runs[1].samples, (std::vector<double>{3}));
  EXPECT_EQ(records.read("N=2^4")[1].samples.size(), 3u);
  EXPECT_TRUE(records.read("N=2^9").empty());
  // Another machine, source of times, space or program: other records.
  Records elsewhere(*cache.store(), points, Target::native(), TimeSource::Native, "other");
  EXPECT_FALSE(elsewhere.lookup("N=2^4", 1));
  auto changed = detail::tunableOf(Scale{.block = 32}, "Scale", here());
  Points changedPoints(changed);
  Records ofOther(*cache.store(), changedPoints, Target::native(), TimeSource::Native, "machine");
  EXPECT_FALSE(ofOther.lookup("N=2^4", 1));
}

} // namespace
