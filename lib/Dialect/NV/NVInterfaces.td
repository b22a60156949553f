//===- NVInterfaces.td - Execution of operations -----------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_INTERFACES
#define PENSTOCK_NV_INTERFACES

include "mlir/IR/OpBase.td"

def NV_HardwareOpInterface : OpInterface<"HardwareOpInterface"> {
  let cppNamespace = "::penstock::nv";
  let description = [{
    Describes the issuer, accesses and completion of an operation. Every operation of
    `nv` implements it. The verifier, the barrier check, the insertion of barriers and
    the lowering use it, so that an operation has one description.
  }];
  let methods = [
    InterfaceMethod<
      "Threads of the scope that issue the operation.",
      "::penstock::nv::Issuer", "getIssuer">,
    InterfaceMethod<
      "Completion of the operation's accesses.",
      "::penstock::nv::Completion", "getCompletion">,
    InterfaceMethod<
      "Queue that the operation's accesses complete in, or that it closes, commits or "
      "awaits.",
      "std::optional<::penstock::nv::Queue>", "getQueue">,
    InterfaceMethod<
      "Synchronization of threads with each other or with engines.",
      "::penstock::nv::Synchronization", "getSynchronization">,
    InterfaceMethod<
      "Architectures that have the operation.",
      "::penstock::nv::Availability", "getAvailability">,
    InterfaceMethod<
      "Appends the accesses of this operation to tiles and tensors.",
      "void", "getAccesses",
      (ins "::llvm::SmallVectorImpl<::penstock::nv::HardwareAccess> &":$accesses), "",
      "(void)accesses;">,
    InterfaceMethod<
      "The mbarrier of the operation, if it has one.",
      "std::optional<::penstock::nv::BarrierOperand>", "getBarrierOperand", (ins), "",
      "return std::nullopt;">,
    InterfaceMethod<
      "Groups that an operation that awaits groups leaves in flight.",
      "int64_t", "getPendingGroups", (ins), "", "return 0;">
  ];
  let verify = [{
    return ::penstock::nv::verifyIssuer(::llvm::cast<HardwareOpInterface>($_op));
  }];
}

#endif // PENSTOCK_NV_INTERFACES
