//===- Html.h - Reports as self-contained web pages -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One writer for the pages of penstock and penstock-emu. A page is one file: it has
// its style and its pictures, runs no scripts and follows the reader's dark mode.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_REPORT_HTML_H
#define PENSTOCK_REPORT_HTML_H

#include "Diagnostics/Render.h"

#include <set>
#include <vector>

namespace penstock {

/// Text with HTML's special characters as entities.
std::string escapedHtml(std::string_view text);

/// Severity of a finding on a page.
struct HtmlTier {
  std::string name; ///< class of the style: "wrong", "undefined", "note"
  std::string text; ///< "wrong on hardware"
};

class HtmlPage {
public:
  /// \p sourceLine reads source lines; empty: from disk.
  explicit HtmlPage(const std::string &title, const SourceLineFn &sourceLine = {});

  void heading(const std::string &text);
  void paragraph(const std::string &text);
  /// A table. The cells of \p header and \p rows are plain text; numbers are aligned to the right.
  void table(const std::vector<std::string> &header,
             const std::vector<std::vector<std::string>> &rows);
  /// An SVG picture with a caption.
  void picture(const std::string &svg, const std::string &caption);
  /// Preformatted text, folded unless \p open.
  void details(const std::string &summary, const std::string &text, bool open = false);
  /// Lines of a source file, the marked ones highlighted, from three lines before the first one to
  /// three lines after the last one. Adds nothing if the file cannot be read.
  void source(const std::string &file, const std::set<uint32_t> &marked);
  /// A finding with the source lines of all its locations, its help and its facts.
  void finding(const Diagnostic &finding, const HtmlTier &tier);
  /// Returns the page.
  std::string end() &&;

private:
  std::optional<std::string> line(const std::string &file, uint32_t number) const;
  void lines(const std::string &file, uint32_t first, uint32_t last,
             const std::set<uint32_t> &marked);
  void side(const SourceLocation &at, const std::string &message, const std::string &label);
  void timeline(const std::string &steps);

  SourceLineFn sourceLine;
  std::string out;
};

} // namespace penstock

#endif // PENSTOCK_REPORT_HTML_H
