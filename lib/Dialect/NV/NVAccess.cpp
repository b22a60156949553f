//===- NVAccess.cpp - Issuers and accesses of nv operations ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;

#include "Dialect/NV/NVInterfaces.cpp.inc"

/// Begins the error of an operation in a wrong scope.
static InFlightDiagnostic emitScope(Operation *op) {
  return tile::emitCoded(op, HardwareScope) << "`" << op->getName().stripDialect() << "` ";
}

LogicalResult nv::verifyIssuer(HardwareOpInterface op) {
  ThreadScope scope = scopeOf(op);
  switch (op.getIssuer()) {
  case Issuer::EachThread:
  case Issuer::OneThread:
    return success();
  case Issuer::Block:
    if (scope.wholeBlock && !scope.oneThread)
      return success();
    {
      auto diagnostic = emitScope(op) << "is executed by all threads of the block";
      tile::attachHelp(diagnostic) << "move it out of warps and elect_one";
      return diagnostic;
    }
  case Issuer::Warps:
  case Issuer::Warpgroups:
    break;
  }
  if (scope.oneThread) {
    auto diagnostic = emitScope(op)
                      << "is executed by whole warps and stands inside of `elect_one`";
    tile::attachHelp(diagnostic) << "move it out of elect_one";
    return diagnostic;
  }
  if (op.getIssuer() == Issuer::Warps ||
      (scope.warps % warpgroupWarps == 0 && scope.firstWarp % warpgroupWarps == 0))
    return success();
  auto diagnostic = emitScope(op) << "is executed by " << scope.warps << " warps from warp "
                                  << scope.firstWarp << " on";
  tile::attachHelp(diagnostic) << "it takes whole warpgroups: 4 warps, the first a multiple of 4";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

using Accesses = SmallVectorImpl<HardwareAccess>;

static HardwareAccess read(Value memref, bool engineLayout = false) {
  HardwareAccess access{memref};
  access.reads = true;
  access.engineLayout = engineLayout;
  return access;
}

static HardwareAccess write(Value memref, bool engineLayout = false) {
  HardwareAccess access{memref};
  access.writes = true;
  access.engineLayout = engineLayout;
  return access;
}

static HardwareAccess at(HardwareAccess access, ValueRange offsets) {
  access.offsets = offsets;
  return access;
}

void TmaLoadOp::getAccesses(Accesses &accesses) {
  accesses.push_back(at(read(getSource()), getOffsets()));
  accesses.push_back(write(getTarget(), true));
}

// With `combine` memory reads what it updates, which no thread can tell from a write.
void TmaStoreOp::getAccesses(Accesses &accesses) {
  accesses.push_back(read(getSource(), true));
  accesses.push_back(at(write(getTarget()), getOffsets()));
}

void AsyncCopyOp::getAccesses(Accesses &accesses) {
  accesses.push_back(at(read(getSource()), getOffsets()));
  accesses.push_back(write(getTarget(), true));
}

void ClcRequestOp::getAccesses(Accesses &accesses) { accesses.push_back(write(getAnswer())); }
void ClcAnswerOp::getAccesses(Accesses &accesses) { accesses.push_back(read(getAnswer())); }

template <typename Product> static void productAccesses(Product op, Accesses &accesses) {
  accesses.push_back(read(op.getA(), true));
  accesses.push_back(read(op.getB(), true));
  HardwareAccess acc = write(op.getAcc());
  acc.reads = true;
  acc.readsIf = op.getAccumulate();
  accesses.push_back(acc);
}
void TensorMmaOp::getAccesses(Accesses &accesses) {
  productAccesses(*this, accesses);
  for (Value scales : {getScaleA(), getScaleB()})
    if (scales)
      accesses.push_back(read(scales));
}
void WgmmaOp::getAccesses(Accesses &accesses) { productAccesses(*this, accesses); }

void TensorCopyOp::getAccesses(Accesses &accesses) {
  accesses.push_back(read(getSource(), true));
  accesses.push_back(write(getTarget()));
}

void TensorLoadOp::getAccesses(Accesses &accesses) {
  accesses.push_back(read(getSource()));
  accesses.push_back(write(getTarget()));
}

void TensorStoreOp::getAccesses(Accesses &accesses) {
  accesses.push_back(read(getSource()));
  accesses.push_back(write(getTarget()));
}
