//===- DescribedTarget.cpp - The target of explain and trace --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DescribedTarget.h"

using namespace penstock;

void declareHardware(cli::Command &command, Session &session) {
  command.choice("target", withGpus({"native"}),
                 "architecture to model; default: the one that the kernel is written for",
                 session.target);
}

std::string chooseTarget(Session &session) {
  if (!session.target.empty())
    return "";
  std::string required =
      session.isText()
          ? architecture_of_text(session.text, session.input, session.kernel, session.diagnostics)
          : architecture_of_registered(session.kernel, session.options, session.diagnostics);
  session.target = targetFor(required);
  return required.empty() ? "the default; --target chooses another"
                          : "which its operations require";
}

std::string architectureOf(const Session &session) {
  return session.target == "native" ? "x86" : session.target;
}
