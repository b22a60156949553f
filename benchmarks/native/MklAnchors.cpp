//===- MklAnchors.cpp - MKL's products ----------------------------------- ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not part of the build: benchmarks/install-anchors compiles it.
//
//===----------------------------------------------------------------------===//
#include "Anchors.h"

#include <mkl.h>

#include <exception>
#include <string>

namespace {

using bench::AnchorProblem;
using bench::AnchorType;

/// MKL with packed B. Its integer product takes unsigned A.
struct Mkl {
  explicit Mkl(const AnchorProblem &p) : p(p) {
    mkl_set_num_threads(p.threads);
    if (p.type == AnchorType::F32)
      return;
    if (p.type == AnchorType::F16) {
      packed = mkl_malloc(cblas_gemm_f16f16f32_pack_get_size(CblasBMatrix, p.m, p.n, p.k), 64);
      cblas_gemm_f16f16f32_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, p.m, p.n, p.k,
                                static_cast<const MKL_F16 *>(p.b), p.n,
                                static_cast<MKL_F16 *>(packed));
      return;
    }
    bool floats = p.type == AnchorType::Bf16;
    size_t bytes = floats ? cblas_gemm_bf16bf16f32_pack_get_size(CblasBMatrix, p.m, p.n, p.k)
                          : cblas_gemm_s8u8s32_pack_get_size(CblasBMatrix, p.m, p.n, p.k);
    packed = mkl_malloc(bytes, 64);
    if (floats)
      cblas_gemm_bf16bf16f32_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, p.m, p.n, p.k,
                                  static_cast<const MKL_BF16 *>(p.b), p.n,
                                  static_cast<MKL_BF16 *>(packed));
    else
      cblas_gemm_s8u8s32_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, p.m, p.n, p.k, p.b, p.n,
                              packed);
  }
  ~Mkl() { mkl_free(packed); }
  void run() {
    mkl_set_num_threads(p.threads);
    if (p.type == AnchorType::F32)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p.m, p.n, p.k, 1,
                  static_cast<const float *>(p.a), p.k, static_cast<const float *>(p.b), p.n, 0,
                  static_cast<float *>(p.c), p.n);
    else if (p.type == AnchorType::F16)
      cblas_gemm_f16f16f32_compute(CblasRowMajor, CblasNoTrans, CblasPacked, p.m, p.n, p.k, 1,
                                   static_cast<const MKL_F16 *>(p.a), p.k,
                                   static_cast<const MKL_F16 *>(packed), p.n, 0,
                                   static_cast<float *>(p.c), p.n);
    else if (p.type == AnchorType::Bf16)
      cblas_gemm_bf16bf16f32_compute(CblasRowMajor, CblasNoTrans, CblasPacked, p.m, p.n, p.k, 1,
                                     static_cast<const MKL_BF16 *>(p.a), p.k,
                                     static_cast<const MKL_BF16 *>(packed), p.n, 0,
                                     static_cast<float *>(p.c), p.n);
    else
      cblas_gemm_s8u8s32_compute(CblasRowMajor, CblasNoTrans, CblasPacked, CblasFixOffset, p.m, p.n,
                                 p.k, 1, p.a, p.k, 0, packed, p.n, 0, 0,
                                 static_cast<MKL_INT32 *>(p.c), p.n, &zero);
  }

  AnchorProblem p;
  void *packed = nullptr;
  MKL_INT32 zero = 0;
};

} // namespace

extern "C" const bench::Anchor *penstock_anchor() {
  // The minor version is always 0: packages are called 2026.2 with update 2.
  static const std::string name = [] {
    MKLVersion version;
    mkl_get_version(&version);
    return "MKL " + std::to_string(version.MajorVersion) + "." +
           std::to_string(version.UpdateVersion);
  }();
  static const bench::Anchor anchor = bench::anchor<Mkl, std::exception>(name.c_str());
  return &anchor;
}
