//===- Session.h - State shared by kernel commands --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_SESSION_H
#define PENSTOCK_TOOLS_SESSION_H

#include "CommandLine/CommandLine.h"
#include "Report/Html.h"
#include "penstock/assemble.h"
#include "penstock/check.h"

/// Reads "M=512,f=0.5", as often as it is given.
penstock::cli::Reader shapeReader(std::vector<penstock::Shape> &shapes);
/// "M=512,f=0.5".
std::string textOf(const penstock::Shape &shape);
/// Reads "stages=4,block_m=64".
penstock::cli::Reader pairReader(std::vector<std::pair<std::string, std::string>> &pairs,
                                 const char *form);

/// The exit code of a command: 0 if all is well, 1 if something failed, 2 if the
/// command line names something that does not exist.
int exitCodeOf(const std::vector<penstock::Diagnostic> &diagnostics, int otherwise);

/// These choices of --target and all GPUs.
std::vector<std::string> withGpus(std::vector<std::string> choices);

/// Returns the GPU that commands describe or check without --target: the architecture that a
/// kernel requires, or the first one with TMA.
std::string targetFor(const std::string &required);

/// Writes all of a result to standard output.
void put(const std::string &text);

/// A kernel of a library or text, how to compile it, and what is said about it.
/// Results go to standard output, diagnostics to standard error, both as JSON if
/// asked for.
struct Session {
  std::string input, kernel;
  std::string target; ///< empty: not given
  std::string cpu = "host";
  std::string format = "text";
  /// Choices of --format.
  std::vector<std::string> formats = {"text", "json"};
  penstock::InspectOptions options;
  std::vector<penstock::Diagnostic> diagnostics;

  /// Each declares what the one before it does, and more: the input; a kernel of it;
  /// how to compile that.
  void declareInput(penstock::cli::Command &command);
  void declareKernel(penstock::cli::Command &command);
  void declareCompile(penstock::cli::Command &command);
  /// The same for several kernels, whose names go to \p kernels.
  void declareCompile(penstock::cli::Command &command, std::vector<std::string> &kernels);

  /// `--cpu`.
  void declareCpu(penstock::cli::Command &command);

  bool isText() const;
  bool isJson() const { return format == "json"; }
  bool isHtml() const { return format == "html"; }
  /// Loads the input and fills the options; false, with diagnostics, on failure.
  bool load();
  penstock::AnyKernel compiled();
  /// Adds the errors and warnings of ptxas about a kernel for a GPU. Where it is not installed, a
  /// model predicts those on registers.
  penstock::RegisterCheck assemble(const penstock::AnyKernel &compiled);
  /// Prints a result as labeled rows or plain text, or as JSON.
  void result(const std::string &asText, const std::string &asJson);
  /// Prints a page with the diagnostics so far.
  void page(penstock::HtmlPage page);
  bool write(const std::string &file, const std::string &content);
  void error(unsigned code, const std::string &message);
  /// Prints the diagnostics and returns the exit code.
  int finish(int code);

  std::string text; ///< of the input, if it is text

private:
  bool readText();
  void declareOptions(penstock::cli::Command &command);
  void declareTarget(penstock::cli::Command &command);

  std::vector<std::pair<std::string, std::string>> fix;
  std::string printAfter;
  std::vector<std::string> passes; ///< that ran
  bool printed = false;
};

/// The architecture that the operations of the session's kernel require; empty: any, or the kernel
/// has errors.
std::string requiredArchitecture(Session &session);

#endif // PENSTOCK_TOOLS_SESSION_H
