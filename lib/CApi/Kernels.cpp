//===- Kernels.cpp - Libraries and kernels of the C interface -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Json.h"
#include "Runtime/KernelInfo.h"
#include "penstock/cache.h"
#include "penstock/gpu.h"

#include <charconv>

using namespace penstock;

uint32_t penstock_c_version(void) { return PENSTOCK_C_VERSION; }
const char *penstock_version(void) { return PENSTOCK_VERSION; }

namespace {

std::optional<Target> targetOf(const std::string &text, capi::Diagnostics &found) {
  if (text == "native")
    return Target::native();
  if (text == "interpreter")
    return Target::interpreter();
  if (text == "gpu")
    return gpu::current({}).target({});
  std::string name = text;
  const std::string suffix = ":emulated";
  bool emulated = name.size() > suffix.size() && name.ends_with(suffix);
  if (emulated)
    name.resize(name.size() - suffix.size());
  if (auto target = find_gpu(name))
    return emulated ? target->emulated() : *target;
  std::string all = "native, interpreter, gpu";
  for (const std::string &known : gpu_names())
    all += ", " + known;
  capi::fail(found, CallArgument, "unknown target `" + text + "`",
             "targets are " + all + "; GPUs also with `:emulated`");
  return std::nullopt;
}

penstock_kernel *wrap(AnyKernel code, std::string name) {
  auto kernel = std::make_unique<penstock_kernel>();
  kernel->parameters = code.arguments();
  kernel->code = std::move(code);
  kernel->name = std::move(name);
  for (const ArgumentDescription &parameter : kernel->parameters) {
    std::vector<const char *> sizes;
    for (const std::string &size : parameter.sizes)
      sizes.push_back(size.c_str());
    kernel->sizes.push_back(std::move(sizes));
  }
  return kernel.release();
}

} // namespace

std::string capi::toJson(const std::vector<KernelDescription> &kernels) {
  return jsonArray(kernels, [](const KernelDescription &kernel) {
    JsonObject fields;
    for (const auto &[name, value] : kernel.fields)
      fields.text(name, value);
    return JsonObject()
        .text("name", kernel.name)
        .text("signature", kernel.signature)
        .text("file", kernel.location.file)
        .number("line", kernel.location.line)
        .json("fields", fields.str())
        .str();
  });
}

bool capi::given(const void *pointer, const char *name, Diagnostics &found) {
  if (!pointer)
    fail(found, CallArgument, "the argument `" + std::string(name) + "` is null");
  return pointer;
}

bool capi::readSettings(const penstock_setting *from, size_t count, const char *what,
                        std::vector<std::pair<std::string, std::string>> &to, Diagnostics &found) {
  for (size_t i = 0; i < count; ++i) {
    if (!from || !from[i].name || !from[i].value) {
      fail(found, CallArgument,
           std::string(what) + " " + std::to_string(i) + " has no name or no value");
      return false;
    }
    to.emplace_back(from[i].name, from[i].value);
  }
  return true;
}

bool capi::readCompileOptions(const penstock_compile_options *from, const penstock_library &library,
                              InspectOptions &to, Diagnostics &found) {
  penstock_compile_options options;
  std::vector<std::pair<std::string, std::string>> fixed;
  if (!readOptions(from, options, found) ||
      !readSettings(options.fields, options.field_count, "field", to.set, found) ||
      !readSettings(options.fixed, options.fixed_count, "fixed size", fixed, found))
    return false;
  auto target = targetOf(options.target ? options.target : "native", found);
  if (!target)
    return false;
  to.target = *target;
  if (!library.isText)
    to.library = library.path;
  else if (!to.set.empty()) {
    fail(found, UnknownField, "a tile program in text form has no field `" + to.set[0].first + "`",
         "fields are of registered kernels");
    return false;
  }
  for (const auto &[name, text] : fixed) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(found, CallArgument, "the size `" + name + "` is \"" + text + "\", not an integer");
      return false;
    }
    to.compile.fix.emplace_back(name, value);
  }
  to.compile.contract = options.flags & PENSTOCK_CONTRACT;
  to.compile.late_completion = options.flags & PENSTOCK_LATE_COMPLETION;
  to.compile.check_barriers = !(options.flags & PENSTOCK_NO_BARRIER_CHECK);
  if (options.flags & PENSTOCK_NO_CACHE)
    to.compile.cache = &KernelCache::none();
  return true;
}

penstock_status penstock_open(const char *path, penstock_library **library,
                              penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(library, "library", found) || !capi::given(path, "path", found))
      return;
    *library = nullptr;
    found = load_library(path);
    if (!found.empty())
      return;
    auto made = std::make_unique<penstock_library>();
    made->path = path;
    made->json = capi::toJson(kernels_of_library(path));
    *library = made.release();
  });
}

penstock_status penstock_parse(const char *text, const char *file, penstock_library **library,
                               penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(library, "library", found) || !capi::given(text, "text", found) ||
        !capi::given(file, "file", found))
      return;
    *library = nullptr;
    auto made = std::make_unique<penstock_library>();
    made->isText = true;
    made->path = file;
    made->text = text;
    std::string json = capi::toJson(kernels_of_text(text, file, found));
    if (!found.empty())
      return;
    made->json = std::move(json);
    *library = made.release();
  });
}

const char *penstock_library_json(const penstock_library *library) {
  return library ? library->json.c_str() : "[]";
}

void penstock_library_free(penstock_library *library) {
  if (library && library->definition)
    removeDefinition(library->definition.get());
  delete library;
}

penstock_status penstock_compile(const penstock_library *library, const char *kernel,
                                 const penstock_compile_options *options, penstock_kernel **result,
                                 penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(result, "result", found))
      return;
    *result = nullptr;
    InspectOptions inspect;
    if (!capi::given(library, "library", found) || !capi::given(kernel, "kernel", found) ||
        !capi::readCompileOptions(options, *library, inspect, found))
      return;
    AnyKernel code = library->isText
                         ? compile_text(library->text, library->path, kernel, inspect, found)
                         : compile_registered(kernel, inspect, found);
    if (code)
      *result = wrap(std::move(code), kernel);
  });
}

penstock_status penstock_load_artifact(const void *bytes, size_t size, penstock_kernel **result,
                                       penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(result, "result", found))
      return;
    *result = nullptr;
    if (!capi::given(bytes, "bytes", found))
      return;
    if (AnyKernel code = load_artifact({static_cast<const char *>(bytes), size}, found))
      *result = wrap(std::move(code), "artifact");
  });
}

void penstock_kernel_free(penstock_kernel *kernel) { delete kernel; }

size_t penstock_parameter_count(const penstock_kernel *kernel) {
  return kernel ? kernel->parameters.size() : 0;
}

/// The C interface calls a bool by its width, like all other integers.
static const char *elementName(Element element) {
  return element == Element::i1 ? "i1" : nameOf(element);
}

penstock_parameter penstock_kernel_parameter(const penstock_kernel *kernel, size_t index) {
  if (index >= penstock_parameter_count(kernel))
    return {nullptr, nullptr, 0, 0, 0, nullptr};
  const ArgumentDescription &from = kernel->parameters[index];
  const auto &sizes = kernel->sizes[index];
  return {from.name.c_str(), elementName(from.element),
          from.tensor,       from.rank,
          from.written,      sizes.empty() ? nullptr : sizes.data()};
}

char *penstock_kernel_form(const penstock_kernel *kernel, penstock_form form, size_t *size) {
  std::string text;
  try {
    if (kernel)
      switch (form) {
      case PENSTOCK_TILE_PROGRAM:
        text = kernel->code.tile_program();
        break;
      case PENSTOCK_LLVM_IR:
        text = kernel->code.llvm_ir();
        break;
      case PENSTOCK_ASSEMBLY:
        text = kernel->code.assembly();
        break;
      case PENSTOCK_PTX:
        text = kernel->code.ptx();
        break;
      case PENSTOCK_ARTIFACT:
        text = kernel->code.artifact();
        break;
      }
  } catch (...) {
    text.clear();
  }
  if (size)
    *size = text.size();
  return capi::copyText(text);
}
