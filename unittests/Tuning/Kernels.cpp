//===- Kernels.cpp - Small kernels with spaces ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include <cstdlib>
#include <filesystem>

namespace penstock {

PENSTOCK_KERNEL(Scale, block, factor, offset);
PENSTOCK_KERNEL(ScaleDerived, block, factor, offset);
PENSTOCK_KERNEL(Unspaced);

// Read when the emulated driver is opened: its events measure made-up times.
[[maybe_unused]] static const int environment = setenv("PENSTOCK_EMU_COST", "1000:1", 1) +
                                                setenv("PENSTOCK_EMU_DEVICE", "h100", 1) +
                                                setenv("PENSTOCK_CACHE_DIR", TUNING_CACHE, 1);

TemporaryCache::TemporaryCache() {
  std::string form = (std::filesystem::temp_directory_path() / "penstock-tune-XXXXXX").string();
  path = mkdtemp(form.data()) ? form : "";
}

TemporaryCache::~TemporaryCache() {
  std::error_code ignored;
  if (!path.empty())
    std::filesystem::remove_all(path, ignored);
}

KernelCache TemporaryCache::open() const {
  CacheOptions options;
  options.directory = path;
  return KernelCache::open(options);
}

} // namespace penstock
