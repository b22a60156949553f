//===- Bundle.cpp - Kernels as C files ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Bundle/Bundle.h"
#include "Bundle/BundleText.h"
#include "Diagnostics/Codes.h"
#include "Launcher.inc"

#include <algorithm>
#include <set>

using namespace penstock;
using namespace penstock::bundle;

namespace {

class Checker {
public:
  Checker(const Bundle &bundle, std::vector<Diagnostic> &diagnostics)
      : bundle(bundle), diagnostics(diagnostics) {}

  void run() {
    if (!isIdentifier(bundle.name))
      refuse("`" + bundle.name + "` cannot be the prefix of a bundle's functions",
             "letters, digits and underscores are allowed, as in `-o folder/matmul`");
    if (bundle.kernels.empty())
      refuse("a bundle needs a kernel", "name one, or several");
    std::set<std::string> names;
    for (const BundledKernel &kernel : bundle.kernels) {
      if (!isIdentifier(kernel.name))
        refuse("`" + kernel.name + "` cannot be part of the names of C functions",
               "register the kernel under another name");
      if (!names.insert(kernel.name).second)
        refuse("`" + kernel.name + "` is in the bundle twice",
               "give each kernel a name of its own");
      for (const BundleConfiguration &configuration : kernel.configurations)
        check(kernel, configuration);
    }
  }

private:
  void refuse(std::string message, std::string help) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = std::move(message);
    d.helps.push_back(std::move(help));
    diagnostics.push_back(std::move(d));
  }

  void check(const BundledKernel &kernel, const BundleConfiguration &configuration) {
    const KernelInfo &info = configuration.artifact.info,
                     &first = kernel.configurations.front().artifact.info;
    auto same = [](const ArgumentInfo &a, const ArgumentInfo &b) {
      return a.name == b.name && a.tensor == b.tensor && a.element == b.element &&
             a.rank == b.rank && a.written == b.written && a.sizes == b.sizes;
    };
    if (!std::ranges::equal(info.arguments, first.arguments, same))
      refuse("the configurations of `" + kernel.name + "` have different arguments",
             "give them different bundles");
    if (!info.resolved)
      refuse("the signature of `" + kernel.name + "` has a size that is not a name or a number",
             "give the kernel a signature with a size for each dimension");
    for (const BundleBound &bound : configuration.bounds)
      if (!hasSize(info, bound.size))
        refuse("`" + kernel.name + "` has no size `" + bound.size + "`",
               info.signature.empty() ? "it has no signature"
                                      : "its signature is \"" + info.signature + "\"");
    for (const DeviceKernel &variant : configuration.artifact.variants) {
      if (!variant.prints.empty())
        refuse("`" + kernel.name + "` prints, and bundles do not collect its lines",
               "leave out `print`");
      if (variant.architecture != "sm_90a" && variant.architecture != "sm_100a")
        refuse("bundles are launched on sm_90a and sm_100a; `" + kernel.name +
                   "` was compiled for " + variant.architecture,
               "choose --target sm_90a or --target sm_100a");
    }
  }

  static bool hasSize(const KernelInfo &info, const std::string &name) {
    return std::ranges::any_of(info.arguments, [&](const ArgumentInfo &argument) {
      return std::ranges::count(argument.sizes, name) != 0;
    });
  }

  const Bundle &bundle;
  std::vector<Diagnostic> &diagnostics;
};

} // namespace

std::optional<BundleFiles> penstock::writeBundle(const Bundle &given,
                                                 std::vector<Diagnostic> &diagnostics) {
  Bundle bundle = given;
  for (BundledKernel &kernel : bundle.kernels)
    for (BundleConfiguration &configuration : kernel.configurations)
      resolveSizes(configuration.artifact.info);
  size_t before = diagnostics.size();
  Checker(bundle, diagnostics).run();
  if (diagnostics.size() != before)
    return std::nullopt;
  // The tables need the types, and the functions need the tables.
  std::string source = "/* " + bundle.name + ".c - Kernels, made by Penstock. */\n#include \"" +
                       bundle.name + ".h\"\n\n#define BUNDLE " + bundle.name + "_t\n\n" +
                       launcherTypes + "\n" + writeTables(bundle) + "\n";
  for (const char *part : {launcherDriver, launcherArguments, launcherGrids, launcherGpus})
    source += part + std::string("\n");
  return BundleFiles{writeHeader(bundle), source + writeFunctions(bundle), writeJson(bundle)};
}
