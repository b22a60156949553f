//===- ExecCompare.cpp - setp, set, selp, slct, testp ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"

#include <cmath>

namespace penstock::emu {
namespace {

enum class Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

struct NamedCmp {
  const char *name;
  Cmp cmp;
  bool isUnsigned;
};
constexpr NamedCmp namedCmps[] = {
    {".eq", Cmp::Eq, false},   {".ne", Cmp::Ne, false},   {".lt", Cmp::Lt, false},
    {".le", Cmp::Le, false},   {".gt", Cmp::Gt, false},   {".ge", Cmp::Ge, false},
    {".lo", Cmp::Lt, true},    {".ls", Cmp::Le, true},    {".hi", Cmp::Gt, true},
    {".hs", Cmp::Ge, true},    {".equ", Cmp::Equ, false}, {".neu", Cmp::Neu, false},
    {".ltu", Cmp::Ltu, false}, {".leu", Cmp::Leu, false}, {".gtu", Cmp::Gtu, false},
    {".geu", Cmp::Geu, false}, {".num", Cmp::Num, false}, {".nan", Cmp::Nan, false},
};

template <class T> bool holds(Cmp cmp, T a, T b) {
  bool nan = false;
  if constexpr (std::is_floating_point_v<T>)
    nan = std::isnan(a) || std::isnan(b);
  switch (cmp) {
  case Cmp::Eq:
    return a == b;
  case Cmp::Ne:
    return !nan && a != b;
  case Cmp::Lt:
    return a < b;
  case Cmp::Le:
    return a <= b;
  case Cmp::Gt:
    return a > b;
  case Cmp::Ge:
    return a >= b;
  case Cmp::Equ:
    return nan || a == b;
  case Cmp::Neu:
    return nan || a != b;
  case Cmp::Ltu:
    return nan || a < b;
  case Cmp::Leu:
    return nan || a <= b;
  case Cmp::Gtu:
    return nan || a > b;
  case Cmp::Geu:
    return nan || a >= b;
  case Cmp::Num:
    return !nan;
  case Cmp::Nan:
    return nan;
  }
  return false;
}

/// Values of each type as something that compares.
struct HalfLoad {
  static float get(uint32_t bits) { return halfToFloat(uint16_t(bits)); }
};
struct Bf16Load {
  static float get(uint32_t bits) { return bf16ToFloat(uint16_t(bits)); }
};
template <class T> struct PlainLoad {
  static T get(Storage<T> bits) { return fromStorage<T>(bits); }
};
struct FtzLoad {
  static float get(uint32_t bits) {
    return bits & 0x7f800000 ? std::bit_cast<float>(bits) : std::bit_cast<float>(bits & 0x80000000);
  }
};

template <class S, class Load> uint32_t compareLanes(Exec &ex, const DInst &inst) {
  auto *a = ex.row<S>(inst.ops[2]);
  auto *b = ex.row<S>(inst.ops[3]);
  Cmp cmp = Cmp(inst.mode);
  uint32_t bits = 0;
  for (unsigned i = 0; i < 32; ++i)
    bits |= uint32_t(holds(cmp, Load::get(a[i]), Load::get(b[i]))) << i;
  return bits;
}

/// ops: p, q, a, b, c. flags: 0 plain, 1 and, 2 or, 3 xor.
template <class S, class Load> void setp(Exec &ex, const DInst &inst) {
  uint32_t r = compareLanes<S, Load>(ex, inst);
  uint32_t p = r, q = ~r;
  if (inst.flags) {
    uint32_t c = ex.pred(inst.ops[4]);
    auto combine = [&](uint32_t x) {
      return inst.flags == 1 ? x & c : inst.flags == 2 ? x | c : x ^ c;
    };
    p = combine(p);
    q = combine(q);
  }
  ex.setPred(inst.ops[0], p);
  ex.setPred(inst.ops[1], q);
}

template <bool Bf> void setpPacked(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[2]);
  auto *b = ex.row<uint32_t>(inst.ops[3]);
  uint32_t p = 0, q = 0;
  for (unsigned i = 0; i < 32; ++i) {
    auto load = [](uint32_t v) { return Bf ? bf16ToFloat(uint16_t(v)) : halfToFloat(uint16_t(v)); };
    p |= uint32_t(holds(Cmp(inst.mode), load(a[i]), load(b[i]))) << i;
    q |= uint32_t(holds(Cmp(inst.mode), load(a[i] >> 16), load(b[i] >> 16))) << i;
  }
  ex.setPred(inst.ops[0], p);
  ex.setPred(inst.ops[1], q);
}

/// set: all ones (or 1.0f) where the comparison holds.
template <class S, class Load> void set(Exec &ex, const DInst &inst) {
  uint32_t r = compareLanes<S, Load>(ex, inst);
  uint32_t yes = inst.flags ? 0x3f800000 : 0xffffffff;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) { return r >> i & 1 ? yes : 0u; });
}

template <class T> void selp(Exec &ex, const DInst &inst) {
  auto *a = ex.row<T>(inst.ops[1]);
  auto *b = ex.row<T>(inst.ops[2]);
  uint32_t p = ex.pred(inst.ops[3]);
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) { return p >> i & 1 ? a[i] : b[i]; });
}

template <class T> void slct(Exec &ex, const DInst &inst) {
  auto *a = ex.row<T>(inst.ops[1]);
  auto *b = ex.row<T>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[3]);
  bool isFloat = inst.mode;
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    bool first = isFloat ? std::bit_cast<float>(c[i]) >= 0 : int32_t(c[i]) >= 0;
    return first ? a[i] : b[i];
  });
}

template <class T> void testp(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  uint32_t bits = 0;
  for (unsigned i = 0; i < 32; ++i) {
    T x = fromStorage<T>(a[i]);
    int c = std::fpclassify(x);
    bool r = inst.mode == 0   ? std::isfinite(x)
             : inst.mode == 1 ? std::isinf(x)
             : inst.mode == 2 ? !std::isnan(x)
             : inst.mode == 3 ? std::isnan(x)
             : inst.mode == 4 ? c == FP_NORMAL
                              : c == FP_SUBNORMAL;
    bits |= uint32_t(r) << i;
  }
  ex.setPred(inst.ops[0], bits);
}

bool compareMode(const ptx::Instruction &inst, uint8_t &mode, bool &isUnsigned) {
  for (const NamedCmp &each : namedCmps)
    if (inst.has(each.name)) {
      mode = uint8_t(each.cmp);
      isUnsigned = each.isUnsigned;
      return true;
    }
  return false;
}

/// Handlers H<Storage, Load> for a type.
#define PENSTOCK_COMPARE_HANDLER(H, T, FTZ)                                                        \
  [&](ptx::Type t) -> Handler {                                                                    \
    switch (t) {                                                                                   \
    case ptx::Type::B16:                                                                           \
    case ptx::Type::U16:                                                                           \
      return H<uint32_t, PlainLoad<uint16_t>>;                                                     \
    case ptx::Type::S16:                                                                           \
      return H<uint32_t, PlainLoad<int16_t>>;                                                      \
    case ptx::Type::B32:                                                                           \
    case ptx::Type::U32:                                                                           \
      return H<uint32_t, PlainLoad<uint32_t>>;                                                     \
    case ptx::Type::S32:                                                                           \
      return H<uint32_t, PlainLoad<int32_t>>;                                                      \
    case ptx::Type::B64:                                                                           \
    case ptx::Type::U64:                                                                           \
      return H<uint64_t, PlainLoad<uint64_t>>;                                                     \
    case ptx::Type::S64:                                                                           \
      return H<uint64_t, PlainLoad<int64_t>>;                                                      \
    case ptx::Type::F32:                                                                           \
      return FTZ ? H<uint32_t, FtzLoad> : H<uint32_t, PlainLoad<float>>;                           \
    case ptx::Type::F64:                                                                           \
      return H<uint64_t, PlainLoad<double>>;                                                       \
    case ptx::Type::F16:                                                                           \
      return H<uint32_t, HalfLoad>;                                                                \
    case ptx::Type::BF16:                                                                          \
      return H<uint32_t, Bf16Load>;                                                                \
    default:                                                                                       \
      return nullptr;                                                                              \
    }                                                                                              \
  }(T)

ptx::Type unsignedOf(ptx::Type t) {
  return t == ptx::Type::S16   ? ptx::Type::U16
         : t == ptx::Type::S32 ? ptx::Type::U32
         : t == ptx::Type::S64 ? ptx::Type::U64
                               : t;
}

bool decodeSetp(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool isUnsigned = false;
  if (!compareMode(inst, out.mode, isUnsigned))
    return d.fail(inst, "the comparison is not known");
  bool isSet = inst.form->name == "set";
  ptx::Type t = inst.type(isSet ? 1 : 0);
  if (isUnsigned)
    t = unsignedOf(t);
  bool ftz = inst.has(".ftz");
  bool isFloat = t == ptx::Type::F32 || t == ptx::Type::F64;
  std::vector<Opnd> ops(5);
  const ptx::Operand &dst = inst.operands[0];
  if (dst.kind == ptx::Operand::Kind::Pair) {
    if (!d.destination(inst, dst.elements[0], ops[0]) ||
        !d.destination(inst, dst.elements[1], ops[1]))
      return false;
  } else if (!d.destination(inst, dst, ops[0])) {
    return false;
  }
  unsigned bits = ptx::typeBits(t);
  if (!d.source(inst, inst.operands[1], bits, ops[2], isFloat) ||
      !d.source(inst, inst.operands[2], bits, ops[3], isFloat))
    return false;
  if (inst.operands.size() > 3) {
    out.flags = inst.has(".and") ? 1 : inst.has(".or") ? 2 : 3;
    if (!d.predicate(inst, inst.operands[3], ops[4]))
      return false;
  }
  d.setOperands(out, std::move(ops));
  if (isSet) {
    out.flags = inst.type(0) == ptx::Type::F32;
    out.run = PENSTOCK_COMPARE_HANDLER(set, t, ftz);
  } else if (t == ptx::Type::F16x2) {
    out.run = setpPacked<false>;
  } else if (t == ptx::Type::BF16x2) {
    out.run = setpPacked<true>;
  } else {
    out.run = PENSTOCK_COMPARE_HANDLER(setp, t, ftz);
  }
  return out.run || d.fail(inst, "this type is not executed");
}

bool decodeSelect(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  unsigned bits = ptx::typeBits(inst.type());
  bool isFloat = ptx::isFloat(inst.type());
  bool isSelp = inst.form->name == "selp";
  std::vector<Opnd> ops(4);
  if (!d.destination(inst, inst.operands[0], ops[0]) ||
      !d.source(inst, inst.operands[1], bits, ops[1], isFloat) ||
      !d.source(inst, inst.operands[2], bits, ops[2], isFloat))
    return false;
  if (isSelp ? !d.predicate(inst, inst.operands[3], ops[3])
             : !d.source(inst, inst.operands[3], 32, ops[3]))
    return false;
  out.mode = inst.type(1) == ptx::Type::F32;
  d.setOperands(out, std::move(ops));
  if (isSelp)
    out.run = bits == 64 ? selp<uint64_t> : selp<uint32_t>;
  else
    out.run = bits == 64 ? slct<uint64_t> : slct<uint32_t>;
  return true;
}

bool decodeTestp(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  static constexpr const char *modes[] = {".finite",     ".infinite", ".number",
                                          ".notanumber", ".normal",   ".subnormal"};
  for (uint8_t i = 0; i < 6; ++i)
    if (inst.has(modes[i]))
      out.mode = i;
  std::vector<Opnd> ops(2);
  unsigned bits = ptx::typeBits(inst.type());
  if (!d.destination(inst, inst.operands[0], ops[0]) ||
      !d.source(inst, inst.operands[1], bits, ops[1], true))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = bits == 64 ? testp<double> : testp<float>;
  return true;
}

} // namespace

void addCompare(DecodeTable &table) {
  table["setp"] = table["set"] = decodeSetp;
  table["selp"] = table["slct"] = decodeSelect;
  table["testp"] = decodeTestp;
}

} // namespace penstock::emu
