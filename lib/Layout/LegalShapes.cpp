//===- LegalShapes.cpp - Shapes that the hardware supports ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/LegalShapes.h"

namespace penstock::layout {
namespace {

using Refusal = std::optional<std::string>;

/// Types of one kind may be multiplied with each other.
enum class Kind { F16, TF32, F8, I8, F4, Padded };

Kind kindOf(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    return Kind::F16;
  case MmaType::TF32:
    return Kind::TF32;
  case MmaType::E4M3:
  case MmaType::E5M2:
    return Kind::F8;
  case MmaType::S8:
  case MmaType::U8:
    return Kind::I8;
  case MmaType::E2M1x2:
    return Kind::F4;
  case MmaType::E2M3:
  case MmaType::E3M2:
  case MmaType::E2M1:
    return Kind::Padded;
  }
  return Kind::F16;
}

std::string quoted(MmaType type) { return std::string("`") + nameOf(type) + "`"; }
std::string quoted(AccType type) { return std::string("`") + nameOf(type) + "`"; }

/// Which accumulators there are for a product.
Refusal refuseAccumulator(MmaType a, MmaType b, AccType d) {
  Kind kind = kindOf(a);
  bool ok = false;
  if (kind == Kind::I8)
    ok = d == AccType::S32;
  else if (d == AccType::F32)
    ok = true;
  else if (d == AccType::F16)
    ok = kind == Kind::F8 || (a == MmaType::F16 && b == MmaType::F16);
  if (ok)
    return std::nullopt;
  return "a product of " + quoted(a) + " and " + quoted(b) + " cannot be accumulated in " +
         quoted(d);
}

Refusal refuseN(int n, int least, int step, const std::string &what) {
  if (n >= least && n <= 256 && n % step == 0)
    return std::nullopt;
  return "n is " + std::to_string(n) + ", but " + what + " needs a multiple of " +
         std::to_string(step) + " from " + std::to_string(least) + " to 256";
}

/// Integer products of one CTA or warpgroup: 8 and 24 are the odd ones.
Refusal refuseIntegerN(int n, const std::string &what) {
  if (n == 8 || n == 24 || (n > 0 && n <= 256 && n % 16 == 0))
    return std::nullopt;
  return "n is " + std::to_string(n) + ", but " + what +
         " with integers needs 8, 24 or a multiple of 16 up to 256";
}

} // namespace

Refusal refuseWgmma(int m, int n, MmaType a, MmaType b, AccType d, Major aMajor, Major bMajor) {
  if (m != 64)
    return "m is " + std::to_string(m) + ", but wgmma has 64 rows";
  bool bytes = kindOf(a) == Kind::F8 && kindOf(b) == Kind::F8;
  if (a != b && !bytes)
    return "wgmma cannot multiply " + quoted(a) + " by " + quoted(b);
  if (Refusal refusal = refuseAccumulator(a, b, d))
    return refusal;
  if (Refusal refusal =
          kindOf(a) == Kind::I8 ? refuseIntegerN(n, "wgmma") : refuseN(n, 8, 8, "wgmma"))
    return refusal;
  if ((aMajor == Major::MN || bMajor == Major::MN) && elementBits(a) != 16)
    return "wgmma reads " + quoted(aMajor == Major::MN ? a : b) +
           " only K-major; MN-major operands have 16-bit elements";
  return std::nullopt;
}

Refusal refuseTcgen05(int ctas, int m, int n, MmaType a, MmaType b, AccType d, Major aMajor,
                      Major bMajor) {
  if (ctas != 1 && ctas != 2)
    return "tcgen05.mma is executed by 1 or 2 CTAs, not " + std::to_string(ctas);
  std::string what = ctas == 1 ? "tcgen05.mma of 1 CTA" : "tcgen05.mma of 2 CTAs";
  int least = 64 * ctas;
  if (m != least && m != 2 * least)
    return "m is " + std::to_string(m) + ", but " + what + " has " + std::to_string(least) +
           " or " + std::to_string(2 * least) + " rows";
  if (kindOf(a) != kindOf(b))
    return "tcgen05.mma cannot multiply " + quoted(a) + " by " + quoted(b);
  if (Refusal refusal = refuseAccumulator(a, b, d))
    return refusal;
  if (kindOf(a) == Kind::TF32 && (aMajor == Major::MN || bMajor == Major::MN))
    return std::string("`tf32` is read MN-major only with a swizzle of 32-byte atoms, which no "
                       "tile has; it must be K-major");
  if (kindOf(a) == Kind::I8)
    return ctas == 1 ? refuseIntegerN(n, what) : refuseN(n, 32, 32, what + " with integers");
  int step = 8 * ctas;
  if (kindOf(a) == Kind::F8 && bMajor == Major::MN) {
    step *= 2;
    what += " with an MN-major 8-bit B";
  }
  return refuseN(n, step, step, what);
}

Refusal refuseScaledTcgen05(int m, int n, MmaType a, MmaType b, AccType d, Major aMajor,
                            Major bMajor, int block) {
  auto isByte = [](MmaType type) {
    return kindOf(type) == Kind::F8 || kindOf(type) == Kind::Padded;
  };
  bool f4 = a == MmaType::E2M1x2 && b == a;
  if (!f4 && !(isByte(a) && isByte(b)))
    return "tcgen05.mma with scales cannot multiply " + quoted(a) + " by " + quoted(b);
  if (d != AccType::F32)
    return std::string("tcgen05.mma with scales accumulates in f32");
  if (block != 32 && !(f4 && block == 16))
    return "a scale of `" + std::string(nameOf(a)) + "` belongs to " + (f4 ? "16 or 32" : "32") +
           " values, not " + std::to_string(block);
  if (m != 128)
    return "m is " + std::to_string(m) + ", but tcgen05.mma with scales has 128 rows";
  if (n != 128 && n != 256)
    return "n is " + std::to_string(n) + ", but scales are those of 128 or 256 columns";
  if (aMajor != Major::K || bMajor != Major::K)
    return std::string("operands of tcgen05.mma with scales are K-major");
  return std::nullopt;
}

Refusal refuseTmaBox(int elementBits, const std::vector<int64_t> &box, Swizzle swizzle) {
  if (box.empty() || box.size() > 5)
    return "a tensor map has 1 to 5 dimensions, not " + std::to_string(box.size());
  if (elementBits != 8 && elementBits != 16 && elementBits != 32 && elementBits != 64)
    return "a tensor map has elements of 8, 16, 32 or 64 bits, not " + std::to_string(elementBits);
  for (int64_t extent : box)
    if (extent < 1 || extent > 256)
      return "a box has 1 to 256 elements along each dimension, not " + std::to_string(extent);
  int64_t inner = box[0] * elementBits / 8;
  if (inner % 16 != 0)
    return "the fastest dimension of a box has a multiple of 16 bytes, not " +
           std::to_string(inner);
  if (swizzle != Swizzle::None && inner > spanBytes(swizzle))
    return "the fastest dimension of a box has " + std::to_string(inner) +
           " bytes, more than the " + std::to_string(spanBytes(swizzle)) +
           " that the swizzle permutes";
  return std::nullopt;
}

int64_t tmaBoxRows(int64_t rows) {
  constexpr int64_t most = 256, patternRows = 8;
  if (rows <= most)
    return rows;
  for (int64_t part = most; part > 0; part -= patternRows)
    if (rows % part == 0)
      return part;
  return 0;
}

Refusal refuseTmaTile(const SharedTile &tile) {
  Swizzle swizzle = tile.linear ? Swizzle::None : tile.swizzle;
  int64_t rows = tmaBoxRows(tile.rows);
  if (Refusal refusal =
          refuseTmaBox(tile.elementBits, {tile.chunkCols(), rows ? rows : tile.rows}, swizzle))
    return refusal;
  constexpr int64_t destination = 128;
  if (tile.chunks() > 1 && tile.chunkBytes() % destination != 0)
    return "a copy by TMA starts at a multiple of " + std::to_string(destination) +
           " bytes, but the chunks of " + std::to_string(tile.rows) + " rows have " +
           std::to_string(tile.chunkBytes());
  return std::nullopt;
}

Refusal refuseTensorMemoryColumns(int64_t columns) {
  if (columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0)
    return std::nullopt;
  return "tensor memory is allocated by 32, 64, 128, 256 or 512 columns, not " +
         std::to_string(columns);
}

} // namespace penstock::layout
