//===- hardware.h - Explicit barriers, TMA, tensor cores --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of `b.mbarrier`, `b.named_barrier`, `b.tma`, `b.tcgen05`, `b.wgmma`,
// `b.cp_async`, `b.registers` and `b.fence`. Each call is one operation of the `nv`
// dialect; docs/reference/explicit.md lists its executing threads and its completion.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_HARDWARE_H
#define PENSTOCK_HARDWARE_H

#include "penstock/tile.h"

#include <optional>
#include <vector>

namespace penstock {

/// Release/acquire ordering between an arrive and the matching wait; Relaxed: no ordering.
enum Semantics : uint8_t { Acquire, Relaxed, Release };
/// L2 eviction priority.
enum Cache : uint8_t { NoHint, EvictFirst, EvictNormal, EvictLast };
/// Scope of an ordering: the block, or its cluster.
enum ThreadScope : uint8_t { Cta, Cluster };

namespace detail::nv {

struct BarrierRef {
  Ref barriers, index;
};
/// Memory ordering of an arrive or wait.
struct BarrierSemantics {
  Semantics sem;
  ThreadScope scope;
};

PENSTOCK_EXPORT void threads(int64_t count, Loc);
PENSTOCK_EXPORT Ref pair(Loc);
PENSTOCK_EXPORT Ref cluster(int64_t blocks, Loc);
PENSTOCK_EXPORT void clusterSync(Loc);
PENSTOCK_EXPORT Scope openWarps(int64_t first, int64_t count, Loc);
PENSTOCK_EXPORT Scope openElect(Loc);
PENSTOCK_EXPORT void sync(Loc);
PENSTOCK_EXPORT void warpSync(Loc);
PENSTOCK_EXPORT Ref allocateNamedBarrier(int64_t threads, Loc);
PENSTOCK_EXPORT void meet(Ref barrier, bool wait, Loc);
PENSTOCK_EXPORT void registers(int64_t count, bool request, Loc);
PENSTOCK_EXPORT void proxyFence(Loc);
PENSTOCK_EXPORT Ref allocateBarriers(Ints counts, const char *part, Loc);
/// \p bytes: expected transaction bytes, empty: none. \p cta: block of the cluster, empty: own.
PENSTOCK_EXPORT void arrive(BarrierRef, Ref bytes, Ref cta, BarrierSemantics, Loc);
PENSTOCK_EXPORT void wait(BarrierRef, Ref phase, BarrierSemantics, Loc);
/// \p nanoseconds: timeout, 0: the hardware's default.
PENSTOCK_EXPORT Ref tryWait(BarrierRef, Ref phase, BarrierSemantics, int64_t nanoseconds, Loc);
/// Box of a tensor: its offsets, and the dimensions along which it lies.
struct BoxRef {
  Ref tensor;
  Refs offsets;
  Ints dims;
};
template <class T, int R, Access A> BoxRef boxAt(const TensorSlice<T, R, A> &slice) {
  return {slice.tensor, slice.offsets, {slice.dimensions.data(), size_t(slice.count)}};
}
/// \p multicast: mask of blocks, empty: own block only.
/// \p padded: the packed element whose values are padded; none for a plain copy.
PENSTOCK_EXPORT void tmaLoad(const BoxRef &, Ref tile, BarrierRef, Ref multicast, Cache,
                             std::optional<Element> padded, Loc);
/// \p combined: reduction applied to the destination; none for a plain store.
PENSTOCK_EXPORT void tmaStore(Ref tile, const BoxRef &, std::optional<Reduction> combined, Cache,
                              Loc);
PENSTOCK_EXPORT void asyncCopy(const BoxRef &, Ref tile, int64_t bytes, bool l1, Loc);
PENSTOCK_EXPORT void asyncArrive(BarrierRef, Loc);
enum class Group : uint8_t {
  TmaCommit,
  AsyncCommit,
  WgmmaCommit,
  WgmmaFence,
  TensorWaitLoad,
  TensorWaitStore
};
PENSTOCK_EXPORT void group(Group, Loc);
enum class Engine : uint8_t { Tma, Async, Wgmma };
PENSTOCK_EXPORT void waitGroup(Engine, int64_t pending, bool read, Loc);
PENSTOCK_EXPORT void clcRequest(Ref answer, BarrierRef, Loc);
PENSTOCK_EXPORT void clcAnswer(Ref answer, Ref result[2], Loc);
PENSTOCK_EXPORT Scope openWhile(Loc);
/// Opens the body of a while loop, after its condition.
PENSTOCK_EXPORT void openWhileBody(Scope, Ref condition, Loc);
PENSTOCK_EXPORT Ref allocateTensor(Element, Ints shape, Loc);
PENSTOCK_EXPORT void deallocateTensor(Ref, Loc);
PENSTOCK_EXPORT void mma(bool blackwell, Ref a, Ref b, Ref acc, Ref accumulate, Loc);
/// The element types distinguish packed elements from bytes.
PENSTOCK_EXPORT void scaledMma(Ref a, Ref b, Ref acc, Ref scaleA, Ref scaleB, Element elementA,
                               Element elementB, Ref accumulate, Loc);
PENSTOCK_EXPORT void commit(BarrierRef, Ref multicast, Loc);
PENSTOCK_EXPORT Ref loadTensor(Ref tile, Loc);
PENSTOCK_EXPORT void storeTensor(Ref source, Ref target, Loc);
PENSTOCK_EXPORT void copyTensor(Ref source, Ref target, Loc);

} // namespace detail::nv

/// One mbarrier.
struct Barrier {
  detail::nv::BarrierRef ref;
};

/// Array of mbarriers, e.g. one per slot of a ring.
class Barriers {
public:
  /// No barriers; BarrierCalls::alloc() makes some.
  Barriers() = default;
  explicit Barriers(detail::Ref made) : ref(made) {}
  /// Returns the barrier of one slot.
  Barrier operator[](detail::IndexArg index) const { return {{ref, index.ref}}; }
  detail::Ref ref;
};

/// Named barrier of the block (`bar.sync`, `bar.arrive`).
struct NamedBarrier {
  detail::Ref ref;
};

struct BarrierArriveOptions {
  /// Arrives on the barrier of this block of the cluster; implies scope Cluster.
  std::optional<detail::IndexArg> cta = {};
  Semantics sem = Release;
  ThreadScope scope = Cta;
};
struct BarrierWaitOptions {
  Semantics sem = Acquire;
  ThreadScope scope = Cta;
};
struct BarrierTryWaitOptions {
  ThreadScope scope = Cta;
  /// Suspend-time hint; 0: the hardware's default.
  int64_t timeout_ns = 0;
};
/// Mask of blocks of the cluster: bit i is block i.
using BlockMask = std::optional<detail::ScalarArg<uint32_t>>;
struct TmaLoadOptions {
  /// Multicasts the box to the same tile and barrier of all these blocks.
  BlockMask multicast = {};
  Cache cache = NoHint;
  /// Pads packed values so that 16 of them take 16 bytes, as tcgen05.mma reads 6-bit values, and
  /// 4-bit values if the other operand has another type. The tile has a byte for each value;
  /// barriers count unpadded bytes.
  bool padded = false;
};
struct TmaStoreOptions {
  Cache cache = NoHint;
};
struct AsyncCopyOptions {
  /// Bytes per copy instruction: 16, 8 or 4. Rows must be a multiple.
  int64_t bytes = 16;
  /// Also caches in L1, as copies of 8 and 4 bytes always do.
  bool l1 = false;
};
struct CommitOptions {
  /// Arrives on the same barrier of all these blocks.
  BlockMask multicast = {};
};
struct GroupWaitOptions {
  /// Waits only until the sources have been read (`.read`).
  bool read = false;
};
struct MmaOptions {
  /// Adds to the accumulator instead of overwriting it.
  detail::ScalarArg<bool> accumulate = true;
};
struct TensorMmaOptions {
  /// Adds to the accumulator instead of overwriting it.
  detail::ScalarArg<bool> accumulate = true;
  /// Scales of f8 and f4e2m1x2 operands, in TMEM: the MMA adds (a * scale_a) * (b * scale_b).
  Scales scale_a = {}, scale_b = {};
};

namespace mbarrier {
/// Initial phases of waits. The producer's first wait for an empty slot returns immediately;
/// the consumer's first wait blocks until the slot is full.
inline constexpr uint32_t producer_phase = 1;
inline constexpr uint32_t consumer_phase = 0;
} // namespace mbarrier

namespace detail {

/// Checks the packed operands of an MMA.
template <class A, class B> constexpr void checkMultiplied() {
  static_assert(!std::is_same_v<A, i4x2> && !std::is_same_v<B, i4x2>,
                "i4x2 is not multiplied as it is; unpack it with b.unpack(packed, values)");
  static_assert((!isPacked<A> && !isPacked<B>) || (isScalable<A> && isScalable<B>),
                "packed values are multiplied by packed values or f8");
}

struct BarrierCalls {
  /// Allocates `count` barriers that complete a phase after `arrivals` arrivals. Messages name them
  /// after the variable on the line of `at`. A class that forwards its caller's location names the
  /// `part` of the object: "ring.full" for `Ring ring(b, ..)` and part "full".
  Barriers alloc(int64_t count, int64_t arrivals = 1, Loc at = here(),
                 const char *part = nullptr) const {
    std::vector<int64_t> counts(size_t(count < 0 ? 0 : count > 4096 ? 4096 : count), arrivals);
    return Barriers(nv::allocateBarriers(counts, part, at));
  }
  /// Allocates barriers with separate counts: `auto [full, empty] = b.mbarrier.alloc<2>({1, 2})`.
  template <size_t N>
  std::array<Barrier, N> alloc(const int64_t (&arrivals)[N], Loc at = here()) const {
    Barriers all(nv::allocateBarriers(arrivals, nullptr, at));
    return pick<N>(all, at, std::make_index_sequence<N>());
  }
  /// Arrives for every thread of the scope.
  void arrive(Barrier barrier, BarrierArriveOptions o = {}, Loc at = here()) const {
    nv::arrive(barrier.ref, {}, o.cta ? o.cta->ref : Ref(), {o.sem, o.scope}, at);
  }
  /// Arrives, and adds `bytes` to the transaction count of the phase.
  void arrive_expect(Barrier barrier, IndexArg bytes, BarrierArriveOptions o = {},
                     Loc at = here()) const {
    nv::arrive(barrier.ref, bytes.ref, o.cta ? o.cta->ref : Ref(), {o.sem, o.scope}, at);
  }
  /// Blocks until the phase with this parity has completed.
  void wait(Barrier barrier, ScalarArg<uint32_t> phase, BarrierWaitOptions o = {},
            Loc at = here()) const {
    nv::wait(barrier.ref, phase.ref, {o.sem, o.scope}, at);
  }

  /// Non-blocking; may spuriously return false.
  Bool try_wait(Barrier barrier, ScalarArg<uint32_t> phase, BarrierTryWaitOptions o = {},
                Loc at = here()) const {
    return Bool(nv::tryWait(barrier.ref, phase.ref, {Acquire, o.scope}, o.timeout_ns, at));
  }

private:
  template <size_t N, size_t... I>
  static std::array<Barrier, N> pick(const Barriers &all, Loc at, std::index_sequence<I...>) {
    return {all[IndexArg(int64_t(I), at)]...};
  }
};

/// Named barriers of a block.
struct NamedBarrierCalls {
  /// Allocates a barrier that completes after `threads` arrivals.
  NamedBarrier alloc(int64_t threads, Loc at = here()) const {
    return {nv::allocateNamedBarrier(threads, at)};
  }
  /// Arrives for every thread of the scope and waits for completion.
  void sync(NamedBarrier barrier, Loc at = here()) const { nv::meet(barrier.ref, true, at); }
  /// Arrives for every thread of the scope without waiting.
  void arrive(NamedBarrier barrier, Loc at = here()) const { nv::meet(barrier.ref, false, at); }
};

/// Register reallocation between warpgroups (`setmaxnreg`).
struct RegisterCalls {
  /// Increases the registers per thread to `count`; waits until other warpgroups have released
  /// enough.
  void request(int64_t count, Loc at = here()) const { nv::registers(count, true, at); }
  /// Decreases the registers per thread to `count`.
  void release(int64_t count, Loc at = here()) const { nv::registers(count, false, at); }
};

struct TmaCalls {
  /// Copies a box of a tensor to a shared tile by TMA. One thread issues it; its bytes complete on
  /// the barrier, which must expect them.
  template <class T, int RT, Access A, int R>
  void load(const TensorSlice<T, RT, A> &source, const Tile<T, R> &target, Barrier barrier,
            TmaLoadOptions o = {}, Loc at = here()) const {
    static_assert(A != Access::Out, "this tensor is an Out<..>: it is only written");
    static_assert(R == 2 || R == 4, "TMA loads matrices, and scales of rank 4");
    nv::tmaLoad(nv::boxAt(source), target.ref, barrier.ref, o.multicast ? o.multicast->ref : Ref(),
                o.cache, o.padded ? std::optional(ElementOf<T>::value) : std::nullopt, at);
  }
  /// Copies a shared tile to a tensor by TMA, clipped at its edges. One thread issues it.
  template <class T, int RT, Access A>
  void store(const Tile<T, 2> &source, const TensorSlice<T, RT, A> &target, TmaStoreOptions o = {},
             Loc at = here()) const {
    static_assert(A != Access::In, "this tensor is an In<..>: it is only read");
    nv::tmaStore(source.ref, nv::boxAt(target), {}, o.cache, at);
  }
  /// Atomic reduction to the tensor: Sum, or Max and Min of f16 and bf16.
  template <class T, int RT, Access A>
  void reduce(Reduction kind, const Tile<T, 2> &source, const TensorSlice<T, RT, A> &target,
              TmaStoreOptions o = {}, Loc at = here()) const {
    static_assert(A == Access::InOut, "this tensor is read and written; declare it as InOut<..>");
    nv::tmaStore(source.ref, nv::boxAt(target), kind, o.cache, at);
  }
  /// Makes the prior TMA stores and reductions of this thread a group.
  void commit_group(Loc at = here()) const { nv::group(nv::Group::TmaCommit, at); }
  /// Blocks until at most \p pending groups of TMA stores of this thread have not completed.
  void wait_group(int64_t pending, GroupWaitOptions o = {}, Loc at = here()) const {
    nv::waitGroup(nv::Engine::Tma, pending, o.read, at);
  }
};

struct AsyncCopyCalls {
  /// Copies a box of a tensor to a shared tile by cp.async. All threads of the scope copy a part.
  template <class T, int RT, Access A>
  void load(const TensorSlice<T, RT, A> &source, const Tile<T, 2> &target, AsyncCopyOptions o = {},
            Loc at = here()) const {
    static_assert(A != Access::Out, "this tensor is an Out<..>: it is only written");
    nv::asyncCopy(nv::boxAt(source), target.ref, o.bytes, o.l1, at);
  }
  /// Arrives for every thread of the scope when its prior copies have completed.
  void arrive(Barrier barrier, Loc at = here()) const { nv::asyncArrive(barrier.ref, at); }
  /// Makes the prior copies of each thread a group.
  void commit_group(Loc at = here()) const { nv::group(nv::Group::AsyncCommit, at); }
  /// Blocks until at most \p pending groups of copies of each thread have not completed.
  void wait_group(int64_t pending, Loc at = here()) const {
    nv::waitGroup(nv::Engine::Async, pending, false, at);
  }
};

struct FenceCalls {
  /// Makes this thread's writes to shared memory visible to TMA and tensor cores.
  void proxy_async(Loc at = here()) const { nv::proxyFence(at); }
};

/// Cluster launch control: claims pending blocks.
struct LaunchControlCalls {
  /// Requests a block. The 16-byte answer completes on the barrier.
  void request(const Tile<i32, 1> &answer, Barrier barrier, Loc at = here()) const {
    nv::clcRequest(answer.ref, barrier.ref, at);
  }
  struct Answer {
    Bool granted;
    Index block; ///< block to run
  };
  /// Decodes an answer, after its barrier has completed.
  Answer answer(const Tile<i32, 1> &tile, Loc at = here()) const {
    Ref result[2];
    nv::clcAnswer(tile.ref, result, at);
    return {Bool(result[0]), Index(result[1])};
  }
};

/// Tensor core of Blackwell (tcgen05).
struct TensorCalls {
  /// Allocates an accumulator or a left operand in TMEM.
  template <class T> Tile<T, 2> alloc(int64_t rows, int64_t cols, Loc at = here()) const {
    int64_t shape[] = {rows, cols};
    return Tile<T, 2>(nv::allocateTensor(ElementOf<T>::value, shape, at));
  }
  /// Allocates scales of an operand: [rows / 128, K / (4 * block), 32, 16].
  template <class T>
  Tile<T, 4> alloc(int64_t a, int64_t b, int64_t c, int64_t d, Loc at = here()) const {
    int64_t shape[] = {a, b, c, d};
    return Tile<T, 4>(nv::allocateTensor(ElementOf<T>::value, shape, at));
  }
  /// Frees a tile of TMEM. Every tile is freed before the kernel ends.
  template <class T, int R> void dealloc(const Tile<T, R> &tile, Loc at = here()) const {
    static_assert(R == 2 || R == 4, "TMEM holds matrices, and scales of rank 4");
    nv::deallocateTensor(tile.ref, at);
  }
  /// acc += a * b; a is in shared memory or TMEM. Tiles of 6-bit values, and of 4-bit values if the
  /// other operand has another type, are padded (TmaLoadOptions).
  template <class A, class B, class C>
  void mma(const Tile<A, 2> &a, const Tile<B, 2> &b, const Tile<C, 2> &acc, TensorMmaOptions o = {},
           Loc at = here()) const {
    checkMultiplied<A, B>();
    if (isPacked<A> || isPacked<B> || o.scale_a.ref.id || o.scale_b.ref.id)
      nv::scaledMma(a.ref, b.ref, acc.ref, o.scale_a.ref, o.scale_b.ref, ElementOf<A>::value,
                    ElementOf<B>::value, o.accumulate.ref, at);
    else
      nv::mma(true, a.ref, b.ref, acc.ref, o.accumulate.ref, at);
  }
  /// Arrives on the barrier when the prior MMAs and copies of this thread have completed.
  void commit(Barrier barrier, CommitOptions o = {}, Loc at = here()) const {
    nv::commit(barrier.ref, o.multicast ? o.multicast->ref : Ref(), at);
  }
  /// Loads a tile of TMEM into registers, one row per thread; complete after wait_load.
  template <class T> Tile<T, 2> load(const Tile<T, 2> &tile, Loc at = here()) const {
    return Tile<T, 2>(nv::loadTensor(tile.ref, at));
  }
  /// Waits for the loads from TMEM of this thread; their registers are valid afterwards.
  void wait_load(Loc at = here()) const { nv::group(nv::Group::TensorWaitLoad, at); }
  /// Stores a tile from registers to TMEM; complete after wait_store.
  template <class T>
  void store(const Tile<T, 2> &source, const Tile<T, 2> &target, Loc at = here()) const {
    nv::storeTensor(source.ref, target.ref, at);
  }
  /// Waits for the stores to TMEM of this thread.
  void wait_store(Loc at = here()) const { nv::group(nv::Group::TensorWaitStore, at); }
  /// Copies a shared tile, a matrix or scales of rank 4, to TMEM. Later MMAs of the scope are
  /// ordered after it; commit tracks its completion.
  template <class T, int R>
  void copy(const Tile<T, R> &source, const Tile<T, R> &target, Loc at = here()) const {
    static_assert(R == 2 || R == 4, "TMEM holds matrices, and scales of rank 4");
    nv::copyTensor(source.ref, target.ref, at);
  }
};

/// Tensor core of Hopper (wgmma).
struct WgmmaCalls {
  /// Orders accesses to the registers of MMAs before the next one.
  void fence(Loc at = here()) const { nv::group(nv::Group::WgmmaFence, at); }
  /// acc += a * b; a is in shared memory, or in registers with 16-bit elements.
  template <class A, class B, class C>
  void mma(const Tile<A, 2> &a, const Tile<B, 2> &b, const Tile<C, 2> &acc, MmaOptions o = {},
           Loc at = here()) const {
    static_assert(!isPacked<A> && !isPacked<B>,
                  "wgmma does not multiply packed elements; unpack them first");
    nv::mma(false, a.ref, b.ref, acc.ref, o.accumulate.ref, at);
  }
  /// Makes the prior MMAs of this warpgroup a group.
  void commit_group(Loc at = here()) const { nv::group(nv::Group::WgmmaCommit, at); }
  /// Blocks until at most \p pending groups of MMAs of this warpgroup have not completed.
  void wait_group(int64_t pending, Loc at = here()) const {
    nv::waitGroup(nv::Engine::Wgmma, pending, false, at);
  }
};

} // namespace detail
} // namespace penstock

#endif // PENSTOCK_HARDWARE_H
