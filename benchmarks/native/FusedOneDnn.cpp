//===- FusedOneDnn.cpp - oneDNN's products with more than a product -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not part of the build: benchmarks/install-anchors compiles it.
//
//===----------------------------------------------------------------------===//
#include "FusedAnchors.h"

#include <dnnl.hpp>
#include <omp.h>

#include <optional>
#include <string>
#include <vector>

#define PENSTOCK_DNNL_AT_LEAST(MINOR)                                                              \
  (DNNL_VERSION_MAJOR > 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= MINOR))
#if PENSTOCK_DNNL_AT_LEAST(6)
#include "OneDnnAttention.h"
#endif

namespace {

using bench::FusedKind;
using bench::FusedProblem;
using dnnl::memory;

std::string version() {
  const dnnl_version_t *version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

struct OneDnn {
  explicit OneDnn(const FusedProblem &p)
      : threads(p.threads), engine(dnnl::engine::kind::cpu, 0), stream(engine) {
    omp_set_num_threads(threads);
    using tag = memory::format_tag;
    auto bf16 = memory::data_type::bf16;
    memory::desc x({p.m, p.k}, bf16, tag::ab), y({p.m, p.n}, bf16, tag::ab);
    dnnl::primitive_attr attributes;
    arguments = {{DNNL_ARG_SRC, bind(x, p.inputs[0])}, {DNNL_ARG_DST, bind(y, p.result)}};
    if (p.kind == FusedKind::LinearGelu) {
      dnnl::post_ops after;
      after.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
      attributes.set_post_ops(after);
      memory::desc bias({1, p.n}, bf16, tag::ab);
      arguments.emplace(DNNL_ARG_BIAS, bind(bias, p.inputs[2]));
      prepare({engine, x, {{p.k, p.n}, bf16, tag::any}, bias, y, attributes},
              bind({{p.k, p.n}, bf16, tag::ab}, p.inputs[1]));
      return;
    }
#if PENSTOCK_DNNL_AT_LEAST(6)
    if (p.kind == FusedKind::Attention) {
      attention.emplace(p, engine);
      name = version() + " Graph";
      return;
    }
    if ((p.kind == FusedKind::Weights || p.kind == FusedKind::WeightsI4) && p.group < p.k) {
      bool four = p.kind == FusedKind::WeightsI4;
      auto narrow = four ? memory::data_type::s4 : memory::data_type::s8;
      // Weights become bf16 before they are multiplied.
      attributes.set_fpmath_mode(dnnl::fpmath_mode::bf16, /*apply_to_int=*/true);
      memory::desc scales({p.k / p.group, p.n}, bf16, tag::ab);
      attributes.set_scales(DNNL_ARG_WEIGHTS, (1 << 0) | (1 << 1), {p.group, 1}, bf16);
      arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, bind(scales, p.inputs[2]));
      // It has no reorder to its layout from 4 bits, but one from f32.
      const auto *from = static_cast<const int8_t *>(p.inputs[1]);
      std::vector<float> numbers;
      if (four)
        numbers.assign(from, from + p.k * p.n);
      memory::desc plain({p.k, p.n}, four ? memory::data_type::f32 : narrow, tag::ab);
      prepare({engine, x, {{p.k, p.n}, narrow, tag::any}, y, attributes},
              bind(plain, four ? static_cast<const void *>(numbers.data()) : from));
      return;
    }
#endif
    throw dnnl::error(dnnl_unimplemented, "oneDNN of this version does not have it");
  }

  void run() {
    omp_set_num_threads(threads);
#if PENSTOCK_DNNL_AT_LEAST(6)
    if (attention)
      attention->execute(stream);
    else
#endif
      product.execute(stream, arguments);
    stream.wait();
  }
  void finish() {}

  std::string name;

private:
  memory bind(const memory::desc &description, const void *data) {
    return memory(description, engine, const_cast<void *>(data));
  }

  void prepare(const dnnl::matmul::primitive_desc &description, memory plain) {
    memory weights(description.weights_desc(), engine);
    dnnl::reorder(plain, weights).execute(stream, plain, weights);
    stream.wait();
    arguments.emplace(DNNL_ARG_WEIGHTS, weights);
    product = dnnl::matmul(description);
    name = version() + " " + description.impl_info_str();
  }

  int threads;
  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::matmul product;
  std::unordered_map<int, memory> arguments;
#if PENSTOCK_DNNL_AT_LEAST(6)
  std::optional<bench::OneDnnAttention> attention;
#endif
};

} // namespace

extern "C" const bench::FusedAnchor *penstock_fused_anchor() {
  static const bench::FusedAnchor anchor = bench::fusedAnchor<OneDnn, dnnl::error>();
  return &anchor;
}
