//===- ExecConvert.cpp - cvt in all its forms -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"

#include <algorithm>
#include <cmath>

namespace penstock::emu {
namespace {

using ptx::Type;

enum Flag : uint8_t { Ftz = 1, Sat = 2, Relu = 4, ToIntegral = 8, Finite = 16 };

bool isInt(Type t) { return t >= Type::B8 && t <= Type::S64; }

uint64_t signExtend(uint64_t bits, unsigned width, bool isSigned) {
  if (width == 64)
    return bits;
  bits &= (uint64_t(1) << width) - 1;
  if (isSigned && bits >> (width - 1) & 1)
    bits |= ~uint64_t(0) << width;
  return bits;
}

double loadFloat(Type t, uint64_t bits, bool ftz) {
  switch (t) {
  case Type::F16:
    return halfToFloat(uint16_t(bits));
  case Type::BF16:
    return bf16ToFloat(uint16_t(bits));
  case Type::F32: {
    uint32_t word = uint32_t(bits);
    if (ftz && !(word & 0x7f800000))
      word &= 0x80000000;
    return std::bit_cast<float>(word);
  }
  default:
    return std::bit_cast<double>(bits);
  }
}

double roundIntegral(double x, Round round) {
  switch (round) {
  case Round::Zero:
    return std::trunc(x);
  case Round::Down:
    return std::floor(x);
  case Round::Up:
    return std::ceil(x);
  default:
    return std::nearbyint(x);
  }
}

uint64_t floatToInt(double x, Type to, Round round) {
  unsigned width = ptx::typeBits(to);
  bool isSigned = ptx::isSigned(to);
  if (std::isnan(x))
    return 0;
  x = roundIntegral(x, round);
  if (isSigned) {
    double limit = std::ldexp(1.0, int(width) - 1);
    int64_t least = int64_t(~uint64_t(0) << (width - 1));
    if (x >= limit)
      return uint64_t(~least);
    if (x < -limit)
      return uint64_t(least);
    return uint64_t(int64_t(x));
  }
  if (x <= 0)
    return 0;
  if (x >= std::ldexp(1.0, int(width)))
    return width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  return uint64_t(x);
}

uint64_t storeFloat(double x, Type to, Round round, uint8_t flags) {
  if (flags & Sat)
    x = std::isnan(x) ? 0 : std::clamp(x, 0.0, 1.0);
  if (flags & Relu && x < 0)
    x = 0;
  switch (to) {
  case Type::F16:
    return encodeFloat(x, formatF16, round, flags & Finite);
  case Type::BF16:
    return encodeFloat(x, formatBF16, round, flags & Finite);
  case Type::F32: {
    float narrow = round == Round::Nearest ? float(x) : narrowRounded(x, round);
    uint32_t word = std::bit_cast<uint32_t>(narrow);
    if (flags & Ftz && !(word & 0x7f800000))
      word &= 0x80000000;
    return word;
  }
  default:
    return std::bit_cast<uint64_t>(x);
  }
}

uint64_t convert(uint64_t bits, Type from, Type to, Round round, uint8_t flags) {
  if (isInt(from)) {
    unsigned width = ptx::typeBits(from);
    bool isSigned = ptx::isSigned(from);
    uint64_t wide = signExtend(bits, width, isSigned);
    if (isInt(to)) {
      unsigned toWidth = ptx::typeBits(to);
      if (flags & Sat) {
        __int128 value = isSigned ? __int128(int64_t(wide)) : __int128(wide);
        __int128 least = ptx::isSigned(to) ? -(__int128(1) << (toWidth - 1)) : 0;
        __int128 most =
            ptx::isSigned(to) ? (__int128(1) << (toWidth - 1)) - 1 : (__int128(1) << toWidth) - 1;
        wide = uint64_t(std::clamp(value, least, most));
      }
      return signExtend(wide, toWidth, ptx::isSigned(to));
    }
    if (to == Type::F32)
      return std::bit_cast<uint32_t>(round == Round::Nearest
                                         ? (isSigned ? float(int64_t(wide)) : float(wide))
                                         : intToFloatRounded(wide, isSigned, round));
    if (to == Type::F64)
      return std::bit_cast<uint64_t>(round == Round::Nearest
                                         ? (isSigned ? double(int64_t(wide)) : double(wide))
                                         : intToDoubleRounded(wide, isSigned, round));
    // To odd first, so that the second rounding is right.
    double exact = isSigned ? double(int64_t(wide)) : double(wide);
    return storeFloat(exact, to, round, flags);
  }
  double x = loadFloat(from, bits, flags & Ftz);
  if (isInt(to))
    return floatToInt(x, to, round);
  if (flags & ToIntegral) {
    x = roundIntegral(x, round);
    round = Round::Nearest;
  }
  return storeFloat(x, to, round, flags);
}

/// Registers hold what the type leaves: narrow integers extended to 32 bits.
void cvt(Exec &ex, const DInst &inst) {
  Type from = Type(inst.imm[0]), to = inst.type;
  Round round = Round(inst.mode);
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t r = convert(ex.value(inst.ops[1], lane), from, to, round, inst.flags);
    if (inst.ops[0].bits == 16)
      r &= 0xffff;
    ex.setValue(inst.ops[0], lane, r);
  });
}

template <class From, class To> void cvtIntFast(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<From>>(inst.ops[1]);
  storeLanes<To>(ex, inst.ops[0], [&](unsigned i) { return To(fromStorage<From>(a[i])); });
}

/// Two f32 into two bf16 or f16; the first source goes to the upper half.
void cvtPack(Exec &ex, const DInst &inst) {
  const FloatFormat &format = inst.type == Type::BF16x2 ? formatBF16 : formatF16;
  Round round = Round(inst.mode);
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  bool fast = round == Round::Nearest && !inst.flags;
  bool bf = inst.type == Type::BF16x2;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    float hi = std::bit_cast<float>(a[i]), lo = std::bit_cast<float>(b[i]);
    if (fast)
      return bf ? uint32_t(floatToBf16(hi)) << 16 | floatToBf16(lo)
                : uint32_t(floatToHalf(hi)) << 16 | floatToHalf(lo);
    auto one = [&](float x) {
      if (inst.flags & Relu && x < 0)
        x = 0;
      return encodeFloat(x, format, round, inst.flags & Finite);
    };
    return one(hi) << 16 | one(lo);
  });
}

const FloatFormat *narrowFormat(Type t, unsigned &bits) {
  switch (t) {
  case Type::E4M3x2:
    bits = 8;
    return &formatE4M3;
  case Type::E5M2x2:
    bits = 8;
    return &formatE5M2;
  case Type::E2M3x2:
    bits = 8;
    return &formatE2M3;
  case Type::E3M2x2:
    bits = 8;
    return &formatE3M2;
  case Type::E2M1x2:
    bits = 4;
    return &formatE2M1;
  default:
    return nullptr;
  }
}

/// To fp8, fp6, fp4 pairs from two f32 or one f16x2.
void cvtToNarrow(Exec &ex, const DInst &inst) {
  unsigned width = 8;
  const FloatFormat &format = *narrowFormat(inst.type, width);
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  bool fromHalves = inst.numOps == 2;
  auto *b = fromHalves ? a : ex.row<uint32_t>(inst.ops[2]);
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    float hi = fromHalves ? halfToFloat(uint16_t(a[i] >> 16)) : std::bit_cast<float>(a[i]);
    float lo = fromHalves ? halfToFloat(uint16_t(a[i])) : std::bit_cast<float>(b[i]);
    auto one = [&](float x) {
      if (inst.flags & Relu && x < 0)
        x = 0;
      return encodeFloat(x, format, Round::Nearest, true);
    };
    return one(hi) << width | one(lo);
  });
}

void cvtFromNarrow(Exec &ex, const DInst &inst) {
  unsigned width = 8;
  const FloatFormat &format = *narrowFormat(Type(inst.imm[0]), width);
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    auto one = [&](uint32_t bits) -> uint32_t {
      float x = decodeFloat(bits & ((1u << width) - 1), format);
      if (inst.flags & Relu && x < 0)
        x = 0;
      return floatToHalf(x);
    };
    return one(a[i] >> width) << 16 | one(a[i]);
  });
}

void cvtScale(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  if (inst.type == Type::BF16x2) {
    storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
      return uint32_t(floatToBf16(decodeUE8M0(uint8_t(a[i] >> 8)))) << 16 |
             floatToBf16(decodeUE8M0(uint8_t(a[i])));
    });
    return;
  }
  bool up = Round(inst.mode) == Round::Up;
  if (inst.numOps == 2) { // from two bf16
    storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
      return uint32_t(encodeUE8M0(bf16ToFloat(uint16_t(a[i] >> 16)), up)) << 8 |
             encodeUE8M0(bf16ToFloat(uint16_t(a[i])), up);
    });
    return;
  }
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    return uint32_t(encodeUE8M0(std::bit_cast<float>(a[i]), up)) << 8 |
           encodeUE8M0(std::bit_cast<float>(b[i]), up);
  });
}

void cvtTf32(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  Round round = Round(inst.mode);
  constexpr FloatFormat format = {8, 10, 127, true, true};
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    float x = std::bit_cast<float>(a[i]);
    if (inst.flags & Relu && x < 0)
      x = 0;
    return encodeFloat(x, format, round, inst.flags & Finite) << 13;
  });
}

/// cvt.pack: two s32 saturated into the low bits, the rest from c.
void cvtPackInt(Exec &ex, const DInst &inst) {
  unsigned width = unsigned(inst.imm[0]);
  bool isSigned = inst.imm[1];
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = inst.numOps > 3 ? ex.row<uint32_t>(inst.ops[3]) : nullptr;
  int64_t least = isSigned ? -(int64_t(1) << (width - 1)) : 0;
  int64_t most = isSigned ? (int64_t(1) << (width - 1)) - 1 : (int64_t(1) << width) - 1;
  uint32_t mask = uint32_t((uint64_t(1) << width) - 1);
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    auto one = [&](uint32_t v) {
      return uint32_t(std::clamp<int64_t>(int32_t(v), least, most)) & mask;
    };
    uint32_t low = one(a[i]) << width | one(b[i]);
    if (width == 16)
      return low;
    return (c ? c[i] << (2 * width) : 0) | low;
  });
}

Round roundOf(const ptx::Instruction &inst) {
  if (inst.has(".rz") || inst.has(".rzi"))
    return Round::Zero;
  if (inst.has(".rm") || inst.has(".rmi"))
    return Round::Down;
  if (inst.has(".rp") || inst.has(".rpi"))
    return Round::Up;
  if (inst.has(".rna"))
    return Round::NearestAway;
  return Round::Nearest;
}

bool decodeCvt(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  Type to = inst.type(0), from = inst.type(1);
  out.type = to;
  out.imm[0] = uint64_t(from);
  out.mode = uint8_t(roundOf(inst));
  bool integral = inst.has(".rni") || inst.has(".rzi") || inst.has(".rmi") || inst.has(".rpi");
  out.flags = uint8_t((inst.has(".ftz") ? Ftz : 0) | (inst.has(".sat") ? Sat : 0) |
                      (inst.has(".relu") ? Relu : 0) | (inst.has(".satfinite") ? Finite : 0) |
                      (integral ? ToIntegral : 0));
  unsigned bits = std::max(16u, ptx::typeBits(from));
  if (to == Type::F16x2 && from == Type::F16x2)
    return d.fail(inst, "this conversion is not executed");
  if (!d.plain(inst, out, bits))
    return false;
  unsigned width;
  if (to == Type::TF32)
    out.run = cvtTf32;
  else if (to == Type::UE8M0x2 || from == Type::UE8M0x2)
    out.run = cvtScale;
  else if (narrowFormat(to, width))
    out.run = cvtToNarrow;
  else if (narrowFormat(from, width))
    out.run = cvtFromNarrow;
  else if (to == Type::F16x2 || to == Type::BF16x2)
    out.run = cvtPack;
  else
    out.run = cvt;
  if (out.run == cvt && !out.flags) {
    // The address arithmetic of every kernel.
    if (to == Type::U64 && from == Type::U32)
      out.run = cvtIntFast<uint32_t, uint64_t>;
    else if (to == Type::S64 && from == Type::S32)
      out.run = cvtIntFast<int32_t, int64_t>;
    else if (to == Type::U32 && from == Type::U64)
      out.run = cvtIntFast<uint64_t, uint32_t>;
    if (out.run != cvt &&
        (out.ops[0].bits != ptx::typeBits(to) || out.ops[1].bits != ptx::typeBits(from)))
      out.run = cvt;
  }
  return true;
}

bool decodeCvtPack(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.imm[0] = ptx::typeBits(inst.type(0));
  out.imm[1] = ptx::isSigned(inst.type(0));
  out.run = cvtPackInt;
  return d.plain(inst, out, 32);
}

} // namespace

void addConvert(DecodeTable &table) {
  table["cvt"] = decodeCvt;
  table["cvt.pack"] = decodeCvtPack;
}

} // namespace penstock::emu
