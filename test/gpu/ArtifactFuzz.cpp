//===- ArtifactFuzz.cpp - The reader of artifacts, on random bytes --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is both read as it is, which the checksum nearly always refuses, and put into
// the sections of a container. What is accepted is launched, as far as that is possible
// without a GPU, and written again.
//
//===----------------------------------------------------------------------===//
#include "Artifact/Container.h"
#include "Runtime/DeviceLaunch.h"
#include "SampleArtifact.h"

using namespace penstock;

static void launch(const Artifact &artifact) {
  std::vector<detail::Argument> arguments;
  for (const ArgumentInfo &info : artifact.info.arguments) {
    detail::Argument argument;
    argument.tensor = info.tensor;
    argument.element = info.element;
    argument.sizes.assign(size_t(info.rank), 16);
    argument.strides.assign(size_t(info.rank), 16);
    argument.scalar = 0x8000000000000001;
    arguments.push_back(argument);
  }
  std::vector<Diagnostic> diagnostics;
  (void)checkArguments(artifact.info, arguments);
  auto encode = [](unsigned, const detail::Argument &, uint64_t, uint8_t *to) {
    std::fill_n(to, 128, uint8_t(0));
    return std::string();
  };
  for (const DeviceKernel &kernel : artifact.variants) {
    auto grid = prepareLaunch(kernel, artifact.info, arguments, diagnostics);
    std::vector<uint64_t> addresses(arguments.size() + 1, 64);
    std::vector<uint8_t> parameter(kernel.parameterBytes);
    if (grid)
      packParameters(kernel, artifact.info, arguments, addresses, grid->constants, encode,
                     parameter.data(), diagnostics);
    for (const TensorMapRecipe &map : kernel.maps)
      (void)packMap(map, arguments[map.argument], 64);
  }
}

/// The first bytes choose lengths and places; the rest overwrites parts of a sample.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Diagnostic> diagnostics;
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (auto artifact = readArtifact(bytes, diagnostics))
    launch(*artifact);
  if (size < 8)
    return 0;
  static const std::string sample = writeArtifact(sampleArtifact());
  ContainerError error;
  auto sections = readContainer(sample, error);
  std::vector<std::string> contents;
  for (const Section &section : *sections)
    contents.emplace_back(section.bytes);
  size_t at = (data[0] | size_t(data[1]) << 8) % contents[0].size();
  std::string_view rest = bytes.substr(8);
  if (data[2] % 2)
    contents[0].replace(at, std::min(rest.size(), contents[0].size() - at), rest);
  else
    contents[data[2] / 2 % contents.size()] = rest;
  std::vector<Section> changed;
  for (size_t i = 0; i < contents.size(); ++i)
    changed.push_back({(*sections)[i].name, contents[i]});
  if (auto artifact = readArtifact(writeContainer(changed), diagnostics)) {
    launch(*artifact);
    if (!readArtifact(writeArtifact(*artifact), diagnostics))
      __builtin_trap();
  }
  return 0;
}
