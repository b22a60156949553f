//===- Checksum.h - SHA-256 -------------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ARTIFACT_CHECKSUM_H
#define PENSTOCK_ARTIFACT_CHECKSUM_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// SHA-256 of FIPS 180-4.
std::array<uint8_t, 32> sha256(std::string_view bytes);
/// The same in lowercase hexadecimal.
std::string hexDigest(std::string_view bytes);

} // namespace penstock

#endif // PENSTOCK_ARTIFACT_CHECKSUM_H
