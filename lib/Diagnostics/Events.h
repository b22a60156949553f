//===- Events.h - Emits events for logs and traces --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_EVENTS_H
#define PENSTOCK_DIAGNOSTICS_EVENTS_H

#include "penstock/log.h"

#include <chrono>
#include <string_view>

namespace penstock {

/// Returns whether anything receives events of a level; costs one load if not.
bool isLogged(LogLevel level);

/// Emits an event that ends now and began at \p begin.
void logEvent(LogLevel level, const char *name, std::string_view subject,
              std::chrono::steady_clock::time_point begin);
/// Emits an event without a duration.
void logEvent(LogLevel level, const char *name, std::string_view subject);

/// Emits an event of its lifetime.
class TimedEvent {
public:
  TimedEvent(LogLevel level, const char *name, std::string_view subject)
      : level(level), name(name), subject(subject), logged(isLogged(level)) {
    if (logged)
      begin = std::chrono::steady_clock::now();
  }
  TimedEvent(const TimedEvent &) = delete;
  TimedEvent &operator=(const TimedEvent &) = delete;
  ~TimedEvent() {
    if (logged)
      logEvent(level, name, subject, begin);
  }

private:
  LogLevel level;
  const char *name;
  std::string_view subject;
  bool logged;
  std::chrono::steady_clock::time_point begin;
};

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_EVENTS_H
