//===- TorchAnchors.cpp - Fused kernels of torch --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not part of the build: benchmarks/install-anchors compiles it. Functions are called
// without Python, so that what is measured is their code.
//
//===----------------------------------------------------------------------===//
#include "FusedAnchors.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <dnnl_version.h>
#include <malloc.h>
#include <torch/version.h>

#include <cstring>
#include <functional>
#include <stdexcept>

namespace {

using bench::FusedKind;
using bench::FusedProblem;

/// A copy: torch's functions need its own alignment.
at::Tensor tensor(const void *data, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<void *>(data), sizes, at::TensorOptions(type)).clone();
}

/// Calls an operator that has no C++ function.
at::Tensor call(const char *name, std::vector<c10::IValue> stack) {
  static auto &dispatcher = c10::Dispatcher::singleton();
  dispatcher.findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack.front().toTensor();
}

struct Torch {
  explicit Torch(const FusedProblem &p) : p(p) {
    // Results of torch are new tensors. Their memory comes from the heap and stays there, or each
    // call would pay for zeroed pages.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    c10::InferenceMode inference;
    at::set_num_threads(p.threads);
    auto bf16 = at::kBFloat16;
    std::string oneDnn = ", oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + "." +
                         std::to_string(DNNL_VERSION_MINOR) + "." +
                         std::to_string(DNNL_VERSION_PATCH);
    auto isCalled = [&](const std::string &function) {
      name = "torch " TORCH_VERSION + (" " + function);
    };
    switch (p.kind) {
    case FusedKind::LinearGelu: {
      at::Tensor x = tensor(p.inputs[0], {p.m, p.k}, bf16),
                 w = tensor(p.inputs[1], {p.k, p.n}, bf16).t().contiguous(),
                 bias = tensor(p.inputs[2], {p.n}, bf16);
      at::Tensor packed = call("mkldnn::_reorder_linear_weight", {w, p.m});
      isCalled("mkldnn::_linear_pointwise" + oneDnn);
      function = [=] {
        return call("mkldnn::_linear_pointwise",
                    {x, packed, bias, "gelu", c10::List<std::optional<at::Scalar>>(), "none"});
      };
      break;
    }
    case FusedKind::Weights: {
      if (p.group != p.k)
        throw std::runtime_error("torch has one scale for each output");
      at::Tensor x = tensor(p.inputs[0], {p.m, p.k}, bf16),
                 w = tensor(p.inputs[1], {p.k, p.n}, at::kChar).t().contiguous(),
                 scales = tensor(p.inputs[2], {p.n}, bf16);
      isCalled("_weight_int8pack_mm");
      function = [=] { return at::_weight_int8pack_mm(x, w, scales); };
      break;
    }
    case FusedKind::WeightsI4: {
      at::Tensor x = tensor(p.inputs[0], {p.m, p.k}, bf16),
                 w = tensor(p.inputs[1], {p.k, p.n}, at::kChar).t().to(at::kInt) + 8,
                 scales = tensor(p.inputs[2], {p.k / p.group, p.n}, bf16);
      at::Tensor packed = at::_convert_weight_to_int4pack_for_cpu(w.contiguous(), 1);
      // w is (q - 8) * scale + zero.
      at::Tensor both = at::stack({scales, at::zeros_like(scales)}, 2).contiguous();
      isCalled("_weight_int4pack_mm_for_cpu");
      function = [=, group = p.group] {
        return at::_weight_int4pack_mm_for_cpu(x, packed, group, both);
      };
      break;
    }
    case FusedKind::Attention: {
      at::Tensor q = tensor(p.inputs[0], {1, p.heads, p.m, p.k}, bf16),
                 k = tensor(p.inputs[1], {1, p.heads, p.n, p.k}, bf16),
                 v = tensor(p.inputs[2], {1, p.heads, p.n, p.k}, bf16);
      isCalled("scaled_dot_product_attention");
      function = [=] { return at::scaled_dot_product_attention(q, k, v); };
      break;
    }
    case FusedKind::RmsNorm: {
      at::Tensor x = tensor(p.inputs[0], {p.m, p.n}, bf16), w = tensor(p.inputs[1], {p.n}, bf16);
      isCalled("rms_norm");
      function = [=, n = p.n] { return at::rms_norm(x, {n}, w, 1e-5); };
      break;
    }
    case FusedKind::Softmax: {
      at::Tensor x = tensor(p.inputs[0], {p.m, p.n}, at::kFloat);
      isCalled("softmax");
      function = [=] { return at::softmax(x, 1); };
      break;
    }
    }
    run();
  }

  void run() {
    c10::InferenceMode inference;
    at::set_num_threads(p.threads);
    result = function();
  }
  void finish() {
    at::Tensor plain = result.contiguous();
    std::memcpy(p.result, plain.data_ptr(), plain.nbytes());
  }

  std::string name;

private:
  FusedProblem p;
  std::function<at::Tensor()> function;
  at::Tensor result;
};

} // namespace

extern "C" const bench::FusedAnchor *penstock_fused_anchor() {
  static const bench::FusedAnchor anchor = bench::fusedAnchor<Torch, std::exception>();
  return &anchor;
}
