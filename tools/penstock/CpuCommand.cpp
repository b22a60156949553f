//===- CpuCommand.cpp - penstock cpu --------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Json.h"
#include "Session.h"

#include <algorithm>

using namespace penstock;

static int cpu(Session &session) {
  std::vector<std::string> present = host_cpu_names();
  std::string text;
  JsonObject json;
  for (const std::string &level : cpu_names()) {
    bool has = std::find(present.begin(), present.end(), level) != present.end();
    text += level + (has ? " yes\n" : " no\n");
    json.boolean(level, has);
  }
  auto size = [](int64_t bytes) {
    constexpr int64_t kilo = 1 << 10, mega = 1 << 20;
    return bytes % mega == 0   ? std::to_string(bytes / mega) + "M"
           : bytes % kilo == 0 ? std::to_string(bytes / kilo) + "K"
                               : std::to_string(bytes);
  };
  CpuCaches caches = cpu_caches();
  text += "caches " + size(caches.l1) + "," + size(caches.l2) + "\n"; // as PENSTOCK_CACHES has them
  json.number("l1", caches.l1).number("l2", caches.l2);
  session.result(text, json.str());
  return session.finish(0);
}

void addCpu(cli::Tool &tool) {
  auto session = std::make_shared<Session>();
  cli::Command &command = tool.command("cpu",
                                       "Lists the instruction-set levels that native code can use, "
                                       "and the caches it is arranged for.",
                                       [session](const cli::Command &) { return cpu(*session); });
  command.format(session->format, {"text", "json"}).example("penstock cpu");
}
