//===- References.cpp - References of kernels -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Check/References.h"

#include <mutex>

using namespace penstock;

namespace {

struct References {
  std::mutex mutex;
  std::vector<detail::Reference> all;
};

References &references() {
  static References *instance = new References; // outlives all static objects
  return *instance;
}

} // namespace

int detail::registerReference(Reference reference) {
  std::lock_guard lock(references().mutex);
  references().all.push_back(std::move(reference));
  return 0;
}

std::optional<detail::Reference> penstock::referenceFor(const std::string &kernel) {
  std::lock_guard lock(references().mutex);
  for (size_t i = references().all.size(); i-- > 0;)
    if (references().all[i].kernel == kernel)
      return references().all[i];
  return std::nullopt;
}
