//===- KernelNames.cpp - Names of a module's kernels ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"
#include "Emulator/Decode/Names.h"
#include "Emulator/Decode/Program.h"

#include <algorithm>

namespace penstock::emu {
namespace {

/// Names that a message lists; modules may have tens of thousands.
constexpr size_t maxListed = 12;

/// "gemm<128>(float*)" -> "gemm".
std::string withoutParameters(const std::string &name) {
  size_t end = std::min(name.find('('), name.find('<'));
  std::string head = name.substr(0, end);
  if (size_t space = head.rfind(' '); space != std::string::npos)
    head = head.substr(space + 1); // the result type of a template
  if (size_t scope = head.rfind("::"); scope != std::string::npos)
    head = head.substr(scope + 2);
  return head;
}

} // namespace

Diagnostic unknownKernel(const ptx::Module &module, const std::string &kernel) {
  Diagnostic d;
  d.code = EmuBadLaunch;
  d.location = module.location(0);
  d.message = "the module has no kernel `" + kernel + "`";
  std::vector<std::string> close, others;
  for (const auto &function : module.functions) {
    if (!function->isEntry || function->isDeclaration)
      continue;
    const std::string &name = function->name;
    std::string source = demangled(name);
    bool isClose = name.find(kernel) != std::string::npos ||
                   source.find(kernel) != std::string::npos ||
                   !closestName(kernel, {name, withoutParameters(source)}).empty();
    (isClose ? close : others)
        .push_back("`" + name + "`" + (source == name ? "" : " (" + source + ")"));
  }
  if (close.empty() && others.empty()) {
    d.helps.push_back("it has no kernels");
    return d;
  }
  size_t count = close.size() + others.size();
  std::string text = close.empty() ? "its kernels are " : "did you mean ";
  if (!close.empty() && !others.empty())
    close.back() += "? Its other kernels are ";
  else if (!close.empty())
    close.back() += "?";
  size_t matches = close.size();
  close.insert(close.end(), others.begin(), others.end());
  for (size_t i = 0; i < std::min(count, maxListed); ++i)
    text += (i == 0 || i == matches ? "" : ", ") + close[i];
  if (count > maxListed)
    text += " and " + std::to_string(count - maxListed) + " more";
  d.helps.push_back(text);
  return d;
}

} // namespace penstock::emu
