//===- Points.cpp - Points of a space for tuning --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Points.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::tuning;

Points::Points(const detail::TunableKernel &kernel) : tunable(kernel) {
  auto refuse = [&](std::string message, std::string help) {
    Diagnostic d;
    d.code = TuneSpace;
    d.location = {tunable.space.at.file, tunable.space.at.line, tunable.space.at.column};
    d.message = std::move(message);
    d.helps.push_back(std::move(help));
    problems.push_back(std::move(d));
  };
  findNames();
  std::shared_ptr<void> object;
  {
    void *made = nullptr;
    tunable.make(made);
    object = {made, tunable.destroy};
  }
  for (const detail::TuningAxis &axis : tunable.space.axes) {
    axis.get(object.get(), defaults);
    if (axis.values.empty()) {
      refuse("an axis of the space of `" + tunable.name + "` has no values", "give at least one");
      count = 0;
      return;
    }
    if (axis.values.size() > most / count) {
      refuse("the space of `" + tunable.name + "` has more than " + std::to_string(most) +
                 " points",
             "give fewer values, or set fields together: over(&K::a, &K::b, {{1, 2}, ..})");
      count = 0;
      return;
    }
    count *= axis.values.size();
  }
  for (size_t i = 0; i < fieldNames.size(); ++i)
    if (std::find(fieldNames.begin(), fieldNames.begin() + long(i), fieldNames[i]) !=
        fieldNames.begin() + long(i)) {
      refuse("the space of `" + tunable.name + "` has two axes for `" + fieldNames[i] + "`",
             "put all of its values into one");
      count = 0;
      return;
    }
  auto found = find(defaults);
  hasOther = !found;
  given = found.value_or(count);
}

void Points::findNames() {
  void *made = nullptr;
  tunable.make(made);
  std::shared_ptr<void> object(made, tunable.destroy);
  for (const detail::TuningAxis &axis : tunable.space.axes)
    for (size_t offset : axis.offsets) {
      std::string name = "field_at_" + std::to_string(offset);
      for (const detail::Field &field : tunable.fields)
        if (field.address &&
            field.address(field, object.get()) == static_cast<const char *>(object.get()) + offset)
          name = field.name;
      fieldNames.push_back(std::move(name));
    }
}

std::vector<size_t> Points::choicesOf(size_t point) const {
  std::vector<size_t> choices(tunable.space.axes.size());
  for (size_t i = choices.size(); i-- > 0;) {
    choices[i] = point % tunable.space.axes[i].values.size();
    point /= tunable.space.axes[i].values.size();
  }
  return choices;
}

std::vector<std::string> Points::valuesOf(size_t point) const {
  if (point >= count)
    return defaults;
  std::vector<std::string> values;
  std::vector<size_t> choices = choicesOf(point);
  for (size_t i = 0; i < choices.size(); ++i)
    for (const std::string &value : tunable.space.axes[i].values[choices[i]])
      values.push_back(value);
  return values;
}

std::shared_ptr<void> Points::make(size_t point) const {
  void *made = nullptr;
  tunable.make(made);
  std::shared_ptr<void> object(made, tunable.destroy);
  if (point >= count)
    return object;
  std::vector<size_t> choices = choicesOf(point);
  for (size_t i = 0; i < choices.size(); ++i)
    tunable.space.axes[i].set(object.get(), choices[i]);
  return object;
}

FieldTexts Points::fields(size_t point) const {
  FieldTexts result;
  std::vector<std::string> values = valuesOf(point);
  for (size_t i = 0; i < values.size(); ++i)
    result.emplace_back(fieldNames[i], values[i]);
  return result;
}

bool Points::allowed(const void *kernel) const {
  bool holds = true;
  for (const auto &condition : tunable.space.where)
    condition(kernel, holds);
  return holds;
}

detail::KernelSource Points::source(const void *kernel) const {
  return tunable.source(kernel, tunable.name.c_str(), tunable.at);
}

std::optional<size_t> Points::find(const std::vector<std::string> &values) const {
  size_t point = 0, next = 0;
  for (const detail::TuningAxis &axis : tunable.space.axes) {
    if (next + axis.offsets.size() > values.size())
      return std::nullopt;
    std::vector<std::string> wanted(values.begin() + long(next),
                                    values.begin() + long(next + axis.offsets.size()));
    auto found = std::find(axis.values.begin(), axis.values.end(), wanted);
    if (found == axis.values.end())
      return hasOther && values == defaults ? std::optional(count) : std::nullopt;
    point = point * axis.values.size() + size_t(found - axis.values.begin());
    next += axis.offsets.size();
  }
  return next == values.size() ? std::optional(point) : std::nullopt;
}

std::string Points::text() const {
  std::string text;
  size_t next = 0;
  for (const detail::TuningAxis &axis : tunable.space.axes) {
    text += "axis";
    for (size_t offset : axis.offsets)
      text += " " + std::to_string(offset) + "=" + defaults[next++];
    for (const auto &value : axis.values) {
      text += " |";
      for (const std::string &each : value)
        text += " " + each;
    }
    text += "\n";
  }
  // Conditions are code; the points that they exclude stand for them.
  if (!tunable.space.where.empty()) {
    text += "without";
    for (size_t point = 0; point < count; ++point)
      if (!allowed(make(point).get()))
        text += " " + std::to_string(point);
    text += "\n";
  }
  return text + "classes " + tunable.space.classes + "\n";
}

std::string tuning::textOf(const FieldTexts &fields) {
  std::string text;
  for (const auto &[name, value] : fields)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

void tuning::addFieldNames(detail::TunableKernel &kernel) {
  for (const RegisteredKernel &registration : registeredKernels())
    if (registration.name == kernel.name && registration.space)
      kernel.fields = registration.fields;
}

std::optional<detail::TunableKernel> tuning::findTunable(const std::string &name,
                                                         std::vector<Diagnostic> &diagnostics) {
  std::vector<std::string> known;
  Diagnostic d;
  d.code = ToolKernel;
  d.message = "no kernel `" + name + "` is registered";
  for (const RegisteredKernel &registration : registeredKernels()) {
    known.push_back(registration.name);
    if (registration.name != name)
      continue;
    if (!registration.space) {
      d.code = TuneSpace;
      d.location = {registration.at.file, registration.at.line, registration.at.column};
      d.message = "`" + name + "` has no space";
      d.helps.push_back("declare which fields vary: static auto space() { return Space<" + name +
                        ">().over(..); }");
      diagnostics.push_back(std::move(d));
      return std::nullopt;
    }
    detail::TunableKernel result;
    result.name = registration.name;
    result.at = registration.at;
    result.fields = registration.fields;
    result.make = [registration](void *&made) { made = registration.make(registration.context); };
    result.destroy = registration.destroy;
    result.source = registration.source;
    registration.space(registration.context, result.space);
    return result;
  }
  d.helps.push_back(known.empty() ? "the library registers none; use PENSTOCK_KERNEL(..)"
                                  : suggestName(name, known, "registered are: "));
  diagnostics.push_back(std::move(d));
  return std::nullopt;
}
