//===- Diagnostics.cpp - Diagnostics of the C interface -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"
#include "CApi/PythonWords.h"

#include <new>

using namespace penstock;

void capi::fail(Diagnostics &to, DiagnosticCode code, std::string message, std::string help) {
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  if (!help.empty())
    d.helps.push_back(std::move(help));
  to.push_back(std::move(d));
}

penstock_status capi::finish(Diagnostics found, penstock_diagnostics **to) noexcept {
  bool failed = std::any_of(found.begin(), found.end(),
                            [](const Diagnostic &d) { return d.severity == Severity::Error; });
  if (to)
    if (auto made = new (std::nothrow) penstock_diagnostics) {
      try {
        speakPython(found);
      } catch (...) { // helps stay in C++
      }
      made->all = std::move(found);
      *to = made;
    }
  return failed ? PENSTOCK_FAILED : PENSTOCK_OK;
}

void capi::addException(Diagnostics &to) noexcept {
  // Without memory for its text, the error itself is still reported.
  Diagnostic d;
  d.code = CallFailed;
  try {
    try {
      throw;
    } catch (const Error &error) {
      to.insert(to.end(), error.diagnostics().begin(), error.diagnostics().end());
      return;
    } catch (const std::bad_alloc &) {
      d.message = "out of memory";
    } catch (const std::exception &error) {
      d.message = std::string("internal error: ") + error.what();
    } catch (...) {
      d.message = "internal error";
    }
    to.push_back(std::move(d));
  } catch (...) {
    to.resize(to.size() + (to.size() < to.capacity()));
  }
}

char *capi::copyText(const std::string &text) {
  auto copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy)
    std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void penstock_free(void *text) { std::free(text); }

static const Diagnostic *at(const penstock_diagnostics *diagnostics, size_t index) {
  return diagnostics && index < diagnostics->all.size() ? &diagnostics->all[index] : nullptr;
}

size_t penstock_diagnostics_count(const penstock_diagnostics *diagnostics) {
  return diagnostics ? diagnostics->all.size() : 0;
}

penstock_diagnostic penstock_diagnostics_get(const penstock_diagnostics *diagnostics,
                                             size_t index) {
  const Diagnostic *d = at(diagnostics, index);
  if (!d)
    return {PENSTOCK_NOTE, 0, "", "", 0, 0, 0, 0};
  return {penstock_severity(d->severity),
          d->code,
          d->message.c_str(),
          d->location.file.c_str(),
          d->location.line,
          d->location.column,
          d->notes.size(),
          d->helps.size()};
}

penstock_diagnostic penstock_diagnostics_note(const penstock_diagnostics *diagnostics, size_t index,
                                              size_t note) {
  const Diagnostic *d = at(diagnostics, index);
  if (!d || note >= d->notes.size())
    return {PENSTOCK_NOTE, 0, "", "", 0, 0, 0, 0};
  const DiagnosticNote &n = d->notes[note];
  return {PENSTOCK_NOTE,
          d->code,
          n.message.c_str(),
          n.location.file.c_str(),
          n.location.line,
          n.location.column,
          0,
          0};
}

const char *penstock_diagnostics_help(const penstock_diagnostics *diagnostics, size_t index,
                                      size_t help) {
  const Diagnostic *d = at(diagnostics, index);
  return d && help < d->helps.size() ? d->helps[help].c_str() : nullptr;
}

template <class F>
static const char *render(penstock_diagnostics *diagnostics, std::string penstock_diagnostics::*to,
                          F make) {
  if (!diagnostics)
    return "";
  std::string &text = diagnostics->*to;
  try {
    if (text.empty())
      text = make(diagnostics->all);
  } catch (...) {
    return "";
  }
  return text.c_str();
}

const char *penstock_diagnostics_text(penstock_diagnostics *diagnostics) {
  return render(diagnostics, &penstock_diagnostics::text,
                [](const capi::Diagnostics &all) { return to_text(all); });
}
const char *penstock_diagnostics_json(penstock_diagnostics *diagnostics) {
  return render(diagnostics, &penstock_diagnostics::json,
                [](const capi::Diagnostics &all) { return to_json(all); });
}

void penstock_diagnostics_free(penstock_diagnostics *diagnostics) { delete diagnostics; }
