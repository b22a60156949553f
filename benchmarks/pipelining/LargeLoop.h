//===- LargeLoop.h - A pipelined loop of any size ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop on which the time of checking and expanding is measured, as a tile
// program in text form: copies and fills give every tile a value, the other
// statements combine two tiles into a third, and the stages are of equal size.
// Tiles are written again and again, by several stages, so that nearly every
// pair of statements that share a tile conflicts.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_PIPELINING_LARGELOOP_H
#define PENSTOCK_BENCHMARKS_PIPELINING_LARGELOOP_H

#include <string>

inline std::string largeLoop(int statements, int tiles, int stages) {
  std::string text = R"(!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>
func.func @large(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "out"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
)";
  auto name = [](int tile) { return "%s" + std::to_string(tile); };
  for (int tile = 0; tile < tiles; ++tile)
    text += "  " + name(tile) + " = tile.alloc \"s" + std::to_string(tile) + "\" : !s\n";
  text += "  scf.for %k = %c0 to %n step %c1 {\n    %o = arith.muli %k, %c8 : index\n";
  std::string stage, order;
  for (int i = 0; i < statements; ++i) {
    int inStage = i * stages / statements;
    if (i < tiles && inStage == 0)
      text += "    tile.copy %A[%o] to " + name(i) + " : !t to !s\n";
    else if (i < tiles)
      text += "    tile.fill " + name(i) + ", %zero : !s, f32\n";
    else if (i == statements - 1)
      text += "    tile.copy " + name(i % tiles) + " to %C[%o] : !s to !t\n";
    else
      text += "    tile.map " + name(i % tiles) + " ins(" + name(i * 7 % tiles) + ", " +
              name((i * 3 + 1) % tiles) +
              ") dims [[0], [0]] {\n    ^bb0(%x: f32, %y: f32):\n"
              "      %r = arith.addf %x, %y : f32\n      tile.yield %r : f32\n"
              "    } : !s ins(!s, !s)\n";
    stage += (i ? ", " : "") + std::to_string(inStage);
    order += (i ? ", " : "") + std::to_string(i);
  }
  return text + "  } {tile.schedule = #tile.schedule<stage = [" + stage + "], order = [" + order +
         "]>}\n  return\n}\n";
}

#endif // PENSTOCK_BENCHMARKS_PIPELINING_LARGELOOP_H
