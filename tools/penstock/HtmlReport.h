//===- HtmlReport.h - Pages of the commands on kernels ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_HTMLREPORT_H
#define PENSTOCK_TOOLS_HTMLREPORT_H

#include "Report/Html.h"
#include "penstock/check.h"
#include "penstock/tune.h"

/// Adds labeled rows (LabeledRows.h) as a table.
void addRows(penstock::HtmlPage &page, const std::string &rows);

/// Adds the source lines at these locations, each file once.
void addSource(penstock::HtmlPage &page, const std::vector<penstock::SourceLocation> &lines);

/// Adds errors, warnings and notes with their source lines.
void addDiagnostics(penstock::HtmlPage &page, const std::vector<penstock::Diagnostic> &diagnostics);

/// The page of `check`. \p pictures: timelines by their captions.
std::string pageOf(const penstock::CheckReport &report,
                   const std::vector<std::pair<std::string, std::string>> &pictures);

/// The page of `tune`.
std::string pageOf(const std::vector<penstock::TuneReport> &reports);

#endif // PENSTOCK_TOOLS_HTMLREPORT_H
