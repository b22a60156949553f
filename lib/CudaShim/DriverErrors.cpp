//===- DriverErrors.cpp - libcuda: names of errors, functions by name -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"

using namespace penstock;
using namespace penstock::shim;

namespace {

struct ErrorText {
  int result;
  const char *name, *text;
};

const ErrorText errorTexts[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the device cannot execute any image of the kernel"},
    {InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {IllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "an illegal instruction was encountered"},
    {MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

const ErrorText *errorText(int result) {
  for (const ErrorText &each : errorTexts)
    if (each.result == result)
      return &each;
  return nullptr;
}

} // namespace

PENSTOCK_DRIVER_ENTRY cuGetErrorName(int result, const char **text) {
  const ErrorText *found = errorText(result);
  *text = found ? found->name : nullptr;
  return found ? Success : InvalidValue;
}
PENSTOCK_DRIVER_ENTRY cuGetErrorString(int result, const char **text) {
  const ErrorText *found = errorText(result);
  *text = found ? found->text : nullptr;
  return found ? Success : InvalidValue;
}

/// \p status is 0 on success, 1 if there is no such function, 2 if it is newer than
/// \p version.
PENSTOCK_DRIVER_ENTRY cuGetProcAddress_v2(const char *name, void **address, int version,
                                          unsigned long long, int *status) {
  Call call("cuGetProcAddress", Call::Nothing);
  if (!call)
    return call.result;
  *address = nullptr;
  const EntryPoint *entry = findEntryPoint(name);
  bool known = entry && entry->since <= driver().version;
  bool tooNew = known && entry->since > version;
  if (status)
    *status = !known ? 1 : tooNew ? 2 : 0;
  if (!known || tooNew)
    return NotFound;
  *address = entry->address;
  return Success;
}
