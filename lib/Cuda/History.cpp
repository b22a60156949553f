//===- History.cpp - The last launches of each GPU ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/History.h"
#include "Cuda/Program.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::cuda;

namespace {

constexpr size_t kept = 64, maxSizes = 24, shown = 4;

struct Entry {
  uint64_t program = 0;
  size_t count = 0;
  int64_t sizes[maxSizes]; ///< of all tensors, in order
};

struct Ring {
  std::mutex mutex;
  uint64_t launches = 0;
  Entry entries[kept];
};

Ring &ringOf(int device) {
  static Ring *all = new Ring[maxDevices];
  return all[device];
}

/// "M=4096,K=64" from the names of the signature; empty if not all sizes are known.
std::string shapeOf(const KernelInfo &info, const Entry &entry) {
  std::vector<std::pair<std::string, int64_t>> named;
  size_t next = 0;
  for (const ArgumentInfo &argument : info.arguments) {
    for (size_t d = 0; argument.tensor && d < size_t(argument.rank); ++d, ++next) {
      if (next >= entry.count || d >= argument.sizes.size())
        return "";
      const std::string &name = argument.sizes[d];
      bool isNumber = !name.empty() && name[0] >= '0' && name[0] <= '9';
      bool known = std::ranges::any_of(named, [&](const auto &each) { return each.first == name; });
      if (!isNumber && !known)
        named.emplace_back(name, entry.sizes[next]);
    }
  }
  std::string text;
  for (const auto &[name, value] : named)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return text;
}

} // namespace

void penstock::cuda::recordLaunch(int device, uint64_t program,
                                  std::span<const detail::Argument> arguments) {
  Ring &ring = ringOf(device);
  std::lock_guard lock(ring.mutex);
  Entry &entry = ring.entries[ring.launches++ % kept];
  entry.program = program;
  entry.count = 0;
  for (const detail::Argument &argument : arguments)
    for (int64_t size : argument.sizes)
      if (entry.count < maxSizes)
        entry.sizes[entry.count++] = size;
}

void penstock::cuda::addSuspects(int device, Diagnostic &error) {
  Ring &ring = ringOf(device);
  std::lock_guard lock(ring.mutex);
  std::vector<std::string> commands;
  size_t count = std::min<uint64_t>(ring.launches, kept);
  for (size_t i = 0; i < count && commands.size() < shown; ++i) {
    const Entry &entry = ring.entries[(ring.launches - 1 - i) % kept];
    auto info = infoOfProgram(entry.program);
    if (!info)
      continue;
    std::string shape = shapeOf(*info, entry);
    std::string command = "penstock check LIBRARY " + info->name +
                          (shape.empty() ? std::string() : " --shape " + shape);
    if (std::ranges::find(commands, command) != commands.end())
      continue;
    error.notes.push_back({info->location,
                           "`" + info->name + "` was launched before" +
                               (shape.empty() ? std::string() : ", with " + shape),
                           ""});
    commands.push_back(command);
  }
  for (const std::string &command : commands)
    error.helps.push_back("reproduce it without a GPU: " + command);
}
