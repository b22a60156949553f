//===- TextPrinter.cpp - Writing scheduling instances ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Text/Text.h"

#include <algorithm>

namespace penstock::sched {
namespace {

std::string quote(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

/// Names that could be read as something else are quoted.
std::string printName(const std::string &name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool plain = !name.empty() && letter(name[0]) &&
               std::all_of(name.begin(), name.end(),
                           [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
  return plain ? name : quote(name);
}

std::string printLocation(const SourceLocation &location) {
  if (!location.known())
    return "";
  return " at " + quote(location.file) + " " + std::to_string(location.line);
}

template <typename Range, typename Fn>
std::string list(const Range &range, const char *separator, Fn fn) {
  std::string out;
  for (const auto &x : range)
    out += (out.empty() ? "" : separator) + fn(x);
  return out;
}

std::string printBuffer(const Buffer &b) {
  std::string out = "  buffer " + printName(b.name) + " " + spaceName(b.space);
  if (!b.shape.empty())
    out += " [" + list(b.shape, ", ", [](int64_t x) { return std::to_string(x); }) + "]";
  if (b.bytes)
    out += " bytes " + std::to_string(b.bytes);
  if (b.statedVersions)
    out += " versions " + std::to_string(b.statedVersions);
  if (b.versioning == Buffer::Versioning::Allowed)
    out += " versionable";
  if (b.versioning == Buffer::Versioning::Fixed)
    out += " fixed" + (b.fixedBecause.empty() ? "" : " " + quote(b.fixedBecause));
  for (const Region &region : b.readAfter)
    out += " after" + (region.kind == Region::Kind::Whole ? "" : " " + printRegion(region));
  if (b.conflictsGiven)
    out += " given";
  return out + printLocation(b.location) + "\n";
}

const char *proxyName(Proxy proxy) { return proxy == Proxy::Async ? "async" : "generic"; }

std::string printStatement(const Problem &problem, const Statement &s) {
  std::string out = "  statement " + printName(s.name) + " " + kindName(s.kind);
  if (s.async)
    out += " async";
  if (s.queue != none)
    out += " queue " + printName(problem.queues[s.queue].name);
  if (s.group >= 0)
    out += " group " + std::to_string(s.group);
  if (!s.guard.empty())
    out += " when " + list(s.guard, " & ", [](const Literal &l) {
             return (l.negated ? "!" : "") + printName(l.condition);
           });
  // One clause per access keeps their order, reads and writes mixed.
  auto printAccess = [&](const Access &a) {
    out += a.write ? " writes " : " reads ";
    out += printName(problem.buffers[a.buffer].name) + printRegion(a.region);
    if (a.proxy == Proxy::Async)
      out += "~async";
    if (a.maybe)
      out += "~maybe";
    if (a.holder != none)
      out += "~holder " + std::to_string(a.holder);
  };
  for (const Access &a : s.accesses)
    printAccess(a);
  if (s.awaitsBefore)
    out += " before";
  for (const Access &a : s.settles)
    printAccess(a);
  if (!s.awaits.empty())
    out += " awaits " + list(s.awaits, ", ", [&](const Await &a) {
             return printName(problem.statements[a.statement].name) + "@" +
                    std::to_string(a.distance) +
                    (!a.writes  ? ":reads"
                     : !a.reads ? ":writes"
                                : "");
           });
  if (s.count >= 0)
    out += " count " + std::to_string(s.count) + (s.countReadsOnly ? " reads" : "");
  for (Proxy p : s.fenceFrom)
    out += std::string(" from ") + proxyName(p);
  for (Proxy p : s.fenceTo)
    out += std::string(" to ") + proxyName(p);
  for (Space space : s.fenceSpaces)
    out += std::string(" in ") + spaceName(space);
  if (!s.users.empty())
    out += " users " + list(s.users, ", ",
                            [&](StatementId u) { return printName(problem.statements[u].name); });
  if (s.executedBy != Engine::Threads)
    out += std::string(" executes ") + engineName(s.executedBy);
  if (s.parent != none)
    out += " parent " + printName(problem.statements[s.parent].name);
  if (!s.engine.empty())
    out += " engine " + printName(s.engine);
  if (s.busy)
    out += " busy " + std::to_string(s.busy);
  if (s.latency)
    out += " latency " + std::to_string(s.latency);
  return out + printLocation(s.location) + "\n";
}

} // namespace

std::string printRegion(const Region &region) {
  if (region.kind == Region::Kind::Whole)
    return "";
  if (region.kind == Region::Kind::Unknown)
    return "[?]";
  return "[" +
         list(region.box, ", ",
              [](const AffineInterval &x) {
                if (x.unbounded)
                  return std::string("?");
                std::string out;
                if (x.scale == 1)
                  out = "k";
                else if (x.scale == -1)
                  out = "-k";
                else if (x.scale)
                  out = std::to_string(x.scale) + "*k";
                if (x.offset || out.empty())
                  out += (x.offset >= 0 && !out.empty() ? "+" : "") + std::to_string(x.offset);
                return out + ":" + std::to_string(x.length);
              }) +
         "]";
}

std::string printDistances(const DistanceSet &set) {
  return list(set.ranges(), ", ", [](const DistanceSet::Range &r) {
    std::string out = std::to_string(r.lo);
    if (r.hi && *r.hi == r.lo)
      return out;
    out += "..";
    if (r.hi)
      out += std::to_string(*r.hi);
    if (r.step != 1)
      out += "/" + std::to_string(r.step);
    return out;
  });
}

std::string printInstance(const Instance &instance) {
  const Problem &problem = instance.problem;
  std::string out = "loop " + printName(problem.name) + " {\n";
  if (problem.location.known())
    out += " " + printLocation(problem.location) + "\n";
  for (size_t s = 0; s < numSpaces; ++s)
    if (problem.capacity[s])
      out += std::string("  capacity ") + spaceName(Space(s)) + " " +
             std::to_string(problem.capacity[s]) + "\n";
  for (const Buffer &b : problem.buffers)
    out += printBuffer(b);
  for (const Queue &q : problem.queues) {
    out += "  queue " + printName(q.name) + (q.inOrder ? " inorder" : "");
    if (q.inOrder && !q.orders.empty())
      out += " " +
             list(q.orders, ", ", [&](BufferId b) { return printName(problem.buffers[b].name); });
    out += "\n";
  }
  for (const Statement &s : problem.statements)
    out += printStatement(problem, s);
  for (const GivenConflict &c : problem.conflicts)
    // A conflict at no distance says nothing, and has no text.
    if (!c.distances.empty())
      out += "  conflict " + printName(problem.statements[c.first].name) +
             (c.firstWrites ? " writes -> " : " reads -> ") +
             printName(problem.statements[c.second].name) +
             (c.secondWrites ? " writes on " : " reads on ") +
             printName(problem.buffers[c.buffer].name) + " distance " +
             printDistances(c.distances) + "\n";
  auto numbers = [](const std::vector<int64_t> &values) {
    std::string text;
    for (int64_t x : values)
      text += " " + std::to_string(x);
    return text;
  };
  if (instance.schedule)
    out += "  schedule stage" + numbers(instance.schedule->stage) + " order" +
           numbers(instance.schedule->order) + "\n";
  if (instance.numStages)
    out += "  num_stages " + std::to_string(*instance.numStages) + "\n";
  return out + "}\n";
}

} // namespace penstock::sched
