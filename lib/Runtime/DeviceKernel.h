//===- DeviceKernel.h - A kernel for a GPU, as plain data -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that a launch needs beside the arguments themselves: the text, the
// sizes of block and shared memory, how the one parameter of the kernel is laid
// out, which tensor maps it holds, and what its grid is.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_DEVICEKERNEL_H
#define PENSTOCK_RUNTIME_DEVICEKERNEL_H

#include "Runtime/LaunchProgram.h"
#include "Runtime/PrintRecords.h"

#include <array>
#include <string>

namespace penstock {

/// Arguments of cuTensorMapEncodeTiled, except address, sizes and strides of the tensor argument.
/// Dimensions are innermost first. The map of an empty tensor is that of one element, zero.
struct TensorMapRecipe {
  unsigned argument = 0;
  unsigned dataType = 0; ///< CUtensorMapDataType
  std::vector<uint32_t> box;
  unsigned swizzle = 0; ///< CUtensorMapSwizzle
  friend bool operator==(const TensorMapRecipe &, const TensorMapRecipe &) = default;
};

/// A tensor argument whose rows must begin at multiples of `bytes`.
struct RowAlignment {
  unsigned argument = 0, bytes = 16;
  unsigned multiple = 0; ///< of these bytes, which their length must be; 0: any
  friend bool operator==(const RowAlignment &, const RowAlignment &) = default;
};

/// A piece of the kernel's parameter.
struct ParameterField {
  enum Kind : uint8_t {
#define PARAMETER_FIELD(name) name,
#include "Runtime/LaunchKinds.def"
  };
  static constexpr unsigned kinds = 0
#define PARAMETER_FIELD(name) +1
#include "Runtime/LaunchKinds.def"
      ;
  Kind kind = Address;
  unsigned index = 0, dim = 0;
  unsigned offset = 0;
};

/// User's name of a piece of a block's storage, for findings of the emulator.
struct StorageName {
  enum Kind : uint8_t {
    Shared,      ///< bytes of dynamic shared memory
    Tensor,      ///< columns of tensor memory
    NamedBarrier ///< numbers of barriers
  };
  Kind kind = Shared;
  std::string name;
  uint32_t first = 0, size = 0;
  uint32_t slot = 0; ///< the size of each slot or barrier of an array; 0: it is none
};

struct DeviceKernel {
  std::string name, architecture, ptx;
  unsigned threads = 0;
  unsigned registers = 0; ///< of each thread at the start; 0: as the assembler chooses
  std::array<unsigned, 3> cluster = {1, 1, 1};
  uint32_t sharedBytes = 0; ///< dynamic
  unsigned parameterBytes = 0;
  std::vector<ParameterField> fields;
  std::vector<TensorMapRecipe> maps;
  std::vector<RowAlignment> rowAligned;
  std::vector<StorageName> names;
  std::vector<Diagnostic> faults; ///< that threads report by number
  std::vector<PrintStatement> prints;
  unsigned conversions = 0; ///< copies between layouts of registers, in the text
  LaunchProgram launch;

  /// Returns whether a launch may overlap the previous kernel: the code waits for its end.
  bool waitsForPrevious() const { return ptx.find("griddepcontrol.wait") != std::string::npos; }
};

} // namespace penstock

#endif // PENSTOCK_RUNTIME_DEVICEKERNEL_H
