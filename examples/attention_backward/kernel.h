//===- kernel.h - Gradients of attention ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For O = softmax(scale Q K^T) V of each of H heads: the gradients dQ, dK and dV that
// follow from dO. L is the logarithm of the sum of exponentials of each query's scores,
// and R the sum of dO * O over each query's row; a forward pass leaves both.
//
// A block owns keys, whose dK and dV it sums up over all queries. Scores are transposed,
// keys x queries: weights and their gradients then are left operands as threads compute
// them. dQ is transposed as well, so that all products have the rows of keys or of a head;
// it is a sum over blocks, added atomically to what the tensor holds.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_ATTENTION_BACKWARD_KERNEL_H
#define PENSTOCK_EXAMPLES_ATTENTION_BACKWARD_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct AttentionBackward {
  // `dim` is the size of a head; smaller heads work too, filled up with zeros.
  int block_m = 64, block_n = 64, dim = 64, stages = 2;
  // Threads that compute on GPUs. Heads of 128 have block_n = 128, and on Hopper 256 threads with
  // block_m = 32, so that all sums fit into registers.
  int threads = 128;
  static constexpr auto signature =
      "Q[H,M,D], K[H,N,D], V[H,N,D], dO[H,M,D], L[H,M], R[H,M], scale "
      "-> dQ[H,M,D], dK[H,N,D], dV[H,N,D]";

  void operator()(Block &b, In<f16, 3> Q, In<f16, 3> K, In<f16, 3> V, In<f16, 3> dO, In<f32, 2> L,
                  In<f32, 2> R, Scalar<f32> scale, InOut<f32, 3> dQ, Out<f16, 3> dK,
                  Out<f16, 3> dV) const {
    auto [H, M, D] = Q.sizes();
    auto N = K.size(1);
    b.require(D <= dim, "the kernel was compiled for smaller heads");
    auto [bn, h] = b.grid(ceil_div(N, block_n), H);
    Index n0 = bn * block_n;
    b.threads(threads);

    auto Ks = b.shared<f16>(block_n, dim);
    auto Vs = b.shared<f16>(block_n, dim);
    auto Qs = b.shared<f16>(block_m, dim);
    auto dOs = b.shared<f16>(block_m, dim);
    auto P = b.local<f32>(block_n, block_m);  // scores, then weights
    auto dP = b.local<f32>(block_n, block_m); // gradients of the weights
    auto weights = b.local<f16>(block_n, block_m);
    auto dS = b.local<f16>(block_n, block_m); // gradients of the scores
    auto dSs = b.shared<f16>(block_n, block_m);
    auto l = b.shared<f32>(block_m);
    auto r = b.shared<f32>(block_m);
    auto dq = b.local<f32>(dim, block_m);
    auto dqs = b.shared<f32>(block_m, dim);
    auto dk = b.local<f32>(block_n, dim);
    auto dv = b.local<f32>(block_n, dim);

    constexpr float log2e = 1.4426950408889634f; // powers of two are cheaper
    b.copy(K.at(h, n0, 0), Ks);
    b.copy(V.at(h, n0, 0), Vs);
    b.fill(dk, 0);
    b.fill(dv, 0);
    // Queries outside of the tensor are zeros, as are their dO and R: they add nothing.
    for (Index m : b.pipelined(ceil_div(M, block_m), {.num_stages = stages})) {
      Index m0 = m * block_m;
      b.copy(Q.at(h, m0, 0), Qs);
      b.copy(dO.at(h, m0, 0), dOs);
      b.copy(L.at(h, m0), l);
      b.copy(R.at(h, m0), r);
      b.gemm(Ks, transposed(Qs), P, {.accumulate = false});
      b.gemm(Vs, transposed(dOs), dP, {.accumulate = false});
      b.statement("weights", [&] {
        b.set(l, l * log2e);
        // Keys outside of the tensor would have weights of any size.
        b.set(P, where(row(P) + n0 < N, exp2(P * (scale * log2e) - broadcast_cols(l)), 0));
        b.set(weights, P);
      });
      b.gemm(weights, dOs, dv);
      b.statement("scores", [&] {
        b.set(dS, P * (dP - broadcast_cols(r)) * scale);
        b.copy(dS, dSs);
      });
      b.gemm(dS, Qs, dk);
      b.gemm(transposed(Ks), dSs, dq, {.accumulate = false});
      b.statement("dQ", [&] {
        b.copy(dq, transposed(dqs));
        b.parallel(block_m, dim, [&](Index i, Index j) {
          b.when(m0 + i < M && j < D,
                 [&] { b.atomic(Add, dQ.at(h, m0 + i, j), b.load(dqs, i, j)); });
        });
      });
    }
    b.copy(dk, dK.at(h, n0, 0));
    b.copy(dv, dV.at(h, n0, 0));
  }

  static auto space() {
    return Space<AttentionBackward>()
        .over(&AttentionBackward::block_m, {32, 64})
        .over(&AttentionBackward::block_n, {32, 64})
        .over(&AttentionBackward::stages, {2, 3});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_ATTENTION_BACKWARD_KERNEL_H
