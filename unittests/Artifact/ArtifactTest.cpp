//===- ArtifactTest.cpp - A compiled kernel as bytes ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Artifact/Artifact.h"
#include "Artifact/Container.h"
#include "Runtime/DeviceLaunch.h"
#include "SampleArtifact.h"

#include <gtest/gtest.h>

#include <random>

using namespace penstock;

namespace {

Artifact again(const Artifact &artifact) {
  std::vector<Diagnostic> diagnostics;
  auto read = readArtifact(writeArtifact(artifact), diagnostics);
  EXPECT_TRUE(read) << (diagnostics.empty() ? "" : diagnostics[0].message);
  return read ? std::move(*read) : Artifact();
}

/// The reason why an artifact is refused; empty if it is not.
std::string refusal(const std::string &bytes) {
  std::vector<Diagnostic> diagnostics;
  if (readArtifact(bytes, diagnostics))
    return "";
  EXPECT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].helps.size(), 1u);
  return codeName(diagnostics[0].code) + " " + diagnostics[0].message;
}

TEST(Artifact, KernelInfoComesBack) {
  Artifact before = sampleArtifact(), after = again(before);
  EXPECT_EQ(after.info.name, "Matmul");
  EXPECT_EQ(after.info.signature, before.info.signature);
  EXPECT_EQ(after.info.location, before.info.location);
  EXPECT_EQ(after.info.gridLocation, before.info.gridLocation);
  EXPECT_EQ(after.info.fixedSizes, before.info.fixedSizes);
  ASSERT_EQ(after.info.arguments.size(), 3u);
  EXPECT_EQ(after.info.arguments[1].name, "C");
  EXPECT_TRUE(after.info.arguments[1].written);
  EXPECT_EQ(after.info.arguments[1].sizes, (std::vector<std::string>{"M", "16"}));
  EXPECT_EQ(after.info.arguments[2].element, Element::i32);
  EXPECT_FALSE(after.info.arguments[2].tensor);
  EXPECT_TRUE(after.info.resolved);
  EXPECT_EQ(after.info.sizeRules.size(), 3u); // K is 64, M of C is that of A, 16
}

TEST(Artifact, VariantsComeBack) {
  Artifact before = sampleArtifact(), after = again(before);
  ASSERT_EQ(after.variants.size(), 2u);
  const DeviceKernel &a = before.variants[0], &b = after.variants[0];
  EXPECT_EQ(b.ptx, a.ptx);
  EXPECT_NE(b.ptx, after.variants[1].ptx);
  EXPECT_EQ(b.architecture, "sm_90a");
  EXPECT_EQ(b.threads, 128u);
  EXPECT_EQ(b.registers, 168u);
  EXPECT_EQ(b.cluster, a.cluster);
  EXPECT_EQ(b.sharedBytes, a.sharedBytes);
  EXPECT_EQ(b.maps, a.maps);
  EXPECT_EQ(b.rowAligned, a.rowAligned);
  ASSERT_EQ(b.fields.size(), a.fields.size());
  for (size_t i = 0; i < a.fields.size(); ++i) {
    EXPECT_EQ(b.fields[i].kind, a.fields[i].kind);
    EXPECT_EQ(b.fields[i].index, a.fields[i].index);
    EXPECT_EQ(b.fields[i].dim, a.fields[i].dim);
    EXPECT_EQ(b.fields[i].offset, a.fields[i].offset);
  }
  ASSERT_EQ(b.names.size(), 1u);
  EXPECT_EQ(b.names[0].name, "acc");
  EXPECT_EQ(b.names[0].slot, 64u);
  ASSERT_EQ(after.cubins.size(), 1u);
  EXPECT_EQ(after.cubins[0].code, before.cubins[0].code);
  EXPECT_EQ(after.cubins[0].variant, 1u);
}

TEST(Artifact, DiagnosticsComeBack) {
  Artifact after = again(sampleArtifact());
  ASSERT_EQ(after.variants[0].faults.size(), 1u);
  const Diagnostic &a = sampleDiagnostic("a fault"), &b = after.variants[0].faults[0];
  EXPECT_EQ(to_json({a}), to_json({b}));
  EXPECT_EQ(to_json({sampleDiagnostic("a requirement")}),
            to_json({after.variants[0].launch.requirements[0].broken}));
}

TEST(Artifact, LaunchProgramsComputeTheSame) {
  Artifact before = sampleArtifact(), after = again(before);
  detail::Argument a, c, scale;
  a.tensor = c.tensor = true;
  a.sizes = {300, 64};
  a.strides = {64, 1};
  c.sizes = {300, 16};
  c.strides = {16, 1};
  scale.scalar = uint32_t(-5);
  std::vector<detail::Argument> arguments{a, c, scale};
  std::vector<Diagnostic> broken;
  auto want = before.variants[0].launch.evaluate(arguments, broken);
  auto got = after.variants[0].launch.evaluate(arguments, broken);
  ASSERT_TRUE(want && got);
  EXPECT_EQ(*got, *want);
  EXPECT_EQ(*got, (std::vector<int64_t>{3, 1, 1, 1}));
}

TEST(Artifact, WritingIsDeterministic) {
  EXPECT_EQ(writeArtifact(sampleArtifact()), writeArtifact(again(sampleArtifact())));
}

TEST(Artifact, ForeignBytesAreRefused) {
  EXPECT_EQ(refusal(""),
            "PS1710 the artifact cannot be read: it does not begin as an artifact does");
  EXPECT_EQ(refusal(std::string(1000, 'x')),
            "PS1710 the artifact cannot be read: it does not begin as an artifact does");
  std::string later = writeArtifact(sampleArtifact());
  later[8] = 9;
  EXPECT_EQ(refusal(later),
            "PS1711 the artifact cannot be read: its format is 9, this library reads 1");
  std::string flipped = writeArtifact(sampleArtifact());
  flipped[300] = char(flipped[300] ^ 1);
  EXPECT_EQ(refusal(flipped), "PS1710 the artifact cannot be read: its checksum is wrong");
  EXPECT_EQ(refusal(writeContainer({})),
            "PS1710 the artifact cannot be read: a section is incomplete");
}

// The bytes are intact, what they say is impossible.
TEST(Artifact, WrongIndicesAreRefused) {
  auto changed = [](auto change) {
    Artifact artifact = sampleArtifact();
    change(artifact);
    return refusal(writeArtifact(artifact));
  };
  std::string refers =
      "PS1710 the artifact cannot be read: `Matmul` refers to what it does not have";
  EXPECT_EQ(changed([](Artifact &) {}), "");
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.steps[2].b = 2; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.steps[0].a = 2; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.steps[0].value = 2; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.steps[4].value = 0; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.results[3] = 8; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.results.resize(2); }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].launch.requirements[0].step = 8; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[1].fields[1].index = 2; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[1].fields[2].dim = 2; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[1].fields[5].index = 4; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[1].fields[6].offset = 185; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[1].fields[0].offset = 65; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].maps[0].argument = 2; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].maps[0].box = {1}; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].rowAligned[0].bytes = 0; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].rowAligned[0].multiple = 1; }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].faults.clear(); }), refers);
  EXPECT_EQ(changed([](Artifact &a) { a.variants[0].threads = 1025; }), refers);
  EXPECT_NE(changed([](Artifact &a) { a.cubins[0].variant = 2; }), "");
  EXPECT_NE(changed([](Artifact &a) { a.variants.clear(); }), "");
}

// Random damage with a right checksum: never a crash, and what is accepted can be
// launched. The sanitized fuzzer does more of the same.
TEST(Artifact, DamagedSectionsNeverCrash) {
  std::mt19937 random(11);
  std::string bytes = writeArtifact(sampleArtifact());
  ContainerError error;
  auto sections = *readContainer(bytes, error);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> contents;
    for (const Section &section : sections)
      contents.emplace_back(section.bytes);
    for (int change = 0; change < 1 + int(random() % 3); ++change) {
      std::string &content = contents[random() % contents.size()];
      content[random() % content.size()] = char(random() % 4 ? random() % 8 : random());
    }
    std::vector<Section> changed;
    for (size_t i = 0; i < sections.size(); ++i)
      changed.push_back({sections[i].name, contents[i]});
    std::vector<Diagnostic> diagnostics;
    auto artifact = readArtifact(writeContainer(changed), diagnostics);
    if (!artifact)
      continue;
    ++accepted;
    std::vector<detail::Argument> arguments;
    for (const ArgumentInfo &info : artifact->info.arguments) {
      detail::Argument argument;
      argument.tensor = info.tensor;
      argument.element = info.element;
      argument.sizes.assign(size_t(info.rank), 16);
      argument.strides.assign(size_t(info.rank), 16);
      arguments.push_back(argument);
    }
    for (const DeviceKernel &kernel : artifact->variants)
      (void)prepareLaunch(kernel, artifact->info, arguments, diagnostics);
  }
  EXPECT_GT(accepted, 1000);
}

} // namespace
