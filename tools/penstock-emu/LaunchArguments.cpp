//===- LaunchArguments.cpp - A launch on the command line -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchArguments.h"
#include "Diagnostics/ReadFile.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace penstock::emu {
namespace {

/// X[,Y[,Z]]; returns what is wrong, or "".
std::string parseSizes(const std::string &text, std::array<uint32_t, 3> &sizes) {
  sizes = {1, 1, 1};
  size_t at = 0;
  for (size_t d = 0; d < 3; ++d) {
    size_t comma = std::min(text.find(',', at), text.size());
    uint64_t size = 0;
    if (!cli::parseInteger(text.substr(at, comma - at), size) || size > UINT32_MAX)
      break;
    sizes[d] = static_cast<uint32_t>(size);
    if (comma == text.size())
      return "";
    at = comma + 1;
  }
  return "expected X[,Y[,Z]]";
}

template <class T> std::vector<uint8_t> bytesOf(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T> bool parseScalar(const std::string &text, std::vector<uint8_t> &bytes) {
  T value = 0;
  if constexpr (std::is_integral_v<T>) {
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> wide = 0;
    if (!cli::parseInteger(text, wide) || !std::in_range<T>(wide))
      return false;
    value = static_cast<T>(wide);
  } else {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return false;
  }
  bytes = bytesOf(value);
  return true;
}

/// What all buffers of a launch may take: the emulator holds three bytes for each
/// of theirs, and a host that runs out of memory ends the process.
uint64_t mostBufferBytes() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  uint64_t host = pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : uint64_t(4) << 30;
  return std::min(DeviceMemory().limit, host / 4);
}

/// BYTES[:zero|:iota32|:file=PATH]; returns what is wrong, or "". \p others is what
/// the buffers before it take.
std::string parseBuffer(const std::string &text, uint64_t others, Buffer &buffer) {
  size_t colon = std::min(text.find(':'), text.size());
  std::string rest = text.substr(colon);
  if (!cli::parseInteger(text.substr(0, colon), buffer.size))
    return "expected a number of bytes";
  if (buffer.size > mostBufferBytes() - others)
    return "the buffers of a launch may take " + std::to_string(mostBufferBytes()) +
           " bytes on this machine";
  if (rest == ":zero") {
    buffer.content.resize(buffer.size);
  } else if (rest == ":iota32") {
    buffer.content.resize(buffer.size);
    for (uint64_t i = 0; i + 4 <= buffer.size; i += 4) {
      uint32_t number = static_cast<uint32_t>(i / 4);
      memcpy(buffer.content.data() + i, &number, 4);
    }
  } else if (rest.rfind(":file=", 0) == 0) {
    std::string content;
    if (auto problem = readFile(rest.substr(6), content, buffer.size))
      return problem->message;
    buffer.content.assign(content.begin(), content.end());
    buffer.content.resize(buffer.size);
  } else if (!rest.empty()) {
    return "expected buffer=BYTES[:zero|:iota32|:file=PATH]";
  }
  return "";
}

/// 256x64: sizes, the outermost first. They are stored innermost first, as in a map.
template <class T> bool parseExtents(const std::string &text, T (&extents)[5], uint32_t &rank) {
  std::vector<uint64_t> sizes;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('x', at), text.size());
    if (!cli::parseInteger(text.substr(at, end - at), sizes.emplace_back()) || !sizes.back() ||
        sizes.back() > UINT32_MAX || sizes.size() > 5)
      return false;
    at = end + 1;
  }
  rank = uint32_t(sizes.size());
  for (uint32_t d = 0; d < rank; ++d)
    extents[d] = static_cast<T>(sizes[rank - 1 - d]);
  return true;
}

/// TYPE:SIZES:BOX[:SWIZZLE][:zero|:iota32|:file=PATH], a tensor in new memory; returns what is
/// wrong, or "".
std::string parseTensor(const std::string &text, uint64_t others, TensorMap &map, Buffer &buffer) {
  static const std::vector<std::pair<std::string, uint32_t>> types = {
      {"u8", 0},  {"u16", 1}, {"u32", 2}, {"s32", 3}, {"u64", 4},
      {"s64", 5}, {"f16", 6}, {"f32", 7}, {"f64", 8}, {"bf16", 9}};
  static const std::vector<std::string> swizzles = {"0", "32", "64", "128"};
  const char *form = "expected tensor=TYPE:SIZES:BOX[:SWIZZLE][:zero|:iota32|:file=PATH], such as "
                     "tensor=f16:256x128:64x64:128:zero";
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size() && parts.size() < 4;) {
    size_t end = parts.size() == 3 ? text.size() : std::min(text.find(':', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() < 3)
    return form;
  auto type = std::find_if(types.begin(), types.end(),
                           [&](const auto &each) { return each.first == parts[0]; });
  uint32_t boxRank = 0;
  if (type == types.end() || !parseExtents(parts[1], map.dims, map.rank) ||
      !parseExtents(parts[2], map.box, boxRank) || boxRank != map.rank)
    return form;
  map.dataType = type->second;
  std::string rest = parts.size() > 3 ? parts[3] : "";
  size_t colon = std::min(rest.find(':'), rest.size());
  if (auto swizzle = std::find(swizzles.begin(), swizzles.end(), rest.substr(0, colon));
      swizzle != swizzles.end()) {
    map.swizzle = uint32_t(swizzle - swizzles.begin());
    rest = rest.substr(std::min(colon + 1, rest.size()));
  }
  uint64_t bytes = tensorElementBits(map.dataType) / 8;
  for (uint32_t d = 0; d < map.rank; ++d) {
    if (d)
      map.strides[d] = bytes;
    if (map.dims[d] > mostBufferBytes() / bytes)
      return "the tensor is too large";
    bytes *= map.dims[d];
  }
  return parseBuffer(std::to_string(bytes) + (rest.empty() ? "" : ":" + rest), others, buffer);
}

std::string parseArgument(const std::string &text, std::vector<Argument> &arguments,
                          std::vector<Buffer> &buffers) {
  size_t equals = std::min(text.find('='), text.size());
  std::string type = text.substr(0, equals);
  std::string value = equals < text.size() ? text.substr(equals + 1) : "";
  static const std::vector<std::string> types = {"u32", "s32", "u64", "s64", "f32", "f64"};
  Argument argument;
  if (type == "buffer" || type == "tensor") {
    Buffer buffer;
    uint64_t others = 0;
    for (const Buffer &other : buffers)
      others += other.size;
    std::string wrong = type == "buffer"
                            ? parseBuffer(value, others, buffer)
                            : parseTensor(value, others, argument.map.emplace(), buffer);
    if (wrong.empty() && argument.map)
      wrong = checkTensorMap(*argument.map);
    if (!wrong.empty())
      return wrong;
    argument.buffer = int(buffers.size());
    buffers.push_back(std::move(buffer));
  } else if (std::find(types.begin(), types.end(), type) == types.end()) {
    return "expected TYPE=VALUE with one of u32, s32, u64, s64, f32, f64, buffer and tensor";
  } else if (!(type == "u32"   ? parseScalar<uint32_t>(value, argument.bytes)
               : type == "s32" ? parseScalar<int32_t>(value, argument.bytes)
               : type == "u64" ? parseScalar<uint64_t>(value, argument.bytes)
               : type == "s64" ? parseScalar<int64_t>(value, argument.bytes)
               : type == "f32" ? parseScalar<float>(value, argument.bytes)
                               : parseScalar<double>(value, argument.bytes))) {
    return "`" + value + "` is not a value of type " + type;
  }
  arguments.push_back(std::move(argument));
  return "";
}

} // namespace

void PtxLaunch::dump(Device &device,
                     const std::vector<std::pair<size_t, std::string>> &files) const {
  for (auto &[index, path] : files) {
    std::vector<char> content(buffers[index].size);
    device.read(buffers[index].address, content.data(), content.size());
    std::ofstream(path, std::ios::binary).write(content.data(), std::streamsize(content.size()));
  }
}

uint32_t PtxLaunch::warps() const {
  uint32_t count = (config.block[0] * config.block[1] * config.block[2] + 31) / 32;
  for (uint32_t size : config.cluster)
    count *= std::max(1u, size);
  return count;
}

int PtxLaunch::allocate(Device &device) {
  ParamPacker packer;
  for (const Argument &argument : arguments) {
    if (argument.buffer < 0) {
      packer.addBytes(argument.bytes.data(), argument.bytes.size(), argument.bytes.size());
      continue;
    }
    Buffer &buffer = buffers[size_t(argument.buffer)];
    buffer.address =
        device.memory.allocate(buffer.size, "buffer " + std::to_string(argument.buffer));
    if (!buffer.address)
      return argument.buffer;
    if (!buffer.content.empty())
      device.write(buffer.address, buffer.content.data(), buffer.content.size());
    if (argument.map) {
      TensorMap map = *argument.map;
      uint8_t bytes[tensorMapBytes];
      map.base = buffer.address;
      encodeTensorMap(map, bytes);
      packer.addBytes(bytes, sizeof bytes, 64);
    } else {
      packer.add(buffer.address);
    }
  }
  config.params = packer.bytes;
  return -1;
}

cli::Command &addLaunch(cli::Command &command, const std::shared_ptr<PtxLaunch> &launch) {
  auto sizes = [](std::array<uint32_t, 3> &to) {
    return [&to](const std::string &text) { return parseSizes(text, to); };
  };
  return command.argument("FILE.ptx", launch->file)
      .argument("KERNEL", launch->kernel, cli::Complete::Nothing)
      .values("grid", "X[,Y[,Z]]", "blocks of the grid (1)", sizes(launch->config.grid))
      .values("block", "X[,Y[,Z]]", "threads of a block (1)", sizes(launch->config.block))
      .values("cluster", "X[,Y[,Z]]", "blocks of a cluster (1)", sizes(launch->config.cluster))
      .number("shared", "bytes of dynamic shared memory", launch->config.dynamicShared)
      .values("arg", "TYPE=VALUE",
              "the next argument: u32, s32, u64, s64, f32 or f64; "
              "buffer=BYTES[:zero|:iota32|:file=PATH], a pointer to new memory; or "
              "tensor=TYPE:SIZES:BOX[:SWIZZLE][:zero|:iota32|:file=PATH], a map of new memory",
              [launch](const std::string &text) {
                return parseArgument(text, launch->arguments, launch->buffers);
              });
}

} // namespace penstock::emu
