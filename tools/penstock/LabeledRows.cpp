//===- LabeledRows.cpp - Results as labeled rows --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LabeledRows.h"
#include "CommandLine/Terminal.h"
#include "Diagnostics/Split.h"
#include "Diagnostics/Style.h"

using namespace penstock;

namespace {

/// Columns of the label.
constexpr size_t width = 11;

/// Returns whether a line has a label, or spaces instead, before its content. Labels are shorter
/// than their column, so that two spaces precede the content.
bool isRow(const std::string &line) {
  return line.size() > width && line.compare(width - 2, 2, "  ") == 0 && line[width] != ' ';
}

} // namespace

std::vector<LabeledRow> rowsOf(const std::string &text) {
  std::vector<LabeledRow> rows;
  for (const std::string &line : split(text, '\n')) {
    if (line.empty())
      continue;
    bool labeled = isRow(line);
    if (labeled && line[0] == ' ' && !rows.empty())
      rows.back().lines.push_back(line.substr(width));
    else if (labeled)
      rows.push_back(
          {line.substr(0, line.find_last_not_of(' ', width - 1) + 1), {line.substr(width)}});
    else
      rows.push_back({"", {line}});
  }
  return rows;
}

std::string forTerminal(const std::string &text) {
  bool color = cli::isColored(1);
  unsigned columns = cli::widthOf(1);
  if (!color && columns == 0)
    return text;
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (isRow(line))
      line = styled(line.substr(0, width), Style::Bold, color) +
             wrapped(line.substr(width), columns, width, width);
    out += line + "\n";
  }
  return out;
}

std::string rowText(const std::string &label, const std::vector<std::string> &lines) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string start = i ? "" : label;
    start.resize(width, ' ');
    text += start + lines[i] + "\n";
  }
  return text;
}
