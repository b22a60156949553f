//===- NVOpBase.td - Classes of operations of nv -----------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_OP_BASE
#define PENSTOCK_NV_OP_BASE

include "Dialect/NV/NVDialect.td"
include "Dialect/NV/NVInterfaces.td"
include "Dialect/Tile/TileAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// An operation with its description for HardwareOpInterface: the enumerators of
/// Execution.h by name.
class NV_Op<string mnemonic, string issuer, list<Trait> traits = []>
    : Op<NV_Dialect, mnemonic, !listconcat([NV_HardwareOpInterface], traits)> {
  string availability = "Sm90AndLater";
  string completion = "Immediate";
  string queue = "";
  string synchronization = "None";
  /// Set for an operation that accesses tiles: `getAccesses` is in NVAccess.cpp.
  bit hasAccesses = 0;
  /// Further declarations of the C++ class.
  string declarations = "";
  let extraClassDeclaration =
      "::penstock::nv::Issuer getIssuer() { return Issuer::" # issuer # "; }\n" #
      "::penstock::nv::Completion getCompletion() { return Completion::" # completion # "; }\n" #
      "std::optional<::penstock::nv::Queue> getQueue() { return " #
          !if(!empty(queue), "std::nullopt", "Queue::" # queue) # "; }\n" #
      "::penstock::nv::Synchronization getSynchronization() { return Synchronization::" #
          synchronization # "; }\n" #
      "::penstock::nv::Availability getAvailability() { return Availability::" #
          availability # "; }\n" #
      !if(hasAccesses, "void getAccesses(::llvm::SmallVectorImpl<HardwareAccess> &accesses);\n",
          "") # declarations;
}

/// An operation that nothing may be moved across.
class NV_EffectOp<string mnemonic, string issuer, list<Trait> traits = []>
    : NV_Op<mnemonic, issuer, !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>])>;

class NV_ScopeOp<string mnemonic, list<Trait> traits = []>
    : NV_Op<mnemonic, "EachThread", !listconcat(traits, [
        SingleBlock, RecursiveMemoryEffects, NoRegionArguments,
        SingleBlockImplicitTerminator<"EndOp">])>;

/// An operation on an mbarrier, with operands `barriers` and `index`.
class NV_BarrierOp<string mnemonic, string issuer, list<Trait> traits = []>
    : NV_EffectOp<mnemonic, issuer, traits> {
  /// The operand `multicast`, if there is one.
  string multicast = "::mlir::Value()";
  bit firstOfPair = 0;
  let declarations =
      "std::optional<::penstock::nv::BarrierOperand> getBarrierOperand() {\n" #
      "  return BarrierOperand{getBarriers(), getIndex(), " # multicast # ", " #
      !if(firstOfPair, "true", "false") # "};\n}\n";
  let hasVerifier = 1;
}

/// Makes the operations of a queue so far a group.
class NV_CloseGroupOp<string mnemonic, string issuer> : NV_EffectOp<mnemonic, issuer> {
  let synchronization = "CloseGroup";
  let assemblyFormat = "attr-dict";
}

/// Waits until at most `pending` groups of a queue are in flight.
class NV_AwaitGroupsOp<string mnemonic, string issuer> : NV_EffectOp<mnemonic, issuer> {
  let synchronization = "AwaitGroups";
  let declarations = "int64_t getPendingGroups() { return getPending(); }\n";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

#endif // PENSTOCK_NV_OP_BASE
