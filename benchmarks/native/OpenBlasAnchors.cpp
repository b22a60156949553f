//===- OpenBlasAnchors.cpp - OpenBLAS's products --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Part of the build where OpenBLAS is installed, so that some baseline is there without
// benchmarks/install-anchors. It is a module because OpenBLAS reads its environment when it is
// loaded.
//
//===----------------------------------------------------------------------===//
#include "Anchors.h"

#include <cblas.h>
#include <cstring>
#include <exception>
#include <immintrin.h>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" void openblas_set_num_threads(int);

namespace {

using bench::AnchorProblem;
using bench::AnchorType;

__attribute__((target("f16c"))) float fromHalf(uint16_t bits) { return _cvtsh_ss(bits); }

/// OpenBLAS multiplies f32 alone. Narrower floats are converted before, which does not count.
struct OpenBlas {
  explicit OpenBlas(const AnchorProblem &p) : p(p) {
    if (p.type == AnchorType::I8)
      throw std::runtime_error("OpenBLAS has no product of i8");
    a = widened(p.a, p.m * p.k, ofA);
    b = widened(p.b, p.k * p.n, ofB);
  }
  void run() {
    openblas_set_num_threads(p.threads);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(p.m), int(p.n), int(p.k), 1, a,
                int(p.k), b, int(p.n), 0, static_cast<float *>(p.c), int(p.n));
  }

private:
  const float *widened(const void *from, int64_t count, std::vector<float> &to) const {
    if (p.type == AnchorType::F32)
      return static_cast<const float *>(from);
    const auto *narrow = static_cast<const uint16_t *>(from);
    to.resize(size_t(count));
    for (size_t i = 0; i < to.size(); ++i)
      if (p.type == AnchorType::F16) {
        to[i] = fromHalf(narrow[i]);
      } else {
        uint32_t bits = uint32_t(narrow[i]) << 16;
        std::memcpy(&to[i], &bits, sizeof bits);
      }
    return to.data();
  }

  AnchorProblem p;
  std::vector<float> ofA, ofB;
  const float *a = nullptr, *b = nullptr;
};

} // namespace

extern "C" __attribute__((visibility("default"))) const bench::Anchor *penstock_anchor() {
  static const std::string name = [] {
    std::string config = openblas_get_config(); // "OpenBLAS 0.3.21 NO_LAPACKE .."
    return config.substr(0, config.find(' ', config.find(' ') + 1));
  }();
  static const bench::Anchor anchor = bench::anchor<OpenBlas, std::exception>(name.c_str());
  return &anchor;
}
