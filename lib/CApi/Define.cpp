//===- Define.cpp - Kernels that are defined at run time ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"
#include "CApi/RecordCalls.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/SourceText.h"
#include "Dialect/Tile/Signature.h"
#include "penstock/tune.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>

using namespace penstock;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

namespace {

/// Names of source files by number. Locations point to them, so they are never freed.
struct SourceFiles {
  static constexpr size_t most = 65535;
  std::mutex mutex;
  std::unordered_map<std::string, uint32_t> numbers;
  std::array<std::atomic<const char *>, most + 1> names{};
};

SourceFiles &files() {
  static SourceFiles *instance = new SourceFiles;
  return *instance;
}

} // namespace

Loc capi::toLoc(penstock_at at) {
  const char *name = files().names[at >> 48].load(std::memory_order_acquire);
  return {name ? name : "", static_cast<unsigned>(at >> 20 & 0xfffffff), 0,
          static_cast<unsigned>(at & 0xfffff)};
}

uint32_t penstock_source_file(const char *name) {
  try {
    std::lock_guard lock(files().mutex);
    auto number = static_cast<uint32_t>(files().numbers.size() + 1);
    auto [entry, isNew] = files().numbers.try_emplace(name ? name : "", number);
    if (isNew && number > SourceFiles::most) {
      files().numbers.erase(entry);
      return 0;
    }
    if (isNew)
      files().names[number].store(entry->first.c_str(), std::memory_order_release);
    return entry->second;
  } catch (...) {
    return 0;
  }
}

bool capi::isFrontEndSource(const std::string &file) {
  std::lock_guard lock(files().mutex);
  return files().numbers.count(file) != 0;
}

void penstock_add_source(const char *name, const char *text) {
  try {
    if (name && text)
      addSourceText(name, text);
  } catch (...) { // a message will lack its source line
  }
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t mostFields = 64;

/// A definition of the caller, copied.
struct Definition : std::enable_shared_from_this<Definition> {
  Definition() = default;
  Definition(const Definition &) = delete;
  ~Definition() {
    if (given.release)
      given.release(given.context);
  }

  struct Field {
    std::string name, value;
    char type;
  };
  struct Axis {
    std::vector<size_t> fields;
    std::vector<std::vector<std::string>> values;
  };

  penstock_definition given = {}; ///< its functions and context
  std::string name, signature, flops, classes;
  Loc at;
  std::vector<detail::ArgumentSpec> arguments;
  std::vector<Field> fields;
  std::vector<Axis> axes;
};

/// A kernel of a definition. Its fields have constant offsets, which name them in tuning spaces.
struct DefinedKernel {
  std::shared_ptr<const Definition> definition;
  std::array<std::string, mostFields> values;

  std::vector<const char *> texts() const {
    std::vector<const char *> result;
    for (size_t i = 0; i < definition->fields.size(); ++i)
      result.push_back(values[i].c_str());
    return result;
  }
};

DefinedKernel &of(void *kernel) { return *static_cast<DefinedKernel *>(kernel); }
const DefinedKernel &of(const void *kernel) { return *static_cast<const DefinedKernel *>(kernel); }

bool fits(char type, const std::string &text) {
  switch (type) {
  case 'i': {
    int64_t value = 0;
    return detail::parseField(text, INT64_MIN, INT64_MAX, value);
  }
  case 'f': {
    double value = 0;
    return detail::parseField(text, value);
  }
  case 'b':
    return text == "true" || text == "false";
  default:
    return true;
  }
}

detail::KernelSource sourceOf(const void *kernel, const char *called, Loc at) {
  const DefinedKernel &defined = of(kernel);
  detail::KernelSource source;
  source.name = called;
  source.signature = defined.definition->signature;
  source.flops = defined.definition->flops;
  source.arguments = defined.definition->arguments;
  source.at = at;
  source.record = [defined](Block &, detail::Refs refs) {
    std::vector<penstock_ref> arguments;
    for (detail::Ref ref : refs)
      arguments.push_back(capi::fromRef(ref));
    const penstock_definition &given = defined.definition->given;
    if (given.record(given.context, defined.texts().data(), lang::recording(), arguments.data()))
      throw lang::Reported();
  };
  return source;
}

void describeSpace(const void *context, detail::TuningSpace &to) {
  auto definition = static_cast<const Definition *>(context);
  for (const Definition::Axis &axis : definition->axes) {
    detail::TuningAxis made;
    for (size_t field : axis.fields)
      made.offsets.push_back(offsetof(DefinedKernel, values) + field * sizeof(std::string));
    made.values = axis.values;
    made.set = [axis](void *kernel, size_t value) {
      for (size_t i = 0; i < axis.fields.size(); ++i)
        of(kernel).values[axis.fields[i]] = axis.values[value][i];
    };
    made.get = [fields = axis.fields](const void *kernel, std::vector<std::string> &texts) {
      for (size_t field : fields)
        texts.push_back(of(kernel).values[field]);
    };
    to.axes.push_back(std::move(made));
  }
  if (definition->given.admits)
    to.where.push_back([](const void *kernel, bool &holds) {
      const penstock_definition &given = of(kernel).definition->given;
      if (!given.admits(given.context, of(kernel).texts().data()))
        holds = false;
    });
  to.classes = definition->classes;
  to.at = definition->at;
}

detail::Registration registrationOf(const Definition &definition) {
  detail::Registration result;
  result.name = definition.name.c_str();
  result.at = definition.at;
  result.context = &definition;
  for (size_t i = 0; i < definition.fields.size(); ++i) {
    detail::Field field;
    field.name = definition.fields[i].name.c_str();
    field.index = i;
    field.get = [](const detail::Field &f, const void *kernel) {
      return of(kernel).values[f.index];
    };
    field.set = [](const detail::Field &f, void *kernel, const std::string &text) {
      if (!fits(of(kernel).definition->fields[f.index].type, text))
        return false;
      of(kernel).values[f.index] = text;
      return true;
    };
    field.address = [](const detail::Field &f, const void *kernel) -> const void * {
      return &of(kernel).values[f.index];
    };
    result.fields.push_back(field);
  }
  result.make = [](const void *context) -> void * {
    auto made = new DefinedKernel;
    made->definition = static_cast<const Definition *>(context)->shared_from_this();
    for (size_t i = 0; i < made->definition->fields.size(); ++i)
      made->values[i] = made->definition->fields[i].value;
    return made;
  };
  result.destroy = [](void *kernel) { delete static_cast<DefinedKernel *>(kernel); };
  result.source = sourceOf;
  if (!definition.axes.empty())
    result.space = describeSpace;
  return result;
}

/// Copies what the caller gives. False, with an error, if it is not a definition.
bool read(const penstock_definition &from, Definition &to, capi::Diagnostics &found) {
  auto refuse = [&](std::string message, std::string help = "") {
    capi::fail(found, CallArgument, std::move(message), std::move(help));
    found.back().location = {to.at.file, to.at.line, to.at.column};
    return false;
  };
  to.at = capi::toLoc(from.at);
  if (!from.name || !*from.name || !from.record)
    return refuse("a definition has no name or no function `record`");
  to.name = from.name;
  to.signature = capi::toText(from.signature);
  to.flops = capi::toText(from.flops);
  to.classes = capi::toText(from.classes);
  for (size_t i = 0; i < from.argument_count; ++i) {
    const penstock_argument_spec &spec = from.arguments[i];
    if (spec.element < 0 || spec.element > int(Element::f6e3m2_packed) || spec.access < 0 ||
        spec.access > int(Access::InOut) || (spec.tensor && (spec.rank < 1 || spec.rank > 5)))
      return refuse("argument " + std::to_string(i) + " of `" + to.name +
                        "` has an unknown element type, access or rank",
                    "tensors have one to five dimensions");
    to.arguments.push_back({spec.tensor != 0, capi::toElement(spec.element), spec.rank,
                            static_cast<Access>(spec.access)});
  }
  if (from.field_count > mostFields)
    return refuse("`" + to.name + "` has " + std::to_string(from.field_count) +
                  " fields; at most " + std::to_string(mostFields) + " are possible");
  for (size_t i = 0; i < from.field_count; ++i) {
    const penstock_field &field = from.fields[i];
    if (!field.name || !field.value || !fits(field.type, field.value))
      return refuse("field " + std::to_string(i) + " of `" + to.name +
                    "` has no name or no value of its type");
    to.fields.push_back({field.name, field.value, field.type});
  }
  for (size_t i = 0; i < from.axis_count; ++i) {
    const penstock_axis &axis = from.axes[i];
    Definition::Axis made;
    for (size_t f = 0; f < axis.field_count; ++f) {
      std::string_view name = capi::toText(axis.fields[f]);
      auto field = std::find_if(to.fields.begin(), to.fields.end(),
                                [&](const Definition::Field &each) { return each.name == name; });
      if (field == to.fields.end())
        return refuse("the space of `" + to.name + "` names `" + std::string(name) +
                      "`, which is not a field");
      made.fields.push_back(size_t(field - to.fields.begin()));
    }
    for (size_t v = 0; v < axis.value_count; ++v) {
      std::vector<std::string> values;
      for (size_t f = 0; f < axis.field_count; ++f) {
        values.emplace_back(capi::toText(axis.values[v * axis.field_count + f]));
        const Definition::Field &field = to.fields[made.fields[f]];
        if (!fits(field.type, values.back()))
          return refuse("\"" + values.back() + "\" is not a valid value for the field `" +
                        field.name + "` of `" + to.name + "`");
      }
      made.values.push_back(std::move(values));
    }
    to.axes.push_back(std::move(made));
  }
  return true;
}

} // namespace

penstock_status penstock_read_signature(const char *signature, char **json,
                                        penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(json, "json", found) || !capi::given(signature, "signature", found))
      return;
    *json = nullptr;
    Signature read = parseSignature(signature);
    if (!read.error.empty())
      return capi::fail(found, BadSignature,
                        "the signature \"" + std::string(signature) +
                            "\" cannot be read: " + read.error,
                        "a signature looks like \"A[M,K], B[N,K], scale -> C[M,N]\"");
    *json = capi::copyText(jsonArray(read.arguments, [](const SignatureArgument &argument) {
      return JsonObject()
          .text("name", argument.name)
          .boolean("tensor", argument.tensor)
          .json("sizes", jsonArray(argument.sizes, jsonString))
          .str();
    }));
  });
}

penstock_status penstock_define(const penstock_definition *definition, penstock_library **library,
                                penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(library, "library", found) || !capi::given(definition, "definition", found))
      return;
    *library = nullptr;
    penstock_definition given;
    if (!capi::readOptions(definition, given, found))
      return;
    auto made = std::make_shared<Definition>();
    if (!read(given, *made, found))
      return;
    made->given = given;
    auto result = std::make_unique<penstock_library>();
    result->definition = made;
    result->path = nameOfDefinition(made.get());
    addDefinition(registrationOf(*made), made);
    result->json = capi::toJson(kernels_of_library(result->path));
    *library = result.release();
  });
}

penstock_status penstock_print_program(const penstock_library *library, const char *kernel,
                                       const penstock_compile_options *options, char **text,
                                       penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!capi::given(text, "text", found))
      return;
    *text = nullptr;
    InspectOptions inspect;
    if (!capi::given(library, "library", found) || !capi::given(kernel, "kernel", found) ||
        !capi::readCompileOptions(options, *library, inspect, found))
      return;
    std::string program =
        library->isText ? library->text : print_registered(kernel, inspect, found);
    if (!program.empty())
      *text = capi::copyText(program);
  });
}

uint32_t penstock_recording(void) { return lang::recording(); }

int penstock_record_error(uint32_t code, const char *message, const char *help, penstock_at at) {
  return lang::report(static_cast<DiagnosticCode>(code), capi::toLoc(at),
                      std::string(capi::toText(message)), std::string(capi::toText(help)));
}
