//===- RecordSupport.h - The start of every recording call ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LANG_RECORDSUPPORT_H
#define PENSTOCK_LANG_RECORDSUPPORT_H

#include "Lang/Recorder.h"

namespace penstock::lang {

/// The recorder at work, or null where no kernel is being recorded: a call then
/// has no effect and gives an empty reference, which the first kernel that uses
/// it reports.
inline Recorder *recorderFor(Loc) { return Recorder::current(); }

#define RECORDING(NAME, AT)                                                    \
  Recorder *NAME = recorderFor(AT);                                            \
  if (!NAME)                                                                   \
    return {};

} // namespace penstock::lang

#endif // PENSTOCK_LANG_RECORDSUPPORT_H
