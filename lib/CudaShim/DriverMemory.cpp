//===- DriverMemory.cpp - libcuda: memory and copies ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies from pageable host memory have read it when the call returns, copies to it are
// complete then, as CUDA documents. Only pinned memory is accessed late.
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"

#include <cstdlib>
#include <cstring>

using namespace penstock;
using namespace penstock::shim;

namespace {

uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Returns whether a copy of these bytes stays inside of one allocation; host memory is trusted.
bool inBounds(uint64_t address, size_t bytes) {
  penstock::shim::Device *device = driver().deviceOf(address);
  return !device || bytes == 0 || device->gpu.memory.host(address, bytes);
}

int copyOn(const std::shared_ptr<Queue> &queue, uint64_t to, uint64_t from, size_t bytes,
           bool synchronous) {
  Driver &d = driver();
  if (!queue)
    return InvalidHandle;
  if (!inBounds(to, bytes) || !inBounds(from, bytes))
    return InvalidValue;
  bool captured = queue->capture;
  bool fromPageable = !d.deviceOf(from) && !d.isPinned(from);
  bool toPageable = !d.deviceOf(to) && !d.isPinned(to);
  int result;
  if (fromPageable && !captured && bytes) {
    auto *first = reinterpret_cast<const uint8_t *>(from);
    auto staged = std::make_shared<std::vector<uint8_t>>(first, first + bytes);
    result = d.enqueue(
        queue, [&d, to, staged] { return d.copy(to, addressOf(staged->data()), staged->size()); });
  } else {
    result = d.enqueue(queue, [&d, to, from, bytes] { return d.copy(to, from, bytes); });
  }
  if (result == Success && !captured && (synchronous || toPageable))
    return d.waitFor(queue, queue->issued);
  return result;
}

int fillOn(void *stream, uint64_t to, uint64_t value, size_t width, size_t count,
           bool synchronous) {
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  if (!queue)
    return InvalidHandle;
  if (!d.deviceOf(to) || !inBounds(to, width * count) || to % width)
    return InvalidValue;
  std::vector<uint8_t> content(width * count);
  for (size_t i = 0; i < count; ++i)
    memcpy(content.data() + i * width, &value, width);
  int result = d.enqueue(
      queue, [&d, to, content] { return d.copy(to, addressOf(content.data()), content.size()); });
  return result == Success && synchronous ? d.waitFor(queue, queue->issued) : result;
}

} // namespace

PENSTOCK_DRIVER_ENTRY cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  Call call("cuMemAlloc", Call::NoCapture);
  if (!call)
    return call.result;
  if (!pointer || bytes == 0)
    return InvalidValue;
  *pointer = currentContext()->device->gpu.memory.allocate(bytes);
  return *pointer ? Success : OutOfMemory;
}

PENSTOCK_DRIVER_ENTRY cuMemFree_v2(DevicePointer pointer) {
  Call call("cuMemFree", Call::NoCapture);
  if (!call)
    return call.result;
  if (!pointer)
    return Success;
  penstock::shim::Device *device = driver().deviceOf(pointer);
  if (!device)
    return InvalidValue;
  for (Context *context : driver().contexts)
    if (context->device == device)
      driver().waitForContext(*context);
  return device->gpu.memory.release(pointer) ? Success : InvalidValue;
}

PENSTOCK_DRIVER_ENTRY cuMemAllocAsync(DevicePointer *pointer, size_t bytes, void *stream) {
  Call call("cuMemAllocAsync", Call::CurrentContext);
  if (!call)
    return call.result;
  auto queue = driver().queueOf(stream);
  if (!queue || !pointer || bytes == 0)
    return queue ? InvalidValue : InvalidHandle;
  if (queue->capture)
    return driver().refuseInCapture(*queue->capture, CaptureUnsupported);
  *pointer = queue->context->device->gpu.memory.allocate(bytes);
  return *pointer ? Success : OutOfMemory;
}

PENSTOCK_DRIVER_ENTRY cuMemFreeAsync(DevicePointer pointer, void *stream) {
  Call call("cuMemFreeAsync", Call::CurrentContext);
  if (!call)
    return call.result;
  auto queue = driver().queueOf(stream);
  penstock::shim::Device *device = driver().deviceOf(pointer);
  if (!queue || !device)
    return queue ? InvalidValue : InvalidHandle;
  if (queue->capture)
    return driver().refuseInCapture(*queue->capture, CaptureUnsupported);
  return driver().enqueue(queue, [device, pointer] {
    return int(device->gpu.memory.release(pointer) ? Success : InvalidValue);
  });
}

PENSTOCK_DRIVER_ENTRY cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call("cuMemGetInfo", Call::CurrentContext);
  if (!call)
    return call.result;
  emu::DeviceMemory &memory = currentContext()->device->gpu.memory;
  *total = memory.limit;
  *free = *total - memory.used();
  return Success;
}

//===----------------------------------------------------------------------===//
// Pinned memory
//===----------------------------------------------------------------------===//

PENSTOCK_DRIVER_ENTRY cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  Call call("cuMemHostAlloc", Call::NoCapture);
  if (!call)
    return call.result;
  *pointer = malloc(bytes ? bytes : 1);
  if (!*pointer)
    return OutOfMemory;
  driver().pinned[addressOf(*pointer)] = bytes;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuMemAllocHost_v2(void **pointer, size_t bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}

PENSTOCK_DRIVER_ENTRY cuMemFreeHost(void *pointer) {
  Call call("cuMemFreeHost", Call::CurrentContext);
  if (!call)
    return call.result;
  for (Context *context : driver().contexts)
    driver().waitForContext(*context);
  if (!driver().pinned.erase(addressOf(pointer)))
    return InvalidValue;
  free(pointer);
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned) {
  Call call("cuMemHostRegister", Call::NoCapture);
  if (call)
    driver().pinned[addressOf(pointer)] = bytes;
  return call.result;
}

PENSTOCK_DRIVER_ENTRY cuMemHostUnregister(void *pointer) {
  Call call("cuMemHostUnregister", Call::CurrentContext);
  if (!call)
    return call.result;
  for (Context *context : driver().contexts)
    driver().waitForContext(*context);
  return driver().pinned.erase(addressOf(pointer)) ? Success : InvalidValue;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

PENSTOCK_DRIVER_ENTRY cuMemcpy(DevicePointer to, DevicePointer from, size_t bytes) {
  Call call("cuMemcpy", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(nullptr), to, from, bytes, true) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes) {
  Call call("cuMemcpyHtoD", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(nullptr), to, addressOf(from), bytes, true) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t bytes) {
  Call call("cuMemcpyDtoH", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(nullptr), addressOf(to), from, bytes, true) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, size_t bytes) {
  Call call("cuMemcpyDtoD", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(nullptr), to, from, bytes, true) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes,
                                    void *stream) {
  Call call("cuMemcpyAsync", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(stream), to, from, bytes, false) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes,
                                           void *stream) {
  Call call("cuMemcpyHtoDAsync", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(stream), to, addressOf(from), bytes, false) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes,
                                           void *stream) {
  Call call("cuMemcpyDtoHAsync", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(stream), addressOf(to), from, bytes, false) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes,
                                           void *stream) {
  Call call("cuMemcpyDtoDAsync", Call::CurrentContext);
  return call ? copyOn(driver().queueOf(stream), to, from, bytes, false) : call.result;
}

PENSTOCK_DRIVER_ENTRY cuMemsetD8_v2(DevicePointer to, unsigned char value, size_t count) {
  Call call("cuMemsetD8", Call::CurrentContext);
  return call ? fillOn(nullptr, to, value, 1, count, false) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemsetD32_v2(DevicePointer to, unsigned value, size_t count) {
  Call call("cuMemsetD32", Call::CurrentContext);
  return call ? fillOn(nullptr, to, value, 4, count, false) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count,
                                      void *stream) {
  Call call("cuMemsetD8Async", Call::CurrentContext);
  return call ? fillOn(stream, to, value, 1, count, false) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuMemsetD32Async(DevicePointer to, unsigned value, size_t count,
                                       void *stream) {
  Call call("cuMemsetD32Async", Call::CurrentContext);
  return call ? fillOn(stream, to, value, 4, count, false) : call.result;
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

namespace {

/// One attribute; NotFound if the pointer does not have it.
int pointerAttribute(void *to, int attribute, DevicePointer pointer) {
  Driver &d = driver();
  penstock::shim::Device *device = d.deviceOf(pointer);
  bool pinned = d.isPinned(pointer);
  if (!device && !pinned)
    return InvalidValue;
  auto set = [&](auto value) {
    memcpy(to, &value, sizeof(decltype(value)));
    return int(Success);
  };
  uint64_t base = pointer, size = 0;
  if (device) {
    base = device->gpu.memory.find(pointer)->base;
    size = device->gpu.memory.find(pointer)->size;
  } else {
    auto found = std::prev(d.pinned.upper_bound(pointer));
    base = found->first;
    size = found->second;
  }
  switch (attribute) {
  case PointerContext:
    return set(device ? device->primary.get() : currentContext());
  case PointerMemoryType:
    return set(device ? unsigned(DeviceMemoryType) : unsigned(HostMemory));
  case PointerDevicePointer:
    return set(pointer);
  case PointerHostPointer:
    return device ? int(InvalidValue) : set(pointer);
  case PointerIsManaged:
    return set(0u);
  case PointerDeviceOrdinal:
    return set(device ? device->ordinal : 0);
  case PointerAccessFlags: // of the current device: there are no peers
    return set(!device || (currentContext() && currentContext()->device == device) ? 3u : 0u);
  case PointerRangeStart:
    return set(base);
  case PointerRangeSize:
    return set(size_t(size));
  default:
    return NotSupported;
  }
}

} // namespace

PENSTOCK_DRIVER_ENTRY cuPointerGetAttribute(void *to, int attribute, DevicePointer pointer) {
  Call call("cuPointerGetAttribute", Call::Init);
  return call ? pointerAttribute(to, attribute, pointer) : call.result;
}

/// Gives zeros for pointers that it does not know, as the driver does.
PENSTOCK_DRIVER_ENTRY cuPointerGetAttributes(unsigned count, int *attributes, void **to,
                                             DevicePointer pointer) {
  Call call("cuPointerGetAttributes", Call::Init);
  if (!call)
    return call.result;
  for (unsigned i = 0; i < count; ++i)
    if (pointerAttribute(to[i], attributes[i], pointer) != Success) {
      bool isWide = attributes[i] == PointerContext || attributes[i] == PointerDevicePointer ||
                    attributes[i] == PointerHostPointer || attributes[i] == PointerRangeStart ||
                    attributes[i] == PointerRangeSize;
      memset(to[i], 0, isWide ? 8 : 4);
      if (attributes[i] == PointerDeviceOrdinal)
        memset(to[i], 0xfe, 4); // a number that no device has
    }
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuMemGetAddressRange_v2(DevicePointer *base, size_t *size,
                                              DevicePointer pointer) {
  Call call("cuMemGetAddressRange", Call::CurrentContext);
  if (!call)
    return call.result;
  penstock::shim::Device *device = driver().deviceOf(pointer);
  if (!device)
    return NotFound;
  emu::Allocation *found = device->gpu.memory.find(pointer);
  if (base)
    *base = found->base;
  if (size)
    *size = found->size;
  return Success;
}
