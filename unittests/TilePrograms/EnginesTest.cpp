//===- EnginesTest.cpp - Which instructions a program becomes -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <array>
#include <cstring>
#include <map>
#include <sstream>

using namespace penstock;
using namespace programs;

namespace {

/// One product in one block, of tiles of a shape.
template <class T, class S> struct OneProduct {
  int m = 32, n = 16, k = 32;
  bool tf32 = false;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<S, 2> C) const {
    auto As = b.shared<T>(m, k), Bs = b.shared<T>(n, k);
    auto acc = b.local<S>(m, n);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.gemm(As, transposed(Bs), acc, {.accumulate = false, .tf32 = tf32});
    b.copy(acc, C.at(0, 0));
  }
};

/// A product of one block that passes through a shared tile.
struct StoredProduct {
  int n = 64;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto As = b.shared<f16>(64, 32), Bs = b.shared<f16>(n, 32), stored = b.shared<f16>(64, n);
    auto acc = b.local<f32>(64, n);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.gemm(As, transposed(Bs), acc, {.accumulate = false});
    b.copy(acc, stored);
    b.copy(stored, C.at(0, 0));
  }
};

template <class Kernel> std::string ptxOf(const Kernel &kernel, Target target) {
  auto compiled = try_compile(kernel, target);
  EXPECT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  return compiled ? compiled.kernel.ptx() : "";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Engines, TensorCoresMultiplyWhatTheyCan) {
  for (const Target &target : gpus) {
    EXPECT_TRUE(contains(ptxOf(OneProduct<f16, f32>{}, target),
                         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
    EXPECT_TRUE(contains(ptxOf(OneProduct<bf16, f32>{}, target), "m16n8k16.row.col.f32.bf16"));
    EXPECT_TRUE(contains(ptxOf(OneProduct<f8e4m3, f32>{}, target), "m16n8k32.row.col.f32.e4m3"));
    EXPECT_TRUE(contains(ptxOf(OneProduct<i8, i32>{}, target), "m16n8k32.row.col.s32.s8.s8.s32"));
    EXPECT_TRUE(
        contains(ptxOf(OneProduct<f32, f32>{.tf32 = true}, target), "m16n8k8.row.col.f32.tf32"));
  }
}

/// f32 keeps its precision unless the user allows TF32; other shapes are multiplied by
/// threads.
TEST(Engines, ThreadsMultiplyTheRest) {
  for (const Target &target : gpus) {
    EXPECT_FALSE(contains(ptxOf(OneProduct<f32, f32>{}, target), "mma.sync"));
    EXPECT_FALSE(contains(ptxOf(OneProduct<f16, f32>{.m = 24}, target), "mma.sync"));
    EXPECT_FALSE(contains(ptxOf(OneProduct<f16, f32>{.k = 24}, target), "mma.sync"));
  }
}

/// Operands whose elements lie together, or across, are loaded by ldmatrix.
TEST(Engines, OperandsAreLoadedAsMatrices) {
  for (const Target &target : gpus) {
    std::string ptx = ptxOf(OneProduct<f16, f32>{}, target);
    EXPECT_TRUE(contains(ptx, "ldmatrix.sync.aligned.m8n8.x4.shared.b16"));
    EXPECT_TRUE(contains(ptx, "ldmatrix.sync.aligned.m8n8.x2.shared.b16"));
    EXPECT_FALSE(contains(ptx, ".local"));
  }
}

/// The ldmatrix instructions of a program, by their number of matrices.
struct MatrixLoads {
  int four = 0, two = 0;
  friend bool operator==(const MatrixLoads &, const MatrixLoads &) = default;
};
std::ostream &operator<<(std::ostream &out, const MatrixLoads &loads) {
  return out << loads.four << " x4, " << loads.two << " x2";
}
MatrixLoads matrixLoadsOf(const std::string &ptx) {
  MatrixLoads loads;
  for (size_t at = 0; (at = ptx.find("ldmatrix.sync.aligned.m8n8.x", at)) != std::string::npos;)
    ++(ptx[at += std::strlen("ldmatrix.sync.aligned.m8n8.x")] == '4' ? loads.four : loads.two);
  return loads;
}

/// Loads of four warps for 32 deep tiles of f16: two steps of 16. In a step, 16 rows of A are one
/// x4, and so are two blocks of 8 columns of B.
TEST(Engines, WarpsAreDividedSoThatTheyLoadLittle) {
  struct Case {
    int m, n;
    MatrixLoads loads;
  };
  for (auto [m, n, loads] : {
           Case{128, 128, {2 * (4 + 4), 0}},   // 64 x 64 each
           Case{64, 128, {2 * (2 + 4), 0}},    // 32 x 64
           Case{128, 32, {2 * (2 + 2), 0}},    // 32 x 32, all columns
           Case{64, 40, {2 * (1 + 2), 2 * 1}}, // 16 x 40: the fifth block is alone
           Case{64, 8, {2 * 1, 2 * 1}},        // 16 x 8
           Case{48, 64, {2 * (3 + 1), 0}},     // 48 x 16: three times 16 rows are not divided
           Case{16, 8, {2 * 1, 2 * 1}},        // one warp
           Case{16, 96, {2 * (1 + 1), 2 * 1}}, // 16 x 24
           Case{16, 40, {2 * 1, 2 * 2}},       // 16 x 16, 16 x 16, 16 x 8 and none: no pairs
           Case{32, 24, {2 * 1, 2 * 2}},       // 16 x 16 and 16 x 8
       })
    EXPECT_EQ(
        matrixLoadsOf(ptxOf(OneProduct<f16, f32>{.m = m, .n = n}, Target::sm_80().emulated())),
        loads)
        << m << " x " << n;
}

/// Such products give what the interpreter gives.
template <class T, class S> void expectSameProduct(int m, int n, int k, const Target &target) {
  OneProduct<T, S> kernel{.m = m, .n = n, .k = k};
  std::vector<T> a(size_t(m * k)), b(size_t(n * k));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = T(float(int(i * 7 % 5) - 2));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = T(float(int(i * 11 % 7) - 3));
  std::vector<S> c(size_t(m * n), S(-1));
  auto compiled = try_compile(kernel, target);
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  auto found = compiled.kernel.try_launch({}, view(a, {m, k}), view(b, {n, k}), view(c, {m, n}));
  ASSERT_TRUE(found.empty()) << to_text(found);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l)
        sum += float(a[size_t(i * k + l)]) * float(b[size_t(j * k + l)]);
      ASSERT_EQ(float(c[size_t(i * n + j)]), sum)
          << m << " x " << n << " x " << k << " at " << i << ", " << j;
    }
}

TEST(Engines, DividedProductsAreRight) {
  for (const Target &target : {Target::sm_80().emulated(), Target::sm_120a().emulated()})
    for (auto [m, n, k] : {std::array{128, 128, 64}, std::array{64, 40, 32}, std::array{48, 64, 96},
                           std::array{16, 8, 128}, std::array{16, 40, 32}, std::array{32, 24, 160},
                           std::array{64, 200, 32}}) {
      expectSameProduct<f16, f32>(m, n, k, target);
      expectSameProduct<i8, i32>(m, n, k, target);
    }
}

/// A product of which each instruction of the user takes `part` of K, from column or row `first` of
/// the tiles on, stored along K or across it.
struct PartsOfK {
  bool turned = false;
  int part = 32, first = 0, m = 128;
  static constexpr auto signature = "A[M,K], B[N,K], At[K,M], Bt[K,N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 2> At, In<f16, 2> Bt,
                  Out<f32, 2> C) const {
    constexpr int k = 128, n = 64;
    auto As = turned ? b.shared<f16>(k, m) : b.shared<f16>(m, k);
    auto Bs = turned ? b.shared<f16>(k, n) : b.shared<f16>(n, k);
    auto acc = b.local<f32>(m, n);
    b.fill(acc, 0);
    for (Index i : b.pipelined(ceil_div(A.size(1), k), {.num_stages = 2})) {
      if (turned) {
        b.copy(At.at(i * k, 0), As);
        b.copy(Bt.at(i * k, 0), Bs);
      } else {
        b.copy(A.at(0, i * k), As);
        b.copy(B.at(0, i * k), Bs);
      }
      auto left = turned ? transposed(As) : As, right = turned ? Bs : transposed(Bs);
      for (int at = first; at + part <= k; at += part)
        b.gemm(slice(left, {0, at}, {m, part}), slice(right, {at, 0}, {part, n}), acc);
    }
    b.copy(acc, C.at(0, 0));
  }
};
PENSTOCK_KERNEL(PartsOfK, turned, part, first, m);

std::vector<EngineUse> productsOf(const PartsOfK &kernel, const char *gpu) {
  std::vector<Diagnostic> diagnostics;
  InspectOptions options;
  options.set = {{"turned", kernel.turned ? "true" : "false"},
                 {"part", std::to_string(kernel.part)},
                 {"first", std::to_string(kernel.first)},
                 {"m", std::to_string(kernel.m)}};
  std::vector<EngineUse> uses = engines_of_registered("PartsOfK", gpu, options, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics);
  std::erase_if(uses, [](const EngineUse &use) { return use.kind == EngineUse::Copy; });
  return uses;
}

/// Descriptors begin at any step of K, in rows and in columns of a swizzled tile.
TEST(Engines, PartsOfKAreDescriptorOffsets) {
  for (bool turned : {false, true})
    for (int part : {16, 32, 64, 96})
      for (auto [gpu, engine] :
           {std::pair("sm_90a", "wgmma"), std::pair("sm_100a", "tcgen05.mma")}) {
        for (const EngineUse &use : productsOf({.turned = turned, .part = part}, gpu)) {
          EXPECT_EQ(use.engine, engine) << gpu << " " << use.tiles;
          EXPECT_EQ(use.reason, "");
        }
      }
}

TEST(Engines, PartsOfKAreRight) {
  int m = 128, n = 64, k = 300;
  std::vector<f16> a(size_t(m * k)), b(size_t(n * k)), at(a.size()), bt(b.size());
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      at[size_t(l * m + i)] = a[size_t(i * k + l)] = f16(float((i * 7 + l * 5) % 5 - 2));
  for (int j = 0; j < n; ++j)
    for (int l = 0; l < k; ++l)
      bt[size_t(l * n + j)] = b[size_t(j * k + l)] = f16(float((j * 11 + l * 3) % 7 - 3));
  for (const Target &target : gpus)
    for (bool turned : {false, true})
      for (auto [part, first] : {std::pair(16, 0), std::pair(32, 96), std::pair(96, 32)}) {
        auto compiled =
            try_compile(PartsOfK{.turned = turned, .part = part, .first = first}, target);
        ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
        std::vector<float> c(size_t(m * n), -1);
        auto found =
            compiled.kernel.try_launch({}, view(a, {m, k}), view(b, {n, k}), view(at, {k, m}),
                                       view(bt, {k, n}), view(c, {m, n}));
        ASSERT_TRUE(found.empty()) << to_text(found);
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int l = 0; l < k; ++l) {
              int inTile = l % 128;
              bool taken = inTile >= first && inTile < first + (128 - first) / part * part;
              sum += taken ? float(a[size_t(i * k + l)]) * float(b[size_t(j * k + l)]) : 0;
            }
            ASSERT_EQ(c[size_t(i * n + j)], sum) << part << " " << first << " " << turned;
          }
      }
}

/// 192 rows are three MMAs of 64, of which each warp reads 16 rows.
TEST(Engines, ThreePartsOfRows) {
  Target target = Target::sm_100a().emulated();
  std::string ptx = ptxOf(OneProduct<f16, f32>{.m = 192, .n = 64, .k = 16}, target);
  size_t count = 0;
  for (size_t at = 0; (at = ptx.find("tcgen05.mma", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 3u);
  EXPECT_TRUE(contains(ptx, "tcgen05.ld.sync.aligned.16x256b"));
  for (auto [n, k] :
       {std::pair(16, 16), std::pair(64, 64), std::pair(96, 32), std::pair(160, 48)}) {
    expectSameProduct<f16, f32>(192, n, k, target);
    expectSameProduct<i8, i32>(192, n, 2 * k, target);
  }
  EXPECT_TRUE(contains(ptxOf(OneProduct<f16, f32>{.m = 192, .n = 176}, target), "mma.sync"));
}

/// Accumulators of warps are stored as matrices, 16 x 16 elements of 16 bits by an instruction.
TEST(Engines, AccumulatorsAreStoredAsMatrices) {
  for (auto [target, n, stores] :
       {std::tuple(Target::sm_90a(), 64, 4), std::tuple(Target::sm_90a(), 40, 3),
        std::tuple(Target::sm_80(), 64, 0)}) {
    std::string ptx = ptxOf(StoredProduct{.n = n}, target.emulated());
    int count = 0;
    for (size_t at = 0; (at = ptx.find("stmatrix.sync.aligned", at)) != std::string::npos; ++at)
      ++count;
    EXPECT_EQ(count, stores) << n;
  }
}

TEST(Engines, StoredMatricesAreRight) {
  for (const Target &target : {Target::sm_80().emulated(), Target::sm_90a().emulated(),
                               Target::sm_100a().emulated(), Target::sm_120a().emulated()})
    for (int n : {8, 16, 40, 64, 72, 128, 256}) {
      constexpr int m = 64, k = 32;
      std::vector<f16> a(size_t(m * k)), b(size_t(n * k)), c(size_t(m * n), f16(-1));
      for (size_t i = 0; i < a.size(); ++i)
        a[i] = f16(float(int(i * 7 % 5) - 2));
      for (size_t i = 0; i < b.size(); ++i)
        b[i] = f16(float(int(i * 11 % 7) - 3));
      auto compiled = try_compile(StoredProduct{.n = n}, target);
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      auto found =
          compiled.kernel.try_launch({}, view(a, {m, k}), view(b, {n, k}), view(c, {m, n}));
      ASSERT_TRUE(found.empty()) << to_text(found);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          float sum = 0;
          for (int l = 0; l < k; ++l)
            sum += float(a[size_t(i * k + l)]) * float(b[size_t(j * k + l)]);
          ASSERT_EQ(float(c[size_t(i * n + j)]), sum) << n << " at " << i << ", " << j;
        }
    }
}

/// What no descriptor describes is multiplied by mma.sync, with the reason.
TEST(Engines, OtherProductsHaveAReason) {
  auto reasonOf = [](const PartsOfK &kernel, const char *gpu) {
    std::vector<EngineUse> uses = productsOf(kernel, gpu);
    EXPECT_EQ(uses.size(), 1u);
    EXPECT_EQ(uses.at(0).engine, "mma.sync");
    return uses.at(0).reason;
  };
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    EXPECT_TRUE(contains(reasonOf({.part = 32, .first = 8}, gpu), "from column 8 on"));
    EXPECT_TRUE(
        contains(reasonOf({.turned = true, .part = 16, .first = 4}, gpu), "is a part of a tile"));
    EXPECT_TRUE(contains(reasonOf({.m = 16}, gpu), "16"));
  }
}

/// "128x64xf16" as numbers and a type.
struct TileShape {
  explicit TileShape(const std::string &text) {
    char name[16] = "";
    std::sscanf(text.c_str(), "%dx%dx%15s", &rows, &columns, name);
    element = name;
  }
  int rows = 0, columns = 0;
  std::string element;
};

/// Returns the instruction that the ISA has for a product, written down from its tables. wgmma
/// takes 8-bit operands along k only, and one from registers with 16 bits only: both are left to
/// mma.sync then.
std::string bestEngine(const EngineUse &use, bool hopper) {
  std::istringstream tiles(use.tiles);
  std::string left, right, sum;
  tiles >> left >> right >> sum;
  TileShape a(left), b(right), acc(sum);
  bool half = a.element == "f16" || a.element == "bf16";
  bool byte = a.element == "i8" || a.element.starts_with("f8");
  bool same = a.element == b.element || (byte && b.element.starts_with("f8"));
  int k = half ? 16 : 32;
  if (!(half || byte) || !same || acc.rows % 16 || acc.columns % 8 || a.columns % k)
    return "threads";
  if (byte)
    return "any";
  if (hopper)
    return acc.rows % 64 == 0 && acc.columns <= 256 ? "wgmma" : "mma.sync";
  // 192 rows are three MMAs of 64, side by side in the 512 columns of tensor memory.
  bool rows = acc.rows == 64 || acc.rows == 128 || acc.rows == 256 ||
              (acc.rows == 192 && acc.columns * 3 <= 512);
  return rows && acc.columns % 16 == 0 && acc.columns <= 256 ? "tcgen05.mma" : "mma.sync";
}

/// Every product of every program of these tests, where tiles say nothing about threads.
TEST(Engines, LegalFormsAreUsed) {
  std::map<std::string, int> used;
  for (const KernelDescription &kernel : registered_kernels())
    for (const char *gpu : {"sm_90a", "sm_100a"}) {
      std::vector<Diagnostic> diagnostics;
      int once = 0, ahead = 0; // copies by engines
      for (const EngineUse &use : engines_of_registered(kernel.name, gpu, {}, diagnostics)) {
        ++used[use.engine];
        if (use.kind == EngineUse::Copy) {
          if (use.engine != "threads")
            ++(use.slots == 1 ? once : ahead);
          // Only TMA loads operands before a loop.
          if (use.slots == 1 && kernel.name != "LoadsWait")
            EXPECT_NE(use.engine, "cp.async") << kernel.name << " " << gpu;
          continue;
        }
        std::string best = bestEngine(use, std::string(gpu) == "sm_90a");
        if (best == "any")
          EXPECT_NE(use.engine, "threads") << kernel.name << " " << gpu << " " << use.tiles;
        else
          EXPECT_EQ(use.engine, best) << kernel.name << " " << gpu << " " << use.tiles;
      }
      EXPECT_TRUE(diagnostics.empty()) << kernel.name << "\n" << to_text(diagnostics);
      // Engines copy ahead, but for programs that state one stage, and one without a loop.
      if (once && kernel.name != "LoadsWait" && kernel.name != "ReadSixBits" &&
          kernel.name != "Accumulated")
        EXPECT_GT(ahead, 0) << kernel.name << " " << gpu;
    }
  for (const char *engine : {"wgmma", "tcgen05.mma", "mma.sync", "tma.load", "threads"})
    EXPECT_GT(used[engine], 0) << engine;
}

} // namespace
