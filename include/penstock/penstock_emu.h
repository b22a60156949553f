//===- penstock_emu.h - The PTX emulator for C and other languages -*- C -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C interface of libpenstock_emu.so, which runs and checks PTX without a GPU. It needs no other
// part of Penstock. Functions never print, throw or abort. Structures begin with their size, so
// that programs compiled with an older header keep working.
//
// A device and its modules are used by one thread at a time; different devices are independent.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMU_H
#define PENSTOCK_EMU_H

#include <stddef.h>
#include <stdint.h>

#define PENSTOCK_EMU_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// Incremented by changes that break programs compiled with an older header.
#define PENSTOCK_EMU_ABI 1

PENSTOCK_EMU_API uint32_t penstock_emu_abi(void);
/// Version of the library, e.g. "0.1.0".
PENSTOCK_EMU_API const char *penstock_emu_version(void);

typedef struct penstock_emu_device penstock_emu_device;
typedef struct penstock_emu_module penstock_emu_module;
typedef struct penstock_emu_report penstock_emu_report;

/// Severity of a finding on hardware.
typedef enum {
  PENSTOCK_EMU_NOTE = 0,      ///< correct on hardware
  PENSTOCK_EMU_UNDEFINED = 1, ///< undefined by the ISA; current hardware may still work
  PENSTOCK_EMU_WRONG = 2      ///< wrong results, faults or hangs on hardware
} penstock_emu_tier;

typedef enum {
  PENSTOCK_EMU_TEXT = 0,
  PENSTOCK_EMU_JSON = 1,
  PENSTOCK_EMU_SARIF = 2,
  PENSTOCK_EMU_HTML = 3
} penstock_emu_format;

//===----------------------------------------------------------------------===//
// Devices and their memory
//===----------------------------------------------------------------------===//

/// Creates a device, or returns null if there is no memory.
PENSTOCK_EMU_API penstock_emu_device *penstock_emu_device_create(void);
/// Releases a device with all its memory and modules. Null is allowed.
PENSTOCK_EMU_API void penstock_emu_device_destroy(penstock_emu_device *device);
/// Allocates device memory and returns its address, or 0. Findings call it \p name, if not null.
PENSTOCK_EMU_API uint64_t penstock_emu_alloc(penstock_emu_device *device, uint64_t bytes,
                                             const char *name);
/// Functions that return int return 0 on success.
PENSTOCK_EMU_API int penstock_emu_free(penstock_emu_device *device, uint64_t address);
PENSTOCK_EMU_API int penstock_emu_write(penstock_emu_device *device, uint64_t to, const void *from,
                                        uint64_t bytes);
PENSTOCK_EMU_API int penstock_emu_read(penstock_emu_device *device, void *to, uint64_t from,
                                       uint64_t bytes);

/// A tiled tensor map, with the values of cuTensorMapEncodeTiled.
typedef struct {
  size_t size; ///< of this structure
  uint32_t data_type, rank;
  uint64_t address;
  uint64_t dims[5];
  uint64_t strides[4]; ///< bytes, of dimensions 1 and on
  uint32_t box[5];
  uint32_t element_strides[5];
  uint32_t interleave, swizzle, l2_promotion, fill;
} penstock_emu_tensor_map;

/// Encodes a map into the 128 bytes at \p to. Returns null, or the rule that it breaks.
PENSTOCK_EMU_API const char *penstock_emu_encode(const penstock_emu_tensor_map *map, void *to);

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

/// Loads PTX. On failure returns null. \p report, if not null, receives errors and warnings; the
/// caller destroys it.
PENSTOCK_EMU_API penstock_emu_module *penstock_emu_load(penstock_emu_device *device,
                                                        const char *ptx, size_t length,
                                                        const char *name,
                                                        penstock_emu_report **report);
/// The target of a module, e.g. "sm_90a".
PENSTOCK_EMU_API const char *penstock_emu_target(const penstock_emu_module *module);
/// Kernels of a module, in the order of the text.
PENSTOCK_EMU_API size_t penstock_emu_kernel_count(const penstock_emu_module *module);
PENSTOCK_EMU_API const char *penstock_emu_kernel_name(const penstock_emu_module *module,
                                                      size_t index);

typedef struct {
  size_t size; ///< of this structure
  uint32_t parameters;
  uint32_t parameter_bytes;
  uint32_t threads[3]; ///< that .reqntid requires; 0: any
  uint32_t cluster[3]; ///< that .reqnctapercluster requires; 0: any
} penstock_emu_kernel;

/// Describes a kernel; fails if the module does not have it.
PENSTOCK_EMU_API int penstock_emu_kernel_info(const penstock_emu_module *module, const char *kernel,
                                              penstock_emu_kernel *info);
/// Offset and size of a parameter.
PENSTOCK_EMU_API int penstock_emu_parameter(const penstock_emu_module *module, const char *kernel,
                                            uint32_t index, uint32_t *offset, uint32_t *bytes);

typedef struct {
  size_t size; ///< of this structure
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; ///< 0: that of the kernel, or 1
  uint32_t dynamic_shared;
  const void *parameters; ///< at their offsets
  size_t parameter_bytes;
  /// "eager", "lazy", "random:SEED", "delay:N", "starve:WARP"; null: eager.
  const char *timing;
  uint32_t unchecked;        ///< not 0: runs without the race checker
  uint32_t threads;          ///< of the host; 0: one per processor
  uint64_t max_instructions; ///< of warps; 0: the default, 2^33
} penstock_emu_launch;

/// Runs a kernel and returns its report, or null if there is no memory.
PENSTOCK_EMU_API penstock_emu_report *penstock_emu_run(penstock_emu_device *device,
                                                       penstock_emu_module *module,
                                                       const char *kernel,
                                                       const penstock_emu_launch *launch);

/// A kernel of a sequence.
typedef struct {
  penstock_emu_module *module;
  const char *kernel;
  const penstock_emu_launch *launch;
} penstock_emu_step;

/// Runs consecutive kernels of a stream, at least one. Each after the first was launched with
/// programmatic stream serialization, and may overlap the one before it. Returns their findings
/// in one report, or null if there is no memory. The timing is that of the first launch.
PENSTOCK_EMU_API penstock_emu_report *penstock_emu_run_overlapping(penstock_emu_device *device,
                                                                   const penstock_emu_step *steps,
                                                                   size_t count);

typedef struct {
  size_t size; ///< of this structure
  uint32_t mutants, detected, survivors, unexecuted;
  uint32_t lines, executed_lines; ///< of the PTX, with an instruction
} penstock_emu_mutants;

/// Removes the synchronizing instructions of a kernel one by one and runs each mutant with several
/// timings on the same memory, which is restored afterwards. The report lists undetected mutants
/// and instructions that are never executed. The timing, the host's threads and the instruction
/// limit in \p launch are not used.
PENSTOCK_EMU_API penstock_emu_report *
penstock_emu_mutate(penstock_emu_device *device, penstock_emu_module *module, const char *kernel,
                    const penstock_emu_launch *launch, uint32_t timings,
                    penstock_emu_mutants *mutants);

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

PENSTOCK_EMU_API void penstock_emu_report_destroy(penstock_emu_report *report);
/// Returns whether all blocks completed.
PENSTOCK_EMU_API int penstock_emu_report_completed(const penstock_emu_report *report);
/// Findings of a tier.
PENSTOCK_EMU_API size_t penstock_emu_report_count(const penstock_emu_report *report,
                                                  penstock_emu_tier tier);
/// All findings; valid until the report is rendered again or destroyed.
PENSTOCK_EMU_API const char *penstock_emu_report_render(penstock_emu_report *report,
                                                        penstock_emu_format format);
/// Adds those findings of \p from that \p report lacks.
PENSTOCK_EMU_API void penstock_emu_report_merge(penstock_emu_report *report,
                                                const penstock_emu_report *from);
/// Output of printf in the kernel.
PENSTOCK_EMU_API const char *penstock_emu_report_output(const penstock_emu_report *report);

typedef struct {
  size_t size; ///< of this structure
  uint64_t instructions, operations, blocks;
  double seconds;
} penstock_emu_stats;

PENSTOCK_EMU_API void penstock_emu_report_stats(const penstock_emu_report *report,
                                                penstock_emu_stats *stats);

#ifdef __cplusplus
}
#endif

#endif // PENSTOCK_EMU_H
