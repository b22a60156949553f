//===- FrontEnd.cpp - Recording calls of other languages ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/FrontEnd.h"
#include "Lang/Recorder.h"

using namespace penstock;

uint32_t lang::recording() {
  Recorder *r = Recorder::current();
  return r ? r->id : 0;
}

void lang::nameNext(std::string name) {
  if (Recorder *r = Recorder::current())
    r->nextName = std::move(name);
}

detail::Scope lang::openElseAfter(Loc at) {
  Recorder *r = Recorder::current();
  return r ? r->reopenCondition(at) : detail::Scope();
}

bool lang::report(DiagnosticCode code, Loc at, std::string message, std::string help) {
  Recorder *r = Recorder::current();
  if (r)
    r->error(code, at, std::move(message), std::move(help));
  return r != nullptr;
}
