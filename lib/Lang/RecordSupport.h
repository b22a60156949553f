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

/// The recorder at work, or null where no kernel is being recorded: a scalar
/// then is an empty reference, which the first kernel that uses it reports. A
/// call on a block that is not the one being recorded here is reported, to that
/// block's recording or, if it is over, by throwing.
inline Recorder *recorderFor(Loc at) {
  Recorder *here = Recorder::current();
  if (!at.recorder || (here && here->id == at.recorder))
    return here;
  Recorder::reportStray(at);
  return nullptr;
}

#define RECORDING(NAME, AT)                                                                        \
  Recorder *NAME = recorderFor(AT);                                                                \
  if (!NAME)                                                                                       \
    return {};

/// Reports operands of a product that only their C++ types tell from bytes: f4e2m1x2 without
/// scales, and i8 with them.
bool checkScales(Recorder &r, bool packed, mlir::Value a, mlir::Value scaleA, mlir::Value scaleB,
                 Loc at);

} // namespace penstock::lang

#endif // PENSTOCK_LANG_RECORDSUPPORT_H
