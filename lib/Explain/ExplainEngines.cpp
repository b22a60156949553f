//===- ExplainEngines.cpp - Engines of copies and MMAs --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the engines off the operations that the passes have written, not off what
// they meant to write.
//
//===----------------------------------------------------------------------===//
#include "Explain/ExplainEngines.h"
#include "Diagnostics/Codes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Explain/ExplainRoles.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Operations/MmaSync.h"

using namespace mlir;
using namespace penstock;

namespace {

/// "128x64xf16".
std::string shapeOf(MemRefType type) {
  std::string text;
  for (int64_t size : type.getShape())
    text += std::to_string(size) + "x";
  llvm::raw_string_ostream(text) << type.getElementType();
  return text;
}

/// Returns the number of versions of the tile that \p target is one of.
int64_t versionsOf(Value target) {
  auto whole = cast<MemRefType>(tile::rootOf(target).getType());
  auto one = cast<MemRefType>(target.getType());
  return whole.getRank() > one.getRank() ? whole.getDimSize(0) : 1;
}

/// The user's name of a tile or tensor; its type if it has none.
std::string nameOrType(Value memref) {
  std::string name = tile::nameOf(tile::rootOf(memref));
  return name.empty() ? shapeOf(cast<MemRefType>(memref.getType())) : name;
}

int64_t bytesOf(MemRefType type) {
  return type.hasStaticShape() ? type.getNumElements() * type.getElementTypeBitWidth() / 8 : 0;
}

class Reader {
public:
  std::vector<EngineUse> read(func::FuncOp kernel) {
    kernel.walk([&](Operation *op) { add(op); });
    return std::move(uses);
  }

private:
  void add(Operation *op) {
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      product(op, nvptx::mmaShapeOf(gemm) ? "mma.sync" : "threads", gemm.getA(), gemm.getB(),
              gemm.getAcc());
    else if (auto wgmma = dyn_cast<nv::WgmmaOp>(op))
      product(op, "wgmma", wgmma.getA(), wgmma.getB(), wgmma.getAcc());
    else if (auto tensor = dyn_cast<nv::TensorMmaOp>(op))
      product(op, "tcgen05.mma", tensor.getA(), tensor.getB(), tensor.getAcc());
    else if (auto load = dyn_cast<nv::TmaLoadOp>(op))
      copy(op, "tma.load", load.getSource(), load.getTarget());
    else if (auto async = dyn_cast<nv::AsyncCopyOp>(op))
      copy(op, "cp.async", async.getSource(), async.getTarget());
    else if (auto plain = dyn_cast<tile::CopyOp>(op); plain && plain.readsTensor())
      copy(op, nvptx::isLoadBeforeLoops(op) ? "tma.load" : "threads", plain.getSource(),
           plain.getTarget());
  }

  void product(Operation *op, const char *engine, Value a, Value b, Value acc) {
    auto typeOf = [](Value value) { return cast<MemRefType>(value.getType()); };
    EngineUse use;
    use.kind = EngineUse::Product;
    use.engine = engine;
    use.operands = nameOrType(a) + ", " + nameOrType(b) + " -> " + nameOrType(acc);
    use.tiles = shapeOf(typeOf(a)) + " " + shapeOf(typeOf(b)) + " " + shapeOf(typeOf(acc));
    if (auto reason = op->getAttrOfType<StringAttr>(nv::NVDialect::engineReasonAttr))
      use.reason = reason.str();
    use.operands_in_shared = tile::spaceOf(typeOf(a)) == tile::Space::Shared &&
                             tile::spaceOf(typeOf(b)) == tile::Space::Shared;
    insert(op, std::move(use));
  }

  void copy(Operation *op, const char *engine, Value source, Value target) {
    EngineUse use;
    use.kind = EngineUse::Copy;
    use.engine = engine;
    use.tiles = shapeOf(cast<MemRefType>(target.getType()));
    use.operands = nameOrType(source) + " -> " + nameOrType(target);
    use.slots = int(versionsOf(target));
    use.bytes = bytesOf(cast<MemRefType>(target.getType()));
    insert(op, std::move(use));
  }

  /// Prologues and repeated steps have an operation several times.
  void insert(Operation *op, EngineUse use) {
    use.location = tile::sourceLocationOf(op->getLoc());
    for (const EngineUse &known : uses)
      if (known.kind == use.kind && known.location.file == use.location.file &&
          known.location.line == use.location.line && known.location.column == use.location.column)
        return;
    uses.push_back(std::move(use));
  }

  std::vector<EngineUse> uses;
};

} // namespace

std::vector<EngineUse> penstock::listEngines(func::FuncOp kernel) { return Reader().read(kernel); }

std::vector<EngineUse> penstock::enginesOf(ModuleOp module, const std::string &kernel,
                                           const hw::Architecture &architecture,
                                           std::vector<penstock::Diagnostic> &diagnostics) {
  OwningOpRef<ModuleOp> copy(module.clone());
  {
    tile::DiagnosticCollector collector(module.getContext(), diagnostics, InternalError);
    if (failed(nv::checkArchitecture(copy->lookupSymbol<func::FuncOp>(kernel), architecture)))
      return {};
  }
  if (!lowerToRoles(*copy, kernel, architecture, diagnostics))
    return {};
  return listEngines(copy->lookupSymbol<func::FuncOp>(kernel));
}
