//===- DriverDevices.cpp - libcuda: devices and contexts ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace penstock;
using namespace penstock::shim;

namespace {

penstock::shim::Device *deviceAt(int ordinal) {
  Driver &d = driver();
  return ordinal >= 0 && size_t(ordinal) < d.devices.size() ? d.devices[size_t(ordinal)].get()
                                                            : nullptr;
}

int attributeOf(const penstock::shim::Device &device, int attribute) {
  const hw::Chip &chip = device.chip();
  const hw::Limits &limits = chip.architecture->limits;
  switch (attribute) {
  case MaxThreadsPerBlock:
    return int(limits.threadsPerBlock);
  case 2: // extents of a block
  case 3:
    return 1024;
  case 4:
    return 64;
  case 5: // extents of a grid
    return 0x7fffffff;
  case 6:
  case 7:
    return 65535;
  case MaxSharedPerBlock:
    return defaultDynamicShared;
  case WarpSize:
    return 32;
  case MaxRegistersPerBlock:
    return int(limits.registersPerBlock);
  case MaxRegistersPerMultiprocessor:
    return int(chip.registers);
  case ClockRate: // kHz
    return int(std::lround(chip.boost.value * 1e6));
  case MultiprocessorCount:
    return int(device.gpu.numSms);
  case MemoryClockRate:
    return device.isBlackwell ? 3996000 : 2619000;
  case MemoryBusWidth:
    return device.isBlackwell ? 8192 : 5120;
  case L2CacheSize:
    return 50 << 20;
  case MaxThreadsPerMultiprocessor:
    return 2048;
  case 41: // unified addressing
  case 31: // concurrent kernels
  case CooperativeLaunch:
  case 115: // memory pools
  case ClusterLaunch:
    return 1;
  case 83: // managed memory
  case 88: // access to pageable memory
  case 89: // concurrent access to managed memory
    return 0;
  case ComputeCapabilityMajor:
    return int(device.arch() / 10);
  case ComputeCapabilityMinor:
    return int(device.arch() % 10);
  case MaxSharedPerMultiprocessor:
    return int(chip.sharedBytes);
  case MaxSharedPerBlockOptin:
    return int(device.gpu.maxShared);
  case MaxBlocksPerMultiprocessor:
    return int(chip.maxBlocks);
  case 111: // shared memory of the system
    return 1024;
  default:
    return -1;
  }
}

bool isContext(Context *context) { return driver().contexts.count(context); }

} // namespace

PENSTOCK_DRIVER_ENTRY cuInit(unsigned flags) {
  Call call("cuInit", Call::Nothing);
  if (!call)
    return call.result;
  if (flags)
    return InvalidValue;
  if (driver().devices.empty())
    return NoDevice;
  driver().initialized = true;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuDriverGetVersion(int *version) {
  Call call("cuDriverGetVersion", Call::Nothing);
  if (call)
    *version = driver().version;
  return call.result;
}

PENSTOCK_DRIVER_ENTRY cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount", Call::Init);
  if (call)
    *count = int(driver().devices.size());
  return call.result;
}

PENSTOCK_DRIVER_ENTRY cuDeviceGet(int *device, int ordinal) {
  Call call("cuDeviceGet", Call::Init);
  if (!call)
    return call.result;
  *device = ordinal;
  return deviceAt(ordinal) ? Success : InvalidDevice;
}

PENSTOCK_DRIVER_ENTRY cuDeviceGetName(char *name, int size, int ordinal) {
  Call call("cuDeviceGetName", Call::Init);
  penstock::shim::Device *device = deviceAt(ordinal);
  if (!call)
    return call.result;
  if (!device || size < 1)
    return device ? InvalidValue : InvalidDevice;
  snprintf(name, size_t(size), "Penstock emulator of an NVIDIA %s", device->chip().name.c_str());
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuDeviceGetUuid_v2(char *uuid, int ordinal) {
  Call call("cuDeviceGetUuid", Call::Init);
  if (!call)
    return call.result;
  if (!deviceAt(ordinal))
    return InvalidDevice;
  memset(uuid, 0, 16);
  uuid[15] = char(ordinal + 1);
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuDeviceTotalMem_v2(size_t *bytes, int ordinal) {
  Call call("cuDeviceTotalMem", Call::Init);
  if (!call)
    return call.result;
  if (!deviceAt(ordinal))
    return InvalidDevice;
  *bytes = deviceAt(ordinal)->gpu.memory.limit;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuDeviceGetAttribute(int *value, int attribute, int ordinal) {
  Call call("cuDeviceGetAttribute", Call::Init);
  penstock::shim::Device *device = deviceAt(ordinal);
  if (!call)
    return call.result;
  if (!device)
    return InvalidDevice;
  int found = attributeOf(*device, attribute);
  if (found < 0) {
    fprintf(stderr, "penstock-emu: device attribute %d is not known\n", attribute);
    return InvalidValue;
  }
  *value = found;
  return Success;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

PENSTOCK_DRIVER_ENTRY cuDevicePrimaryCtxRetain(Context **context, int ordinal) {
  Call call("cuDevicePrimaryCtxRetain", Call::Init);
  penstock::shim::Device *device = deviceAt(ordinal);
  if (!call)
    return call.result;
  if (!device)
    return InvalidDevice;
  ++device->primaryUsers;
  *context = device->primary.get();
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuDevicePrimaryCtxRelease_v2(int ordinal) {
  Call call("cuDevicePrimaryCtxRelease", Call::Init);
  penstock::shim::Device *device = deviceAt(ordinal);
  if (!call)
    return call.result;
  if (!device || device->primaryUsers == 0)
    return device ? InvalidContext : InvalidDevice;
  --device->primaryUsers;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuDevicePrimaryCtxGetState(int ordinal, unsigned *flags, int *active) {
  Call call("cuDevicePrimaryCtxGetState", Call::Init);
  penstock::shim::Device *device = deviceAt(ordinal);
  if (!call)
    return call.result;
  if (!device)
    return InvalidDevice;
  *flags = 0;
  *active = device->primaryUsers > 0;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuCtxCreate_v2(Context **context, unsigned, int ordinal) {
  Call call("cuCtxCreate", Call::Init);
  penstock::shim::Device *device = deviceAt(ordinal);
  if (!call)
    return call.result;
  if (!device)
    return InvalidDevice;
  *context = new Context;
  (*context)->device = device;
  driver().contexts.insert(*context);
  (*context)->legacy = driver().addQueue(*context, false);
  return contextStack().push(*context) ? Success : OutOfMemory;
}

PENSTOCK_DRIVER_ENTRY cuCtxDestroy_v2(Context *context) {
  Call call("cuCtxDestroy", Call::Init);
  if (!call)
    return call.result;
  if (!isContext(context) || context == context->device->primary.get())
    return InvalidContext;
  Driver &d = driver();
  d.waitForContext(*context);
  contextStack().remove(context);
  std::erase_if(d.streams, [&](const auto &each) { return each.second->context == context; });
  d.contexts.erase(context);
  delete context;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuCtxGetCurrent(Context **context) {
  Call call("cuCtxGetCurrent", Call::Init);
  if (call)
    *context = currentContext();
  return call.result;
}

PENSTOCK_DRIVER_ENTRY cuCtxSetCurrent(Context *context) {
  Call call("cuCtxSetCurrent", Call::Init);
  if (!call)
    return call.result;
  if (context && !isContext(context))
    return InvalidContext;
  if (!contextStack().empty())
    contextStack().pop();
  if (context)
    contextStack().push(context);
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuCtxPushCurrent_v2(Context *context) {
  Call call("cuCtxPushCurrent", Call::Init);
  if (!call)
    return call.result;
  if (!isContext(context))
    return InvalidContext;
  return contextStack().push(context) ? Success : OutOfMemory;
}

PENSTOCK_DRIVER_ENTRY cuCtxPopCurrent_v2(Context **context) {
  Call call("cuCtxPopCurrent", Call::Init);
  if (!call)
    return call.result;
  if (!currentContext())
    return InvalidContext;
  if (context)
    *context = currentContext();
  contextStack().pop();
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuCtxGetDevice(int *ordinal) {
  Call call("cuCtxGetDevice", Call::Init);
  if (!call)
    return call.result;
  if (!currentContext())
    return InvalidContext;
  *ordinal = currentContext()->device->ordinal;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuCtxSynchronize() {
  Call call("cuCtxSynchronize", Call::CurrentContext);
  if (!call)
    return call.result;
  Driver &d = driver();
  if (Capture *capture = d.captureIn(*currentContext(), false))
    return d.refuseInCapture(*capture, CaptureUnsupported);
  return d.waitForContext(*currentContext());
}
