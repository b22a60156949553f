//===- DLPack.cpp - Does a foreign tensor fit a view? ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/dlpack.h"
#include "Diagnostics/Codes.h"
#include "Runtime/KernelInfo.h"

using namespace penstock;

namespace {

// Numbers of DLPack that its older headers do not name yet.
enum Code {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3FN = 10,
  Float8E5M2 = 12,
  Float8E8M0FNU = 14,
  Float6E2M3FN = 15,
  Float6E3M2FN = 16,
  Float4E2M1FN = 17
};

/// Returns whether a byte holds two values of 4 bits.
bool isPair(const detail::ForeignTensor &tensor) { return tensor.bits == 4 && tensor.lanes == 2; }

bool isOf(Element element, const detail::ForeignTensor &tensor) {
  bool whole = tensor.code == Int || tensor.code == UInt;
  switch (element) {
  case Element::f16:
  case Element::f32:
  case Element::f64:
    return tensor.code == Float;
  case Element::bf16:
    return tensor.code == BFloat;
  case Element::f8e4m3:
    return tensor.code == Float8E4M3FN;
  case Element::f8e5m2:
    return tensor.code == Float8E5M2;
  case Element::f8e8m0:
    return tensor.code == Float8E8M0FNU;
  case Element::f4e2m1x2: // bytes, too: few producers have a type of 4 bits
    return tensor.code == (isPair(tensor) ? Float4E2M1FN : UInt);
  case Element::i4x2:
    return isPair(tensor) ? tensor.code == Int : whole;
  case Element::f6e2m3_packed: // bytes only: those of 6-bit types may be padded
  case Element::f6e3m2_packed:
    return tensor.code == UInt;
  case Element::i1:
    return tensor.code == Bool;
  case Element::i8:
  case Element::i16:
  case Element::i32:
  case Element::i64:
    return whole;
  case Element::index:
    break;
  }
  return false;
}

std::string typeName(const detail::ForeignTensor &tensor) {
  static constexpr std::pair<int, const char *> names[] = {{Int, "int"},
                                                           {UInt, "uint"},
                                                           {Float, "float"},
                                                           {BFloat, "bfloat"},
                                                           {Bool, "bool"},
                                                           {Float8E4M3FN, "float8_e4m3fn "},
                                                           {Float8E5M2, "float8_e5m2 "},
                                                           {Float8E8M0FNU, "float8_e8m0fnu "},
                                                           {Float6E2M3FN, "float6_e2m3fn "},
                                                           {Float6E3M2FN, "float6_e3m2fn "},
                                                           {Float4E2M1FN, "float4_e2m1fn "}};
  std::string name = "type code " + std::to_string(tensor.code) + ", bits ";
  for (const auto &[code, text] : names)
    if (code == tensor.code)
      name = text;
  name += std::to_string(tensor.bits);
  return tensor.lanes == 1 ? name : name + " x " + std::to_string(tensor.lanes);
}

} // namespace

std::vector<Diagnostic> detail::checkForeign(const ForeignTensor &tensor, Element element, int rank,
                                             Loc at) {
  std::vector<Diagnostic> result;
  auto error = [&](unsigned code, std::string message, std::string help) {
    Diagnostic d;
    d.code = code;
    d.location = {at.file, at.line, at.column};
    d.message = std::move(message);
    d.helps.push_back(std::move(help));
    result.push_back(std::move(d));
  };
  // Host memory, memory that CUDA or ROCm pinned on the host, CUDA devices, and memory
  // that CUDA moves between them.
  if (tensor.device != 1 && tensor.device != 3 && tensor.device != 11 && tensor.device != 2 &&
      tensor.device != 13)
    error(LaunchTarget,
          "this DLPack tensor lies on device " + std::to_string(tensor.deviceNumber) + " of type " +
              std::to_string(tensor.device) +
              "; kernels take tensors of the host and of CUDA devices",
          "copy it to the host or to a CUDA device first");
  if (int(tensor.shape.size()) != rank)
    error(LaunchRank,
          "this DLPack tensor has rank " + std::to_string(tensor.shape.size()) + ", the view has " +
              std::to_string(rank),
          "ask for view<T, " + std::to_string(tensor.shape.size()) + ">");
  bool packed = element == Element::f4e2m1x2 || element == Element::i4x2;
  bool sized =
      (packed && isPair(tensor)) || (tensor.lanes == 1 && tensor.bits == int(bytesOf(element)) * 8);
  if (!isOf(element, tensor) || !sized)
    error(LaunchRank,
          "this DLPack tensor holds " + typeName(tensor) + ", the view " + nameOf(element),
          "ask for a view of the tensor's own type, or convert the tensor");
  return result;
}
