//===- Pipelines.h - The passes of each target, in order --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_PIPELINES_H
#define PENSTOCK_COMPILER_PIPELINES_H

#include "Hardware/Architecture.h"
#include "Target/X86/NativeCpu.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace penstock {

struct NativePipelineOptions {
  bool lateCompletion = false;
  NativeCpu cpu;         ///< vector width and instructions for products
  bool contract = false; ///< products may be fused with sums
  bool report = false;   ///< describes lowered products in an attribute
};

struct DevicePipelineOptions {
  bool warpSpecialize = false; ///< the input is a tile program without roles
  bool plain = false;          ///< without TMA
  bool checkBarriers = true;
  bool contract = false; ///< products may be fused with sums
  /// Checks the kernel at the end of each phase (nv-verify-phase).
#ifdef NDEBUG
  bool verifyPhases = false;
#else
  bool verifyPhases = true;
#endif
  /// For tests: leaves out this point of every plan (nv-write-plans).
  int64_t omittedPoint = -1;
};

/// Attaches the target to a tile program, replaces products that it does not have, and resolves
/// schedules.
void buildSchedulePipeline(mlir::OpPassManager &passes, const hw::Architecture &architecture,
                           bool plain = false);
/// From a tile program to loops over elements, still in upstream's dialects.
void buildNativeLoopPipeline(mlir::OpPassManager &passes, const NativePipelineOptions &options);
/// From there to the LLVM dialect.
void buildNativeLLVMPipeline(mlir::OpPassManager &passes, const NativeCpu &cpu);
/// From a tile program to one whose copies and MMAs have engines: phase `bound`.
void buildTilePipeline(mlir::OpPassManager &passes, const hw::Architecture &architecture,
                       const DevicePipelineOptions &options = {});
/// From a tile program to what the threads and engines of a block do: phase `ordered`.
void buildBlockPipeline(mlir::OpPassManager &passes, const hw::Architecture &architecture,
                        const DevicePipelineOptions &options = {});
/// Assigns layouts, places tiles in shared memory and inserts barriers: phase `placed`.
void buildMemoryPipeline(mlir::OpPassManager &passes);
/// From a tile program or an explicit kernel to the LLVM dialect for a GPU; what its launch needs
/// is an attribute of the module (Target/NVPTX/LLVM/LaunchAttribute.h).
void buildDevicePipeline(mlir::OpPassManager &passes, const hw::Architecture &architecture,
                         const DevicePipelineOptions &options);

/// Registers all passes, and `--penstock-native-loops`, `--penstock-native`, `--penstock-gpu`.
void registerPasses();

/// The dialects of tile programs and of everything they are lowered to, with
/// the models that passes and the interpreter need.
void registerDialects(mlir::DialectRegistry &registry);
/// Loads those of tile programs only.
void loadRecordedDialects(mlir::MLIRContext &context);

} // namespace penstock

#endif // PENSTOCK_COMPILER_PIPELINES_H
