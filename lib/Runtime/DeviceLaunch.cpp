//===- DeviceLaunch.cpp - Preparing launches of GPU kernels ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/DeviceLaunch.h"
#include "Diagnostics/Codes.h"
#include "penstock/limits.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace penstock;

namespace {

Diagnostic error(const KernelInfo &info, unsigned code, std::string message,
                 std::string help = "") {
  Diagnostic d;
  d.code = code;
  d.location = info.location;
  d.message = std::move(message);
  if (!help.empty())
    d.helps.push_back(std::move(help));
  return d;
}

/// Alignments are powers of two, which launches need not divide by.
bool isMultiple(uint64_t value, unsigned of) {
  return std::has_single_bit(of) ? (value & (of - 1)) == 0 : value % of == 0;
}

/// The first row stride, in bytes, that violates the alignment; 0 if there is none.
int64_t misalignedRowStride(const RowAlignment &rule, const detail::Argument &tensor) {
  int64_t element = int64_t(bytesOf(tensor.element));
  for (size_t d = 0; d + 1 < tensor.strides.size(); ++d) {
    // Strides of dimensions with one element are not bounded.
    int64_t bytes = tensor.sizes[d] > 1 ? tensor.strides[d] * element : 0;
    if (!isMultiple(uint64_t(bytes), rule.bytes))
      return bytes;
  }
  return 0;
}

/// The length of the rows, in bytes, if that violates the alignment; else 0.
int64_t misalignedRowLength(const RowAlignment &rule, const detail::Argument &tensor) {
  if (!rule.multiple || tensor.sizes.empty())
    return 0;
  int64_t bytes = tensor.sizes.back() * int64_t(bytesOf(tensor.element));
  return isMultiple(uint64_t(bytes), rule.multiple) ? 0 : bytes;
}

/// Engines copy 16 bytes at a time, and indices have 32 bits.
std::optional<Diagnostic> checkRows(const DeviceKernel &kernel, const KernelInfo &info,
                                    std::span<const detail::Argument> arguments) {
  for (const RowAlignment &rule : kernel.rowAligned)
    if (int64_t bytes = misalignedRowStride(rule, arguments[rule.argument]))
      return error(info, HardwareAlignment,
                   "rows of `" + info.arguments[rule.argument].name + "` are " +
                       std::to_string(bytes) +
                       " bytes apart; the kernel copies them with an engine that needs "
                       "multiples of " +
                       std::to_string(rule.bytes),
                   "pad the rows");
  for (const RowAlignment &rule : kernel.rowAligned)
    if (int64_t bytes = misalignedRowLength(rule, arguments[rule.argument]))
      return error(info, HardwareAlignment,
                   "rows of `" + info.arguments[rule.argument].name + "` have " +
                       std::to_string(bytes) + " bytes; the kernel accesses multiples of " +
                       std::to_string(rule.multiple),
                   "pad the rows");
  for (size_t i = 0; i < arguments.size(); ++i)
    for (int64_t size : arguments[i].sizes)
      if (size > INT32_MAX)
        return error(info, LaunchSize,
                     "`" + info.arguments[i].name + "` has " + std::to_string(size) +
                         " elements along a dimension; GPU kernels count to 2^31");
  return std::nullopt;
}

} // namespace

bool penstock::rowsFit(const DeviceKernel &kernel, std::span<const detail::Argument> arguments) {
  for (const RowAlignment &rule : kernel.rowAligned)
    if (misalignedRowStride(rule, arguments[rule.argument]) ||
        misalignedRowLength(rule, arguments[rule.argument]) ||
        !isMultiple(reinterpret_cast<uintptr_t>(arguments[rule.argument].data), rule.bytes))
      return false;
  return true;
}

size_t penstock::variantFor(std::span<const DeviceKernel *const> variants,
                            std::span<const detail::Argument> arguments) {
  size_t chosen = 0;
  while (chosen + 1 < variants.size() && !rowsFit(*variants[chosen], arguments))
    ++chosen;
  return chosen;
}

std::optional<DeviceGrid> penstock::prepareLaunch(const DeviceKernel &kernel,
                                                  const KernelInfo &info,
                                                  std::span<const detail::Argument> arguments,
                                                  std::vector<Diagnostic> &diagnostics) {
  size_t before = diagnostics.size();
  if (std::optional<Diagnostic> wrong = checkRows(kernel, info, arguments))
    diagnostics.push_back(std::move(*wrong));
  auto constants = kernel.launch.evaluate(arguments, diagnostics);
  if (!constants && diagnostics.size() == before)
    diagnostics.push_back(
        error(info, LaunchGrid,
              "a division by zero while the grid of `" + kernel.name + "` was computed"));
  if (diagnostics.size() != before)
    return std::nullopt;
  DeviceGrid grid{1, std::move(*constants)};
  for (int d = 0; d < 3; ++d) {
    int64_t extent = grid.constants[size_t(d)];
    if (extent < 0 || extent > limits::maxBlocks ||
        (grid.blocks *= uint64_t(extent)) > limits::maxBlocks) {
      diagnostics.push_back(
          error(info, LaunchGrid,
                "the grid of `" + kernel.name + "` is negative or has 2^31 blocks or more"));
      return std::nullopt;
    }
  }
  return grid;
}

bool penstock::prepareValidLaunch(const DeviceKernel &kernel,
                                  std::span<const detail::Argument> arguments, int64_t *values,
                                  int64_t *constants, uint64_t &blocks) {
  const LaunchProgram &program = kernel.launch;
  for (const RowAlignment &rule : kernel.rowAligned)
    if (misalignedRowStride(rule, arguments[rule.argument]) ||
        misalignedRowLength(rule, arguments[rule.argument]))
      return false;
  for (const detail::Argument &argument : arguments)
    for (int64_t size : argument.sizes)
      if (size > INT32_MAX)
        return false;
  if (program.run(arguments, values) != program.steps.size())
    return false;
  for (const LaunchRequirement &requirement : program.requirements)
    if (values[requirement.step] == 0)
      return false;
  for (size_t i = 0; i < program.results.size(); ++i)
    constants[i] = values[program.results[i]];
  blocks = 1;
  for (int d = 0; d < 3; ++d)
    if (constants[d] < 0 || constants[d] > limits::maxBlocks ||
        (blocks *= uint64_t(constants[d])) > limits::maxBlocks)
      return false;
  return true;
}

uint64_t penstock::spannedBytes(const detail::Argument &tensor) {
  uint64_t last = 0;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0)
      return 0;
    last += uint64_t(tensor.sizes[d] - 1) * uint64_t(tensor.strides[d]);
  }
  return (last + 1) * bytesOf(tensor.element);
}

TensorMapDescription penstock::packMap(const TensorMapRecipe &recipe,
                                       const detail::Argument &tensor, uint64_t address) {
  size_t rank = tensor.sizes.size(), bytes = bytesOf(tensor.element);
  TensorMapDescription map;
  map.dataType = recipe.dataType;
  map.rank = unsigned(rank);
  map.address = address;
  map.swizzle = recipe.swizzle;
  map.strides[0] = bytes;
  // A map cannot be empty.
  bool empty = std::ranges::count(tensor.sizes, 0) != 0;
  // Types whose values are padded count them, not bytes, by whole boxes; rows are 32 bytes apart.
  unsigned bits = recipe.dataType == 14 ? 4 : recipe.dataType == 15 ? 6 : 0;
  uint64_t apart = bits ? 32 : 16;
  for (size_t d = 0; d < rank; ++d) {
    size_t from = rank - 1 - d;
    map.sizes[d] = empty ? 1 : uint64_t(tensor.sizes[from]);
    map.box[d] = recipe.box[d];
    if (bits && d == 0)
      map.sizes[d] = empty ? recipe.box[d] : map.sizes[d] * 8 / bits;
    if (d)
      map.strides[d] = uint64_t(tensor.strides[from]) * bytes;
    // The stride of a dimension of one element is never used, but checked.
    if (d && (map.sizes[d] == 1 || map.strides[d] == 0))
      map.strides[d] = (map.strides[d] + apart - 1) / apart * apart + (map.strides[d] ? 0 : apart);
  }
  return map;
}

bool penstock::packParameters(const DeviceKernel &kernel, const KernelInfo &info,
                              std::span<const detail::Argument> arguments,
                              std::span<const uint64_t> addresses,
                              std::span<const int64_t> constants, const EncodeTensorMap &encode,
                              uint8_t *to, std::vector<Diagnostic> &diagnostics) {
  for (const ParameterField &field : kernel.fields) {
    uint64_t value = 0;
    switch (field.kind) {
    case ParameterField::Address:
      value = addresses[field.index];
      break;
    case ParameterField::Size:
      value = uint64_t(arguments[field.index].sizes[field.dim]);
      break;
    case ParameterField::Stride:
      value = uint64_t(arguments[field.index].strides[field.dim]);
      break;
    case ParameterField::Scalar:
      value = arguments[field.index].scalar;
      break;
    case ParameterField::Constant:
      value = uint64_t(constants[field.index]);
      break;
    case ParameterField::Faults:
      value = addresses[arguments.size()];
      break;
    case ParameterField::Prints:
      value = addresses[arguments.size() + !kernel.faults.empty()];
      break;
    case ParameterField::Map: {
      unsigned argument = kernel.maps[field.index].argument;
      std::string rule =
          encode(field.index, arguments[argument], addresses[argument], to + field.offset);
      if (!rule.empty()) {
        diagnostics.push_back(error(info, HardwareAlignment,
                                    "no tensor map can be made for `" +
                                        info.arguments[argument].name + "`: " + rule));
        return false;
      }
      continue;
    }
    }
    memcpy(to + field.offset, &value, sizeof value);
  }
  return true;
}
