//===- TvmFfi.cpp - Calls from Python, in TVM-FFI's convention ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tvm_ffi converts tensors of all frameworks in C, in a fraction of the time that ctypes
// needs. It finds functions by their names and calls them with an array of tagged values.
// Nothing of it is linked: these declarations have the layout of its C interface.
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"

using namespace penstock;

namespace {

/// TVMFFIAny.
struct Value {
  int32_t type;
  uint32_t zero;
  union {
    int64_t integer;
    double real;
    void *pointer;
  };
};
static_assert(sizeof(Value) == 16);

enum ValueType : int32_t { None = 0, Int = 1, Bool = 2, Float = 3, TensorPointer = 7, Tensor = 70 };

/// An object begins with its counts, type and deleter; a tensor object goes on with a DLTensor.
constexpr size_t objectHeader = 24;

/// TVMFFIEnvGetStream: the stream that the caller's framework uses on a device.
using StreamFunction = void *(*)(int32_t deviceType, int32_t device);
std::atomic<StreamFunction> currentStream = nullptr;

/// False if the value is of a type that kernels do not take.
bool convert(const Value &from, penstock_argument &to) {
  switch (from.type) {
  case Int:
  case Bool:
    to.kind = PENSTOCK_INT;
    to.value.integer = from.integer;
    return true;
  case Float:
    to.kind = PENSTOCK_FLOAT;
    to.value.real = from.real;
    return true;
  case TensorPointer:
  case Tensor:
    to.kind = PENSTOCK_TENSOR;
    to.value.tensor = reinterpret_cast<const penstock_tensor *>(
        static_cast<const char *>(from.pointer) + (from.type == Tensor ? objectHeader : 0));
    return true;
  default:
    return false;
  }
}

void launch(const Value *values, int32_t count, LaunchOptions &options,
            const penstock_kernel &kernel, capi::Diagnostics &found) {
  std::array<penstock_argument, 8> few;
  std::vector<penstock_argument> many;
  penstock_argument *arguments = few.data();
  if (size_t(count) > few.size()) {
    many.resize(size_t(count));
    arguments = many.data();
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!convert(values[i], arguments[i])) {
      std::string name = size_t(i) < kernel.parameters.size() ? kernel.parameters[size_t(i)].name
                                                              : std::to_string(i);
      capi::fail(found, PythonValue,
                 "the argument `" + name + "` of `" + kernel.name +
                     "` is neither a tensor nor a number",
                 "pass a tensor with __dlpack__ (torch, JAX, numpy, CuPy), an int, a float or a "
                 "bool");
      return;
    }
    const penstock_tensor *tensor =
        arguments[i].kind == PENSTOCK_TENSOR ? arguments[i].value.tensor : nullptr;
    if (tensor && tensor->device_type == 2 && !options.stream.given())
      if (StreamFunction stream = currentStream.load(std::memory_order_relaxed))
        options.stream = gpu::Stream(stream(tensor->device_type, tensor->device_id));
  }
  found = capi::launch(kernel, arguments, size_t(count), options);
}

/// Diagnostics are the result, because a raised error would need tvm_ffi's library.
template <class F> int answer(Value *result, F body) {
  penstock_diagnostics *diagnostics = nullptr;
  penstock_status status = capi::call(&diagnostics, body);
  if (status == PENSTOCK_OK) {
    penstock_diagnostics_free(diagnostics);
    diagnostics = nullptr;
  }
  result->type = Int;
  result->zero = 0;
  // Failed without memory for diagnostics: -1.
  result->integer = status == PENSTOCK_OK ? 0
                    : diagnostics         ? int64_t(reinterpret_cast<uintptr_t>(diagnostics))
                                          : -1;
  return 0;
}

const penstock_kernel *kernelOf(const Value *values, int32_t count, int32_t needed,
                                capi::Diagnostics &found) {
  if (count >= needed && values[0].type == Int && values[0].integer)
    return reinterpret_cast<const penstock_kernel *>(values[0].integer);
  capi::fail(found, CallArgument, "the first argument has to be a kernel");
  return nullptr;
}

} // namespace

extern "C" {

/// launch(kernel, arguments ...)
PENSTOCK_C_EXPORT int __tvm_ffi_penstock_launch(void *, const Value *values, int32_t count,
                                                Value *result) {
  return answer(result, [&](capi::Diagnostics &found) {
    LaunchOptions options;
    if (const penstock_kernel *kernel = kernelOf(values, count, 1, found))
      launch(values + 1, count - 1, options, *kernel, found);
  });
}

/// launch_with(kernel, threads, stream or None, overlap_previous, arguments ...)
PENSTOCK_C_EXPORT int __tvm_ffi_penstock_launch_with(void *, const Value *values, int32_t count,
                                                     Value *result) {
  return answer(result, [&](capi::Diagnostics &found) {
    const penstock_kernel *kernel = kernelOf(values, count, 4, found);
    if (!kernel)
      return;
    LaunchOptions options;
    options.threads = int(values[1].integer);
    if (values[2].type == Int)
      options.stream = gpu::Stream(reinterpret_cast<void *>(values[2].integer));
    options.overlap_previous = values[3].integer != 0;
    launch(values + 4, count - 4, options, *kernel, found);
  });
}

/// set_stream_function(address of TVMFFIEnvGetStream)
PENSTOCK_C_EXPORT int __tvm_ffi_penstock_set_stream_function(void *, const Value *values,
                                                             int32_t count, Value *result) {
  return answer(result, [&](capi::Diagnostics &) {
    if (count == 1 && values[0].type == Int)
      currentStream = reinterpret_cast<StreamFunction>(values[0].integer);
  });
}

} // extern "C"
