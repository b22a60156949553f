//===- EmitViews.cpp - Types, offsets and views of tiles ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace penstock::fuzz;

using BufferKind = LoopBuffer::Kind;

std::string KernelEmitter::indexName(int64_t value) {
  return "%x" + (value < 0 ? "m" + number(-value) : number(value));
}

std::string KernelEmitter::integerName(int64_t value, bool narrow) {
  return (narrow ? "%b" : "%i") + (value < 0 ? "m" + number(-value) : number(value));
}

std::string KernelEmitter::index(int64_t value) {
  indices.insert(value);
  return indexName(value);
}

std::string KernelEmitter::integer(int64_t value, bool narrow) {
  integers.insert({value, narrow});
  return integerName(value, narrow);
}

std::string KernelEmitter::nameOf(int b) const {
  const char *prefix = program.buffers[size_t(b)].kind == BufferKind::Tensor ? "%T" : "%t";
  return prefix + number(b);
}

std::string KernelEmitter::tensorType(size_t rank, bool narrow) {
  std::string element = narrow ? "i8" : "i32";
  return rank == 1 ? "memref<?x" + element + ", strided<[1]>, #tile.space<global>>"
                   : "memref<?x?x" + element + ", strided<[?, 1]>, #tile.space<global>>";
}

std::string KernelEmitter::wholeType(int b) const {
  const ProgramBuffer &buffer = program.buffers[size_t(b)];
  if (buffer.kind == BufferKind::Tensor)
    return tensorType(buffer.extents.size(), buffer.narrow);
  std::string type = "memref<";
  for (int64_t extent : buffer.extents)
    type += number(extent) + "x";
  return type + elementOf(b) + ", " + spaceOf(b) + ">";
}

std::string KernelEmitter::shared(const std::string &key, const std::string &operation,
                                  const std::string &type) {
  if (!program.shareScalars) {
    std::string name = fresh();
    line(name + " = " + operation);
    return name;
  }
  std::string name = "%s" + key;
  if (sharedScalars.insert(key).second) {
    if (program.bindScalars) {
      top += "    " + name + "_ = " + operation + "\n";
      top += "    " + name + " = tile.bind \"" + key + "\" " + name + "_ : " + type + "\n";
    } else {
      top += "    " + name + " = " + operation + "\n";
    }
  }
  return name;
}

std::string KernelEmitter::tableEntry() {
  return shared("table", "tile.load %table[%k] : " + tensorType(1, false) + " -> i32", "i32");
}

std::string KernelEmitter::begin(const Span &span, bool asAttribute) {
  if (span.perRound) {
    Span first = span;
    first.perRound = 0;
    std::string moved = fresh(), at = begin(first, false), total = fresh();
    line(moved + " = arith.muli %r, " + index(span.perRound) + " : index");
    line(total + " = arith.addi " + at + ", " + moved + " : index");
    return total;
  }
  for (size_t i = 1; i < origins; ++i)
    if (span.origin[i]) {
      Span rest = span;
      rest.origin[i] = 0;
      std::string at = begin(rest, false), from = originName(i), total = fresh();
      if (span.origin[i] != 1) {
        std::string product = fresh();
        line(product + " = arith.muli " + from + ", " + index(span.origin[i]) + " : index");
        from = product;
      }
      line(total + " = arith.addi " + at + ", " + from + " : index");
      return total;
    }
  if (span.motion == Span::Motion::Affine && span.scale == 0)
    return asAttribute ? number(span.offset) : index(span.offset);
  if (span.motion == Span::Motion::Affine && !counts()) {
    int64_t scale = span.scale / program.step;
    std::string product = fresh(), total = fresh();
    line(product + " = arith.muli " + variable + ", " + index(scale) + " : index");
    int64_t passed = program.firstAtRunTime ? 0 : scale * program.first;
    line(total + " = arith.addi " + product + ", " + index(span.offset - passed) + " : index");
    return total;
  }
  std::string at = "%k";
  if (span.motion == Span::Motion::Modulo) {
    at = shared("mod" + number(span.modulus), "arith.remsi %k, " + index(span.modulus) + " : index",
                "index");
  } else if (span.motion == Span::Motion::Wrapped) {
    std::string narrow = fresh(), product = fresh(), wide = fresh();
    line(narrow + " = arith.index_cast %k : index to i8");
    line(product + " = arith.muli " + narrow + ", " + integer(int8_t(uint8_t(span.modulus)), true) +
         " : i8");
    line(wide + " = arith.index_cast " + product + " : i8 to index");
    at = fresh();
    line(at + " = arith.addi " + wide + ", " + index(128) + " : index");
  } else if (span.motion == Span::Motion::Loaded) {
    std::string wide = fresh(), entry = tableEntry();
    line(wide + " = arith.index_cast " + entry + " : i32 to index");
    at = fresh();
    line(at + " = arith.remsi " + wide + ", " + index(span.modulus) + " : index");
  }
  if (span.scale != 1) {
    std::string operation = "arith.muli " + at + ", " + index(span.scale) + " : index";
    if (at == "%k") {
      at = shared("k" + number(span.scale), operation, "index");
    } else {
      at = fresh();
      line(at + " = " + operation);
    }
  }
  if (span.offset == 0)
    return at;
  std::string sum = fresh();
  line(sum + " = arith.addi " + at + ", " + index(span.offset) + " : index");
  return sum;
}

std::string KernelEmitter::offsets(const Touch &touch) {
  std::vector<std::string> parts;
  for (const Span &span : touch.box.spans)
    parts.push_back(begin(span, false));
  return join(parts);
}

std::string KernelEmitter::spaceOf(int b) const {
  return std::string("#tile.space<") + (program.buffers[size_t(b)].local ? "local" : "shared") +
         ">";
}

View KernelEmitter::slice(int b, const View &from, const std::vector<Span> &spans,
                          std::optional<int64_t> base) {
  const ProgramBuffer &buffer = program.buffers[size_t(b)];
  std::vector<std::string> begins, sizes, steps, strides;
  std::string type = "memref<";
  for (size_t d = 0; d < spans.size(); ++d) {
    const Span &span = spans[d];
    int64_t stride = d == 0 && buffer.extents.size() == 2 ? buffer.extents[1] : 1;
    begins.push_back(begin(span, true));
    sizes.push_back(number(span.length));
    steps.push_back("1");
    strides.push_back(number(stride));
    type += number(span.length) + "x";
    if (span.scale != 0 || span.perRound != 0 || span.origin != Origin())
      base.reset();
    if (base)
      *base += stride * span.offset;
  }
  type += elementOf(b) + ", strided<[" + join(strides) + "]" +
          (!base   ? ", offset: ?"
           : *base ? ", offset: " + number(*base)
                   : "") +
          ">, " + spaceOf(b) + ">";
  std::string name = fresh();
  line(name + " = memref.subview " + from.name + "[" + join(begins) + "] [" + join(sizes) + "] [" +
       join(steps) + "] : " + from.type + " to " + type);
  return {name, type};
}

View KernelEmitter::view(const Touch &touch) {
  View whole = {nameOf(touch.buffer), wholeType(touch.buffer)};
  if (touch.box.whole())
    return whole;
  std::vector<Span> spans = touch.box.spans;
  if (!program.sliceTwice)
    return slice(touch.buffer, whole, spans, 0);
  // First all from where the part begins at the least, if that is known, then the part.
  const ProgramBuffer &buffer = program.buffers[size_t(touch.buffer)];
  std::vector<Span> rest;
  int64_t base = 0;
  for (size_t d = 0; d < spans.size(); ++d) {
    int64_t stride = d == 0 && buffer.extents.size() == 2 ? buffer.extents[1] : 1;
    int64_t least = std::max<int64_t>(spans[d].offset, 0);
    rest.push_back({Span::Motion::Affine, 0, least, buffer.extents[d] - least, 1});
    base += stride * least;
    spans[d].offset -= least;
  }
  return slice(touch.buffer, slice(touch.buffer, whole, rest, 0), spans, base);
}

View KernelEmitter::source(const Operation &op, size_t i) {
  View from = view(op.sources[i]);
  if (!(op.transposed >> i & 1))
    return from;
  const ProgramBuffer &buffer = program.buffers[size_t(op.sources[i].buffer)];
  std::string offset;
  if (size_t at = from.type.find(", offset: "); at != std::string::npos)
    offset = from.type.substr(at, from.type.find(">", at) - at);
  View turned = {fresh(), "memref<4x4x" + elementOf(op.sources[i].buffer) + ", strided<[1, " +
                              number(buffer.extents[1]) + "]" + offset + ">, " +
                              spaceOf(op.sources[i].buffer) + ">"};
  line(turned.name + " = memref.transpose " + from.name + " (a, b) -> (b, a) : " + from.type +
       " to " + turned.type);
  return turned;
}

bool KernelEmitter::isTensor(const Touch &touch) const {
  return program.buffers[size_t(touch.buffer)].kind == BufferKind::Tensor;
}

View KernelEmitter::end(const Touch &touch) {
  if (!isTensor(touch))
    return view(touch);
  std::string at = offsets(touch);
  return {nameOf(touch.buffer) + "[" + at + "]", wholeType(touch.buffer)};
}
