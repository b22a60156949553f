//===- ExecutorFuzz.cpp - Any PTX on the emulator -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses the input and launches what it holds with small sizes, a small budget
// and parameters that are sometimes pointers, tensor maps or numbers.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Launch.h"
#include "Emulator/Tensor/TensorMap.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::emu;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Device device;
  device.memory.limit = 64 << 20;
  std::vector<Diagnostic> diagnostics;
  auto module =
      device.load(std::string(reinterpret_cast<const char *>(data), size), "fuzz.ptx", diagnostics);
  if (!module)
    return 0;
  uint64_t buffer = device.memory.allocate(1 << 16, "buffer");
  std::vector<uint8_t> content(1 << 16, 1);
  device.write(buffer, content.data(), content.size());
  TensorMap map;
  map.dataType = 6;
  map.rank = 2;
  map.base = buffer;
  map.dims[0] = 64;
  map.dims[1] = 256;
  map.strides[1] = 128;
  map.box[0] = 64;
  map.box[1] = 16;
  map.swizzle = 3;
  uint8_t encoded[tensorMapBytes];
  encodeTensorMap(map, encoded);
  unsigned launches = 0;
  for (auto &function : module->module->functions) {
    if (!function->isEntry || function->isDeclaration || ++launches > 2)
      continue;
    LaunchConfig config;
    config.block = {192, 1, 1};
    if (function->requiredThreads[0])
      config.block = function->requiredThreads;
    config.dynamicShared = 65536;
    config.cluster = {uint32_t(size % 2 + 1), 1, 1};
    config.grid = {2, 1, 1};
    ParamPacker params;
    for (uint32_t i = 0; i < function->numParams; ++i) {
      const ptx::Variable &p = function->variables[i];
      std::vector<uint8_t> bytes(std::min<uint64_t>(p.size, 4096));
      if (p.size == tensorMapBytes)
        std::copy(encoded, encoded + tensorMapBytes, bytes.begin());
      else if (p.size == 8)
        memcpy(bytes.data(), &buffer, 8);
      else if (!bytes.empty())
        bytes[0] = 3;
      params.addBytes(bytes.data(), bytes.size(), std::max(1u, p.align));
    }
    config.params = params.bytes;
    config.params.resize(config.params.size() + 4096);
    LaunchOptions options;
    options.threads = 1;
    options.maxInstructions = 20000;
    options.timing = Timing(size % 4);
    options.seed = size;
    // None, or one of the first warps, which every block has.
    uint32_t threads = config.block[0] * config.block[1] * config.block[2];
    options.starvedWarp = int32_t(size / 4 % (std::min(threads / 32, 6u) + 1)) - 1;
    // Ranges that overlap each other and what is there.
    config.symbols = {
        {Symbol::Shared, "tile", uint32_t(size % 512), 4096, uint32_t(size % 3 * 100)},
        {Symbol::Shared, "all", 0, 65536, 8},
        {Symbol::Tensor, "acc", uint32_t(size % 64), 32, 0}};
    device.launch(*module, function->name, config, options);
  }
  return 0;
}
