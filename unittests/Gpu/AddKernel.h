//===- AddKernel.h - A kernel written by hand -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of launches in builds without the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_GPU_ADDKERNEL_H
#define PENSTOCK_UNITTESTS_GPU_ADDKERNEL_H

#include "Cuda/Launch.h"

namespace penstock::test {

/// y = x + increment, with PTX at the start and at the end of each thread.
inline Artifact addArtifact(const std::string &name = "Add", const std::string &begin = "",
                            const std::string &end = "") {
  Artifact artifact;
  artifact.info.name = name;
  ArgumentInfo x, increment, y;
  x.name = "x";
  x.tensor = y.tensor = true;
  x.element = y.element = increment.element = Element::i32;
  x.rank = y.rank = 1;
  x.sizes = y.sizes = {"N"};
  increment.name = "increment";
  y.name = "y";
  y.written = true;
  artifact.info.arguments = {x, increment, y};
  DeviceKernel kernel;
  kernel.name = name;
  kernel.architecture = "sm_90a";
  kernel.threads = 32;
  kernel.parameterBytes = 32;
  kernel.fields = {{ParameterField::Address, 0, 0, 0},
                   {ParameterField::Address, 2, 0, 8},
                   {ParameterField::Size, 0, 0, 16},
                   {ParameterField::Scalar, 1, 0, 24}};
  kernel.launch.steps = {{LaunchStep::Size, 0, 0, 0, 0},
                         {LaunchStep::Constant, 0, 0, 0, 32},
                         {LaunchStep::CeilDivS, 0, 1, 0, 0},
                         {LaunchStep::Constant, 0, 0, 0, 1}};
  kernel.launch.results = {2, 3, 3};
  kernel.ptx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry )" +
               name +
               R"((.param .align 64 .b8 p[32])
{
  .reg .b64 %x, %y, %n, %i, %at;
  .reg .b32 %t, %c, %v, %increment;
  .reg .pred %outside;
  )" + begin + R"(
  ld.param.u64 %x, [p];
  ld.param.u64 %y, [p+8];
  ld.param.u64 %n, [p+16];
  ld.param.u32 %increment, [p+24];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, 32, %t;
  cvt.u64.u32 %i, %t;
  setp.ge.u64 %outside, %i, %n;
  @%outside bra END;
  shl.b64 %at, %i, 2;
  add.u64 %x, %x, %at;
  add.u64 %y, %y, %at;
  ld.global.u32 %v, [%x];
  add.u32 %v, %v, %increment;
  st.global.u32 [%y], %v;
END:
  )" + end + R"(
  ret;
}
)";
  artifact.variants = {kernel};
  return artifact;
}

inline detail::Argument vectorAt(cuda::DevicePointer address, int64_t size) {
  detail::Argument argument;
  argument.tensor = true;
  argument.element = Element::i32;
  argument.data = reinterpret_cast<void *>(address);
  argument.sizes = {size};
  argument.strides = {1};
  return argument;
}

} // namespace penstock::test

#endif // PENSTOCK_UNITTESTS_GPU_ADDKERNEL_H
