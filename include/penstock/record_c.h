//===- record_c.h - The recorder for front ends in other languages -*- C -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of record.h and hardware.h in C, for front ends in other languages;
// `penstock.lang` of the Python package is one. penstock_define() registers a kernel whose
// function calls the recorder; the result is a library like any other.
//
// The functions named penstock_record_.. record one operation each, on the thread that runs
// the kernel function. They collect errors, which are reported after recording, and return a
// value that suppresses follow-up errors. Outside of a recording they do nothing and return 0.
//
// This interface belongs to one version of the library: PENSTOCK_C_VERSION does not cover it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RECORD_C_H
#define PENSTOCK_RECORD_C_H

#include "penstock/penstock_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Value of the kernel being recorded; 0: none.
typedef uint64_t penstock_ref;
/// Open scope of the kernel being recorded.
typedef uint64_t penstock_scope;
/// Source location: file (penstock_source_file) << 48 | line << 20 | column; 0: unknown. Lines and
/// columns count from 1.
typedef uint64_t penstock_at;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Returns the number of a file for locations; 0 if there are more than 65535 files.
PENSTOCK_C_EXPORT uint32_t penstock_source_file(const char *name);
/// Gives the text of a source that is not a file, for messages with source lines.
PENSTOCK_C_EXPORT void penstock_add_source(const char *name, const char *text);

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

/// Parameter of a kernel function.
typedef struct penstock_argument_spec {
  int32_t tensor;  ///< 0: a scalar
  int32_t element; ///< number of `penstock::Element`
  int32_t rank;    ///< of a tensor
  int32_t access;  ///< of a tensor; 0: read, 1: written, 2: both
} penstock_argument_spec;

/// Field of a kernel, with the type of its values: 'i' (integer), 'b' (true or false), 'f'
/// (floating point) or 's' (text).
typedef struct penstock_field {
  const char *name;
  const char *value; ///< default
  char type;
} penstock_field;

/// Axis of a tuning space: fields that vary together.
typedef struct penstock_axis {
  const char *const *fields;
  size_t field_count;
  const char *const *values; ///< by value, then by field
  size_t value_count;        ///< of the axis: `values` has value_count * field_count texts
} penstock_axis;

typedef struct penstock_definition {
  size_t size; ///< sizeof(penstock_definition)
  const char *name;
  const char *signature; ///< may be null
  const char *flops;     ///< formula of the signature's sizes; may be null
  penstock_at at;
  const penstock_argument_spec *arguments;
  size_t argument_count;
  const penstock_field *fields;
  size_t field_count;
  const penstock_axis *axes; ///< tuning space
  size_t axis_count;
  const char *classes; ///< sizes that select a tuning record: "M:log2, N, K"; may be null
  /// Runs the kernel function on the recorder. Nonzero: it was left with an error that
  /// penstock_record_error() has reported, or that the caller of the library knows.
  int (*record)(void *context, const char *const *values, uint32_t recording,
                const penstock_ref *arguments);
  /// Returns whether the tuning space has the point with these values of the fields; may be null.
  int (*admits)(void *context, const char *const *values);
  void *context;
  /// Called once, when nothing uses the definition any more; may be null.
  void (*release)(void *context);
} penstock_definition;

/// Returns the arguments of a signature as a JSON array, which the caller frees: their names,
/// whether they are tensors, and the names or numbers of their sizes.
PENSTOCK_C_EXPORT penstock_status penstock_read_signature(const char *signature, char **json,
                                                          penstock_diagnostics **diagnostics);

/// Makes a library of one kernel. The functions of the definition may be called on any thread.
PENSTOCK_C_EXPORT penstock_status penstock_define(const penstock_definition *definition,
                                                  penstock_library **library,
                                                  penstock_diagnostics **diagnostics);
/// Records a kernel and returns its tile program, which the caller frees.
PENSTOCK_C_EXPORT penstock_status penstock_print_program(const penstock_library *library,
                                                         const char *kernel,
                                                         const penstock_compile_options *options,
                                                         char **text,
                                                         penstock_diagnostics **diagnostics);

/// Number of the recording of this thread; 0: none.
PENSTOCK_C_EXPORT uint32_t penstock_recording(void);
/// Reports an error that the front end found. \p help may be null. Returns 0 without a recording.
PENSTOCK_C_EXPORT int penstock_record_error(uint32_t code, const char *message, const char *help,
                                            penstock_at at);

//===----------------------------------------------------------------------===//
// Scalars and expressions
//===----------------------------------------------------------------------===//

PENSTOCK_C_EXPORT penstock_ref penstock_record_integer(int32_t element, int64_t value,
                                                       penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_real(int32_t element, double value, penstock_at at);
/// \p op: number of `penstock::detail::Op`.
PENSTOCK_C_EXPORT penstock_ref penstock_record_unary(int32_t op, penstock_ref value,
                                                     penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_binary(int32_t op, int32_t is_unsigned,
                                                      penstock_ref a, penstock_ref b,
                                                      penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_select(penstock_ref condition, penstock_ref then,
                                                      penstock_ref otherwise, penstock_at at);
/// \p is_unsigned: the source or target integer is unsigned.
PENSTOCK_C_EXPORT penstock_ref penstock_record_convert(penstock_ref value, int32_t element,
                                                       int32_t is_unsigned, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_bind(penstock_ref value, const char *name,
                                                    penstock_at at);
/// Elements of a tile in an expression. \p dim: the dimension of the target along which a tile of
/// rank one runs; -1: the tile has the dimensions of the target.
PENSTOCK_C_EXPORT penstock_ref penstock_record_elements(penstock_ref tile, int32_t dim,
                                                        penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_element_index(int32_t dim, penstock_at at);
/// Sets result[0] to the quotient and result[1] to the remainder.
PENSTOCK_C_EXPORT void penstock_record_divmod(penstock_ref dividend, penstock_ref divisor,
                                              penstock_ref *result, penstock_at at);

//===----------------------------------------------------------------------===//
// Tiles and tensors
//===----------------------------------------------------------------------===//

/// \p space: 0 shared, 1 local. \p versions: 0: computed. \p name: of the variable; empty: none. A
/// tile of rank 0 is a mutable scalar.
PENSTOCK_C_EXPORT penstock_ref penstock_record_allocate(int32_t space, int32_t element,
                                                        const int64_t *shape, size_t rank,
                                                        int32_t versions, const char *name,
                                                        penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_name(penstock_ref tile, const char *name, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_size(penstock_ref tensor, int32_t dim,
                                                    penstock_at at);
/// Offsets and sizes have the rank of the tile. \p drop_first: the first dimension, of size 1, is
/// dropped.
PENSTOCK_C_EXPORT penstock_ref penstock_record_slice(penstock_ref tile, const penstock_ref *offsets,
                                                     const int64_t *sizes, size_t rank,
                                                     int32_t drop_first, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_transpose(penstock_ref tile, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_as_matrix(penstock_ref tile, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_load(penstock_ref memory,
                                                    const penstock_ref *indices, size_t count,
                                                    penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_store(penstock_ref value, penstock_ref memory,
                                             const penstock_ref *indices, size_t count,
                                             penstock_at at);
/// \p kind: number of `penstock::detail::Kind`.
PENSTOCK_C_EXPORT penstock_ref penstock_record_atomic(int32_t kind, penstock_ref value,
                                                      penstock_ref memory,
                                                      const penstock_ref *indices, size_t count,
                                                      penstock_at at);

//===----------------------------------------------------------------------===//
// Operations on tiles
//===----------------------------------------------------------------------===//

/// A tile (count 0), or the slice of a tensor at some offsets. \p dims: dimensions of the tensor
/// for a tile of lower rank; dim_count 0: the last ones.
typedef struct penstock_box {
  penstock_ref memory;
  const penstock_ref *offsets;
  size_t count;
  const int64_t *dims;
  size_t dim_count;
} penstock_box;

/// \p fill: value of elements outside of the tensor; 0: zero. \p async: name of the wait that
/// completes the copy; null: it is synchronous.
PENSTOCK_C_EXPORT void penstock_record_copy(const penstock_box *source, const penstock_box *target,
                                            penstock_ref fill, const char *async, penstock_at at);
/// Reports a copy of packed elements with a fill value.
PENSTOCK_C_EXPORT void penstock_record_refuse_fill(penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_fill(penstock_ref tile, penstock_ref value, penstock_at at);

enum {
  PENSTOCK_GEMM_ACCUMULATE = 1, ///< adds to the accumulator
  PENSTOCK_GEMM_TF32 = 2,       ///< rounds f32 operands to TF32
  PENSTOCK_GEMM_UNSIGNED_A = 4  ///< the elements of an i8 first operand are 0 to 255
};
/// \p scale_a, \p scale_b: 0: none. The elements tell packed elements from bytes.
PENSTOCK_C_EXPORT void penstock_record_gemm(penstock_ref a, penstock_ref b, penstock_ref acc,
                                            penstock_ref scale_a, penstock_ref scale_b,
                                            int32_t flags, int32_t element_a, int32_t element_b,
                                            const char *async, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_reduce(int32_t kind, penstock_ref source, int32_t dim,
                                              penstock_ref target, int32_t accumulate,
                                              penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_unpack(penstock_ref packed, int32_t element,
                                              penstock_ref values, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_assign(penstock_ref target, penstock_ref expression,
                                              penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_wait(const char *const *names, size_t count, int32_t lag,
                                            penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_wait_for_previous(penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_launch_dependents(penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_print(const char *text, const penstock_ref *operands,
                                             size_t count, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_require(penstock_ref condition, const char *message,
                                               penstock_at at);

//===----------------------------------------------------------------------===//
// The grid and scopes
//===----------------------------------------------------------------------===//

/// Sets \p coordinates, one for each extent. \p swizzle: INT64_MIN: none.
PENSTOCK_C_EXPORT void penstock_record_grid(const penstock_ref *extents, size_t count,
                                            int64_t swizzle, penstock_ref *coordinates,
                                            penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_prefer(const int64_t *cluster, size_t count, int32_t pair,
                                              int32_t launch_control, penstock_at at);

typedef struct penstock_loop {
  penstock_ref begin, end, step;
  int32_t unroll; ///< -1: not stated
  int32_t pipelined;
  int32_t num_stages;     ///< INT32_MIN: the largest that fits
  int32_t solver_seconds; ///< time limit of the exact solver; 0: not used
  const char *form;       ///< stated form on GPUs; null: not stated
  const int32_t *stage, *order, *async_stages, *async_producers, *async_producer_groups;
  size_t stage_count, order_count, async_stage_count, async_producer_count,
      async_producer_group_count;
} penstock_loop;

PENSTOCK_C_EXPORT penstock_scope penstock_record_open_loop(const penstock_loop *loop,
                                                           penstock_ref *index, penstock_at at);
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_condition(penstock_ref condition,
                                                                penstock_at at);
/// Opens the else branch of the condition that was closed directly before.
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_otherwise(penstock_at at);
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_statement(const char *name, const char *role,
                                                                penstock_at at);
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_parallel(const int64_t *extents, size_t count,
                                                               penstock_ref *indices,
                                                               penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_close(penstock_scope scope);
/// Reports a loop whose body was left by force, and closes it.
PENSTOCK_C_EXPORT void penstock_record_abandon(penstock_scope scope);

//===----------------------------------------------------------------------===//
// Explicit control of a GPU
//===----------------------------------------------------------------------===//

/// One barrier of an array.
typedef struct penstock_barrier {
  penstock_ref barriers, index;
} penstock_barrier;

PENSTOCK_C_EXPORT void penstock_record_threads(int64_t count, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_pair(penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_cluster(int64_t blocks, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_cluster_sync(penstock_at at);
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_warps(int64_t first, int64_t count,
                                                            penstock_at at);
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_elect(penstock_at at);
PENSTOCK_C_EXPORT penstock_scope penstock_record_open_while(penstock_at at);
/// Opens the body of a while loop, after its condition.
PENSTOCK_C_EXPORT void penstock_record_open_while_body(penstock_scope scope, penstock_ref condition,
                                                       penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_sync(penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_warp_sync(penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_named_barrier(int64_t threads, const char *name,
                                                             penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_meet(penstock_ref barrier, int32_t wait, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_registers(int64_t count, int32_t request, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_proxy_fence(penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_barriers(const int64_t *arrivals, size_t count,
                                                        const char *name, penstock_at at);
/// \p bytes: expected bytes, 0: none. \p cta: block of the cluster, 0: own. \p sem and \p scope:
/// numbers of `penstock::Semantics` and `penstock::ThreadScope`.
PENSTOCK_C_EXPORT void penstock_record_arrive(penstock_barrier barrier, penstock_ref bytes,
                                              penstock_ref cta, int32_t sem, int32_t scope,
                                              penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_barrier_wait(penstock_barrier barrier, penstock_ref phase,
                                                    int32_t sem, int32_t scope, penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_try_wait(penstock_barrier barrier,
                                                        penstock_ref phase, int32_t scope,
                                                        int64_t nanoseconds, penstock_at at);
/// \p multicast: mask of blocks, 0: own block. \p cache: number of `penstock::Cache`. \p padded:
/// the packed element whose values are padded; -1: none.
PENSTOCK_C_EXPORT void penstock_record_tma_load(const penstock_box *source, penstock_ref tile,
                                                penstock_barrier barrier, penstock_ref multicast,
                                                int32_t cache, int32_t padded, penstock_at at);
/// \p reduction: number of `penstock::Reduction`; -1: none.
PENSTOCK_C_EXPORT void penstock_record_tma_store(penstock_ref tile, const penstock_box *target,
                                                 int32_t reduction, int32_t cache, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_async_copy(const penstock_box *source, penstock_ref tile,
                                                  int64_t bytes, int32_t l1, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_async_arrive(penstock_barrier barrier, penstock_at at);
/// \p group: number of `penstock::detail::nv::Group`.
PENSTOCK_C_EXPORT void penstock_record_group(int32_t group, penstock_at at);
/// \p engine: number of `penstock::detail::nv::Engine`.
PENSTOCK_C_EXPORT void penstock_record_wait_group(int32_t engine, int64_t pending, int32_t read,
                                                  penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_clc_request(penstock_ref answer, penstock_barrier barrier,
                                                   penstock_at at);
/// Sets result[0] to whether a block was granted, and result[1] to the block.
PENSTOCK_C_EXPORT void penstock_record_clc_answer(penstock_ref answer, penstock_ref *result,
                                                  penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_tensor_alloc(int32_t element, const int64_t *shape,
                                                            size_t rank, const char *name,
                                                            penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_tensor_dealloc(penstock_ref tile, penstock_at at);
/// \p blackwell: tcgen05, else wgmma.
PENSTOCK_C_EXPORT void penstock_record_mma(int32_t blackwell, penstock_ref a, penstock_ref b,
                                           penstock_ref acc, penstock_ref accumulate,
                                           penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_scaled_mma(penstock_ref a, penstock_ref b, penstock_ref acc,
                                                  penstock_ref scale_a, penstock_ref scale_b,
                                                  int32_t element_a, int32_t element_b,
                                                  penstock_ref accumulate, penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_commit(penstock_barrier barrier, penstock_ref multicast,
                                              penstock_at at);
PENSTOCK_C_EXPORT penstock_ref penstock_record_tensor_load(penstock_ref tile, const char *name,
                                                           penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_tensor_store(penstock_ref source, penstock_ref target,
                                                    penstock_at at);
PENSTOCK_C_EXPORT void penstock_record_tensor_copy(penstock_ref source, penstock_ref target,
                                                   penstock_at at);

#ifdef __cplusplus
}
#endif

#endif // PENSTOCK_RECORD_C_H
