//===- Records.cpp - Measurements in the cache ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Records.h"
#include "Artifact/Checksum.h"
#include "Compiler/BuildIds.h"
#include "Compiler/Compiler.h"
#include "Tuning/Samples.h"
#include "Tuning/Tune.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::tuning;

std::string tuning::sha256Text(std::string_view text) {
  std::string digits;
  for (uint8_t byte : sha256(text)) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

std::string tuning::programHash(const Points &points) {
  for (size_t i = 0; i < points.size(); ++i) {
    std::shared_ptr<void> object = points.make(i);
    std::vector<Diagnostic> ignored; // the next point may be possible
    PooledContext context;
    auto module = recordKernel(context.get(), points.source(object.get()), {}, ignored);
    if (!module)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return sha256Text(text);
  }
  return "none";
}

std::string tuning::spaceHash(const Points &points) { return sha256Text(points.text()); }

Records::Records(cache::Store &store, const Points &points, Target target, TimeSource times,
                 const std::string &machine)
    : store(store), points(points), target(targetName(target)), times(name_of(times)),
      machine(machine), programHash(tuning::programHash(points)),
      spaceHash(tuning::spaceHash(points)) {}

std::string Records::head(const char *kind) const {
  return "penstock-" + std::string(kind) + " 1\ncompiler " + compilerBuildIds() + "\ntarget " +
         target + "\ntimes " + times + "\nmachine " + machine + "\nname " + points.kernel().name +
         "\nprogram " + programHash + "\nspace " + spaceHash + "\n";
}

std::string Records::key(const std::string &shapeClass, size_t point) const {
  std::string text = head("tuning") + "class " + shapeClass + "\npoint";
  for (const auto &[name, value] : points.fields(point))
    text += " " + value;
  return text + "\n";
}

std::optional<Record> Records::lookup(const std::string &shapeClass, size_t point) {
  auto text = store.lookup(key(shapeClass, point));
  return text ? readRecord(*text) : std::nullopt;
}

bool Records::add(const std::string &shapeClass, size_t point, const Record &record) {
  Record all = record;
  if (auto known = lookup(shapeClass, point)) {
    all.merge(*known);
    if (all == *known)
      return true;
  }
  return store.publish(key(shapeClass, point), writeRecord(all));
}

std::vector<std::string> Records::classes() {
  std::vector<std::string> found;
  std::string text = store.lookup(head("tuning-classes")).value_or("");
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin)
      found.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

bool Records::addClass(const std::string &shapeClass) {
  // Another worker may write its own class between reading and writing: look again.
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::vector<std::string> known = classes();
    if (std::find(known.begin(), known.end(), shapeClass) != known.end())
      return true;
    known.push_back(shapeClass);
    std::sort(known.begin(), known.end());
    std::string text;
    for (const std::string &each : known)
      text += each + "\n";
    if (!store.publish(head("tuning-classes"), text))
      return false;
  }
  return false;
}

std::vector<TuneCandidate> Records::read(const std::string &shapeClass) {
  std::vector<TuneCandidate> candidates(points.size());
  bool any = false;
  for (size_t i = 0; i < points.size(); ++i) {
    candidates[i].fields = points.fields(i);
    candidates[i].is_default = i == points.defaultPoint();
    if (auto record = lookup(shapeClass, i)) {
      restore(candidates[i], *record);
      any = true;
    }
  }
  return any ? candidates : std::vector<TuneCandidate>();
}
