//===- Distribution.cpp - A tile over the registers of threads ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Distribution.h"

#include <algorithm>
#include <cassert>
#include <charconv>

namespace penstock::layout {
namespace {

using Digit = Distribution::Digit;

constexpr int64_t warpThreads = 32;

int64_t extentOf(const std::vector<Digit> &digits) {
  int64_t product = 1;
  for (const Digit &digit : digits)
    product *= digit.extent;
  return product;
}

std::vector<int64_t> coordinateOf(const std::vector<Digit> &digits, int64_t number, size_t rank) {
  std::vector<int64_t> at(rank, 0);
  for (const Digit &digit : digits) {
    if (digit.dim >= 0)
      at[size_t(digit.dim)] += number % digit.extent * digit.stride;
    number /= digit.extent;
  }
  return at;
}

/// The largest coordinate along \p dim that the digits reach.
int64_t largest(const std::vector<Digit> &digits, int64_t dim) {
  int64_t sum = 0;
  for (const Digit &digit : digits)
    if (digit.dim == dim)
      sum += (digit.extent - 1) * digit.stride;
  return sum;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t powerOf2Ceil(int64_t value) {
  int64_t power = 1;
  while (power < value)
    power *= 2;
  return power;
}

} // namespace

int64_t Distribution::threads() const { return extentOf(threadDigits); }
int64_t Distribution::registers() const { return extentOf(registerDigits); }

std::vector<int64_t> Distribution::baseOf(int64_t thread) const {
  return coordinateOf(threadDigits, thread, rank());
}

std::vector<int64_t> Distribution::offsetOf(int64_t reg) const {
  return coordinateOf(registerDigits, reg, rank());
}

bool Distribution::isFull() const {
  for (size_t dim = 0; dim < rank(); ++dim)
    if (largest(threadDigits, int64_t(dim)) + largest(registerDigits, int64_t(dim)) >= shape[dim])
      return false;
  return true;
}

int64_t Distribution::run() const {
  int64_t last = int64_t(rank()) - 1, length = 1;
  if (rank() == 0 || registerDigits.empty() || registerDigits[0].dim != last ||
      registerDigits[0].stride != 1)
    return 1;
  auto holds = [&](int64_t length) {
    if (registerDigits[0].extent % length != 0 || shape.back() % length != 0)
      return false;
    auto aligned = [&](const Digit &digit) {
      return digit.dim != last || digit.extent == 1 || digit.stride % length == 0;
    };
    return std::all_of(threadDigits.begin(), threadDigits.end(), aligned) &&
           std::all_of(registerDigits.begin() + 1, registerDigits.end(), aligned);
  };
  while (holds(2 * length))
    length *= 2;
  return length;
}

int64_t Distribution::largestRemainder(unsigned dim, int64_t piece) const {
  int64_t sum = 0;
  for (const Digit &digit : threadDigits)
    if (digit.dim == int64_t(dim) && digit.stride % piece != 0)
      sum += (digit.extent - 1) * digit.stride;
  return std::min(sum, piece - 1);
}

Distribution Distribution::slice(unsigned dim) const {
  Distribution result;
  result.shape = shape;
  result.shape.erase(result.shape.begin() + dim);
  for (Digit digit : threadDigits) {
    if (digit.dim == int64_t(dim))
      digit = {digit.extent, -1, 0};
    else if (digit.dim > int64_t(dim))
      --digit.dim;
    // Copies over neighboring digits are one digit, so that equal slices compare equal.
    if (digit.dim == -1 && !result.threadDigits.empty() && result.threadDigits.back().dim == -1)
      result.threadDigits.back().extent *= digit.extent;
    else if (digit.extent > 1)
      result.threadDigits.push_back(digit);
  }
  for (Digit digit : registerDigits) {
    if (digit.dim == int64_t(dim) || digit.extent == 1)
      continue;
    if (digit.dim > int64_t(dim))
      --digit.dim;
    result.registerDigits.push_back(digit);
  }
  return result;
}

std::optional<Distribution::Part> Distribution::part(unsigned dim, int64_t first,
                                                     int64_t size) const {
  if (size < 1 || first < 0 || first + size > shape[dim])
    return std::nullopt;
  // Only the digit of the largest stride is divided.
  size_t top = registerDigits.size();
  int64_t below = 0; // what all others add at most
  for (size_t i = 0; i < registerDigits.size(); ++i)
    if (registerDigits[i].dim == int64_t(dim) &&
        (top == registerDigits.size() || registerDigits[i].stride > registerDigits[top].stride))
      top = i;
  bool whole = size == shape[dim];
  if (!whole && top == registerDigits.size())
    return std::nullopt;
  for (const Digit &digit : threadDigits)
    below += digit.dim == int64_t(dim) ? (digit.extent - 1) * digit.stride : 0;
  for (size_t i = 0; i < registerDigits.size(); ++i)
    if (i != top && registerDigits[i].dim == int64_t(dim))
      below += (registerDigits[i].extent - 1) * registerDigits[i].stride;
  int64_t stride = whole ? 1 : registerDigits[top].stride;
  if (!whole && (below >= stride || first % stride || size % stride))
    return std::nullopt;
  Part result{*this, {}};
  result.layout.shape[dim] = size;
  if (!whole)
    result.layout.registerDigits[top].extent = size / stride;
  for (int64_t reg = 0; reg < result.layout.registers(); ++reg) {
    int64_t rest = reg, weight = 1, of = 0;
    for (size_t i = 0; i < registerDigits.size(); ++i) {
      int64_t value = rest % result.layout.registerDigits[i].extent;
      rest /= result.layout.registerDigits[i].extent;
      of += (value + (!whole && i == top ? first / stride : 0)) * weight;
      weight *= registerDigits[i].extent;
    }
    result.registers.push_back(of);
  }
  // Equal layouts have no digits of one value.
  std::erase_if(result.layout.registerDigits, [](const Digit &digit) { return digit.extent == 1; });
  return result;
}

int64_t Distribution::sliceRegister(unsigned dim, int64_t reg) const {
  int64_t result = 0, weight = 1;
  for (const Digit &digit : registerDigits) {
    if (digit.dim != int64_t(dim)) {
      result += reg % digit.extent * weight;
      weight *= digit.extent;
    }
    reg /= digit.extent;
  }
  return result;
}

Distribution distributionOf(const Fragment &fragment) {
  Distribution result;
  result.shape = {fragment.rows, fragment.cols};
  auto digitsOf = [](const std::vector<Fragment::Term> &rows,
                     const std::vector<Fragment::Term> &cols, int64_t total) {
    std::vector<std::pair<Fragment::Term, int64_t>> terms;
    for (const Fragment::Term &term : rows)
      terms.push_back({term, 0});
    for (const Fragment::Term &term : cols)
      terms.push_back({term, 1});
    std::erase_if(terms, [](const auto &term) { return term.first.mod == 1; });
    std::sort(terms.begin(), terms.end(),
              [](const auto &a, const auto &b) { return a.first.div < b.first.div; });
    std::vector<Digit> digits;
    int64_t weight = 1;
    for (const auto &[term, dim] : terms) {
      assert(term.div % weight == 0 && "terms must form a mixed radix");
      if (term.div > weight)
        digits.push_back({term.div / weight, -1, 0});
      digits.push_back({term.mod, dim, term.stride});
      weight = term.div * term.mod;
    }
    if (weight < total)
      digits.push_back({ceilDiv(total, weight), -1, 0});
    return digits;
  };
  result.threadDigits = digitsOf(fragment.rowTerms, fragment.colTerms, fragment.threads);
  result.registerDigits =
      digitsOf(fragment.rowRegisterTerms, fragment.colRegisterTerms, fragment.registers);
  return result;
}

Distribution blocked(const std::vector<int64_t> &shape, int64_t threads, int64_t vector) {
  Distribution result;
  result.shape = shape;
  int64_t left = 1;
  while (left * 2 <= threads)
    left *= 2;
  int64_t used = left;
  std::vector<Digit> outer; // what a thread does in several rounds
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    bool last = dim + 1 == int64_t(shape.size());
    int64_t each = last ? vector : 1;
    if (last && each > 1)
      result.registerDigits.push_back({each, dim, 1});
    int64_t pieces = ceilDiv(shape[size_t(dim)], each);
    int64_t along = std::min(left, powerOf2Ceil(pieces));
    if (along > 1)
      result.threadDigits.push_back({along, dim, each});
    left /= along;
    if (int64_t rounds = ceilDiv(pieces, along); rounds > 1)
      outer.push_back({rounds, dim, along * each});
  }
  // Threads that are too many get coordinates beyond the tile: nothing is held twice.
  left *= ceilDiv(threads, used);
  if (left > 1)
    result.threadDigits.push_back({left, 0, powerOf2Ceil(shape[0])});
  result.registerDigits.insert(result.registerDigits.end(), outer.begin(), outer.end());
  return result;
}

Distribution mmaAccumulator(int64_t rows, int64_t cols, int64_t warps, int64_t warpsAlongRows) {
  int64_t warpsAlongCols = warps / warpsAlongRows;
  int64_t ownRows = ceilDiv(rows, warpsAlongRows * 16) * 16;
  int64_t ownCols = ceilDiv(cols, warpsAlongCols * 8) * 8;
  Distribution result;
  result.shape = {rows, cols};
  // Four threads have a row in pairs of columns, two registers are eight rows apart.
  result.threadDigits = {
      {4, 1, 2}, {8, 0, 1}, {warpsAlongRows, 0, ownRows}, {warpsAlongCols, 1, ownCols}};
  result.registerDigits = {{2, 1, 1}, {2, 0, 8}, {ownCols / 8, 1, 8}, {ownRows / 16, 0, 16}};
  std::erase_if(result.threadDigits, [](const Digit &digit) { return digit.extent == 1; });
  std::erase_if(result.registerDigits, [](const Digit &digit) { return digit.extent == 1; });
  assert(result.threads() == warps * warpThreads);
  return result;
}

Distribution tensorMemoryAccumulator(int64_t rows, int64_t cols, int64_t warpgroups) {
  assert(warpgroups > 0 && cols * std::max<int64_t>(1, rows / 128) % warpgroups == 0);
  constexpr int64_t quarters = 4; // of the lanes, one for each warp of a warpgroup
  if (constexpr int64_t few = 64; rows == few || rows == 3 * few) {
    Distribution part = mmaAccumulator(few, cols, quarters * warpgroups, quarters);
    part.shape = {rows, cols};
    if (rows > few)
      part.registerDigits.push_back({rows / few, 0, few});
    return part;
  }
  constexpr int64_t lanes = 128;
  int64_t parts = rows / lanes, sharing = warpgroups / parts; // the columns of a part
  Distribution result;
  result.shape = {rows, cols};
  result.threadDigits = {{lanes, 0, 1}, {parts, 0, lanes}, {sharing, 1, cols / sharing}};
  result.registerDigits = {{cols / sharing, 1, 1}};
  std::erase_if(result.threadDigits, [](const Digit &digit) { return digit.extent == 1; });
  std::erase_if(result.registerDigits, [](const Digit &digit) { return digit.extent == 1; });
  return result;
}

std::string toString(const Distribution &distribution) {
  std::string text;
  for (int64_t size : distribution.shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  auto list = [](const std::vector<Digit> &digits) {
    std::string text;
    for (const Digit &digit : digits)
      text +=
          (text.empty() ? "" : " ") + std::to_string(digit.extent) +
          (digit.dim < 0 ? ":copies"
                         : ":" + std::to_string(digit.dim) + "*" + std::to_string(digit.stride));
    return "[" + text + "]";
  };
  return text + " threads " + list(distribution.threadDigits) + " registers " +
         list(distribution.registerDigits);
}

namespace {

/// Reads the text of a distribution from its front.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}
  bool atEnd() const { return text.empty(); }
  bool take(std::string_view prefix) {
    if (!text.starts_with(prefix))
      return false;
    text.remove_prefix(prefix.size());
    return true;
  }
  std::optional<int64_t> number() {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > int64_t(1) << 30)
      return std::nullopt;
    text.remove_prefix(size_t(end - text.data()));
    return value;
  }
  std::optional<std::vector<Digit>> digits(size_t rank) {
    std::vector<Digit> result;
    if (!take("["))
      return std::nullopt;
    while (!take("]")) {
      if (!result.empty() && !take(" "))
        return std::nullopt;
      Digit digit;
      auto extent = number();
      if (!extent || *extent < 1 || *extent > 65536 || !take(":"))
        return std::nullopt;
      digit.extent = *extent;
      if (!take("copies")) {
        auto dim = number();
        if (!dim || *dim >= int64_t(rank) || !take("*"))
          return std::nullopt;
        auto stride = number();
        if (!stride)
          return std::nullopt;
        digit.dim = *dim;
        digit.stride = *stride;
      }
      result.push_back(digit);
    }
    return result;
  }

private:
  std::string_view text;
};

} // namespace

std::optional<Distribution> parseDistribution(std::string_view text) {
  Reader reader(text);
  Distribution result;
  while (!reader.take(" threads ")) {
    if (!result.shape.empty() && !reader.take("x"))
      return std::nullopt;
    auto size = reader.number();
    if (!size || *size < 1)
      return std::nullopt;
    result.shape.push_back(*size);
  }
  auto threads = reader.digits(result.rank());
  if (!threads || !reader.take(" registers "))
    return std::nullopt;
  auto registers = reader.digits(result.rank());
  if (!registers || !reader.atEnd())
    return std::nullopt;
  result.threadDigits = std::move(*threads);
  result.registerDigits = std::move(*registers);
  if (result.threads() > 1024 || result.registers() > 65536)
    return std::nullopt;
  return result;
}

} // namespace penstock::layout
