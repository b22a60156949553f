//===- ScopeKernels.cpp - Self-test: scopes of strong operations ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two threads of one block, of one cluster or of two clusters that communicate
// through global memory, with every scope that includes both. The twins have
// every scope that does not.
//
//===----------------------------------------------------------------------===//
#include "selftest/Builder.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace;
const std::vector<std::string> scopes = {".cta", ".cluster", ".gpu", ".sys"};

/// The two threads and the narrowest of `scopes` that includes both.
struct Distance {
  const char *name;
  size_t needed;
};
constexpr Distance distances[] = {{"block", 0}, {"cluster", 1}, {"device", 2}};

/// A kernel in which thread 0 runs one function and thread 1 another.
class Pair {
public:
  Pair(const char *mechanism, const Distance &distance, size_t scope)
      : scope(scopes[scope]), distance(distance) {
    kernel.name =
        "scope-" + std::string(mechanism) + "-" + distance.name + "-" + scopes[scope].substr(1);
    kernel.family = "scope";
    kernel.outputStartsAtZero = true;
    bool oneBlock = distance.needed == 0;
    kernel.config.grid = {oneBlock ? 1u : 2u, 1, 1};
    kernel.config.cluster = {distance.needed == 1 ? 2u : 1u, 1, 1};
    kernel.config.block = {oneBlock ? 64u : 32u, 1, 1};
    out = b.param64("out");
    std::string tid = b.mov("%tid.x"), lane = b.r32();
    b.op("and.b32 " + lane + ", " + tid + ", 31");
    b.op("@" + b.compare("ne", lane, "0") + " ret");
    if (oneBlock)
      b.op("shr.u32 " + tid + ", " + tid + ", 5");
    which = oneBlock ? tid : b.mov("%ctaid.x");
  }
  void thread(const char *number, const std::function<void()> &body) {
    b.when(b.compare("eq", which, number), body);
  }
  std::string word(unsigned index) const {
    return "[" + out + "+" + std::to_string(4 * index) + "]";
  }
  /// Repeats a load until it returns something else than 0.
  std::string spin(const std::string &instruction, const std::string &tag) {
    std::string value = b.r32(), top = b.freshLabel();
    b.label(top);
    b.op(instruction + " " + value + ", " + word(0), tag);
    b.op("@" + b.compare("eq", value, "0") + " bra " + top);
    return value;
  }
  /// Adds twins with each scope that is too narrow on the line with \p tag.
  void narrow(const std::string &tag, const std::vector<std::string> &at) {
    for (size_t i = 0; i < distance.needed; ++i)
      kernel.twins.push_back({scopes[i] + " on " + tag, tag, scope, scopes[i], {race}, at});
  }
  void finish(std::vector<Kernel> &kernels, std::vector<uint32_t> expected) {
    b.op("ret");
    kernel.text = b.finish();
    kernel.expected = std::move(expected);
    kernels.push_back(std::move(kernel));
  }

  Builder b{"sm_90a"};
  Kernel kernel;
  std::string scope, out, which;
  const Distance &distance;
};

/// Both threads add to one word.
void addAtomics(std::vector<Kernel> &kernels, const Distance &distance, size_t scope) {
  for (bool reduces : {false, true}) {
    Pair p(reduces ? "red" : "atom", distance, scope);
    auto add = [&](const std::string &value, const std::string &tag) {
      p.b.op(reduces ? "red.relaxed" + p.scope + ".global.add.u32 " + p.word(0) + ", " + value
                     : "atom.relaxed" + p.scope + ".global.add.u32 " + p.b.r32() + ", " +
                           p.word(0) + ", " + value,
             tag);
    };
    p.thread("0", [&] { add("3", "first"); });
    p.thread("1", [&] { add("4", "second"); });
    p.narrow("first", {"first", "second"});
    p.narrow("second", {"first", "second"});
    p.finish(kernels, {7});
  }
}

/// One thread waits for a word that the other one stores.
void addRelaxed(std::vector<Kernel> &kernels, const Distance &distance, size_t scope) {
  Pair p("relaxed", distance, scope);
  p.thread("0",
           [&] { p.b.op("st.relaxed" + p.scope + ".global.u32 " + p.word(0) + ", 9", "store"); });
  p.thread("1", [&] {
    std::string value = p.spin("ld.relaxed" + p.scope + ".global.u32", "load");
    p.b.op("st.global.u32 " + p.word(1) + ", " + value);
  });
  p.narrow("store", {"store", "load"});
  p.narrow("load", {"store", "load"});
  p.kernel.twins.push_back(
      {"weak store", "store", ".relaxed" + p.scope, "", {race}, {"store", "load"}});
  p.finish(kernels, {9, 9});
}

/// Hands a word over: \p release stores to the flag, \p acquire loads it.
void addHandOver(std::vector<Kernel> &kernels, Pair p, const std::function<void(Pair &)> &release,
                 const std::function<void(Pair &)> &acquire, const std::string &releaseTag,
                 const std::string &acquireTag) {
  p.thread("0", [&] {
    p.b.op("st.global.u32 " + p.word(2) + ", 5", "write");
    release(p);
  });
  p.thread("1", [&] {
    acquire(p);
    std::string value = p.b.r32();
    p.b.op("ld.global.u32 " + value + ", " + p.word(2), "read");
    p.b.op("st.global.u32 " + p.word(1) + ", " + value);
  });
  for (const std::string &tag : {releaseTag, acquireTag})
    p.narrow(tag, {"write", "read"});
  p.finish(kernels, {1, 5, 5});
}

void addReleases(std::vector<Kernel> &kernels, const Distance &distance, size_t scope) {
  addHandOver(
      kernels, Pair("release", distance, scope),
      [](Pair &p) {
        p.b.op("st.release" + p.scope + ".global.u32 " + p.word(0) + ", 1", "release");
      },
      [](Pair &p) { p.spin("ld.acquire" + p.scope + ".global.u32", "acquire"); }, "release",
      "acquire");
  addHandOver(
      kernels, Pair("release-atomic", distance, scope),
      [](Pair &p) {
        p.b.op("red.release" + p.scope + ".global.add.u32 " + p.word(0) + ", 1", "release");
      },
      [](Pair &p) {
        std::string value = p.b.r32(), top = p.b.freshLabel();
        p.b.label(top);
        p.b.op("atom.acquire" + p.scope + ".global.or.b32 " + value + ", " + p.word(0) + ", 0",
               "acquire");
        p.b.op("@" + p.b.compare("eq", value, "0") + " bra " + top);
      },
      "release", "acquire");
  // The flag includes everybody, so that the fences alone decide.
  addHandOver(
      kernels, Pair("fence", distance, scope),
      [](Pair &p) {
        p.b.op("fence.acq_rel" + p.scope, "release");
        p.b.op("st.relaxed.sys.global.u32 " + p.word(0) + ", 1", "flag");
      },
      [](Pair &p) {
        p.spin("ld.relaxed.sys.global.u32", "poll");
        p.b.op("fence.acq_rel" + p.scope, "acquire");
      },
      "release", "acquire");
}

} // namespace

void addScopeKernels(std::vector<Kernel> &kernels) {
  for (const Distance &distance : distances)
    for (size_t scope = distance.needed; scope < scopes.size(); ++scope) {
      addAtomics(kernels, distance, scope);
      addRelaxed(kernels, distance, scope);
      addReleases(kernels, distance, scope);
    }
}

} // namespace penstock::emu::selftest
