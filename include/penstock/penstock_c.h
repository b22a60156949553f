//===- penstock_c.h - Penstock for C and other languages ----------*- C -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C interface of libpenstock.so: opens libraries of kernels or tile programs in text
// form, compiles, launches, and returns diagnostics as data. Needs the C standard library
// only.
//
// Functions with a penstock_status report failures as diagnostics through their last
// parameter, which may be null. Diagnostics may also be warnings of a successful call. The
// caller frees results: objects with the function ..._free of their type, texts with
// penstock_free. Functions are thread-safe and do not throw C++ exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PENSTOCK_C_H
#define PENSTOCK_PENSTOCK_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PENSTOCK_C_EXPORT __attribute__((visibility("default")))

/// Version of this interface. It grows when functions are added, or fields at the end of
/// structs that begin with their size; nothing is removed.
#define PENSTOCK_C_VERSION 3

/// PENSTOCK_C_VERSION of the library.
PENSTOCK_C_EXPORT uint32_t penstock_c_version(void);
/// Version of the library, e.g. "0.1.0".
PENSTOCK_C_EXPORT const char *penstock_version(void);

typedef enum penstock_status { PENSTOCK_OK = 0, PENSTOCK_FAILED = 1 } penstock_status;

/// Frees a text of this interface; null is allowed.
PENSTOCK_C_EXPORT void penstock_free(void *text);

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

typedef struct penstock_diagnostics penstock_diagnostics;

typedef enum penstock_severity {
  PENSTOCK_NOTE = 0,
  PENSTOCK_WARNING = 1,
  PENSTOCK_ERROR = 2
} penstock_severity;

/// Texts belong to the penstock_diagnostics.
typedef struct penstock_diagnostic {
  penstock_severity severity;
  uint32_t code; ///< e.g. 1203 for PS1203
  const char *message;
  const char *file; ///< empty: unknown
  uint32_t line;    ///< 0: unknown
  uint32_t column;  ///< 0: unknown
  size_t notes;     ///< number of secondary locations
  size_t helps;     ///< number of suggested fixes
} penstock_diagnostic;

/// Null has no diagnostics.
PENSTOCK_C_EXPORT size_t penstock_diagnostics_count(const penstock_diagnostics *diagnostics);
/// Returns a zeroed struct if there is no such diagnostic.
PENSTOCK_C_EXPORT penstock_diagnostic
penstock_diagnostics_get(const penstock_diagnostics *diagnostics, size_t index);
/// Secondary location as a diagnostic of severity note, with the code of its diagnostic.
PENSTOCK_C_EXPORT penstock_diagnostic
penstock_diagnostics_note(const penstock_diagnostics *diagnostics, size_t index, size_t note);
/// Suggested fix; null if there is no such fix.
PENSTOCK_C_EXPORT const char *penstock_diagnostics_help(const penstock_diagnostics *diagnostics,
                                                        size_t index, size_t help);
/// All diagnostics as text with source lines, and as one JSON object. They belong to the
/// diagnostics.
PENSTOCK_C_EXPORT const char *penstock_diagnostics_text(penstock_diagnostics *diagnostics);
PENSTOCK_C_EXPORT const char *penstock_diagnostics_json(penstock_diagnostics *diagnostics);
PENSTOCK_C_EXPORT void penstock_diagnostics_free(penstock_diagnostics *diagnostics);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Kernels of a shared library that PENSTOCK_KERNEL registers, or of a text.
typedef struct penstock_library penstock_library;

/// Loads a shared library.
PENSTOCK_C_EXPORT penstock_status penstock_open(const char *path, penstock_library **library,
                                                penstock_diagnostics **diagnostics);
/// Reads a tile program in text form. Diagnostics name it \p file.
PENSTOCK_C_EXPORT penstock_status penstock_parse(const char *text, const char *file,
                                                 penstock_library **library,
                                                 penstock_diagnostics **diagnostics);
/// JSON array of the kernels: name, signature, file, line, fields with their default values.
/// It belongs to the library.
PENSTOCK_C_EXPORT const char *penstock_library_json(const penstock_library *library);
/// A shared library stays loaded, because compiled kernels may use it.
PENSTOCK_C_EXPORT void penstock_library_free(penstock_library *library);

/// Name and value: of a field ("stages", "3"), a size ("N", "4096") or a scalar argument.
typedef struct penstock_setting {
  const char *name;
  const char *value;
} penstock_setting;

enum {
  PENSTOCK_CONTRACT = 1,         ///< `x * y + z` may be computed with one rounding
  PENSTOCK_LATE_COMPLETION = 2,  ///< supports late completion of asynchronous operations
  PENSTOCK_NO_BARRIER_CHECK = 4, ///< does not check barriers of GPU kernels
  PENSTOCK_NO_CACHE = 8          ///< neither looks the kernel up nor stores it
};

/// Zero all that is not needed.
typedef struct penstock_compile_options {
  size_t size; ///< sizeof(penstock_compile_options)
  /// "native", "interpreter", a GPU as "sm_90a", the GPU of this thread as "gpu";
  /// "sm_90a:emulated" runs on the emulator. Null: "native".
  const char *target;
  const penstock_setting *fields; ///< values for fields of a registered kernel
  size_t field_count;
  const penstock_setting *fixed; ///< sizes of the signature to treat as constants
  size_t fixed_count;
  uint32_t flags; ///< PENSTOCK_CONTRACT | ..
} penstock_compile_options;

typedef struct penstock_kernel penstock_kernel;

PENSTOCK_C_EXPORT penstock_status penstock_compile(const penstock_library *library,
                                                   const char *kernel,
                                                   const penstock_compile_options *options,
                                                   penstock_kernel **result,
                                                   penstock_diagnostics **diagnostics);
/// Makes a GPU kernel from the bytes of PENSTOCK_ARTIFACT, without compiling.
PENSTOCK_C_EXPORT penstock_status penstock_load_artifact(const void *bytes, size_t size,
                                                         penstock_kernel **result,
                                                         penstock_diagnostics **diagnostics);
PENSTOCK_C_EXPORT void penstock_kernel_free(penstock_kernel *kernel);

/// Parameter of a kernel. Texts belong to the kernel.
typedef struct penstock_parameter {
  const char *name;
  const char *element;      ///< "f16", "bf16", "f32", "index", ..
  int32_t tensor;           ///< 0: a scalar
  int32_t rank;             ///< of a tensor
  int32_t written;          ///< 1: the kernel writes the tensor
  const char *const *sizes; ///< `rank` names or numbers; null without a signature
} penstock_parameter;

PENSTOCK_C_EXPORT size_t penstock_parameter_count(const penstock_kernel *kernel);
/// Returns a zeroed struct if there is no such parameter.
PENSTOCK_C_EXPORT penstock_parameter penstock_kernel_parameter(const penstock_kernel *kernel,
                                                               size_t index);

typedef enum penstock_form {
  PENSTOCK_TILE_PROGRAM = 0,
  PENSTOCK_LLVM_IR = 1,
  PENSTOCK_ASSEMBLY = 2,
  PENSTOCK_PTX = 3,
  PENSTOCK_ARTIFACT = 4 ///< serialized GPU kernel, binary
} penstock_form;

/// Returns a form of the kernel, which the caller frees, and its size without the terminating
/// zero; \p size may be null. Empty if the target does not have the form.
PENSTOCK_C_EXPORT char *penstock_kernel_form(const penstock_kernel *kernel, penstock_form form,
                                             size_t *size);

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Has the layout of DLPack's DLTensor: a pointer to one can be passed.
typedef struct penstock_tensor {
  void *data;
  int32_t device_type; ///< kDLCPU = 1, kDLCUDA = 2
  int32_t device_id;
  int32_t ndim;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  const int64_t *shape;
  const int64_t *strides; ///< in elements; null: contiguous
  uint64_t byte_offset;
} penstock_tensor;

typedef enum penstock_argument_kind {
  PENSTOCK_TENSOR = 0,
  PENSTOCK_INT = 1,
  PENSTOCK_FLOAT = 2
} penstock_argument_kind;

/// Integers and floating-point values are converted to the parameter's type. A value that
/// does not fit an integer type is an error.
typedef struct penstock_argument {
  penstock_argument_kind kind;
  union {
    const penstock_tensor *tensor;
    int64_t integer;
    double real;
  } value;
} penstock_argument;

/// Zero all that is not needed.
typedef struct penstock_launch_options {
  size_t size;        ///< sizeof(penstock_launch_options)
  int32_t threads;    ///< of a CPU; 0: all
  int32_t has_stream; ///< 1: enqueues on `stream` instead of waiting for completion
  void *stream;       ///< CUstream; null: CUDA's default stream
  /// Receives output of `print`, on the thread that launches; null: standard output.
  void (*print)(const char *text, size_t size, void *context);
  void *print_context;
  /// GPUs, since version 2: the kernel may start before the previous kernel in the stream
  /// completes. It must call `wait_for_previous` before it accesses data that kernel writes.
  int32_t overlap_previous;
  /// CPUs, since version 3: runs blocks on threads of the caller. Calls task(i, argument) for each
  /// i below \p tasks, on any threads and in any order, and returns when all calls have returned.
  /// Tasks do not wait for each other. Null: threads of the library.
  void (*executor)(int32_t tasks, void (*task)(int32_t i, void *argument), void *argument,
                   void *context);
  void *executor_context;
} penstock_launch_options;

/// Runs the kernel; \p options may be null.
PENSTOCK_C_EXPORT penstock_status penstock_launch(const penstock_kernel *kernel,
                                                  const penstock_argument *arguments, size_t count,
                                                  const penstock_launch_options *options,
                                                  penstock_diagnostics **diagnostics);
/// Waits for a stream. Fails for faults and errors of kernels on it since the last call.
PENSTOCK_C_EXPORT penstock_status penstock_synchronize(void *stream,
                                                       penstock_diagnostics **diagnostics);

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

/// Number of GPUs; 0 without a driver.
PENSTOCK_C_EXPORT int32_t penstock_gpu_count(void);
/// Device memory, for programs without a GPU allocator.
PENSTOCK_C_EXPORT penstock_status penstock_gpu_allocate(int32_t gpu, size_t bytes, void **memory,
                                                        penstock_diagnostics **diagnostics);
PENSTOCK_C_EXPORT void penstock_gpu_release(int32_t gpu, void *memory);
PENSTOCK_C_EXPORT penstock_status penstock_gpu_upload(int32_t gpu, void *to, const void *from,
                                                      size_t bytes,
                                                      penstock_diagnostics **diagnostics);
PENSTOCK_C_EXPORT penstock_status penstock_gpu_download(int32_t gpu, void *to, const void *from,
                                                        size_t bytes,
                                                        penstock_diagnostics **diagnostics);

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

typedef enum penstock_report {
  /// Text: the pipelined loops of a kernel for the GPU `target`.
  PENSTOCK_EXPLAIN = 0,
  /// SVG: predicted timeline of the first pipelined loop on the GPU `target`.
  PENSTOCK_TIMELINE = 1,
  /// SVG: timeline of one block of a run on the emulator; needs all sizes.
  PENSTOCK_RUN_TIMELINE = 2,
  /// JSON: runs on the emulator over shapes and timings. Without sizes, the shapes are those
  /// of PENSTOCK_SHAPES or a default grid.
  PENSTOCK_CHECK = 3,
  /// JSON: the kernel's space, tuned for the sizes. Winners are stored in the cache.
  PENSTOCK_TUNE = 4,
  /// JSON: counts of the process's cache and its directory; no kernel.
  PENSTOCK_CACHE = 5
} penstock_report;

/// Zero all that is not needed.
typedef struct penstock_report_options {
  size_t size; ///< sizeof(penstock_report_options)
  penstock_compile_options compile;
  const penstock_setting *sizes; ///< sizes of the signature and scalar arguments
  size_t size_count;
  int32_t timings; ///< PENSTOCK_CHECK; 0: 20
} penstock_report_options;

/// Returns a report as text that the caller frees. PENSTOCK_CHECK fails if a finding exists, but
/// still returns the report. All reports except the first two need a registered kernel.
PENSTOCK_C_EXPORT penstock_status penstock_make_report(const penstock_library *library,
                                                       const char *kernel, penstock_report report,
                                                       const penstock_report_options *options,
                                                       char **text,
                                                       penstock_diagnostics **diagnostics);

/// Draws a layout in CuTe's notation as SVG, which the caller frees; since version 2.
/// `Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)` is drawn by bank of shared memory, `(4,8):(8,1)`
/// by offset. With \p rows, a layout (thread, register) -> row + rows * column is drawn by
/// thread.
PENSTOCK_C_EXPORT penstock_status penstock_draw_layout(const char *layout, int64_t rows, char **svg,
                                                       penstock_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif

#endif // PENSTOCK_PENSTOCK_C_H
