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
#include "Artifact/Checksum.h"
#include "Artifact/Container.h"
#include "Cache/ActionResult.h"
#include "Cache/Entry.h"
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

/// Readers of a cache: entries from disks, messages from servers.
static void readFromCache(std::string_view bytes) {
  cache::Entry entry;
  std::string key(bytes.substr(0, bytes.size() / 3));
  (void)cache::readEntry(bytes, entry);
  (void)cache::readActionResult(bytes);
  (void)readDiagnostics(bytes);
  std::string written = cache::writeEntry(key, bytes);
  if (cache::readEntry(written, key, entry) != cache::EntryState::Good || entry.data != bytes)
    __builtin_trap();
  if (bytes.size() < 4)
    return;
  // Another table of sections, under a checksum that holds.
  size_t at = 64 + uint8_t(bytes[0]) % 48;
  written.replace(at, std::min<size_t>(bytes.size(), 8), bytes.substr(0, 8));
  written[12] = bytes[3];
  auto content = sha256(std::string_view(written).substr(64));
  auto checksum = sha256(written.substr(0, 32) + std::string(content.begin(), content.end()));
  std::copy(checksum.begin(), checksum.end(), written.begin() + 32);
  if (cache::readEntry(written, entry) == cache::EntryState::Good)
    (void)cache::hexDigest(std::string(entry.key) + std::string(entry.data));
}

/// The first bytes choose lengths and places; the rest overwrites parts of a sample.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Diagnostic> diagnostics;
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (auto artifact = readArtifact(bytes, diagnostics))
    launch(*artifact);
  readFromCache(bytes);
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
