//===- LayoutText.cpp - Layouts as text -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text may come from anywhere, so numbers, nesting and the layout as a whole are
// bounded before anything is computed from them.
//
//===----------------------------------------------------------------------===//
#include "Layout/Layout.h"

namespace penstock::layout {
namespace {

std::string printTree(const Layout &layout, bool strides) {
  if (layout.isLeaf()) {
    Layout::Mode mode = layout.flat()[0];
    return std::to_string(strides ? mode.stride : mode.extent);
  }
  std::string out = "(";
  for (size_t i = 0; i < layout.rank(); ++i)
    out += (i ? "," : "") + printTree(layout.at(i), strides);
  return out + ")";
}

/// Numbers in parentheses, before it is known what they mean.
struct Tree {
  int64_t number = 0;
  std::vector<Tree> children;
  size_t position = 0;
};

class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  template <class T> Parsed<T> finish(std::optional<T> value) {
    if (value && (skipSpace(), at < text.size()))
      value = fail("text after the layout");
    if (value)
      return {std::move(value), "", 0};
    return {std::nullopt, error, errorAt};
  }

  std::optional<Layout> layout() {
    skipSpace();
    size_t start = at;
    std::optional<Tree> extents = tree(0);
    if (!extents)
      return std::nullopt;
    std::optional<Layout> result;
    if (accept(":")) {
      std::optional<Tree> strides = tree(0);
      if (!strides)
        return std::nullopt;
      result = combine(*extents, *strides);
    } else {
      __int128 next = 1;
      result = dense(*extents, next);
    }
    if (result && !result->isBounded())
      return fail("the layout is too large", start);
    return result;
  }

  std::optional<SwizzledLayout> swizzledLayout() {
    SwizzledLayout out;
    if (!accept("Swizzle<") && !accept("Sw<"))
      return fail("expected `Sw<`");
    std::optional<int64_t> bits = number();
    if (!bits || !expect(","))
      return std::nullopt;
    std::optional<int64_t> base = number();
    if (!base || !expect(","))
      return std::nullopt;
    std::optional<int64_t> shift = number();
    if (!shift || !expect(">"))
      return std::nullopt;
    // The pattern must lie within the addresses that a layout can have, and must
    // not read bits that it writes.
    if (*bits > 8 || *base > 20 || *shift > 20 || (*bits > 0 && *shift < *bits))
      return fail("no such swizzle");
    out.swizzle = {int(*bits), int(*base), int(*shift)};
    if (!expect("o") || !expect("smem_ptr"))
      return std::nullopt;
    if (accept("[")) {
      std::optional<int64_t> element = number();
      if (!element || !expect("b") || !expect("]"))
        return std::nullopt;
      if (*element != 4 && *element != 8 && *element != 16 && *element != 32 && *element != 64)
        return fail("elements have 4, 8, 16, 32 or 64 bits");
      out.elementBits = int(*element);
    }
    accept("(unset)");
    if (!expect("o"))
      return std::nullopt;
    std::optional<Layout> inner = layout();
    if (!inner)
      return std::nullopt;
    out.layout = std::move(*inner);
    return out;
  }

private:
  std::nullopt_t fail(const std::string &message) { return fail(message, at); }
  std::nullopt_t fail(const std::string &message, size_t where) {
    if (error.empty()) {
      error = message;
      errorAt = where;
    }
    return std::nullopt;
  }

  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }

  bool expect(std::string_view token) {
    if (accept(token))
      return true;
    fail("expected `" + std::string(token) + "`");
    return false;
  }

  std::optional<int64_t> number() {
    skipSpace();
    size_t start = at;
    if (at < text.size() && text[at] == '_')
      ++at;
    size_t digits = at;
    int64_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      value = value * 10 + (text[at] - '0');
      if (value > Layout::limit)
        return fail("the number is too large", start);
    }
    if (at == digits)
      return fail("expected a number", start);
    return value;
  }

  std::optional<Tree> tree(int depth) {
    skipSpace();
    Tree out;
    out.position = at;
    if (!accept("(")) {
      std::optional<int64_t> leaf = number();
      if (!leaf)
        return std::nullopt;
      out.number = *leaf;
      return out;
    }
    if (depth == Layout::maxDepth)
      return fail("parentheses are nested too deeply");
    do {
      std::optional<Tree> child = tree(depth + 1);
      if (!child)
        return std::nullopt;
      out.children.push_back(std::move(*child));
    } while (accept(","));
    if (!expect(")"))
      return std::nullopt;
    return out;
  }

  std::optional<Layout> combine(const Tree &extents, const Tree &strides) {
    if (extents.children.size() != strides.children.size())
      return fail("strides are not nested like extents", strides.position);
    if (extents.children.empty()) {
      if (extents.number < 1)
        return fail("an extent is at least 1", extents.position);
      return Layout(extents.number, strides.number);
    }
    std::vector<Layout> modes;
    for (size_t i = 0; i < extents.children.size(); ++i) {
      std::optional<Layout> mode = combine(extents.children[i], strides.children[i]);
      if (!mode)
        return std::nullopt;
      modes.push_back(std::move(*mode));
    }
    return Layout(std::move(modes));
  }

  std::optional<Layout> dense(const Tree &extents, __int128 &next) {
    if (extents.children.empty()) {
      if (extents.number < 1)
        return fail("an extent is at least 1", extents.position);
      int64_t stride = int64_t(next);
      next *= extents.number;
      if (next > Layout::limit)
        return fail("the layout is too large", extents.position);
      return Layout(extents.number, stride);
    }
    std::vector<Layout> modes;
    for (const Tree &child : extents.children) {
      std::optional<Layout> mode = dense(child, next);
      if (!mode)
        return std::nullopt;
      modes.push_back(std::move(*mode));
    }
    return Layout(std::move(modes));
  }

  std::string_view text;
  size_t at = 0;
  std::string error;
  size_t errorAt = 0;
};

} // namespace

std::string print(const Layout &layout) {
  return printTree(layout, false) + ":" + printTree(layout, true);
}

std::string print(const SwizzledLayout &swizzled) {
  const AddressSwizzle &s = swizzled.swizzle;
  return "Sw<" + std::to_string(s.bits) + "," + std::to_string(s.base) + "," +
         std::to_string(s.shift) + "> o smem_ptr[" + std::to_string(swizzled.elementBits) +
         "b] o " + print(swizzled.layout);
}

Parsed<Layout> parseLayout(std::string_view text) {
  Reader reader(text);
  return reader.finish(reader.layout());
}

Parsed<SwizzledLayout> parseSwizzledLayout(std::string_view text) {
  Reader reader(text);
  return reader.finish(reader.swizzledLayout());
}

} // namespace penstock::layout
