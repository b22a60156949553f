//===- TextTest.cpp - Instances as text -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Instances.h"
#include "Scheduling/Problem/Summary.h"

#include <fstream>
#include <iterator>
#include <random>

using namespace penstock;
using namespace penstock::sched;

namespace {

const char *everything = R"(# every clause once
loop "all of it" {
  at "kernel.cpp" 18
  capacity shared 232448
  capacity tensor 512
  buffer G global [1024, 64] at "kernel.cpp" 3
  buffer As shared [128, 64] bytes 16384 versions 3
  buffer acc tensor bytes 128 fixed "an accumulator"
  buffer tmp local versionable after after [0:4, 2*k-1:3]
  buffer "odd name" shared given
  queue mma inorder acc, tmp
  queue bulk
  statement copy copy async queue bulk reads G[128*k+5:128, 0:64]~async writes As at "kernel.cpp" 20
  statement close commit queue bulk
  statement gemm compute async queue mma when c & !d reads As, acc writes acc executes wgmma engine tensor busy 512 latency 540
  statement w wait awaits gemm@1, copy@0:reads
  statement c wait queue bulk count 2 reads
  statement f fence from generic to async in shared
  statement s scalar reads tmp[?] users last
  statement last compute parent gemm writes tmp[-k:2, k:1]~holder 5 reads "odd name"
  conflict last reads -> copy writes on "odd name" distance 0, 2..4, 7..9/2, 12..
  schedule stage 0 0 1 1 1 1 1 1 order 0 1 2 -3 4 5 6 7
}
)";

TEST(Text, RoundTrip) {
  ParsedInstances parsed = parseInstances(everything, "all");
  ASSERT_FALSE(parsed.error) << render(*parsed.error);
  ASSERT_EQ(parsed.instances.size(), 1u);
  const Problem &p = parsed.instances[0].problem;
  EXPECT_EQ(p.name, "all of it");
  EXPECT_EQ(p.capacityOf(Space::Tensor), 512);
  EXPECT_EQ(p.statements[0].accesses[0].region.box[0].scale, 128);
  EXPECT_EQ(p.statements[0].accesses[0].region.box[0].offset, 5);
  EXPECT_EQ(p.statements[0].accesses[0].region.box[0].length, 128);
  EXPECT_EQ(p.statements[0].accesses[0].proxy, Proxy::Async);
  EXPECT_EQ(p.statements[7].accesses[0].region.box[0].scale, -1);
  EXPECT_EQ(p.statements[2].executedBy, Engine::Wgmma);
  EXPECT_EQ(p.statements[7].parent, 2u);
  EXPECT_EQ(p.statements[7].accesses[0].holder, 5u);
  EXPECT_EQ(p.statements[7].accesses[1].holder, none);
  EXPECT_EQ(p.statements[3].awaits[0], (Await{p.findStatement("gemm"), 1, true, true}));
  EXPECT_EQ(p.statements[3].awaits[1], (Await{p.findStatement("copy"), 0, true, false}));
  EXPECT_TRUE(p.conflicts[0].distances.contains(9));
  EXPECT_FALSE(p.conflicts[0].distances.contains(8));
  EXPECT_TRUE(p.conflicts[0].distances.contains(1000));
  std::string once = printInstance(parsed.instances[0]);
  ParsedInstances again = parseInstances(once, "again");
  ASSERT_FALSE(again.error) << render(*again.error) << once;
  EXPECT_EQ(printInstance(again.instances.at(0)), once);
}

/// What the text says, as seen by another part: the verdict is the same before
/// and after printing.
TEST(Text, PrintingKeepsTheVerdict) {
  ParsedInstances parsed = parseInstances(everything, "all");
  Instance again = parseInstances(printInstance(parsed.instances.at(0))).instances.at(0);
  EXPECT_EQ(summarize(again).line, summarize(parsed.instances[0]).line);
}

struct Bad {
  const char *text;
  const char *message;
};

TEST(Text, MessagesNameThePlace) {
  for (const Bad &bad : std::vector<Bad>{
           {"lop x {\n}", "t:1: error PS1251: expected `loop`, found `lop`"},
           {"loop x {\n", "t:2: error PS1251: loop `x` does not end"},
           {"loop x {\n  bufer A\n}", "t:2: error PS1251: expected capacity, "},
           {"loop x {\n  buffer A\n}",
            "t:2: error PS1251: expected global, shared, tensor or local, "
            "found the end of the line"},
           {"loop x {\n  buffer A shared\n  buffer A shared\n}",
            "t:3: error PS1251: a second buffer is named `A`"},
           {"loop x {\n  statement s compute reads B\n}", "t:2: error PS1251: unknown buffer `B`"},
           {"loop x {\n  statement w wait awaits z@1\n}",
            "t:2: error PS1251: unknown statement `z`"},
           {"loop x {\n  buffer A shared\n  statement s compute reads "
            "A[3*j:1]\n}",
            "t:3: error PS1251: expected `k`, found `j`"},
           {"loop x {\n  buffer A shared bytes 99999999999999999999\n}",
            "t:2: error PS1251: number is larger than 2^40"},
           {"loop \"x\n", "t:1: error PS1251: string does not end on its line"},
           {"loop x { }", "t:1: error PS1251: expected the end of the line"},
           {"loop x {\n  schedule stage 0 order 0\n  num_stages 2\n}",
            "t:3: error PS1251: a second schedule"},
           {"loop x {\n  $\n}", "t:2: error PS1251: unexpected character `$`"}}) {
    ParsedInstances parsed = parseInstances(bad.text, "t");
    ASSERT_TRUE(parsed.error) << bad.text;
    std::string message = render(*parsed.error);
    EXPECT_EQ(message.substr(0, std::string(bad.message).size()), bad.message);
  }
}

TEST(Text, BoundsWhatItReads) {
  std::string many = "loop x {\n";
  for (int i = 0; i < 5000; ++i)
    many += "  buffer b" + std::to_string(i) + " shared\n";
  ParsedInstances parsed = parseInstances(many + "}\n");
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(codeName(parsed.error->code), "PS1252");
  EXPECT_TRUE(parseInstances("loop " + std::string(300, 'x') + " {\n}").error);
  EXPECT_TRUE(parseInstances("loop x {\n  buffer A shared [1,1,1,1,1,1,1,1,1]\n}").error);
}

/// Hostile text costs bounded time: many accesses to one buffer, boxes of many
/// pieces, large stages with a fence.
TEST(Text, LargeInstancesAreBounded) {
  std::string many = "loop x {\n  buffer A shared\n";
  for (int s = 0; s < 1000; ++s)
    many += "  statement s" + std::to_string(s) + " compute writes A[" + std::to_string(s % 7) +
            "*k:1]\n";
  ParsedInstances parsed = parseInstances(many + "}\n");
  ASSERT_FALSE(parsed.error);
  EXPECT_EQ(summarize(parsed.instances[0]).line, "x: malformed PS1252");
  std::string pieces = "loop x {\n  buffer A shared\n";
  for (int s = 0; s < 200; ++s) {
    std::string at = std::to_string(s) + ":9";
    pieces += "  statement s" + std::to_string(s) + " compute writes A[" + at + "," + at + "," +
              at + "," + at + "]\n";
  }
  pieces += "  statement r compute reads A[0:200,0:200,0:200,0:200]\n}\n";
  parsed = parseInstances(pieces);
  ASSERT_FALSE(parsed.error);
  EXPECT_EQ(summarize(parsed.instances[0]).line, "x: legal versions A=1");
  parsed = parseInstances(R"(loop x {
  buffer A shared fixed
  statement a compute writes A
  statement f fence
  statement b compute reads A
  schedule stage 0 500 1000 order 0 1 2
})");
  ASSERT_FALSE(parsed.error);
  // b of k comes after a of k+1; and the fence between a of k and a of k+1 has
  // moved far behind both.
  EXPECT_EQ(summarize(parsed.instances[0]).line, "x: illegal PS1203 PS1210 versions A=1");
}

/// Damaged text is read or refused, never crashes, and whatever is read can be
/// checked.
TEST(Text, DamagedTextDoesNotCrash) {
  std::mt19937 rng(3);
  std::string original = everything;
  int read = 0, checked = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = original;
    for (int edits = 1 + rng() % 4; edits > 0; --edits) {
      size_t at = rng() % text.size();
      switch (rng() % 4) {
      case 0:
        text[at] = char(rng());
        break;
      case 1:
        text.erase(at, rng() % 12);
        break;
      case 2:
        text.insert(at, text.substr(rng() % text.size(), rng() % 12));
        break;
      default:
        text[at] = "0123456789k-@:,[]"[rng() % 17];
      }
      if (text.empty())
        text = "x";
    }
    ParsedInstances parsed = parseInstances(text);
    EXPECT_TRUE(parsed.error || !parsed.instances.empty() ||
                text.find("loop") == std::string::npos);
    read += !parsed.instances.empty();
    for (const Instance &i : parsed.instances)
      checked += summarize(i).line.find("legal") != std::string::npos;
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(checked, 100);
}

/// The examples of the documentation say what the tool prints for them.
void runExamples(const std::string &file, int least) {
  std::ifstream in(PENSTOCK_SOURCE_DIR "/docs/" + file);
  ASSERT_TRUE(in) << file;
  std::string doc((std::istreambuf_iterator<char>(in)), {});
  int examples = 0;
  for (size_t at = 0; (at = doc.find("```instance\n", at)) != doc.npos;) {
    at += std::string("```instance\n").size();
    size_t end = doc.find("```", at);
    ASSERT_NE(end, doc.npos);
    std::string text = doc.substr(at, end - at);
    size_t out = doc.find("```verdict\n", end);
    ASSERT_NE(out, doc.npos);
    out += std::string("```verdict\n").size();
    std::string expected = doc.substr(out, doc.find("```", out) - out);
    ParsedInstances parsed = parseInstances(text, file);
    ASSERT_FALSE(parsed.error) << render(*parsed.error);
    std::string printed;
    for (const Instance &i : parsed.instances)
      printed += summarize(i).line + "\n";
    EXPECT_EQ(printed, expected) << text;
    ++examples;
    at = end;
  }
  EXPECT_GE(examples, least) << file;
}

TEST(Text, DocumentedExamples) {
  runExamples("contributing/scheduling-instances.md", 6);
  runExamples("explanation/pipelining.md", 1);
  runExamples("contributing/pipelining-cases.md", 11);
}

} // namespace
