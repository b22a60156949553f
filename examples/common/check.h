//===- check.h - Running an example against its reference -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the examples' main functions share: random data, tensors with guards
// around them, the comparison with a reference in double precision, and the
// loop over cases and targets. Nothing here computes what a kernel computes.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_COMMON_CHECK_H
#define PENSTOCK_EXAMPLES_COMMON_CHECK_H

#include <penstock/penstock.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace check {

//===----------------------------------------------------------------------===//
// Errors of rounding
//===----------------------------------------------------------------------===//

/// The largest relative error of rounding to a type (its "unit roundoff"), and
/// half the distance between its subnormal numbers, the largest absolute error
/// of rounding a value near zero.
template <class T> struct Rounding;
template <> struct Rounding<penstock::f32> {
  static constexpr double unit = 0x1p-24, tiny = 0x1p-150;
};
template <> struct Rounding<penstock::f16> {
  static constexpr double unit = 0x1p-11, tiny = 0x1p-25;
};
template <> struct Rounding<penstock::bf16> {
  static constexpr double unit = 0x1p-8, tiny = 0x1p-134;
};
inline constexpr double u32 = Rounding<penstock::f32>::unit;

/// n operations in a row, each rounded to f32, err by at most this factor:
/// (1 + u)^n - 1 <= n u / (1 - n u). Sums of n terms, in any order, err by at
/// most gamma(n) times the sum of their magnitudes.
inline double gamma(double n) { return n * u32 / (1 - n * u32); }

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

using Random = std::mt19937;

/// Uniform in [low, high); the same on every platform, unlike std's.
inline double uniform(Random &random, double low, double high) {
  return low + (high - low) * (random() * 0x1p-32);
}

template <class T> std::vector<T> randoms(Random &random, int64_t n, double low, double high) {
  std::vector<T> values(static_cast<size_t>(n));
  for (T &value : values)
    value = T(static_cast<float>(uniform(random, low, high)));
  return values;
}

/// An output with guards before and after it: a kernel that writes outside of
/// its tensor is caught. It starts as a value that no result has, so that an
/// element which was never written is caught too.
template <class T> class Output {
public:
  explicit Output(int64_t n) : count(static_cast<size_t>(n)), memory(count + 2 * guard, T(mark)) {}

  T *data() { return memory.data() + guard; }
  const T &operator[](size_t i) const { return memory[guard + i]; }
  size_t size() const { return count; }
  bool intact() const {
    for (size_t i = 0; i < guard; ++i)
      if (float(memory[i]) != mark || float(memory[guard + count + i]) != mark)
        return false;
    return true;
  }

private:
  static constexpr size_t guard = 64;
  static constexpr float mark = -12288; // exact in every type that is used
  size_t count;
  std::vector<T> memory;
};

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// A result in double precision, and how far a right kernel may be from it.
struct Expected {
  double value;
  double bound;
};

struct Outcome {
  bool passed = true;
  double worst = 0; ///< largest error as a part of its bound
  std::string message = {};

  void fail(std::string text) {
    if (passed)
      message = std::move(text);
    passed = false;
  }
};

/// Every element must lie within its bound. NaN is only right for NaN, and an
/// infinity only for the same infinity.
template <class T> Outcome compare(const Output<T> &got, const std::vector<Expected> &want) {
  Outcome outcome;
  if (!got.intact())
    outcome.fail("memory outside of the tensor was written");
  for (size_t i = 0; i < want.size(); ++i) {
    double have = static_cast<double>(got[i]), error = std::fabs(have - want[i].value);
    bool same = have == want[i].value || (std::isnan(have) && std::isnan(want[i].value));
    if (!same && !(error <= want[i].bound))
      outcome.fail("element " + std::to_string(i) + " is " + std::to_string(have) +
                   " and should be " + std::to_string(want[i].value) + ", error " +
                   std::to_string(error) + ", bound " + std::to_string(want[i].bound));
    if (!same && error > outcome.worst * want[i].bound)
      outcome.worst = error / want[i].bound;
  }
  return outcome;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// A kernel compiled for the processor and for the interpreter, which is slow
/// and the judge of what the language means.
template <class K> struct BothTargets {
  explicit BothTargets(K kernel)
      : native(penstock::try_compile(kernel, penstock::Target::native())),
        interpreted(penstock::try_compile(kernel, penstock::Target::interpreter())) {}
  penstock::Compiled<K> native, interpreted;
};

enum Size { Small, Large }; ///< large cases skip the interpreter

class Cases {
public:
  explicit Cases(std::string example) : example(std::move(example)) {}

  /// Runs one case, `body(kernel) -> Outcome`, on each target.
  template <class K, class Body>
  void run(const std::string &name, Size size, const BothTargets<K> &kernels, Body body) {
    one(name, "native", kernels.native, body);
    if (size == Small)
      one(name, "interpreter", kernels.interpreted, body);
  }

  /// What main returns.
  int result() const {
    std::printf("%s: %d cases, %d failed\n", example.c_str(), total, failed);
    return failed ? 1 : 0;
  }

private:
  template <class K, class Body>
  void one(const std::string &name, const char *target, const penstock::Compiled<K> &compiled,
           Body &body) {
    Outcome outcome;
    try {
      if (compiled)
        outcome = body(compiled.kernel);
      else
        outcome.fail("does not compile:\n" + penstock::to_text(compiled.diagnostics));
    } catch (const penstock::Error &error) {
      outcome.fail(error.what());
    }
    ++total;
    failed += !outcome.passed;
    std::printf("%-4s %s %s on %s", outcome.passed ? "ok" : "FAIL", example.c_str(), name.c_str(),
                target);
    if (outcome.passed)
      std::printf(": error at most %.3f of the bound\n", outcome.worst);
    else
      std::printf(": %s\n", outcome.message.c_str());
  }

  std::string example;
  int total = 0, failed = 0;
};

} // namespace check

#endif // PENSTOCK_EXAMPLES_COMMON_CHECK_H
