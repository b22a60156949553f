//===- BundleKernels.cpp - The kernels of the bundle that tests use -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../Gpu/Kernels.h"
#include <penstock/inspect.h>

namespace penstock::test {

/// Cannot be bundled: it prints.
struct Printing {
  static constexpr auto signature = "x[N] -> y[N]";

  void operator()(Block &b, In<i32, 1> x, Out<i32, 1> y) const {
    auto t = b.local<i32>(32);
    b.grid(1);
    b.copy(x.at(0), t);
    b.print("the first is {}", {x.size(0)});
    b.copy(t, y.at(0));
  }
};

/// Reads what the previous kernel writes before it waits for it.
struct LateConsume {
  static constexpr auto signature = Consume::signature;

  void operator()(Block &b, In<f16, 2> y, Out<f16, 2> z) const {
    Consume{.wait = WaitAt::End}(b, y, z);
  }
};

PENSTOCK_KERNEL(Accumulate, block);
PENSTOCK_KERNEL(Divided);
PENSTOCK_KERNEL(Product);
PENSTOCK_KERNEL(Produce);
PENSTOCK_KERNEL(Consume);
PENSTOCK_KERNEL(LateConsume);
PENSTOCK_KERNEL(Printing);

} // namespace penstock::test
