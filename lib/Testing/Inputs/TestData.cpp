//===- TestData.cpp - Arguments made from a signature, and their comparison -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/TestData.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"
#include "Runtime/KernelInfo.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <set>

using namespace penstock;

namespace {

/// Calls \p body with a null pointer of the element's type.
template <class F> auto withType(Element element, F &&body) {
  switch (element) {
  case Element::f16:
    return body(static_cast<f16 *>(nullptr));
  case Element::bf16:
    return body(static_cast<bf16 *>(nullptr));
  case Element::f32:
    return body(static_cast<float *>(nullptr));
  case Element::f64:
    return body(static_cast<double *>(nullptr));
  case Element::f8e4m3:
    return body(static_cast<f8e4m3 *>(nullptr));
  case Element::f8e5m2:
    return body(static_cast<f8e5m2 *>(nullptr));
  case Element::f8e8m0:
    return body(static_cast<f8e8m0 *>(nullptr));
  case Element::f4e2m1x2:
    return body(static_cast<f4e2m1x2 *>(nullptr));
  case Element::i4x2:
    return body(static_cast<i4x2 *>(nullptr));
  case Element::f6e2m3_packed:
    return body(static_cast<f6e2m3_packed *>(nullptr));
  case Element::f6e3m2_packed:
    return body(static_cast<f6e3m2_packed *>(nullptr));
  case Element::i1:
    return body(static_cast<bool *>(nullptr));
  case Element::i8:
    return body(static_cast<int8_t *>(nullptr));
  case Element::i16:
    return body(static_cast<int16_t *>(nullptr));
  case Element::i32:
    return body(static_cast<int32_t *>(nullptr));
  case Element::i64:
  case Element::index:
    break;
  }
  return body(static_cast<int64_t *>(nullptr));
}

void write(Element element, void *at, double value) {
  withType(element, [&]<class T>(T *) {
    T converted;
    if constexpr (std::is_arithmetic_v<T>)
      converted = static_cast<T>(value);
    else if constexpr (std::is_same_v<T, f8e8m0>)
      converted = T(static_cast<float>(std::exp2(value)));
    else if constexpr (std::is_same_v<T, f4e2m1x2>)
      converted = T(static_cast<float>(value), static_cast<float>(1 - value));
    else if constexpr (std::is_same_v<T, i4x2>)
      converted = T(static_cast<int>(3 * value), static_cast<int>(1 - 2 * value));
    else if constexpr (detail::isSixBit<T>) // pieces of several values
      converted.raw = static_cast<uint8_t>(static_cast<int64_t>(64 * value) * 37);
    else
      converted = T(static_cast<float>(value));
    std::memcpy(at, &converted, sizeof converted);
  });
}

bool isFloat(Element element) {
  return withType(element, []<class T>(T *) { return !std::is_integral_v<T>; });
}

/// A sequence that is the same on every platform and differs for each argument.
class Sequence {
public:
  Sequence(uint64_t seed, size_t argument) : state(seed * 0x9e3779b97f4a7c15 + argument) {}
  uint32_t next() {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
  }

private:
  uint64_t state;
};

/// Magnitudes of neighboring stripes of rows and of columns, as negative powers of two. Tiles
/// then differ in their maxima, which running maxima and sums have to follow: they mostly rise.
constexpr int stripeExponents[] = {2, 1, 2, 1, 2, 1, 1, 0};

/// Position of an element in stripes: at most 32 rows, and an eighth of the columns.
class Stripes {
public:
  Stripes(const detail::Argument &tensor, size_t elements)
      : columns(tensor.sizes.size() > 1 ? size_t(tensor.sizes.back()) : 1),
        rowsOfStripe(std::clamp<size_t>(elements / std::max<size_t>(1, 8 * columns), 1, 32)),
        columnsOfStripe((columns + 7) / 8) {}
  int exponentAt(size_t element) const {
    int row = stripeExponents[stripeOf(element) % 8];
    int column = columns > 1 ? stripeExponents[element % columns / columnsOfStripe % 8] : 0;
    return row + column;
  }
  /// Returns whether all elements of the row are positive: means are then not near 0.
  bool isPositive(size_t element) const { return stripeOf(element) % 4 == 1; }

private:
  size_t stripeOf(size_t element) const { return element / columns / rowsOfStripe; }

  size_t columns, rowsOfStripe, columnsOfStripe;
};

/// Draws an element of a stripe.
double draw(Sequence &sequence, Element element, Data data, int exponent) {
  uint32_t bits = sequence.next();
  if (element == Element::i1)
    return bits >> 31;
  if (data == Data::Random && isFloat(element))
    return std::ldexp(static_cast<double>(static_cast<int32_t>(bits)), -31 - exponent);
  uint32_t largest = exponent > 2 ? 1 : 2;
  return static_cast<double>(bits % (2 * largest + 1)) - largest;
}

/// Returns an integer of a range; floating-point values are between its bounds.
double drawBetween(Sequence &sequence, Element element, double lower, double upper) {
  double part = static_cast<double>(sequence.next()) * 0x1p-32;
  if (isFloat(element))
    return lower + part * (upper - lower);
  return std::min(upper, lower + std::floor(part * (upper - lower + 1)));
}

/// Values of a described input, in order.
std::vector<double> drawRange(Sequence &sequence, const detail::Argument &tensor,
                              const InputRange &range) {
  size_t elements = elementsOf(tensor);
  size_t row = tensor.sizes.empty() ? 1 : static_cast<size_t>(tensor.sizes.back());
  std::vector<double> values(elements);
  for (size_t i = 0; i < elements; ++i)
    values[i] = drawBetween(sequence, tensor.element, range.lower, range.upper);
  switch (range.order) {
  case InputValues::Any:
    // Bounds occur, and the value after the lower one; the first element is any if there are many.
    for (size_t i = 0, at = elements > 8; i < 3 && at < elements; ++i, ++at)
      values[at] = i == 0 ? range.upper : std::min(range.lower + double(i - 1), range.upper);
    break;
  case InputValues::Ascending:
    for (size_t begin = 0; row > 0 && begin < elements; begin += row) {
      // Ranges of uneven lengths: most begin early.
      for (size_t i = begin; i < begin + row; ++i) {
        double part = static_cast<double>(sequence.next()) * 0x1p-32;
        double value = range.lower + part * part * part * (range.upper - range.lower);
        values[i] = isFloat(tensor.element) ? value : std::floor(value);
      }
      std::sort(values.begin() + int64_t(begin), values.begin() + int64_t(begin + row));
      values[begin] = range.lower;
      values[begin + row - 1] = range.upper;
    }
    break;
  case InputValues::Permutation:
    for (size_t begin = 0; row > 0 && begin < elements; begin += row) {
      for (size_t i = 0; i < row; ++i)
        values[begin + i] = range.lower + static_cast<double>(i);
      for (size_t left = row; left > 1; --left)
        std::swap(values[begin + left - 1], values[begin + sequence.next() % left]);
    }
    break;
  case InputValues::Partition: {
    double rest = range.upper - range.lower * static_cast<double>(elements);
    for (double &value : values)
      value = drawBetween(sequence, tensor.element, 0, std::max(0.0, rest));
    std::sort(values.begin(), values.end());
    double before = 0;
    for (size_t i = 0; i < elements; ++i) {
      double end = i + 1 == elements ? rest : values[i];
      values[i] = range.lower + end - before;
      before = end;
    }
    break;
  }
  }
  return values;
}

/// Value of outputs before the launch: results of exact data are rarely equal to it.
constexpr double untouched = -77;

const Number *find(const Shape &shape, const std::string &name) {
  for (const auto &[key, value] : shape)
    if (key == name)
      return &value;
  return nullptr;
}

std::vector<Diagnostic> usageError(std::string message) {
  Diagnostic d;
  d.code = ToolUsage;
  d.message = std::move(message);
  return {d};
}

/// Returns the largest magnitude in the floating-point tensors that are read, or in all if there
/// are none: indices and lengths say nothing about rounding.
double largestInput(const std::vector<ArgumentDescription> &descriptions,
                    const MadeArguments &made) {
  double largest = 0;
  auto isRead = [](const ArgumentDescription &d) { return d.tensor && !d.written; };
  bool anyReal = std::any_of(descriptions.begin(), descriptions.end(),
                             [&](const auto &d) { return isRead(d) && unitOf(d.element) > 0; });
  for (size_t i = 0; i < descriptions.size(); ++i)
    if (isRead(descriptions[i]) && (!anyReal || unitOf(descriptions[i].element) > 0))
      for (size_t e = 0; e < elementsOf(made.arguments[i]); ++e)
        largest = std::max(largest, std::fabs(element_at(made.arguments[i], e)));
  return largest;
}

std::string textOf(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// Returns whether an integer scalar can hold a value; floating-point ones round.
bool holds(Element element, double value) {
  if (isFloat(element))
    return true;
  return withType(element, [&]<class T>(T *) {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      // The largest value itself may not be a double: the one after it is.
      return value == std::floor(value) && value >= static_cast<double>(Limits::min()) &&
             value < std::ldexp(1.0, Limits::digits);
    }
    return true;
  });
}

/// Returns errors in the names of a shape.
std::vector<Diagnostic> checkNames(const std::vector<ArgumentDescription> &descriptions,
                                   const Shape &shape) {
  std::vector<std::string> known;
  auto add = [&](const std::string &name) {
    if (std::find(known.begin(), known.end(), name) == known.end() && !asNumber(name))
      known.push_back(name);
  };
  for (const ArgumentDescription &description : descriptions) {
    if (!description.tensor)
      add(description.name);
    for (int d = 0; d < description.rank; ++d)
      add(sizeName(description, d));
  }
  std::set<std::string> seen;
  for (const auto &[name, value] : shape) {
    bool unknown = std::find(known.begin(), known.end(), name) == known.end();
    if (!unknown && seen.insert(name).second)
      continue;
    auto wrong = usageError(unknown ? "the kernel has no size or scalar `" + name + "`"
                                    : "`" + name + "` is given twice");
    if (unknown)
      wrong[0].helps.push_back(suggestName(name, known, "it has: "));
    return wrong;
  }
  return {};
}

} // namespace

const char *penstock::nameOf(Data data) { return data == Data::Random ? "random" : "exact"; }

double penstock::element_at(const detail::Argument &tensor, size_t index) {
  const char *at = static_cast<const char *>(tensor.data) + index * bytesOf(tensor.element);
  return withType(tensor.element, [&]<class T>(T *) {
    T value;
    std::memcpy(&value, at, sizeof value);
    if constexpr (detail::isPacked<T>)
      return static_cast<double>(value.raw);
    else
      return static_cast<double>(value);
  });
}

std::string penstock::sizeName(const ArgumentDescription &argument, int dim) {
  return static_cast<size_t>(dim) < argument.sizes.size() ? argument.sizes[static_cast<size_t>(dim)]
                                                          : argument.name + std::to_string(dim);
}

std::optional<int64_t> penstock::asNumber(const std::string &size) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
  if (error != std::errc() || end != size.data() + size.size())
    return std::nullopt;
  return value;
}

MadeArguments penstock::make_arguments(const std::vector<ArgumentDescription> &descriptions,
                                       const Shape &shape, Data data, uint64_t seed) {
  return makeArguments(descriptions, shape, data, seed, {});
}

MadeArguments penstock::makeArguments(const std::vector<ArgumentDescription> &descriptions,
                                      const Shape &shape, Data data, uint64_t seed,
                                      const InputRanges &ranges) {
  MadeArguments made;
  made.diagnostics = checkNames(descriptions, shape);
  if (!made.diagnostics.empty())
    return made;
  for (const ArgumentDescription &description : descriptions) {
    detail::Argument argument;
    argument.tensor = description.tensor;
    argument.element = description.element;
    made.memory.emplace_back();
    if (!description.tensor) {
      const Number *given = find(shape, description.name);
      if (given && !holds(description.element, given->value)) {
        made.diagnostics =
            usageError("the scalar `" + description.name + "` is " + nameOf(description.element) +
                       "; it cannot be " + textOf(given->value));
        return made;
      }
      // Factors of 1 would hide that they are missing.
      double otherwise = unitOf(description.element) > 0 ? 0.5 : 1;
      write(description.element, &argument.scalar, given ? given->value : otherwise);
      made.arguments.push_back(std::move(argument));
      continue;
    }
    for (int d = 0; d < description.rank; ++d) {
      std::string name = sizeName(description, d);
      const Number *given = find(shape, name);
      std::optional<int64_t> size = asNumber(name);
      if (!size && given && given->value >= 0 && given->value < 0x1p40 &&
          given->value == std::floor(given->value))
        size = static_cast<int64_t>(given->value);
      if (!size) {
        made.diagnostics =
            usageError(given ? "the size `" + name + "` cannot be " + textOf(given->value)
                             : "the size `" + name + "` of `" + description.name +
                                   "` is not given; use --shape " + name + "=..");
        return made;
      }
      argument.sizes.push_back(*size);
    }
    argument.strides.assign(argument.sizes.size(), 1);
    double total = 1;
    for (int64_t size : argument.sizes)
      total *= static_cast<double>(size);
    if (total > 0x1p32) {
      made.diagnostics = usageError("`" + description.name + "` has more than 2^32 elements");
      return made;
    }
    for (size_t d = argument.sizes.size(); d-- > 1;)
      argument.strides[d - 1] = argument.strides[d] * argument.sizes[d];
    size_t elements = static_cast<size_t>(total), bytes = bytesOf(description.element);
    auto &memory = made.memory.back();
    memory.resize((elements + 1) * bytes);
    argument.data = memory.data();
    size_t number = made.arguments.size();
    // Shapes have different data: what one does not notice, another may.
    Sequence sequence(seed + 131 * elements, number);
    if (auto range = ranges.rangeOf(number, shape)) {
      std::vector<double> values = drawRange(sequence, argument, *range);
      for (size_t i = 0; i < elements; ++i)
        write(description.element, memory.data() + i * bytes, values[i]);
    } else {
      Stripes stripes(argument, elements);
      for (size_t i = 0; i < elements; ++i) {
        double value = draw(sequence, description.element, data, stripes.exponentAt(i));
        write(description.element, memory.data() + i * bytes,
              stripes.isPositive(i) ? std::fabs(value) : value);
      }
    }
    made.arguments.push_back(std::move(argument));
  }
  return made;
}

void penstock::markOutput(detail::Argument &tensor) {
  size_t elements = elementsOf(tensor), bytes = bytesOf(tensor.element);
  for (size_t i = 0; i < elements; ++i)
    write(tensor.element, static_cast<char *>(tensor.data) + i * bytes,
          tensor.element == Element::i1 ? 0 : untouched);
}

size_t penstock::elementsOf(const detail::Argument &tensor) {
  size_t elements = tensor.tensor ? 1 : 0;
  for (int64_t size : tensor.sizes)
    elements *= static_cast<size_t>(size);
  return elements;
}

MadeArguments penstock::copyOf(const MadeArguments &from) {
  MadeArguments copy = from;
  for (size_t i = 0; i < copy.arguments.size(); ++i)
    if (copy.arguments[i].tensor)
      copy.arguments[i].data = copy.memory[i].data();
  return copy;
}

double penstock::unitOf(Element element) {
  switch (element) {
  case Element::f64:
    return 0x1p-53;
  case Element::f32:
    return 0x1p-24;
  case Element::f16:
    return 0x1p-11;
  case Element::bf16:
    return 0x1p-8;
  case Element::f8e4m3:
    return 0x1p-4;
  case Element::f8e5m2:
    return 0x1p-3;
  case Element::f8e8m0:
    return 0x1p-1;
  default:
    return 0;
  }
}

int64_t penstock::longestReduction(const std::vector<ArgumentDescription> &descriptions,
                                   const MadeArguments &made) {
  int64_t longest = 1;
  for (size_t i = 0; i < descriptions.size(); ++i)
    for (int d = 0; d < descriptions[i].rank; ++d)
      if (isReduced(descriptions, sizeName(descriptions[i], d)))
        longest = std::max(longest, made.arguments[i].sizes[static_cast<size_t>(d)]);
  return longest;
}

bool penstock::isReduced(const std::vector<ArgumentDescription> &descriptions,
                         const std::string &size) {
  if (asNumber(size))
    return false;
  for (const ArgumentDescription &argument : descriptions)
    for (int d = 0; argument.written && d < argument.rank; ++d)
      if (sizeName(argument, d) == size)
        return false;
  return true;
}

Difference penstock::compareResults(const std::vector<ArgumentDescription> &descriptions,
                                    const MadeArguments &got, const ExpectedResults &want,
                                    Data data) {
  Difference difference;
  double terms = static_cast<double>(longestReduction(descriptions, want));
  double tolerated = want.tolerance.of_largest;
  if (tolerated > 0)
    tolerated *= largestInput(descriptions, want);
  // Both sides sum in f32, in some order, what are at most `terms` products below
  // 1, and round the sum once.
  auto boundOf = [&](Element element, double value) {
    if (want.isExact(data))
      return 0.0;
    double rounding = 2 * unitOf(element) * std::fabs(value);
    if (want.tolerance.of_largest > 0)
      return tolerated + rounding;
    return 2 * terms * terms * 0x1p-24 + rounding;
  };
  for (size_t i = 0; i < descriptions.size(); ++i) {
    if (!descriptions[i].tensor || !descriptions[i].written)
      continue;
    const detail::Argument &ours = got.arguments[i], &theirs = want.arguments[i];
    size_t elements = elementsOf(ours);
    if (std::memcmp(ours.data, theirs.data, elements * bytesOf(ours.element)) == 0)
      continue;
    for (size_t e = 0; e < elements; ++e) {
      double x = element_at(ours, e), y = element_at(theirs, e);
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      double bound = boundOf(ours.element, y);
      if (std::fabs(x - y) <= bound)
        continue;
      if (difference.elements++ == 0) {
        std::string indices;
        size_t rest = e;
        for (size_t d = ours.sizes.size(); d-- > 0;) {
          size_t size = static_cast<size_t>(ours.sizes[d]);
          indices = (d ? "," : "") + std::to_string(rest % size) + indices;
          rest /= size;
        }
        difference.first = "`" + descriptions[i].name + "[" + indices + "]` is " + textOf(x) +
                           " and should be " + textOf(y);
        if (bound > 0)
          difference.first += " within " + textOf(bound);
      }
    }
  }
  return difference;
}
