//===- LayoutTest.cpp - The algebra of layouts ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Examples whose results are known from CuTe's documentation, and laws that are
// checked by evaluating both sides for every index of random layouts.
//
//===----------------------------------------------------------------------===//
#include "Layout/Layout.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace penstock::layout;

namespace {

Layout read(const char *text) {
  Parsed<Layout> parsed = parseLayout(text);
  EXPECT_TRUE(parsed.value) << text << ": " << parsed.error;
  return parsed.value.value_or(Layout());
}

std::string text(const std::optional<Layout> &layout) { return layout ? print(*layout) : "none"; }

std::vector<int64_t> values(const Layout &layout) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < layout.size(); ++i)
    out.push_back(layout.apply(i));
  return out;
}

/// Trees of small extents and strides, with ones and zeros more often than by chance.
class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : random(seed) {}
  int64_t below(int64_t n) { return int64_t(random() % uint64_t(n)); }

  /// Small enough to go through all indices.
  Layout any(int depth = 2) {
    while (true)
      if (Layout layout = tree(depth); layout.size() <= 150)
        return layout;
  }

  Layout tree(int depth) {
    if (depth == 0 || below(3) == 0)
      return Layout(1 + below(6), below(4) == 0 ? 0 : below(20));
    std::vector<Layout> modes;
    for (int64_t n = 1 + below(3); n > 0; --n)
      modes.push_back(tree(depth - 1));
    return Layout(std::move(modes));
  }

  /// A permutation of [0, size): some extents, their strides in random order.
  Layout permutation(int64_t modes, int64_t base = 0) {
    std::vector<Layout::Mode> all;
    for (int64_t i = 0; i < modes; ++i)
      all.push_back({base ? base : 2 + below(3), 0});
    std::vector<size_t> order(all.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    int64_t stride = 1;
    for (size_t i : order) {
      all[i].stride = stride;
      stride *= all[i].extent;
    }
    return nested(all);
  }

  /// Puts leaves into a random tree.
  Layout nested(const std::vector<Layout::Mode> &modes) {
    std::vector<Layout> out;
    for (size_t i = 0; i < modes.size();) {
      size_t many = std::min<size_t>(modes.size() - i, size_t(1 + below(2)));
      out.push_back(Layout::ofModes({modes.begin() + i, modes.begin() + i + many}));
      i += many;
    }
    return Layout(std::move(out));
  }

private:
  std::mt19937 random;
};

TEST(Layout, SizesAndValues) {
  Layout a = read("((2,3),4):((1,10),2)");
  EXPECT_EQ(a.rank(), 2u);
  EXPECT_EQ(a.size(), 24);
  EXPECT_EQ(a.cosize(), 1 + 2 * 10 + 3 * 2 + 1);
  int64_t index = 0;
  for (int64_t k = 0; k < 4; ++k)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t i = 0; i < 2; ++i) {
        EXPECT_EQ(a.apply(index++), i + 10 * j + 2 * k);
        EXPECT_EQ(a.apply({i + 2 * j, k}), i + 10 * j + 2 * k);
      }
}

TEST(Layout, KnownCoalesced) {
  EXPECT_EQ(print(coalesce(read("(2,(1,6)):(1,(6,2))"))), "12:1");
  EXPECT_EQ(print(coalesce(read("(4,8):(8,1)"))), "(4,8):(8,1)");
  EXPECT_EQ(print(coalesce(read("((1,1),1):((5,6),7)"))), "1:0");
  EXPECT_EQ(print(coalesce(read("((2,3),4):((0,0),0)"))), "24:0");
}

TEST(Layout, KnownCompositions) {
  auto composed = [](const char *a, const char *b) { return text(composition(read(a), read(b))); };
  EXPECT_EQ(composed("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)");
  EXPECT_EQ(composed("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
  EXPECT_EQ(composed("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
  // Leaves a's indices.
  EXPECT_EQ(composed("8:1", "(4,4):(1,4)"), "none");
  // 0, 3, 6 have no constant distance in (4,4):(1,10).
  EXPECT_EQ(composed("(4,4):(1,10)", "3:3"), "none");
  // 2 + 3 carries from the first mode into the second.
  EXPECT_EQ(composed("(4,4):(1,10)", "(2,2):(2,3)"), "none");
}

TEST(Layout, KnownComplements) {
  auto rest = [](const char *a, int64_t target) { return text(complement(read(a), target)); };
  EXPECT_EQ(rest("4:1", 24), "6:4");
  EXPECT_EQ(rest("6:4", 24), "4:1");
  EXPECT_EQ(rest("(4,6):(1,4)", 24), "1:0");
  EXPECT_EQ(rest("4:2", 24), "(2,3):(1,8)");
  EXPECT_EQ(rest("(2,4):(1,6)", 24), "3:2");
  EXPECT_EQ(rest("(2,2):(1,6)", 24), "(3,2):(2,12)");
  EXPECT_EQ(rest("(4,4):(1,2)", 24), "none") << "overlaps";
  EXPECT_EQ(rest("4:1", 0), "none");
}

TEST(Layout, KnownDivisionsAndProducts) {
  EXPECT_EQ(text(logicalDivide(read("(4,2,3):(2,1,8)"), read("4:2"))),
            "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(text(logicalProduct(read("(2,2):(4,1)"), read("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(text(logicalProduct(read("(2,2):(4,1)"), read("(4,2):(2,1)"))),
            "((2,2),(4,2)):((4,1),(8,2))");
}

TEST(Layout, CoalescedIsTheOneOfItsFunction) {
  RandomLayouts random(1);
  std::map<std::vector<int64_t>, Layout> seen;
  unsigned again = 0;
  for (unsigned round = 0; round < 8000; ++round) {
    Layout a = random.any();
    Layout c = coalesce(a);
    ASSERT_EQ(values(c), values(a)) << print(a);
    ASSERT_EQ(coalesce(c), c);
    auto [at, isNew] = seen.emplace(values(a), c);
    again += !isNew;
    ASSERT_EQ(at->second, c) << print(a);
    ASSERT_TRUE(equivalent(a, at->second));
    Layout other = random.any();
    ASSERT_EQ(equivalent(a, other), values(a) == values(other));
  }
  EXPECT_GT(again, 500u);
}

TEST(Layout, CompositionIsOneAfterTheOther) {
  RandomLayouts random(2);
  unsigned defined = 0, nested = 0;
  for (unsigned round = 0; round < 100000; ++round) {
    Layout a = random.any(), b = random.any();
    std::optional<Layout> c = composition(a, b);
    if (b.cosize() > a.size()) {
      ASSERT_FALSE(c);
      continue;
    }
    if (!c)
      continue;
    ++defined;
    ASSERT_EQ(c->rank(), b.isLeaf() ? c->rank() : b.rank());
    nested += c->flat().size() > b.flat().size();
    for (int64_t i = 0; i < b.size(); ++i)
      ASSERT_EQ(c->apply(i), a.apply(b.apply(i))) << print(a) << " o " << print(b);
  }
  EXPECT_GT(defined, 2000u);
  EXPECT_GT(nested, 50u);
}

TEST(Layout, CompositionOfBitsIsAlwaysDefined) {
  // Permutations of the bits of an index compose whatever they are.
  RandomLayouts random(3);
  for (unsigned round = 0; round < 2000; ++round) {
    int64_t bits = 2 + random.below(7);
    Layout a = random.permutation(bits, 2), b = random.permutation(bits, 2);
    std::optional<Layout> c = composition(a, b);
    ASSERT_TRUE(c) << print(a) << " o " << print(b);
    for (int64_t i = 0; i < b.size(); ++i)
      ASSERT_EQ(c->apply(i), a.apply(b.apply(i)));
  }
}

TEST(Layout, CompositionIsAssociative) {
  RandomLayouts random(4);
  unsigned compared = 0;
  for (unsigned round = 0; round < 8000; ++round) {
    Layout a = random.permutation(3), b = random.permutation(3), c = random.permutation(2);
    std::optional<Layout> ab = composition(a, b), bc = composition(b, c);
    std::optional<Layout> left = ab ? composition(*ab, c) : std::nullopt;
    std::optional<Layout> right = bc ? composition(a, *bc) : std::nullopt;
    if (!left || !right)
      continue;
    ++compared;
    ASSERT_TRUE(equivalent(*left, *right)) << print(a) << ", " << print(b) << ", " << print(c);
  }
  EXPECT_GT(compared, 500u);
}

TEST(Layout, ComplementReachesTheRestOnce) {
  RandomLayouts random(5);
  unsigned defined = 0;
  for (unsigned round = 0; round < 20000; ++round) {
    Layout a = random.any();
    int64_t target = a.cosize() + random.below(60);
    std::optional<Layout> rest = complement(a, target);
    if (!rest)
      continue;
    ++defined;
    // Every offset of a plus every one of the rest: each number once, without gaps
    // from 0 on, at least up to the target.
    std::vector<int64_t> of = values(a);
    std::set<int64_t> offsets(of.begin(), of.end()), seen;
    for (int64_t x : offsets)
      for (int64_t i = 0; i < rest->size(); ++i)
        ASSERT_TRUE(seen.insert(x + rest->apply(i)).second) << print(a);
    ASSERT_EQ(*seen.rbegin() + 1, int64_t(seen.size()));
    ASSERT_GE(int64_t(seen.size()), target);
    // Offsets of the rest ascend and share nothing with a's but 0.
    for (int64_t i = 1; i < rest->size(); ++i) {
      ASSERT_GT(rest->apply(i), rest->apply(i - 1));
      ASSERT_FALSE(offsets.count(rest->apply(i)));
    }
  }
  EXPECT_GT(defined, 2000u);
}

TEST(Layout, DivisionAndProductKeepTheirOperands) {
  RandomLayouts random(6);
  unsigned divided = 0, exact = 0, multiplied = 0;
  for (unsigned round = 0; round < 8000; ++round) {
    Layout a = random.permutation(3), b = random.any(1);
    if (std::optional<Layout> d = logicalDivide(a, b)) {
      ++divided;
      for (int64_t i = 0; i < b.size(); ++i)
        ASSERT_EQ(d->at(0).apply(i), a.apply(b.apply(i)));
      // A tile that takes nothing twice, and tiles that fit: the same offsets again.
      std::vector<int64_t> tile = values(b);
      if (d->size() == a.size() && std::set(tile.begin(), tile.end()).size() == tile.size()) {
        ++exact;
        std::vector<int64_t> before = values(a), after = values(*d);
        std::sort(before.begin(), before.end());
        std::sort(after.begin(), after.end());
        ASSERT_EQ(before, after);
      }
    }
    Layout tile = random.any(1), order = random.permutation(2);
    if (std::optional<Layout> p = logicalProduct(tile, order)) {
      ++multiplied;
      ASSERT_EQ(p->at(0), tile);
      ASSERT_EQ(p->at(1).size(), order.size());
      std::set<int64_t> own;
      for (int64_t x : values(tile))
        own.insert(x);
      // Copies do not overlap, and lie in memory in the order of `order`.
      std::set<int64_t> all;
      for (int64_t i = 0; i < order.size(); ++i)
        for (int64_t x : own)
          ASSERT_TRUE(all.insert(x + p->at(1).apply(i)).second);
      for (int64_t i = 0; i < order.size(); ++i)
        for (int64_t j = 0; j < order.size(); ++j)
          ASSERT_EQ(order.apply(i) < order.apply(j), p->at(1).apply(i) < p->at(1).apply(j));
    }
  }
  EXPECT_GT(divided, 500u);
  EXPECT_GT(exact, 500u);
  EXPECT_GT(multiplied, 500u);
}

TEST(Layout, Inverses) {
  RandomLayouts random(7);
  unsigned both = 0, left = 0, right = 0;
  for (unsigned round = 0; round < 8000; ++round) {
    Layout a = round % 2 ? random.any() : random.permutation(4);
    Layout r = rightInverse(a);
    for (int64_t x = 0; x < r.size(); ++x)
      ASSERT_EQ(a.apply(r.apply(x)), x) << print(a);
    right += r.size() > 1;
    if (std::optional<Layout> l = leftInverse(a)) {
      ++left;
      for (int64_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(l->apply(a.apply(i)), i) << print(a);
    }
    std::vector<int64_t> all = values(a);
    std::set<int64_t> image(all.begin(), all.end());
    bool bijective = int64_t(image.size()) == a.size() && a.cosize() == a.size();
    std::optional<Layout> full = inverse(a);
    ASSERT_EQ(full.has_value(), bijective) << print(a);
    if (full) {
      ++both;
      ASSERT_TRUE(equivalent(*inverse(*full), a));
      ASSERT_TRUE(equivalent(*composition(a, *full), Layout(a.size(), 1)));
    }
  }
  EXPECT_GT(both, 3000u);
  EXPECT_GT(left, both);
  EXPECT_GT(right, 3000u);
}

TEST(Layout, RefusesWhatIsTooLarge) {
  Layout big(Layout::limit, 1);
  EXPECT_TRUE(big.isBounded());
  EXPECT_FALSE(Layout(Layout::limit + 1, 1).isBounded());
  EXPECT_FALSE(Layout(0, 1).isBounded());
  EXPECT_FALSE(Layout(4, -1).isBounded());
  EXPECT_FALSE(Layout({big, big}).isBounded());
  EXPECT_FALSE(Layout({big, Layout(2, 1)}).isBounded());
  EXPECT_FALSE(Layout(3, Layout::limit).isBounded());
  EXPECT_FALSE(logicalProduct(big, Layout(2, 1)));
  EXPECT_FALSE(composition(Layout(4, -1), Layout(2, 1)));
  EXPECT_FALSE(complement(big, Layout::limit + 1));
  EXPECT_FALSE(leftInverse(Layout(4, -1)));
  EXPECT_FALSE(inverse(Layout(0, 0)));
}

} // namespace
