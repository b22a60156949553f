//===- RandomArguments.cpp - Tensors for trying a kernel ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RandomArguments.h"
#include "CommandLine.h"

#include <cstdlib>
#include <random>

using namespace penstock;

namespace {

template <class T> void put(void *at, double value) {
  T element = static_cast<T>(static_cast<float>(value));
  std::memcpy(at, &element, sizeof element);
}
template <class T> double take(const void *at) {
  T element;
  std::memcpy(&element, at, sizeof element);
  return static_cast<double>(element);
}

void write(Element type, void *at, double value) {
  switch (type) {
  case Element::f16:
    return put<f16>(at, value);
  case Element::bf16:
    return put<bf16>(at, value);
  case Element::f32:
    return put<float>(at, value);
  case Element::f64:
    return put<double>(at, value);
  case Element::f8e4m3:
    return put<f8e4m3>(at, value);
  case Element::f8e5m2:
    return put<f8e5m2>(at, value);
  case Element::i1:
    return put<bool>(at, value);
  case Element::i8:
    return put<int8_t>(at, value);
  case Element::i16:
    return put<int16_t>(at, value);
  case Element::i32:
    return put<int32_t>(at, value);
  case Element::i64:
  case Element::index:
    return put<int64_t>(at, value);
  }
}

std::optional<int64_t> sizeOf(const std::string &name,
                              const std::vector<std::pair<std::string, std::string>> &values) {
  if (auto number = parseInteger(name))
    return number;
  for (const auto &[key, text] : values)
    if (key == name)
      return parseInteger(text);
  return std::nullopt;
}

} // namespace

double elementAt(const detail::Argument &tensor, size_t index) {
  const char *at = static_cast<const char *>(tensor.data) + index * bytes_of(tensor.element);
  switch (tensor.element) {
  case Element::f16:
    return take<f16>(at);
  case Element::bf16:
    return take<bf16>(at);
  case Element::f32:
    return take<float>(at);
  case Element::f64:
    return take<double>(at);
  case Element::f8e4m3:
    return take<f8e4m3>(at);
  case Element::f8e5m2:
    return take<f8e5m2>(at);
  case Element::i1:
    return take<bool>(at);
  case Element::i8:
    return take<int8_t>(at);
  case Element::i16:
    return take<int16_t>(at);
  case Element::i32:
    return take<int32_t>(at);
  case Element::i64:
  case Element::index:
    break;
  }
  return take<int64_t>(at);
}

std::string makeArguments(const std::vector<ArgumentDescription> &descriptions,
                          const std::vector<std::pair<std::string, std::string>> &values,
                          uint64_t seed, RandomArguments &result) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> small(-4, 4);
  for (const ArgumentDescription &description : descriptions) {
    detail::Argument argument;
    argument.tensor = description.tensor;
    argument.element = description.element;
    result.memory.emplace_back();
    if (!description.tensor) {
      double value = 1;
      for (const auto &[key, text] : values)
        if (key == description.name)
          value = std::strtod(text.c_str(), nullptr);
      write(description.element, &argument.scalar, value);
      result.arguments.push_back(argument);
      continue;
    }
    for (int d = 0; d < description.rank; ++d) {
      std::string name = static_cast<size_t>(d) < description.sizes.size()
                             ? description.sizes[static_cast<size_t>(d)]
                             : description.name + std::to_string(d);
      auto size = sizeOf(name, values);
      if (!size || *size < 0)
        return "the size `" + name + "` of `" + description.name +
               "` is not given; use --shape " + name + "=..";
      argument.sizes.push_back(*size);
    }
    argument.strides.assign(argument.sizes.size(), 1);
    size_t elements = 1;
    for (size_t d = argument.sizes.size(); d-- > 0;) {
      argument.strides[d] = static_cast<int64_t>(elements);
      elements *= static_cast<size_t>(argument.sizes[d]);
      if (elements > (size_t(1) << 32))
        return "`" + description.name + "` has more than 2^32 elements";
    }
    size_t bytes = bytes_of(description.element);
    std::vector<char> &memory = result.memory.back();
    memory.resize(elements * bytes + bytes);
    argument.data = memory.data();
    for (size_t i = 0; i < elements; ++i)
      write(description.element, memory.data() + i * bytes,
            description.element == Element::i1 ? std::abs(small(random)) % 2
                                               : 0.25 * small(random));
    result.arguments.push_back(argument);
  }
  return "";
}
