//===- Errors.cpp - Errors of the driver, with cause and fix --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Errors.h"
#include "Diagnostics/Codes.h"

using namespace penstock;
using namespace penstock::cuda;

namespace {

struct Explanation {
  int result;
  DiagnosticCode code;
  const char *cause, *fix;
};

constexpr Explanation explanations[] = {
    {InvalidValue, GpuLaunch, "the driver refuses the sizes or arguments of the call",
     "this is a bug in Penstock unless the kernel's shared memory or cluster exceeds what the GPU "
     "has; please report it"},
    {OutOfMemory, GpuLaunch, "the GPU has no memory left",
     "free tensors, or empty the cache of your framework's allocator"},
    {NotInitialized, GpuDriver, "the driver is not initialized in this process",
     "a process that was forked after CUDA was used cannot use it: start it with exec or spawn"},
    {Deinitialized, GpuDriver, "the driver is shutting down",
     "do not launch kernels from destructors of static objects"},
    {StubLibrary, GpuDriver,
     "libcuda.so.1 is the stub of the CUDA toolkit, which only serves to link",
     "remove the toolkit's `stubs` folder from LD_LIBRARY_PATH, and install NVIDIA's driver"},
    {36, GpuDriver, "the driver is older than a function that was called",
     "install a newer driver: 525 or later for Hopper, 570 or later for Blackwell"},
    {DeviceUnavailable, GpuDevice, "the GPU is busy or unavailable",
     "end the process that holds it, or ask for another compute mode with `nvidia-smi -c 0`"},
    {NoDevice, GpuDriver, "the driver finds no GPU",
     "check `nvidia-smi` and CUDA_VISIBLE_DEVICES; in a container, start it with `--gpus all`"},
    {InvalidDevice, GpuDevice, "there is no GPU of this number", "gpu::count() is their number"},
    {InvalidImage, GpuLoad, "the driver cannot read the kernel's code",
     "this is a bug in Penstock or a damaged artifact; please report it"},
    {InvalidContext, GpuLaunch, "no CUDA context is current, or the stream's was destroyed",
     "create the context or select the device before the launch, and keep it until the end"},
    {NoBinaryForGpu, GpuLoad, "the kernel was compiled for another GPU",
     "compile it for gpu::current().target(): code for sm_90a and sm_100a runs on no other GPU"},
    {InvalidPtx, GpuLoad, "the driver's compiler refuses the kernel's PTX",
     "this is a bug in Penstock or in inline PTX; please report it with the PTX"},
    {UnsupportedPtxVersion, GpuLoad, "the driver is older than the kernel's PTX",
     "install a newer driver, or put ptxas on the search path: machine code needs no newer driver"},
    {InvalidHandle, GpuLaunch, "the stream or event does not exist",
     "pass a stream that was not destroyed, of this process"},
    {NotFound, GpuLoad, "the kernel's code has no function of its name",
     "this is a bug in Penstock; please report it"},
    {IllegalAddress, GpuFailed, "a kernel accessed memory that it must not",
     "check that tensors were not freed while kernels used them"},
    {LaunchOutOfResources, GpuLaunch,
     "the GPU has not enough registers or shared memory for a block",
     "use smaller tiles, fewer stages or fewer threads"},
    {LaunchTimeout, GpuFailed, "a kernel ran too long and was ended",
     "GPUs with a display limit run times; a deadlock looks the same"},
    {AssertFailed, GpuFailed, "an assertion of a kernel failed", "the kernel printed which one"},
    {HardwareStackError, GpuFailed, "a kernel corrupted its stack", "please report the kernel"},
    {IllegalInstruction, GpuFailed, "a kernel executed an illegal instruction",
     "descriptors and tensor memory addresses are the usual reason"},
    {MisalignedAddress, GpuFailed, "a kernel accessed a misaligned address",
     "check the alignment of tensors that are views of others"},
    {InvalidAddressSpace, GpuFailed, "a kernel used an address of the wrong memory",
     "please report the kernel"},
    {InvalidPc, GpuFailed, "a kernel jumped to an invalid address", "please report the kernel"},
    {LaunchFailed, GpuFailed, "a kernel failed while it ran",
     "misuse of mbarriers or tensor memory is the usual reason"},
    {NotPermitted, GpuDevice, "the driver does not permit the call",
     "check the limits of MIG, MPS or the container"},
    {NotSupported, GpuDevice, "the GPU or driver does not support the call",
     "Penstock needs Hopper (sm_90) or Blackwell (sm_100)"},
    {SystemDriverMismatch, GpuDriver, "libcuda and the kernel module of the driver differ",
     "restart the machine after an update of the driver; in containers, mount the host's libcuda"},
    {CompatNotSupported, GpuDriver,
     "a forward-compatible libcuda does not support this GPU or driver",
     "remove the `compat` folder from LD_LIBRARY_PATH, or update the driver"},
    {CaptureUnsupported, GpuCapture, "a stream is captured, and the call is not possible then",
     "call Kernel::prepare before the capture, and launch on the captured stream"},
    {CaptureInvalidated, GpuCapture, "an earlier error ended the capture of the stream",
     "end the capture, correct the first error, and capture again"},
    {CaptureImplicit, GpuCapture,
     "the default stream waits for all others, and one of them is captured",
     "launch on the captured stream, or on streams with cudaStreamNonBlocking"},
    {CaptureMerge, GpuCapture, "two captures would become one",
     "wait only for events that were recorded in the same capture"},
    {CaptureUnmatched, GpuCapture, "the capture did not begin on this stream",
     "end it on the stream on which it began"},
    {CaptureUnjoined, GpuCapture, "streams that joined the capture have not returned to its origin",
     "let the first stream wait for an event of each of them before the end"},
    {CapturedEvent, GpuCapture, "the event was recorded in a capture, and has not run",
     "wait for the event inside of the capture, or record another one"},
    {CaptureWrongThread, GpuCapture, "the capture began on another thread",
     "end it on that thread, or begin it with the relaxed mode"},
    {CaptureIsolation, GpuCapture, "the captured stream would wait for work outside of the capture",
     "record the event in the capture, or wait for it before"},
};

} // namespace

Diagnostic penstock::cuda::driverError(const DriverApi &api, int result, const char *call) {
  Diagnostic d;
  d.code = GpuLaunch;
  const char *name = nullptr;
  if (!api.getErrorName || api.getErrorName(result, &name) != Success)
    name = nullptr;
  std::string where = std::string(call) + " returned " + std::to_string(result) +
                      (name ? ", " + std::string(name) : std::string());
  d.message = "the CUDA driver reports an error (" + where + ")";
  for (const Explanation &each : explanations)
    if (each.result == result) {
      d.code = each.code;
      d.message = std::string(each.cause) + " (" + where + ")";
      d.helps.push_back(each.fix);
      return d;
    }
  d.helps.push_back("the CUDA driver API's documentation explains the number");
  return d;
}
