//===- NullDriver.cpp - Drivers that do nothing, or refuse ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled several times: as a driver whose calls return at once, which shows what a
// launch costs on the host, and as drivers that cannot be used.
//
//   NULL_INIT     what cuInit returns
//   NULL_VERSION  of the driver
//   NULL_OLD      without cuGetProcAddress_v2
//   NULL_MISSING  a function that it does not have
//
//===----------------------------------------------------------------------===//
#include "Cuda/DriverTypes.h"

#include <cstring>

using namespace penstock::cuda;

#define ENTRY extern "C" __attribute__((visibility("default"))) int

namespace {

int init(unsigned) { return NULL_INIT; }
int getVersion(int *version) {
  *version = NULL_VERSION;
  return Success;
}
int getCount(int *count) {
  *count = 1;
  return Success;
}
int getName(char *name, int size, int) {
  strncpy(name, "Null", size_t(size));
  return Success;
}
int getAttribute(int *value, int attribute, int) {
  *value = attribute == ComputeCapabilityMajor ? 9 : 0;
  return Success;
}
int totalMem(size_t *bytes, int) {
  *bytes = size_t(1) << 30;
  return Success;
}
int retain(void **context, int) {
  *context = context;
  return Success;
}
int context = 0;
int getCurrent(void **current) {
  *current = &context;
  return Success;
}
int getDevice(int *device) {
  *device = 0;
  return Success;
}
int streamContext(void *, void **current) { return getCurrent(current); }
int load(void **library, const void *, int *, void **, unsigned, int *, void **, unsigned) {
  *library = &context;
  return Success;
}
int getKernel(void **kernel, void *, const char *) {
  *kernel = &context;
  return Success;
}
/// All memory is the GPU's.
int pointerAttributes(unsigned count, int *attributes, void **values, DevicePointer) {
  for (unsigned i = 0; i < count; ++i)
    switch (attributes[i]) {
    case PointerMemoryType:
      *static_cast<unsigned *>(values[i]) = DeviceMemoryType;
      break;
    case PointerRangeStart:
    case PointerRangeSize:
      memset(values[i], 0, 8);
      break;
    default:
      memset(values[i], 0, 4);
    }
  return Success;
}
int allocate(DevicePointer *pointer, size_t) {
  *pointer = 0x1000;
  return Success;
}
int createStream(void **stream, unsigned) {
  *stream = &context;
  return Success;
}
[[maybe_unused]] int nothing() { return Success; }

struct Entry {
  const char *name;
  void *address;
};
#define FUNCTION(NAME, CODE) {NAME, reinterpret_cast<void *>(&CODE)}
[[maybe_unused]] const Entry entries[] = {FUNCTION("cuInit", init),
                                          FUNCTION("cuDriverGetVersion", getVersion),
                                          FUNCTION("cuDeviceGetCount", getCount),
                                          FUNCTION("cuDeviceGetName", getName),
                                          FUNCTION("cuDeviceGetAttribute", getAttribute),
                                          FUNCTION("cuDeviceTotalMem", totalMem),
                                          FUNCTION("cuDevicePrimaryCtxRetain", retain),
                                          FUNCTION("cuCtxGetCurrent", getCurrent),
                                          FUNCTION("cuCtxGetDevice", getDevice),
                                          FUNCTION("cuStreamGetCtx", streamContext),
                                          FUNCTION("cuLibraryLoadData", load),
                                          FUNCTION("cuLibraryGetKernel", getKernel),
                                          FUNCTION("cuPointerGetAttributes", pointerAttributes),
                                          FUNCTION("cuMemAlloc", allocate),
                                          FUNCTION("cuStreamCreate", createStream)};

} // namespace

ENTRY cuDriverGetVersion(int *version) { return getVersion(version); }

#ifndef NULL_OLD
ENTRY cuGetProcAddress_v2(const char *name, void **address, int, unsigned long long, int *status) {
  *address = reinterpret_cast<void *>(&nothing);
#ifdef NULL_MISSING
  if (strcmp(name, NULL_MISSING) == 0) {
    *address = nullptr;
    *status = 1;
    return NotFound;
  }
#endif
  for (const Entry &entry : entries)
    if (strcmp(entry.name, name) == 0)
      *address = entry.address;
  *status = 0;
  return Success;
}
#endif
