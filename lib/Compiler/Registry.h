//===- Registry.h - Kernels that were registered ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_REGISTRY_H
#define PENSTOCK_COMPILER_REGISTRY_H

#include "penstock/registry.h"

#include <memory>

namespace penstock {

/// A registered kernel and its owner.
struct RegisteredKernel : detail::Registration {
  /// Library of a kernel that was defined at run time; null: a shared library.
  std::shared_ptr<const void> definition;

  /// A kernel with the default values of its fields.
  std::shared_ptr<void> object() const { return {make(context), destroy}; }
};

/// All registered kernels: definitions, the latest first, so that a cell of a notebook can be run
/// again; then kernels of shared libraries, in order of registration.
std::vector<RegisteredKernel> registeredKernels();

/// Registers a kernel that is defined at run time. Copies of the registration keep \p definition
/// alive.
void addDefinition(detail::Registration registration, std::shared_ptr<const void> definition);
void removeDefinition(const void *definition);
/// Makes a definition the first of its name, for functions that look kernels up by name alone.
void preferDefinition(const void *definition);
/// The path by which InspectOptions::library names a definition. No file has such a name.
std::string nameOfDefinition(const void *definition);
bool isDefinition(const std::string &path);

/// A kernel with fields set from text: {"stages", "3"}. Empty, with the
/// error in \p diagnostics, if a field is unknown or a value does not fit.
std::shared_ptr<void> makeKernel(const RegisteredKernel &registration,
                                 const std::vector<std::pair<std::string, std::string>> &fields,
                                 std::vector<Diagnostic> &diagnostics);

/// Returns the integer fields of a kernel with their values, some of which are \p set.
std::vector<std::pair<std::string, int64_t>>
integerFields(const std::string &kernel,
              const std::vector<std::pair<std::string, std::string>> &set);

} // namespace penstock

#endif // PENSTOCK_COMPILER_REGISTRY_H
