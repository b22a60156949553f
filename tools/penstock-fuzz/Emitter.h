//===- Emitter.h - Records random statements --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_EMITTER_H
#define PENSTOCK_FUZZ_EMITTER_H

#include "Program.h"

namespace penstock::fuzz {

using detail::Kind;
using detail::Op;
using detail::Ref;

/// A tile or a part of one.
struct TileView {
  Ref ref = {};
  int tile = -1;
  std::vector<int64_t> shape = {};
  explicit operator bool() const { return tile >= 0; }
};

class Emitter {
public:
  Emitter(const Program &program, const std::set<unsigned> &dropped, detail::Refs arguments);
  void run();

private:
  // Values (EmitValues.cpp).
  Ref index(int64_t value) { return detail::literal(Element::index, value, at); }
  Ref number(Element element, int64_t value);
  Ref literal(Element element);
  Ref binary(Op op, Ref a, Ref b, bool isUnsigned = false) {
    return detail::binary(op, isUnsigned, a, b, at);
  }
  Ref combine(Element element, Ref a, Ref b);
  Ref divideFast(Ref a);
  Ref decorate(Element element, Ref a);
  /// A scalar, or inside a map (target is set) an expression.
  Ref value(Element element, int depth);
  Ref leaf(Element element);
  Ref loadLeaf(Element element);
  Ref elementLeaf(Element element);
  Ref condition(int depth);
  /// Mostly inside 0 .. size-1.
  Ref indexInto(int64_t size);
  /// Makes a value one of class Small.
  Ref small(Element element, Ref value);
  Ref mathematical(Element element, Ref value);

  // Tiles (EmitStatements.cpp).
  template <class Fits> int pickTile(Fits fits) {
    std::vector<int> fitting;
    for (size_t i = 0; i < program.tiles.size(); ++i)
      if (!lockedTiles[i] && !program.tiles[i].shape.empty() && fits(program.tiles[i]))
        fitting.push_back(static_cast<int>(i));
    return fitting.empty() ? -1 : random.of(fitting);
  }
  TileView whole(int tile);
  /// A random part of a tile, sometimes transposed.
  TileView part(int tile);
  /// A part of this shape, of the tile or of its transpose; empty if none fits.
  TileView partOf(int tile, std::vector<int64_t> shape);
  Ref offset(int64_t from, int64_t to);
  int pickTensor(bool written, Class holds, Element element);
  bool readable(const TensorDecl &tensor) const { return tensor.access != Access::Out; }
  /// Offsets of a block's own box; empty if blocks would share it.
  std::vector<Ref> ownBox(const TensorDecl &tensor);

  // Statements.
  void statements(const std::vector<Statement> &body);
  void statement(const Statement &statement);
  void fill();
  bool copyIn(std::string_view async, int &tile, int &tensor);
  bool copyOut(std::string_view async, int &tile, int &tensor);
  void copyTile();
  bool gemm(std::string_view async, int (&tiles)[3]);
  void reduce();
  void layouts(); // EmitLayouts.cpp
  void map();
  void store();
  void setVar();
  void atomic(bool useResult);
  void print();
  void loop(const Statement &statement);
  void pipeline(const Statement &statement);
  void conditional(const Statement &statement);
  void parallel();
  /// Keeps other operations from what an asynchronous copy uses, or no longer.
  void lock(int tile, int tensor, int change);
  void asyncCopy(const Statement &statement);
  void asyncGemm(const Statement &statement);
  void ring(const Statement &statement);
  void scoped(const std::vector<Statement> &body);

  struct Known {
    Element element;
    Ref ref;
  };
  const Program &program;
  const std::set<unsigned> &dropped;
  std::vector<Ref> tensors, tiles, coordinates;
  std::vector<Known> scalars;
  std::vector<int> lockedTiles, lockedTensors;
  const TileView *target = nullptr; ///< of the map whose value is being made
  bool inParallel = false;
  Random random{0};
  Loc at;
};

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_EMITTER_H
