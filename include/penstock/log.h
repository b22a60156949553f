//===- log.h - Events of compiling and caching ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header. The library does not log by default. set_log passes events to a
// callback, PENSTOCK_LOG=warning|info|debug prints them to standard error, and
// PENSTOCK_TRACE=FILE writes them at exit as a trace for Perfetto and Chrome.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LOG_H
#define PENSTOCK_LOG_H

#include "penstock/callback.h"
#include "penstock/export.h"

#include <cstdint>
#include <string>

namespace penstock {

enum class LogLevel : uint8_t { Off, Warning, Info, Debug };

struct Event {
  LogLevel level = LogLevel::Info;
  /// "record", "compile", "load", "assemble", "launch", "cache hit", "cache miss", "tune",
  /// "examine", "compile candidate", "compare", "measure", "warning".
  const char *name = "";
  std::string subject;     ///< the kernel, the candidate, or the text of a warning
  double microseconds = 0; ///< duration; 0 for instantaneous events
};

/// Passes events of this level and below to \p callback, on the thread of the event. Replaces
/// the previous callback. Off, or an empty callback, disables logging.
PENSTOCK_EXPORT void set_log(LogLevel level, Callback<const Event &> callback);

} // namespace penstock

#endif // PENSTOCK_LOG_H
