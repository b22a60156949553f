//===- OneDnnAnchors.cpp - oneDNN's products ----------------------------- ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not part of the build: benchmarks/install-anchors compiles it, for each oneDNN that it finds.
//
//===----------------------------------------------------------------------===//
#include "Anchors.h"

#include <dnnl.hpp>
#include <omp.h>

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

} // namespace

extern "C" const bench::Anchor *penstock_anchor() {
  static const std::string name = [] {
    const dnnl_version_t *version = dnnl_version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch);
  }();
  static const bench::Anchor anchor = bench::anchor<OneDnn, dnnl::error>(name.c_str());
  return &anchor;
}
