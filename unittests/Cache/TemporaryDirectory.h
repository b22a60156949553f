//===- TemporaryDirectory.h - A directory for one test ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_CACHE_TEMPORARYDIRECTORY_H
#define PENSTOCK_UNITTESTS_CACHE_TEMPORARYDIRECTORY_H

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock {

/// Removed with its contents at the end.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "penstock-test-XXXXXX").string();
    if (::mkdtemp(name.data()))
      root = name;
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }
  const std::string &path() const { return root; }

private:
  std::string root;
};

} // namespace penstock

#endif // PENSTOCK_UNITTESTS_CACHE_TEMPORARYDIRECTORY_H
