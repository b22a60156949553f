//===- block.h - The program of one thread block ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel function runs once, to record its operations. A range-for over
// `b.range(..)` or `b.pipelined(..)` runs its body once, with a symbolic index;
// every other scope takes a lambda. `b.when(..)` tests a run-time condition; a
// plain `if` is evaluated during recording.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BLOCK_H
#define PENSTOCK_BLOCK_H

#include "penstock/hardware.h"
#include "penstock/loops.h"
#include "penstock/tile_options.h"

#include <string>
#include <vector>

namespace penstock {

/// Rasterization: consecutive blocks cover groups of this width in the second dimension.
struct Swizzle {
  int64_t group = detail::noSwizzle;
};
/// Returns a rasterization in groups of \p group columns, for the last argument of Block::grid().
/// Blocks that run together then share rows and columns of the operands in the L2 cache.
inline Swizzle swizzled(int64_t group) { return {group}; }
/// Preferences for the blocks of a tile program. Results do not depend on them.
struct Preferences {
  /// Blocks of a cluster along each extent of the grid, e.g. {2, 1}; empty: no clusters. Blocks
  /// of a cluster divide their common copies, and TMA multicasts them. Hopper and Blackwell.
  std::vector<int64_t> cluster = {};
  /// Executes MMAs on CTA pairs: the two blocks of a cluster, along the first extent if no
  /// cluster is given. Blackwell.
  bool pair = false;
  /// Cluster launch control: a finished block claims a pending one, so that loads of the next
  /// tile overlap the epilogue of this one. Clusters claim whole clusters. Blackwell.
  bool launch_control = false;
};

enum Atomic : uint8_t { Add, AtomicMax, AtomicMin, Exchange };

namespace detail {
/// True if a tile of T can be set to an E: an expression over T, or over another
/// floating-point type.
template <class T, class E>
inline constexpr bool isSettable = std::is_convertible_v<E, ExprArg<T>> ||
                                   (isFloating<T> && isFloating<typename OperandOf<E>::type>);
} // namespace detail

class Block {
public:
  /// Created by the library, which calls the kernel with it.
  explicit Block(uint32_t recording) : recorder(recording) {}
  PENSTOCK_MISUSE("a block is not copied; take it by reference, `Block &b`") Block(const Block &);
  Block &operator=(const Block &) = delete;

  //===------------------------------------------------------------------===//
  // The grid
  //===------------------------------------------------------------------===//

  using Arg = detail::IndexArg;
  /// Sets the number of blocks in up to three dimensions, and returns the position of this block.
  /// A kernel calls it once.
  Index grid(Arg x, Loc at = here()) {
    detail::Ref extents[] = {x.ref}, out[1];
    detail::grid(extents, detail::noSwizzle, out, within(at));
    return Index(out[0]);
  }
  std::array<Index, 2> grid(Arg x, Arg y, Swizzle swizzle = {}, Loc at = here()) {
    detail::Ref extents[] = {x.ref, y.ref}, out[2];
    detail::grid(extents, swizzle.group, out, within(at));
    return {Index(out[0]), Index(out[1])};
  }
  std::array<Index, 3> grid(Arg x, Arg y, Arg z, Loc at = here()) {
    detail::Ref extents[] = {x.ref, y.ref, z.ref}, out[3];
    detail::grid(extents, detail::noSwizzle, out, within(at));
    return {Index(out[0]), Index(out[1]), Index(out[2])};
  }
  /// States preferences for the blocks of the grid, after grid(). `penstock explain` reports
  /// those that were not met.
  void prefer(const Preferences &o, Loc at = here()) {
    detail::prefer(o.cluster, o.pair, o.launch_control, within(at));
  }

  //===------------------------------------------------------------------===//
  // Storage
  //===------------------------------------------------------------------===//

  /// Allocates a tile of one to four dimensions that all threads of the block share. In a pipelined
  /// loop, the compiler makes it a ring of slots.
  template <class T> Tile<T, 1> shared(int64_t a, TileOptions o = {}, Loc at = here()) {
    return make<T, 1>(detail::Space::Shared, {a}, o, at);
  }
  template <class T> Tile<T, 2> shared(int64_t a, int64_t b, TileOptions o = {}, Loc at = here()) {
    return make<T, 2>(detail::Space::Shared, {a, b}, o, at);
  }
  template <class T>
  Tile<T, 3> shared(int64_t a, int64_t b, int64_t c, TileOptions o = {}, Loc at = here()) {
    return make<T, 3>(detail::Space::Shared, {a, b, c}, o, at);
  }
  template <class T>
  Tile<T, 4> shared(int64_t a, int64_t b, int64_t c, int64_t d, TileOptions o = {},
                    Loc at = here()) {
    return make<T, 4>(detail::Space::Shared, {a, b, c, d}, o, at);
  }
  /// Allocates a tile in memory that the compiler chooses: on a GPU, the registers of the block's
  /// threads, or tensor memory if the tensor core accumulates in the tile.
  template <class T> Tile<T, 1> local(int64_t a, TileOptions o = {}, Loc at = here()) {
    return make<T, 1>(detail::Space::Local, {a}, o, at);
  }
  template <class T> Tile<T, 2> local(int64_t a, int64_t b, TileOptions o = {}, Loc at = here()) {
    return make<T, 2>(detail::Space::Local, {a, b}, o, at);
  }
  template <class T>
  Tile<T, 3> local(int64_t a, int64_t b, int64_t c, TileOptions o = {}, Loc at = here()) {
    return make<T, 3>(detail::Space::Local, {a, b, c}, o, at);
  }
  template <class T>
  Tile<T, 4> local(int64_t a, int64_t b, int64_t c, int64_t d, TileOptions o = {},
                   Loc at = here()) {
    return make<T, 4>(detail::Space::Local, {a, b, c, d}, o, at);
  }

  //===------------------------------------------------------------------===//
  // Operations on tiles
  //===------------------------------------------------------------------===//

  /// Copies a tensor slice to a tile, a tile to a tensor slice, or a tile to a tile. Elements
  /// outside of the tensor are read as CopyOptions::fill and not written. Floating-point types
  /// convert.
  template <class T, int RT, Access A, class U, int R>
  void copy(const TensorSlice<T, RT, A> &source, const Tile<U, R> &target, CopyOptions o = {},
            Loc at = here()) {
    static_assert(A != Access::Out, "this tensor is an Out<..>: it is only "
                                    "written; declare it as InOut<..>");
    checkCopied<T, U>();
    detail::CopyArguments arguments{.source = source.tensor, .target = target.ref, .fill = {}};
    arguments.sourceOffsets = source.offsets;
    arguments.dims = {source.dimensions.data(), size_t(source.count)};
    if constexpr (detail::isPacked<U>) {
      if (o.fill != 0)
        detail::refuseFill(within(at));
    } else if (o.fill != 0) {
      arguments.fill = detail::literalOf<U>(o.fill, at);
    }
    arguments.async = o.async;
    detail::copy(arguments, within(at));
  }
  template <class T, int R, class U, int RT, Access A>
  void copy(const Tile<T, R> &source, const TensorSlice<U, RT, A> &target, CopyOptions o = {},
            Loc at = here()) {
    static_assert(A != Access::In, "this tensor is an In<..>: it is only "
                                   "read; declare it as Out<..> or InOut<..>");
    checkCopied<T, U>();
    detail::CopyArguments arguments{.source = source.ref, .target = target.tensor, .fill = {}};
    arguments.targetOffsets = target.offsets;
    arguments.dims = {target.dimensions.data(), size_t(target.count)};
    arguments.async = o.async;
    detail::copy(arguments, within(at));
  }
  template <class T, int R, class U>
  void copy(const Tile<T, R> &source, const Tile<U, R> &target, CopyOptions o = {},
            Loc at = here()) {
    checkCopied<T, U>();
    detail::CopyArguments arguments{.source = source.ref, .target = target.ref, .fill = {}};
    arguments.async = o.async;
    detail::copy(arguments, within(at));
  }

  /// Sets all elements of a tile to one value.
  template <class T, int R>
  void fill(const Tile<T, R> &tile, std::type_identity_t<detail::ScalarParameter<T>> value,
            Loc at = here()) {
    detail::fill(tile.ref, value.ref, within(at));
  }

  /// acc += a * b, for an M x K and a K x N tile.
  template <class A, class B, class C>
  void gemm(const Tile<A, 2> &a, const Tile<B, 2> &b, const Tile<C, 2> &acc, GemmOptions o = {},
            Loc at = here()) {
    detail::checkMultiplied<A, B>();
    multiply(a.ref, b.ref, acc.ref, o, at,
             {detail::ElementOf<A>::value, detail::ElementOf<B>::value});
  }
  /// The same with a packed second operand, a tile of a tensor from pack(..): [N / 16, K / 2, 16,
  /// 2] for bf16, [N / 16, K / 4, 16, 4] for i8. Only on CPUs.
  template <class A, class B, class C>
  void gemm(const Tile<A, 2> &a, const Tile<B, 4> &b, const Tile<C, 2> &acc, GemmOptions o = {},
            Loc at = here()) {
    multiply(a.ref, b.ref, acc.ref, o, at,
             {detail::ElementOf<A>::value, detail::ElementOf<B>::value});
  }

  /// Unpacks values of 4 or 6 bits: values[.., 2 * j] and values[.., 2 * j + 1] come from
  /// packed[.., j], or four values from three bytes. i4x2 becomes i8, i32 or floating point, others
  /// floating point.
  template <class P, class T, int R>
  void unpack(const Tile<P, R> &packed, const Tile<T, R> &values, Loc at = here()) {
    static_assert(detail::isPacked<P>, "unpack takes a tile of packed elements");
    static_assert(
        std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, f32> ||
            (std::is_same_v<P, i4x2> && (std::is_same_v<T, i8> || std::is_same_v<T, i32>)),
        "values are f16, bf16 or f32; those of i4x2 may also be i8 or i32");
    detail::unpack(packed.ref, detail::ElementOf<P>::value, values.ref, within(at));
  }

  /// Reduces a tile along dimension \p dim with Sum, Prod, Max or Min.
  template <class T, int R, class U>
  void reduce(Reduction kind, const Tile<T, R> &source, int dim, const Tile<U, R - 1> &target,
              ReduceOptions o = {}, Loc at = here()) {
    static_assert(R > 1, "a tile of rank one is reduced as a 1 x n tile");
    static_assert(!detail::isPacked<T> && !detail::isPacked<U>,
                  "packed elements are not numbers; unpack the tile with b.unpack(packed, values)");
    detail::reduce(detail::Kind(kind), source.ref, dim, target.ref, o.accumulate, within(at));
  }

  /// Sets each element of a tile to the value of an expression.
  template <class T, int R, class E>
    requires detail::isSettable<T, E>
  void set(const Tile<T, R> &tile, const E &value, Loc at = here()) {
    if constexpr (std::is_convertible_v<E, detail::ExprArg<T>>) {
      detail::assign(tile.ref, detail::ExprArg<T>(value, at).ref, within(at));
    } else {
      using U = typename detail::OperandOf<E>::type;
      detail::Ref from = detail::ExprArg<U>(value, at).ref;
      detail::Ref converted = detail::convert(from, detail::ElementOf<T>::value, false, at);
      detail::assign(tile.ref, converted, within(at));
    }
  }
  template <class T, int R, class E>
    requires(!detail::isSettable<T, E>)
  PENSTOCK_MISUSE("only floating-point values are converted to the tile's type by themselves; use "
                  "cast<T>(x)")
  void set(const Tile<T, R> &tile, const E &value, Loc at = here());

  //===------------------------------------------------------------------===//
  // Single elements
  //===------------------------------------------------------------------===//

  /// Stores one element of a tensor or tile.
  template <class T, int R, Access A>
  void store(const TensorSlice<T, R, A> &slice,
             std::type_identity_t<detail::ScalarParameter<T>> value, Loc at = here()) {
    static_assert(A != Access::In, "this tensor is an In<..>: it is only read");
    detail::store(value.ref, slice.tensor, slice.offsets, within(at));
  }
  /// Loads one element of a tile.
  template <class T> Scalar<T> load(const Tile<T, 1> &tile, Arg i, Loc at = here()) {
    detail::Ref indices[] = {i.ref};
    return Scalar<T>(detail::load(tile.ref, indices, within(at)));
  }
  template <class T> Scalar<T> load(const Tile<T, 2> &tile, Arg i, Arg j, Loc at = here()) {
    detail::Ref indices[] = {i.ref, j.ref};
    return Scalar<T>(detail::load(tile.ref, indices, within(at)));
  }
  template <class T>
  void store(const Tile<T, 1> &tile, Arg i, std::type_identity_t<detail::ScalarParameter<T>> value,
             Loc at = here()) {
    detail::Ref indices[] = {i.ref};
    detail::store(value.ref, tile.ref, indices, within(at));
  }
  template <class T>
  void store(const Tile<T, 2> &tile, Arg i, Arg j,
             std::type_identity_t<detail::ScalarParameter<T>> value, Loc at = here()) {
    detail::Ref indices[] = {i.ref, j.ref};
    detail::store(value.ref, tile.ref, indices, within(at));
  }
  /// Atomically updates an element of a tensor and returns its old value.
  template <class T, int R, Access A>
  Scalar<T> atomic(Atomic kind, const TensorSlice<T, R, A> &slice,
                   std::type_identity_t<detail::ScalarParameter<T>> value, Loc at = here()) {
    static_assert(A != Access::In, "this tensor is an In<..>: it is only read");
    return Scalar<T>(
        detail::atomic(kindOf(kind), value.ref, slice.tensor, slice.offsets, within(at)));
  }
  template <class T>
  Scalar<T> atomic(Atomic kind, const Tile<T, 1> &tile, Arg i,
                   std::type_identity_t<detail::ScalarParameter<T>> value, Loc at = here()) {
    detail::Ref indices[] = {i.ref};
    return Scalar<T>(detail::atomic(kindOf(kind), value.ref, tile.ref, indices, within(at)));
  }

  /// Names a scalar, for messages and schedules.
  template <class T>
  Scalar<T> bind(std::string_view name, const Scalar<T> &value, Loc at = here()) {
    return Scalar<T>(detail::bind(value.ref, name, within(at)));
  }

  //===------------------------------------------------------------------===//
  // Loops, conditions, statements
  //===------------------------------------------------------------------===//

  /// Loop over [0, end), or [begin, end) in steps, for a range-based `for`. The body is recorded
  /// once.
  detail::LoopRange range(Arg end, RangeOptions o = {}, Loc at = here()) {
    return loop(literal(0, at), end.ref, literal(1, at), o.unroll, at);
  }
  detail::LoopRange range(Arg begin, Arg end, Arg step, RangeOptions o = {}, Loc at = here()) {
    return loop(begin.ref, end.ref, step.ref, o.unroll, at);
  }
  /// Software-pipelined loop over [0, count).
  detail::LoopRange pipelined(Arg count, PipelineOptions o, Loc at = here()) {
    detail::LoopArguments arguments{
        .begin = literal(0, at), .end = count.ref, .step = literal(1, at)};
    arguments.pipelined = true;
    arguments.numStages = o.num_stages;
    if (o.form != Form::Automatic)
      arguments.form = o.form == Form::Skewed ? "skewed" : "warp_specialized";
    if (o.schedule == Schedule::Optimal) // 0 would ask for no solver
      arguments.solverSeconds = o.solver_seconds > 0 ? o.solver_seconds : -1;
    return detail::LoopRange(arguments, std::move(o), within(at));
  }

  /// Runs \p then if a run-time condition is true, otherwise \p otherwise.
  template <class Then> void when(detail::ScalarArg<bool> condition, Then &&then, Loc at = here()) {
    detail::Scope scope = detail::openCondition(condition.ref, false, within(at));
    then();
    detail::close(scope);
  }
  template <class Then, class Else>
    requires std::is_invocable_v<Else>
  void when(detail::ScalarArg<bool> condition, Then &&then, Else &&otherwise, Loc at = here()) {
    detail::Scope scope = detail::openCondition(condition.ref, true, within(at));
    then();
    detail::openElse(scope);
    otherwise();
    detail::close(scope);
  }
  /// Groups operations into one statement of a schedule.
  template <class Body>
  void statement(std::string_view name, Body &&body, StatementOptions options = {},
                 Loc at = here()) {
    detail::Scope scope = detail::openStatement(name, options.role, within(at));
    body();
    detail::close(scope);
  }
  /// Runs the body for every element of a shape. The body works on single elements.
  template <class Body> void parallel(int64_t a, Body &&body, Loc at = here()) {
    int64_t extents[] = {a};
    detail::Ref i[1];
    detail::Scope scope = detail::openParallel(extents, i, within(at));
    body(Index(i[0]));
    detail::close(scope);
  }
  template <class Body> void parallel(int64_t a, int64_t b, Body &&body, Loc at = here()) {
    int64_t extents[] = {a, b};
    detail::Ref i[2];
    detail::Scope scope = detail::openParallel(extents, i, within(at));
    body(Index(i[0]), Index(i[1]));
    detail::close(scope);
  }

  /// Waits for asynchronous operations by name.
  void wait(std::initializer_list<std::string_view> names, WaitOptions o = {}, Loc at = here()) {
    detail::wait({names.begin(), names.size()}, o.lag, within(at));
  }
  void wait(std::string_view name, WaitOptions o = {}, Loc at = here()) {
    detail::wait({&name, 1}, o.lag, within(at));
  }

  //===------------------------------------------------------------------===//
  // Kernels that overlap (LaunchOptions::overlap_previous)
  //===------------------------------------------------------------------===//

  /// Waits until the previous kernel in the stream has completed and its writes are visible.
  /// Returns immediately if the launch does not overlap it.
  void wait_for_previous(Loc at = here()) { detail::waitForPrevious(within(at)); }
  /// Allows the next kernel in the stream to start, if its launch overlaps this one, as soon
  /// as all blocks have called this or exited.
  void launch_dependents(Loc at = here()) { detail::launchDependents(within(at)); }

  //===------------------------------------------------------------------===//
  // Explicit control of a GPU (hardware.h)
  //===------------------------------------------------------------------===//

  /// Sets the number of threads per block, a multiple of 32.
  void threads(int64_t count, Loc at = here()) { detail::nv::threads(count, at); }
  /// Runs blocks as CTA pairs, on Blackwell: each block holds half of the rows of A, of
  /// the columns of B and of the rows of the result. Returns the rank of this block in
  /// its pair. Block 0 issues the MMAs, and copies of both arrive on its barriers.
  Index pair(Loc at = here()) { return Index(detail::nv::pair(at)); }
  /// Launches clusters of `blocks` blocks, which can access each other's barriers and
  /// shared memory. The grid must be a multiple. Returns the rank of this block.
  Index cluster(int64_t blocks, Loc at = here()) { return Index(detail::nv::cluster(blocks, at)); }
  /// Barrier for all threads of the cluster or pair.
  void cluster_sync(Loc at = here()) { detail::nv::clusterSync(at); }
  /// Runs the body on warps [first, first + count).
  template <class Body> void warps(int64_t first, int64_t count, Body &&body, Loc at = here()) {
    detail::Scope scope = detail::nv::openWarps(first, count, at);
    body();
    detail::close(scope);
  }
  /// Runs the body on one warp.
  template <class Body> void warp(int64_t number, Body &&body, Loc at = here()) {
    warps(number, 1, body, at);
  }
  /// Runs the body on one thread of the scope.
  template <class Body> void elect_one(Body &&body, Loc at = here()) {
    detail::Scope scope = detail::nv::openElect(at);
    body();
    detail::close(scope);
  }
  /// While loop; the condition is evaluated before each iteration.
  template <class Condition, class Body>
  void loop_while(Condition &&condition, Body &&body, Loc at = here()) {
    detail::Scope scope = detail::nv::openWhile(at);
    detail::nv::openWhileBody(scope, detail::ScalarArg<bool>(condition(), at).ref, at);
    body();
    detail::close(scope);
  }
  /// Barrier for all threads of the scope.
  void sync(Loc at = here()) { detail::nv::sync(at); }
  /// Barrier for the threads of each warp of the scope.
  void warp_sync(Loc at = here()) { detail::nv::warpSync(at); }
  /// Writes a shared tile from registers.
  template <class T, class E>
  void store(const Tile<T, 2> &tile, const E &value, Loc at = here())
    requires std::is_convertible_v<E, detail::ExprArg<T>>
  {
    set(tile, value, at);
  }

  detail::BarrierCalls mbarrier;
  detail::NamedBarrierCalls named_barrier;
  detail::RegisterCalls registers;
  detail::TmaCalls tma;
  detail::AsyncCopyCalls cp_async;
  detail::FenceCalls fence;
  detail::LaunchControlCalls clc;
  detail::TensorCalls tcgen05;
  detail::WgmmaCalls wgmma;

  //===------------------------------------------------------------------===//
  // Looking inside
  //===------------------------------------------------------------------===//

  /// Operand of print: a scalar or a tile.
  struct Printable {
    detail::Ref ref;
    /// Converts from a scalar, a tile or a `Var`.
    template <class T> Printable(const Scalar<T> &value) : ref(value.ref) {}
    template <class T, int R> Printable(const Tile<T, R> &value) : ref(value.ref) {}
    template <class T> Printable(const Var<T> &value) : ref(Scalar<T>(value).ref) {}
  };
  /// Prints a text with scalars and tiles while the kernel runs, for debugging.
  void print(std::string_view text, std::initializer_list<Printable> values = {}, Loc at = here()) {
    std::vector<detail::Ref> refs;
    for (const Printable &value : values)
      refs.push_back(value.ref);
    detail::print(text, refs, within(at));
  }
  /// Checks a condition while the kernel runs. A violation is a launch fault.
  void require(detail::ScalarArg<bool> condition, std::string_view message, Loc at = here()) {
    detail::require(condition.ref, message, within(at));
  }

  /// Tags a location with this block's recording. Detects calls on a block whose
  /// recording has finished or belongs to another thread.
  Loc within(Loc at) const {
    at.recorder = recorder;
    return at;
  }

  uint32_t recorder;

private:
  template <class T, int R>
  Tile<T, R> make(detail::Space space, std::array<int64_t, R> shape, TileOptions o, Loc at) {
    static_assert(detail::ElementOf<T>::known && !std::is_same_v<T, index_t>,
                  "this is not an element type of penstock/elements.h");
    return Tile<T, R>(
        detail::allocate(space, detail::ElementOf<T>::value, shape, o.versions, within(at)));
  }
  template <class T, class U> static void checkCopied() {
    static_assert(std::is_same_v<T, U> || (!detail::isPacked<T> && !detail::isPacked<U>),
                  "a copy does not convert packed elements; unpack a tile with "
                  "b.unpack(packed, values)");
  }
  void multiply(detail::Ref a, detail::Ref b, detail::Ref acc, const GemmOptions &o, Loc at,
                std::array<Element, 2> elements) {
    detail::gemm({.a = a,
                  .b = b,
                  .acc = acc,
                  .scaleA = o.scale_a.ref,
                  .scaleB = o.scale_b.ref,
                  .accumulate = o.accumulate,
                  .tf32 = o.tf32,
                  .unsignedA = o.unsigned_a,
                  .elementA = elements[0],
                  .elementB = elements[1],
                  .async = o.async},
                 within(at));
  }
  static detail::Ref literal(int64_t value, Loc at) {
    return detail::literal(Element::index, value, at);
  }
  detail::LoopRange loop(detail::Ref begin, detail::Ref end, detail::Ref step, int unroll, Loc at) {
    detail::LoopArguments arguments{.begin = begin, .end = end, .step = step};
    arguments.unroll = unroll;
    return detail::LoopRange(arguments, {}, within(at));
  }
  static detail::Kind kindOf(Atomic kind) {
    switch (kind) {
    case AtomicMax:
      return detail::Kind::Max;
    case AtomicMin:
      return detail::Kind::Min;
    case Exchange:
      return detail::Kind::Exchange;
    case Add:
      break;
    }
    return detail::Kind::Add;
  }
};

template <class T>
Var<T>::Var(Block &b, detail::ScalarParameter<T> initial, Loc where)
    : slot(detail::allocate(detail::Space::Local, detail::ElementOf<T>::value, {}, 0,
                            b.within(where))),
      at(where) {
  static_assert(!std::is_same_v<T, index_t>,
                "an index has no storage; make it a Var<int64_t>, which converts to an Index, "
                "and assign cast<int64_t>(..) of an Index to it");
  set(initial.ref, initial.at);
}

} // namespace penstock

#endif // PENSTOCK_BLOCK_H
