//===- RuntimeStreams.cpp - libcudart.so.13: streams, events, graphs ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Runtime.h"

using namespace penstock::shim;

EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned flags) {
  return with([&] { return cuStreamCreate(stream, flags); });
}
EXPORT int cudaStreamCreate(void **stream) { return cudaStreamCreateWithFlags(stream, 0); }
EXPORT int cudaStreamCreateWithPriority(void **stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
EXPORT int cudaStreamDestroy(void *stream) {
  return with([&] { return cuStreamDestroy_v2(stream); });
}
EXPORT int cudaStreamSynchronize(void *stream) {
  return with([&] { return cuStreamSynchronize(stream); });
}
EXPORT int cudaStreamQuery(void *stream) {
  return with([&] { return cuStreamQuery(stream); });
}
EXPORT int cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
  return with([&] { return cuStreamWaitEvent(stream, event, flags); });
}

EXPORT int cudaEventCreateWithFlags(void **event, unsigned flags) {
  return with([&] { return cuEventCreate(event, flags); });
}
EXPORT int cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }
EXPORT int cudaEventDestroy(void *event) {
  return with([&] { return cuEventDestroy_v2(event); });
}
EXPORT int cudaEventRecord(void *event, void *stream) {
  return with([&] { return cuEventRecord(event, stream); });
}
EXPORT int cudaEventRecordWithFlags(void *event, void *stream, unsigned) {
  return cudaEventRecord(event, stream);
}
EXPORT int cudaEventSynchronize(void *event) {
  return with([&] { return cuEventSynchronize(event); });
}
EXPORT int cudaEventQuery(void *event) {
  return with([&] { return cuEventQuery(event); });
}
EXPORT int cudaEventElapsedTime(float *milliseconds, void *from, void *to) {
  return with([&] { return cuEventElapsedTime_v2(milliseconds, from, to); });
}

EXPORT int cudaStreamBeginCapture(void *stream, int mode) {
  return with([&] { return cuStreamBeginCapture_v2(stream, mode); });
}
EXPORT int cudaStreamEndCapture(void *stream, void **graph) {
  return with([&] { return cuStreamEndCapture(stream, graph); });
}
EXPORT int cudaStreamIsCapturing(void *stream, int *status) {
  return with([&] { return cuStreamIsCapturing(stream, status); });
}
EXPORT int cudaThreadExchangeStreamCaptureMode(int *mode) {
  return with([&] { return cuThreadExchangeStreamCaptureMode(mode); });
}
EXPORT int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags) {
  return with([&] { return cuGraphInstantiateWithFlags(executable, graph, flags); });
}
EXPORT int cudaGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}
EXPORT int cudaGraphLaunch(void *executable, void *stream) {
  return with([&] { return cuGraphLaunch(executable, stream); });
}
EXPORT int cudaGraphDestroy(void *graph) {
  return with([&] { return cuGraphDestroy(graph); });
}
EXPORT int cudaGraphExecDestroy(void *executable) {
  return with([&] { return cuGraphExecDestroy(executable); });
}
