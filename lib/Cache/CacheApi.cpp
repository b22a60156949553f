//===- CacheApi.cpp - Functions of penstock/cache.h -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Store.h"

#include <cstdlib>

using namespace penstock;

KernelCache KernelCache::open(const CacheOptions &options) {
  KernelCache cache;
  cache.shared = cache::Store::open(options);
  return cache;
}

KernelCache &KernelCache::process() {
  // Never destroyed: kernels held in static variables may be compiled late.
  static KernelCache *cache = [] {
    auto *opened = new KernelCache(open({}));
    // Its uploads end before the libraries that they use are destroyed.
    std::atexit([] { process().shared->stop(); });
    return opened;
  }();
  return *cache;
}

KernelCache &KernelCache::none() {
  static KernelCache *cache = new KernelCache;
  return *cache;
}

std::string KernelCache::directory() const {
  return shared && shared->directory() ? shared->directory()->path() : "";
}

std::vector<Diagnostic> KernelCache::diagnostics() const {
  return shared ? shared->diagnostics() : std::vector<Diagnostic>();
}

CacheStatistics KernelCache::statistics() const {
  return shared ? shared->statistics() : CacheStatistics();
}

void KernelCache::prune() {
  if (shared)
    shared->prune();
}

void KernelCache::flush() {
  if (shared)
    shared->flush();
}

std::string penstock::to_prometheus(const CacheStatistics &s) {
  std::string text;
  auto counter = [&](const char *name, const char *help, uint64_t value) {
    std::string full = std::string("penstock_cache_") + name + "_total";
    text += "# HELP " + full + " " + help + "\n# TYPE " + full + " counter\n" + full + " " +
            std::to_string(value) + "\n";
  };
  counter("hits", "Lookups that found an entry.", s.hits);
  counter("memory_hits", "Hits in the memory of the process.", s.memory_hits);
  counter("seed_hits", "Hits in a seed directory.", s.seed_hits);
  counter("remote_hits", "Hits on the server.", s.remote_hits);
  counter("misses", "Lookups that found no entry.", s.misses);
  counter("waits", "Hits after waiting for another thread or process.", s.waits);
  counter("stored", "Entries written to the directory.", s.stored);
  counter("not_stored", "Compiled kernels that cannot be entries.", s.not_stored);
  counter("failed_writes", "Entries that could not be written.", s.failed_writes);
  counter("damaged", "Damaged entries.", s.damaged);
  counter("evicted", "Entries removed by pruning.", s.evicted);
  counter("read_bytes", "Bytes of entries that were read.", s.bytes_read);
  counter("written_bytes", "Bytes of entries that were written.", s.bytes_written);
  counter("remote_failures", "Requests without a usable answer.", s.remote_failures);
  counter("uploads", "Entries that the server took.", s.uploads);
  counter("dropped_uploads", "Entries that were not uploaded.", s.dropped_uploads);
  return text;
}
