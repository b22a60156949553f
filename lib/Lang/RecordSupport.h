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

/// An operand of a product, whose C++ type tells packed elements from bytes.
struct ProductOperand {
  mlir::Value tile;
  Element element;
};
/// Reports packed operands without scales, and i8 with them.
bool checkScales(Recorder &r, const ProductOperand &a, const ProductOperand &b, bool scaled,
                 Loc at);
/// Returns the packing of an operand; null for pairs of f4e2m1, and for elements that are values.
tile::PackingAttr packingOf(Recorder &r, Element element);

} // namespace penstock::lang

#endif // PENSTOCK_LANG_RECORDSUPPORT_H
