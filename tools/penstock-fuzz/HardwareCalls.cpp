//===- HardwareCalls.cpp - Random calls of the GPU's operations -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers, copies by engines, products and choices of threads in random order.
// What comes out need not make sense, only compile or be refused: it is not run.
// Half of the sequences are careful: shapes fit one another, and operations stand
// where the threads that execute them are.
//
//===----------------------------------------------------------------------===//
#include "HardwareCalls.h"
#include "Expressions.h"
#include "InternalErrors.h"

using namespace penstock;
using namespace penstock::fuzz;

namespace {

class HardwareCaller {
public:
  HardwareCaller(uint64_t seed, bool blackwell)
      : random(seed), blackwell(blackwell), careless(random.chance(50)) {}

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f16, 2> C, InOut<f32, 2> D,
                  In<f32, 1> v, In<i32, 1> ids, Index n) {
    operands.vector = v;
    operands.ids = ids;
    operands.scalars.push_back(v.load(n));
    m = blackwell ? 128 : random.of<int64_t>({64, 128});
    columns = random.of<int64_t>({16, 32, 64, 128});
    k = random.of<int64_t>({16, 32, 64, 128});
    mutate(m);
    mutate(columns);
    mutate(k);
    indices.push_back(n);
    indices.push_back(Index(0));
    if (random.chance(70))
      indices.push_back(b.grid(n));
    if (!wrong())
      b.threads(wrong() ? odd() : random.of<int64_t>({128, 128, 256}));
    lefts.push_back(b.shared<f16>(m, k));
    rights.push_back(b.shared<f16>(columns, k));
    results.push_back(b.shared<f16>(m, columns));
    floats.push_back(b.shared<f32>(m, columns));
    registers.push_back(b.local<f32>(m, columns));
    rows.push_back(b.local<f32>(m));
    operands.floats.push_back(floats.back());
    operands.floats.push_back(registers.back());
    operands.halves.push_back(results.back());
    operands.rows.push_back(b.shared<f32>(m));
    operands.cols.push_back(b.shared<f32>(columns));
    if (random.chance(40)) {
      auto ring = b.shared<f16>(2, m, k);
      lefts.push_back(ring[index()]);
    }
    if (blackwell || wrong())
      tensors.push_back(b.tcgen05.alloc<f32>(m, columns));
    barriers.push_back(b.mbarrier.alloc(wrong() ? odd() : 2, wrong() ? odd() : 1));
    int64_t steps = random.between(1, 12);
    for (int64_t i = 0; i < steps; ++i)
      step(b, A, B, C, D, 0, Where::Block);
  }

private:
  enum class Where { Block, Group, Warp, One };

  int64_t odd() {
    return random.of<int64_t>({0,         1,        -1,  2,    3,    7,       8,
                               12,        31,       33,  48,   63,   64,      96,
                               129,       200,      512, 1024, 4096, 1 << 20, int64_t(1) << 33,
                               INT64_MAX, INT64_MIN});
  }
  bool wrong() { return careless && random.chance(3); }
  void mutate(int64_t &extent) {
    if (wrong())
      extent = random.of<int64_t>({1, 7, 8, 12, 24, 40, 48, 72, 96, 100, 192, 256, 264, 320, 512});
  }
  template <class V> V any(const std::vector<V> &all) {
    if (all.empty() || (wrong() && random.chance(30)))
      return V();
    return random.of(all);
  }
  Index index() { return wrong() ? Index(odd()) : random.of(indices); }
  Barrier barrier() { return any(barriers)[wrong() ? Index(odd()) : Index(random.below(2))]; }
  Scalar<uint32_t> phase() { return Scalar<uint32_t>(uint32_t(random.below(2))); }

  template <class... Tensors> void nest(Block &b, Where where, int depth, Tensors &...tensors) {
    size_t known = indices.size();
    int64_t count = random.between(1, 4);
    for (int64_t i = 0; i < count; ++i)
      step(b, tensors..., depth + 1, where);
    while (!careless && indices.size() > known)
      indices.pop_back();
  }

  void step(Block &b, In<f16, 2> &A, In<f16, 2> &B, InOut<f16, 2> &C, InOut<f32, 2> &D, int depth,
            Where where) {
    if (depth > 4)
      return;
    bool whole = where == Where::Block || where == Where::Group;
    auto inside = [&](bool fits) { return fits || wrong(); };
    switch (random.below(32)) {
    case 30:
    case 31:
      if (inside(whole))
        expression(b);
      return;
    case 0:
      if (inside(where == Where::Block))
        b.warps(wrong() ? odd() : 0, wrong() ? odd() : 4,
                [&] { nest(b, Where::Group, depth, A, B, C, D); });
      return;
    case 1:
      if (inside(where == Where::Block))
        b.warp(wrong() ? odd() : random.below(4), [&] { nest(b, Where::Warp, depth, A, B, C, D); });
      return;
    case 2:
      if (inside(where != Where::One))
        b.elect_one([&] { nest(b, Where::One, depth, A, B, C, D); });
      return;
    case 3:
      if (inside(where != Where::One))
        b.sync();
      return;
    case 4:
      return b.fence.proxy_async();
    case 5:
      return b.mbarrier.arrive(barrier());
    case 6:
      return b.mbarrier.arrive_expect(barrier(), wrong() ? Index(odd()) : Index(2 * m * k));
    case 7:
      return b.mbarrier.wait(barrier(), phase(),
                             {.sem = random.chance(80) ? Acquire : Relaxed,
                              .scope = random.chance(80) ? Cta : Cluster});
    case 8:
      return b.when(b.mbarrier.try_wait(barrier(), phase()),
                    [&] { nest(b, where, depth, A, B, C, D); });
    case 9:
    case 10:
      return b.tma.load(A.at(index(), index()), wrong() ? transposed(any(lefts)) : any(lefts),
                        barrier());
    case 11:
      return b.tma.load(B.at(index(), index()), any(rights), barrier());
    case 12:
      b.tma.store(wrong() ? any(lefts) : any(results), C.at(index(), index()));
      return b.tma.commit_group();
    case 13:
      return b.tma.wait_group(wrong() ? odd() : random.below(3), {.read = random.chance(50)});
    case 14:
      if (inside(where != Where::One)) {
        b.cp_async.load(A.at(index(), index()), any(lefts));
        b.cp_async.commit_group();
        b.cp_async.wait_group(wrong() ? odd() : 0);
      }
      return;
    case 15:
    case 16:
      if (inside(blackwell)) {
        b.tcgen05.mma(any(lefts), transposed(any(rights)), any(tensors),
                      {.accumulate = index() < index()});
        b.tcgen05.commit(barrier());
      }
      return;
    case 17:
      if (inside(blackwell && whole && (where == Where::Group))) {
        auto part = any(tensors);
        if (wrong())
          part = slice(part, {Index(0), index()}, {m, wrong() ? odd() : columns / 2});
        registers.push_back(b.tcgen05.load(part));
        b.tcgen05.wait_load();
        if (!careless)
          registers.pop_back();
      }
      return;
    case 18:
    case 19:
      if (inside(!blackwell && where == Where::Group)) {
        b.wgmma.fence();
        b.wgmma.mma(any(lefts), wrong() ? any(rights) : transposed(any(rights)), any(registers),
                    {.accumulate = random.chance(50)});
        b.wgmma.commit_group();
        b.wgmma.wait_group(wrong() ? odd() : random.below(2));
      }
      return;
    case 20:
      if (inside(where == Where::Group))
        b.store(any(results), cast<f16>(any(registers)));
      return;
    case 21:
      if (inside(where == Where::Group))
        b.fill(any(registers), 0);
      return;
    case 22:
      if (inside(where == Where::Group))
        b.set(any(registers), any(registers) * 2.0f + 1.0f);
      return;
    case 23:
      for (Index i : b.range(index(), index(), Index(1), {.unroll = wrong() ? 4 : -1})) {
        indices.push_back(i);
        nest(b, where, depth, A, B, C, D);
        if (!careless)
          indices.pop_back();
      }
      return;
    case 24:
      return b.when(index() < index(), [&] { nest(b, where, depth, A, B, C, D); });
    case 25:
      indices.push_back(random.chance(50) ? index() + 8 : index() * 64);
      return;
    case 26:
      if (careless)
        odder(b, A, C, D);
      return;
    case 27:
      if (inside(where == Where::Group))
        b.copy(any(registers), D.at(index(), index()));
      return;
    case 28:
      if (careless && random.chance(30))
        b.tcgen05.dealloc(any(tensors));
      return;
    default: {
      Var<int> slot(b, 0);
      slot = (slot + 1) % 2;
      b.mbarrier.wait(any(barriers)[slot], phase());
    }
    }
  }

  /// Any operation on the elements of tiles in registers and in shared memory.
  void expression(Block &b) {
    Operands from = operands;
    for (const Index &each : indices)
      from.indices.push_back(each);
    Expressions make(random, from, careless ? Expressions::Kinds::All : Expressions::Kinds::Exact);
    Expr<f32> value = make.value<f32>(3);
    if (random.chance(20))
      value = make.function(value, /*everywhere=*/!careless);
    if (random.chance(70))
      b.set(random.chance(50) ? any(registers) : any(floats), value);
    else
      b.set(any(results), cast<f16>(value));
  }

  /// What is allowed elsewhere and has no or a narrow meaning here.
  void odder(Block &b, In<f16, 2> &A, InOut<f16, 2> &C, InOut<f32, 2> &D) {
    switch (random.below(16)) {
    case 0:
      return b.copy(A.at(index(), index()), any(lefts));
    case 1:
      return b.copy(any(lefts), any(results));
    case 2:
      return b.copy(D.at(index(), index()), any(registers));
    case 3:
      return b.gemm(any(lefts), transposed(any(rights)), any(registers));
    case 4:
      return b.reduce(random.of({Sum, Max, Min, Prod}), any(registers), int(random.below(2)),
                      any(rows), {.accumulate = random.chance(50)});
    case 5:
      return b.set(any(registers), any(registers) / ::penstock::broadcast_rows(any(rows)));
    case 6:
      return b.set(any(floats), any(registers) + any(floats));
    case 7:
      return b.fill(any(tensors), 0);
    case 8:
      registers.push_back(b.local<f32>(odd() & 1023, odd() & 4095));
      return;
    case 9:
      lefts.push_back(b.shared<f16>(odd() & 511, odd() & 511));
      return;
    case 10:
      lefts.push_back(
          slice(any(lefts), {index(), index()}, {m, random.of<int64_t>({k, k / 2, 8})}));
      return;
    case 11:
      return b.print("{} {}", {index(), any(registers)});
    case 12:
      return b.require(index() < index(), "text");
    case 13:
      b.store(C.at(index(), index()), 1.0f);
      return;
    case 14: {
      auto bytes = b.shared<i8>(m, k);
      auto doubles = b.local<f64>(m, columns);
      b.set(doubles, cast<f64>(any(registers)));
      return b.set(bytes, cast<i8>(cast<i32>(any(floats))));
    }
    default:
      return b.parallel(int64_t(8), [&](Index i) { b.store(D.at(i, index()), 1.0f); });
    }
  }

  Random random;
  bool blackwell, careless;
  int64_t m = 0, columns = 0, k = 0;
  std::vector<Index> indices;
  std::vector<Tile<f16, 2>> lefts, rights, results;
  std::vector<Tile<f32, 2>> floats, registers, tensors;
  std::vector<Tile<f32, 1>> rows;
  std::vector<Barriers> barriers;
  Operands operands;
};

} // namespace

HardwareResult penstock::fuzz::callHardware(uint64_t seed) {
  Random random(derive(seed, 1));
  bool blackwell = random.chance(50);
  Target target = blackwell ? Target::sm_100a() : Target::sm_90a();
  if (random.chance(5))
    target = random.of({Target::native(), Target::interpreter(), Target::sm_90a()});
  auto compiled = try_compile([caller = HardwareCaller(derive(seed, 2), blackwell)](
                                  Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f16, 2> C,
                                  InOut<f32, 2> D, In<f32, 1> v, In<i32, 1> ids,
                                  Index n) mutable { caller(b, A, B, C, D, v, ids, n); },
                              target);
  (void)to_text(compiled.diagnostics);
  (void)to_json(compiled.diagnostics);
  if (hasInternalError(compiled.diagnostics))
    return {{true, to_text(compiled.diagnostics).substr(0, 4000)}};
  return {{}, static_cast<bool>(compiled)};
}
