//===- RandomSpacesTest.cpp - Random spaces against plain loops -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Kernels.h"

#include <random>

using namespace penstock;
using namespace testing;

namespace {

/// A kernel with faults at chosen points.
struct Faulty {
  int a = 0, b = 0, c = 0;
  uint32_t seed = 0;
  static constexpr auto signature = "x[N] -> y[N]";

  /// A number below \p below that only depends on the point.
  uint32_t hash(uint32_t salt, uint32_t below) const {
    uint64_t z = (uint64_t(seed) << 32) + uint64_t(a * 10000 + b * 100 + c) * 7919 + salt;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return uint32_t(z >> 33) % below;
  }
  bool excluded() const { return hash(1, 5) == 0; }
  bool invalid() const { return hash(2, 8) == 0; }
  bool tooLarge() const { return hash(3, 8) == 0; }
  bool wrong() const { return hash(4, 8) == 0; }

  void operator()(Block &block, In<f32, 1> x, Out<f32, 1> y) const {
    int width = 16 + 8 * (a + b + c);
    auto first = block.grid(ceil_div(x.size(0), width)) * width;
    auto t = block.local<f32>(invalid() ? -1 : width);
    for (int i = 0; tooLarge() && i < 16; ++i) // 4 GB of tiles
      block.fill(block.local<f32>(1 << 13, 1 << 13), 0);
    block.copy(x.at(first), t);
    block.set(t, t + (wrong() ? 1.0f : 0.0f));
    block.copy(t, y.at(first));
  }
};

/// Builds a space as Space does, of axes that are drawn at run time.
detail::TunableKernel randomKernel(std::mt19937 &random, Faulty &given) {
  auto below = [&](unsigned n) { return unsigned(random() % n); };
  given.seed = uint32_t(random());
  int Faulty::*members[] = {&Faulty::a, &Faulty::b, &Faulty::c};
  Space<Faulty> space;
  for (int Faulty::*member : members) {
    unsigned values = below(4); // 0: the field does not vary
    int first = int(below(3));
    if (values == 1)
      space.over(member, {first});
    else if (values == 2)
      space.over(member, {first, first + 1});
    else if (values == 3)
      space.over(member, {first + 2, first, first + 1});
    if (below(2))
      given.*member = first;
  }
  if (below(4))
    space.where([](const Faulty &k) { return !k.excluded(); });
  space.classes(below(2) ? "N:log2" : "N");
  detail::TunableKernel kernel;
  kernel.name = "Faulty";
  kernel.at = here();
  kernel.make = [given](void *&made) { made = new Faulty(given); };
  kernel.destroy = [](void *made) { delete static_cast<Faulty *>(made); };
  kernel.source = [](const void *made, const char *called, Loc where) {
    using Arguments = detail::FunctionTraits<Faulty>::Arguments;
    return detail::sourceOf(*static_cast<const Faulty *>(made), called,
                            static_cast<Arguments *>(nullptr), where);
  };
  space.describe<Faulty>(kernel.space);
  return kernel;
}

/// Expected stage of a point.
std::string expectedStage(const Faulty &point, const Faulty &given, bool conditions) {
  bool isDefault = point.a == given.a && point.b == given.b && point.c == given.c;
  if (conditions && !isDefault && point.excluded())
    return "where";
  if (point.invalid())
    return "check";
  if (point.tooLarge())
    return "resources";
  // The result is compared with the default's, right or wrong.
  return point.wrong() != given.wrong() ? "result" : "";
}

TEST(RandomSpaces, AgreeWithPlainLoops) {
  std::mt19937 random(7);
  int timed = 0, removed = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("space " + std::to_string(round));
    Faulty given;
    detail::TunableKernel kernel = randomKernel(random, given);
    TemporaryCache folder;
    KernelCache cache = folder.open();
    int64_t size = 1 + int64_t(random() % 200);
    Shape shape = {{"N", size}};
    TuneReport whole =
        detail::tune(kernel, Target::native(), shape, {.rounds = 1, .cache = &cache});
    size_t expected = 1;
    for (const detail::TuningAxis &axis : kernel.space.axes)
      expected *= axis.values.size();
    EXPECT_GE(whole.candidates.size(), expected);
    EXPECT_LE(whole.candidates.size(), expected + 1);
    // Without a default that runs there is nothing to compare with.
    bool canRun = !given.invalid() && !given.tooLarge();
    if (!canRun) {
      EXPECT_FALSE(whole.diagnostics.empty());
      EXPECT_EQ(whole.best, -1);
    }
    for (const TuneCandidate &candidate : whole.candidates) {
      Faulty point = given;
      size_t next = 0;
      for (const detail::TuningAxis &axis : kernel.space.axes)
        for (size_t offset : axis.offsets)
          *reinterpret_cast<int *>(reinterpret_cast<char *>(&point) + offset) =
              std::stoi(candidate.fields[next++].second);
      std::string stage = expectedStage(point, given, !kernel.space.where.empty());
      if (!canRun && stage == "result")
        stage = "";
      EXPECT_EQ(candidate.removed_by, stage) << candidate.point() << ": " << candidate.reason;
      if (canRun) {
        EXPECT_EQ(candidate.seconds > 0, stage.empty()) << candidate.point();
      }
      ++(stage.empty() ? timed : removed);
    }
    if (!canRun || round % 3)
      continue;
    // Shards in any number and order complete each other.
    TemporaryCache shared;
    KernelCache together = shared.open();
    unsigned shards = 2 + unsigned(random() % 5);
    TuneReport last;
    for (unsigned i = 0; i < shards; ++i)
      last = detail::tune(
          kernel, Target::native(), shape,
          {.rounds = 1, .shard = (i + 1) % shards, .shards = shards, .cache = &together});
    for (size_t i = 0; i < whole.candidates.size(); ++i) {
      EXPECT_EQ(last.candidates[i].removed_by, whole.candidates[i].removed_by);
      EXPECT_EQ(last.candidates[i].seconds > 0, whole.candidates[i].seconds > 0);
    }
    EXPECT_EQ(last.best >= 0, whole.best >= 0);
  }
  // The generator makes both.
  EXPECT_GT(timed, 20);
  EXPECT_GT(removed, 20);
}

} // namespace
