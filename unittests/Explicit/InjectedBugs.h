//===- InjectedBugs.h - One bug, and what its author must be told -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests of this folder take kernels like those of the examples and make one
// bug in each. A case names the code of the finding and the marks of the lines
// that it must point at; a mark is a comment such as `// [load]` at the end of a
// line of the test. Without a bug the same kernel must run without a finding
// and compute the product, so it is the bug that is found.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_EXPLICIT_INJECTEDBUGS_H
#define PENSTOCK_UNITTESTS_EXPLICIT_INJECTEDBUGS_H

#include <penstock/assemble.h>
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace bugs {
using namespace penstock;

/// Where roles are out of step, what happens depends on the timing: a race or a
/// deadlock. Every timing must report something, and one of them the finding.
enum class Seen { InEveryTiming, InSomeTiming };

/// A finding: its code, and the marks of the lines that it points at.
struct Told {
  unsigned code = 0;
  const char *line = "";
  const char *other = "";
};

/// What is expected of a kernel with one bug.
template <class Bug> struct Case {
  Bug bug;
  const char *name;
  Told run; ///< by the emulator
  /// Before code exists, by following what roles do with barriers; nothing where
  /// a bug is not of that kind.
  Told early = {};
  int64_t tiles = 7; ///< along K
  Seen seen = Seen::InEveryTiming;
  Told orElse = {}; ///< by the emulator as well, in some of the timings
};

template <class Bug> void PrintTo(const Case<Bug> &one, std::ostream *out) { *out << one.name; }

template <class Bug> std::string nameOf(const ::testing::TestParamInfo<Case<Bug>> &info) {
  return info.param.name;
}

/// The lines of a file that carry a mark.
inline std::vector<unsigned> linesWith(const std::string &file, const std::string &mark) {
  std::ifstream in(file);
  std::vector<unsigned> lines;
  unsigned number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with("// [" + mark + "]"))
      lines.push_back(number);
  }
  EXPECT_FALSE(lines.empty()) << file << " has no line with the mark " << mark;
  return lines;
}

inline bool isAt(const SourceLocation &location, const std::string &file, const std::string &mark) {
  return location.file == file && std::ranges::count(linesWith(file, mark), location.line);
}

/// Whether a finding points at a marked line, with its place or with a note.
inline bool names(const Diagnostic &finding, const std::string &file, const std::string &mark) {
  if (mark.empty() || isAt(finding.location, file, mark))
    return true;
  return std::ranges::any_of(
      finding.notes, [&](const DiagnosticNote &note) { return isAt(note.location, file, mark); });
}

inline bool isTold(const std::vector<Diagnostic> &found, const Told &expected,
                   const std::string &file) {
  return std::ranges::any_of(found, [&](const Diagnostic &finding) {
    return finding.code == expected.code && names(finding, file, expected.line) &&
           names(finding, file, expected.other);
  });
}

/// One of the findings has the code and points at both lines. There may be more:
/// what follows from a bug is reported, too.
inline void expectFinding(const std::vector<Diagnostic> &found, const Told &expected,
                          const std::string &file) {
  auto [code, line, other] = expected;
  EXPECT_TRUE(isTold(found, expected, file))
      << "expected " << codeName(code) << " at [" << line << "]"
      << (*other ? " and [" + std::string(other) + "]" : "") << "\n"
      << (found.empty() ? "nothing was reported" : to_text(found));
}

struct Timing {
  const char *name;
  Completion completion;
  uint64_t seed;
};
inline constexpr Timing timings[] = {{"eager", Completion::Eager, 0},
                                     {"latest", Completion::Latest, 0},
                                     {"random 1", Completion::Random, 1},
                                     {"random 2", Completion::Random, 2}};

/// A product C[M,N] = A[M,K] B[N,K]^T of small integers, exact in f16.
struct Product {
  int64_t m, n, k;
  std::vector<f16> a = {}, b = {}, c = {};

  Product(int64_t m, int64_t n, int64_t k)
      : m(m), n(n), k(k), a(size_t(m * k)), b(size_t(n * k)), c(size_t(m * n), f16(-77)) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = f16(float(int(i * 7 % 5) - 2));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = f16(float(int(i * 3 % 5) - 2));
  }
  template <class Kernel> std::vector<Diagnostic> launch(const Kernel &kernel, Timing timing) {
    LaunchOptions options;
    options.completion = timing.completion;
    options.seed = timing.seed;
    return kernel.try_launch(options, view(a, {m, k}), view(b, {n, k}), view(c, {m, n}));
  }
  int64_t wrong() const {
    int64_t count = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += float(a[size_t(i * k + l)]) * float(b[size_t(j * k + l)]);
        count += float(c[size_t(i * n + j)]) != float(f16(sum));
      }
    return count;
  }
};

/// The kernel without a bug: no findings, the right product.
template <class K>
void expectRight(const K &kernel, Target target, int64_t tiles, CompileOptions options = {}) {
  auto compiled = try_compile(kernel, target, std::move(options));
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  for (Timing timing : timings) {
    Product product(kernel.block_m, kernel.block_n, tiles * kernel.block_k);
    auto found = product.launch(compiled.kernel, timing);
    EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
    EXPECT_EQ(product.wrong(), 0) << timing.name;
  }
}

/// CUDA's assembler, where there is one, takes the kernel and complains of nothing.
template <class K> void expectAssembled(const K &kernel, Target target) {
  if (find_assembler().empty())
    GTEST_SKIP() << "ptxas is not installed";
  auto compiled = try_compile(kernel, target);
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  Assembled code = assemble(compiled.kernel.ptx(), target);
  EXPECT_TRUE(code.diagnostics.empty()) << to_text(code.diagnostics);
}

/// A kernel whose bug is found when it runs; and before, where following its
/// barriers can show it.
template <class K, class Bug>
void expectCaught(const K &kernel, Target target, const Case<Bug> &expected,
                  const std::string &file) {
  auto followed = try_compile(kernel, target);
  EXPECT_EQ(bool(followed), expected.early.code == 0) << to_text(followed.diagnostics);
  if (expected.early.code)
    expectFinding(followed.diagnostics, expected.early, file);
  auto compiled = try_compile(kernel, target, {.check_barriers = false});
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::vector<Diagnostic> ofAllTimings;
  for (Timing timing : timings) {
    SCOPED_TRACE(timing.name);
    Product product(kernel.block_m, kernel.block_n, expected.tiles * kernel.block_k);
    auto found = product.launch(compiled.kernel, timing);
    EXPECT_FALSE(found.empty()) << "nothing was reported";
    if (expected.seen == Seen::InEveryTiming)
      expectFinding(found,
                    expected.orElse.code && isTold(found, expected.orElse, file) ? expected.orElse
                                                                                 : expected.run,
                    file);
    ofAllTimings.insert(ofAllTimings.end(), found.begin(), found.end());
  }
  if (expected.seen == Seen::InSomeTiming)
    expectFinding(ofAllTimings, expected.run, file);
}

/// A kernel that must not compile.
template <class K>
void expectRefused(const K &kernel, Target target, const Told &expected, const std::string &file) {
  auto compiled = try_compile(kernel, target);
  EXPECT_FALSE(bool(compiled)) << "the kernel was compiled";
  expectFinding(compiled.diagnostics, expected, file);
}

} // namespace bugs

#endif // PENSTOCK_UNITTESTS_EXPLICIT_INJECTEDBUGS_H
