//===- CachedCompile.h - Compiling through a cache --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_CACHEDCOMPILE_H
#define PENSTOCK_COMPILER_CACHEDCOMPILE_H

#include "Compiler/Compiler.h"
#include "Compiler/LocationTable.h"
#include "penstock/cache.h"

namespace penstock {

/// Everything that a compiled kernel depends on, as text; empty if it cannot be cached.
/// \p program is the printed module.
std::string cacheKey(llvm::StringRef kernel, const std::string &program,
                     const LocationTable &locations, const BackendOptions &options);

/// Like compileProgram. A kernel that \p cache has is loaded from it, others are stored in it
/// after they have been compiled; null: KernelCache::process().
detail::ExecutableRef compileCached(KernelCache *cache, PooledContext context,
                                    mlir::OwningOpRef<mlir::ModuleOp> module,
                                    llvm::StringRef kernel, const BackendOptions &options,
                                    std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_COMPILER_CACHEDCOMPILE_H
