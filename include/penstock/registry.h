//===- registry.h - Registration of kernels for tools -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PENSTOCK_KERNEL(Matmul, block_m, stages) registers a kernel of a shared
// library, with its settable fields. The `penstock` tool lists, prints, compiles
// and runs registered kernels.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_REGISTRY_H
#define PENSTOCK_REGISTRY_H

#include "penstock/compile.h"

namespace penstock::detail {

struct Field {
  const char *name;
  std::string (*get)(const Field &, const void *kernel);
  bool (*set)(const Field &, void *kernel, const std::string &text);
  /// Address of the field in a kernel.
  const void *(*address)(const Field &, const void *kernel) = nullptr;
  size_t index = 0; ///< of a kernel that is defined at run time
};

struct TuningSpace; // penstock/tune.h

struct Registration {
  const char *name;
  Loc at;
  std::vector<Field> fields;
  void *(*make)(const void *context);
  void (*destroy)(void *kernel);
  KernelSource (*source)(const void *kernel, const char *name, Loc at);
  /// Describes the kernel's space(); null if it has none.
  void (*space)(const void *context, TuningSpace &to) = nullptr;
  const void *context = nullptr; ///< of a kernel that is defined at run time
};
PENSTOCK_EXPORT int registerKernel(Registration);

PENSTOCK_EXPORT bool parseField(const std::string &, int64_t min, int64_t max, int64_t &);
PENSTOCK_EXPORT bool parseField(const std::string &, double &);
PENSTOCK_EXPORT std::string printField(double);

template <class T> bool setField(const std::string &text, T &field) {
  if constexpr (std::is_same_v<T, std::string>) {
    field = text;
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    double value = 0;
    if (!parseField(text, value))
      return false;
    field = static_cast<T>(value);
    return true;
  } else {
    static_assert(std::is_integral_v<T>, "fields that are set from outside are "
                                         "numbers, bools or strings");
    int64_t value = 0;
    if (std::is_same_v<T, bool> && (text == "true" || text == "false")) {
      field = text == "true";
      return true;
    }
    if (!parseField(text, int64_t(std::numeric_limits<T>::min()),
                    int64_t(std::numeric_limits<T>::max()), value))
      return false;
    field = static_cast<T>(value);
    return true;
  }
}
template <class T> std::string getField(const T &field) {
  if constexpr (std::is_same_v<T, std::string>)
    return field;
  else if constexpr (std::is_same_v<T, bool>)
    return field ? "true" : "false";
  else if constexpr (std::is_floating_point_v<T>)
    return printField(field);
  else
    return std::to_string(field);
}

template <class K>
Registration registrationOf(const char *name, std::vector<Field> fields, Loc at) {
  Registration result;
  result.name = name;
  result.at = at;
  result.fields = std::move(fields);
  result.make = [](const void *) -> void * { return new K(); };
  result.destroy = [](void *kernel) { delete static_cast<K *>(kernel); };
  result.source = [](const void *kernel, const char *called, Loc where) {
    using Arguments = typename FunctionTraits<K>::Arguments;
    return sourceOf(*static_cast<const K *>(kernel), called, static_cast<Arguments *>(nullptr),
                    where);
  };
  if constexpr (requires { K::space(); })
    result.space = [](const void *, TuningSpace &to) { K::space().template describe<K>(to); };
  return result;
}

} // namespace penstock::detail

#define PENSTOCK_FIELD(KERNEL, FIELD)                                                              \
  ::penstock::detail::Field{                                                                       \
      #FIELD,                                                                                      \
      [](const ::penstock::detail::Field &, const void *k) {                                       \
        return ::penstock::detail::getField(static_cast<const KERNEL *>(k)->FIELD);                \
      },                                                                                           \
      [](const ::penstock::detail::Field &, void *k, const std::string &text) {                    \
        return ::penstock::detail::setField(text, static_cast<KERNEL *>(k)->FIELD);                \
      },                                                                                           \
      [](const ::penstock::detail::Field &, const void *k) -> const void * {                       \
        return &static_cast<const KERNEL *>(k)->FIELD;                                             \
      }},

// Applies PENSTOCK_FIELD to each name; three levels of rescanning serve 60 names.
#define PENSTOCK_PARENS ()
#define PENSTOCK_EXPAND(...) PENSTOCK_EXPAND3(PENSTOCK_EXPAND3(PENSTOCK_EXPAND3(__VA_ARGS__)))
#define PENSTOCK_EXPAND3(...) PENSTOCK_EXPAND2(PENSTOCK_EXPAND2(PENSTOCK_EXPAND2(__VA_ARGS__)))
#define PENSTOCK_EXPAND2(...) PENSTOCK_EXPAND1(PENSTOCK_EXPAND1(PENSTOCK_EXPAND1(__VA_ARGS__)))
#define PENSTOCK_EXPAND1(...) __VA_ARGS__
#define PENSTOCK_FIELDS(KERNEL, ...)                                                               \
  __VA_OPT__(PENSTOCK_EXPAND(PENSTOCK_FIELDS_STEP(KERNEL, __VA_ARGS__)))
#define PENSTOCK_FIELDS_STEP(KERNEL, FIRST, ...)                                                   \
  PENSTOCK_FIELD(KERNEL, FIRST)                                                                    \
  __VA_OPT__(PENSTOCK_FIELDS_AGAIN PENSTOCK_PARENS(KERNEL, __VA_ARGS__))
#define PENSTOCK_FIELDS_AGAIN() PENSTOCK_FIELDS_STEP

/// PENSTOCK_KERNEL(Type, fields...): registers a kernel under its type's name.
#define PENSTOCK_KERNEL(KERNEL, ...)                                                               \
  static_assert(::penstock::detail::formOf<KERNEL> !=                                              \
                    ::penstock::detail::KernelForm::TakesBlockByValue,                             \
                PENSTOCK_BLOCK_FORM);                                                              \
  static_assert(::penstock::detail::formOf<KERNEL> !=                                              \
                    ::penstock::detail::KernelForm::TakesOtherTypes,                               \
                PENSTOCK_PARAMETER_FORM);                                                          \
  static_assert(::penstock::detail::formOf<KERNEL> != ::penstock::detail::KernelForm::NotAKernel,  \
                PENSTOCK_KERNEL_FORM);                                                             \
  [[maybe_unused]] static const int penstock_registered_##KERNEL =                                 \
      ::penstock::detail::registerKernel(::penstock::detail::registrationOf<KERNEL>(               \
          #KERNEL, {PENSTOCK_FIELDS(KERNEL __VA_OPT__(, ) __VA_ARGS__)}, ::penstock::here()))

#endif // PENSTOCK_REGISTRY_H
