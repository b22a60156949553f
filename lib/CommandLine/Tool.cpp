//===- Tool.cpp - Finds the command and runs it ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/CommandLine.h"
#include "CommandLine/Terminal.h"
#include "Diagnostics/Style.h"
#include "Diagnostics/Suggest.h"

#include <algorithm>
#include <cstdio>

using namespace penstock;
using namespace penstock::cli;

Tool::Tool(std::string name, std::string summary)
    : name(std::move(name)), summary(std::move(summary)) {
  root.command = std::make_unique<Command>(this->name, "", this->summary);
}

Command &Tool::command(std::string commandName, std::string commandSummary,
                       std::function<int(const Command &)> run) {
  commands.push_back(
      {std::make_unique<Command>(name, std::move(commandName), std::move(commandSummary)),
       std::move(run)});
  return *commands.back().command;
}

Command &Tool::options(std::function<int(const Command &)> run) {
  root.run = std::move(run);
  return *root.command;
}

int Tool::help(bool asked) const {
  FILE *out = asked ? stdout : stderr;
  constexpr unsigned left = 14; // columns of the commands' names
  unsigned width = widthOf(asked ? 1 : 2);
  std::fprintf(out, "%s\n\nusage: %s COMMAND [options]\n\ncommands:\n", summary.c_str(),
               name.c_str());
  for (const Entry &entry : commands)
    std::fprintf(out, "  %-12s%s\n", entry.command->name().c_str(),
                 wrapped(entry.command->summary(), width, left, left).c_str());
  std::fprintf(out, "\n`%s COMMAND --help` shows the options of a command and an example.\n",
               name.c_str());
  return asked ? 0 : usageExit;
}

int Tool::runEntry(Entry &entry, const std::vector<std::string> &words) const {
  Command &command = *entry.command;
  if (std::string wrong = command.parse(words); !wrong.empty())
    return command.usageError(wrong);
  if (command.wantsVersion) {
    std::printf("%s %s\n", name.c_str(), PENSTOCK_VERSION);
    return 0;
  }
  if (command.wantsHelp) {
    if (&entry == &root && !commands.empty())
      return help(true);
    std::fputs(command.help().c_str(), stdout);
    return 0;
  }
  return entry.run ? entry.run(command) : help(false);
}

void Tool::addCompletion() {
  auto print = [this](const Command &self) {
    if (std::string wrong = checkChoice(shell, {"bash", "zsh", "fish"}); !wrong.empty())
      return self.usageError("`" + shell + "`: " + wrong);
    std::vector<const Command *> all;
    for (const Entry &entry : commands)
      all.push_back(entry.command.get());
    std::fputs(completionScript(shell, name, all).c_str(), stdout);
    return 0;
  };
  command("completion", "Prints a script that completes command lines in a shell.", print)
      .argument("bash|zsh|fish", shell, Complete::Nothing)
      .example("source <(" + name + " completion bash)");
}

int Tool::run(int argc, char **argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!commands.empty())
    addCompletion();
  if (commands.empty() || words.empty() || words[0].starts_with("-"))
    return runEntry(root, words);
  if (words[0] == "help")
    return help(true);
  std::vector<std::string> names;
  for (Entry &entry : commands) {
    names.push_back(entry.command->name());
    if (names.back() == words[0])
      return runEntry(entry, {words.begin() + 1, words.end()});
  }
  std::fprintf(stderr, "%s: there is no command `%s`; %s\n", name.c_str(), words[0].c_str(),
               suggestName(words[0], names, "there are ").c_str());
  return usageExit;
}
