//===- Report.cpp - Results of tuning as text, JSON and a picture ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Draw/SpacePicture.h"
#include "Tuning/Points.h"
#include "Tuning/Samples.h"
#include "penstock/tune.h"

#include <cstdio>

using namespace penstock;
using namespace penstock::tuning;

namespace {

std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string timeText(double seconds) {
  if (seconds < 1e-3)
    return formatted("%.2f us", seconds * 1e6);
  return seconds < 1 ? formatted("%.3f ms", seconds * 1e3) : formatted("%.3f s", seconds);
}

size_t countTimed(const TuneReport &report) {
  size_t timed = 0;
  for (const TuneCandidate &candidate : report.candidates)
    timed += candidate.removed_by.empty() && candidate.seconds > 0;
  return timed;
}

std::string reasonsText(const TuneStage &stage) {
  std::string text;
  for (const auto &[code, count] : stage.reasons)
    text += (text.empty() ? "" : ", ") + (code ? codeName(code) : std::string("other")) + " x" +
            std::to_string(count);
  return text;
}

} // namespace

std::string TuneCandidate::point() const { return tuning::textOf(fields); }

std::string penstock::name_of(TimeSource times) {
  switch (times) {
  case TimeSource::Best:
    return "best";
  case TimeSource::Events:
    return "events";
  case TimeSource::Native:
    return "native";
  case TimeSource::Predicted:
    return "predicted";
  }
  return "";
}

std::string penstock::to_text(const TuneReport &report) {
  if (report.candidates.empty())
    return "";
  std::string text = report.kernel + "  " + report.target + "  " + report.shape + "  class " +
                     report.shape_class + "\n  " + name_of(report.times) +
                     " times: " + report.machine + "\n";
  text += "  " + std::to_string(report.candidates.size()) + " points";
  for (const TuneStage &stage : report.stages)
    if (stage.removed)
      text += "; " + stage.name + " removed " + std::to_string(stage.removed) + " (" +
              reasonsText(stage) + ")";
  text += "; " + std::to_string(countTimed(report)) + " timed\n";
  const TuneCandidate *standard = nullptr;
  for (const TuneCandidate &candidate : report.candidates)
    if (candidate.is_default && candidate.seconds > 0)
      standard = &candidate;
  for (const TuneCandidate *candidate : ranking(report.candidates, listedPoints)) {
    text += "  " + timeText(candidate->seconds);
    if (candidate->samples.size() > 1)
      text += " +-" + formatted("%.1f", 50 * candidate->spread) + " %";
    text += "  " + candidate->point();
    if (candidate->is_default)
      text += "  (default)";
    text += "\n";
  }
  if (standard && report.best >= 0 && !report.candidates[size_t(report.best)].is_default)
    text += "  default " + timeText(standard->seconds) + ", " +
            formatted("%.2f", standard->seconds / report.candidates[size_t(report.best)].seconds) +
            " times the best\n";
  return text;
}

std::string penstock::to_json(const TuneReport &report) {
  JsonObject json;
  json.text("kernel", report.kernel)
      .text("target", report.target)
      .text("machine", report.machine)
      .text("shape", report.shape)
      .text("class", report.shape_class)
      .text("times", name_of(report.times))
      .boolean("cancelled", report.cancelled);
  json.json("stages", jsonArray(report.stages, [](const TuneStage &stage) {
              return JsonObject()
                  .text("name", stage.name)
                  .number("entered", stage.entered)
                  .number("removed", stage.removed)
                  .json("reasons", jsonArray(stage.reasons,
                                             [](const auto &reason) {
                                               return JsonObject()
                                                   .text("code", codeName(reason.first))
                                                   .number("count", reason.second)
                                                   .str();
                                             }))
                  .str();
            }));
  json.json(
      "candidates", jsonArray(report.candidates, [](const TuneCandidate &candidate) {
        JsonObject fields, one;
        for (const auto &[name, value] : candidate.fields)
          fields.text(name, value);
        one.json("fields", fields.str())
            .boolean("default", candidate.is_default)
            .boolean("mine", candidate.mine);
        if (!candidate.removed_by.empty())
          one.text("removedBy", candidate.removed_by)
              .text("code", candidate.code ? codeName(candidate.code) : "")
              .text("reason", candidate.reason);
        if (candidate.predicted > 0)
          one.number("predicted", candidate.predicted);
        if (candidate.seconds > 0) {
          one.number("seconds", candidate.seconds).number("spread", candidate.spread);
          size_t i = 0;
          one.json(
              "samples", jsonArray(candidate.samples, [&](double seconds) {
                JsonObject sample;
                sample.number("seconds", seconds).boolean("disturbed", candidate.disturbed[i++]);
                return sample.str();
              }));
        }
        return one.str();
      }));
  if (report.best >= 0)
    json.number("best", report.best);
  json.json("diagnostics", to_json(report.diagnostics));
  return json.str();
}

std::string penstock::to_svg(const TuneReport &report) {
  draw::SpacePicture picture;
  picture.title = report.kernel + " on " + report.target + ", " + report.shape;
  picture.subtitle = name_of(report.times) + " times: " + report.machine;
  for (size_t i = 0; i < report.candidates.size(); ++i) {
    const TuneCandidate &candidate = report.candidates[i];
    draw::SpacePicture::Point point;
    for (const auto &[name, value] : candidate.fields) {
      if (i == 0)
        picture.axes.push_back(name);
      point.values.push_back(value);
    }
    point.seconds = candidate.removed_by.empty() ? candidate.seconds : 0;
    point.removedBy = candidate.removed_by;
    point.reason =
        candidate.code ? codeName(candidate.code) + ": " + candidate.reason : candidate.reason;
    point.isDefault = candidate.is_default;
    point.isBest = int(i) == report.best;
    picture.points.push_back(std::move(point));
  }
  return draw::toSvg(picture);
}
