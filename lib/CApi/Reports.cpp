//===- Reports.cpp - Reports of the C interface ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Json.h"
#include "penstock/tune.h"

using namespace penstock;

namespace {

struct Request {
  const penstock_library &library;
  std::string kernel;
  std::string architecture; ///< of the target, without ":emulated"
  InspectOptions inspect;
  Shape shape;
  int timings;
};

/// check, tune and runs look kernels up by name in all libraries.
bool firstOfItsName(const Request &request, capi::Diagnostics &found) {
  if (request.library.isText) {
    capi::fail(found, CallArgument, "this report needs a registered kernel, not a text",
               "write the kernel in C++ and register it with PENSTOCK_KERNEL(..)");
    return false;
  }
  if (request.library.definition) {
    preferDefinition(request.library.definition.get());
    return true;
  }
  auto all = registered_kernels(), own = kernels_of_library(request.library.path);
  auto named = [&](const KernelDescription &k) { return k.name == request.kernel; };
  auto first = std::find_if(all.begin(), all.end(), named);
  auto mine = std::find_if(own.begin(), own.end(), named);
  if (first == all.end() || mine == own.end() ||
      (first->location == mine->location && first->fields == mine->fields))
    return true; // what is missing is reported by the function that looks it up
  capi::fail(found, KernelShadowed,
             "`" + request.kernel + "` was registered by another library before (" +
                 first->location.file + ":" + std::to_string(first->location.line) + ")",
             "rename one of the kernels, or use one process for each library");
  return false;
}

std::string cacheJson() {
  KernelCache &cache = KernelCache::process();
  CacheStatistics s = cache.statistics();
  return JsonObject()
      .text("directory", cache.directory())
      .number("hits", s.hits)
      .number("memory_hits", s.memory_hits)
      .number("seed_hits", s.seed_hits)
      .number("remote_hits", s.remote_hits)
      .number("misses", s.misses)
      .number("stored", s.stored)
      .number("not_stored", s.not_stored)
      .number("failed_writes", s.failed_writes)
      .number("damaged", s.damaged)
      .json("problems", to_json(cache.diagnostics()))
      .str();
}

std::string make(const Request &r, penstock_report report, capi::Diagnostics &found) {
  switch (report) {
  case PENSTOCK_EXPLAIN:
    return r.library.isText
               ? explain_text(r.library.text, r.library.path, r.kernel, r.architecture, found)
               : explain_registered(r.kernel, r.architecture, r.inspect, found);
  case PENSTOCK_TIMELINE: {
    auto loops = r.library.isText ? trace_text(r.library.text, r.library.path, r.kernel,
                                               r.architecture, 8, found)
                                  : trace_registered(r.kernel, r.architecture, 8, r.inspect, found);
    return loops.empty() ? "" : loops.front().svg;
  }
  case PENSTOCK_RUN_TIMELINE: {
    if (!firstOfItsName(r, found))
      return "";
    RunPicture picture =
        draw_run(r.kernel, r.inspect.target.emulated(), r.shape, {.set = r.inspect.set});
    found = std::move(picture.diagnostics);
    return picture.svg;
  }
  case PENSTOCK_CHECK: {
    if (!firstOfItsName(r, found))
      return "";
    CheckOptions options;
    if (!r.shape.empty())
      options.shapes = {r.shape};
    if (r.timings > 0)
      options.timings = r.timings;
    options.set = r.inspect.set;
    CheckReport checked = check_registered(r.kernel, r.inspect.target.emulated(), options);
    found = checked.diagnostics;
    for (const CheckedShape &shape : checked.shapes)
      found.insert(found.end(), shape.findings.begin(), shape.findings.end());
    if (found.empty() && !checked.sound())
      capi::fail(found, CheckWrongResult,
                 "the check of `" + r.kernel + "` did not pass: " + summary_of(checked));
    return to_json(checked);
  }
  case PENSTOCK_TUNE: {
    if (!firstOfItsName(r, found))
      return "";
    TuneReport tuned = tune_registered(r.kernel, r.inspect.target, r.shape);
    found = tuned.diagnostics;
    return to_json(tuned);
  }
  case PENSTOCK_CACHE:
    break;
  }
  capi::fail(found, CallArgument, "unknown report " + std::to_string(int(report)));
  return "";
}

/// Numbers by name.
bool readSizes(const penstock_report_options &options, Shape &to, capi::Diagnostics &found) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (!capi::readSettings(options.sizes, options.size_count, "size", texts, found))
    return false;
  for (const auto &[name, text] : texts) {
    char *end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end) {
      capi::fail(found, CallArgument,
                 "the size `" + name + "` is \"" + text + "\", which is not a number");
      return false;
    }
    to.emplace_back(name, Number(value));
  }
  return true;
}

} // namespace

penstock_status penstock_make_report(const penstock_library *library, const char *kernel,
                                     penstock_report report, const penstock_report_options *options,
                                     char **text, penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!text) {
      capi::fail(found, CallArgument, "the argument `text` is null");
      return;
    }
    *text = nullptr;
    if (report == PENSTOCK_CACHE) {
      *text = capi::copyText(cacheJson());
      return;
    }
    penstock_report_options given;
    if (!library || !kernel) {
      capi::fail(found, CallArgument,
                 std::string("the argument `") + (library ? "kernel" : "library") + "` is null");
      return;
    }
    if (!capi::readOptions(options, given, found))
      return;
    Request request{*library, kernel, "", {}, {}, given.timings};
    given.compile.size = sizeof given.compile;
    if (!capi::readCompileOptions(&given.compile, *library, request.inspect, found) ||
        !readSizes(given, request.shape, found))
      return;
    std::string target = given.compile.target ? given.compile.target : "native";
    request.architecture = target == "native" ? "x86" : target.substr(0, target.find(':'));
    std::string made = make(request, report, found);
    if (!made.empty())
      *text = capi::copyText(made);
  });
}
