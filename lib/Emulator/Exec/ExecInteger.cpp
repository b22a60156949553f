//===- ExecInteger.cpp - Integer arithmetic -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"

#include <algorithm>

namespace penstock::emu {
// In ExecFloat.cpp: the floating forms of names that both families share.
bool decodeFloatArith(Decoder &, const ptx::Instruction &, DInst &);

namespace {

template <class T> using U = std::make_unsigned_t<T>;
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

struct Add {
  template <class T> static T apply(T a, T b) { return T(U<T>(a) + U<T>(b)); }
};
struct Sub {
  template <class T> static T apply(T a, T b) { return T(U<T>(a) - U<T>(b)); }
};
struct AddSat {
  template <class T> static T apply(T a, T b) {
    int64_t sum = int64_t(a) + int64_t(b);
    return T(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct SubSat {
  template <class T> static T apply(T a, T b) {
    int64_t sum = int64_t(a) - int64_t(b);
    return T(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct MulLo {
  template <class T> static T apply(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
};
struct MulHi {
  template <class T> static T apply(T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8));
  }
};
struct MadLo {
  template <class T> static T apply(T a, T b, T c) {
    return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
  }
};
struct MadHi {
  template <class T> static T apply(T a, T b, T c) { return Add::apply(MulHi::apply(a, b), c); }
};
struct MadHiSat {
  template <class T> static T apply(T a, T b, T c) { return AddSat::apply(MulHi::apply(a, b), c); }
};
struct Div {
  template <class T> static T apply(T a, T b) {
    if (b == 0)
      return T(~T(0)); // the hardware's answer
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1))
        return T(U<T>(0) - U<T>(a));
    return T(a / b);
  }
};
struct Rem {
  template <class T> static T apply(T a, T b) {
    if (b == 0)
      return a;
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1))
        return 0;
    return T(a % b);
  }
};
struct Min {
  template <class T> static T apply(T a, T b) { return std::min(a, b); }
};
struct Max {
  template <class T> static T apply(T a, T b) { return std::max(a, b); }
};
/// With `.relu`: what is negative becomes 0.
template <class Op> struct Relu {
  template <class T> static T apply(T a, T b) { return std::max(Op::apply(a, b), T(0)); }
};
struct Abs {
  template <class T> static T apply(T a) { return a < 0 ? T(U<T>(0) - U<T>(a)) : a; }
};
struct Neg {
  template <class T> static T apply(T a) { return T(U<T>(0) - U<T>(a)); }
};
struct Sad {
  template <class T> static T apply(T a, T b, T c) {
    return T(U<T>(c) + (a < b ? U<T>(b) - U<T>(a) : U<T>(a) - U<T>(b)));
  }
};
/// The low (Shift 0) or high (Shift 16) 32 bits of a product of 48.
template <int Shift> struct Mul24 {
  template <class T> static T apply(T a, T b) {
    auto cut = [](T v) {
      return std::is_signed_v<T> ? int64_t(int32_t(uint32_t(v) << 8) >> 8)
                                 : int64_t(uint32_t(v) & 0xffffff);
    };
    return T(cut(a) * cut(b) >> Shift);
  }
};

template <int Shift> struct Mad24 {
  template <class T> static T apply(T a, T b, T c) {
    return Add::apply(Mul24<Shift>::apply(a, b), c);
  }
};

/// Find the n-th set bit from a base upwards or downwards.
void findNthSet(Exec &ex, const DInst &inst) {
  auto *m = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *o = ex.row<uint32_t>(inst.ops[3]);
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) -> uint32_t {
    int64_t offset = int32_t(o[i]), at = b[i];
    if (offset == 0)
      return at < 32 && m[i] >> at & 1 ? uint32_t(at) : 0xffffffff;
    int64_t left = (offset < 0 ? -offset : offset) - 1;
    for (; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
      if (m[i] >> at & 1 && left-- == 0)
        return uint32_t(at);
    return 0xffffffff;
  });
}

template <class T> void mulWide(Exec &ex, const DInst &inst) {
  using W = Wide<T>;
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *b = ex.row<Storage<T>>(inst.ops[2]);
  bool add = inst.numOps > 3;
  auto *c = add ? ex.row<Storage<W>>(inst.ops[3]) : nullptr;
  storeLanes<W>(ex, inst.ops[0], [&](unsigned i) {
    using UW = std::make_unsigned_t<W>;
    UW product = UW(W(fromStorage<T>(a[i])) * W(fromStorage<T>(b[i])));
    return W(add ? UW(product + UW(c[i])) : product);
  });
}

/// add.cc, addc, sub.cc, subc: imm[0] bit 0 reads the carry, bit 1 writes it,
/// bit 2 subtracts.
template <class T> void carryArith(Exec &ex, const DInst &inst) {
  bool reads = inst.imm[0] & 1, writes = inst.imm[0] & 2, subtracts = inst.imm[0] & 4;
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *b = ex.row<Storage<T>>(inst.ops[2]);
  uint32_t carry = ex.warp.carry, next = carry;
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    unsigned __int128 x = U<T>(fromStorage<T>(a[i]));
    unsigned __int128 y = U<T>(fromStorage<T>(b[i]));
    unsigned in = reads ? carry >> i & 1 : 0;
    unsigned __int128 r = subtracts ? x - y - in : x + y + in;
    bool out = r >> (sizeof(T) * 8) & 1;
    next = (next & ~(1u << i)) | uint32_t(out) << i;
    return T(U<T>(r));
  });
  if (writes)
    ex.warp.carry = next;
}

/// mad.lo.cc, mad.hi.cc, madc: imm[0] as of carryArith, bit 2 takes the high half of the product.
template <class T> void carryMad(Exec &ex, const DInst &inst) {
  bool reads = inst.imm[0] & 1, writes = inst.imm[0] & 2, high = inst.imm[0] & 4;
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *b = ex.row<Storage<T>>(inst.ops[2]);
  auto *c = ex.row<Storage<T>>(inst.ops[3]);
  uint32_t carry = ex.warp.carry, next = carry;
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    T x = fromStorage<T>(a[i]), y = fromStorage<T>(b[i]);
    unsigned __int128 half = U<T>(high ? MulHi::apply(x, y) : MulLo::apply(x, y));
    unsigned __int128 r = half + U<T>(fromStorage<T>(c[i])) + (reads ? carry >> i & 1 : 0);
    next = (next & ~(1u << i)) | uint32_t(r >> (sizeof(T) * 8) & 1) << i;
    return T(U<T>(r));
  });
  if (writes)
    ex.warp.carry = next;
}

struct Popc {
  template <class T> static uint32_t apply(T a) { return uint32_t(std::popcount(a)); }
};
struct Clz {
  template <class T> static uint32_t apply(T a) { return uint32_t(std::countl_zero(a)); }
};
struct Brev {
  template <class T> static T apply(T a) {
    T r = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; ++i)
      r |= T(a >> i & 1) << (sizeof(T) * 8 - 1 - i);
    return r;
  }
};
struct Bfind {
  template <class T> static uint32_t apply(T a) {
    U<T> bits = U<T>(a);
    if constexpr (std::is_signed_v<T>)
      if (a < 0)
        bits = ~bits;
    return bits ? uint32_t(sizeof(T) * 8 - 1 - std::countl_zero(bits)) : 0xffffffff;
  }
};
struct BfindShift {
  template <class T> static uint32_t apply(T a) {
    uint32_t at = Bfind::apply(a);
    return at == 0xffffffff ? at : uint32_t(sizeof(T) * 8 - 1) - at;
  }
};

template <class T> void bfe(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *p = ex.row<uint32_t>(inst.ops[2]);
  auto *l = ex.row<uint32_t>(inst.ops[3]);
  constexpr unsigned msb = sizeof(T) * 8 - 1;
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    unsigned pos = p[i] & 0xff, len = l[i] & 0xff;
    U<T> bits = U<T>(fromStorage<T>(a[i]));
    bool sign = false;
    if (std::is_signed_v<T> && len)
      sign = bits >> std::min(pos + len - 1, msb) & 1;
    U<T> r = 0;
    for (unsigned j = 0; j <= msb; ++j) {
      bool bit = j < len && pos + j <= msb ? bool(bits >> (pos + j) & 1) : sign;
      r |= U<T>(bit) << j;
    }
    return T(r);
  });
}

template <class T> void bfi(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *b = ex.row<Storage<T>>(inst.ops[2]);
  auto *p = ex.row<uint32_t>(inst.ops[3]);
  auto *l = ex.row<uint32_t>(inst.ops[4]);
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    unsigned pos = p[i] & 0xff, len = l[i] & 0xff;
    T r = b[i];
    for (unsigned j = 0; j < len && pos + j < sizeof(T) * 8; ++j)
      r = T(r & ~(T(1) << (pos + j))) | T(T(a[i] >> j & 1) << (pos + j));
    return r;
  });
}

void bmsk(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  bool wrap = inst.mode;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint32_t pos = wrap ? a[i] & 31 : std::min(a[i], 32u);
    uint32_t len = wrap ? b[i] & 31 : std::min(b[i], 32u);
    uint64_t ones = (uint64_t(1) << len) - 1;
    return uint32_t(ones << pos);
  });
}

void szext(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  bool wrap = inst.mode, isSigned = inst.flags;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint32_t n = wrap ? b[i] & 31 : std::min(b[i], 32u);
    if (n == 32)
      return a[i];
    if (n == 0)
      return 0u;
    uint32_t bits = a[i] & ((1u << n) - 1);
    if (isSigned && bits >> (n - 1) & 1)
      bits |= ~((1u << n) - 1);
    return bits;
  });
}

void dp4a(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[3]);
  bool signedA = inst.mode, signedB = inst.flags;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint32_t sum = c[i];
    for (int j = 0; j < 4; ++j) {
      int x = signedA ? int(int8_t(a[i] >> (8 * j))) : int(uint8_t(a[i] >> (8 * j)));
      int y = signedB ? int(int8_t(b[i] >> (8 * j))) : int(uint8_t(b[i] >> (8 * j)));
      sum += uint32_t(x * y);
    }
    return sum;
  });
}

/// Two 16-bit factors of `a` with two bytes of `b`: the lower ones, or with `.hi` the upper ones.
template <bool hi> void dp2a(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[3]);
  bool signedA = inst.mode, signedB = inst.flags;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint32_t sum = c[i];
    for (int j = 0; j < 2; ++j) {
      uint32_t half = a[i] >> (16 * j), byte = b[i] >> (8 * (j + (hi ? 2 : 0)));
      int x = signedA ? int(int16_t(half)) : int(uint16_t(half));
      int y = signedB ? int(int8_t(byte)) : int(uint8_t(byte));
      sum += uint32_t(x * y);
    }
    return sum;
  });
}

void addPacked16(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    return ((a[i] + b[i]) & 0xffff) | (((a[i] >> 16) + (b[i] >> 16)) << 16);
  });
}

bool decodeInt(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  const std::string &name = inst.form->name;
  if (name == "add" && (inst.has(".u16x2") || inst.has(".s16x2"))) {
    out.run = addPacked16;
    return d.plain(inst, out, 32);
  }
  if (ptx::isFloat(t))
    return decodeFloatArith(d, inst, out);
  out.type = t;
  if (!d.plain(inst, out, ptx::typeBits(t)))
    return false;
  bool hi = inst.has(".hi"), sat = inst.has(".sat");
  if (sat && t != ptx::Type::S32)
    return d.fail(inst, "`.sat` is for s32 only");
  if (name == "add")
    out.run = sat ? binary<AddSat, int32_t> : PENSTOCK_INT_HANDLER(binary, Add, t);
  else if (name == "sub")
    out.run = sat ? binary<SubSat, int32_t> : PENSTOCK_INT_HANDLER(binary, Sub, t);
  else if (name == "mul")
    out.run = hi ? PENSTOCK_INT_HANDLER(binary, MulHi, t) : PENSTOCK_INT_HANDLER(binary, MulLo, t);
  else if (name == "mad")
    out.run = sat  ? ternary<MadHiSat, int32_t>
              : hi ? PENSTOCK_INT_HANDLER(ternary, MadHi, t)
                   : PENSTOCK_INT_HANDLER(ternary, MadLo, t);
  else if (name == "div")
    out.run = PENSTOCK_INT_HANDLER(binary, Div, t);
  else if (name == "rem")
    out.run = PENSTOCK_INT_HANDLER(binary, Rem, t);
  else if (name == "min")
    out.run = inst.has(".relu") ? binary<Relu<Min>, int32_t> : PENSTOCK_INT_HANDLER(binary, Min, t);
  else if (name == "max")
    out.run = inst.has(".relu") ? binary<Relu<Max>, int32_t> : PENSTOCK_INT_HANDLER(binary, Max, t);
  else if (name == "abs")
    out.run = PENSTOCK_INT_HANDLER(unary, Abs, t);
  else if (name == "neg")
    out.run = PENSTOCK_INT_HANDLER(unary, Neg, t);
  else if (name == "sad")
    out.run = PENSTOCK_INT_HANDLER(ternary, Sad, t);
  else if (name == "mul24")
    out.run = t == ptx::Type::S32 ? (hi ? binary<Mul24<16>, int32_t> : binary<Mul24<0>, int32_t>)
                                  : (hi ? binary<Mul24<16>, uint32_t> : binary<Mul24<0>, uint32_t>);
  else if (name == "mad24")
    out.run = t == ptx::Type::S32
                  ? (hi ? ternary<Mad24<16>, int32_t> : ternary<Mad24<0>, int32_t>)
                  : (hi ? ternary<Mad24<16>, uint32_t> : ternary<Mad24<0>, uint32_t>);
  return out.run || d.fail(inst, "this form is not executed");
}

bool decodeWide(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  unsigned bits = ptx::typeBits(t);
  std::vector<Opnd> ops(inst.operands.size());
  for (size_t i = 0; i < ops.size(); ++i)
    if (!(i == 0 ? d.destination(inst, inst.operands[i], ops[i])
                 : d.source(inst, inst.operands[i], i == 3 ? 2 * bits : bits, ops[i])))
      return false;
  d.setOperands(out, std::move(ops));
  out.run = t == ptx::Type::U16   ? mulWide<uint16_t>
            : t == ptx::Type::S16 ? mulWide<int16_t>
            : t == ptx::Type::U32 ? mulWide<uint32_t>
                                  : mulWide<int32_t>;
  return true;
}

bool decodeCarry(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  const std::string &name = inst.form->name;
  bool withCarry = name == "addc" || name == "subc";
  out.imm[0] = (withCarry ? 1u : 0u) | (!withCarry || inst.has(".cc") ? 2u : 0u) |
               (name[0] == 's' ? 4u : 0u);
  unsigned bits = ptx::typeBits(inst.type());
  out.run = bits == 64 ? carryArith<uint64_t> : carryArith<uint32_t>;
  return d.plain(inst, out, bits);
}

bool decodeCarryMad(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  const std::string &name = inst.form->name;
  bool withCarry = name == "madc";
  out.imm[0] = (withCarry ? 1u : 0u) | (!withCarry || inst.has(".cc") ? 2u : 0u) |
               (name == "mad.hi.cc" || inst.has(".hi") ? 4u : 0u);
  ptx::Type t = inst.type();
  out.run = t == ptx::Type::U32   ? carryMad<uint32_t>
            : t == ptx::Type::S32 ? carryMad<int32_t>
            : t == ptx::Type::U64 ? carryMad<uint64_t>
                                  : carryMad<int64_t>;
  return d.plain(inst, out, ptx::typeBits(t));
}

bool decodeFns(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.run = findNthSet;
  return d.plain(inst, out, 32);
}

bool decodeBits(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  unsigned bits = ptx::typeBits(t);
  bool wide = bits == 64, isSigned = ptx::isSigned(t);
  const std::string &name = inst.form->name;
  std::vector<Opnd> ops(inst.operands.size());
  size_t wideOps = name == "bfi" ? 2 : 1;
  for (size_t i = 0; i < ops.size(); ++i)
    if (!(i == 0 ? d.destination(inst, inst.operands[i], ops[i])
                 : d.source(inst, inst.operands[i], i <= wideOps ? bits : 32, ops[i])))
      return false;
  d.setOperands(out, std::move(ops));
  if (name == "popc")
    out.run = wide ? unary<Popc, uint64_t, uint32_t> : unary<Popc, uint32_t, uint32_t>;
  else if (name == "clz")
    out.run = wide ? unary<Clz, uint64_t, uint32_t> : unary<Clz, uint32_t, uint32_t>;
  else if (name == "brev")
    out.run = wide ? unary<Brev, uint64_t> : unary<Brev, uint32_t>;
  else if (name == "bfind") {
    bool shift = inst.has(".shiftamt");
    if (wide)
      out.run =
          shift ? (isSigned ? unary<BfindShift, int64_t, uint32_t>
                            : unary<BfindShift, uint64_t, uint32_t>)
                : (isSigned ? unary<Bfind, int64_t, uint32_t> : unary<Bfind, uint64_t, uint32_t>);
    else
      out.run =
          shift ? (isSigned ? unary<BfindShift, int32_t, uint32_t>
                            : unary<BfindShift, uint32_t, uint32_t>)
                : (isSigned ? unary<Bfind, int32_t, uint32_t> : unary<Bfind, uint32_t, uint32_t>);
  } else if (name == "bfe") {
    out.run = wide ? (isSigned ? bfe<int64_t> : bfe<uint64_t>)
                   : (isSigned ? bfe<int32_t> : bfe<uint32_t>);
  } else if (name == "bfi") {
    out.run = wide ? bfi<uint64_t> : bfi<uint32_t>;
  } else if (name == "bmsk") {
    out.mode = inst.has(".wrap");
    out.run = bmsk;
  } else if (name == "szext") {
    out.mode = inst.has(".wrap");
    out.flags = isSigned;
    out.run = szext;
  } else if (name == "dp4a") {
    out.mode = ptx::isSigned(inst.type(0));
    out.flags = ptx::isSigned(inst.type(1));
    out.run = dp4a;
  } else if (name == "dp2a") {
    out.mode = ptx::isSigned(inst.type(0));
    out.flags = ptx::isSigned(inst.type(1));
    out.run = inst.has(".hi") ? dp2a<true> : dp2a<false>;
  }
  return out.run || d.fail(inst, "this form is not executed");
}

} // namespace

void addInteger(DecodeTable &table) {
  for (const char *name : {"add", "sub", "mul", "mad", "div", "rem", "abs", "neg", "min", "max",
                           "sad", "mul24", "mad24"})
    table[name] = decodeInt;
  table["mul.wide"] = table["mad.wide"] = decodeWide;
  table["fns"] = decodeFns;
  for (const char *name : {"add.cc", "addc", "sub.cc", "subc"})
    table[name] = decodeCarry;
  for (const char *name : {"mad.lo.cc", "mad.hi.cc", "madc"})
    table[name] = decodeCarryMad;
  for (const char *name :
       {"popc", "clz", "brev", "bfind", "bfe", "bfi", "bmsk", "szext", "dp4a", "dp2a"})
    table[name] = decodeBits;
}

} // namespace penstock::emu
