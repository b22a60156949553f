//===- NativeCode.h - Machine code for the host, in memory ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_NATIVECODE_H
#define PENSTOCK_TARGET_X86_NATIVECODE_H

#include "Target/X86/NativeCpu.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>

namespace penstock {

/// A module as an object file, and the LLVM IR that it was generated from as bitcode.
struct NativeObject {
  std::string object, bitcode;
};

/// Compiles a module of the LLVM dialect for a CPU. Returns no value and an error text on
/// failure. Code that is not optimized takes a fifth of the time.
std::optional<NativeObject> generateNativeObject(mlir::ModuleOp module, const NativeCpu &cpu,
                                                 bool optimized, std::string &error);

/// Code of one module, ready to be called.
class NativeCode {
public:
  ~NativeCode();

  /// Links an object into this process. \p symbols are functions of the process that the
  /// code may call. Returns null and an error text on failure.
  static std::unique_ptr<NativeCode>
  link(NativeObject object, llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols,
       std::string &error);

  /// The entry of a packed function.
  using Entry = void (*)(void *slots);
  Entry lookup(llvm::StringRef name);

  /// Returns the LLVM IR of the code, as text.
  std::string llvmIR() const;
  std::string assembly() const;
  const NativeObject &object() const { return source; }

private:
  struct Session;
  NativeCode();

  NativeObject source;
  std::unique_ptr<Session> session;
};

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_NATIVECODE_H
