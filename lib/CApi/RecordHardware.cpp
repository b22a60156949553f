//===- RecordHardware.cpp - Recording explicit kernels from C -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/RecordCalls.h"

using namespace penstock;
using namespace penstock::capi;
namespace seam = penstock::detail::nv;

namespace {

seam::BarrierRef toBarrier(penstock_barrier barrier) {
  return {toRef(barrier.barriers), toRef(barrier.index)};
}

seam::BarrierSemantics semantics(int32_t sem, int32_t scope) {
  return {static_cast<Semantics>(sem), static_cast<ThreadScope>(scope)};
}

/// A box, with the references that it points to.
struct Box {
  explicit Box(const penstock_box *from)
      : offsets(toRefs(from->offsets, from->count)),
        ref{toRef(from->memory), offsets, {from->dims, from->dim_count}} {}
  Box(const Box &) = delete;

  std::vector<detail::Ref> offsets;
  seam::BoxRef ref;
};

} // namespace

void penstock_record_threads(int64_t count, penstock_at at) { seam::threads(count, toLoc(at)); }
penstock_ref penstock_record_pair(penstock_at at) { return fromRef(seam::pair(toLoc(at))); }
penstock_ref penstock_record_cluster(int64_t blocks, penstock_at at) {
  return fromRef(seam::cluster(blocks, toLoc(at)));
}
void penstock_record_cluster_sync(penstock_at at) { seam::clusterSync(toLoc(at)); }

penstock_scope penstock_record_open_warps(int64_t first, int64_t count, penstock_at at) {
  return fromScope(seam::openWarps(first, count, toLoc(at)));
}
penstock_scope penstock_record_open_elect(penstock_at at) {
  return fromScope(seam::openElect(toLoc(at)));
}
penstock_scope penstock_record_open_while(penstock_at at) {
  return fromScope(seam::openWhile(toLoc(at)));
}
void penstock_record_open_while_body(penstock_scope scope, penstock_ref condition, penstock_at at) {
  seam::openWhileBody(toScope(scope), toRef(condition), toLoc(at));
}

void penstock_record_sync(penstock_at at) { seam::sync(toLoc(at)); }
void penstock_record_warp_sync(penstock_at at) { seam::warpSync(toLoc(at)); }

penstock_ref penstock_record_named_barrier(int64_t threads, const char *name, penstock_at at) {
  capi::nameNext(name);
  return fromRef(seam::allocateNamedBarrier(threads, toLoc(at)));
}
void penstock_record_meet(penstock_ref barrier, int32_t wait, penstock_at at) {
  seam::meet(toRef(barrier), wait != 0, toLoc(at));
}
void penstock_record_registers(int64_t count, int32_t request, penstock_at at) {
  seam::registers(count, request != 0, toLoc(at));
}
void penstock_record_proxy_fence(penstock_at at) { seam::proxyFence(toLoc(at)); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

penstock_ref penstock_record_barriers(const int64_t *arrivals, size_t count, const char *name,
                                      penstock_at at) {
  capi::nameNext(name);
  return fromRef(seam::allocateBarriers({arrivals, count}, nullptr, toLoc(at)));
}

void penstock_record_arrive(penstock_barrier barrier, penstock_ref bytes, penstock_ref cta,
                            int32_t sem, int32_t scope, penstock_at at) {
  seam::arrive(toBarrier(barrier), toRef(bytes), toRef(cta), semantics(sem, scope), toLoc(at));
}

void penstock_record_barrier_wait(penstock_barrier barrier, penstock_ref phase, int32_t sem,
                                  int32_t scope, penstock_at at) {
  seam::wait(toBarrier(barrier), toRef(phase), semantics(sem, scope), toLoc(at));
}

penstock_ref penstock_record_try_wait(penstock_barrier barrier, penstock_ref phase, int32_t scope,
                                      int64_t nanoseconds, penstock_at at) {
  return fromRef(seam::tryWait(toBarrier(barrier), toRef(phase), semantics(Acquire, scope),
                               nanoseconds, toLoc(at)));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void penstock_record_tma_load(const penstock_box *source, penstock_ref tile,
                              penstock_barrier barrier, penstock_ref multicast, int32_t cache,
                              int32_t padded, penstock_at at) {
  Box box(source);
  seam::tmaLoad(box.ref, toRef(tile), toBarrier(barrier), toRef(multicast),
                static_cast<Cache>(cache),
                padded < 0 ? std::nullopt : std::optional(toElement(padded)), toLoc(at));
}

void penstock_record_tma_store(penstock_ref tile, const penstock_box *target, int32_t reduction,
                               int32_t cache, penstock_at at) {
  Box box(target);
  seam::tmaStore(toRef(tile), box.ref,
                 reduction < 0 ? std::nullopt : std::optional(static_cast<Reduction>(reduction)),
                 static_cast<Cache>(cache), toLoc(at));
}

void penstock_record_async_copy(const penstock_box *source, penstock_ref tile, int64_t bytes,
                                int32_t l1, penstock_at at) {
  Box box(source);
  seam::asyncCopy(box.ref, toRef(tile), bytes, l1 != 0, toLoc(at));
}

void penstock_record_async_arrive(penstock_barrier barrier, penstock_at at) {
  seam::asyncArrive(toBarrier(barrier), toLoc(at));
}

void penstock_record_group(int32_t group, penstock_at at) {
  seam::group(static_cast<seam::Group>(group), toLoc(at));
}

void penstock_record_wait_group(int32_t engine, int64_t pending, int32_t read, penstock_at at) {
  seam::waitGroup(static_cast<seam::Engine>(engine), pending, read != 0, toLoc(at));
}

void penstock_record_clc_request(penstock_ref answer, penstock_barrier barrier, penstock_at at) {
  seam::clcRequest(toRef(answer), toBarrier(barrier), toLoc(at));
}

void penstock_record_clc_answer(penstock_ref answer, penstock_ref *result, penstock_at at) {
  detail::Ref parts[2];
  seam::clcAnswer(toRef(answer), parts, toLoc(at));
  result[0] = fromRef(parts[0]);
  result[1] = fromRef(parts[1]);
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

penstock_ref penstock_record_tensor_alloc(int32_t element, const int64_t *shape, size_t rank,
                                          const char *name, penstock_at at) {
  capi::nameNext(name);
  return fromRef(seam::allocateTensor(toElement(element), {shape, rank}, toLoc(at)));
}
void penstock_record_tensor_dealloc(penstock_ref tile, penstock_at at) {
  seam::deallocateTensor(toRef(tile), toLoc(at));
}

void penstock_record_mma(int32_t blackwell, penstock_ref a, penstock_ref b, penstock_ref acc,
                         penstock_ref accumulate, penstock_at at) {
  seam::mma(blackwell != 0, toRef(a), toRef(b), toRef(acc), toRef(accumulate), toLoc(at));
}

void penstock_record_scaled_mma(penstock_ref a, penstock_ref b, penstock_ref acc,
                                penstock_ref scale_a, penstock_ref scale_b, int32_t element_a,
                                int32_t element_b, penstock_ref accumulate, penstock_at at) {
  seam::scaledMma(toRef(a), toRef(b), toRef(acc), toRef(scale_a), toRef(scale_b),
                  toElement(element_a), toElement(element_b), toRef(accumulate), toLoc(at));
}

void penstock_record_commit(penstock_barrier barrier, penstock_ref multicast, penstock_at at) {
  seam::commit(toBarrier(barrier), toRef(multicast), toLoc(at));
}

penstock_ref penstock_record_tensor_load(penstock_ref tile, const char *name, penstock_at at) {
  capi::nameNext(name);
  return fromRef(seam::loadTensor(toRef(tile), toLoc(at)));
}
void penstock_record_tensor_store(penstock_ref source, penstock_ref target, penstock_at at) {
  seam::storeTensor(toRef(source), toRef(target), toLoc(at));
}
void penstock_record_tensor_copy(penstock_ref source, penstock_ref target, penstock_at at) {
  seam::copyTensor(toRef(source), toRef(target), toLoc(at));
}
