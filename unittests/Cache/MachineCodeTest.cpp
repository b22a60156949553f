//===- MachineCodeTest.cpp - Machine code of GPU kernels in the cache -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver takes everything, and the assembler is a script that counts its runs: both
// show what is assembled, and not whether it runs. Each process is a child, because the
// version of an assembler is asked once.
//
//===----------------------------------------------------------------------===//
#include "ChildProcess.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>
#include <penstock/cache.h>
#include <penstock/gpu.h>
#include <penstock/inspect.h>
#include <penstock/penstock.h>
#include <penstock/statistics.h>

#include <dlfcn.h>
#include <fstream>

using namespace penstock;

namespace {

struct Twice {
  static constexpr auto signature = "x[N] -> y[N]";
  int factor = 2;

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), 64)) * 64;
    auto t = b.local<f32>(64);
    b.copy(x.at(first), t);
    b.set(t, t * float(factor));
    b.copy(t, y.at(first));
  }
};

class MachineCodeTest : public testing::Test {
protected:
  void SetUp() override { install("ptxas 1.0", "printf code > \"$last\""); }

  /// Writes the assembler. Its last argument is the file for the code.
  void install(const std::string &version, const std::string &work) {
    std::ofstream(ptxas()) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" << version
                           << "'; exit 0; fi\necho run >> " << folder.path()
                           << "/runs\nfor last; do :; done\n"
                           << work << "\n";
    std::filesystem::permissions(ptxas(), std::filesystem::perms::owner_all);
  }
  std::string ptxas() const { return folder.path() + "/ptxas"; }
  int runs() const {
    std::ifstream file(folder.path() + "/runs");
    int count = 0;
    for (std::string line; std::getline(file, line);)
      ++count;
    return count;
  }

  /// Loads a kernel in another process and returns how many it had to assemble; -1 on errors.
  int assembledByAnotherProcess(int factor = 2) {
    return ChildProcess([&] {
             // The library that this process has opened under the name of the driver.
             if (!::dlopen(NULL_DRIVER, RTLD_NOW))
               return 100;
             ::setenv("PENSTOCK_PTXAS", ptxas().c_str(), 1);
             KernelCache cache = KernelCache::open({.directory = folder.path() + "/cache"});
             auto kernel = try_compile(Twice{factor}, Target::sm_90a(), {.cache = &cache});
             if (!kernel)
               return 101;
             kernel.kernel.prepare(gpu::current());
             Statistics all = statistics();
             return all.gpu_loads == 1 ? int(all.assembled) : 102;
           })
        .wait();
  }

  TemporaryDirectory folder;
};

TEST_F(MachineCodeTest, IsAssembledOnce) {
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(assembledByAnotherProcess(), 0);
  EXPECT_EQ(runs(), 1);
}

TEST_F(MachineCodeTest, ProgramAndVersionAreInTheKey) {
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  EXPECT_EQ(assembledByAnotherProcess(/*factor=*/3), 1);
  install("ptxas 1.1", "printf code > \"$last\"");
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  EXPECT_EQ(runs(), 3);
  // The code of both versions is there.
  install("ptxas 1.0", "printf code > \"$last\"");
  EXPECT_EQ(assembledByAnotherProcess(), 0);
}

TEST_F(MachineCodeTest, FailuresAreNotStored) {
  install("ptxas 1.0", "exit 1");
  // The driver compiles it.
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  EXPECT_EQ(runs(), 2);
}

TEST_F(MachineCodeTest, DamagedCodeIsAssembledAgain) {
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  int damaged = 0;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(folder.path() + "/cache/v1")) {
    if (!entry.is_regular_file())
      continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (bytes.find("penstock-cubin 1") == std::string::npos)
      continue;
    bytes.back() ^= 1;
    std::ofstream(entry.path(), std::ios::binary) << bytes;
    ++damaged;
  }
  EXPECT_EQ(damaged, 1);
  EXPECT_EQ(assembledByAnotherProcess(), 1);
  EXPECT_EQ(runs(), 2);
  EXPECT_EQ(assembledByAnotherProcess(), 0);
}

TEST_F(MachineCodeTest, WithoutACacheItIsAssembledEachTime) {
  int code = ChildProcess([&] {
               if (!::dlopen(NULL_DRIVER, RTLD_NOW))
                 return 100;
               ::setenv("PENSTOCK_PTXAS", ptxas().c_str(), 1);
               for (int i = 0; i < 2; ++i)
                 compile(Twice{}, Target::sm_90a(), {.cache = &KernelCache::none()})
                     .prepare(gpu::current());
               return int(statistics().assembled);
             }).wait();
  EXPECT_EQ(code, 2);
}

} // namespace
