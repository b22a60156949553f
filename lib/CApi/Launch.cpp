//===- Launch.cpp - Launches of the C interface ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"

#include <cmath>
#if __has_include(<dlpack/dlpack.h>)
#include <cstddef>
#include <dlpack/dlpack.h>
static_assert(sizeof(penstock_tensor) == sizeof(DLTensor) &&
              offsetof(penstock_tensor, device_type) == offsetof(DLTensor, device) &&
              offsetof(penstock_tensor, ndim) == offsetof(DLTensor, ndim) &&
              offsetof(penstock_tensor, dtype_code) == offsetof(DLTensor, dtype) &&
              offsetof(penstock_tensor, shape) == offsetof(DLTensor, shape) &&
              offsetof(penstock_tensor, strides) == offsetof(DLTensor, strides) &&
              offsetof(penstock_tensor, byte_offset) == offsetof(DLTensor, byte_offset));
#endif

using namespace penstock;

namespace {

// Numbers of DLPack, of which older headers have only a part.
enum TypeCode {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  E4M3FN = 10,
  E5M2 = 12,
  E8M0FNU = 14,
  E2M1FN = 17
};
enum DeviceType { Cpu = 1, Cuda = 2, CudaHost = 3, RocmHost = 11, CudaManaged = 13 };

/// Returns whether an element has no type of its own in numpy and is passed as bytes.
bool isByte(Element element) {
  return element == Element::f8e4m3 || element == Element::f8e5m2 || element == Element::f8e8m0 ||
         element == Element::f4e2m1x2 || element == Element::i4x2 ||
         element == Element::f6e2m3_packed || element == Element::f6e3m2_packed;
}

/// Element of a DLPack type; no value if kernels have none. \p wanted decides where two are
/// possible.
std::optional<Element> elementOf(const penstock_tensor &tensor, Element wanted) {
  unsigned bits = tensor.dtype_bits;
  // Two values of 4 bits in a byte: torch.float4_e2m1fn_x2, or int4 with two lanes.
  if (bits == 4 && tensor.dtype_lanes == 2)
    return tensor.dtype_code == E2M1FN ? std::optional(Element::f4e2m1x2)
           : tensor.dtype_code == Int  ? std::optional(Element::i4x2)
                                       : std::nullopt;
  if (tensor.dtype_lanes != 1)
    return std::nullopt;
  switch (tensor.dtype_code) {
  case Float:
    return bits == 32   ? std::optional(Element::f32)
           : bits == 16 ? std::optional(Element::f16)
           : bits == 64 ? std::optional(Element::f64)
                        : std::nullopt;
  case BFloat:
    return bits == 16 ? std::optional(Element::bf16) : std::nullopt;
  case E4M3FN:
    return Element::f8e4m3;
  case E5M2:
    return Element::f8e5m2;
  case E8M0FNU:
    return Element::f8e8m0;
  case Bool:
    return bits == 8 ? std::optional(Element::i1) : std::nullopt;
  case UInt:
    // Bytes of frameworks that cannot export 8-bit floating-point and packed types.
    if (bits == 8 && isByte(wanted))
      return wanted;
    [[fallthrough]];
  case Int:
    if (bits == 8 && wanted == Element::i4x2)
      return wanted;
    return bits == 32   ? std::optional(Element::i32)
           : bits == 64 ? std::optional(Element::i64)
           : bits == 16 ? std::optional(Element::i16)
           : bits == 8  ? std::optional(Element::i8)
                        : std::nullopt;
  }
  return std::nullopt;
}

class Packer {
public:
  Packer(const penstock_kernel &kernel, capi::Diagnostics &found) : kernel(kernel), found(found) {}

  bool pack(size_t index, const penstock_argument &from, detail::Argument &to) {
    const ArgumentDescription &parameter = kernel.parameters[index];
    switch (from.kind) {
    case PENSTOCK_TENSOR:
      return tensor(parameter, from.value.tensor, to);
    case PENSTOCK_INT:
      return scalar(parameter, from.value.integer, to);
    case PENSTOCK_FLOAT:
      return scalar(parameter, from.value.real, to);
    }
    return refuse(parameter, "the argument `" + parameter.name + "` has an unknown kind");
  }

private:
  const penstock_kernel &kernel;
  capi::Diagnostics &found;

  bool refuse(const ArgumentDescription &, std::string message, std::string help = "") {
    capi::fail(found, CallArgument, std::move(message), std::move(help));
    return false;
  }

  bool tensor(const ArgumentDescription &parameter, const penstock_tensor *from,
              detail::Argument &to) {
    if (!from)
      return refuse(parameter, "the tensor `" + parameter.name + "` is null");
    if (from->ndim < 0 || (from->ndim > 0 && !from->shape))
      return refuse(parameter, "the tensor `" + parameter.name + "` has no shape");
    if (size_t(from->ndim) > detail::Extents::capacity)
      return refuse(parameter, "the tensor `" + parameter.name + "` has rank " +
                                   std::to_string(from->ndim) + "; kernels take rank 8 at most");
    int device = from->device_type;
    if (device != Cpu && device != Cuda && device != CudaHost && device != RocmHost &&
        device != CudaManaged)
      return refuse(parameter,
                    "the tensor `" + parameter.name + "` lies on a device of DLPack's type " +
                        std::to_string(device) +
                        "; kernels take tensors of the host and of CUDA devices",
                    "copy it to the host or to a CUDA device first");
    auto element = elementOf(*from, parameter.element);
    if (!element)
      return refuse(parameter,
                    "the elements of the tensor `" + parameter.name + "` (DLPack's type code " +
                        std::to_string(from->dtype_code) + ", " + std::to_string(from->dtype_bits) +
                        " bits, " + std::to_string(from->dtype_lanes) +
                        " lanes) are of no type that kernels have",
                    "the kernel takes " + name_of(parameter.element));
    to.tensor = true;
    to.onGpu = device == Cuda;
    to.element = *element;
    to.data = from->data ? static_cast<char *>(from->data) + from->byte_offset : nullptr;
    to.sizes.assign(from->shape, from->shape + from->ndim);
    to.strides.assign(size_t(from->ndim), 0);
    uint64_t dense = 1; // wraps if the sizes are absurd; the launch refuses them
    for (size_t d = size_t(from->ndim); d-- > 0;) {
      to.strides[d] = from->strides ? from->strides[d] : int64_t(dense);
      dense *= uint64_t(from->shape[d]);
    }
    return true;
  }

  template <class T> static void store(T value, detail::Argument &to) {
    std::memcpy(&to.scalar, &value, sizeof value);
  }

  template <class T, class V>
  bool integer(const ArgumentDescription &parameter, V value, detail::Argument &to) {
    // Bounds are powers of two, so that they are exact in floating point.
    constexpr double beyond = 2.0 * double(int64_t(1) << (8 * sizeof(T) - 2));
    double number = double(value);
    if (!(number >= -beyond && number < beyond && std::trunc(number) == number))
      return refuse(parameter, "the value " + std::to_string(value) + " of `" + parameter.name +
                                   "` does not fit " + name_of(parameter.element));
    store(T(value), to);
    return true;
  }

  template <class V>
  bool scalar(const ArgumentDescription &parameter, V value, detail::Argument &to) {
    to.element = parameter.element;
    if (parameter.tensor)
      return refuse(parameter,
                    "`" + parameter.name + "` of `" + kernel.name + "` is a tensor, not a number");
    switch (parameter.element) {
    case Element::f16:
      return store(f16(float(value)), to), true;
    case Element::bf16:
      return store(bf16(float(value)), to), true;
    case Element::f8e4m3:
      return store(f8e4m3(float(value)), to), true;
    case Element::f8e5m2:
      return store(f8e5m2(float(value)), to), true;
    case Element::f8e8m0:
      return store(f8e8m0(float(value)), to), true;
    case Element::f4e2m1x2:
    case Element::i4x2:
    case Element::f6e2m3_packed:
    case Element::f6e3m2_packed:
      return refuse(parameter, "`" + parameter.name + "` of `" + kernel.name + "` is " +
                                   name_of(parameter.element) + ", which only tensors hold");
    case Element::f32:
      return store(float(value), to), true;
    case Element::f64:
      return store(double(value), to), true;
    case Element::i1:
      return store(value != 0, to), true;
    case Element::i8:
      return integer<int8_t>(parameter, value, to);
    case Element::i16:
      return integer<int16_t>(parameter, value, to);
    case Element::i32:
      return integer<int32_t>(parameter, value, to);
    case Element::i64:
    case Element::index:
      if constexpr (std::is_integral_v<V>)
        return store(int64_t(value), to), true; // doubles have fewer digits
      else
        return integer<int64_t>(parameter, value, to);
    }
    return false;
  }
};

} // namespace

capi::Diagnostics capi::launch(const penstock_kernel &kernel, const penstock_argument *arguments,
                               size_t count, const LaunchOptions &options) {
  Diagnostics found;
  if (count != kernel.parameters.size()) {
    std::string names;
    for (const ArgumentDescription &parameter : kernel.parameters)
      names += (names.empty() ? "" : ", ") + parameter.name;
    fail(found, CallArgument,
         "`" + kernel.name + "` takes " + std::to_string(kernel.parameters.size()) +
             " arguments, not " + std::to_string(count),
         "they are: " + names);
    return found;
  }
  // No allocation for kernels of a usual size.
  std::array<detail::Argument, 8> few;
  std::vector<detail::Argument> many;
  detail::Argument *packed = few.data();
  if (count > few.size()) {
    many.resize(count);
    packed = many.data();
  }
  Packer packer(kernel, found);
  for (size_t i = 0; i < count; ++i)
    if (!packer.pack(i, arguments[i], packed[i]))
      return found;
  return kernel.code.launch({packed, count}, options);
}

penstock_status penstock_launch(const penstock_kernel *kernel, const penstock_argument *arguments,
                                size_t count, const penstock_launch_options *options,
                                penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    penstock_launch_options given;
    if (!kernel || (!arguments && count)) {
      capi::fail(found, CallArgument,
                 std::string("the argument `") + (kernel ? "arguments" : "kernel") + "` is null");
      return;
    }
    if (!capi::readOptions(options, given, found))
      return;
    LaunchOptions launch;
    launch.threads = given.threads;
    if (given.has_stream)
      launch.stream = gpu::Stream(given.stream);
    launch.overlap_previous = given.overlap_previous != 0;
    if (given.print)
      launch.print = [&given](std::string_view text) {
        given.print(text.data(), text.size(), given.print_context);
      };
    if (given.executor)
      launch.executor = [&given](int tasks, const Callback<int> &task) {
        given.executor(
            tasks,
            [](int32_t i, void *argument) { (*static_cast<const Callback<int> *>(argument))(i); },
            const_cast<Callback<int> *>(&task), given.executor_context);
      };
    found = capi::launch(*kernel, arguments, count, launch);
  });
}
