//===- Trace.h - A timeline for Perfetto and chrome://tracing ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_TRACE_H
#define PENSTOCK_DRAW_TRACE_H

#include "Draw/Timeline.h"

namespace penstock::draw {

/// The Trace Event Format. One cycle is shown as one microsecond, which the
/// viewer then labels with cycles read as such; nanoseconds are shown as they are. Flights of one
/// row overlap, so each lane of them is a thread of its own.
std::string toTrace(const Timeline &);

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_TRACE_H
