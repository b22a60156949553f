//===- matmul.cpp - Products beside OpenBLAS ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/matmul-f32-1024     C = A * B, all f32, row-major
// native/matmul-f32nt-1024   C = A * B^T
// native/matmul-f16-1024     C = A * B^T in f16, summed in f32. OpenBLAS has no
//                            such product: the reference is its sgemm on the
//                            same numbers in f32.
//
//===----------------------------------------------------------------------===//
#include "Blocks.h"
#include "Measure.h"
#include "TileProbe.h"
#include "VectorProbe.h"

#include <penstock/penstock.h>
#include <unistd.h>

#ifdef PENSTOCK_HAVE_CBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

using namespace penstock;

namespace {

template <class T, bool TransposedB> struct Matmul {
  bench::Blocks block;

  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<T, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(TransposedB ? 0 : 1);
    auto [bm, bn] = b.grid(ceil_div(M, block.m), ceil_div(N, block.n));
    auto As = b.shared<T>(block.m, block.k);
    auto Bs = TransposedB ? b.shared<T>(block.n, block.k) : b.shared<T>(block.k, block.n);
    auto acc = b.local<f32>(block.m, block.n);

    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(K, block.k))) {
      b.copy(A.at(bm * block.m, ko * block.k), As);
      if (TransposedB) {
        b.copy(B.at(bn * block.n, ko * block.k), Bs);
        b.gemm(As, transposed(Bs), acc);
      } else {
        b.copy(B.at(ko * block.k, bn * block.n), Bs);
        b.gemm(As, Bs, acc);
      }
    }
    b.copy(acc, C.at(bm * block.m, bn * block.n));
  }
};

constexpr int64_t n = 1024;

#ifdef PENSTOCK_HAVE_CBLAS

template <class T, bool TransposedB>
void run(const std::string &name, Matmul<T, TransposedB> kernel, double tolerance) {
  auto a = bench::numbers<T>(n * n, 1), b = bench::numbers<T>(n * n, 2);
  std::vector<T> c(n * n);
  std::vector<float> fa(a.begin(), a.end()), fb(b.begin(), b.end()), fc(n * n);
  openblas_set_num_threads(bench::threads());
  auto matmul = compile(kernel, Target::native(), {.name = "matmul"});

  auto ours = [&] {
    matmul.launch({.threads = bench::threads()}, view(a, {n, n}), view(b, {n, n}), view(c, {n, n}));
  };
  auto theirs = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, TransposedB ? CblasTrans : CblasNoTrans, n, n, n, 1,
                fa.data(), n, fb.data(), n, 0, fc.data(), n);
  };
  bench::Pair best = bench::best(ours, theirs);
  bench::expectClose(name, c, fc, tolerance);
  double work = 2e-9 * double(n) * double(n) * double(n);
  bench::line(name, work / best.ours, work / best.theirs, best.theirs / best.ours, "GFLOP/s");
}

#else

template <class K> void run(const std::string &name, K, double) {
  bench::skipped(name, "OpenBLAS was not found when this was built");
}

#endif

} // namespace

int main(int argc, char **argv) {
  // OpenBLAS is loaded by now.
  if (bench::chooseOpenBlasKernels())
    execv("/proc/self/exe", argv);
  bench::Blocks blocks = bench::vectorBlocks({n, n, n}, bench::threads());
  if (auto name = "native/matmul-f32-1024"; bench::wanted(argc, argv, name))
    run(name, Matmul<f32, false>{blocks}, 1e-3);
  if (auto name = "native/matmul-f32nt-1024"; bench::wanted(argc, argv, name))
    run(name, Matmul<f32, true>{blocks}, 1e-3);
  if (auto name = "native/matmul-f16-1024"; bench::wanted(argc, argv, name))
    run(name, Matmul<f16, true>{bench::hasTilesOfF16() ? bench::Blocks{128, 256, 128} : blocks},
        0.05);
}
