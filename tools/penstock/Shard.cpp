//===- Shard.cpp - One part of a command's work ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Shard.h"

using namespace penstock;

void declareShard(cli::Command &command, Shard &to) {
  command.values("shard", "I/N", "does part I of N, counted from 0; the parts are disjoint",
                 [&to](const std::string &text) -> std::string {
                   size_t slash = text.find('/');
                   int64_t number = -1, count = 0;
                   if (slash == std::string::npos ||
                       !cli::parseInteger(text.substr(0, slash), number) ||
                       !cli::parseInteger(text.substr(slash + 1), count) || number < 0 ||
                       count < 1 || count > 1000000 || number >= count)
                     return "expected I/N with 0 <= I < N";
                   to = {unsigned(number), unsigned(count)};
                   return "";
                 });
}
