//===- Generator.h - A random kernel under construction ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class, because all parts add to one program and draw from one sequence of random
// numbers. Generate.cpp makes buffers and operations, GenerateStatements.cpp the
// statements of the loop.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_GENERATOR_H
#define PENSTOCK_FUZZ_PIPELINES_GENERATOR_H

#include "Generate.h"

namespace penstock::fuzz {

inline Span still(int64_t offset, int64_t length) {
  return {Span::Motion::Affine, 0, offset, length, 1};
}

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  Program run();

private:
  // Buffers

  int addBuffer(LoopBuffer::Kind kind, std::vector<int64_t> extents, bool narrow);

  void makeBuffers();

  ProgramBuffer &buffer(int b) { return program.buffers[size_t(b)]; }

  /// A buffer for which the test holds, or -1.
  template <class Test> int pick(Test test) {
    std::vector<int> found;
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (test(program.buffers[b]))
        found.push_back(int(b));
    return found.empty() ? -1 : random.of(found);
  }
  int pickTile(size_t rank, bool narrow);
  int pickTensor(size_t rank, bool narrow);

  // Boxes

  /// A offset along one dimension of a tensor.
  Span alongTensor(int64_t length);

  Box tensorBox(int b, const std::vector<int64_t> &shape);

  /// A part of a tile with a given shape.
  Box tileBox(int b, const std::vector<int64_t> &shape);

  /// A shape that some part of the tile has.
  std::vector<int64_t> shapeIn(int b);

  Touch touch(int b, const std::vector<int64_t> &shape);

  /// One cell of a buffer of rank 1, or a variable.
  Touch cell(int b);

  // Operations

  /// A value that statements outside of a condition may use.
  static bool definesScalar(const ProgramStatement &s);

  void plainPart(Operation &op);

  bool makeCopy(Operation &op, int from, int to);

  bool makeMap(Operation &op, int to);

  bool makeGemm(Operation &op);

  bool makeReduce(Operation &op);

  /// An operation that completes when it returns and needs no scalar.
  bool makeSimple(Operation &op);

  // Statements

  ProgramStatement &push(ProgramStatement::Form form);
  std::vector<Term> randomGuard();

  /// One statement, or several that belong together.
  void addStatements(int64_t count);

  void addPlain();

  /// Bodies that run side by side; where each of them reads and writes, nobody knows.
  void addParallel();

  void makeAsync(size_t i);

  /// A wait for something that has been issued, or will be in a later position.
  void addWait();

  /// Fill a tile from memory, wait if need be, use it.
  void addTileInAndOut();

  /// Fill, use, fill, use: the two uses of one tile could trade offsets.
  void addTwoUses();

  /// A product, often asynchronous and awaited some iterations later.
  void addProduct();

  void addScalar();

  void addGroup();

  /// A part of a buffer of rank 1 that moves on in each round, or stays.
  Touch movingPart(int b, int64_t length, int64_t rounds);

  bool makeMovingPart(Operation &op, int64_t length, int64_t rounds);

  /// Operations on parts of tiles, which together are often the whole.
  void addRepeat();

  /// A loop that fills a tile and uses it, round by round, where the loop around it often
  /// does the same.
  void addInnerPipeline();

  void addChoice();

  // Repairs

  void dropScalarUse(int statement);

  /// Removes what refers to nothing.
  void tidy();

  void annotate();

  void stateVersions(const Loop &loop);

  Random random;
  Program program;
  bool relative = false; ///< offsets depend on numbers that are fixed before the loop
  int names = 0;
  int twoUses = -1; ///< where a tile is filled and used, and again
};

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_GENERATOR_H
