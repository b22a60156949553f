//===- Status.cpp - Which operation compiles for which target -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a small kernel for each operation of the language and each target, as
// a tile program and as an explicit kernel, and prints the tables of
// docs/reference/status.md. docs/generate.py runs it.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace penstock;

namespace {

/// What the body of a kernel can use: tensors, tiles and scalars.
struct Names {
  Block &b;
  In<f32, 2> &A;
  In<f16, 2> &H;
  InOut<f32, 2> &C;
  InOut<f16, 2> &D;
  In<i32, 1> &ids;
  InOut<i32, 1> &counts;
  In<f32, 3> &Q;
  Scalar<f32> &scale;
  Index &n;
  Tile<f32, 2> &S; // 128 x 32, local, zero
  Tile<f32, 2> &T; // the same
  Tile<f32, 1> &v; // 128, local, zero
};
using Body = std::function<void(Names &)>;

constexpr int rowCount = 128, colCount = 32;

/// A kernel around one operation; its result is stored, so that it is not dead.
struct Kernel {
  Body body;
  bool explicitThreads;

  void operator()(Block &b, In<f32, 2> A, In<f16, 2> H, InOut<f32, 2> C, InOut<f16, 2> D,
                  In<i32, 1> ids, InOut<i32, 1> counts, In<f32, 3> Q, Scalar<f32> scale,
                  Index n) const {
    if (explicitThreads)
      b.threads(128);
    auto S = b.local<f32>(rowCount, colCount), T = b.local<f32>(rowCount, colCount);
    auto v = b.local<f32>(rowCount);
    Names names{b, A, H, C, D, ids, counts, Q, scale, n, S, T, v};
    body(names);
  }
};

struct Operation {
  const char *name;
  Body body;
};
struct Section {
  const char *title;
  std::vector<Operation> operations;
};

/// The result of an expression, stored to C.
template <class F> Body expression(F make) {
  return [make](Names &k) {
    k.b.fill(k.S, 1);
    k.b.fill(k.T, 2);
    k.b.set(k.S, make(k));
    k.b.copy(k.S, k.C.at(0, 0));
  };
}

template <class T, class U> Body product() {
  return [](Names &k) {
    auto a = k.b.shared<T>(128, 32), c = k.b.shared<T>(32, 32);
    auto acc = k.b.local<U>(rowCount, colCount);
    k.b.fill(acc, 0);
    k.b.gemm(a, c, acc);
    k.b.set(k.S, cast<f32>(acc));
    k.b.copy(k.S, k.C.at(0, 0));
  };
}

template <class T, class S, int Block> Body scaledProduct() {
  return [](Names &k) {
    constexpr int per = std::is_same_v<T, f4e2m1x2> ? 2 : 1;
    auto a = k.b.shared<T>(128, 4 * Block / per), c = k.b.shared<T>(128, 4 * Block / per);
    auto scales = k.b.shared<S>(1, 1, 32, 16);
    auto acc = k.b.local<f32>(128, 128);
    k.b.fill(acc, 0);
    k.b.gemm(a, transposed(c), acc, {.scale_a = scales, .scale_b = scales});
    k.b.copy(acc, k.C.at(0, 0));
  };
}

template <class P> Body unpacking() {
  return [](Names &k) {
    auto packed = k.b.shared<P>(128, 16);
    k.b.unpack(packed, k.S);
    k.b.copy(k.S, k.C.at(0, 0));
  };
}

template <class T> Body addition() {
  return [](Names &k) {
    auto a = k.b.local<T>(128, 32);
    k.b.fill(a, 1);
    k.b.set(a, a + a);
    k.b.set(k.S, cast<f32>(a));
    k.b.copy(k.S, k.C.at(0, 0));
  };
}

Body reduction(Reduction kind, int dim) {
  return [kind, dim](Names &k) {
    k.b.fill(k.S, 1);
    auto target = k.b.local<f32>(dim == 1 ? rowCount : colCount);
    k.b.reduce(kind, k.S, dim, target);
    if (dim == 1)
      k.b.set(k.S, rows(target));
    else
      k.b.set(k.S, cols(target));
    k.b.copy(k.S, k.C.at(0, 0));
  };
}

Body atomic(Atomic kind) {
  return [kind](Names &k) { k.b.atomic(kind, k.counts.at(0), 1); };
}

std::vector<Section> sections() {
  return {
      {"Copies",
       {{"copy a tensor to a local tile", [](Names &k) { k.b.copy(k.A.at(0, 0), k.S); }},
        {"copy a tensor to a shared tile",
         [](Names &k) {
           auto s = k.b.shared<f32>(64, 32);
           k.b.copy(k.A.at(0, 0), s);
         }},
        {"copy with `fill`", [](Names &k) { k.b.copy(k.A.at(0, 0), k.S, {.fill = -infinity}); }},
        {"copy with `dims`", [](Names &k) { k.b.copy(k.Q.at(0, 0, 0).dims(0, 2), k.S); }},
        {"copy a local tile to a tensor",
         [](Names &k) {
           k.b.fill(k.S, 1);
           k.b.copy(k.S, k.C.at(0, 0));
         }},
        {"copy a shared tile to a tensor",
         [](Names &k) {
           auto s = k.b.shared<f32>(64, 32);
           k.b.fill(s, 1);
           k.b.copy(s, k.C.at(0, 0));
         }},
        {"copy between tiles",
         [](Names &k) {
           k.b.fill(k.S, 1);
           k.b.copy(k.S, k.T);
           k.b.copy(k.T, k.C.at(0, 0));
         }},
        {"copy with conversion, f32 to f16",
         [](Names &k) {
           auto h = k.b.local<f16>(rowCount, colCount);
           k.b.fill(k.S, 1);
           k.b.copy(k.S, h);
           k.b.copy(h, k.D.at(0, 0));
         }},
        {"copy a transposed tile",
         [](Names &k) {
           auto s = k.b.shared<f32>(32, rowCount);
           k.b.fill(s, 1);
           k.b.copy(transposed(s), k.S);
           k.b.copy(k.S, k.C.at(0, 0));
         }},
        {"asynchronous copy, `wait`",
         [](Names &k) {
           auto s = k.b.shared<f32>(64, 32);
           k.b.copy(k.A.at(0, 0), s, {.async = "load"});
           k.b.wait("load");
           k.b.copy(s, k.C.at(0, 0));
         }},
        {"fill a shared tile",
         [](Names &k) {
           auto s = k.b.shared<f32>(64, 32);
           k.b.fill(s, 1);
         }},
        {"slice of a shared tile",
         [](Names &k) {
           auto s = k.b.shared<f32>(64, 32);
           k.b.fill(s, 1);
           k.b.copy(slice(s, {8, 0}, {16, 32}), k.C.at(0, 0));
         }}}},
      {"Matrix products",
       {{"matmul: pipelined copies and `gemm`, f16",
         [](Names &k) {
           auto a = k.b.shared<f16>(128, 64), c = k.b.shared<f16>(128, 64);
           auto acc = k.b.local<f32>(128, 128);
           k.b.fill(acc, 0);
           for (Index i : k.b.pipelined(ceil_div(k.H.size(1), 64), {.num_stages = 2})) {
             k.b.copy(k.H.at(0, i * 64), a);
             k.b.copy(k.H.at(0, i * 64), c);
             k.b.gemm(a, transposed(c), acc);
           }
           k.b.copy(acc, k.D.at(0, 0));
         }},
        {"`as_matrix`: a box as an operand and an accumulator of `gemm`",
         [](Names &k) {
           auto a = k.b.shared<f16>(8, 16, 64);
           auto c = k.b.shared<f16>(128, 64);
           auto acc = k.b.local<f32>(8, 16, 128);
           k.b.fill(a, 1);
           k.b.copy(k.H.at(0, 0), c);
           k.b.gemm(as_matrix(a), transposed(c), as_matrix(acc), {.accumulate = false});
           k.b.copy(as_matrix(acc), k.D.at(0, 0));
         }},
        {"`gemm`, f16", product<f16, f32>()},
        {"`gemm`, bf16", product<bf16, f32>()},
        {"`gemm`, f8e4m3", product<f8e4m3, f32>()},
        {"`gemm`, f8e5m2", product<f8e5m2, f32>()},
        {"`gemm`, f32", product<f32, f32>()},
        {"`gemm`, i8", product<i8, i32>()},
        {"`gemm`, f32 as TF32",
         [](Names &k) {
           auto a = k.b.shared<f32>(128, 32), c = k.b.shared<f32>(32, 32);
           k.b.fill(a, 1);
           k.b.fill(c, 1);
           k.b.fill(k.S, 0);
           k.b.gemm(a, c, k.S, {.tf32 = true});
           k.b.copy(k.S, k.C.at(0, 0));
         }},
        {"`gemm` with scales, f8e4m3 and f8e8m0", scaledProduct<f8e4m3, f8e8m0, 32>()},
        {"`gemm` with scales, f4e2m1x2 and f8e8m0", scaledProduct<f4e2m1x2, f8e8m0, 32>()},
        {"`gemm` with scales, f4e2m1x2 and f8e4m3", scaledProduct<f4e2m1x2, f8e4m3, 16>()},
        {"`unpack` of i4x2", unpacking<i4x2>()},
        {"`unpack` of f4e2m1x2", unpacking<f4e2m1x2>()},
        {"asynchronous `gemm`",
         [](Names &k) {
           auto a = k.b.shared<f16>(128, 32), c = k.b.shared<f16>(32, 32);
           k.b.fill(a, 1);
           k.b.fill(c, 1);
           k.b.fill(k.S, 0);
           k.b.gemm(a, c, k.S, {.async = "product"});
           k.b.wait("product");
           k.b.copy(k.S, k.C.at(0, 0));
         }}}},
      {"Reductions",
       {{"`reduce`, `Sum` along rows", reduction(Sum, 1)},
        {"`reduce`, `Prod` along rows", reduction(Prod, 1)},
        {"`reduce`, `Max` along rows", reduction(Max, 1)},
        {"`reduce`, `Min` along rows", reduction(Min, 1)},
        {"`reduce`, `Sum` along columns", reduction(Sum, 0)}}},
      {"Elementwise expressions",
       {{"`+ - *`", expression([](Names &k) { return k.S + k.T - k.S * k.T; })},
        {"`/`", expression([](Names &k) { return k.S / k.T; })},
        {"broadcast a vector", expression([](Names &k) {
           k.b.fill(k.v, 3);
           return k.S - rows(k.v);
         })},
        {"scalar operand", expression([](Names &k) { return k.S * k.scale; })},
        {"`where`, comparisons, `&&`",
         expression([](Names &k) { return where(k.S < k.T && k.S > 0, k.S, 0); })},
        {"`row`, `col`", expression([](Names &k) { return where(row(k.S) >= col(k.S), k.S, 0); })},
        {"`cast`", expression([](Names &k) { return cast<f32>(cast<i32>(k.S)); })},
        {"`gather`", expression([](Names &k) { return k.A.gather(row(k.S), col(k.S)); })},
        {"`min`, `max`, `abs`", expression([](Names &k) { return min(max(k.S, k.T), abs(k.S)); })},
        {"`exp`", expression([](Names &k) { return exp(k.S); })},
        {"`exp2`", expression([](Names &k) { return exp2(k.S); })},
        {"`log`", expression([](Names &k) { return log(k.S); })},
        {"`log2`", expression([](Names &k) { return log2(k.S); })},
        {"`sqrt`", expression([](Names &k) { return sqrt(k.S); })},
        {"`rsqrt`", expression([](Names &k) { return rsqrt(k.S); })},
        {"`tanh`", expression([](Names &k) { return tanh(k.S); })},
        {"`erf`", expression([](Names &k) { return erf(k.S); })},
        {"`sin`", expression([](Names &k) { return sin(k.S); })},
        {"`cos`", expression([](Names &k) { return cos(k.S); })},
        {"`floor`, `ceil`, `round`",
         expression([](Names &k) { return floor(k.S) + ceil(k.S) + round(k.S); })},
        {"`+` of f64", addition<f64>()},
        {"`+` of f16", addition<f16>()},
        {"`+` of bf16", addition<bf16>()},
        {"`+` of i8", addition<i8>()},
        {"`+` of i16", addition<i16>()},
        {"`+` of i32", addition<i32>()},
        {"`+` of i64", addition<i64>()}}},
      {"Scalars and single elements",
       {{"load an element of a tensor", [](Names &k) { k.b.store(k.counts.at(0), k.ids.load(0)); }},
        {"load an element of a tile",
         [](Names &k) {
           auto s = k.b.shared<i32>(64);
           k.b.fill(s, 1);
           k.b.store(k.counts.at(0), k.b.load(s, 0));
         }},
        {"store an element of a tensor", [](Names &k) { k.b.store(k.counts.at(0), 1); }},
        {"store an element of a tile",
         [](Names &k) {
           auto s = k.b.shared<i32>(64);
           k.b.store(s, 0, 1);
         }},
        {"`Var`",
         [](Names &k) {
           Var<int> count(k.b, 0);
           count += 1;
           k.b.store(k.counts.at(0), count);
         }},
        {"`select`", [](Names &k) { k.b.store(k.counts.at(select(k.n > 4, k.n, 4)), 1); }},
        {"`fast_divmod`",
         [](Names &k) { k.b.store(k.counts.at(fast_divmod(k.n, k.A.size(0)).remainder), 1); }},
        {"`bind`", [](Names &k) { k.b.store(k.counts.at(k.b.bind("n", k.n)), 1); }},
        {"`atomic`, `Add`", atomic(Add)},
        {"`atomic`, `AtomicMax`", atomic(AtomicMax)},
        {"`atomic`, `AtomicMin`", atomic(AtomicMin)},
        {"`atomic`, `Exchange`", atomic(Exchange)}}},
      {"Control flow",
       {{"`grid` with three dimensions",
         [](Names &k) {
           auto [x, y, z] = k.b.grid(k.n, 2, 3);
           k.b.store(k.counts.at(x + y + z), 1);
         }},
        {"`grid` with `swizzled`",
         [](Names &k) {
           auto [x, y] = k.b.grid(k.n, k.n, swizzled(8));
           k.b.store(k.counts.at(x + y), 1);
         }},
        {"`range`",
         [](Names &k) {
           for (Index i : k.b.range(k.n))
             k.b.store(k.counts.at(i), 1);
         }},
        {"`range` with `unroll`",
         [](Names &k) {
           for (Index i : k.b.range(0, k.n, 1, {.unroll = 4}))
             k.b.store(k.counts.at(i), 1);
         }},
        {"`pipelined` loop of copies",
         [](Names &k) {
           auto s = k.b.shared<f32>(64, 32);
           for (Index i : k.b.pipelined(k.n, {.num_stages = 2})) {
             k.b.copy(k.A.at(i * 64, 0), s);
             k.b.copy(s, k.C.at(i * 64, 0));
           }
         }},
        {"`loop_while`",
         [](Names &k) {
           Var<int> i(k.b, 0);
           k.b.loop_while([&] { return Scalar<int>(i) < 4; }, [&] { i += 1; });
         }},
        {"`when`", [](Names &k) { k.b.when(k.n > 0, [&] { k.b.store(k.counts.at(0), 1); }); }},
        {"`statement`",
         [](Names &k) { k.b.statement("one", [&] { k.b.store(k.counts.at(0), 1); }); }},
        {"`parallel`",
         [](Names &k) { k.b.parallel(64, [&](Index i) { k.b.atomic(Add, k.counts.at(i), 1); }); }},
        {"`wait_for_previous`, `launch_dependents`",
         [](Names &k) {
           k.b.wait_for_previous();
           k.b.launch_dependents();
         }},
        {"`print`", [](Names &k) { k.b.print("{}", {k.n}); }},
        {"`require`", [](Names &k) { k.b.require(k.n <= 4096, "n is at most 4096"); }}}},
  };
}

/// Operations that only explicit kernels have.
std::vector<Section> hardware() {
  return {
      {"Threads and barriers",
       {{"`warp`, `warps`", [](Names &k) { k.b.warps(0, 2, [&] { k.b.sync(); }); }},
        {"`elect_one`", [](Names &k) { k.b.elect_one([&] { k.b.store(k.counts.at(0), 1); }); }},
        {"`sync`", [](Names &k) { k.b.sync(); }},
        {"`warp_sync`", [](Names &k) { k.b.warp_sync(); }},
        {"`named_barrier`", [](Names &k) { k.b.named_barrier.sync(k.b.named_barrier.alloc(128)); }},
        {"`mbarrier.arrive`, `wait`",
         [](Names &k) {
           auto [bar] = k.b.mbarrier.alloc<1>({128});
           k.b.mbarrier.arrive(bar);
           k.b.mbarrier.wait(bar, 0);
         }},
        {"`mbarrier.try_wait`",
         [](Names &k) {
           auto [bar] = k.b.mbarrier.alloc<1>({128});
           k.b.mbarrier.arrive(bar);
           k.b.when(k.b.mbarrier.try_wait(bar, 0), [&] { k.b.store(k.counts.at(0), 1); });
         }},
        {"`cluster`, `cluster_sync`",
         [](Names &k) {
           k.b.grid(k.n * 2);
           k.b.cluster(2);
           k.b.cluster_sync();
         }},
        {"`pair`",
         [](Names &k) {
           k.b.grid(k.n * 2);
           k.b.pair();
           k.b.cluster_sync();
         }},
        {"`registers`", [](Names &k) { k.b.registers.release(40); }}}},
      {"Copies by engines",
       {{"`tma.load`",
         [](Names &k) {
           auto s = k.b.shared<f16>(64, 64);
           auto [bar] = k.b.mbarrier.alloc<1>({1});
           k.b.elect_one([&] { k.b.mbarrier.arrive_expect(bar, s.bytes()); });
           k.b.tma.load(k.H.at(0, 0), s, bar);
           k.b.mbarrier.wait(bar, 0);
         }},
        {"`tma.load` with `multicast`",
         [](Names &k) {
           k.b.grid(k.n * 2);
           k.b.cluster(2);
           auto s = k.b.shared<f16>(64, 64);
           auto [bar] = k.b.mbarrier.alloc<1>({1});
           k.b.elect_one([&] { k.b.mbarrier.arrive_expect(bar, s.bytes()); });
           k.b.tma.load(k.H.at(0, 0), s, bar, {.multicast = 3});
           k.b.mbarrier.wait(bar, 0);
         }},
        {"`tma.store`",
         [](Names &k) {
           auto s = k.b.shared<f16>(64, 64);
           k.b.fill(s, 1);
           k.b.fence.proxy_async();
           k.b.sync();
           k.b.tma.store(s, k.D.at(0, 0));
           k.b.tma.commit_group();
           k.b.tma.wait_group(0);
         }},
        {"`tma.reduce`",
         [](Names &k) {
           auto s = k.b.shared<f16>(64, 64);
           k.b.fill(s, 1);
           k.b.fence.proxy_async();
           k.b.sync();
           k.b.tma.reduce(Sum, s, k.D.at(0, 0));
           k.b.tma.commit_group();
           k.b.tma.wait_group(0);
         }},
        {"`cp_async`",
         [](Names &k) {
           auto s = k.b.shared<f16>(64, 64);
           k.b.cp_async.load(k.H.at(0, 0), s);
           k.b.cp_async.commit_group();
           k.b.cp_async.wait_group(0);
           k.b.sync();
         }},
        {"`clc`",
         [](Names &k) {
           k.b.grid(k.n);
           auto answer = k.b.shared<i32>(4);
           auto [bar] = k.b.mbarrier.alloc<1>({1});
           k.b.elect_one([&] { k.b.mbarrier.arrive_expect(bar, 16); });
           k.b.clc.request(answer, bar);
           k.b.mbarrier.wait(bar, 0);
           k.b.store(k.counts.at(k.b.clc.answer(answer).block), 1);
         }}}},
      {"Tensor cores",
       {{"`wgmma`",
         [](Names &k) {
           auto a = k.b.shared<f16>(64, 64), c = k.b.shared<f16>(64, 64);
           auto acc = k.b.local<f32>(64, 64);
           k.b.fill(a, 1);
           k.b.fill(c, 1);
           k.b.fill(acc, 0);
           k.b.fence.proxy_async();
           k.b.sync();
           k.b.wgmma.fence();
           k.b.wgmma.mma(a, c, acc);
           k.b.wgmma.commit_group();
           k.b.wgmma.wait_group(0);
           k.b.copy(acc, k.C.at(0, 0));
         }},
        {"`tcgen05.mma`, `commit`, `load`",
         [](Names &k) {
           auto a = k.b.shared<f16>(128, 64), c = k.b.shared<f16>(64, 64);
           auto acc = k.b.tcgen05.alloc<f32>(128, 64);
           auto [bar] = k.b.mbarrier.alloc<1>({1});
           k.b.fill(a, 1);
           k.b.fill(c, 1);
           k.b.fence.proxy_async();
           k.b.sync();
           k.b.warp(0, [&] {
             k.b.tcgen05.mma(a, c, acc, {.accumulate = false});
             k.b.tcgen05.commit(bar);
           });
           k.b.mbarrier.wait(bar, 0);
           auto result = k.b.tcgen05.load(acc);
           k.b.tcgen05.wait_load();
           k.b.copy(result, k.C.at(0, 0));
           k.b.sync();
           k.b.tcgen05.dealloc(acc);
         }},
        {"`reduce`, broadcast of a `wgmma` accumulator",
         [](Names &k) {
           auto a = k.b.shared<f16>(64, 64), c = k.b.shared<f16>(64, 64);
           auto acc = k.b.local<f32>(64, 64);
           auto sum = k.b.local<f32>(64);
           k.b.wgmma.fence();
           k.b.wgmma.mma(a, c, acc, {.accumulate = false});
           k.b.wgmma.commit_group();
           k.b.wgmma.wait_group(0);
           k.b.reduce(Sum, acc, 1, sum);
           k.b.set(acc, acc / rows(sum));
           k.b.copy(acc, k.C.at(0, 0));
         }},
        {"`reduce`, broadcast of a tile of `tcgen05.load`",
         [](Names &k) {
           auto acc = k.b.tcgen05.alloc<f32>(128, 64);
           auto sum = k.b.local<f32>(128);
           auto result = k.b.tcgen05.load(acc);
           k.b.tcgen05.wait_load();
           k.b.reduce(Sum, result, 1, sum);
           k.b.set(result, result / rows(sum));
           k.b.copy(result, k.C.at(0, 0));
           k.b.sync();
           k.b.tcgen05.dealloc(acc);
         }},
        {"`tcgen05.store`",
         [](Names &k) {
           auto acc = k.b.tcgen05.alloc<f32>(128, 32);
           k.b.fill(k.S, 1);
           k.b.tcgen05.store(k.S, acc);
           k.b.tcgen05.wait_store();
           k.b.sync();
           k.b.tcgen05.dealloc(acc);
         }},
        {"`tcgen05.mma` with scales",
         [](Names &k) {
           auto a = k.b.shared<f8e4m3>(128, 128);
           auto s = k.b.shared<f8e8m0>(1, 1, 32, 16);
           auto scales = k.b.tcgen05.alloc<f8e8m0>(1, 1, 32, 16);
           auto acc = k.b.tcgen05.alloc<f32>(128, 128);
           auto [bar] = k.b.mbarrier.alloc<1>({1});
           k.b.warp(0, [&] {
             k.b.tcgen05.copy(s, scales);
             k.b.tcgen05.mma(a, transposed(a), acc,
                             {.accumulate = false, .scale_a = scales, .scale_b = scales});
             k.b.tcgen05.commit(bar);
           });
           k.b.mbarrier.wait(bar, 0);
           k.b.sync();
           k.b.tcgen05.dealloc(scales);
           k.b.tcgen05.dealloc(acc);
         }},
        {"`tcgen05.copy`",
         [](Names &k) {
           auto s = k.b.shared<f32>(128, 32);
           auto acc = k.b.tcgen05.alloc<f32>(128, 32);
           auto [bar] = k.b.mbarrier.alloc<1>({1});
           k.b.fill(s, 1);
           k.b.fence.proxy_async();
           k.b.sync();
           k.b.warp(0, [&] {
             k.b.tcgen05.copy(s, acc);
             k.b.tcgen05.commit(bar);
           });
           k.b.mbarrier.wait(bar, 0);
           k.b.sync();
           k.b.tcgen05.dealloc(acc);
         }}}},
  };
}

/// "yes", or the code of the first error, with a link.
std::string status(const Operation &operation, Target target, bool explicitThreads) {
  // Whether barriers are used correctly is not the question here.
  auto compiled = try_compile(Kernel{operation.body, explicitThreads}, target,
                              {.name = "status", .check_barriers = false});
  if (compiled)
    return "yes";
  for (const Diagnostic &d : compiled.diagnostics)
    if (d.severity == Severity::Error) {
      char code[16];
      std::snprintf(code, sizeof code, "PS%04d", int(d.code));
      return code;
    }
  return "no reason given";
}

void print(const std::vector<Section> &all, bool onlyExplicit) {
  for (const Section &section : all) {
    if (onlyExplicit)
      std::printf("\n### %s\n\n| operation | sm_90a | sm_100a |\n|---|---|---|\n", section.title);
    else
      std::printf("\n### %s\n\n| operation | interpreter | x86-64 | sm_90a, tile | sm_100a, tile | "
                  "sm_90a, explicit | sm_100a, explicit |\n|---|---|---|---|---|---|---|\n",
                  section.title);
    for (const Operation &operation : section.operations) {
      std::printf("| %s |", operation.name);
      if (!onlyExplicit)
        for (Target target :
             {Target::interpreter(), Target::native(), Target::sm_90a(), Target::sm_100a()})
          std::printf(" %s |", status(operation, target, false).c_str());
      for (Target target : {Target::sm_90a(), Target::sm_100a()})
        std::printf(" %s |", status(operation, target, true).c_str());
      std::printf("\n");
    }
  }
}

} // namespace

int main() {
  std::printf("## Tile operations\n");
  print(sections(), false);
  std::printf("\n## Operations of explicit kernels\n\n"
              "They need `b.threads(n)`, and a GPU target.\n");
  print(hardware(), true);
}
