//===- RecordCalls.h - Arguments of recording calls from C ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CAPI_RECORDCALLS_H
#define PENSTOCK_CAPI_RECORDCALLS_H

#include "Lang/FrontEnd.h"
#include "penstock/hardware.h"
#include "penstock/record_c.h"

#include <vector>

namespace penstock::capi {

inline detail::Ref toRef(penstock_ref ref) {
  return {static_cast<uint32_t>(ref >> 32), static_cast<uint32_t>(ref)};
}
inline penstock_ref fromRef(detail::Ref ref) { return uint64_t(ref.recorder) << 32 | ref.id; }
inline detail::Scope toScope(penstock_scope scope) {
  return {static_cast<uint32_t>(scope >> 32), static_cast<uint32_t>(scope)};
}
inline penstock_scope fromScope(detail::Scope scope) {
  return uint64_t(scope.recorder) << 32 | scope.token;
}

/// Location with the name of a file that penstock_source_file() was called with.
Loc toLoc(penstock_at at);
/// Returns whether penstock_source_file() was called with a name.
bool isFrontEndSource(const std::string &file);

inline std::vector<detail::Ref> toRefs(const penstock_ref *refs, size_t count) {
  std::vector<detail::Ref> result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i)
    result.push_back(toRef(refs[i]));
  return result;
}
inline void fromRefs(const std::vector<detail::Ref> &refs, penstock_ref *to) {
  for (size_t i = 0; i < refs.size(); ++i)
    to[i] = fromRef(refs[i]);
}
inline std::string_view toText(const char *text) { return text ? text : ""; }
/// The recorder rejects the greatest number.
inline detail::Op toOp(int32_t number) {
  return static_cast<detail::Op>(number < 0 || number > UINT8_MAX ? UINT8_MAX : number);
}
inline Element toElement(int32_t number) { return static_cast<Element>(number); }

/// Names the next allocation as the front end does; also if it has no name.
inline void nameNext(const char *name) { lang::nameNext(std::string(toText(name))); }

} // namespace penstock::capi

#endif // PENSTOCK_CAPI_RECORDCALLS_H
