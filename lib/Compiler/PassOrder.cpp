//===- PassOrder.cpp - Passes whose order matters -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/PassOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace penstock;

ArrayRef<OrderRule> penstock::orderRules() {
  static constexpr OrderRule rules[] = {
      {"nv-pad-operands", "tile-expand-scaled-products",
       "MMAs whose packed operands can be padded are not expanded"},
      {"nv-choose-threads", "nv-take-over-blocks",
       "only kernels that nv-choose-threads marks as tile programs use launch control"},
      {"nv-overlap-products", "nv-place-accumulators",
       "a second version of an accumulator is planned while it is one local tile"},
      {"nv-assign-roles", "nv-share-copies", "blocks of a cluster share copies of the load role"},
      {"nv-zero-accumulators", "nv-stage-stores",
       "only unconditional loads of accumulators are staged in pieces"},
      {"nv-stage-stores", "nv-request-blocks",
       "staged stores end in the body of the loop over blocks, which nv-request-blocks replaces"},
      {"nv-hint-caches", "nv-request-blocks",
       "nv-hint-caches reads the coordinates of nv.clc.work, and nv-request-blocks erases it"},
      {"nv-narrow-masks", "nv-skip-identities", "only narrowed masks are compared and skipped"},
      {"tile-lower-launch", "tile-guard-faults",
       "accesses of the launch function have guards, too"},
      {"tile-guard-faults", "canonicalize", "canonicalization removes guards that cannot fail"},
      {"canonicalize", "cse", "canonical forms make more expressions equal"},
      {"cse", "nv-lower-threads", "thousands of element accesses are too many for CSE"},
      {"nv-lower-threads", "expand-narrow-floats",
       "the expressions of maps become arithmetic of one thread, which is then expanded"},
      {"expand-narrow-floats", "nv-lower-to-llvm",
       "the conversion to LLVM has no arithmetic and no conversions of f8"},
  };
  return rules;
}

const OrderRule *penstock::brokenRule(ArrayRef<StringRef> passes) {
  for (const OrderRule &rule : orderRules()) {
    auto first = llvm::find(passes, rule.first), second = llvm::find(passes, rule.second);
    if (first != passes.end() && second < first)
      return &rule;
  }
  return nullptr;
}

/// Returns the names of all passes of a pipeline and of those nested in it, in order.
static SmallVector<std::string> namesOf(const OpPassManager &pipeline) {
  std::string text; // "builtin.module(func.func(a{x=1},b),c)"
  llvm::raw_string_ostream os(text);
  pipeline.printAsTextualPipeline(os);
  SmallVector<std::string> names;
  auto isName = [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.'; };
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '{') // options
      at = text.find('}', at);
    size_t end = at;
    while (end < text.size() && isName(text[end]))
      ++end;
    if (end == at)
      continue;
    if (end == text.size() || text[end] != '(') // else an operation that passes run on
      names.push_back(text.substr(at, end - at));
    at = end - 1;
  }
  return names;
}

const OrderRule *penstock::brokenRule(const OpPassManager &pipeline) {
  SmallVector<std::string> names = namesOf(pipeline);
  SmallVector<StringRef> passes(names.begin(), names.end());
  return brokenRule(passes);
}
