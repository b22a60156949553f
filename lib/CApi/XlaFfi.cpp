//===- XlaFfi.cpp - Calls from JAX, in the convention of XLA's FFI --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XLA calls a function with a frame of buffers and attributes. One function serves all
// kernels: the attribute `kernel` is a key that Python has bound to a compiled kernel, because
// a compiled XLA program may be stored and reach another process, where an address would be
// wrong. Nothing of XLA is linked: these declarations have the layout of its C interface,
// xla/ffi/api/c_api.h.
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"

#include <map>
#include <mutex>
#include <shared_mutex>

using namespace penstock;

namespace {

struct Extension {
  size_t size;
  int type;
  Extension *next;
};

/// XLA_FFI_Api_Version.
struct Version {
  size_t size;
  Extension *extensions;
  int major, minor;
};

/// XLA_FFI_Metadata, as far as all versions have it.
struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};
constexpr int metadataExtension = 1;

struct XlaError;

struct ErrorCreate {
  size_t size;
  Extension *extensions;
  const char *message;
  int code;
};

struct StreamGet {
  size_t size;
  Extension *extensions;
  void *context;
  void *stream; // out
};

/// XLA_FFI_Api, up to the functions that are needed here.
struct Api {
  size_t size;
  Extension *extensions;
  Version version;
  const void *internal;
  XlaError *(*createError)(ErrorCreate *);
  void *otherErrorFunctions[2];
  void *registerHandler;
  XlaError *(*getStream)(StreamGet *);
};
static_assert(offsetof(Api, createError) == 48 && offsetof(Api, getStream) == 80);

/// XLA_FFI_Buffer.
struct Buffer {
  size_t size;
  Extension *extensions;
  int dtype;
  void *data;
  int64_t rank;
  const int64_t *dims;
};

struct Bytes {
  const char *data;
  size_t size;
};

struct Scalar {
  int dtype;
  const void *value;
};

/// XLA_FFI_Args and XLA_FFI_Rets.
struct Buffers {
  size_t size;
  Extension *extensions;
  int64_t count;
  const int *types;
  Buffer *const *values;
};

struct Attributes {
  size_t size;
  Extension *extensions;
  int64_t count;
  const int *types;
  const Bytes *const *names;
  void *const *values;
};
enum AttributeType { ScalarAttribute = 3, StringAttribute = 4 };

/// XLA_FFI_CallFrame, without what versions add at its end.
struct Frame {
  size_t size;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Buffers arguments, results;
  Attributes attributes;
};

/// XLA_FFI_DataType, and the code and width of the same type in DLPack.
struct DataType {
  int xla;
  uint8_t code, bits;
};
constexpr DataType dataTypes[] = {
    {1, 6, 8},   {2, 0, 8},   {3, 0, 16},  {4, 0, 32},  {5, 0, 64},
    {6, 1, 8},   {7, 1, 16},  {8, 1, 32},  {9, 1, 64},  {10, 2, 16},
    {11, 2, 32}, {12, 2, 64}, {16, 4, 16}, {19, 12, 8}, {20, 10, 8},
};

struct Bound {
  const penstock_kernel *kernel;
  uint64_t results; ///< bit of each parameter that XLA allocates
};
std::shared_mutex boundMutex;
std::map<std::string, Bound, std::less<>> boundKernels;

/// Value of a scalar in host memory; false if its type is of no scalar that Python passes.
bool readScalar(int dtype, const void *from, penstock_argument &to) {
  auto integer = [&]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    to.kind = PENSTOCK_INT;
    to.value.integer = int64_t(value);
    return true;
  };
  auto real = [&]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    to.kind = PENSTOCK_FLOAT;
    to.value.real = double(value);
    return true;
  };
  switch (dtype) {
  case 1:
    return integer(uint8_t());
  case 4:
    return integer(int32_t());
  case 5:
    return integer(int64_t());
  case 11:
    return real(float());
  case 12:
    return real(double());
  }
  return false;
}

class Call {
public:
  Call(const Frame &frame, bool onGpu, capi::Diagnostics &found)
      : frame(frame), onGpu(onGpu), found(found) {}

  void run() {
    const Bytes *key = nullptr;
    for (int64_t i = 0; i < frame.attributes.count; ++i)
      if (nameOf(i) == "kernel" && frame.attributes.types[i] == StringAttribute)
        key = static_cast<const Bytes *>(frame.attributes.values[i]);
    std::string_view text = key ? std::string_view(key->data, key->size) : "";
    Bound bound = {};
    {
      std::shared_lock lock(boundMutex);
      if (auto at = boundKernels.find(text); at != boundKernels.end())
        bound = at->second;
    }
    if (!bound.kernel) {
      capi::fail(found, CallArgument,
                 "the XLA program calls the kernel `" + std::string(text) +
                     "`, which this process has not compiled",
                 "call penstock.jax.wrap for the same kernel, target and fields first");
      return;
    }
    launch(bound);
  }

private:
  const Frame &frame;
  bool onGpu;
  capi::Diagnostics &found;

  std::string_view nameOf(int64_t attribute) const {
    const Bytes *name = frame.attributes.names[attribute];
    return {name->data, name->size};
  }

  /// The scalar that is an attribute named `p` and the number of its parameter.
  const Scalar *attributeOf(size_t parameter) const {
    std::string name = "p" + std::to_string(parameter);
    for (int64_t i = 0; i < frame.attributes.count; ++i)
      if (nameOf(i) == name && frame.attributes.types[i] == ScalarAttribute)
        return static_cast<const Scalar *>(frame.attributes.values[i]);
    return nullptr;
  }

  void refuse(const ArgumentDescription &parameter, const std::string &problem) {
    capi::fail(found, CallArgument, "the argument `" + parameter.name + "` " + problem);
  }

  void launch(const Bound &bound) {
    const auto &parameters = bound.kernel->parameters;
    std::vector<penstock_argument> arguments(parameters.size());
    std::vector<penstock_tensor> tensors(parameters.size());
    int64_t nextArgument = 0, nextResult = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (const Scalar *scalar = attributeOf(i)) {
        if (!readScalar(scalar->dtype, scalar->value, arguments[i]))
          return refuse(parameters[i], "has a type that kernels do not take from XLA");
        continue;
      }
      bool isResult = bound.results >> i & 1;
      const Buffers &from = isResult ? frame.results : frame.arguments;
      int64_t &next = isResult ? nextResult : nextArgument;
      if (next == from.count)
        return refuse(parameters[i], "is missing in the XLA program");
      const Buffer &buffer = *from.values[next++];
      if (!parameters[i].tensor) {
        if (onGpu)
          return refuse(parameters[i],
                        "is a scalar in the memory of a GPU; make it a Python number");
        if (buffer.rank != 0 || !readScalar(buffer.dtype, buffer.data, arguments[i]))
          return refuse(parameters[i], "is not a number of 32 or 64 bits");
        continue;
      }
      if (!describe(buffer, tensors[i]))
        return refuse(parameters[i], "has elements of a type that kernels do not have");
      arguments[i].kind = PENSTOCK_TENSOR;
      arguments[i].value.tensor = &tensors[i];
    }
    LaunchOptions options;
    if (onGpu) {
      StreamGet get = {sizeof get, nullptr, frame.context, nullptr};
      if (frame.api->getStream(&get)) {
        capi::fail(found, CallFailed, "XLA gives no stream for a kernel on a GPU");
        return;
      }
      options.stream = gpu::Stream(get.stream);
    }
    found = capi::launch(*bound.kernel, arguments.data(), arguments.size(), options);
  }

  bool describe(const Buffer &buffer, penstock_tensor &to) const {
    for (const DataType &type : dataTypes)
      if (type.xla == buffer.dtype) {
        to = {};
        to.data = buffer.data;
        to.device_type = onGpu ? 2 : 1;
        to.ndim = int32_t(buffer.rank);
        to.dtype_code = type.code;
        to.dtype_bits = type.bits;
        to.dtype_lanes = 1;
        to.shape = buffer.dims;
        return true;
      }
    return false;
  }
};

XlaError *handle(Frame *frame, bool onGpu) {
  // XLA asks for the version of the interface when the function is registered.
  for (Extension *extension = frame->extensions; extension; extension = extension->next)
    if (extension->type == metadataExtension) {
      Metadata &metadata = *reinterpret_cast<MetadataExtension *>(extension)->metadata;
      metadata.version.major = 0;
      metadata.version.minor = 1;
      metadata.traits = 0;
      return nullptr;
    }
  penstock_diagnostics *diagnostics = nullptr;
  penstock_status status =
      capi::call(&diagnostics, [&](capi::Diagnostics &found) { Call(*frame, onGpu, found).run(); });
  XlaError *error = nullptr;
  if (status != PENSTOCK_OK) {
    const char *text = diagnostics ? penstock_diagnostics_text(diagnostics) : "no memory";
    constexpr int invalidArgument = 3;
    ErrorCreate create = {sizeof create, nullptr, text, invalidArgument};
    error = frame->api->createError(&create);
  }
  penstock_diagnostics_free(diagnostics);
  return error;
}

} // namespace

extern "C" {

/// Binds a key to a kernel that lives as long as the process. Bit i of \p results: XLA
/// allocates parameter i.
PENSTOCK_C_EXPORT void __xla_ffi_penstock_bind(const char *key, const penstock_kernel *kernel,
                                               uint64_t results) {
  std::unique_lock lock(boundMutex);
  boundKernels[key] = {kernel, results};
}

/// XLA_FFI_Handler of the platform `cpu`.
PENSTOCK_C_EXPORT void *__xla_ffi_penstock_launch(void *frame) {
  return handle(static_cast<Frame *>(frame), false);
}

/// XLA_FFI_Handler of the platform `CUDA`.
PENSTOCK_C_EXPORT void *__xla_ffi_penstock_launch_gpu(void *frame) {
  return handle(static_cast<Frame *>(frame), true);
}

} // extern "C"
