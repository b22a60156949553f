//===- Random.h - Numbers that one seed decides -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not <random>: the same seed gives the same program with every standard
// library, so that a seed in a report can be run again anywhere.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_RANDOM_H
#define PENSTOCK_FUZZ_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace penstock::fuzz {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. count-1.
  int64_t below(int64_t count) {
    return count > 0 ? static_cast<int64_t>(next() % static_cast<uint64_t>(count)) : 0;
  }
  int64_t between(int64_t from, int64_t to) { return from + below(to - from + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T> T of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int64_t>(all.size()))];
  }
  template <class T> const T &of(const std::vector<T> &all) {
    return all[static_cast<std::size_t>(below(static_cast<int64_t>(all.size())))];
  }

private:
  uint64_t state;
};

/// A seed for part \p number of what \p seed decides.
inline uint64_t derive(uint64_t seed, uint64_t number) {
  return Random(seed * 0x2545f4914f6cdd1du + number).next();
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_RANDOM_H
