//===- Lanes.h - Loops over the lanes of a warp -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of plain arithmetic: one template per arity, instantiated for an
// operation and a type. With all lanes active the loop has no branches and the
// compiler vectorizes it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_LANES_H
#define PENSTOCK_EMULATOR_LANES_H

#include "Emulator/Decode/Decoder.h"
#include "Emulator/Machine.h"

#include <bit>

namespace penstock::emu {

/// 16-bit values sit in the low half of 32-bit lanes.
template <class T> using Storage = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> inline T fromStorage(Storage<T> bits) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(bits);
  else
    return T(bits);
}
template <class T> inline Storage<T> toStorage(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<Storage<T>>(value);
  else
    return Storage<T>(std::make_unsigned_t<T>(value));
}

template <class D, class Fn> inline void storeLanes(Exec &ex, const Opnd &dst, Fn &&fn) {
  if (dst.kind != Opnd::Kind::Row)
    return;
  auto *d = ex.out<Storage<D>>(dst);
  if (ex.mask == 0xffffffff) {
    for (unsigned i = 0; i < 32; ++i)
      d[i] = toStorage<D>(fn(i));
  } else {
    for (unsigned i = 0; i < 32; ++i)
      if (ex.mask >> i & 1)
        d[i] = toStorage<D>(fn(i));
  }
}

template <class Op, class T, class D = T> void unary(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  storeLanes<D>(ex, inst.ops[0], [&](unsigned i) { return D(Op::apply(fromStorage<T>(a[i]))); });
}

template <class Op, class T, class D = T> void binary(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *b = ex.row<Storage<T>>(inst.ops[2]);
  storeLanes<D>(ex, inst.ops[0], [&](unsigned i) {
    return D(Op::apply(fromStorage<T>(a[i]), fromStorage<T>(b[i])));
  });
}

template <class Op, class T> void ternary(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *b = ex.row<Storage<T>>(inst.ops[2]);
  auto *c = ex.row<Storage<T>>(inst.ops[3]);
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    return T(Op::apply(fromStorage<T>(a[i]), fromStorage<T>(b[i]), fromStorage<T>(c[i])));
  });
}

/// The handler of \p Op for an integer type, by HANDLER<Op, T>.
#define PENSTOCK_INT_HANDLER(HANDLER, OP, TYPE)                                                    \
  [](ptx::Type t) -> Handler {                                                                     \
    switch (t) {                                                                                   \
    case ptx::Type::U16:                                                                           \
    case ptx::Type::B16:                                                                           \
      return HANDLER<OP, uint16_t>;                                                                \
    case ptx::Type::S16:                                                                           \
      return HANDLER<OP, int16_t>;                                                                 \
    case ptx::Type::U32:                                                                           \
    case ptx::Type::B32:                                                                           \
      return HANDLER<OP, uint32_t>;                                                                \
    case ptx::Type::S32:                                                                           \
      return HANDLER<OP, int32_t>;                                                                 \
    case ptx::Type::U64:                                                                           \
    case ptx::Type::B64:                                                                           \
      return HANDLER<OP, uint64_t>;                                                                \
    case ptx::Type::S64:                                                                           \
      return HANDLER<OP, int64_t>;                                                                 \
    default:                                                                                       \
      return nullptr;                                                                              \
    }                                                                                              \
  }(TYPE)

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_LANES_H
