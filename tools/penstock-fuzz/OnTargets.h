//===- OnTargets.h - One random kernel on several targets -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modes that compare with plain loops have different kernels and expectations, but share the
// targets, and the rules for rejected kernels.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_ONTARGETS_H
#define PENSTOCK_FUZZ_ONTARGETS_H

#include "Batches.h"
#include "Gpus.h"
#include "InternalErrors.h"
#include "Random.h"
#include "penstock/cache.h"
#include "penstock/penstock.h"

namespace penstock::fuzz {

/// The first counters of such a mode; its own follow.
enum TargetCounter : int { Refused, Built, Launched, OwnCounters };

template <class Kernel> struct SignatureOf {};
template <class Kernel>
  requires requires { Kernel::signature; }
struct SignatureOf<Kernel> {
  static constexpr auto signature = Kernel::signature;
};

/// A kernel with preferences that it does not state itself, if any are imposed.
template <class Kernel, class Function = decltype(&Kernel::operator())> class Preferring;
template <class Kernel, class... Arguments>
class Preferring<Kernel, void (Kernel::*)(Block &, Arguments...) const>
    : public SignatureOf<Kernel> {
public:
  Preferring(const Kernel &kernel, const Preferences *imposed) : kernel(kernel), imposed(imposed) {}

  void operator()(Block &b, Arguments... arguments) const {
    kernel(b, arguments...);
    if (!imposed)
      return;
    Preferences fitting = *imposed;
    if constexpr (requires { Kernel::gridRank; }) {
      if (!fitting.cluster.empty())
        fitting.cluster.resize(Kernel::gridRank, 1);
    } else {
      fitting.cluster.clear();
    }
    b.prefer(fitting);
  }

private:
  Kernel kernel;
  const Preferences *imposed;
};

template <class Kernel>
auto compileFor(const Kernel &kernel, const Target &target, const Preferences *imposed) {
  return try_compile(Preferring<Kernel>(kernel, imposed), target, {.cache = &KernelCache::none()});
}

/// Runs a kernel on an emulated GPU under a random timing, natively and, if \p interprets, on the
/// interpreter. \p launch gets the compiled kernel, how to launch it and whether it is emulated,
/// and returns what is wrong. Only GPUs may reject a kernel, and never because of the preferences
/// \p imposed on it.
template <class Kernel, class Launch>
CaseResult runOnTargets(const Kernel &kernel, const Target &gpu, bool interprets, Random &random,
                        Counters &counters, Launch launch, const Preferences *imposed = nullptr) {
  struct On {
    const char *name;
    Target target;
  };
  std::vector<On> all = {{"emulated", gpu.emulated()}, {"native", Target::native()}};
  if (interprets)
    all.push_back({"interpreter", Target::interpreter()});
  for (const On &on : all) {
    bool emulated = &on == &all.front();
    auto compiled = compileFor(kernel, on.target, imposed);
    if (!compiled) {
      if (imposed && compileFor(kernel, on.target, nullptr))
        return {true, "only with preferences: " + to_text(compiled.diagnostics)};
      counters[Refused] += emulated;
      if (!emulated || hasInternalError(compiled.diagnostics))
        return {true, to_text(compiled.diagnostics).substr(0, 2000)};
      continue;
    }
    counters[Built] += emulated;
    LaunchOptions timing;
    if (emulated)
      timing = {.completion =
                    random.of({Completion::Eager, Completion::Latest, Completion::Random}),
                .seed = random.next(),
                .starved_warp = int(random.between(-1, 3))};
    std::string wrong = launch(compiled.kernel, timing, emulated);
    if (!wrong.empty())
      return {true, std::string(on.name) + ": " + wrong + "\n" + compiled.kernel.tile_program()};
    counters[Launched] += 1;
  }
  return {};
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_ONTARGETS_H
