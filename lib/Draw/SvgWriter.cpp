//===- SvgWriter.cpp - Pieces of SVG that all pictures share --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/SvgWriter.h"

#include <cstdio>

namespace penstock::draw {

/// Colors for readers who prefer dark pages: the paper, and the texts and lines on it. Bars keep
/// their colors, on which text is dark.
static constexpr const char *darkStyle = "@media (prefers-color-scheme:dark){\n"
                                         ".paper{fill:#1d2027}\n"
                                         ".band{fill:#252932}\n"
                                         ".title,.row,.value,.name{fill:#e9ecf1}\n"
                                         ".sub,.note,.tick,.axis,.side{fill:#b4bdc9}\n"
                                         ".grid,.step{stroke:#3d434e}\n"
                                         ".base{stroke:#626b78}\n"
                                         ".range,.group{stroke:#e9ecf1}\n"
                                         ".cell{stroke:#1d2027}\n"
                                         ".marked{fill:#ff8a7d}\n"
                                         ".mark{stroke:#ff8a7d}\n"
                                         "}\n";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.')
    out.pop_back();
  return out;
}

std::string xmlText(const std::string &text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
  return out;
}

void SvgWriter::begin(int width, int height, const std::string &style,
                      const std::string &definitions) {
  std::string wide = std::to_string(width), high = std::to_string(height);
  out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + wide + "\" height=\"" + high +
        "\" viewBox=\"0 0 " + wide + " " + high +
        "\" role=\"img\" font-family=\"'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif\">\n"
        "<style>\n" +
        style + darkStyle + "</style>\n";
  if (!definitions.empty())
    out += "<defs>" + definitions + "</defs>\n";
  out += "<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
}

void SvgWriter::text(double x, double y, const char *style, const std::string &what) {
  out += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + style + "\">" +
         xmlText(what) + "</text>\n";
}

void SvgWriter::line(double x1, double y1, double x2, double y2, const char *style) {
  out += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" class=\"" + style + "\"/>\n";
}

} // namespace penstock::draw
