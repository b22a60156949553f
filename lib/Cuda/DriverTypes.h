//===- DriverTypes.h - The binary interface of the CUDA driver --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types and numbers of libcuda that Penstock uses, so that no CUDA header is needed
// to build it. test/gpu/DriverTypes.cpp compares them with cuda.h.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_DRIVERTYPES_H
#define PENSTOCK_CUDA_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

namespace penstock::cuda {

/// Results of driver calls (CUresult). Others are passed on as numbers.
enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  StubLibrary = 34,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  AssertFailed = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
  NotPermitted = 800,
  NotSupported = 801,
  SystemDriverMismatch = 803,
  CompatNotSupported = 804,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureMerge = 902,
  CaptureUnmatched = 903,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  CaptureImplicit = 906,
  CapturedEvent = 907,
  CaptureWrongThread = 908,
  Unknown = 999
};

/// A context that has reported one of these answers every later call with it.
constexpr bool isSticky(int result) {
  return result == IllegalAddress || result == LaunchTimeout || result == AssertFailed ||
         (result >= HardwareStackError && result <= LaunchFailed);
}

using DevicePointer = unsigned long long;

/// Attributes of devices (CUdevice_attribute).
enum DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxSharedPerBlock = 8,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  MemoryClockRate = 36,
  MemoryBusWidth = 37,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  PageableMemoryAccess = 88,
  CooperativeLaunch = 95,
  MaxSharedPerBlockOptin = 97,
  MaxBlocksPerMultiprocessor = 106,
  ClusterLaunch = 120
};

/// Attributes of functions (CUfunction_attribute).
enum FunctionAttribute : int {
  FunctionMaxThreads = 0,
  FunctionSharedBytes = 1,
  FunctionRegisters = 4,
  FunctionPtxVersion = 5,
  FunctionBinaryVersion = 6,
  FunctionMaxDynamicShared = 8,
  FunctionNonPortableCluster = 14
};

/// Attributes of pointers (CUpointer_attribute).
enum PointerAttribute : int {
  PointerContext = 1,
  PointerMemoryType = 2,
  PointerDevicePointer = 3,
  PointerHostPointer = 4,
  PointerIsManaged = 8,
  PointerDeviceOrdinal = 9,
  PointerRangeStart = 11,
  PointerRangeSize = 12,
  PointerAccessFlags = 16
};
enum MemoryType : unsigned { HostMemory = 1, DeviceMemoryType = 2 };

/// Attributes of launches (CUlaunchAttributeID).
enum LaunchAttributeId : int { AttributeCluster = 4, AttributeProgrammaticSerialization = 6 };

/// CUlaunchAttribute.
struct LaunchAttribute {
  int id = 0;
  char pad[4] = {};
  union {
    char bytes[64];
    unsigned cluster[3];
    int programmaticSerialization;
  };
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned numAttributes;
};

/// CUstreamCaptureMode and CUstreamCaptureStatus.
enum CaptureMode : int { CaptureGlobal = 0, CaptureThreadLocal = 1, CaptureRelaxed = 2 };
enum CaptureStatus : int { CaptureNone = 0, CaptureActive = 1, CaptureBroken = 2 };

/// Handles that name streams without being pointers.
inline void *const legacyStream = reinterpret_cast<void *>(1);
inline void *const perThreadStream = reinterpret_cast<void *>(2);

enum StreamFlags : unsigned { StreamNonBlocking = 1 };
enum EventFlags : unsigned { EventDisableTiming = 2 };

inline constexpr unsigned tensorMapBytes = 128;

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_DRIVERTYPES_H
