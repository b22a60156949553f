//===- hardware.h - Barriers, engines and roles in the user's hands -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `b.mbarrier`, `b.named_barrier`, `b.tma`, `b.tcgen05`, `b.wgmma`,
// `b.cp_async`, `b.registers` and `b.fence` are. Each call is one operation of the `nv` dialect;
// docs/explicit.md says who executes it and how it completes.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_HARDWARE_H
#define PENSTOCK_HARDWARE_H

#include "penstock/tile.h"

#include <optional>
#include <vector>

namespace penstock {

/// What a thread did before an arrival (Release) is seen behind the wait for it
/// (Acquire), or not (Relaxed).
enum Semantics : uint8_t { Acquire, Relaxed, Release };
/// What the second-level cache gives up first and last.
enum Cache : uint8_t { NoHint, EvictFirst, EvictNormal, EvictLast };
/// By which threads: of the block, or of its cluster.
enum ThreadScope : uint8_t { Cta, Cluster };

namespace detail::nv {

struct BarrierRef {
  Ref barriers, index;
};
/// How threads meet at a barrier.
struct Meeting {
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
PENSTOCK_EXPORT Ref allocateBarriers(Ints counts, Loc);
/// \p bytes is empty if none are announced, \p cta if it is the own block's.
PENSTOCK_EXPORT void arrive(BarrierRef, Ref bytes, Ref cta, Meeting, Loc);
PENSTOCK_EXPORT void wait(BarrierRef, Ref phase, Meeting, Loc);
/// \p nanoseconds is 0 if nothing is said of the time.
PENSTOCK_EXPORT Ref tryWait(BarrierRef, Ref phase, Meeting, int64_t nanoseconds, Loc);
/// \p multicast is empty if only the own block is meant.
/// Where a box of a tensor begins, and along which of its dimensions it lies.
struct BoxRef {
  Ref tensor;
  Refs offsets;
  Ints dims;
};
template <class T, int R, Access A> BoxRef boxAt(const Place<T, R, A> &place) {
  return {place.tensor, place.offsets, {place.dimensions.data(), size_t(place.count)}};
}
PENSTOCK_EXPORT void tmaLoad(const BoxRef &, Ref tile, BarrierRef, Ref multicast, Cache, Loc);
/// \p combined says how with what is there, if it is not overwritten.
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
/// Ends the part of a while loop that computes its condition.
PENSTOCK_EXPORT void openWhileBody(Scope, Ref condition, Loc);
PENSTOCK_EXPORT Ref allocateTensor(Element, Ints shape, Loc);
PENSTOCK_EXPORT void deallocateTensor(Ref, Loc);
PENSTOCK_EXPORT void mma(bool blackwell, Ref a, Ref b, Ref acc, Ref accumulate, Loc);
PENSTOCK_EXPORT void commit(BarrierRef, Ref multicast, Loc);
PENSTOCK_EXPORT Ref loadTensor(Ref tile, Loc);
PENSTOCK_EXPORT void storeTensor(Ref source, Ref target, Loc);
PENSTOCK_EXPORT void copyTensor(Ref source, Ref target, Loc);

} // namespace detail::nv

/// One mbarrier.
struct Barrier {
  detail::nv::BarrierRef ref;
};

/// Several mbarriers, e.g. one for each slot of a ring.
class Barriers {
public:
  Barriers() = default;
  explicit Barriers(detail::Ref made) : ref(made) {}
  Barrier operator[](detail::IndexArg index) const { return {{ref, index.ref}}; }
  detail::Ref ref;
};

/// A barrier of the block on which some threads wait and others only arrive.
struct NamedBarrier {
  detail::Ref ref;
};

struct BarrierArriveOptions {
  /// On the barrier of this block of the cluster; then the scope is the cluster.
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
  /// About how long the thread may sleep; 0 leaves it to the hardware.
  int64_t timeout_ns = 0;
};
/// Blocks of the cluster, bit i for block i.
using BlockMask = std::optional<detail::ScalarArg<uint32_t>>;
struct TmaLoadOptions {
  /// The box arrives in all of these blocks, in the same tile and on the same
  /// barrier of each.
  BlockMask multicast = {};
  Cache cache = NoHint;
};
struct TmaStoreOptions {
  Cache cache = NoHint;
};
struct AsyncCopyOptions {
  /// What a thread copies at a time: 16, or 8 or 4 where rows are no multiples of
  /// more.
  int64_t bytes = 16;
  /// Through the first-level cache as well; 8 and 4 bytes always go there.
  bool l1 = false;
};
struct CommitOptions {
  /// Arrives on the same barrier of all of these blocks.
  BlockMask multicast = {};
};
struct GroupWaitOptions {
  /// Until what was copied from may be written again, not until it has arrived.
  bool read = false;
};
struct MmaOptions {
  /// Adds to what the accumulator holds.
  detail::ScalarArg<bool> accumulate = true;
};

namespace mbarrier {
/// The phase with which a producer first waits for an empty slot: one that is
/// over from the start. A consumer starts with the phase that is under way.
inline constexpr uint32_t producer_phase = 1;
inline constexpr uint32_t consumer_phase = 0;
} // namespace mbarrier

namespace detail {

struct BarrierCalls {
  /// Barriers that wait for the same number of arrivals in each phase.
  Barriers alloc(int64_t count, int64_t arrivals = 1, Loc at = here()) const {
    std::vector<int64_t> counts(size_t(count < 0 ? 0 : count > 4096 ? 4096 : count), arrivals);
    return Barriers(nv::allocateBarriers(counts, at));
  }
  /// Barriers one by one: `auto [full, empty] = b.mbarrier.alloc<2>({1, 2})`.
  template <size_t N>
  std::array<Barrier, N> alloc(const int64_t (&arrivals)[N], Loc at = here()) const {
    Barriers all(nv::allocateBarriers(arrivals, at));
    return pick<N>(all, at, std::make_index_sequence<N>());
  }
  /// Every thread of the scope arrives.
  void arrive(Barrier barrier, BarrierArriveOptions o = {}, Loc at = here()) const {
    nv::arrive(barrier.ref, {}, o.cta ? o.cta->ref : Ref(), {o.sem, o.scope}, at);
  }
  /// The same, and the phase waits for so many bytes of copies as well.
  void arrive_expect(Barrier barrier, IndexArg bytes, BarrierArriveOptions o = {},
                     Loc at = here()) const {
    nv::arrive(barrier.ref, bytes.ref, o.cta ? o.cta->ref : Ref(), {o.sem, o.scope}, at);
  }
  void wait(Barrier barrier, ScalarArg<uint32_t> phase, BarrierWaitOptions o = {},
            Loc at = here()) const {
    nv::wait(barrier.ref, phase.ref, {o.sem, o.scope}, at);
  }

  /// Asks, and does not insist; may be false though the phase is over.
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

/// The barriers that a block has beside those in shared memory.
struct NamedBarrierCalls {
  /// One that opens, each time, when so many threads have come.
  NamedBarrier alloc(int64_t threads, Loc at = here()) const {
    return {nv::allocateNamedBarrier(threads, at)};
  }
  /// Every thread of the scope waits until it opens.
  void sync(NamedBarrier barrier, Loc at = here()) const { nv::meet(barrier.ref, true, at); }
  /// Every thread of the scope is counted, and goes on.
  void arrive(NamedBarrier barrier, Loc at = here()) const { nv::meet(barrier.ref, false, at); }
};

/// How many registers each thread of a warpgroup has.
struct RegisterCalls {
  /// Waits until there are so many: others must have released some.
  void request(int64_t count, Loc at = here()) const { nv::registers(count, true, at); }
  /// Keeps so many and gives the others back.
  void release(int64_t count, Loc at = here()) const { nv::registers(count, false, at); }
};

struct TmaCalls {
  template <class T, int RT, Access A>
  void load(const Place<T, RT, A> &source, const Tile<T, 2> &target, Barrier barrier,
            TmaLoadOptions o = {}, Loc at = here()) const {
    static_assert(A != Access::Out, "this tensor is an Out<..>: it is only written");
    nv::tmaLoad(nv::boxAt(source), target.ref, barrier.ref, o.multicast ? o.multicast->ref : Ref(),
                o.cache, at);
  }
  template <class T, int RT, Access A>
  void store(const Tile<T, 2> &source, const Place<T, RT, A> &target, TmaStoreOptions o = {},
             Loc at = here()) const {
    static_assert(A != Access::In, "this tensor is an In<..>: it is only read");
    nv::tmaStore(source.ref, nv::boxAt(target), {}, o.cache, at);
  }
  /// A store that combines each element with what the tensor holds: the Sum, or of
  /// f16 and bf16 the Max or Min. Other blocks may do the same at the same time.
  template <class T, int RT, Access A>
  void reduce(Reduction kind, const Tile<T, 2> &source, const Place<T, RT, A> &target,
              TmaStoreOptions o = {}, Loc at = here()) const {
    static_assert(A == Access::InOut, "what this tensor holds is read: it is an InOut<..>");
    nv::tmaStore(source.ref, nv::boxAt(target), kind, o.cache, at);
  }
  void commit_group(Loc at = here()) const { nv::group(nv::Group::TmaCommit, at); }
  void wait_group(int64_t pending, GroupWaitOptions o = {}, Loc at = here()) const {
    nv::waitGroup(nv::Engine::Tma, pending, o.read, at);
  }
};

struct AsyncCopyCalls {
  template <class T, int RT, Access A>
  void load(const Place<T, RT, A> &source, const Tile<T, 2> &target, AsyncCopyOptions o = {},
            Loc at = here()) const {
    static_assert(A != Access::Out, "this tensor is an Out<..>: it is only written");
    nv::asyncCopy(nv::boxAt(source), target.ref, o.bytes, o.l1, at);
  }
  /// Every thread of the scope arrives when its copies so far are there.
  void arrive(Barrier barrier, Loc at = here()) const { nv::asyncArrive(barrier.ref, at); }
  void commit_group(Loc at = here()) const { nv::group(nv::Group::AsyncCommit, at); }
  void wait_group(int64_t pending, Loc at = here()) const {
    nv::waitGroup(nv::Engine::Async, pending, false, at);
  }
};

struct FenceCalls {
  /// What this thread wrote to shared memory is seen by TMA and tensor core.
  void proxy_async(Loc at = here()) const { nv::proxyFence(at); }
};

/// Cluster launch control: work of blocks that have not started.
struct LaunchControlCalls {
  /// Asks for work. The answer, 16 bytes, arrives on the barrier.
  void request(const Tile<i32, 1> &answer, Barrier barrier, Loc at = here()) const {
    nv::clcRequest(answer.ref, barrier.ref, at);
  }
  struct Answer {
    Bool granted;
    Index block; ///< whose work it is
  };
  Answer answer(const Tile<i32, 1> &tile, Loc at = here()) const {
    Ref result[2];
    nv::clcAnswer(tile.ref, result, at);
    return {Bool(result[0]), Index(result[1])};
  }
};

/// Blackwell's tensor core.
struct TensorCalls {
  template <class T> Tile<T, 2> alloc(int64_t rows, int64_t cols, Loc at = here()) const {
    int64_t shape[] = {rows, cols};
    return Tile<T, 2>(nv::allocateTensor(ElementOf<T>::value, shape, at));
  }
  template <class T> void dealloc(const Tile<T, 2> &tile, Loc at = here()) const {
    nv::deallocateTensor(tile.ref, at);
  }
  /// acc += a * b; a is a shared tile or one in tensor memory.
  template <class A, class B, class C>
  void mma(const Tile<A, 2> &a, const Tile<B, 2> &b, const Tile<C, 2> &acc, MmaOptions o = {},
           Loc at = here()) const {
    nv::mma(true, a.ref, b.ref, acc.ref, o.accumulate.ref, at);
  }
  void commit(Barrier barrier, CommitOptions o = {}, Loc at = here()) const {
    nv::commit(barrier.ref, o.multicast ? o.multicast->ref : Ref(), at);
  }
  /// Part of tensor memory in registers, one row for each thread; there after
  /// wait_load.
  template <class T> Tile<T, 2> load(const Tile<T, 2> &tile, Loc at = here()) const {
    return Tile<T, 2>(nv::loadTensor(tile.ref, at));
  }
  void wait_load(Loc at = here()) const { nv::group(nv::Group::TensorWaitLoad, at); }
  /// A tile in registers to tensor memory; there after wait_store.
  template <class T>
  void store(const Tile<T, 2> &source, const Tile<T, 2> &target, Loc at = here()) const {
    nv::storeTensor(source.ref, target.ref, at);
  }
  void wait_store(Loc at = here()) const { nv::group(nv::Group::TensorWaitStore, at); }
  /// A shared tile to tensor memory; later products of the scope see it, and a
  /// commit completes it.
  template <class T>
  void copy(const Tile<T, 2> &source, const Tile<T, 2> &target, Loc at = here()) const {
    nv::copyTensor(source.ref, target.ref, at);
  }
};

/// Hopper's tensor core.
struct WgmmaCalls {
  void fence(Loc at = here()) const { nv::group(nv::Group::WgmmaFence, at); }
  /// acc += a * b; a is a shared tile or one in registers, of 16-bit elements.
  template <class A, class B, class C>
  void mma(const Tile<A, 2> &a, const Tile<B, 2> &b, const Tile<C, 2> &acc, MmaOptions o = {},
           Loc at = here()) const {
    nv::mma(false, a.ref, b.ref, acc.ref, o.accumulate.ref, at);
  }
  void commit_group(Loc at = here()) const { nv::group(nv::Group::WgmmaCommit, at); }
  void wait_group(int64_t pending, Loc at = here()) const {
    nv::waitGroup(nv::Engine::Wgmma, pending, false, at);
  }
};

} // namespace detail
} // namespace penstock

#endif // PENSTOCK_HARDWARE_H
