//===- export.h - Visibility and compile-time errors ------------*- C++ -*-===//
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

/// Marks a function whose call is an error. The compiler prints TEXT, the fix, at the line of
/// the call. The functions have no definition.
#ifdef __EDG__
#define PENSTOCK_MISUSE(TEXT)
#else
#define PENSTOCK_MISUSE(TEXT) __attribute__((unavailable(TEXT)))
#endif

#endif // PENSTOCK_EXPORT_H
