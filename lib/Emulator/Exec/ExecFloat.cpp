//===- ExecFloat.cpp - Floating-point arithmetic --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 and f64 are the host's; f16 and bf16 are computed in f32, where one
// operation rounds correctly, or in double rounded to odd for fma. Approximate
// functions (ex2, lg2, sin, tanh, ...) give the host's more exact result.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"

#include <cmath>

namespace penstock::emu {
namespace {

enum Flag : uint8_t { Ftz = 1, Sat = 2, Relu = 4, PropagateNaN = 8, AbsArg = 16, XorSign = 32 };

enum class Op : uint8_t {
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  Min,
  Max,
  Abs,
  Neg,
  Rcp,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Lg2,
  Ex2,
  Tanh,
  CopySign
};

inline float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
inline double flush(double x) { return x; }

template <class T> T minMax(T a, T b, bool isMax, uint8_t flags) {
  bool negative = std::signbit(a) != std::signbit(b);
  if (flags & AbsArg) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  if (std::isnan(a) || std::isnan(b)) {
    if (flags & PropagateNaN || (std::isnan(a) && std::isnan(b)))
      return T(NAN);
    return std::isnan(a) ? b : a;
  }
  T r;
  if (a == b) // -0 is below +0
    r = std::signbit(a) == isMax ? b : a;
  else
    r = (a < b) != isMax ? a : b;
  if (flags & XorSign)
    r = std::copysign(r, negative ? T(-1) : T(1));
  return r;
}

template <class T> T compute(Op op, Round round, uint8_t flags, T a, T b, T c) {
  bool directed = round != Round::Nearest;
  switch (op) {
  case Op::Add:
    return directed ? addRounded(a, b, round) : a + b;
  case Op::Sub:
    return directed ? addRounded(a, -b, round) : a - b;
  case Op::Mul:
    return directed ? mulRounded(a, b, round) : a * b;
  case Op::Fma:
    return directed ? fmaRounded(a, b, c, round) : std::fma(a, b, c);
  case Op::Div:
    return directed ? divRounded(a, b, round) : a / b;
  case Op::Min:
    return minMax(a, b, false, flags);
  case Op::Max:
    return minMax(a, b, true, flags);
  case Op::Abs:
    return std::fabs(a);
  case Op::Neg:
    return -a;
  case Op::Rcp:
    return directed ? divRounded(T(1), a, round) : T(1) / a;
  case Op::Sqrt:
    return directed ? sqrtRounded(a, round) : std::sqrt(a);
  case Op::Rsqrt:
    return T(1) / std::sqrt(a);
  case Op::Sin:
    return std::sin(a);
  case Op::Cos:
    return std::cos(a);
  case Op::Lg2:
    return std::log2(a);
  case Op::Ex2:
    return std::exp2(a);
  case Op::Tanh:
    return std::tanh(a);
  case Op::CopySign:
    return std::copysign(b, a);
  }
  return a;
}

template <class T> T saturate(T x) {
  return std::isnan(x) ? T(0) : x < 0 ? T(0) : x > 1 ? T(1) : x;
}

// Fast paths without any modifier.
struct AddF {
  template <class T> static T apply(T a, T b) { return a + b; }
};
struct SubF {
  template <class T> static T apply(T a, T b) { return a - b; }
};
struct MulF {
  template <class T> static T apply(T a, T b) { return a * b; }
};

template <class T> void general(Exec &ex, const DInst &inst) {
  Op op = Op(inst.mode);
  Round round = Round(inst.imm[0]);
  uint8_t flags = inst.flags;
  using S = Storage<T>;
  auto *a = ex.row<S>(inst.ops[1]);
  auto *b = inst.numOps > 2 ? ex.row<S>(inst.ops[2]) : a;
  auto *c = inst.numOps > 3 ? ex.row<S>(inst.ops[3]) : a;
  bool three = inst.numOps > 3 && (op == Op::Min || op == Op::Max);
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    T x = fromStorage<T>(a[i]), y = fromStorage<T>(b[i]), z = fromStorage<T>(c[i]);
    if (flags & Ftz)
      x = flush(x), y = flush(y), z = flush(z);
    T r = compute(op, round, flags, x, y, z);
    if (three)
      r = compute(op, round, flags, r, z, z);
    if (flags & Ftz)
      r = flush(r);
    if (flags & Sat)
      r = saturate(r);
    return r;
  });
}

/// Two f32 in a 64-bit register.
void generalF32x2(Exec &ex, const DInst &inst) {
  Op op = Op(inst.mode);
  Round round = Round(inst.imm[0]);
  auto *a = ex.row<uint64_t>(inst.ops[1]);
  auto *b = ex.row<uint64_t>(inst.ops[2]);
  auto *c = inst.numOps > 3 ? ex.row<uint64_t>(inst.ops[3]) : a;
  storeLanes<uint64_t>(ex, inst.ops[0], [&](unsigned i) {
    uint64_t r = 0;
    for (int h = 0; h < 2; ++h) {
      auto part = [&](uint64_t v) {
        float x = std::bit_cast<float>(uint32_t(v >> (32 * h)));
        return inst.flags & Ftz ? flush(x) : x;
      };
      float x = compute(op, round, inst.flags, part(a[i]), part(b[i]), part(c[i]));
      if (inst.flags & Ftz)
        x = flush(x);
      r |= uint64_t(std::bit_cast<uint32_t>(x)) << (32 * h);
    }
    return r;
  });
}

/// f16 and bf16, one or two in a register.
template <bool Bf, bool Packed> void generalHalf(Exec &ex, const DInst &inst) {
  Op op = Op(inst.mode);
  uint8_t flags = inst.flags;
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = inst.numOps > 2 ? ex.row<uint32_t>(inst.ops[2]) : a;
  auto *c = inst.numOps > 3 ? ex.row<uint32_t>(inst.ops[3]) : a;
  auto one = [&](uint16_t x, uint16_t y, uint16_t z) -> uint16_t {
    if (op == Op::Neg)
      return uint16_t(x ^ 0x8000);
    if (op == Op::Abs)
      return uint16_t(x & 0x7fff);
    auto widen = [&](uint16_t h) {
      float v = Bf ? bf16ToFloat(h) : halfToFloat(h);
      if (!Bf && flags & Ftz && std::fabs(v) < 0x1p-14f)
        v = std::copysign(0.0f, v);
      return v;
    };
    float fx = widen(x), fy = widen(y), fz = widen(z);
    uint16_t r;
    if (op == Op::Fma) {
      double odd = fmaToOdd(fx, fy, fz);
      if (flags & Sat)
        odd = saturate(odd);
      if (flags & Relu && !(odd > 0) && !std::isnan(odd))
        odd = 0;
      r = uint16_t(encodeFloat(odd, Bf ? formatBF16 : formatF16, Round::Nearest, false));
    } else {
      float v = compute(op, Round::Nearest, flags, fx, fy, fz);
      if (flags & Sat)
        v = saturate(v);
      r = Bf ? floatToBf16(v) : floatToHalf(v);
    }
    if (!Bf && flags & Ftz && (r & 0x7c00) == 0)
      r &= 0x8000;
    return r;
  };
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint32_t r = one(uint16_t(a[i]), uint16_t(b[i]), uint16_t(c[i]));
    if (Packed)
      r |= uint32_t(one(uint16_t(a[i] >> 16), uint16_t(b[i] >> 16), uint16_t(c[i] >> 16))) << 16;
    return r;
  });
}

/// f32 arithmetic whose first operands are f16 or bf16.
template <bool Bf> void generalMixed(Exec &ex, const DInst &inst) {
  Op op = Op(inst.mode);
  Round round = Round(inst.imm[0]);
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[inst.numOps - 1]);
  auto widen = [](uint32_t half) {
    return Bf ? bf16ToFloat(uint16_t(half)) : halfToFloat(uint16_t(half));
  };
  storeLanes<float>(ex, inst.ops[0], [&](unsigned i) {
    float last = std::bit_cast<float>(c[i]);
    float r = op == Op::Fma ? compute(op, round, inst.flags, widen(a[i]), widen(b[i]), last)
                            : compute(op, round, inst.flags, widen(a[i]), last, last);
    return inst.flags & Sat ? saturate(r) : r;
  });
}

struct NamedOp {
  const char *name;
  Op op;
};
constexpr NamedOp namedOps[] = {
    {"add", Op::Add},     {"sub", Op::Sub},   {"mul", Op::Mul},           {"fma", Op::Fma},
    {"mad", Op::Fma},     {"div", Op::Div},   {"min", Op::Min},           {"max", Op::Max},
    {"abs", Op::Abs},     {"neg", Op::Neg},   {"rcp", Op::Rcp},           {"sqrt", Op::Sqrt},
    {"rsqrt", Op::Rsqrt}, {"sin", Op::Sin},   {"cos", Op::Cos},           {"lg2", Op::Lg2},
    {"ex2", Op::Ex2},     {"tanh", Op::Tanh}, {"copysign", Op::CopySign},
};

} // namespace

bool decodeFloatArith(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  for (const NamedOp &each : namedOps)
    if (inst.form->name == each.name)
      out.mode = uint8_t(each.op);
  Op op = Op(out.mode);
  out.flags = uint8_t((inst.has(".ftz") ? Ftz : 0) | (inst.has(".sat") ? Sat : 0) |
                      (inst.has(".relu") ? Relu : 0) | (inst.has(".NaN") ? PropagateNaN : 0) |
                      (inst.has(".abs") && inst.form->name != "abs" ? AbsArg : 0) |
                      (inst.has(".xorsign") ? XorSign : 0));
  Round round = inst.has(".rz")   ? Round::Zero
                : inst.has(".rm") ? Round::Down
                : inst.has(".rp") ? Round::Up
                                  : Round::Nearest;
  out.imm[0] = uint64_t(round);
  if (inst.has(".f32") && (inst.has(".f16") || inst.has(".bf16"))) {
    std::vector<Opnd> ops(inst.operands.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      bool wide = i + 1 == ops.size();
      if (!(i == 0 ? d.destination(inst, inst.operands[i], ops[i])
                   : d.source(inst, inst.operands[i], wide ? 32 : 16, ops[i], wide)))
        return false;
    }
    d.setOperands(out, std::move(ops));
    out.run = inst.has(".bf16") ? generalMixed<true> : generalMixed<false>;
    return true;
  }
  if (!d.plain(inst, out, ptx::typeBits(t), t == ptx::Type::F32 || t == ptx::Type::F64))
    return false;
  switch (t) {
  case ptx::Type::F32:
    out.run = general<float>;
    if (!out.flags && round == Round::Nearest) {
      if (op == Op::Add)
        out.run = binary<AddF, float>;
      else if (op == Op::Sub)
        out.run = binary<SubF, float>;
      else if (op == Op::Mul)
        out.run = binary<MulF, float>;
    }
    break;
  case ptx::Type::F64:
    out.run = general<double>;
    break;
  case ptx::Type::F32x2:
    out.run = generalF32x2;
    break;
  case ptx::Type::F16:
    out.run = generalHalf<false, false>;
    break;
  case ptx::Type::F16x2:
    out.run = generalHalf<false, true>;
    break;
  case ptx::Type::BF16:
    out.run = generalHalf<true, false>;
    break;
  case ptx::Type::BF16x2:
    out.run = generalHalf<true, true>;
    break;
  default:
    return d.fail(inst, "this type is not executed");
  }
  return true;
}

void addFloat(DecodeTable &table) {
  for (const char *name :
       {"fma", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "copysign"})
    table[name] = decodeFloatArith;
}

} // namespace penstock::emu
