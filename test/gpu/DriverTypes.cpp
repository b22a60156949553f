//===- DriverTypes.cpp - Our declarations of the driver, and cuda.h -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/DriverTypes.h"

#include <cuda.h>

using namespace penstock::cuda;

#define SAME(OURS, THEIRS) static_assert(int(OURS) == int(THEIRS), #OURS)

SAME(InvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(Deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(StubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(NoDevice, CUDA_ERROR_NO_DEVICE);
SAME(InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(InvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(InvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(NotFound, CUDA_ERROR_NOT_FOUND);
SAME(NotReady, CUDA_ERROR_NOT_READY);
SAME(IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(AssertFailed, CUDA_ERROR_ASSERT);
SAME(HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(InvalidPc, CUDA_ERROR_INVALID_PC);
SAME(LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(NotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(NotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(CompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(CaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(CaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(CaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(CaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(CaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(CaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(CaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(CapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(CaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);

SAME(ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(MemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(PageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
SAME(MaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(ClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);

SAME(FunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(FunctionNonPortableCluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

SAME(PointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(PointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(PointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(PointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(PointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(PointerAccessFlags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS);
SAME(HostMemory, CU_MEMORYTYPE_HOST);
SAME(DeviceMemoryType, CU_MEMORYTYPE_DEVICE);

SAME(AttributeCluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(AttributeProgrammaticSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(CaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(CaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(CaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(CaptureBroken, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(StreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(EventDisableTiming, CU_EVENT_DISABLE_TIMING);

static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, cluster) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, numAttributes) == offsetof(CUlaunchConfig, numAttrs));
static_assert(tensorMapBytes == sizeof(CUtensorMap));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));

int main() {
  return legacyStream == CU_STREAM_LEGACY && perThreadStream == CU_STREAM_PER_THREAD ? 0 : 1;
}
