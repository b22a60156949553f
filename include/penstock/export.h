//===- export.h - What the shared library shows -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPORT_H
#define PENSTOCK_EXPORT_H

#if defined(__clang__) && !defined(__EDG__)
#if __clang_major__ < 16
#error "Penstock needs clang 16 or later, or g++ 12 or later"
#endif
#elif defined(__GNUC__) && !defined(__EDG__)
#if __GNUC__ < 12
#error "Penstock needs g++ 12 or later, or clang 16 or later"
#endif
#endif

#define PENSTOCK_EXPORT __attribute__((visibility("default")))

/// A function that only a mistake calls, with what to write instead: the compiler says so at the
/// line of the call. The functions have no definition.
#ifdef __EDG__
#define PENSTOCK_MISTAKE(TEXT)
#else
#define PENSTOCK_MISTAKE(TEXT) __attribute__((unavailable(TEXT)))
#endif

#endif // PENSTOCK_EXPORT_H
