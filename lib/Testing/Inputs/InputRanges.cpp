//===- InputRanges.cpp - Values that inputs may have ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/InputRanges.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"
#include "Testing/Inputs/TestData.h"

#include <algorithm>
#include <cmath>

using namespace penstock;

namespace {

/// Returns a size or scalar of a shape; scalars that it does not set are 1.
std::optional<int64_t> valueIn(const std::vector<ArgumentDescription> &arguments,
                               const Shape &shape, const std::string &name) {
  if (auto number = asNumber(name))
    return number;
  for (const auto &[key, number] : shape)
    if (key == name)
      return static_cast<int64_t>(number.value);
  for (const ArgumentDescription &argument : arguments)
    if (!argument.tensor && argument.name == name)
      return 1;
  return std::nullopt;
}

Diagnostic wrongInput(const std::string &text, const std::string &why, std::string help) {
  Diagnostic d;
  d.code = CheckInput;
  d.message = "`--input " + text + "`: " + why;
  d.helps.push_back(std::move(help));
  return d;
}

constexpr const char *form = "inputs are described as lengths=1..N, starts=\"0..T ascending\" or "
                             "order=permutation";

} // namespace

std::string penstock::splitInput(const std::string &text, std::string &name, InputValues &values) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return "`=` is expected after the name of an argument";
  name = text.substr(0, equals);
  std::string error;
  values = parseInputValues(std::string_view(text).substr(equals + 1), error);
  return error;
}

InputRanges::InputRanges(const std::vector<ArgumentDescription> &arguments,
                         const std::string &signature, const ProgramFacts &facts,
                         const std::vector<std::string> &stated,
                         std::vector<Diagnostic> &diagnostics)
    : arguments(arguments), inputs(arguments.size()) {
  Signature parsed = parseSignature(signature);
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto found = facts.indices.find(static_cast<unsigned>(i));
    if (found != facts.indices.end() && !found->second.uses.empty()) {
      inputs[i].source = Source::Inferred;
      inputs[i].indices = found->second;
    }
    if (i < parsed.arguments.size() && !parsed.arguments[i].values.text.empty()) {
      inputs[i].source = Source::Signature;
      inputs[i].values = parsed.arguments[i].values;
    }
  }
  for (const std::string &text : stated) {
    std::string name;
    InputValues values;
    std::string wrong = splitInput(text, name, values);
    std::vector<std::string> known;
    size_t at = inputs.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      known.push_back(arguments[i].name);
      if (arguments[i].name == name)
        at = i;
    }
    if (wrong.empty() && at == inputs.size()) {
      diagnostics.push_back(wrongInput(text, "the kernel has no argument `" + name + "`",
                                       suggestName(name, known, "it has: ")));
      continue;
    }
    if (wrong.empty())
      wrong = checkInputValues(parsed, values, unitOf(arguments[at].element) == 0,
                               arguments[at].tensor);
    if (!wrong.empty()) {
      diagnostics.push_back(wrongInput(text, wrong, form));
      continue;
    }
    inputs[at].source = Source::Stated;
    inputs[at].values = values;
  }
}

std::optional<InputRange> InputRanges::inferred(const Input &input, const Shape &shape) const {
  InputRange range;
  bool direct = false;
  std::optional<int64_t> upper;
  for (const IndexUse &use : input.indices.uses) {
    std::optional<int64_t> extent = use.extent;
    if (use.argument >= 0)
      extent = valueIn(arguments, shape,
                       sizeName(arguments[static_cast<size_t>(use.argument)], int(use.dim)));
    if (!extent)
      continue;
    bool inclusive = use.bound || input.indices.ascending;
    int64_t last = *extent * use.divisor / use.multiplier - !inclusive;
    direct |= !use.bound;
    upper = std::min(upper.value_or(last), last);
  }
  if (!upper)
    return std::nullopt;
  range.lower = direct || input.indices.ascending ? 0 : 1;
  range.upper = static_cast<double>(*upper);
  if (input.indices.ascending)
    range.order = InputValues::Ascending;
  // Tensors without elements have no valid coordinate; nothing may then use it.
  range.upper = std::max(range.upper, range.lower);
  return range;
}

std::optional<InputRange> InputRanges::rangeOf(size_t argument, const Shape &shape) const {
  if (argument >= inputs.size() || inputs[argument].source == Source::None)
    return std::nullopt;
  const Input &input = inputs[argument];
  if (input.source == Source::Inferred)
    return inferred(input, shape);
  auto valueOf = [&](const std::string &name) { return valueIn(arguments, shape, name); };
  InputRange range;
  range.order = input.values.order;
  std::optional<int64_t> lower = 0, upper = 0;
  if (input.values.ranged) {
    lower = input.values.lower.evaluate(valueOf);
    upper = input.values.upper.evaluate(valueOf);
  } else { // a permutation of all positions
    const ArgumentDescription &of = arguments[argument];
    upper = valueOf(sizeName(of, of.rank - 1));
    if (upper)
      --*upper;
  }
  if (!lower || !upper)
    return std::nullopt;
  range.lower = static_cast<double>(*lower);
  range.upper = static_cast<double>(*upper);
  return range;
}

Shape InputRanges::withScalars(Shape shape, size_t number) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool set = std::any_of(shape.begin(), shape.end(),
                           [&](const auto &entry) { return entry.first == arguments[i].name; });
    if (arguments[i].tensor || set)
      continue;
    if (auto range = rangeOf(i, shape))
      shape.emplace_back(arguments[i].name,
                         number % 2 ? std::ceil((range->lower + range->upper) / 2) : range->upper);
  }
  return shape;
}

std::string InputRanges::emptyFor(const Shape &shape) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (auto range = rangeOf(i, shape); range && range->lower > range->upper) {
      bool elements = true;
      for (int d = 0; d < arguments[i].rank; ++d)
        elements &= valueIn(arguments, shape, sizeName(arguments[i], d)).value_or(1) > 0;
      if (elements)
        return "no value of `" + arguments[i].name + "` is in " + inputs[i].values.text;
    }
  return "";
}

std::string InputRanges::inferredText(const Input &input) const {
  std::vector<std::string> limits;
  bool direct = false;
  for (const IndexUse &use : input.indices.uses) {
    std::string limit = use.argument < 0
                            ? std::to_string(use.extent)
                            : sizeName(arguments[static_cast<size_t>(use.argument)], int(use.dim));
    if (use.divisor != 1)
      limit += "*" + std::to_string(use.divisor);
    if (use.multiplier != 1)
      limit += "/" + std::to_string(use.multiplier);
    if (!use.bound && !input.indices.ascending)
      limit += "-1";
    direct |= !use.bound;
    if (std::find(limits.begin(), limits.end(), limit) == limits.end())
      limits.push_back(limit);
  }
  std::string text = direct || input.indices.ascending ? "0.." : "1..";
  if (limits.size() > 1)
    text += "min(";
  for (size_t i = 0; i < limits.size(); ++i)
    text += (i ? "," : "") + limits[i];
  if (limits.size() > 1)
    text += ")";
  return text + (input.indices.ascending ? " ascending" : "");
}

std::string InputRanges::text() const {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input &input = inputs[i];
    if (input.source == Source::None)
      continue;
    text += (text.empty() ? "`" : ", `") + arguments[i].name + "` in ";
    if (input.source == Source::Inferred)
      text += inferredText(input) + " (inferred)";
    else
      text += input.values.text + (input.source == Source::Stated ? " (stated)" : " (signature)");
  }
  return text;
}
