//===- Anchors.cpp - oneDNN and MKL as anchors ----------------------------===//
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

#include <dnnl.hpp>
#include <mkl.h>
#include <omp.h>

#include <cstring>
#include <string>

namespace {

using bench::AnchorProblem;
using bench::AnchorType;

/// oneDNN, with weights in the layout that it asks for.
struct OneDnn {
  explicit OneDnn(const AnchorProblem &p)
      : threads(p.threads), engine(dnnl::engine::kind::cpu, 0), stream(engine) {
    using dnnl::memory;
    using tag = memory::format_tag;
    auto narrow = p.type == AnchorType::Bf16  ? memory::data_type::bf16
                  : p.type == AnchorType::F16 ? memory::data_type::f16
                  : p.type == AnchorType::I8  ? memory::data_type::s8
                                              : memory::data_type::f32;
    auto wide = p.type == AnchorType::I8 ? memory::data_type::s32 : memory::data_type::f32;
    omp_set_num_threads(threads);
    memory::desc a({p.m, p.k}, narrow, tag::ab), b({p.k, p.n}, narrow, tag::any),
        plain({p.k, p.n}, narrow, tag::ab), c({p.m, p.n}, wide, tag::ab);
    dnnl::matmul::primitive_desc description(engine, a, b, c);
    memory from(plain, engine, const_cast<void *>(p.b));
    memory weights(description.weights_desc(), engine);
    dnnl::reorder(from, weights).execute(stream, from, weights);
    stream.wait();
    product = dnnl::matmul(description);
    arguments = {{DNNL_ARG_SRC, memory(a, engine, const_cast<void *>(p.a))},
                 {DNNL_ARG_WEIGHTS, weights},
                 {DNNL_ARG_DST, memory(c, engine, p.c)}};
  }
  void run() {
    omp_set_num_threads(threads);
    product.execute(stream, arguments);
    stream.wait();
  }

  int threads;
  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::matmul product;
  std::unordered_map<int, dnnl::memory> arguments;
};

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

template <class Library> bench::Anchor anchor(const std::string &name) {
  return {strdup(name.c_str()),
          [](const AnchorProblem *problem) -> void * {
            try {
              return new Library(*problem);
            } catch (const dnnl::error &) {
              return nullptr;
            }
          },
          [](void *library) { static_cast<Library *>(library)->run(); },
          [](void *library) { delete static_cast<Library *>(library); }};
}

} // namespace

extern "C" const bench::Anchor *penstock_anchors(int32_t *count) {
  static const bench::Anchor *all = [] {
    const dnnl_version_t *dnnl = dnnl_version();
    MKLVersion mkl;
    mkl_get_version(&mkl);
    auto text = [](int number) { return std::to_string(number); };
    // The minor version is always 0: packages are called 2026.2 with update 2.
    return new bench::Anchor[2]{
        anchor<OneDnn>("oneDNN " + text(dnnl->major) + "." + text(dnnl->minor) + "." +
                       text(dnnl->patch)),
        anchor<Mkl>("MKL " + text(mkl.MajorVersion) + "." + text(mkl.UpdateVersion))};
  }();
  *count = 2;
  return all;
}
