//===- Builder.cpp - Writing the kernels of the self-test -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "selftest/Builder.h"

namespace penstock::emu::selftest {

std::string Builder::finish() const {
  std::string text = ".version 9.0\n.target " + target +
                     "\n.address_size 64\n.visible .entry k(\n"
                     "  .param .align 64 .b8 map0[128],\n"
                     "  .param .align 64 .b8 map1[128],\n"
                     "  .param .align 64 .b8 map2[128],\n"
                     "  .param .u64 in, .param .u64 in2, .param .u64 out,\n"
                     "  .param .u32 count)\n{\n";
  text += "  .reg .b32 %r<" + std::to_string(words + 1) + ">;\n";
  text += "  .reg .b64 %rd<" + std::to_string(longs + 1) + ">;\n";
  text += "  .reg .pred %p<" + std::to_string(preds + 1) + ">;\n";
  return text + variables + body + "  ret;\n}\n";
}

namespace {

/// Begin and end of the line that ends in "// @tag".
bool findTag(const std::string &text, const std::string &tag, size_t &from, size_t &to) {
  std::string mark = "// @" + tag + "\n";
  size_t at = text.find(mark);
  if (at == std::string::npos)
    return false;
  from = text.rfind('\n', at) + 1;
  to = at + mark.size();
  return true;
}

} // namespace

std::string mutate(const std::string &text, const Twin &twin) {
  size_t from, to;
  if (!findTag(text, twin.tag, from, to))
    return "";
  std::string line = text.substr(from, to - from);
  if (twin.from.empty()) {
    // Keep the line count, so that tags stay where they are.
    line = "  // deleted @" + twin.tag + "\n";
  } else if (twin.from == "$wait") {
    // A wait that does not wait: its predicate is simply true.
    size_t p = line.find("%p");
    size_t end = line.find(',', p);
    if (p == std::string::npos || end == std::string::npos)
      return "";
    line = "  mov.pred " + line.substr(p, end - p) + ", 1; // @" + twin.tag + "\n";
  } else {
    size_t at = line.find(twin.from);
    if (at == std::string::npos)
      return "";
    line.replace(at, twin.from.size(), twin.to);
  }
  return text.substr(0, from) + line + text.substr(to);
}

unsigned lineOf(const std::string &text, const std::string &tag) {
  size_t from, to;
  if (!findTag(text, tag, from, to))
    return 0;
  unsigned line = 1;
  for (size_t i = 0; i < from; ++i)
    line += text[i] == '\n';
  return line;
}

} // namespace penstock::emu::selftest
