//===- Loop.h - A pipelined loop as the oracle sees it ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle must not share an error with the checker, so it has a description
// of loops of its own: statements that touch cells of buffers. Where cells lie
// is a function of the iteration that can be evaluated, not a set to reason
// about; everything the oracle says follows from looking at instances.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_LOOP_H
#define PENSTOCK_FUZZ_PIPELINES_LOOP_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::fuzz {

/// Numbers that are fixed before the loop, when the kernel is launched: where the
/// loop begins, and two others.
constexpr size_t origins = 3;
using Origin = std::array<int64_t, origins>;

/// The cells of one dimension that an access touches: `length` of them from
/// scale * x + offset on, where x follows the motion, and a multiple of each
/// number that is fixed before the loop.
struct Span {
  enum class Motion {
    Affine,    ///< x is the iteration
    Modulo,    ///< x is the iteration modulo `modulus`: no affine function
    Loaded,    ///< x comes from a table in memory, in 0 .. modulus-1
    Wrapped,   ///< x is a multiple of the iteration in 8 bits, by `modulus`, plus 128
    Unrelated, ///< x is the iteration; its origin is not that of the buffer
  };
  Motion motion = Motion::Affine;
  int64_t scale = 0;
  int64_t offset = 0;
  int64_t length = 1;
  int64_t modulus = 1;
  /// Programs: is added in each round of a statement that is repeated.
  int64_t perRound = 0;
  /// The multiples. All affine spans of one dimension of a buffer have the same,
  /// so that they can be compared without knowing the numbers.
  Origin origin = {};
  friend bool operator==(const Span &, const Span &) = default;
};

/// A box; without spans the whole buffer.
struct Box {
  std::vector<Span> spans;
  bool whole() const { return spans.empty(); }
  /// Is its offset not to be compared with others?
  bool opaque() const {
    for (const Span &span : spans)
      if (span.motion != Span::Motion::Affine)
        return true;
    return false;
  }
  friend bool operator==(const Box &, const Box &) = default;
};

/// The path to memory, for fences.
enum class Path { Generic, Async };

struct Touch {
  int buffer = 0;
  Box box = {};
  Path path = Path::Generic;
  friend bool operator==(const Touch &, const Touch &) = default;
};

/// A condition with an arbitrary value in each iteration, or its opposite.
struct Term {
  int condition = 0;
  bool negated = false;
  friend bool operator==(const Term &, const Term &) = default;
};

/// What a statement does at one moment: reads, then writes.
struct Action {
  std::vector<Touch> reads = {};
  std::vector<Touch> writes = {};
  /// Runs only where these hold; what the statement as a whole does is not
  /// known without them.
  std::vector<Term> when = {};
};

/// Iteration k of a wait names iteration k - distance of a statement.
struct Naming {
  int statement = 0;
  int64_t distance = 0;
  bool reads = true;
  bool writes = true;
};

struct LoopStatement {
  enum class Kind { Effect, Copy, Scalar, Wait, Commit, Fence };
  Kind kind = Kind::Effect;
  std::vector<Action> actions = {};
  std::vector<Term> guard = {};
  bool async = false;
  int queue = -1;
  int64_t group = -1;
  std::vector<Naming> names = {}; ///< waits
  /// Waits: iteration 0 also ends operations that were issued before the loop, and this
  /// is what they do.
  bool before = false;
  Action settles = {};
  int64_t count = -1;          ///< counted waits
  bool countReadsOnly = false; ///< counted waits
  std::vector<int> users = {}; ///< scalars
  std::vector<Path> from, to;  ///< fences; empty: all
};

struct LoopBuffer {
  enum class Kind {
    Tensor,  ///< an argument: never has versions, is read by others afterwards
    Tile,    ///< allocated by the kernel
    Variable ///< a mutable scalar: always one version
  };
  Kind kind = Kind::Tile;
  /// Extents; every access lies inside while n is at most maxTrips.
  std::vector<int64_t> extents = {};
  int64_t statedVersions = 0;
  bool readAfter = false;
  /// Is it known where affine spans lie, and not only relative to each other?
  bool absolute = true;
};

struct LoopQueue {
  bool inOrder = false;
  /// The buffers that it orders.
  std::vector<int> orders = {};
};

/// Loops are run for at most this many iterations.
constexpr int64_t maxTrips = 16;

struct Loop {
  std::vector<LoopBuffer> buffers;
  std::vector<LoopQueue> queues;
  std::vector<LoopStatement> statements;
  int conditions = 0;

  int size() const { return int(statements.size()); }
};

/// A stage and an order for each statement.
struct Plan {
  std::vector<int64_t> stage;
  std::vector<int64_t> order;
  int64_t stages() const {
    int64_t most = 0;
    for (int64_t s : stage)
      most = s > most ? s : most;
    return most + 1;
  }
  friend bool operator==(const Plan &, const Plan &) = default;
};

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_LOOP_H
