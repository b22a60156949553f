//===- Data.cpp - Data of random programs ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunProgram.h"
#include "penstock/inspect.h"

#include <cmath>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

void write(uint8_t *to, Element element, double value) {
  auto put = [&](auto typed) { std::memcpy(to, &typed, sizeof typed); };
  switch (element) {
  case Element::f16:
    return put(f16(static_cast<float>(value)));
  case Element::bf16:
    return put(bf16(static_cast<float>(value)));
  case Element::f32:
    return put(static_cast<float>(value));
  case Element::f64:
    return put(value);
  case Element::f8e4m3:
    return put(f8e4m3(static_cast<float>(value)));
  case Element::f8e5m2:
    return put(f8e5m2(static_cast<float>(value)));
  case Element::f8e8m0:
    return put(f8e8m0(static_cast<float>(value)));
  case Element::f4e2m1x2: // both halves of the byte
  case Element::i4x2:
  case Element::f6e2m3_packed:
  case Element::f6e3m2_packed:
    return put(static_cast<uint8_t>(static_cast<int64_t>(value) * 0x35));
  case Element::i1:
    return put(static_cast<uint8_t>(value > 0));
  case Element::i8:
    return put(static_cast<int8_t>(value));
  case Element::i16:
    return put(static_cast<int16_t>(value));
  case Element::i32:
    return put(static_cast<int32_t>(value));
  case Element::i64:
  case Element::index:
    return put(static_cast<int64_t>(value));
  }
}

double read(const uint8_t *from, Element element) {
  auto get = [&](auto typed) {
    std::memcpy(&typed, from, sizeof typed);
    return typed;
  };
  switch (element) {
  case Element::f16:
    return static_cast<float>(get(f16()));
  case Element::bf16:
    return static_cast<float>(get(bf16()));
  case Element::f32:
    return get(float());
  case Element::f64:
    return get(double());
  case Element::f8e4m3:
    return static_cast<float>(get(f8e4m3()));
  case Element::f8e5m2:
    return static_cast<float>(get(f8e5m2()));
  case Element::f8e8m0:
    return static_cast<float>(get(f8e8m0()));
  case Element::f4e2m1x2:
  case Element::i4x2:
  case Element::f6e2m3_packed:
  case Element::f6e3m2_packed:
    return get(uint8_t());
  case Element::i1:
    return get(uint8_t());
  case Element::i8:
    return get(int8_t());
  case Element::i16:
    return get(int16_t());
  case Element::i32:
    return get(int32_t());
  case Element::i64:
  case Element::index:
    return static_cast<double>(get(int64_t()));
  }
  return 0;
}

void randomElement(Random &random, uint8_t *to, const TensorDecl &tensor) {
  bool wild = tensor.holds == Class::Wild && random.chance(20);
  if (wild && tensor.element != Element::i1) {
    if (isFloat(tensor.element) && random.chance(50))
      return write(to, tensor.element,
                   random.of({NAN, INFINITY, -INFINITY, -0.0f, 1e-40f, 6e4f, 1e30f, -2e-8f}));
    uint64_t bits = random.next();
    std::memcpy(to, &bits, bytes_of(tensor.element));
    return;
  }
  bool quarters = isFloat(tensor.element) && tensor.element != Element::f8e4m3 &&
                  tensor.element != Element::f8e5m2;
  write(to, tensor.element,
        quarters ? static_cast<double>(random.between(-32, 32)) / 4
                 : static_cast<double>(random.between(-8, 8)));
}

/// Sums of functions of bounded arguments, each halved before the next is
/// added: below 2 * e^4, with an error of a few units of f32 for each term.
constexpr double roundedTolerance = 2e-4;

} // namespace

Data::Data(const Program &program) {
  Random random(derive(program.seed, 77));
  for (const TensorDecl &tensor : program.tensors) {
    detail::Argument argument;
    argument.tensor = true;
    argument.element = tensor.element;
    argument.sizes = tensor.sizes;
    argument.strides.assign(tensor.sizes.size(), 1);
    int64_t elements = 1;
    for (size_t d = tensor.sizes.size(); d-- > 0;) {
      argument.strides[d] = elements;
      elements *= tensor.sizes[d];
      if (d + 1 == tensor.sizes.size() && d > 0)
        elements += tensor.padding;
    }
    size_t width = bytes_of(tensor.element);
    std::vector<uint8_t> memory(static_cast<size_t>(elements) * width + 64);
    for (int64_t i = 0; i < elements; ++i)
      randomElement(random, memory.data() + static_cast<size_t>(i) * width, tensor);
    bytes.push_back(std::move(memory));
    packed.push_back(std::move(argument));
  }
  for (const ScalarDecl &scalar : program.scalars) {
    detail::Argument argument;
    argument.element = scalar.element;
    write(reinterpret_cast<uint8_t *>(&argument.scalar), scalar.element,
          static_cast<double>(scalar.value));
    packed.push_back(argument);
  }
}

std::vector<detail::Argument> Data::arguments() const {
  std::vector<detail::Argument> result = packed;
  for (size_t i = 0; i < bytes.size(); ++i)
    result[i].data = const_cast<uint8_t *>(bytes[i].data());
  return result;
}

std::string Data::difference(const Data &other, const Program &program) const {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const TensorDecl &tensor = program.tensors[i];
    size_t width = bytes_of(tensor.element);
    for (size_t at = 0; at + width <= bytes[i].size(); at += width) {
      const uint8_t *a = bytes[i].data() + at, *b = other.bytes[i].data() + at;
      if (!std::memcmp(a, b, width))
        continue;
      double x = read(a, tensor.element), y = read(b, tensor.element);
      if (isFloat(tensor.element) && std::isnan(x) && std::isnan(y))
        continue;
      if (tensor.holds == Class::Rounded && std::abs(x - y) <= roundedTolerance)
        continue;
      char text[200];
      std::snprintf(text, sizeof text, "element %zu of argument %zu (%s) is %.17g and %.17g",
                    at / width, i, name_of(tensor.element).c_str(), x, y);
      return text;
    }
  }
  return "";
}
