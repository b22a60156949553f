//===- NativeCode.h - Machine code for the host, in memory ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_NATIVECODE_H
#define PENSTOCK_TARGET_X86_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace penstock {

/// Width in bits of the vector registers that the host is best used with.
unsigned hostVectorBits();

/// Code of one module, ready to be called.
class NativeCode {
public:
  NativeCode();
  ~NativeCode();

  /// Compiles a module of the LLVM dialect. \p symbols are functions of the
  /// process that the code may call. Gives null and an error text on failure.
  /// Code that is not optimized is there in a fifth of the time.
  static std::unique_ptr<NativeCode>
  compile(mlir::ModuleOp module, llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols,
          bool optimized, std::string &error);

  /// The entry of a packed function.
  using Entry = void (*)(void *slots);
  Entry lookup(llvm::StringRef name);

  /// What the code was made of, as text.
  std::string llvmIR() const;
  std::string assembly() const;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  /// The module after optimization: writing it as text takes much longer, and is
  /// rarely asked for.
  llvm::SmallVector<char, 0> bitcode;
};

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_NATIVECODE_H
