//===- BundleTables.cpp - The tables and functions of a bundle ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables are initializers of C structs, with the names of members, so that the C compiler
// checks them against Launcher/Types.c. The structs of plain numbers are generated from
// LaunchRecord.h together with their tables. C has no empty arrays: an empty table is a null
// pointer.
//
//===----------------------------------------------------------------------===//
#include "Bundle/BundleText.h"
#include "Runtime/LaunchRecord.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::bundle;

std::string bundle::quoted(std::string_view text) {
  // C need not take longer literals than 4095 characters.
  constexpr size_t most = 2000;
  std::string result = "\"";
  for (char c : text.substr(0, most)) {
    // Digits end an octal escape only after three, and two question marks start a trigraph.
    if (c == '"' || c == '\\' || c == '?') {
      result += '\\';
      result += c;
    } else if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\%03o", unsigned(uint8_t(c)));
      result += escape;
    }
  }
  return result + "\"";
}

namespace {

std::string number(uint64_t value) { return std::to_string(value) + "u"; }
std::string wide(int64_t value) {
  // The smallest number has no literal.
  return value == INT64_MIN ? "INT64_MIN" : "INT64_C(" + std::to_string(value) + ")";
}

/// Declares a C struct with the members of a record. Lists are arrays of one number for each
/// dimension of a tensor map.
class StructText {
public:
  template <class T> void operator()(const char *name, const T &, uint64_t = 0) {
    const char *type = std::is_same_v<T, int64_t> ? "int64_t " : "unsigned ";
    text += "  " + (std::string(type) + name) + ";\n";
  }
  void operator()(const char *name, const std::vector<uint32_t> &, uint64_t = 0) {
    text += std::string("  uint32_t ") + name + "[maxMapRank];\n";
  }
  std::string text;
};

template <class T> std::string declare(const std::string &name) {
  StructText members;
  const T empty = {};
  Members<T>::visit(members, empty);
  return "struct " + name + " {\n" + members.text + "};\n";
}

/// An initializer of such a struct.
class RowText {
public:
  template <class T> void operator()(const char *name, const T &value, uint64_t = 0) {
    if constexpr (std::is_same_v<T, int64_t>)
      add(name, wide(value));
    else
      add(name, number(uint64_t(value)));
  }
  void operator()(const char *name, const std::vector<uint32_t> &values, uint64_t = 0) {
    std::string list;
    for (uint32_t value : values)
      list += (list.empty() ? "" : ", ") + number(value);
    add(name, "{" + (list.empty() ? "0" : list) + "}");
  }
  std::string text;

private:
  void add(const char *name, const std::string &value) {
    text += (text.empty() ? "." : ", .") + std::string(name) + " = " + value;
  }
};

template <class T> std::string row(const T &record) {
  RowText members;
  Members<T>::visit(members, record);
  return "{" + members.text + "}";
}

/// The types of all tables that have no others inside of them.
std::string declareRecords() {
  std::string text = "enum stepKind {\n";
#define LAUNCH_STEP(name) text += "  step" #name ",\n";
#include "Runtime/LaunchKinds.def"
  text += "};\n\nenum fieldKind {\n";
#define PARAMETER_FIELD(name) text += "  field" #name ",\n";
#include "Runtime/LaunchKinds.def"
  text += "};\n\n";
  for (const std::string &each :
       {declare<LaunchStep>("step"), declare<ParameterField>("field"),
        declare<TensorMapRecipe>("mapRecipe"), declare<RowAlignment>("rowRule")})
    text += each + "\n";
  return text;
}

/// Text of a diagnostic: source location, message, fixes.
std::string messageOf(const Diagnostic &d) {
  std::string text;
  if (d.location.known())
    text = d.location.file + ":" + std::to_string(d.location.line) + ": ";
  text += d.message;
  for (const std::string &help : d.helps)
    text += "; " + help;
  return text;
}

class Tables {
public:
  explicit Tables(const Bundle &bundle) : bundle(bundle) {}

  std::string run() {
    std::string kernels, faults;
    for (const BundledKernel &kernel : bundle.kernels)
      kernels += addKernel(kernel);
    for (const std::string &each : variantFaults)
      faults += "  {" + each + "},\n";
    return "enum {\n  variantTotal = " + std::to_string(variantFaults.size()) +
           ",\n  stepMost = " + std::to_string(stepMost) +
           ",\n  resultMost = " + std::to_string(resultMost) +
           ",\n  argumentMost = " + std::to_string(argumentMost) +
           ",\n  parameterMost = " + std::to_string(parameterMost) + "\n};\n\n" + declareRecords() +
           text +
           "static const struct {\n  const struct message *faults;\n  size_t faultCount;\n} "
           "variantFaults[] = {\n" +
           faults + "};\n\nstatic const struct kernel kernels[] = {\n" + kernels + "};\n";
  }

private:
  /// Writes an array and returns initializers of `member` and of `countMember`.
  template <class L, class F>
  std::string array(const std::string &member, const std::string &countMember,
                    const std::string &type, const L &all, F each) {
    if (all.empty())
      return "." + member + " = NULL, ." + countMember + " = 0";
    std::string name = "table" + std::to_string(next++);
    text += "static const " + type + " " + name + "[] = {\n";
    for (const auto &item : all)
      text += "  " + each(item) + ",\n";
    text += "};\n";
    return "." + member + " = " + name + ", ." + countMember + " = " + std::to_string(all.size());
  }

  std::string bytes(std::string_view code, const std::string &comment) {
    if (code.empty())
      return "NULL";
    std::string name = "code" + std::to_string(next++);
    text += "/* " + comment + " */\nstatic const _Alignas(64) unsigned char " + name + "[] = {";
    for (size_t i = 0; i < code.size(); ++i)
      text += (i % 24 ? "" : "\n  ") + std::to_string(unsigned(uint8_t(code[i]))) + ",";
    // PTX ends with a zero.
    text += "0\n};\n";
    return name;
  }

  std::string addKernel(const BundledKernel &kernel) {
    const KernelInfo &info = kernel.configurations.front().artifact.info;
    argumentMost = std::max(argumentMost, info.arguments.size());
    std::string arguments = array("arguments", "argumentCount", "struct argumentInfo",
                                  info.arguments, [](const ArgumentInfo &argument) {
                                    return "{.name = " + quoted(argument.name) +
                                           ", .type = " + quoted(nameOf(argument.element)) +
                                           ", .tensor = " + number(argument.tensor) +
                                           ", .bytes = " + number(bytesOf(argument.element)) +
                                           ", .rank = " + number(unsigned(argument.rank)) +
                                           ", .written = " + number(argument.written) +
                                           ", .mayOverlap = " + number(argument.mayOverlap) + "}";
                                  });
    std::string rules =
        array("rules", "ruleCount", "struct sizeRule", info.sizeRules, [&](const SizeRule &rule) {
          return "{.argument = " + number(rule.argument) + ", .dim = " + number(rule.dim) +
                 ", .other = " + std::to_string(rule.otherArgument) +
                 ", .otherDim = " + number(rule.otherDim) + ", .value = " + wide(rule.value) +
                 ", .name = " + quoted(info.arguments[rule.argument].sizes[rule.dim]) + "}";
        });
    std::vector<std::string> made;
    for (const BundleConfiguration &configuration : kernel.configurations)
      made.push_back(addConfiguration(configuration));
    std::string configurations =
        array("configurations", "configurationCount", "struct configuration", made,
              [](const std::string &each) { return each; });
    return "  {.name = " + quoted(kernel.name) + ", " + arguments + ", " + rules + ", " +
           configurations + "},\n";
  }

  std::string addConfiguration(const BundleConfiguration &configuration) {
    const KernelInfo &info = configuration.artifact.info;
    std::string bounds = array("bounds", "boundCount", "struct bound", configuration.bounds,
                               [&](const BundleBound &bound) {
                                 for (size_t i = 0; i < info.arguments.size(); ++i)
                                   for (size_t d = 0; d < info.arguments[i].sizes.size(); ++d)
                                     if (info.arguments[i].sizes[d] == bound.size)
                                       return "{.argument = " + number(i) +
                                              ", .dim = " + number(d) +
                                              ", .least = " + wide(bound.least) +
                                              ", .most = " + wide(bound.most) + "}";
                                 return std::string();
                               });
    std::vector<std::string> made;
    for (size_t i = 0; i < configuration.artifact.variants.size(); ++i)
      made.push_back(addVariant(configuration.artifact, i));
    std::string variants = array("variants", "variantCount", "struct variant", made,
                                 [](const std::string &each) { return each; });
    bool hopper = configuration.artifact.variants.front().architecture == "sm_90a";
    return std::string("{.capability = ") + (hopper ? "90" : "100") + ", " + bounds + ", " +
           variants + "}";
  }

  std::string addVariant(const Artifact &artifact, size_t index) {
    const DeviceKernel &kernel = artifact.variants[index];
    const LaunchProgram &program = kernel.launch;
    stepMost = std::max(stepMost, program.steps.size());
    resultMost = std::max(resultMost, program.results.size());
    parameterMost = std::max<size_t>(parameterMost, kernel.parameterBytes);
    std::string tables[] = {
        array("steps", "stepCount", "struct step", program.steps, row<LaunchStep>),
        array("results", "resultCount", "unsigned", program.results,
              [](unsigned result) { return number(result); }),
        array("requirements", "requirementCount", "struct message", program.requirements,
              [](const LaunchRequirement &requirement) {
                return message(requirement.step, requirement.broken);
              }),
        array("fields", "fieldCount", "struct field", kernel.fields, row<ParameterField>),
        array("maps", "mapCount", "struct mapRecipe", kernel.maps, row<TensorMapRecipe>),
        array("rows", "rowCount", "struct rowRule", kernel.rowAligned, row<RowAlignment>)};
    std::string faults = array("faults", "faultCount", "struct message", kernel.faults,
                               [](const Diagnostic &fault) { return message(0, fault); });
    std::string code;
    for (const Cubin &cubin : artifact.cubins)
      if (cubin.variant == index && cubin.architecture == kernel.architecture)
        code = cubin.code;
    std::string cubin = bytes(code, kernel.name + ", machine code for " + kernel.architecture),
                ptx = bytes(kernel.ptx, kernel.name + ", PTX for " + kernel.architecture);
    std::string result =
        "{.name = " + quoted(kernel.name) + ", .threads = " + number(kernel.threads) +
        ", .cluster = {" + number(kernel.cluster[0]) + ", " + number(kernel.cluster[1]) + ", " +
        number(kernel.cluster[2]) + "}, .sharedBytes = " + number(kernel.sharedBytes) +
        ", .parameterBytes = " + number(kernel.parameterBytes) + ", ";
    for (const std::string &table : tables)
      result += table + ", ";
    result += faults + ", .cubin = " + cubin + ", .ptx = " + ptx +
              ", .number = " + number(variantFaults.size()) + "}";
    variantFaults.push_back(faults);
    return result;
  }

  static std::string message(unsigned step, const Diagnostic &diagnostic) {
    return "{.step = " + number(step) + ", .code = " + std::to_string(diagnostic.code) +
           ", .text = " + quoted(messageOf(diagnostic)) + "}";
  }

  const Bundle &bundle;
  std::string text;
  std::vector<std::string> variantFaults;
  size_t next = 0, stepMost = 1, resultMost = 3, argumentMost = 1, parameterMost = 128;
};

} // namespace

std::string bundle::writeTables(const Bundle &bundle) { return Tables(bundle).run(); }

std::string bundle::writeFunctions(const Bundle &bundle) {
  const std::string &name = bundle.name;
  std::string object = name + "_t *bundle", why = "char *why, size_t why_size",
              report = "  struct report to = reportTo(why, why_size);\n";
  std::string text = R"(
/*===----------------------------------------------------------------------===*\
|* Public functions                                                           *|
\*===----------------------------------------------------------------------===*/

)";
  text += "int " + name + "_load(" + name + "_t **bundle, " + why + ") {\n" + report +
          "  return load(bundle, &to);\n}\n\nvoid " + name + "_unload(" + object +
          ") { unload(bundle); }\n\nint " + name + "_synchronize(" + object + ", void *stream, " +
          why + ") {\n" + report + "  return synchronize(bundle, stream, &to);\n}\n";
  for (size_t k = 0; k < bundle.kernels.size(); ++k) {
    const BundledKernel &kernel = bundle.kernels[k];
    const KernelInfo &info = kernel.configurations.front().artifact.info;
    std::string prefix = prefixOf(bundle, kernel), index = std::to_string(k);
    std::vector<std::string> names = fieldNames(info);
    std::string args = "const struct " + prefix + "_args *args";
    text += "\nstatic const struct argument *arguments" + index + "(" + args +
            ", struct argument *to) {\n  if (!args)\n    return NULL;\n";
    for (size_t i = 0; i < names.size(); ++i) {
      std::string to = "  to[" + std::to_string(i) + "]", from = "args->" + names[i];
      if (info.arguments[i].tensor)
        text += to + ".data = (void *)(uintptr_t)" + from + ".data;\n" + to + ".sizes = " + from +
                ".sizes;\n" + to + ".strides = " + from + ".strides;\n";
      else
        text += to + ".scalar = 0;\n  memcpy(&to[" + std::to_string(i) + "].scalar, &" + from +
                ", sizeof " + from + ");\n";
    }
    text += "  return to;\n}\n";
    auto addLaunch = [&](const std::string &function, const std::string &overlap) {
      text += "\nint " + prefix + function + "(" + object + ", void *stream, " + args + ",\n    " +
              why + ") {\n  struct argument arguments[argumentMost];\n" + report +
              "  return launch(bundle, stream, &kernels[" + index + "], " + overlap +
              ", arguments" + index + "(args, arguments), NULL, &to);\n}\n";
    };
    addLaunch("_launch", "0");
    if (mayOverlapPrevious(kernel))
      addLaunch("_launch_overlapping", "1");
    text += "\nint " + prefix + "_choose(" + object + ", void *stream, " + args +
            ",\n    unsigned *variant, " + why +
            ") {\n  struct argument arguments[argumentMost];\n" +
            "  const struct variant *chosen = NULL;\n" + report +
            "  launch(bundle, stream, &kernels[" + index + "], 0, arguments" + index +
            "(args, arguments), &chosen, &to);\n  if (chosen && variant)\n"
            "    *variant = chosen->number;\n  return to.code;\n}\n";
  }
  return text;
}
