//===- Registry.cpp - Kernels that were registered ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace penstock {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<RegisteredKernel> kernels;
};

Registry &registry() {
  static Registry *instance = new Registry; // outlives all static objects
  return *instance;
}

} // namespace

int detail::registerKernel(Registration registration) {
  std::lock_guard lock(registry().mutex);
  registry().kernels.push_back({std::move(registration), nullptr});
  return 0;
}

void addDefinition(detail::Registration registration, std::shared_ptr<const void> definition) {
  std::lock_guard lock(registry().mutex);
  registry().kernels.insert(registry().kernels.begin(),
                            {std::move(registration), std::move(definition)});
}

void removeDefinition(const void *definition) {
  std::vector<RegisteredKernel> removed; // destroyed without the lock: it may call the front end
  std::lock_guard lock(registry().mutex);
  auto &kernels = registry().kernels;
  auto belongs = [&](const RegisteredKernel &kernel) {
    return kernel.definition.get() == definition;
  };
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(removed), belongs);
  std::erase_if(kernels, belongs);
}

void preferDefinition(const void *definition) {
  std::lock_guard lock(registry().mutex);
  auto &kernels = registry().kernels;
  auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto &kernel) {
    return kernel.definition.get() == definition;
  });
  if (found != kernels.end())
    std::rotate(kernels.begin(), found, found + 1);
}

static constexpr char definitionPrefix[] = "definition:";

std::string nameOfDefinition(const void *definition) {
  return definitionPrefix + std::to_string(reinterpret_cast<uintptr_t>(definition));
}

bool isDefinition(const std::string &path) { return path.starts_with(definitionPrefix); }

bool detail::parseField(const std::string &text, int64_t min, int64_t max, int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= min && value <= max;
}

bool detail::parseField(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0;
}

std::string detail::printField(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::vector<RegisteredKernel> registeredKernels() {
  std::lock_guard lock(registry().mutex);
  return registry().kernels;
}

std::shared_ptr<void> makeKernel(const RegisteredKernel &registration,
                                 const std::vector<std::pair<std::string, std::string>> &fields,
                                 std::vector<Diagnostic> &diagnostics) {
  std::shared_ptr<void> kernel = registration.object();
  for (const auto &[name, text] : fields) {
    const detail::Field *found = nullptr;
    std::vector<std::string> known;
    for (const detail::Field &field : registration.fields) {
      known.push_back(field.name);
      if (field.name == name)
        found = &field;
    }
    Diagnostic d;
    d.code = UnknownField;
    d.location = {registration.at.file, registration.at.line, 0};
    if (!found) {
      d.message = "`" + std::string(registration.name) + "` has no field `" + name +
                  "` that can be set from outside";
      d.helps.push_back(known.empty() ? "it has none" : suggestName(name, known, "it has: "));
    } else if (!found->set(*found, kernel.get(), text)) {
      d.message = "\"" + text + "\" is not a valid value for the field `" + name + "` of `" +
                  registration.name + "`";
    } else {
      continue;
    }
    diagnostics.push_back(std::move(d));
    return nullptr;
  }
  return kernel;
}

} // namespace penstock

std::vector<std::pair<std::string, int64_t>>
penstock::integerFields(const std::string &kernel,
                        const std::vector<std::pair<std::string, std::string>> &set) {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const RegisteredKernel &registration : registeredKernels()) {
    if (registration.name != kernel)
      continue;
    std::vector<Diagnostic> ignored;
    std::shared_ptr<void> object = makeKernel(registration, set, ignored);
    if (!object)
      return found;
    for (const detail::Field &field : registration.fields) {
      std::string text = field.get(field, object.get());
      int64_t value = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size() && value >= 1)
        found.emplace_back(field.name, value);
    }
  }
  return found;
}
