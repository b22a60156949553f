//===- Shapes.h - Shapes worth trying ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which sizes are multiples of a tile, how many tiles a ring holds and along which
// size a kernel sums is read off its signature and fields: `block_m` is the tile
// of `M`, `stages` or `num_stages` the slots, and a size that occurs in inputs
// only is summed over. A field that is named like a size is its only value. Where
// fields do not name a tile, the program's copies do. Sizes along which nothing is
// copied in tiles are small and distinct, and those that one tile holds do not exceed
// it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_INPUTS_SHAPES_H
#define PENSTOCK_TESTING_INPUTS_SHAPES_H

#include "Testing/Inputs/ProgramFacts.h"
#include "Testing/Inputs/SizeConditions.h"

#include <map>

namespace penstock {

using FieldValues = std::map<std::string, std::string>;

/// Facts of the program that shapes depend on.
struct ShapeHints {
  /// Tiles by size. Without them, sizes that no field divides are in tiles of 128, or 64 if they
  /// are summed.
  std::optional<std::map<std::string, TileSize>> tiles = std::nullopt;
  /// Integer scalars that the grid depends on, and whether they are divided into tiles.
  std::map<std::string, bool> gridScalars = {};
  /// Stages of the program's loops; 0: unknown.
  int64_t stages = 0;
  const SizeConditions *conditions = nullptr;
};

/// The shapes that were registered for a kernel.
std::vector<Shape> shapesFor(const std::string &kernel);
/// Returns whether a shape names every size of the signature.
bool isComplete(const Shape &shape, const std::vector<ArgumentDescription> &arguments);
/// The fields, with the sizes of a shape beside them.
FieldValues withSizes(FieldValues fields, const Shape &shape);

/// For check: all kinds of edges.
std::vector<Shape> defaultShapes(const std::vector<ArgumentDescription> &arguments,
                                 const FieldValues &fields, const ShapeHints &hints = {});
/// The registered shapes, each that leaves sizes open as the grid over these; the
/// whole grid if none is registered.
std::vector<Shape> shapesToCheck(const std::vector<ArgumentDescription> &arguments,
                                 const FieldValues &fields, const std::vector<Shape> &registered,
                                 const ShapeHints &hints = {});
/// For mutants: few and small, and yet every loop turns more than twice around
/// its ring.
std::vector<Shape> smallShapes(const std::vector<ArgumentDescription> &arguments,
                               const FieldValues &fields, const ShapeHints &hints = {});

/// Returns shapes for loops that the grid leaves short, e.g. those divided among blocks.
std::vector<Shape> longShapes(const std::vector<ArgumentDescription> &arguments,
                              const FieldValues &fields, const ShapeHints &hints = {});

/// Returns a shape whose run time is typical: see typical_shape().
Shape typicalShape(const std::vector<ArgumentDescription> &arguments, const FieldValues &fields,
                   const ShapeHints &hints = {});

/// "M=512,N=512,K=64".
std::string textOf(const Shape &shape);

} // namespace penstock

#endif // PENSTOCK_TESTING_INPUTS_SHAPES_H
