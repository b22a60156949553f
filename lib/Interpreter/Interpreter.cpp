//===- Interpreter.cpp - Reference execution of tile programs -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Interpreter.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileDialect.h"
#include "Interpreter/Frame.h"
#include "Interpreter/Grid.h"
#include "Interpreter/Models.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::interpreter;

namespace {

/// Why an argument does not match the parameter of the kernel.
struct Misfit {
  DiagnosticCode code;
  std::string message;
};

std::optional<Misfit> checkTensor(MemRefType type, const penstock::detail::Argument &argument) {
  size_t rank = type.getRank();
  if (argument.sizes.size() != rank || argument.strides.size() != rank)
    return Misfit{LaunchRank, "is not a tensor of rank " + std::to_string(rank)};
  bool empty = false;
  for (int64_t size : argument.sizes) {
    if (size < 0)
      return Misfit{LaunchSize, "has a negative size"};
    empty |= size == 0;
  }
  if (!empty && argument.strides.back() != 1 && argument.sizes.back() > 1)
    return Misfit{LaunchStride, "is not contiguous in its last dimension"};
  if (!empty && !argument.data)
    return Misfit{LaunchNull, "has no memory"};
  return std::nullopt;
}

/// The element that a launch must give: bytes may be packed.
Element launchedElement(func::FuncOp kernel, BlockArgument argument) {
  auto packed =
      kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::TileDialect::packedAttr);
  return packed ? tile::findPacked(packed)->element : elementOf(argument.getType());
}

std::optional<Misfit> checkArgument(Type type, Element element,
                                    const penstock::detail::Argument &argument) {
  auto memref = dyn_cast<MemRefType>(type);
  if (argument.tensor != static_cast<bool>(memref))
    return Misfit{LaunchRank, memref ? "is a scalar" : "is a tensor"};
  if (argument.element != element)
    return Misfit{LaunchRank, "has the wrong element type"};
  return memref ? checkTensor(memref, argument) : std::nullopt;
}

/// Runs one launch.
class Runner {
public:
  Runner(func::FuncOp kernel, const InterpretOptions &options)
      : kernel(kernel), body(kernel.getBody().front()), launch(options), frame(launch) {}

  InterpretResult run(ArrayRef<penstock::detail::Argument> arguments) {
    if (bind(arguments))
      runBlocks();
    return {launch.takeFaults(), launch.steps()};
  }

private:
  bool bind(ArrayRef<penstock::detail::Argument> arguments) {
    if (arguments.size() != body.getNumArguments()) {
      launch.fatal(kernel, LaunchRank,
                   "the kernel has " + std::to_string(body.getNumArguments()) + " arguments and " +
                       std::to_string(arguments.size()) + " are given");
      return false;
    }
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      BlockArgument value = body.getArgument(i);
      if (auto misfit = checkArgument(value.getType(), launchedElement(kernel, value), argument)) {
        launch.fatal(kernel, misfit->code, "argument " + std::to_string(i) + " " + misfit->message);
        return false;
      }
      if (!argument.tensor) {
        frame.set(value, decode(argument.element, argument.scalar));
        continue;
      }
      View view;
      view.element = elementOf(value.getType());
      view.data = static_cast<uint8_t *>(argument.data);
      view.sizes.assign(argument.sizes.begin(), argument.sizes.end());
      view.strides.assign(argument.strides.begin(), argument.strides.end());
      frame.setView(value, std::move(view));
    }
    return true;
  }

  /// The extents follow from the arguments alone: computes what they need, and
  /// nothing else, before there is a block.
  SmallVector<int64_t> computeExtents(tile::GridOp grid) {
    llvm::DenseSet<Operation *> needed;
    SmallVector<Value> work(grid.getExtents());
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (op && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    }
    for (Operation &op : body)
      if (needed.contains(&op) && !frame.run(op))
        break;
    return SmallVector<int64_t>(frame.integers(grid.getExtents()));
  }

  void runBlocks() {
    SmallVector<int64_t> extents;
    int64_t swizzle = 0;
    auto grids = body.getOps<tile::GridOp>();
    if (!grids.empty()) {
      tile::GridOp grid = *grids.begin();
      extents = computeExtents(grid);
      swizzle = grid.getSwizzle().value_or(0);
    }
    if (launch.stopped())
      return;
    std::optional<int64_t> blocks = countBlocks(extents);
    if (!blocks) {
      std::string text;
      for (int64_t extent : extents)
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
      return launch.fatal(*grids.begin(), LaunchGrid,
                          "the grid is " + text +
                              "; its extents must not be negative, nor their "
                              "product 2^31 or more");
    }
    if (launch.options.observer && !grids.empty())
      launch.options.observer->onGrid(*grids.begin(), extents);
    frame.coordinatesOf = [extents, swizzle](uint64_t number) {
      return coordinatesOf(static_cast<int64_t>(number), extents, swizzle);
    };
    frame.races.watch(kernel, *blocks > 1);
    for (BlockArgument argument : body.getArguments())
      if (Shadow *shadow = frame.races.shadowOf(argument)) {
        View view = frame.view(argument);
        view.shadow = shadow;
        frame.setView(argument, std::move(view));
      }
    for (int64_t number = 0; number < *blocks; ++number) {
      frame.begin(number);
      if (!frame.run(body))
        return;
      frame.end();
    }
  }

  func::FuncOp kernel;
  Block &body;
  Launch launch;
  Frame frame;
};

} // namespace

InterpretResult penstock::interpret(func::FuncOp kernel,
                                    ArrayRef<penstock::detail::Argument> arguments,
                                    const InterpretOptions &options) {
  return Runner(kernel, options).run(arguments);
}

void penstock::registerInterpreterModels(DialectRegistry &registry) {
  addArithModels(registry);
  addFuncModels(registry);
  addMathModels(registry);
  addMemRefModels(registry);
  addScfModels(registry);
  addTileModels(registry);
  addTileElementModels(registry);
}
