//===- Table.cpp - Tables of tuned kernels, for version control -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Table.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/ReadFile.h"
#include "penstock/tune.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <fstream>

using namespace penstock;
using namespace penstock::tuning;

void Table::set(TableEntry entry) {
  auto keyOf = [](const TableEntry &e) { return std::tie(e.kernel, e.target, e.shapeClass); };
  auto at = std::lower_bound(
      entries.begin(), entries.end(), entry,
      [&](const TableEntry &a, const TableEntry &b) { return keyOf(a) < keyOf(b); });
  if (at != entries.end() && keyOf(*at) == keyOf(entry))
    *at = std::move(entry);
  else
    entries.insert(at, std::move(entry));
}

std::string tuning::writeTable(const Table &table) {
  std::vector<std::string> entries;
  for (const TableEntry &entry : table.entries) {
    std::string fields = jsonArray(entry.fields, [](const auto &field) {
      return jsonString(field.first + "=" + field.second);
    });
    entries.push_back(JsonObject()
                          .text("kernel", entry.kernel)
                          .text("target", entry.target)
                          .text("class", entry.shapeClass)
                          .json("fields", fields)
                          .number("seconds", entry.seconds)
                          .text("times", entry.times)
                          .text("machine", entry.machine)
                          .str());
  }
  return JsonObject().number("format", 1).json("tuned", jsonLines(entries)).str() + "\n";
}

std::optional<Table> tuning::readTable(const std::string &text, const std::string &file,
                                       std::vector<Diagnostic> &diagnostics) {
  auto refuse = [&](const std::string &why) {
    Diagnostic d;
    d.code = TuneTable;
    d.location = {file, 0, 0};
    d.message = "`" + file + "` is not a table of tuned kernels: " + why;
    d.helps.push_back("write it with penstock tune --export");
    diagnostics.push_back(std::move(d));
    return std::nullopt;
  };
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed)
    return refuse(llvm::toString(parsed.takeError()));
  const llvm::json::Object *root = parsed->getAsObject();
  if (!root || root->getInteger("format") != 1)
    return refuse("it has another format than 1");
  const llvm::json::Array *list = root->getArray("tuned");
  if (!list)
    return refuse("it has no list `tuned`");
  Table table;
  for (const llvm::json::Value &item : *list) {
    const llvm::json::Object *object = item.getAsObject();
    const llvm::json::Array *fields = object ? object->getArray("fields") : nullptr;
    auto textOf = [&](const char *name) {
      auto value = object->getString(name);
      return value ? value->str() : std::string();
    };
    if (!fields || !object->getString("kernel") || !object->getString("target") ||
        !object->getString("class"))
      return refuse("an entry lacks `kernel`, `target`, `class` or `fields`");
    TableEntry entry{textOf("kernel"),
                     textOf("target"),
                     textOf("class"),
                     {},
                     object->getNumber("seconds").value_or(0),
                     textOf("times"),
                     textOf("machine")};
    for (const llvm::json::Value &field : *fields) {
      auto pair = field.getAsString();
      if (!pair || !pair->contains('='))
        return refuse("a field is not of the form \"NAME=VALUE\"");
      entry.fields.emplace_back(pair->split('=').first.str(), pair->split('=').second.str());
    }
    table.set(std::move(entry));
  }
  return table;
}

std::vector<Diagnostic> penstock::export_table(const std::string &file,
                                               const std::vector<TuneReport> &reports) {
  std::vector<Diagnostic> diagnostics;
  Table table;
  if (std::ifstream(file).good()) {
    std::string text;
    if (auto problem = readFile(file, text))
      return {*problem};
    auto known = readTable(text, file, diagnostics);
    if (!known)
      return diagnostics; // what is there is not overwritten
    table = std::move(*known);
  }
  for (const TuneReport &report : reports)
    if (report.best >= 0) {
      const TuneCandidate &best = report.candidates[size_t(report.best)];
      table.set({report.kernel, report.target, report.shape_class, best.fields, best.seconds,
                 name_of(report.times), report.machine});
    }
  std::ofstream out(file, std::ios::binary);
  out << writeTable(table);
  if (!out.flush()) {
    Diagnostic d;
    d.code = ToolFile;
    d.message = "`" + file + "` cannot be written";
    diagnostics.push_back(std::move(d));
  }
  return diagnostics;
}
