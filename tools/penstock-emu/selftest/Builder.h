//===- Builder.h - Writing the kernels of the self-test ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of the self-test is PTX text whose interesting lines carry a tag. A
// twin is the same text with one tagged line deleted or changed, together with
// the finding that the checker must then give and the tags of the lines that it
// may point to. All kernels take the same parameters: three tensor maps, two
// inputs, an output and a number of iterations.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_SELFTEST_BUILDER_H
#define PENSTOCK_TOOLS_EMU_SELFTEST_BUILDER_H

#include "Diagnostics/Codes.h"
#include "Emulator/Launch.h"
#include "Emulator/Tensor/TensorMap.h"

#include <functional>
#include <string>
#include <vector>

namespace penstock::emu::selftest {

struct Twin {
  std::string name;
  std::string tag;  ///< the line that is changed
  std::string from; ///< empty: the line is deleted; $wait: it does not wait
  std::string to;
  std::vector<unsigned> codes; ///< any of these is the right kind
  std::vector<std::string> at; ///< tags of the lines that may be named
};

struct Kernel {
  std::string name;
  std::string family;
  std::string text;
  LaunchConfig config; ///< without parameters
  uint32_t iterations = 1;
  std::vector<uint8_t> input, input2;
  std::vector<uint32_t> expected; ///< of the output, as 32-bit words
  bool outputStartsAtZero = false;
  /// Makes the three tensor maps from the device addresses of the buffers.
  std::function<void(uint64_t in, uint64_t in2, uint64_t out, TensorMap *maps)> maps;
  std::vector<Twin> twins;
};

/// Text with tags, fresh registers and labels.
class Builder {
public:
  explicit Builder(std::string target = "sm_100a") : target(target) {}

  Builder &op(const std::string &text, const std::string &tag = "") {
    body += "  " + text + ";" + (tag.empty() ? "" : " // @" + tag) + "\n";
    return *this;
  }
  Builder &label(const std::string &name) {
    body += name + ":\n";
    return *this;
  }
  std::string freshLabel() { return "L" + std::to_string(labels++); }
  std::string r32() { return "%r" + std::to_string(words++); }
  std::string r64() { return "%rd" + std::to_string(longs++); }
  std::string pred() { return "%p" + std::to_string(preds++); }

  /// A shared variable of \p bytes; its name is its address.
  void shared(const std::string &name, unsigned bytes, unsigned align) {
    variables += "  .shared .align " + std::to_string(align) + " .b8 " + name + "[" +
                 std::to_string(bytes) + "];\n";
  }

  // Values.
  std::string mov(const std::string &value) {
    std::string r = r32();
    op("mov.u32 " + r + ", " + value);
    return r;
  }
  std::string add(const std::string &a, const std::string &b) {
    std::string r = r32();
    op("add.u32 " + r + ", " + a + ", " + b);
    return r;
  }
  std::string mad(const std::string &a, const std::string &b, const std::string &c) {
    std::string r = r32();
    op("mad.lo.u32 " + r + ", " + a + ", " + b + ", " + c);
    return r;
  }
  std::string compare(const std::string &how, const std::string &a, const std::string &b) {
    std::string p = pred();
    op("setp." + how + ".u32 " + p + ", " + a + ", " + b);
    return p;
  }
  std::string param64(const std::string &name) {
    std::string r = r64();
    op("ld.param.u64 " + r + ", [" + name + "]");
    return r;
  }
  /// The generic address of a tensor map.
  std::string map(const std::string &name) {
    std::string r = r64(), g = r64();
    op("mov.b64 " + r + ", " + name);
    op("cvta.param.u64 " + g + ", " + r);
    return g;
  }
  /// base + 4 * index, a global address.
  std::string element(const std::string &base, const std::string &index) {
    std::string r = r64();
    op("mad.wide.u32 " + r + ", " + index + ", 4, " + base);
    return r;
  }

  // Control.
  /// Runs \p then where \p condition holds.
  void when(const std::string &condition, const std::function<void()> &then) {
    std::string skip = freshLabel();
    op("@!" + condition + " bra " + skip);
    then();
    label(skip);
  }
  /// One elected lane of a whole warp.
  void elect(const std::function<void()> &then) {
    std::string p = pred();
    op("elect.sync _|" + p + ", 0xffffffff");
    when(p, then);
  }
  /// for (i = 0; i < count; ++i)
  void loop(const std::string &count, const std::function<void(const std::string &)> &then) {
    std::string i = mov("0"), top = freshLabel(), end = freshLabel();
    label(top);
    std::string p = compare("ge", i, count);
    op("@" + p + " bra " + end);
    then(i);
    op("add.u32 " + i + ", " + i + ", 1");
    op("bra " + top);
    label(end);
  }

  // Synchronization.
  enum class Wait { Try, Test, TryHint, Relaxed };
  void wait(const std::string &bar, const std::string &parity, const std::string &tag,
            Wait how = Wait::Try) {
    std::string p = pred(), top = freshLabel();
    label(top);
    std::string kind = how == Wait::Test ? "test_wait" : "try_wait";
    std::string order = how == Wait::Relaxed ? ".relaxed.cta" : "";
    op("mbarrier." + kind + ".parity" + order + ".shared::cta.b64 " + p + ", [" + bar + "], " +
           parity + (how == Wait::TryHint ? ", 1000" : ""),
       tag);
    op("@!" + p + " bra " + top);
  }

  std::string finish() const;

  std::string body, variables, target;

private:
  unsigned labels = 0, words = 0, longs = 0, preds = 0;
};

/// Text with the tagged line deleted or changed; empty if the tag is missing.
std::string mutate(const std::string &text, const Twin &twin);
/// The line that carries a tag, from 1; 0 if none does.
unsigned lineOf(const std::string &text, const std::string &tag);

// The families.
void addBarrierKernels(std::vector<Kernel> &kernels);
void addRingKernels(std::vector<Kernel> &kernels);
void addScopeKernels(std::vector<Kernel> &kernels);
void addMemoryKernels(std::vector<Kernel> &kernels);
void addProxyKernels(std::vector<Kernel> &kernels);
void addStoreKernels(std::vector<Kernel> &kernels);
void addClusterKernels(std::vector<Kernel> &kernels);
void addWgmmaKernels(std::vector<Kernel> &kernels);
void addTcgen05Kernels(std::vector<Kernel> &kernels);

} // namespace penstock::emu::selftest

#endif // PENSTOCK_TOOLS_EMU_SELFTEST_BUILDER_H
