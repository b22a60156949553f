//===- MutateText.cpp - Breaks programs as text ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InternalErrors.h"
#include "Modes.h"
#include "RunProgram.h"
#include "penstock/inspect.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum TextCounter { KernelsRead, KernelsCompiled, Bombs };

std::vector<std::string> readCorpus(const std::string &directory) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  if (!directory.empty())
    for (const auto &entry : std::filesystem::recursive_directory_iterator(directory, error))
      if (entry.path().extension() == ".mlir")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> all;
  for (const auto &path : paths) {
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    for (size_t from = 0; from < text.size();) {
      size_t to = text.find("// -----", from);
      to = to == std::string::npos ? text.size() : to;
      all.push_back(text.substr(from, to - from));
      from = to + 8;
    }
  }
  return all;
}

class TextMutator {
public:
  TextMutator(std::string text, uint64_t seed) : text(std::move(text)), random(seed) {}

  std::string run(bool &bomb) {
    bomb = random.chance(10);
    if (bomb)
      return plantBomb();
    int64_t count = random.between(1, 6);
    for (int64_t i = 0; i < count && !text.empty(); ++i)
      once();
    return text;
  }

private:
  size_t anywhere() { return static_cast<size_t>(random.below(int64_t(text.size()))); }
  static std::string repeated(const std::string &part, int64_t times) {
    std::string all;
    for (int64_t i = 0; i < times; ++i)
      all += part;
    return all;
  }
  /// The bounds of a word, number or single character around a place.
  std::pair<size_t, size_t> token() {
    auto inWord = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    };
    size_t at = anywhere(), from = at, to = at + 1;
    if (inWord(text[at])) {
      while (from > 0 && inWord(text[from - 1]))
        --from;
      while (to < text.size() && inWord(text[to]))
        ++to;
    }
    return {from, to};
  }

  void once() {
    switch (random.below(8)) {
    case 0:
      text[anywhere()] = static_cast<char>(random.below(256));
      return;
    case 1: {
      auto [from, to] = token();
      text.erase(from, to - from);
      return;
    }
    case 2: {
      auto [from, to] = token();
      std::string word = text.substr(from, to - from);
      auto [other, end] = token();
      text.replace(other, end - other, word);
      return;
    }
    case 3: { // a number becomes another
      size_t at = text.find_first_of("0123456789", anywhere());
      if (at == std::string::npos)
        return;
      size_t end = text.find_first_not_of("0123456789", at);
      text.replace(
          at, (end == std::string::npos ? text.size() : end) - at,
          random.of<std::string>({"0", "1", "2", "63", "64", "65", "128", "4294967296",
                                  "9223372036854775807", "18446744073709551616",
                                  "99999999999999999999999999", "16777215", "0x7fff", "67108864"}));
      return;
    }
    case 4: {
      static const std::vector<std::string> words = {"i1",
                                                     "i8",
                                                     "i64",
                                                     "f16",
                                                     "f8E5M2",
                                                     "index",
                                                     "?",
                                                     "*",
                                                     "-1",
                                                     "tile.copy",
                                                     "tile.map",
                                                     "tile.gemm",
                                                     "scf.if",
                                                     "scf.for",
                                                     "scf.while",
                                                     "memref.subview",
                                                     "memref.transpose",
                                                     "arith.divsi",
                                                     "arith.shli",
                                                     "arith.trunci",
                                                     "arith.bitcast",
                                                     "math.erf",
                                                     "async \"a\"",
                                                     "tile.wait [\"a\"]",
                                                     "vector<4xf32>",
                                                     "tensor<4xf32>",
                                                     "i16777215",
                                                     "none",
                                                     "loc(unknown)",
                                                     "memref<*xf32>",
                                                     "memref<4xf32>",
                                                     "complex<f32>",
                                                     "tuple<>",
                                                     "dense<0>",
                                                     "fastmath<fast>",
                                                     "overflow<nsw>",
                                                     "attributes {tile.unroll = 3}",
                                                     "private",
                                                     "nested",
                                                     "@\"\\01a\"",
                                                     "#tile.schedule<num_stages = 3>",
                                                     "strided<[?, 1], offset: ?>",
                                                     "affine_map<(d0) -> (d0)>"};
      text.insert(anywhere(), " " + random.of(words) + " ");
      return;
    }
    case 5: { // repeat lines
      size_t from = text.rfind('\n', anywhere()), to = text.find('\n', anywhere());
      from = from == std::string::npos ? 0 : from;
      if (to != std::string::npos && from < to && to - from < 4000)
        text.insert(from, text.substr(from, to - from));
      return;
    }
    case 6: {
      size_t from = anywhere(), length = static_cast<size_t>(random.below(60));
      text.erase(from, length);
      return;
    }
    default:
      text.insert(anywhere(), std::string(1, "()[]{}<>%#!@^\":,-="[random.below(18)]));
    }
  }

  /// Text that drives a recursive reader deep, or makes much of little.
  std::string plantBomb() {
    int64_t n = random.of<int64_t>({100, 190, 210, 1000, 50000, 300000});
    std::string inside;
    switch (random.below(12)) {
    case 0:
      inside = repeated("[", n);
      break;
    case 1:
      inside = "affine_map<(d0) -> (" + repeated("-", n) + "d0)>";
      break;
    case 2:
      inside = "affine_map<(d0) -> (" + repeated("d0 + ", n) + "d0)>";
      break;
    case 3: // '>' without '<'
      inside = repeated("[affine_set<() : (1 >= 0)>, ", n);
      break;
    case 4: {
      std::string aliases = "#a0 = 1\n";
      for (int64_t i = 1; i < n; ++i)
        aliases += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
      return aliases + "func.func @k() attributes {x = #a" + std::to_string(n - 1) +
             "} { return }\n";
    }
    case 5: {
      std::string aliases = "!a0 = i32\n";
      for (int64_t i = 1; i < n; ++i)
        aliases += "!a" + std::to_string(i) + " = tuple<!a" + std::to_string(i - 1) + ">\n";
      return aliases + "func.func @k(%x: !a" + std::to_string(n - 1) + ") { return }\n";
    }
    case 6:
      inside = repeated("tensor<", n);
      break;
    case 7:
      return "func.func @k(%c: i1) {\n" + repeated("scf.if %c {\n", n) + repeated("}\n", n) +
             "return }\n";
    case 8:
      inside = "loc(" + repeated("callsite(\"a\" at ", n);
      break;
    case 9:
      inside = "affine_map<(d0) -> (" + repeated("d0 * 2 floordiv ", n) + "d0)>";
      break;
    case 10: { // aliases that double
      std::string aliases = "#a0 = [1, 1]\n";
      for (int64_t i = 1; i < std::min<int64_t>(n, 60); ++i)
        aliases += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + ", #a" +
                   std::to_string(i - 1) + "]\n";
      return aliases + "func.func @k() attributes {x = #a" +
             std::to_string(std::min<int64_t>(n, 60) - 1) + "} { return }\n";
    }
    default:
      inside = repeated("{a = ", n);
    }
    return "func.func @k() attributes {x = " + inside + "} { return }\n";
  }

  std::string text;
  Random random;
};

CaseResult textOne(const std::vector<std::string> &corpus, uint64_t seed, Counters &counters) {
  std::set<unsigned> none;
  std::string text = !corpus.empty() && seed % 2
                         ? corpus[static_cast<size_t>(derive(seed, 7) % corpus.size())]
                         : textOf(makeProgram(derive(seed, 5)), none);
  bool bomb = false;
  text = TextMutator(text, derive(seed, 6)).run(bomb);
  counters[Bombs] += bomb;
  std::vector<Diagnostic> diagnostics;
  auto kernels = kernels_of_text(text, "fuzz.mlir", diagnostics);
  for (const KernelDescription &kernel : kernels) {
    ++counters[KernelsRead];
    InspectOptions options;
    options.compile.late_completion = seed & 2;
    AnyKernel compiled = compile_text(text, "fuzz.mlir", kernel.name, options, diagnostics);
    counters[KernelsCompiled] += static_cast<bool>(compiled);
    if (hasInternalError(diagnostics))
      return {true, to_text(diagnostics).substr(0, 2000) + "\n" + text};
  }
  (void)to_text(diagnostics);
  (void)to_json(diagnostics);
  return {};
}

} // namespace

int penstock::fuzz::runTexts(const BatchOptions &options, const std::string &directory) {
  std::vector<std::string> corpus = readCorpus(directory);
  BatchResult result = runBatches(
      options, [&](uint64_t seed, Counters &counters) { return textOne(corpus, seed, counters); });
  for (const FailedCase &failed : result.failures)
    std::printf("%s with --text 1 --seed %llu: %s\n", nameOf(failed.failure),
                static_cast<unsigned long long>(failed.seed), failed.message.c_str());
  Counters &c = result.counters;
  std::printf("texts=%llu corpus=%zu bombs=%llu kernels-read=%llu compiled=%llu failures=%zu\n",
              static_cast<unsigned long long>(result.cases), corpus.size(),
              static_cast<unsigned long long>(c[Bombs]),
              static_cast<unsigned long long>(c[KernelsRead]),
              static_cast<unsigned long long>(c[KernelsCompiled]), result.failures.size());
  return result.failures.empty() ? 0 : 1;
}
