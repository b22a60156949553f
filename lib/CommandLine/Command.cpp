//===- Command.cpp - Options and arguments of one command -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/CommandLine.h"
#include "CommandLine/Terminal.h"
#include "Diagnostics/Style.h"
#include "Diagnostics/Suggest.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace penstock;
using namespace penstock::cli;

namespace {

std::string withDefault(std::string help, const std::string &otherwise) {
  return otherwise.empty() ? help : help + " (" + otherwise + ")";
}

std::string joined(const std::vector<std::string> &words, const char *between) {
  std::string all;
  for (const std::string &word : words)
    all += (all.empty() ? "" : between) + word;
  return all;
}

Reader storeIn(std::string &to) {
  return [&to](const std::string &text) {
    to = text;
    return std::string();
  };
}

bool looksLikeOption(const std::string &word) { return word.size() > 1 && word[0] == '-'; }

} // namespace

std::string cli::checkChoice(const std::string &text, const std::vector<std::string> &choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end())
    return "";
  std::string close = closestName(text, choices);
  return "expected one of " + joined(choices, ", ") +
         (close.empty() ? "" : "; did you mean `" + close + "`?");
}

Command::Command(std::string tool, std::string name, std::string summary)
    : tool(std::move(tool)), commandName(std::move(name)), commandSummary(std::move(summary)) {
  generalSpecs.push_back({"color", 0, "auto|always|never", "colors of terminals (auto)"});
  generalSpecs.back().choices = {"auto", "always", "never"};
  generalSpecs.back().complete = Complete::Choices;
  generalSpecs.back().read = [choices = generalSpecs.back().choices](const std::string &text) {
    colorChoice() = text;
    return checkChoice(text, choices);
  };
}

std::vector<OptionSpec> Command::options() const {
  std::vector<OptionSpec> all = optionSpecs;
  all.insert(all.end(), generalSpecs.begin(), generalSpecs.end());
  return all;
}

Command &Command::flag(std::string name, std::string help, bool &to) {
  OptionSpec option{std::move(name), 0, "", std::move(help)};
  option.read = [&to](const std::string &) {
    to = true;
    return std::string();
  };
  optionSpecs.push_back(std::move(option));
  return *this;
}

Command &Command::text(std::string name, std::string value, std::string help, std::string &to,
                       Complete complete) {
  OptionSpec option{std::move(name), 0, std::move(value), withDefault(std::move(help), to)};
  option.complete = complete;
  option.read = storeIn(to);
  optionSpecs.push_back(std::move(option));
  return *this;
}

Command &Command::output(std::string value, std::string help, std::string &to) {
  text("output", std::move(value), std::move(help), to, Complete::Files);
  optionSpecs.back().letter = 'o';
  return *this;
}

Command &Command::choice(std::string name, std::vector<std::string> choices, std::string help,
                         std::string &to) {
  OptionSpec option{std::move(name), 0, joined(choices, "|"), withDefault(std::move(help), to)};
  option.choices = choices;
  option.complete = Complete::Choices;
  option.read = [&to, choices = std::move(choices)](const std::string &text) {
    to = text;
    return checkChoice(text, choices);
  };
  optionSpecs.push_back(std::move(option));
  return *this;
}

Command &Command::format(std::string &to, std::vector<std::string> formats) {
  choice("format", std::move(formats), "output format", to);
  OptionSpec json{"json", 0, "", "the same as --format json"};
  json.read = [&to](const std::string &) {
    to = "json";
    return std::string();
  };
  optionSpecs.push_back(std::move(json));
  return *this;
}

Command &Command::values(std::string name, std::string value, std::string help, Reader read) {
  OptionSpec option{std::move(name), 0, std::move(value), std::move(help)};
  option.repeated = true;
  option.read = std::move(read);
  optionSpecs.push_back(std::move(option));
  return *this;
}

Command &Command::numberOption(std::string name, std::string help, std::string otherwise,
                               Reader read) {
  OptionSpec option{std::move(name), 0, "NUMBER", withDefault(std::move(help), otherwise)};
  option.read = std::move(read);
  optionSpecs.push_back(std::move(option));
  return *this;
}

Command &Command::argument(std::string name, std::string &to, Complete complete) {
  OptionSpec argument{std::move(name), 0, "", ""};
  argument.complete = complete;
  argument.required = true;
  argument.read = storeIn(to);
  argumentSpecs.push_back(std::move(argument));
  return *this;
}

Command &Command::optionalArgument(std::string name, std::string &to, Complete complete) {
  argument(std::move(name), to, complete);
  argumentSpecs.back().required = false;
  return *this;
}

Command &Command::arguments(std::string name, std::vector<std::string> &to, Complete complete) {
  OptionSpec argument{std::move(name), 0, "", ""};
  argument.complete = complete;
  argument.required = argument.repeated = true;
  argument.read = [&to](const std::string &text) {
    to.push_back(text);
    return std::string();
  };
  argumentSpecs.push_back(std::move(argument));
  return *this;
}

Command &Command::program(std::string name, std::vector<std::string> &to) {
  startsProgram = true;
  return arguments(std::move(name), to);
}

Command &Command::example(std::string text) {
  exampleText = std::move(text);
  return *this;
}

std::string Command::parse(const std::vector<std::string> &words) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras(true);
  app.prefix_command(startsProgram);
  app.allow_windows_style_options(false);
  CLI::Option *help = app.add_flag("-h,--help"), *version = app.add_flag("--version");
  std::vector<std::pair<const OptionSpec *, CLI::Option *>> parsed;
  std::vector<std::string> known = {"--help", "--version"};
  std::vector<OptionSpec> specs = options();
  for (const OptionSpec &spec : specs) {
    std::string names = "--" + spec.name;
    known.push_back(names);
    if (spec.letter)
      names += std::string(",-") + spec.letter;
    CLI::Option *option = spec.value.empty()
                              ? app.add_flag(names)
                              : app.add_option(names, [](const CLI::results_t &) { return true; });
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    parsed.emplace_back(&spec, option);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError &error) {
    for (const auto &[spec, option] : parsed)
      if (!words.empty() && !spec->value.empty() && option->check_name(words.back()))
        return "`" + words.back() + "` needs a value: " + spec->value;
    return error.what();
  }
  wantsHelp = help->count();
  wantsVersion = version->count();
  if (wantsHelp || wantsVersion)
    return "";
  std::vector<std::string> rest = app.remaining();
  for (size_t i = 0; i < rest.size() && !(startsProgram && i); ++i)
    if (looksLikeOption(rest[i])) {
      std::string close = closestName(rest[i].substr(0, rest[i].find('=')), known);
      return "unknown option `" + rest[i] + "`" +
             (close.empty() ? "" : "; did you mean `" + close + "`?");
    }
  for (const auto &[spec, option] : parsed) {
    if (option->count() > 1 && !spec->repeated && !spec->value.empty())
      return "`--" + spec->name + "` is given twice";
    for (const std::string &value : option->results()) {
      if (spec->value.empty() && value != "true" && value != "1")
        return "`--" + spec->name + "` takes no value";
      if (std::string wrong = spec->read(value); !wrong.empty())
        return "`--" + spec->name + " " + value + "`: " + wrong;
    }
  }
  size_t next = 0;
  for (const OptionSpec &argument : argumentSpecs) {
    if (next == rest.size() && argument.required)
      return argument.name + " is missing";
    do
      if (next < rest.size())
        if (std::string wrong = argument.read(rest[next++]); !wrong.empty())
          return "`" + rest[next - 1] + "`: " + wrong;
    while (argument.repeated && next < rest.size());
  }
  if (next < rest.size())
    return "unexpected argument `" + rest[next] + "`";
  return "";
}

std::string Command::fullName() const {
  return commandName.empty() ? tool : tool + " " + commandName;
}

std::string Command::usage() const {
  std::string text = "usage: " + fullName();
  if (startsProgram)
    text += " [options]";
  for (const OptionSpec &argument : argumentSpecs) {
    std::string shown = argument.name + (argument.repeated && !startsProgram ? " .." : "");
    text += argument.required ? " " + shown : " [" + shown + "]";
  }
  if (startsProgram)
    text += " [arguments]";
  else if (!optionSpecs.empty())
    text += " [options]";
  return text + "\n";
}

int Command::usageError(const std::string &message) const {
  std::fprintf(stderr, "%s: %s\n%s`%s --help` lists the options.\n", fullName().c_str(),
               message.c_str(), usage().c_str(), fullName().c_str());
  return usageExit;
}

std::string Command::help() const {
  constexpr unsigned left = 30; // columns of the options' names
  unsigned width = widthOf(1);
  std::string text = wrapped(commandSummary, width, 0) + "\n\n" + usage() + "\noptions:\n";
  auto line = [&](std::string names, const std::string &help) {
    names.resize(std::max<size_t>(names.size() + 2, left), ' ');
    unsigned column = unsigned(names.size());
    text += names + wrapped(help, width, left, column) + "\n";
  };
  for (const OptionSpec &option : options())
    line("  " + (option.letter ? std::string("-") + option.letter + ", " : "") + "--" +
             option.name + (option.value.empty() ? "" : " " + option.value),
         option.help);
  line("  -h, --help", "prints this");
  line("  --version", "prints the version");
  if (!exampleText.empty())
    text += "\nexample:\n  " + exampleText + "\n";
  return text;
}
