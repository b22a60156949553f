//===- ProtocolText.cpp - Step lists made small, and as text --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ProtocolLists.h"

using namespace penstock::fuzz;
using namespace penstock::sched;

using Kind = ProtocolStep::Kind;

Protocol penstock::fuzz::shrinkLists(Protocol protocol,
                                     const std::function<bool(const Protocol &)> &fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t r = 0; r < protocol.roles.size(); ++r)
      for (size_t i = protocol.roles[r].steps.size(); i-- > 0;) {
        Protocol without = protocol;
        auto &steps = without.roles[r].steps;
        steps.erase(steps.begin() + std::ptrdiff_t(i));
        if (fails(without)) {
          protocol = std::move(without);
          smaller = true;
        }
      }
  }
  return protocol;
}

std::string penstock::fuzz::printLists(const Protocol &p) {
  const char *kinds[] = {"touch",  "wait",  "arrive", "copy", "start",
                         "commit", "close", "await",  "sync"};
  const char *queues[] = {"tensor", "wgmma", "async", "store"};
  std::string text = "  counts:";
  for (const ProtocolBarrier &b : p.barriers)
    text += " " + b.name + "=" + std::to_string(b.count);
  text += "\n";
  for (const ProtocolRole &role : p.roles) {
    if (role.steps.empty())
      continue;
    text += "  " + role.name + ":";
    for (const ProtocolStep &step : role.steps) {
      text += std::string(" ") + kinds[size_t(step.kind)] + "(";
      bool queued = step.kind == Kind::Start || step.kind == Kind::Commit ||
                    step.kind == Kind::CloseGroup || step.kind == Kind::AwaitGroups;
      bool onBarrier = step.kind == Kind::Wait || step.kind == Kind::Arrive ||
                       step.kind == Kind::Copy || step.kind == Kind::Commit;
      std::vector<std::string> words;
      if (queued)
        words.push_back(queues[size_t(step.queue)]);
      if (onBarrier)
        words.push_back(p.barriers[step.barrier].name);
      if (step.kind == Kind::Wait)
        words.push_back(step.own ? "own" : step.parity ? "1" : "0");
      if (step.kind == Kind::AwaitGroups)
        words.push_back(std::to_string(step.count));
      if (step.bytes)
        words.push_back(std::to_string(step.bytes) + " bytes");
      if (step.relaxed)
        words.push_back("relaxed");
      if (step.sent)
        words.push_back("sent");
      if (step.remote)
        words.push_back("remote");
      if (step.narrow)
        words.push_back("narrow");
      for (const ProtocolAccess &access : step.accesses)
        words.push_back(std::string(access.maybe ? "maybe " : "") +
                        (access.write ? "writes t" : "reads t") + std::to_string(access.box.tile));
      for (size_t i = 0; i < words.size(); ++i)
        text += (i ? ", " : "") + words[i];
      text += ")";
    }
    text += "\n";
  }
  return text;
}
