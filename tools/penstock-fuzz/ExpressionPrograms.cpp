//===- ExpressionPrograms.cpp - One expression in every kind of kernel ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same expressions as a tile program, on the interpreter and natively, and
// as an explicit kernel for both GPUs, on the emulator.
//
//===----------------------------------------------------------------------===//
#include "Expressions.h"
#include "RunProgram.h"
#include "penstock/cache.h"

#include <cmath>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

struct ExpressionKernel {
  uint64_t seed;
  bool explicitly;

  void operator()(Block &b, In<f32, 2> A, In<i32, 2> I, In<f32, 1> v, In<i32, 1> ids, Index n,
                  Scalar<f32> factor, Out<f32, 2> C, Out<i32, 2> D) const {
    Random random(seed);
    int64_t height = random.of<int64_t>({16, 32, 64}), width = random.of<int64_t>({16, 32, 64});
    if (explicitly)
      b.threads(random.of<int64_t>({128, 256}));
    else
      (void)random.next(); // the expressions are the same
    auto m0 = b.grid(ceil_div(A.size(0), height)) * height;
    b.prefer({.launch_control = random.chance(20)});
    auto x = b.local<f32>(height, width), result = b.local<f32>(height, width);
    auto i = b.local<i32>(height, width), counts = b.local<i32>(height, width);
    auto h = b.local<f16>(height, width);
    auto y = b.shared<f32>(height, width);
    auto top = b.shared<f32>(height), left = b.shared<f32>(width);
    b.copy(A.at(m0, 0), x);
    b.copy(A.at(0, 1), y);
    b.copy(I.at(m0, 0), i);
    b.copy(v.at(0), top);
    b.copy(v.at(1), left);
    if (explicitly)
      b.sync();
    b.set(h, cast<f16>(x));
    Var<i32> variable(b, cast<i32>(n));
    variable += 1;
    Operands from;
    from.floats = {x, y};
    from.halves = {h};
    from.ints = {i};
    from.rows = {top};
    from.cols = {left};
    for (const Index &each : {n, m0, Index(Scalar<i32>(variable))})
      from.indices.push_back(each);
    for (const Scalar<f32> &each : {factor, v.load(n)})
      from.scalars.push_back(each);
    from.vector = v;
    from.matrix = A;
    from.ids = ids;
    Expressions make(random, from, Expressions::Kinds::Exact);
    Expr<f32> value = make.value<f32>(4);
    if (approximate())
      value = make.function(value, /*everywhere=*/true);
    b.set(result, value);
    b.set(counts, make.value<i32>(4));
    b.copy(result, C.at(m0, 0));
    b.copy(counts, D.at(m0, 0));
  }

  bool approximate() const { return Random(derive(seed, 3)).chance(20); }
};

struct ExpressionData {
  explicit ExpressionData(uint64_t seed) : random(seed) {
    rows = random.between(1, 40);
    columns = random.between(2, 40);
    for (auto *values : {&a, &c})
      values->resize(size_t(rows * columns));
    ints.resize(a.size());
    d.resize(a.size());
    v.resize(size_t(random.between(2, 80)));
    ids.resize(size_t(random.between(1, 80)));
    static const float odd[] = {0, -0.0f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN, 1e-40f};
    for (float &value : a)
      value = random.chance(4) ? odd[random.below(8)] : float(random.between(-400, 400)) / 16;
    for (float &value : v)
      value = float(random.between(-400, 400)) / 16;
    for (i32 &value : ints)
      value = random.chance(5) ? i32(random.next()) : i32(random.between(-60, 60));
    for (i32 &value : ids)
      value = i32(random.between(-60, 60));
    n = random.below(int64_t(v.size()));
  }

  template <class Built> std::vector<Diagnostic> launch(const Built &built, LaunchOptions options) {
    std::fill(c.begin(), c.end(), 77.0f);
    std::fill(d.begin(), d.end(), 77);
    int64_t length = int64_t(v.size()), count = int64_t(ids.size());
    return built.try_launch(options, view(a, {rows, columns}), view(ints, {rows, columns}),
                            view(v, {length}), view(ids, {count}), n, 0.75f,
                            view(c, {rows, columns}), view(d, {rows, columns}));
  }

  Random random;
  int64_t rows, columns, n;
  std::vector<float> a, c, v;
  std::vector<i32> ints, ids, d;
};

bool isSame(float a, float b, bool approximate) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (!approximate)
    return std::memcmp(&a, &b, sizeof a) == 0;
  return a == b || std::fabs(a - b) <= 1e-5f * std::fabs(b);
}

} // namespace

CaseResult penstock::fuzz::compareExpressions(uint64_t seed, Counters &counters) {
  ExpressionKernel kernel{derive(seed, 21), false};
  auto reference = try_compile(kernel, Target::interpreter());
  if (!reference)
    return {true, "refused for the interpreter: " + to_text(reference.diagnostics)};
  ExpressionData data(derive(seed, 22));
  auto faults = data.launch(reference.kernel, {});
  if (!faults.empty())
    return {true, "the interpreter reports: " + to_text(faults)};
  std::vector<float> floats = data.c;
  std::vector<i32> ints = data.d;
  struct Variant {
    const char *name;
    Target target;
    bool explicitly;
  };
  for (const Variant &variant : {Variant{"native", Target::native(), false},
                                 Variant{"sm_90a", Target::sm_90a().emulated(), true},
                                 Variant{"sm_100a", Target::sm_100a().emulated(), true}}) {
    kernel.explicitly = variant.explicitly;
    auto compiled = try_compile(kernel, variant.target, {.cache = &KernelCache::none()});
    if (!compiled)
      return {true, std::string("refused for ") + variant.name + ": " +
                        to_text(compiled.diagnostics) + "\n" + reference.kernel.tile_program()};
    faults = data.launch(compiled.kernel, {});
    ++counters[Launches];
    if (!faults.empty())
      return {true, std::string(variant.name) + " reports: " + to_text(faults)};
    for (size_t i = 0; i < floats.size(); ++i)
      if (!isSame(data.c[i], floats[i], kernel.approximate()) || data.d[i] != ints[i])
        return {true, std::string(variant.name) + ": element " + std::to_string(i) + " is " +
                          std::to_string(data.c[i]) + ", " + std::to_string(data.d[i]) +
                          ", on the interpreter " + std::to_string(floats[i]) + ", " +
                          std::to_string(ints[i]) + "\n" + reference.kernel.tile_program()};
  }
  ++counters[Explicit];
  return {};
}
