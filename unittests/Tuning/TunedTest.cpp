//===- TunedTest.cpp - Kernels that choose their configuration ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Kernels.h"
#include "Tuning/Records.h"
#include "Tuning/Table.h"
#include "Tuning/Tune.h"

#include <filesystem>
#include <fstream>

using namespace penstock;
using namespace penstock::tuning;
using namespace testing;

namespace {

/// Stores made-up times of points.
void plant(KernelCache &cache, const std::string &shapeClass,
           const std::vector<std::pair<size_t, double>> &times, Target target = Target::native(),
           TimeSource source = TimeSource::Native) {
  auto kernel = detail::tunableOf(Scale{}, "Scale", here());
  Points points(kernel);
  Records records(*cache.store(), points, target, source, machineName(target, source));
  for (auto [point, seconds] : times) {
    Record record;
    record.runs = {{"planted", {seconds}, {false}}};
    ASSERT_TRUE(records.add(shapeClass, point, record));
  }
  ASSERT_TRUE(records.addClass(shapeClass));
}

std::string blockOf(const TunedChoice &choice) { return choice.fields.at(0).second; }

bool warnsUntuned(const std::vector<Diagnostic> &diagnostics) {
  return diagnostics.size() == 1 && diagnostics[0].code == TuneUntuned &&
         diagnostics[0].severity == Severity::Warning && !diagnostics[0].helps.empty();
}

TEST(Tuned, TakesTheRecordOfTheClassThenTheNearestThenTheDefault) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  auto empty = tuned(Scale{}, Target::native(), {.cache = &cache});
  TunedChoice choice = empty.choice({{"N", 1000}});
  EXPECT_EQ(choice.from, TunedFrom::Default);
  EXPECT_EQ(blockOf(choice), "64");
  EXPECT_TRUE(warnsUntuned(choice.diagnostics));

  plant(cache, "N=2^9", {{0, 3e-3}, {2, 2e-3}, {4, 1e-3}});
  plant(cache, "N=2^14", {{0, 1e-3}, {2, 2e-3}, {4, 3e-3}});
  auto kernel = tuned(Scale{}, Target::native(), {.cache = &cache});
  choice = kernel.choice({{"N", 1000}});
  EXPECT_EQ(choice.from, TunedFrom::Record);
  EXPECT_EQ(blockOf(choice), "128");
  EXPECT_TRUE(choice.diagnostics.empty());
  choice = kernel.choice({{"N", 2100}}); // 2^11: nearer to 2^9 than to 2^14
  EXPECT_EQ(choice.from, TunedFrom::NearestRecord);
  EXPECT_EQ(choice.shape_class, "N=2^9");
  EXPECT_EQ(blockOf(choice), "128");
  EXPECT_TRUE(warnsUntuned(choice.diagnostics));
  choice = kernel.choice({{"N", 9000}});
  EXPECT_EQ(choice.shape_class, "N=2^14");
  EXPECT_EQ(blockOf(choice), "32");
}

TEST(Tuned, LaunchesChooseByTheirShape) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  // Point 5 multiplies by 3 and adds 1, so that results show which one ran.
  plant(cache, "N=2^5", {{5, 1e-3}});
  plant(cache, "N=2^6", {{2, 1e-3}});
  auto kernel = tuned(Scale{}, Target::native(), {.cache = &cache});
  std::vector<float> x(100, 10), y(100);
  kernel(view(x.data(), {40}), view(y.data(), {40}));
  EXPECT_EQ(y[39], 31);
  EXPECT_TRUE(kernel.diagnostics().empty());
  kernel(view(x.data(), {100}), view(y.data(), {100}));
  EXPECT_EQ(y[99], 20);
  kernel.prepare({{"N", 70}});
  kernel(view(x.data(), {20}), view(y.data(), {20})); // 2^4: nearest is 2^5
  EXPECT_EQ(y[0], 31);
  EXPECT_TRUE(warnsUntuned(kernel.diagnostics()));
}

TEST(Tuned, NeverMeasures) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  auto kernel = tuned(Scale{}, Target::native(), {.cache = &cache});
  std::vector<float> x(64, 1), y(64);
  kernel(view(x.data(), {64}), view(y.data(), {64}));
  auto tunable = detail::tunableOf(Scale{}, "Scale", here());
  Points points(tunable);
  Records records(*cache.store(), points, Target::native(), TimeSource::Native,
                  machineName(Target::native(), TimeSource::Native));
  EXPECT_TRUE(records.read("N=2^6").empty());
}

TEST(Tuned, ATablePinsTheChoice) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  plant(cache, "N=2^9", {{0, 1e-3}});
  std::string file = folder.directory() + "/tuned.json";
  TuneReport report;
  report.kernel = "Scale";
  report.target = "native";
  report.shape_class = "N=2^9";
  report.candidates.resize(1);
  report.candidates[0].fields = {{"block", "128"}, {"factor", "2"}, {"offset", "0"}};
  report.candidates[0].seconds = 1e-3;
  report.best = 0;
  ASSERT_TRUE(export_table(file, {report}).empty());
  auto pinned = tuned(Scale{}, Target::native(), {.cache = &cache, .table = file});
  TunedChoice choice = pinned.choice({{"N", 1000}});
  EXPECT_EQ(choice.from, TunedFrom::Table);
  EXPECT_EQ(blockOf(choice), "128");
  EXPECT_EQ(pinned.choice({{"N", 50}}).from, TunedFrom::Table); // the nearest class
  // Another kernel has no entry, and records do not count.
  auto other = tuned(ScaleDerived{}, Target::native(), {.cache = &cache, .table = file});
  EXPECT_EQ(other.choice({{"N", 1000}}).from, TunedFrom::Default);

  // A second export keeps the first, and replaces what it tuned.
  TuneReport second = report;
  second.shape_class = "N=2^3";
  report.candidates[0].fields[0].second = "32";
  ASSERT_TRUE(export_table(file, {second, report}).empty());
  auto again = tuned(Scale{}, Target::native(), {.cache = &cache, .table = file});
  EXPECT_EQ(blockOf(again.choice({{"N", 1000}})), "32");
  EXPECT_EQ(blockOf(again.choice({{"N", 8}})), "128");
}

TEST(Tuned, WrongTablesAreErrors) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  std::string file = folder.directory() + "/tuned.json";
  auto launchWith = [&](const std::string &text) {
    std::ofstream(file) << text;
    auto kernel = tuned(Scale{}, Target::native(), {.cache = &cache, .table = file});
    std::vector<float> x(8, 1), y(8);
    return kernel.try_launch({}, view(x.data(), {8}), view(y.data(), {8}));
  };
  auto entry = [](const std::string &fields) {
    return R"({"format": 1, "tuned": [{"kernel": "Scale", "target": "native", "class": "N=2^3",
               "fields": [)" +
           fields + "]}]}";
  };
  for (const std::string &wrong :
       {std::string("not json"), std::string("{}"), std::string(R"({"format": 2, "tuned": []})"),
        std::string(R"({"format": 1, "tuned": [{"kernel": "Scale"}]})"), entry("3"),
        entry(R"("block")"), entry(R"("block=128")"),
        entry(R"("block=129", "factor=2", "offset=0")"),
        entry(R"("blok=128", "factor=2", "offset=0")")}) {
    auto diagnostics = launchWith(wrong);
    ASSERT_EQ(diagnostics.size(), 1u) << wrong;
    EXPECT_EQ(diagnostics[0].code, TuneTable) << wrong;
    EXPECT_FALSE(diagnostics[0].helps.empty());
  }
  EXPECT_TRUE(launchWith(entry(R"("block=128", "factor=2", "offset=0")")).empty());
  auto missing = tuned(Scale{}, Target::native(), {.table = folder.directory() + "/none.json"});
  EXPECT_FALSE(missing.diagnostics().empty());
  // A table that is not one is not overwritten.
  std::ofstream(file) << "mine";
  EXPECT_FALSE(export_table(file, {}).empty());
  std::string kept;
  std::ifstream(file) >> kept;
  EXPECT_EQ(kept, "mine");
}

} // namespace
