//===- cache.cpp - Examples of the C++ reference --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/cache.h>
#include <penstock/inspect.h>
#include <penstock/penstock.h>
using namespace penstock;

// example: KernelCache::open, KernelCache::directory, KernelCache::statistics,
// KernelCache::diagnostics, KernelCache::prune, KernelCache::flush
void own_cache() {
  KernelCache cache = KernelCache::open({.directory = "/var/cache/kernels"});
  std::string directory = cache.directory();
  uint64_t misses = cache.statistics().misses;
  std::vector<Diagnostic> problems = cache.diagnostics();
  cache.prune();
  cache.flush();
}

// example: KernelCache::process, KernelCache::none, KernelCache::store
bool caches() { return KernelCache::process().store() && !KernelCache::none().store(); }

// example: cache_key_of_registered
std::string key() {
  std::vector<Diagnostic> errors;
  return cache_key_of_registered("Matmul", {.target = Target::sm_90a()}, errors);
}
