//===- OneDnnAttention.h - Attention by oneDNN's graphs ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN fuses attention only from a graph of its operations. Scores are f32, as in its
// own examples.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_ONEDNNATTENTION_H
#define PENSTOCK_BENCHMARKS_NATIVE_ONEDNNATTENTION_H

#include "FusedAnchors.h"

#include <cmath>
#include <dnnl.hpp>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <vector>

namespace bench {

class OneDnnAttention {
public:
  OneDnnAttention(const FusedProblem &p, const dnnl::engine &engine)
      : scale(std::sqrt(float(p.k))) {
    using namespace dnnl::graph;
    using type = logical_tensor::data_type;
    size_t id = 0;
    auto tensorOf = [&](type element, const logical_tensor::dims &sizes) {
      return logical_tensor(id++, element, sizes, logical_tensor::layout_type::strided);
    };
    logical_tensor::dims rows = {1, p.heads, p.m, p.k}, columns = {1, p.heads, p.n, p.k},
                         both = {1, p.heads, p.m, p.n};
    auto q = tensorOf(type::bf16, rows), k = tensorOf(type::bf16, columns),
         v = tensorOf(type::bf16, columns), y = tensorOf(type::bf16, rows),
         divisor = tensorOf(type::f32, {1}), scores = tensorOf(type::f32, both),
         scaled = tensorOf(type::f32, both), powers = tensorOf(type::bf16, both);
    op first(id++, op::kind::MatMul, {q, k}, {scores}, "scores"),
        divide(id++, op::kind::Divide, {scores, divisor}, {scaled}, "scale"),
        softmax(id++, op::kind::SoftMax, {scaled}, {powers}, "softmax"),
        second(id++, op::kind::MatMul, {powers, v}, {y}, "result");
    first.set_attr<bool>(op::attr::transpose_b, true);
    softmax.set_attr<int64_t>(op::attr::axis, -1);
    dnnl::graph::graph all(dnnl::engine::kind::cpu);
    for (const op &each : {first, divide, softmax, second})
      all.add_op(each);
    all.finalize();
    auto parts = all.get_partitions();
    if (parts.size() != 1 || !parts[0].is_supported())
      throw dnnl::error(dnnl_unimplemented, "oneDNN does not fuse attention of this type");
    compiled = parts[0].compile({q, k, divisor, v}, {y}, engine);
    auto bind = [&](const logical_tensor &description, const void *data) {
      return tensor(description, engine, const_cast<void *>(data));
    };
    inputs = {bind(q, p.inputs[0]), bind(k, p.inputs[1]), bind(divisor, &scale),
              bind(v, p.inputs[2])};
    outputs = {bind(y, p.result)};
  }
  OneDnnAttention(const OneDnnAttention &) = delete; // a tensor refers to `scale`

  void execute(dnnl::stream &stream) { compiled.execute(stream, inputs, outputs); }

private:
  float scale;
  dnnl::graph::compiled_partition compiled;
  std::vector<dnnl::graph::tensor> inputs, outputs;
};

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_ONEDNNATTENTION_H
