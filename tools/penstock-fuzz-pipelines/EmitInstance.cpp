//===- EmitInstance.cpp - Loops in the text form of instances -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "GenerateInstance.h"

using namespace penstock::fuzz;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::string accessOf(const Touch &touch) {
  std::string text = "B" + number(touch.buffer);
  if (touch.box.opaque()) {
    text += "[?]";
  } else if (!touch.box.whole()) {
    std::string inside;
    for (const Span &span : touch.box.spans)
      inside += (inside.empty() ? "" : ", ") + number(span.scale) + "*k+" + number(span.offset) +
                ":" + number(span.length);
    text += "[" + inside + "]";
  }
  return text + (touch.path == Path::Async ? "~async" : "");
}

template <class List, class Print> std::string join(const List &list, Print print) {
  std::string text;
  for (const auto &item : list)
    text += (text.empty() ? "" : ", ") + print(item);
  return text;
}

std::string clausesOf(const LoopStatement &s) {
  std::string text;
  for (const Action &action : s.actions) {
    if (!action.reads.empty())
      text += " reads " + join(action.reads, accessOf);
    if (!action.writes.empty())
      text += " writes " + join(action.writes, [&](const Touch &touch) {
                return accessOf(touch) + (action.when.empty() ? "" : "~maybe");
              });
  }
  if (s.async)
    text += " async";
  if (s.queue >= 0)
    text += " queue Q" + number(s.queue);
  if (s.group >= 0)
    text += " group " + number(s.group);
  for (size_t i = 0; i < s.guard.size(); ++i)
    text += (i ? " & " : " when ") + std::string(s.guard[i].negated ? "!" : "") + "c" +
            number(s.guard[i].condition);
  if (!s.names.empty())
    text += " awaits " + join(s.names, [](const Naming &name) {
              return "s" + number(name.statement) + "@" + number(name.distance) +
                     (!name.writes  ? ":reads"
                      : !name.reads ? ":writes"
                                    : "");
            });
  if (s.before)
    text += " before";
  if (!s.settles.reads.empty())
    text += " reads " + join(s.settles.reads, accessOf);
  if (!s.settles.writes.empty())
    text += " writes " + join(s.settles.writes, accessOf);
  if (s.count >= 0)
    text += " count " + number(s.count) + (s.countReadsOnly ? " reads" : "");
  if (!s.users.empty())
    text += " users " + join(s.users, [](int user) { return "s" + number(user); });
  auto side = [&](const char *word, const std::vector<Path> &paths) {
    for (Path path : paths)
      text += std::string(" ") + word + (path == Path::Async ? " async" : " generic");
  };
  side("from", s.from);
  side("to", s.to);
  return text;
}

} // namespace

std::string penstock::fuzz::emitInstance(const LoopInstance &instance) {
  const Loop &loop = instance.loop;
  std::string text = "loop fuzz {\n";
  for (size_t b = 0; b < loop.buffers.size(); ++b) {
    const LoopBuffer &buffer = loop.buffers[b];
    bool tensor = buffer.kind == LoopBuffer::Kind::Tensor;
    text += "  buffer B" + number(int64_t(b)) + (tensor ? " global" : " shared");
    if (!tensor)
      text += " [" + join(buffer.extents, number) + "]";
    if (buffer.statedVersions > 0)
      text += " versions " + number(buffer.statedVersions);
    text += std::string(buffer.readAfter ? " after" : "") + "\n";
  }
  for (size_t q = 0; q < loop.queues.size(); ++q) {
    text += "  queue Q" + number(int64_t(q)) + (loop.queues[q].inOrder ? " inorder " : "");
    if (loop.queues[q].inOrder)
      text += join(loop.queues[q].orders, [](int b) { return "B" + number(b); });
    text += "\n";
  }
  for (size_t i = 0; i < loop.statements.size(); ++i) {
    const char *kinds[] = {"compute", "copy", "scalar", "wait", "commit", "fence"};
    text += "  statement s" + number(int64_t(i)) + " " + kinds[size_t(loop.statements[i].kind)] +
            clausesOf(loop.statements[i]) + "\n";
  }
  text += "  schedule stage";
  for (int64_t stage : instance.plan.stage)
    text += " " + number(stage);
  text += " order";
  for (int64_t order : instance.plan.order)
    text += " " + number(order);
  return text + "\n}\n";
}
