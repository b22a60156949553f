//===- gpu.h - GPUs, streams and device memory ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header, not part of penstock.h. It needs no CUDA header, and programs that
// use it start without a GPU: libcuda.so.1 is opened by the first call that needs it.
//
//     auto device = gpu::current();
//     auto matmul = compile(Matmul{}, device.target());
//     matmul.launch({.stream = stream}, view(a, {M, K}), view(b, {N, K}), view(c, {M, N}));
//
// Views refer to device memory: from this header, from CUDA, or from a framework.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_GPU_H
#define PENSTOCK_GPU_H

#include "penstock/compile.h"

namespace penstock::gpu {

/// A GPU, by its number in CUDA.
class PENSTOCK_EXPORT Device {
public:
  /// The GPU with this number, as CUDA counts them.
  constexpr explicit Device(int ordinal) : ordinal(ordinal) {}

  /// Returns the number.
  constexpr int number() const { return ordinal; }
  /// Returns the target to compile for. Throws Error if kernels cannot be compiled for this GPU.
  Target target(Loc at = here()) const;
  /// Returns the driver's name of the GPU. Throws Error if there is no such GPU.
  std::string name(Loc at = here()) const;
  /// Peak of the tensor cores for f16 in FLOP/s, and of the memory in bytes/s, from the
  /// clocks that the driver reports. 0 if it does not.
  double peak_flops(Loc at = here()) const;
  /// Returns the bandwidth of the memory in bytes per second.
  double peak_bandwidth(Loc at = here()) const;
  /// Returns whether the GPU is emulated. Times of emulated GPUs are meaningless.
  bool emulated(Loc at = here()) const;

private:
  int ordinal;
};

/// Number of GPUs; 0 without a driver.
PENSTOCK_EXPORT int count();
/// The GPU of this thread's CUDA context; GPU 0 if it has none. Throws Error if there is
/// no GPU.
PENSTOCK_EXPORT Device current(Loc at = here());

/// Waits for a stream and returns the faults and errors of its kernels since the last call.
/// No stream: waits for CUDA's default stream.
PENSTOCK_EXPORT std::vector<Diagnostic> try_synchronize(Stream stream = {}, Loc at = here());
/// Like try_synchronize, but throws Error.
PENSTOCK_EXPORT void synchronize(Stream stream = {}, Loc at = here());

/// Seconds between two events around \p work, which launches on \p stream. Throws Error.
PENSTOCK_EXPORT double elapsed_seconds(Stream stream, const Callback<> &work, Loc at = here());

/// Overwrites memory of twice the size of the L2 cache on \p stream, so that the next launch
/// reads its tensors from memory. For benchmarks. Throws Error.
PENSTOCK_EXPORT void evict_l2(Stream stream, Loc at = here());

namespace detail {
PENSTOCK_EXPORT void *allocate(size_t bytes, int device, Loc at);
PENSTOCK_EXPORT void release(void *memory, int device);
PENSTOCK_EXPORT void upload(void *to, const void *from, size_t bytes, int device, Loc at);
PENSTOCK_EXPORT void download(void *to, const void *from, size_t bytes, int device, Loc at);
/// An Executable from the bytes of Kernel::artifact().
PENSTOCK_EXPORT penstock::detail::CompileResult
load(std::string_view artifact, penstock::detail::List<const penstock::detail::ArgumentSpec>,
     Loc at);
} // namespace detail

/// Memory on a GPU for \p count elements, for programs without a GPU allocator. Functions
/// throw Error.
template <class T> class Memory {
public:
  /// Allocates \p count elements on a GPU.
  explicit Memory(size_t count, Device device = current(), Loc at = here())
      : first(static_cast<T *>(detail::allocate(count * sizeof(T), device.number(), at))),
        elements(count), ordinal(device.number()) {}
  Memory(Memory &&other) noexcept
      : first(std::exchange(other.first, nullptr)), elements(std::exchange(other.elements, 0)),
        ordinal(other.ordinal) {}
  /// Frees the elements, and takes ownership of another object's.
  Memory &operator=(Memory &&other) noexcept {
    std::swap(first, other.first);
    std::swap(elements, other.elements);
    std::swap(ordinal, other.ordinal);
    return *this;
  }
  Memory(const Memory &) = delete;
  ~Memory() { detail::release(first, ordinal); }

  /// The address on the GPU; the host cannot access it.
  T *data() const { return first; }
  /// Returns the number of elements.
  size_t size() const { return elements; }
  /// Copies all elements from or to the host and waits for it.
  void upload(const T *from, Loc at = here()) {
    detail::upload(first, from, elements * sizeof(T), ordinal, at);
  }
  /// Copies all elements to the host and waits for it.
  void download(T *to, Loc at = here()) const {
    detail::download(to, first, elements * sizeof(T), ordinal, at);
  }

private:
  T *first;
  size_t elements;
  int ordinal;
};

/// Makes a kernel from the bytes of Kernel::artifact(), without compiling. K only gives
/// the types of the arguments.
template <class K> Compiled<K> try_load(std::string_view artifact, Loc at = here()) {
  auto specs = []<class... A>(std::tuple<A...> *) {
    return std::array<penstock::detail::ArgumentSpec, sizeof...(A)>{
        penstock::detail::ArgumentTraits<A>::spec()...};
  }(static_cast<typename penstock::detail::FunctionTraits<K>::Arguments *>(nullptr));
  auto result = detail::load(artifact, specs, at);
  return {Kernel<K>(std::move(result.executable)), std::move(result.diagnostics)};
}
/// Like try_load, but throws Error.
template <class K> Kernel<K> load(std::string_view artifact, Loc at = here()) {
  Compiled<K> result = try_load<K>(artifact, at);
  if (!result)
    penstock::detail::raise(std::move(result.diagnostics));
  return std::move(result.kernel);
}

} // namespace penstock::gpu

#endif // PENSTOCK_GPU_H
