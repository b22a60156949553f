//===- InterpreterInterface.td - Operations that can run ---*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_INTERFACE
#define PENSTOCK_INTERPRETER_INTERFACE

include "mlir/IR/OpBase.td"

def InterpretableOpInterface : OpInterface<"InterpretableOpInterface"> {
  let cppNamespace = "::penstock::interpreter";
  let description = [{
    What an operation does when the interpreter reaches it. All implementations
    are external models, so that no dialect depends on the interpreter.
  }];
  let methods = [
    InterfaceMethod<
      "Takes the operands from the frame, acts, and puts the results into it.",
      "void", "interpret", (ins "::penstock::interpreter::Frame &":$frame)>
  ];
}

#endif // PENSTOCK_INTERPRETER_INTERFACE
