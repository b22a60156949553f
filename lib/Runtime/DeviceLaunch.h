//===- DeviceLaunch.h - Preparing launches of GPU kernels -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps between checked arguments and a launch, for any device: choose a
// variant, check alignment and the grid, describe tensor maps, pack the kernel's
// parameter. The emulator and a driver differ in addresses and in the encoding of
// tensor maps only.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_DEVICELAUNCH_H
#define PENSTOCK_RUNTIME_DEVICELAUNCH_H

#include "Runtime/DeviceKernel.h"
#include "Runtime/KernelInfo.h"

#include <string>

namespace penstock {

/// Returns whether the rows of all tensors are as TMA, or accesses by vectors, need them.
bool rowsFit(const DeviceKernel &kernel, std::span<const detail::Argument> arguments);

/// Returns the index of the variant to launch: the first that takes the rows of these
/// arguments, otherwise the last, which takes every tensor or refuses these.
size_t variantFor(std::span<const DeviceKernel *const> variants,
                  std::span<const detail::Argument> arguments);

struct DeviceGrid {
  uint64_t blocks = 0;
  std::vector<int64_t> constants; ///< results of the launch program
};

/// Checks alignment and sizes of the arguments and computes the grid. No value, with
/// errors in \p diagnostics, if the launch is invalid.
std::optional<DeviceGrid> prepareLaunch(const DeviceKernel &kernel, const KernelInfo &info,
                                        std::span<const detail::Argument> arguments,
                                        std::vector<Diagnostic> &diagnostics);

/// The same for a launch that is valid, without allocating: evaluates the launch program
/// into \p values, which has room for all of its steps, and its results into
/// \p constants. False if prepareLaunch has to say what is wrong.
bool prepareValidLaunch(const DeviceKernel &kernel, std::span<const detail::Argument> arguments,
                        int64_t *values, int64_t *constants, uint64_t &blocks);

/// Bytes from the first to the end of the last element.
uint64_t spannedBytes(const detail::Argument &tensor);

/// The arguments of cuTensorMapEncodeTiled. Dimensions are innermost first.
struct TensorMapDescription {
  unsigned dataType = 0; ///< CUtensorMapDataType
  unsigned rank = 0;
  unsigned swizzle = 0; ///< CUtensorMapSwizzle
  uint64_t address = 0;
  std::array<uint64_t, 5> sizes = {};
  std::array<uint64_t, 5> strides = {}; ///< bytes; [0] is the size of an element
  std::array<uint32_t, 5> box = {};
};

/// Describes the map of a tensor argument at \p address.
TensorMapDescription packMap(const TensorMapRecipe &recipe, const detail::Argument &tensor,
                             uint64_t address);

/// Encodes the tensor map of recipe \p number for an argument at \p address as 128 bytes.
/// Returns the rule that it violates; empty on success.
/// A reference to a callable, because launches are too short for std::function.
class EncodeTensorMap {
public:
  template <class F>
  EncodeTensorMap(const F &encode)
      : object(&encode), call([](const void *callee, unsigned number,
                                 const detail::Argument &tensor, uint64_t address, uint8_t *to) {
          return (*static_cast<const F *>(callee))(number, tensor, address, to);
        }) {}
  std::string operator()(unsigned number, const detail::Argument &tensor, uint64_t address,
                         uint8_t *to) const {
    return call(object, number, tensor, address, to);
  }

private:
  const void *object;
  std::string (*call)(const void *, unsigned, const detail::Argument &, uint64_t, uint8_t *);
};

/// Packs the kernel's parameter of `parameterBytes` into \p to; \p addresses are those of
/// the arguments on the device and, if the kernel has faults, of the word for them and, if
/// it prints, of the buffer for its lines. Returns false, with an error in \p diagnostics, if
/// a tensor map cannot be encoded.
bool packParameters(const DeviceKernel &kernel, const KernelInfo &info,
                    std::span<const detail::Argument> arguments,
                    std::span<const uint64_t> addresses, std::span<const int64_t> constants,
                    const EncodeTensorMap &encode, uint8_t *to,
                    std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_RUNTIME_DEVICELAUNCH_H
