//===- TuneTest.cpp - Tuning by prediction, natively and by events --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Kernels.h"
#include "TemporaryDirectory.h"
#include "blackwell_matmul/v1.h"
#include "blackwell_matmul/v2.h"
#include "blackwell_matmul/v4.h"
#include "flash_attention/kernel.h"
#include "matmul/kernel.h"

#include <ctime>
#include <fstream>
#include <map>

using namespace penstock;
using namespace testing;

namespace {

const Shape square = {{"M", 4096}, {"N", 4096}, {"K", 4096}};

std::map<std::string, size_t> removedBy(const TuneReport &report) {
  std::map<std::string, size_t> counts;
  for (const TuneStage &stage : report.stages)
    if (stage.removed)
      counts[stage.name] = stage.removed;
  return counts;
}

template <class K> TuneReport predict(const Shape &shape, KernelCache &cache, size_t points) {
  // Processor time: other programs on the machine do not count.
  std::clock_t begin = std::clock();
  TuneReport report =
      tune(K{}, Target::sm_100a(), shape, {.times = TimeSource::Predicted, .cache = &cache});
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 10);
  EXPECT_EQ(report.candidates.size(), points) << to_text(report.diagnostics);
  EXPECT_GE(report.best, 0);
  EXPECT_EQ(report.machine.rfind("timing 1 ", 0), 0u) << report.machine;
  for (const TuneCandidate &candidate : report.candidates) {
    EXPECT_EQ(candidate.removed_by.empty(), candidate.samples.size() == 1) << candidate.point();
    if (report.best >= 0 && candidate.removed_by.empty()) {
      EXPECT_GE(candidate.seconds, report.candidates[size_t(report.best)].seconds);
    }
  }
  return report;
}

TEST(TunePredicted, TwelvePoints) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  predict<blackwell::MatmulV1>(square, cache, 12);
}

TEST(TunePredicted, TwentySevenPoints) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  predict<blackwell::MatmulV2>(square, cache, 27);
}

TEST(TunePredicted, EightyOnePointsAndASecondRunFromRecords) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport first = predict<blackwell::MatmulV4>(square, cache, 81);
  int examined = 0;
  TuneOptions options{.times = TimeSource::Predicted, .cache = &cache};
  options.progress = [&](TuneProgress &) { ++examined; };
  TuneReport second = tune(blackwell::MatmulV4{}, Target::sm_100a(), square, options);
  EXPECT_EQ(examined, 0);
  EXPECT_EQ(second.best, first.best);
  for (size_t i = 0; i < first.candidates.size(); ++i)
    EXPECT_EQ(second.candidates[i].seconds, first.candidates[i].seconds);
  // The same class, hence the same records.
  TuneReport third = tune(blackwell::MatmulV4{}, Target::sm_100a(),
                          {{"M", 5000}, {"N", 4096}, {"K", 4096}}, options);
  EXPECT_EQ(examined, 0);
  EXPECT_EQ(third.best, first.best);
}

struct TooLarge : blackwell::MatmulV4 {
  static auto space() {
    return Space<TooLarge>()
        .over(&TooLarge::block_n, {128, 256, 512, 1024})
        .over(&TooLarge::block_k, {64, 60})
        .over(&TooLarge::stages, {3, 9})
        .where([](const TooLarge &k) { return k.block_n < 1024; });
  }
};

TEST(TunePredicted, StagesRemovePointsForTheirReasons) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report = tune(TooLarge{}, Target::sm_100a(), {{"M", 1024}, {"N", 1024}, {"K", 1024}},
                           {.times = TimeSource::Predicted, .cache = &cache});
  ASSERT_EQ(report.candidates.size(), 16u);
  auto at = [&](const char *point) -> const TuneCandidate & {
    for (const TuneCandidate &candidate : report.candidates) {
      std::string values;
      for (const auto &[name, value] : candidate.fields)
        values += value + " ";
      if (values == point)
        return candidate;
    }
    ADD_FAILURE() << point;
    return report.candidates[0];
  };
  EXPECT_EQ(at("1024 64 3 ").removed_by, "where");
  EXPECT_EQ(at("1024 64 3 ").code, TuneWhere);
  // 9 slots of (128 + 256) x 64 f16 are 442,368 bytes; a block has 232,448.
  EXPECT_EQ(at("256 64 9 ").removed_by, "resources");
  // Rows of 60 f16 are 120 bytes, which TMA cannot copy.
  EXPECT_EQ(at("128 60 3 ").removed_by, "check");
  EXPECT_EQ(at("128 64 3 ").removed_by, "");
  size_t left = report.candidates.size();
  for (const TuneStage &stage : report.stages) {
    EXPECT_EQ(stage.entered, left) << stage.name;
    left -= stage.removed;
    size_t reasons = 0;
    for (auto [code, count] : stage.reasons) {
      EXPECT_GT(code, 0u);
      reasons += count;
    }
    EXPECT_EQ(reasons, stage.removed);
  }
  EXPECT_EQ(removedBy(report)["where"], 4u);
}

/// An assembler that rejects the first \p rejected files.
class AssemblerScript {
public:
  explicit AssemblerScript(int rejected) {
    std::ofstream(path()) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo ptxas; exit 0; fi\n"
                          << "echo run >> " << folder.path() << "/runs\n"
                          << "if [ $(wc -l < " << folder.path() << "/runs) -le " << rejected
                          << " ]; then echo 'error: too many registers'; exit 255; fi\n"
                          << "for last; do :; done\nprintf code > \"$last\"\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
    ::setenv("PENSTOCK_PTXAS", path().c_str(), 1);
  }
  ~AssemblerScript() { ::unsetenv("PENSTOCK_PTXAS"); }

private:
  std::string path() const { return folder.path() + "/ptxas"; }
  TemporaryDirectory folder;
};

TEST(TunePredicted, PointsThatPtxasRejectsAreNotSuggested) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  auto run = [&](int rejected) {
    AssemblerScript script(rejected);
    return tune(blackwell::MatmulV1{}, Target::sm_100a(), square,
                {.times = TimeSource::Predicted, .cache = &cache, .again = true});
  };
  TuneReport all = run(0), some = run(2);
  ASSERT_GE(all.best, 0);
  ASSERT_GE(some.best, 0);
  EXPECT_EQ(removedBy(all)["compile"], 0u);
  EXPECT_EQ(removedBy(some)["compile"], 2u);
  const TuneCandidate &rejected = some.candidates[size_t(all.best)];
  EXPECT_EQ(rejected.removed_by, "compile");
  EXPECT_EQ(rejected.code, HardwareAssembler);
  EXPECT_NE(rejected.reason.find("too many registers"), std::string::npos) << rejected.reason;
  EXPECT_GE(some.candidates[size_t(some.best)].seconds, all.candidates[size_t(all.best)].seconds);
}

struct WideMatmul : examples::Matmul {
  static auto space() {
    using K = WideMatmul;
    return Space<K>()
        .over(&K::block_m, {128, 256})
        .over(&K::block_n, {128, 256})
        .over([](K &k) -> auto & { return k.pipeline.num_stages; }, {3});
  }
};

/// Tiles of 256 x 256 are predicted to be the fastest on Hopper, where two accumulators of them do
/// not fit the registers of a thread.
TEST(TunePredicted, TilesThatRegistersDoNotHoldAreNotSuggested) {
  for (const char *ptxas : {"", static_cast<const char *>(nullptr)}) {
    if (ptxas)
      ::setenv("PENSTOCK_PTXAS", ptxas, 1); // the model answers
    TemporaryCache folder;
    KernelCache cache = folder.open();
    TuneReport report = tune(WideMatmul{}, Target::sm_90a(), square,
                             {.times = TimeSource::Predicted, .cache = &cache});
    ::unsetenv("PENSTOCK_PTXAS");
    ASSERT_EQ(report.candidates.size(), 4u);
    const TuneCandidate &widest = report.candidates[3];
    EXPECT_EQ(widest.fields[0].second + " " + widest.fields[1].second, "256 256");
    EXPECT_FALSE(widest.removed_by.empty()) << to_text(report);
    EXPECT_EQ(widest.code, HardwareMemory);
    ASSERT_GE(report.best, 0);
    EXPECT_LT(report.best, 3);
    EXPECT_THAT(to_text(report), Not(HasSubstr(widest.point())));
    EXPECT_THAT(to_text(report), HasSubstr(report.candidates[1].point()));
    // The next run reads the records.
    TuneReport again = tune(WideMatmul{}, Target::sm_90a(), square,
                            {.times = TimeSource::Predicted, .cache = &cache});
    EXPECT_EQ(again.best, report.best);
    EXPECT_FALSE(again.candidates[3].removed_by.empty());
  }
}

struct Attention : examples::FlashAttention {
  static auto space() {
    return Space<Attention>().over(&Attention::stages, {2, 3}).over(&Attention::block_m, {64, 128});
  }
};

TEST(TunePredicted, KernelsOutsideOfTheTimingModelAreRankedByTheirIntervals) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  Shape shape = {{"H", 8}, {"M", 1024}, {"N", 1024}, {"D", 64}};
  // Ampere has no timing model at all.
  for (Target target : {Target::sm_80(), Target::sm_90a()}) {
    TuneReport report =
        tune(Attention{}, target, shape, {.times = TimeSource::Predicted, .cache = &cache});
    EXPECT_GE(report.best, 0) << to_text(report.diagnostics) << to_text(report);
  }
}

TEST(TuneNative, MeasuresAndReportsWrongPoints) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report =
      tune_registered("Scale", Target::native(), {{"N", 100000}}, {.rounds = 3, .cache = &cache});
  EXPECT_EQ(report.times, TimeSource::Native);
  ASSERT_EQ(report.candidates.size(), 6u);
  EXPECT_EQ(removedBy(report), (std::map<std::string, size_t>{{"where", 1}, {"result", 2}}));
  EXPECT_EQ(report.candidates[1].removed_by, "where");
  size_t wrong = 0;
  for (const Diagnostic &d : report.diagnostics)
    if (d.code == TuneWrong) {
      ++wrong;
      EXPECT_THAT(d.message, HasSubstr("factor=3 offset=1"));
    }
  EXPECT_EQ(wrong, 2u);
  ASSERT_GE(report.best, 0);
  EXPECT_EQ(report.candidates[size_t(report.best)].fields[1].second, "2");
  for (size_t i : {0, 2, 4}) {
    const TuneCandidate &candidate = report.candidates[i];
    EXPECT_GE(candidate.samples.size(), 2u);
    EXPECT_EQ(candidate.samples.size(), candidate.disturbed.size());
    EXPECT_GT(candidate.seconds, 0);
  }
  // tuned() finds it in another cache object, as another process would.
  KernelCache reopened = folder.open();
  TunedChoice choice =
      tuned(Scale{}, Target::native(), {.cache = &reopened}).choice({{"N", 70000}});
  EXPECT_EQ(choice.from, TunedFrom::Record);
  EXPECT_EQ(choice.fields, report.candidates[size_t(report.best)].fields);
}

struct ManyBlocks {
  int block = 64, unused = 0;
  static constexpr auto signature = "x[N] -> y[N]";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block);
    b.copy(x.at(first), t);
    b.set(t, t * 2.0f);
    b.copy(t, y.at(first));
  }

  static auto space() {
    return Space<ManyBlocks>()
        .over(&ManyBlocks::block, {16,  32,  48,  64,  80,  96,  112, 128, 144, 160, 176, 192,
                                   208, 224, 240, 256, 320, 384, 448, 512, 640, 768, 896, 1024})
        .over(&ManyBlocks::unused, {0, 1, 2, 3});
  }
};

// On a processor with constants, the best quarter by prediction is measured, and 4 others; on
// one without, all points.
TEST(TuneNative, MeasuresTheBestQuarterByPrediction) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report =
      tune(ManyBlocks{}, Target::native(), {{"N", 20000}}, {.rounds = 1, .cache = &cache});
  ASSERT_GE(report.best, 0) << to_text(report.diagnostics);
  ASSERT_EQ(report.candidates.size(), 96u);
  std::vector<double> kept, removed;
  for (const TuneCandidate &candidate : report.candidates)
    (candidate.removed_by.empty() ? kept : removed).push_back(candidate.predicted);
  if (report.candidates[0].predicted == 0) {
    EXPECT_TRUE(removed.empty());
    return;
  }
  EXPECT_EQ(removedBy(report), (std::map<std::string, size_t>{{"prediction", removed.size()}}));
  // The default is kept in any case.
  EXPECT_GE(kept.size(), 28u);
  EXPECT_LE(kept.size(), 29u);
  std::sort(kept.begin(), kept.end());
  EXPECT_LE(kept[23], *std::min_element(removed.begin(), removed.end()));
  // Predictions alone choose among all.
  TuneReport predicted = tune(ManyBlocks{}, Target::native(), {{"N", 20000}},
                              {.times = TimeSource::Predicted, .cache = &cache});
  ASSERT_GE(predicted.best, 0);
  EXPECT_TRUE(removedBy(predicted).empty());
  EXPECT_EQ(predicted.machine.rfind("timing 1 ", 0), 0u) << predicted.machine;
}

TEST(TuneNative, ShardsAreDisjointAndCompleteEachOther) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  std::vector<int> owners(6, 0);
  TuneReport last;
  for (unsigned shard = 0; shard < 3; ++shard) {
    last = tune(Scale{}, Target::native(), {{"N", 1000}},
                {.rounds = 1, .shard = shard, .shards = 3, .cache = &cache});
    for (size_t i = 0; i < 6; ++i)
      owners[i] += last.candidates[i].mine;
  }
  EXPECT_THAT(owners, Each(1));
  // The last worker has read what the others stored.
  for (const TuneCandidate &candidate : last.candidates)
    EXPECT_TRUE(!candidate.removed_by.empty() || candidate.seconds > 0) << candidate.point();
}

TEST(TuneEvents, TakesTheTimesOfTheGpu) {
  // Kernels.cpp plants 1000 ns for a block and 1 ns for each byte of its
  // shared memory. 256 x 256 elements in blocks of m x n with 2 stages of k = 64:
  //   64 x 64:   16 blocks, (64 + 64) x 64 x 2 x 2 =  32768 bytes and more: 540 us and more
  //   128 x 128:  4 blocks, (128 + 128) x 64 x 2 x 2 = 65536 bytes and more: 266 us and more
  struct Planted : examples::Matmul {
    static auto space() {
      using K = Planted;
      return Space<K>()
          .over([](K &k) -> int & { return k.block_m; }, [](K &k) -> int & { return k.block_n; },
                {{64, 64}, {128, 128}})
          .over([](K &k) -> int & { return k.pipeline.num_stages; }, {2, 3});
    }
  };
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report = tune(Planted{}, Target::sm_90a(), {{"M", 256}, {"N", 256}, {"K", 128}},
                           {.times = TimeSource::Events, .rounds = 3, .cache = &cache});
  ASSERT_GE(report.best, 0) << to_text(report.diagnostics) << to_text(report);
  EXPECT_EQ(report.times, TimeSource::Events);
  EXPECT_THAT(report.machine, HasSubstr("emulated"));
  EXPECT_EQ(report.candidates[size_t(report.best)].fields[0].second, "128");
  EXPECT_EQ(report.candidates[size_t(report.best)].fields[2].second, "2");
  for (const TuneCandidate &candidate : report.candidates) {
    ASSERT_TRUE(candidate.removed_by.empty()) << candidate.point() << candidate.reason;
    EXPECT_EQ(candidate.spread, 0); // made-up times do not vary
    double blocks = candidate.fields[0].second == "64" ? 16 : 4;
    EXPECT_GE(candidate.seconds, blocks * 1e-6);
  }
}

TEST(TuneOptions, WhatCannotBeMeasuredIsAnError) {
  for (auto [target, times] : {std::pair(Target::interpreter(), TimeSource::Predicted),
                               std::pair(Target::native(), TimeSource::Events),
                               std::pair(Target::sm_90a(), TimeSource::Native),
                               std::pair(Target::sm_80(), TimeSource::Events)}) {
    TuneReport report = tune(Scale{}, target, {{"N", 64}}, {.times = times});
    ASSERT_EQ(report.diagnostics.size(), 1u);
    EXPECT_EQ(report.diagnostics[0].code, TuneMeasure);
  }
  TuneReport noSize = tune(Scale{}, Target::native(), {{"M", 64}});
  ASSERT_EQ(noSize.diagnostics.size(), 1u);
  EXPECT_EQ(noSize.diagnostics[0].code, TuneClasses);
}

struct Nothing : Scale {
  static auto space() {
    return Space<Nothing>().over(&Nothing::block, {64}).where([](const Nothing &) {
      return false;
    });
  }
};
TEST(TuneOptions, TheDefaultIsTimedWhateverTheConditionsSay) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report =
      tune(Nothing{}, Target::native(), {{"N", 64}}, {.rounds = 1, .cache = &cache});
  EXPECT_EQ(report.best, 0);
  TuneReport none = tune(Nothing{{.block = 1 << 28}}, Target::native(), {{"N", 64}},
                         {.rounds = 1, .cache = &cache});
  ASSERT_FALSE(none.diagnostics.empty());
  EXPECT_EQ(none.best, -1);
}

TEST(TuneReport, PictureAndTextShowEveryPoint) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report = tune(blackwell::MatmulV1{}, Target::sm_100a(), square,
                           {.times = TimeSource::Predicted, .cache = &cache});
  std::string svg = to_svg(report);
  size_t points = 0;
  for (size_t at = svg.find("class=\"point\""); at != std::string::npos;
       at = svg.find("class=\"point\"", at + 1))
    ++points;
  EXPECT_EQ(points, 12u);
  EXPECT_THAT(to_text(report), AllOf(HasSubstr("12 points"), HasSubstr("predicted times")));
  EXPECT_THAT(to_json(report), HasSubstr("\"candidates\""));
}

} // namespace
