//===- Storm.cpp - Many processes fill one cache --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints how often entries were made, and how many results were wrong. Run with a hostile
// file system by CMakeLists.txt.
//
//===----------------------------------------------------------------------===//
#include "Cache/Store.h"
#include "ChildProcess.h"
#include "TemporaryDirectory.h"

#include <cstdio>
#include <vector>

using namespace penstock;

int main() {
  constexpr int processes = 32, keys = 20;
  TemporaryDirectory folder;
  std::vector<ChildProcess> children;
  for (int p = 0; p < processes; ++p)
    children.emplace_back([&] {
      auto store = cache::Store::open({.directory = folder.path()});
      int made = 0;
      for (int k = 0; k < keys; ++k) {
        std::string value(30000, char('a' + k));
        auto result = store->lookupOrMake("key" + std::to_string(k), [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(3));
          return std::optional(value);
        });
        if (result.bytes != value)
          return 200;
        made += !result.found;
      }
      return made;
    });
  int made = 0, wrong = 0;
  for (ChildProcess &child : children) {
    int result = child.wait();
    if (result < 0 || result > keys)
      ++wrong;
    else
      made += result;
  }
  std::printf("%d processes, %d keys: made %s, wrong %d\n", processes, keys,
              made < keys    ? "too few"
              : made == keys ? "once each"
                             : "some again",
              wrong);
  return wrong != 0;
}
