//===- RecordText.cpp - Records as text -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Records.h"
#include "Tuning/Samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace penstock;
using namespace penstock::tuning;

namespace {

constexpr std::string_view firstLine = "penstock-record 1";

/// All bits of a number, so that equal samples stay equal.
std::string exact(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

/// A positive, finite number and nothing else.
std::optional<double> asSeconds(std::string_view text) {
  std::string copy(text);
  char *end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end || !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return value;
}

std::string oneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The text up to a separator, which is removed too.
std::string_view take(std::string_view &text, char separator) {
  size_t end = text.find(separator);
  std::string_view first = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return first;
}

} // namespace

void Record::merge(const Record &other) {
  // The reason of a removal does not depend on samples: errors win, and of two, one that
  // does not depend on the order.
  auto rank = [](const Record &r) {
    return std::tuple(r.removedBy.empty(), r.removedBy, r.code, r.reason);
  };
  if (rank(other) < rank(*this)) {
    removedBy = other.removedBy;
    code = other.code;
    reason = other.reason;
  }
  predicted = std::max(predicted, other.predicted);
  for (const RecordedRun &run : other.runs) {
    auto at = std::lower_bound(runs.begin(), runs.end(), run,
                               [](const auto &a, const auto &b) { return a.id < b.id; });
    if (at == runs.end() || at->id != run.id)
      runs.insert(at, run);
    else if (run.samples.size() > at->samples.size())
      *at = run; // the same run, later
  }
}

std::string tuning::writeRecord(const Record &record) {
  std::string text(firstLine);
  text += "\n";
  if (!record.removedBy.empty())
    text += "removed " + record.removedBy + " " + std::to_string(record.code) + " " +
            oneLine(record.reason) + "\n";
  if (record.predicted > 0)
    text += "predicted " + exact(record.predicted) + "\n";
  for (const RecordedRun &run : record.runs) {
    text += "run " + run.id;
    for (size_t i = 0; i < run.samples.size(); ++i)
      text +=
          " " + exact(run.samples[i]) + (i < run.disturbed.size() && run.disturbed[i] ? "!" : "");
    text += "\n";
  }
  return text;
}

std::optional<Record> tuning::readRecord(std::string_view text) {
  Record record;
  if (take(text, '\n') != firstLine)
    return std::nullopt;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    std::string_view what = take(line, ' ');
    if (what == "removed") {
      record.removedBy = take(line, ' ');
      std::string_view code = take(line, ' ');
      auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), record.code);
      if (record.removedBy.empty() || error != std::errc() || end != code.data() + code.size())
        return std::nullopt;
      record.reason = line;
    } else if (what == "predicted") {
      auto seconds = asSeconds(line);
      if (!seconds)
        return std::nullopt;
      record.predicted = *seconds;
    } else if (what == "run") {
      Record one;
      one.runs.push_back({std::string(take(line, ' ')), {}, {}});
      RecordedRun &run = one.runs.back();
      while (!line.empty()) {
        std::string_view sample = take(line, ' ');
        bool disturbed = sample.ends_with('!');
        if (disturbed)
          sample.remove_suffix(1);
        auto seconds = asSeconds(sample);
        if (!seconds)
          return std::nullopt;
        run.samples.push_back(*seconds);
        run.disturbed.push_back(disturbed);
      }
      if (run.id.empty() || run.samples.empty())
        return std::nullopt;
      Record kept = std::move(record);
      kept.merge(one);
      record = std::move(kept);
    } else {
      return std::nullopt;
    }
  }
  return record;
}

Record tuning::recordOf(const TuneCandidate &candidate, const std::string &run) {
  Record record;
  record.removedBy = candidate.removed_by;
  record.code = candidate.code;
  record.reason = oneLine(candidate.reason);
  record.predicted = candidate.predicted;
  if (!candidate.samples.empty())
    record.runs.push_back({run, candidate.samples, candidate.disturbed});
  return record;
}

void tuning::restore(TuneCandidate &candidate, const Record &record) {
  candidate.removed_by = record.removedBy;
  candidate.code = record.code;
  candidate.reason = record.reason;
  candidate.predicted = record.predicted;
  candidate.samples.clear();
  candidate.disturbed.clear();
  for (const RecordedRun &run : record.runs) {
    candidate.samples.insert(candidate.samples.end(), run.samples.begin(), run.samples.end());
    candidate.disturbed.insert(candidate.disturbed.end(), run.disturbed.begin(),
                               run.disturbed.end());
  }
  summarize(candidate);
}
