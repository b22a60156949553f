//===- ShapeClasses.cpp - Shapes that share a record ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/ShapeClasses.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"
#include "Dialect/Tile/Signature.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

using namespace penstock;
using namespace penstock::tuning;

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

std::vector<std::string> sizesOfSignature(const std::string &signature) {
  std::vector<std::string> names;
  for (const SignatureArgument &argument : parseSignature(signature).arguments)
    for (const std::string &size : argument.sizes)
      if (!size.empty() && !(size[0] >= '0' && size[0] <= '9') &&
          std::find(names.begin(), names.end(), size) == names.end())
        names.push_back(size);
  return names;
}

/// The whole number that a text is.
std::optional<int64_t> asNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

int log2Of(int64_t size) { return size < 1 ? -1 : std::bit_width(uint64_t(size)) - 1; }

} // namespace

std::optional<ShapeClasses> ShapeClasses::parse(const std::string &text,
                                                const std::string &signature, Loc at,
                                                std::vector<Diagnostic> &diagnostics) {
  ShapeClasses result;
  result.at = at;
  std::vector<std::string> known = sizesOfSignature(signature);
  if (trimmed(text).empty()) {
    for (const std::string &size : known)
      result.terms.push_back({size, false});
    return result;
  }
  auto refuse = [&](std::string message, std::string help) {
    Diagnostic d;
    d.code = TuneClasses;
    d.location = {at.file, at.line, at.column};
    d.message = std::move(message);
    d.helps.push_back(std::move(help));
    diagnostics.push_back(std::move(d));
    return std::nullopt;
  };
  for (std::string_view rest = text; !rest.empty();) {
    size_t comma = rest.find(',');
    std::string_view item = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    size_t colon = item.find(':');
    std::string size(trimmed(item.substr(0, colon)));
    if (colon != std::string_view::npos && trimmed(item.substr(colon + 1)) != "log2")
      return refuse("`" + std::string(item) + "` is not a class of sizes",
                    "a size is written `M`, or `M:log2`");
    if (std::find(known.begin(), known.end(), size) == known.end())
      return refuse("the signature \"" + signature + "\" has no size `" + size + "`",
                    known.empty() ? "give the kernel a signature such as \"A[M,K] -> C[M,K]\""
                                  : suggestName(size, known, "it has: "));
    if (std::ranges::any_of(result.terms, [&](const Term &t) { return t.size == size; }))
      return refuse("the classes name `" + size + "` twice", "name each size once");
    result.terms.push_back({size, colon != std::string_view::npos});
  }
  return result;
}

std::optional<std::string> ShapeClasses::of(const Sizes &shape,
                                            std::vector<Diagnostic> &diagnostics) const {
  std::string text;
  for (const Term &term : terms) {
    auto found = shape.find(term.size);
    if (found == shape.end()) {
      Diagnostic d;
      d.code = TuneClasses;
      d.location = {at.file, at.line, at.column};
      d.message = "the shape " + textOf(shape) + " has no size `" + term.size +
                  "`, which the classes of the space name";
      d.helps.push_back("give it: --shape " + term.size + "=NUMBER,..");
      diagnostics.push_back(std::move(d));
      return std::nullopt;
    }
    text +=
        (text.empty() ? "" : " ") + term.size + "=" +
        (term.log2 ? "2^" + std::to_string(log2Of(found->second)) : std::to_string(found->second));
  }
  return text.empty() ? "any" : text;
}

double ShapeClasses::distance(const Sizes &shape, const std::string &shapeClass) const {
  double sum = 0;
  std::string_view rest = shapeClass == "any" ? std::string_view() : std::string_view(shapeClass);
  for (const Term &term : terms) {
    std::string_view item = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    auto size = shape.find(term.size);
    if (size == shape.end() || !item.starts_with(term.size + "="))
      return INFINITY;
    item.remove_prefix(term.size.size() + 1);
    bool power = item.starts_with("2^");
    auto number = asNumber(power ? item.substr(2) : item);
    if (!number || power != term.log2)
      return INFINITY;
    auto logarithm = [](int64_t value) {
      return std::log2(double(std::max<int64_t>(value, 0)) + 1);
    };
    sum += power ? std::abs(double(log2Of(size->second)) - double(*number))
                 : std::abs(logarithm(size->second) - logarithm(*number));
  }
  return rest.empty() ? sum : INFINITY;
}

Sizes tuning::sizesOf(const Shape &shape) {
  Sizes sizes;
  for (const auto &[name, number] : shape)
    if (number.value >= 0 && number.value <= 0x1p40 && number.value == std::floor(number.value))
      sizes[name] = int64_t(number.value);
  return sizes;
}

std::string tuning::textOf(const Sizes &sizes) {
  std::string text;
  for (const auto &[name, value] : sizes)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return text;
}
