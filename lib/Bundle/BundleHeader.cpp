//===- BundleHeader.cpp - The header and description of a bundle ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Bundle/BundleText.h"
#include "Diagnostics/Json.h"

#include <algorithm>
#include <set>

using namespace penstock;

bool bundle::isIdentifier(const std::string &text) {
  static const std::set<std::string> keywords = {
      "alignas",   "alignof",      "and",      "asm",       "auto",     "bool",      "break",
      "case",      "catch",        "char",     "class",     "concept",  "const",     "constexpr",
      "continue",  "default",      "delete",   "do",        "double",   "else",      "enum",
      "explicit",  "export",       "extern",   "false",     "float",    "for",       "friend",
      "goto",      "if",           "inline",   "int",       "long",     "mutable",   "namespace",
      "new",       "noexcept",     "not",      "nullptr",   "operator", "or",        "private",
      "protected", "public",       "register", "requires",  "restrict", "return",    "short",
      "signed",    "sizeof",       "static",   "struct",    "switch",   "template",  "this",
      "throw",     "true",         "try",      "typedef",   "typename", "union",     "unsigned",
      "using",     "virtual",      "void",     "volatile",  "while",    "xor",       "linux",
      "unix",      "thread_local", "typeid",   "co_await",  "co_yield", "co_return", "decltype",
      "compl",     "bitand",       "bitor",    "consteval", "char8_t",  "wchar_t"};
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && isLetter(text[0]) && text[0] != '_' && !keywords.contains(text) &&
         text.find("__") == std::string::npos &&
         std::ranges::all_of(text, [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

std::vector<std::string> bundle::fieldNames(const KernelInfo &info) {
  std::vector<std::string> names;
  for (const ArgumentInfo &argument : info.arguments) {
    std::string name = isIdentifier(argument.name) ? argument.name : "argument";
    while (std::ranges::count(names, name) || name == "argument")
      name += std::to_string(names.size());
    names.push_back(std::move(name));
  }
  return names;
}

std::string bundle::prefixOf(const Bundle &bundle, const BundledKernel &kernel) {
  return bundle.kernels.size() == 1 ? bundle.name : bundle.name + "_" + kernel.name;
}

bool bundle::mayOverlapPrevious(const BundledKernel &kernel) {
  return std::ranges::all_of(kernel.configurations, [](const BundleConfiguration &configuration) {
    return std::ranges::all_of(configuration.artifact.variants, &DeviceKernel::waitsForPrevious);
  });
}

const char *bundle::scalarType(Element element) {
  switch (element) {
  case Element::f32:
    return "float";
  case Element::f64:
    return "double";
  case Element::i8:
    return "int8_t";
  case Element::i16:
    return "int16_t";
  case Element::i32:
    return "int32_t";
  case Element::i64:
  case Element::index:
    return "int64_t";
  case Element::f16:
  case Element::bf16:
    return "uint16_t"; // its bits
  case Element::i1:
  case Element::f8e4m3:
  case Element::f8e5m2:
  case Element::f8e8m0:
  case Element::f4e2m1x2:
  case Element::i4x2:
  case Element::f6e2m3_packed:
  case Element::f6e3m2_packed:
    break;
  }
  return "uint8_t";
}

std::string bundle::writeHeader(const Bundle &bundle) {
  const std::string &name = bundle.name;
  std::set<std::pair<int, bool>> ranks;
  for (const BundledKernel &kernel : bundle.kernels)
    for (const ArgumentInfo &argument : kernel.configurations.front().artifact.info.arguments)
      if (argument.tensor)
        ranks.insert({argument.rank, argument.written});
  std::string text = "/* " + name + R"(.h - Kernels, made by Penstock.
 *
 * Functions return 0, or the number of a diagnostic; then `why` holds its text. They are
 * thread-safe. The source needs a C11 compiler and the C library; libcuda.so.1 is opened at
 * run time.
 */
)";
  text += "#ifndef " + name + "_H\n#define " + name + "_H\n\n#include <stddef.h>\n" +
          "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
          "typedef struct " + name + "_t " + name + "_t;\n\n" +
          "/* Opens the driver. One object serves all GPUs and threads. */\nint " + name +
          "_load(" + name + "_t **bundle, char *why, size_t why_size);\n" +
          "/* Frees the object and its code on GPUs. All launches must have ended. */\nvoid " +
          name + "_unload(" + name + "_t *bundle);\n" +
          "/* Waits for a stream and reports faults of kernels: assertions, indices, divisions. " +
          "*/\nint " + name + "_synchronize(" + name +
          "_t *bundle, void *stream, char *why, size_t why_size);\n";
  if (!ranks.empty())
    text += "\n/* Tensors in device memory. Sizes and strides are counted in elements; the last "
            "stride\n * is 1. */\n";
  for (auto [rank, written] : ranks)
    text += "struct " + name + (written ? "_tensor" : "_input") + std::to_string(rank) + " {\n  " +
            (written ? "void" : "const void") + " *data;\n  int64_t sizes[" + std::to_string(rank) +
            "], strides[" + std::to_string(rank) + "];\n};\n";
  for (const BundledKernel &kernel : bundle.kernels) {
    const KernelInfo &info = kernel.configurations.front().artifact.info;
    std::string prefix = prefixOf(bundle, kernel);
    std::vector<std::string> names = fieldNames(info);
    text += "\n/* " + kernel.name + (info.signature.empty() ? "" : ": " + info.signature) +
            " */\nstruct " + prefix + "_args {\n";
    for (size_t i = 0; i < names.size(); ++i) {
      const ArgumentInfo &argument = info.arguments[i];
      text += argument.tensor ? "  struct " + name + (argument.written ? "_tensor" : "_input") +
                                    std::to_string(argument.rank) + " " + names[i]
                              : "  " + std::string(scalarType(argument.element)) + " " + names[i];
      text += "; /* " + std::string(nameOf(argument.element)) + " */\n";
    }
    if (names.empty())
      text += "  char unused;\n";
    text += "};\n/* Enqueues the kernel on a stream (CUstream, cudaStream_t) and returns. Null is "
            "CUDA's\n * default stream. */\nint " +
            prefix + "_launch(" + name + "_t *bundle, void *stream, const struct " + prefix +
            "_args *args,\n    char *why, size_t why_size);\n";
    if (mayOverlapPrevious(kernel))
      text += "/* The same, and the kernel may start before the previous one of the stream has "
              "ended. */\nint " +
              prefix + "_launch_overlapping(" + name + "_t *bundle, void *stream, const struct " +
              prefix + "_args *args,\n    char *why, size_t why_size);\n";
    text += "/* Stores the number of the variant that a launch would take, as in " + name +
            ".json. */\nint " + prefix + "_choose(" + name +
            "_t *bundle, void *stream, const struct " + prefix +
            "_args *args,\n    unsigned *variant, char *why, size_t why_size);\n";
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string bundle::writeJson(const Bundle &bundle) {
  uint64_t number = 0;
  std::string kernels = jsonArray(bundle.kernels, [&](const BundledKernel &kernel) {
    const KernelInfo &info = kernel.configurations.front().artifact.info;
    std::vector<std::string> names = fieldNames(info);
    size_t next = 0;
    std::string arguments = jsonArray(info.arguments, [&](const ArgumentInfo &argument) {
      return JsonObject()
          .text("name", names[next++])
          .text("element", nameOf(argument.element))
          .number("rank", argument.tensor ? argument.rank : 0)
          .text("access", !argument.tensor   ? "scalar"
                          : argument.written ? "written"
                                             : "read")
          .str();
    });
    std::string configurations =
        jsonArray(kernel.configurations, [&](const BundleConfiguration &configuration) {
          const Artifact &artifact = configuration.artifact;
          std::string bounds = jsonArray(configuration.bounds, [](const BundleBound &bound) {
            JsonObject object;
            object.text("size", bound.size).number("least", bound.least);
            if (bound.most != INT64_MAX)
              object.number("most", bound.most);
            return object.str();
          });
          size_t index = 0;
          std::string variants = jsonArray(artifact.variants, [&](const DeviceKernel &variant) {
            size_t cubin = 0, at = index++;
            for (const Cubin &each : artifact.cubins)
              cubin += each.variant == at ? each.code.size() : 0;
            return JsonObject()
                .number("number", int64_t(number++))
                .text("architecture", variant.architecture)
                .number("threads", variant.threads)
                .number("shared_bytes", variant.sharedBytes)
                .number("ptx_bytes", int64_t(variant.ptx.size()))
                .number("cubin_bytes", int64_t(cubin))
                .str();
          });
          return JsonObject()
              .text("fields", configuration.fields)
              .json("sizes", bounds)
              .json("variants", variants)
              .str();
        });
    return JsonObject()
        .text("name", kernel.name)
        .text("prefix", prefixOf(bundle, kernel))
        .text("signature", info.signature)
        .json("arguments", arguments)
        .json("configurations", configurations)
        .str();
  });
  return JsonObject().text("bundle", bundle.name).json("kernels", kernels).str() + "\n";
}
