//===- Call.h - Helpers shared by the C interface ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CAPI_CALL_H
#define PENSTOCK_CAPI_CALL_H

#include "Diagnostics/Codes.h"
#include "penstock/inspect.h"
#include "penstock/penstock_c.h"

#include <exception>
#include <memory>

struct penstock_diagnostics {
  std::vector<penstock::Diagnostic> all;
  /// Made by the first call that asks for them.
  std::string text, json;
};

struct penstock_library {
  bool isText = false;
  std::string path; ///< of the shared library, or the name of the text or definition
  std::string text;
  std::string json;
  std::shared_ptr<const void> definition; ///< of penstock_define(); null: another library
};

struct penstock_kernel {
  penstock::AnyKernel code;
  std::string name;
  std::vector<penstock::ArgumentDescription> parameters;
  /// By parameter: the names of its sizes as C strings.
  std::vector<std::vector<const char *>> sizes;
};

namespace penstock::capi {

using Diagnostics = std::vector<Diagnostic>;

/// Adds an error without a location.
void fail(Diagnostics &to, DiagnosticCode code, std::string message, std::string help = "");

/// Gives diagnostics to the caller. Fails if one of them is an error.
penstock_status finish(Diagnostics found, penstock_diagnostics **to) noexcept;

/// Adds the exception that is being handled.
void addException(Diagnostics &to) noexcept;

/// Runs the body of a function of the interface, which adds its diagnostics to its argument.
template <class F> penstock_status call(penstock_diagnostics **to, F body) noexcept {
  if (to)
    *to = nullptr;
  Diagnostics found;
  try {
    body(found);
  } catch (...) {
    addException(found);
  }
  return found.empty() ? PENSTOCK_OK : finish(std::move(found), to);
}

/// Options of the caller, whose version may be older or newer. False, with an error, if the
/// size cannot be right.
template <class T> bool readOptions(const T *from, T &to, Diagnostics &found) {
  to = {};
  if (!from)
    return true;
  if (from->size < sizeof(size_t) || from->size > 4096) {
    fail(found, CallArgument, "the field `size` of the options is " + std::to_string(from->size),
         "set it to sizeof of the struct");
    return false;
  }
  std::memcpy(static_cast<void *>(&to), from, std::min(from->size, sizeof(T)));
  return true;
}

/// False, with an error, for a null pointer.
bool given(const void *pointer, const char *name, Diagnostics &found);

/// JSON of penstock_library_json.
std::string toJson(const std::vector<KernelDescription> &kernels);

/// Name and value pairs; an error if one is null.
bool readSettings(const penstock_setting *from, size_t count, const char *what,
                  std::vector<std::pair<std::string, std::string>> &to, Diagnostics &found);

/// Options of the compiler from those of the caller.
bool readCompileOptions(const penstock_compile_options *from, const penstock_library &library,
                        InspectOptions &to, Diagnostics &found);

/// A text that penstock_free frees; null without memory.
char *copyText(const std::string &text);

/// Launches with DLPack tensors and numbers. The path that has to be short.
Diagnostics launch(const penstock_kernel &kernel, const penstock_argument *arguments, size_t count,
                   const LaunchOptions &options);

} // namespace penstock::capi

#endif // PENSTOCK_CAPI_CALL_H
