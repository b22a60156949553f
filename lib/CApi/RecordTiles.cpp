//===- RecordTiles.cpp - Recording tile programs from C -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/RecordCalls.h"

using namespace penstock;
using namespace penstock::capi;

//===----------------------------------------------------------------------===//
// Scalars and expressions
//===----------------------------------------------------------------------===//

penstock_ref penstock_record_integer(int32_t element, int64_t value, penstock_at at) {
  return fromRef(detail::literal(toElement(element), value, toLoc(at)));
}

penstock_ref penstock_record_real(int32_t element, double value, penstock_at at) {
  return fromRef(detail::literal(toElement(element), value, toLoc(at)));
}

penstock_ref penstock_record_unary(int32_t op, penstock_ref value, penstock_at at) {
  return fromRef(detail::unary(toOp(op), toRef(value), toLoc(at)));
}

penstock_ref penstock_record_binary(int32_t op, int32_t isUnsigned, penstock_ref a, penstock_ref b,
                                    penstock_at at) {
  return fromRef(detail::binary(toOp(op), isUnsigned != 0, toRef(a), toRef(b), toLoc(at)));
}

penstock_ref penstock_record_select(penstock_ref condition, penstock_ref then,
                                    penstock_ref otherwise, penstock_at at) {
  return fromRef(detail::select(toRef(condition), toRef(then), toRef(otherwise), toLoc(at)));
}

penstock_ref penstock_record_convert(penstock_ref value, int32_t element, int32_t isUnsigned,
                                     penstock_at at) {
  return fromRef(detail::convert(toRef(value), toElement(element), isUnsigned != 0, toLoc(at)));
}

penstock_ref penstock_record_bind(penstock_ref value, const char *name, penstock_at at) {
  return fromRef(detail::bind(toRef(value), toText(name), toLoc(at)));
}

penstock_ref penstock_record_elements(penstock_ref tile, int32_t dim, penstock_at at) {
  int64_t dims[] = {dim};
  return fromRef(detail::elements(toRef(tile), detail::Ints(dims, dim < 0 ? 0 : 1), toLoc(at)));
}

penstock_ref penstock_record_element_index(int32_t dim, penstock_at at) {
  return fromRef(detail::elementIndex(dim, toLoc(at)));
}

void penstock_record_divmod(penstock_ref dividend, penstock_ref divisor, penstock_ref *result,
                            penstock_at at) {
  detail::Ref parts[2];
  detail::divmod(toRef(dividend), toRef(divisor), parts, toLoc(at));
  result[0] = fromRef(parts[0]);
  result[1] = fromRef(parts[1]);
}

//===----------------------------------------------------------------------===//
// Tiles and tensors
//===----------------------------------------------------------------------===//

penstock_ref penstock_record_allocate(int32_t space, int32_t element, const int64_t *shape,
                                      size_t rank, int32_t versions, const char *name,
                                      penstock_at at) {
  capi::nameNext(name);
  return fromRef(detail::allocate(static_cast<detail::Space>(space), toElement(element),
                                  {shape, rank}, versions, toLoc(at)));
}

void penstock_record_name(penstock_ref tile, const char *name, penstock_at at) {
  detail::name(toRef(tile), toText(name), toLoc(at));
}

penstock_ref penstock_record_size(penstock_ref tensor, int32_t dim, penstock_at at) {
  return fromRef(detail::size(toRef(tensor), dim, toLoc(at)));
}

penstock_ref penstock_record_slice(penstock_ref tile, const penstock_ref *offsets,
                                   const int64_t *sizes, size_t rank, int32_t dropFirst,
                                   penstock_at at) {
  return fromRef(
      detail::slice(toRef(tile), toRefs(offsets, rank), {sizes, rank}, dropFirst != 0, toLoc(at)));
}

penstock_ref penstock_record_transpose(penstock_ref tile, penstock_at at) {
  return fromRef(detail::transpose(toRef(tile), toLoc(at)));
}

penstock_ref penstock_record_as_matrix(penstock_ref tile, penstock_at at) {
  return fromRef(detail::asMatrix(toRef(tile), toLoc(at)));
}

penstock_ref penstock_record_load(penstock_ref memory, const penstock_ref *indices, size_t count,
                                  penstock_at at) {
  return fromRef(detail::load(toRef(memory), toRefs(indices, count), toLoc(at)));
}

void penstock_record_store(penstock_ref value, penstock_ref memory, const penstock_ref *indices,
                           size_t count, penstock_at at) {
  detail::store(toRef(value), toRef(memory), toRefs(indices, count), toLoc(at));
}

penstock_ref penstock_record_atomic(int32_t kind, penstock_ref value, penstock_ref memory,
                                    const penstock_ref *indices, size_t count, penstock_at at) {
  return fromRef(detail::atomic(static_cast<detail::Kind>(kind), toRef(value), toRef(memory),
                                toRefs(indices, count), toLoc(at)));
}

//===----------------------------------------------------------------------===//
// Operations on tiles
//===----------------------------------------------------------------------===//

void penstock_record_copy(const penstock_box *source, const penstock_box *target, penstock_ref fill,
                          const char *async, penstock_at at) {
  std::vector<detail::Ref> from = toRefs(source->offsets, source->count),
                           to = toRefs(target->offsets, target->count);
  const penstock_box *tensor = source->count ? source : target;
  detail::CopyArguments arguments{
      .source = toRef(source->memory), .target = toRef(target->memory), .fill = toRef(fill)};
  arguments.sourceOffsets = from;
  arguments.targetOffsets = to;
  arguments.dims = {tensor->dims, tensor->dim_count};
  arguments.async = toText(async);
  detail::copy(arguments, toLoc(at));
}

void penstock_record_refuse_fill(penstock_at at) { detail::refuseFill(toLoc(at)); }

void penstock_record_fill(penstock_ref tile, penstock_ref value, penstock_at at) {
  detail::fill(toRef(tile), toRef(value), toLoc(at));
}

void penstock_record_gemm(penstock_ref a, penstock_ref b, penstock_ref acc, penstock_ref scaleA,
                          penstock_ref scaleB, int32_t flags, int32_t elementA, int32_t elementB,
                          const char *async, penstock_at at) {
  detail::gemm({.a = toRef(a),
                .b = toRef(b),
                .acc = toRef(acc),
                .scaleA = toRef(scaleA),
                .scaleB = toRef(scaleB),
                .accumulate = (flags & PENSTOCK_GEMM_ACCUMULATE) != 0,
                .tf32 = (flags & PENSTOCK_GEMM_TF32) != 0,
                .unsignedA = (flags & PENSTOCK_GEMM_UNSIGNED_A) != 0,
                .elementA = toElement(elementA),
                .elementB = toElement(elementB),
                .async = toText(async)},
               toLoc(at));
}

void penstock_record_reduce(int32_t kind, penstock_ref source, int32_t dim, penstock_ref target,
                            int32_t accumulate, penstock_at at) {
  detail::reduce(static_cast<detail::Kind>(kind), toRef(source), dim, toRef(target),
                 accumulate != 0, toLoc(at));
}

void penstock_record_unpack(penstock_ref packed, int32_t element, penstock_ref values,
                            penstock_at at) {
  detail::unpack(toRef(packed), toElement(element), toRef(values), toLoc(at));
}

void penstock_record_assign(penstock_ref target, penstock_ref expression, penstock_at at) {
  detail::assign(toRef(target), toRef(expression), toLoc(at));
}

void penstock_record_wait(const char *const *names, size_t count, int32_t lag, penstock_at at) {
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < count; ++i)
    texts.push_back(toText(names[i]));
  detail::wait(texts, lag, toLoc(at));
}

void penstock_record_wait_for_previous(penstock_at at) { detail::waitForPrevious(toLoc(at)); }
void penstock_record_launch_dependents(penstock_at at) { detail::launchDependents(toLoc(at)); }

void penstock_record_print(const char *text, const penstock_ref *operands, size_t count,
                           penstock_at at) {
  detail::print(toText(text), toRefs(operands, count), toLoc(at));
}

void penstock_record_require(penstock_ref condition, const char *message, penstock_at at) {
  detail::require(toRef(condition), toText(message), toLoc(at));
}

//===----------------------------------------------------------------------===//
// The grid and scopes
//===----------------------------------------------------------------------===//

void penstock_record_grid(const penstock_ref *extents, size_t count, int64_t swizzle,
                          penstock_ref *coordinates, penstock_at at) {
  std::vector<detail::Ref> out(count);
  detail::grid(toRefs(extents, count), swizzle, out, toLoc(at));
  fromRefs(out, coordinates);
}

void penstock_record_prefer(const int64_t *cluster, size_t count, int32_t pair,
                            int32_t launchControl, penstock_at at) {
  detail::prefer({cluster, count}, pair != 0, launchControl != 0, toLoc(at));
}

penstock_scope penstock_record_open_loop(const penstock_loop *loop, penstock_ref *index,
                                         penstock_at at) {
  static_assert(sizeof(int) == sizeof(int32_t));
  detail::LoopArguments arguments{
      .begin = toRef(loop->begin), .end = toRef(loop->end), .step = toRef(loop->step)};
  arguments.unroll = loop->unroll;
  arguments.pipelined = loop->pipelined != 0;
  arguments.numStages = loop->num_stages;
  arguments.solverSeconds = loop->solver_seconds;
  arguments.form = toText(loop->form);
  arguments.stage = {loop->stage, loop->stage_count};
  arguments.order = {loop->order, loop->order_count};
  arguments.asyncStages = {loop->async_stages, loop->async_stage_count};
  arguments.asyncProducers = {loop->async_producers, loop->async_producer_count};
  arguments.asyncProducerGroups = {loop->async_producer_groups, loop->async_producer_group_count};
  detail::Ref made;
  detail::Scope scope = detail::openLoop(arguments, made, toLoc(at));
  *index = fromRef(made);
  return fromScope(scope);
}

penstock_scope penstock_record_open_condition(penstock_ref condition, penstock_at at) {
  return fromScope(detail::openCondition(toRef(condition), false, toLoc(at)));
}

penstock_scope penstock_record_open_otherwise(penstock_at at) {
  return fromScope(lang::openElseAfter(toLoc(at)));
}

penstock_scope penstock_record_open_statement(const char *name, const char *role, penstock_at at) {
  return fromScope(detail::openStatement(toText(name), toText(role), toLoc(at)));
}

penstock_scope penstock_record_open_parallel(const int64_t *extents, size_t count,
                                             penstock_ref *indices, penstock_at at) {
  std::vector<detail::Ref> out(count);
  detail::Scope scope = detail::openParallel({extents, count}, out, toLoc(at));
  fromRefs(out, indices);
  return fromScope(scope);
}

void penstock_record_close(penstock_scope scope) { detail::close(toScope(scope)); }
void penstock_record_abandon(penstock_scope scope) { detail::abandon(toScope(scope)); }
