//===- Events.cpp - Emits events for logs and traces ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Events.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "penstock/diagnostics.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <vector>

using namespace penstock;
using Clock = std::chrono::steady_clock;

namespace {

double microsecondsOf(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

struct Sinks {
  Sinks() {
    if (const char *text = std::getenv("PENSTOCK_LOG")) {
      std::string level = text;
      printed = level == "debug"     ? LogLevel::Debug
                : level == "info"    ? LogLevel::Info
                : level == "warning" ? LogLevel::Warning
                                     : LogLevel::Off;
    }
    if (const char *file = std::getenv("PENSTOCK_TRACE"); file && *file)
      traceFile = file;
    update();
  }
  void update() {
    enabled = std::max({printed, called, traceFile.empty() ? LogLevel::Off : LogLevel::Debug});
  }
  void writeTrace() {
    std::lock_guard lock(mutex);
    // A child of a fork has the events of its parent, which writes them.
    if (process != ::getpid())
      return;
    FILE *file = std::fopen(traceFile.c_str(), "w");
    JsonObject all;
    all.json("traceEvents", jsonLines(trace));
    if (dropped)
      all.number("dropped", int64_t(dropped));
    std::string text = all.str() + "\n";
    bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if ((file && std::fclose(file) != 0) || !written)
      std::fprintf(stderr, "penstock: warning %s: the trace cannot be written to `%s`\n",
                   codeName(TraceFile).c_str(), traceFile.c_str());
  }

  std::mutex mutex;
  std::atomic<LogLevel> enabled{LogLevel::Off};
  LogLevel printed = LogLevel::Off, called = LogLevel::Off;
  std::shared_ptr<Callback<const Event &>> callback;
  std::string traceFile;
  std::vector<std::string> trace; // an event each, as JSON
  size_t traceBytes = 0;
  uint64_t dropped = 0;
  /// A service that launches for hours must not run out of memory.
  static constexpr size_t maxTraceBytes = size_t(256) << 20;
  pid_t process = ::getpid();
  Clock::time_point start = Clock::now();
};

Sinks &sinks() {
  // Never destroyed: events occur until the very end.
  static Sinks *instance = [] {
    auto *made = new Sinks;
    if (!made->traceFile.empty())
      std::atexit([] { sinks().writeTrace(); });
    return made;
  }();
  return *instance;
}

void emit(LogLevel level, const char *name, std::string_view subject, Clock::time_point begin,
          bool timed) {
  Sinks &all = sinks();
  Clock::time_point end = Clock::now();
  Event event{level, name, std::string(subject), timed ? microsecondsOf(end - begin) : 0};
  std::shared_ptr<Callback<const Event &>> callback;
  {
    std::lock_guard lock(all.mutex);
    if (level <= all.called)
      callback = all.callback;
    if (level <= all.printed)
      std::fprintf(stderr, timed ? "penstock: %s %s %.3f ms\n" : "penstock: %s %s\n", name,
                   event.subject.c_str(), event.microseconds / 1e3);
    if (all.traceBytes > Sinks::maxTraceBytes) {
      ++all.dropped;
    } else if (!all.traceFile.empty()) {
      JsonObject json;
      json.text("name", name)
          .text("cat", "penstock")
          .text("ph", timed ? "X" : "i")
          .number("ts", microsecondsOf((timed ? begin : end) - all.start));
      if (timed)
        json.number("dur", event.microseconds);
      json.number("pid", int64_t(::getpid()))
          .number("tid", int64_t(::gettid()))
          .json("args", JsonObject().text("subject", event.subject).str());
      all.trace.push_back(json.str());
      all.traceBytes += all.trace.back().size();
    }
  }
  // Without the lock: it may compile.
  if (callback)
    (*callback)(event);
}

} // namespace

bool penstock::isLogged(LogLevel level) {
  return level <= sinks().enabled.load(std::memory_order_relaxed);
}

void penstock::logEvent(LogLevel level, const char *name, std::string_view subject,
                        Clock::time_point begin) {
  if (isLogged(level))
    emit(level, name, subject, begin, true);
}

void penstock::logEvent(LogLevel level, const char *name, std::string_view subject) {
  if (isLogged(level))
    emit(level, name, subject, {}, false);
}

void penstock::set_log(LogLevel level, Callback<const Event &> callback) {
  Sinks &all = sinks();
  std::lock_guard lock(all.mutex);
  all.called = callback ? level : LogLevel::Off;
  all.callback = std::make_shared<Callback<const Event &>>(std::move(callback));
  all.update();
}
