//===- CommandLine.h - The command lines of our tools -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CLI11 splits a command line into options and arguments. What all our tools add
// is here: values are checked completely, a wrong command line is answered with a
// suggestion and exit code 2, help and shell completion come from the same
// declarations as the parser.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMMANDLINE_COMMANDLINE_H
#define PENSTOCK_COMMANDLINE_COMMANDLINE_H

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace penstock::cli {

/// Reads one value; returns what is wrong with it, or "".
using Reader = std::function<std::string(const std::string &)>;

/// Kind of values that shell completion offers.
enum class Complete : uint8_t { Nothing, Files, Choices, Kernels };

/// An option or a positional argument.
struct OptionSpec {
  std::string name;  ///< without dashes
  char letter = 0;   ///< "-o"; 0: none
  std::string value; ///< what stands for the value in the help; empty: a flag
  std::string help;
  std::vector<std::string> choices = {};
  Complete complete = Complete::Nothing;
  bool required = false, repeated = false;
  Reader read = {};
};

/// The exit code of a command line that cannot be understood.
constexpr int usageExit = 2;

/// A command of a tool. Options are bound to variables; the value that a variable has at that time
/// is the default, and the help shows it.
class Command {
public:
  Command(std::string tool, std::string name, std::string summary);

  Command &flag(std::string name, std::string help, bool &to);
  Command &text(std::string name, std::string value, std::string help, std::string &to,
                Complete complete = Complete::Nothing);
  /// A file to write, "--output FILE" or "-o FILE".
  Command &output(std::string value, std::string help, std::string &to);
  Command &choice(std::string name, std::vector<std::string> choices, std::string help,
                  std::string &to);
  /// "--format text|json|sarif", and "--json" for the second.
  Command &format(std::string &to, std::vector<std::string> formats = {"text", "json", "sarif"});
  /// A whole number of a range.
  template <std::integral T>
  Command &number(std::string name, std::string help, T &to,
                  std::type_identity_t<T> least = std::numeric_limits<T>::min(),
                  std::type_identity_t<T> most = std::numeric_limits<T>::max()) {
    return numberOption(std::move(name), std::move(help), std::to_string(to),
                        readerFor(to, least, most));
  }
  /// An option that chooses what a tool does, and how often; \p chosen is called.
  template <std::integral T>
  Command &count(std::string name, std::string help, T &to, std::function<void()> chosen) {
    return numberOption(std::move(name), std::move(help), "",
                        [read = readerFor<T>(to, 0, std::numeric_limits<T>::max()),
                         chosen = std::move(chosen)](const std::string &text) {
                          chosen();
                          return read(text);
                        });
  }
  /// A finite number of at least \p least.
  Command &real(std::string name, std::string help, double &to, double least);
  /// An option whose values \p read takes, as often as it is given.
  Command &values(std::string name, std::string value, std::string help, Reader read);

  /// Positional arguments, in order.
  Command &argument(std::string name, std::string &to, Complete complete = Complete::Files);
  Command &optionalArgument(std::string name, std::string &to,
                            Complete complete = Complete::Nothing);
  Command &arguments(std::string name, std::vector<std::string> &to,
                     Complete complete = Complete::Files);
  /// A program and its own arguments: options end at its name.
  Command &program(std::string name, std::vector<std::string> &to);

  Command &example(std::string text);

  /// Prints the error to standard error and returns the exit code for it.
  int usageError(const std::string &message) const;
  std::string help() const;

  const std::string &name() const { return commandName; }
  const std::string &summary() const { return commandSummary; }
  /// Options of this command, then global options.
  std::vector<OptionSpec> options() const;
  const std::vector<OptionSpec> &positionals() const { return argumentSpecs; }

private:
  friend class Tool;
  std::string fullName() const;
  std::string usage() const;
  Command &numberOption(std::string name, std::string help, std::string otherwise, Reader read);
  template <class T> static Reader readerFor(T &to, T least, T most) {
    using Wide = std::conditional_t<std::signed_integral<T>, int64_t, uint64_t>;
    return [&to, least, most](const std::string &text) {
      Wide value = 0;
      std::string wrong = readNumber(text, Wide(least), Wide(most), value);
      if (wrong.empty())
        to = static_cast<T>(value);
      return wrong;
    };
  }
  static std::string readNumber(const std::string &, int64_t least, int64_t most, int64_t &to);
  static std::string readNumber(const std::string &, uint64_t least, uint64_t most, uint64_t &to);
  /// Reads the words; returns what is wrong with them, or "".
  std::string parse(const std::vector<std::string> &words);

  std::string tool, commandName, commandSummary, exampleText;
  std::vector<OptionSpec> optionSpecs, argumentSpecs;
  std::vector<OptionSpec> generalSpecs; ///< options of all commands
  bool startsProgram = false;
  bool wantsHelp = false, wantsVersion = false;
};

/// A program with commands, or with options alone.
class Tool {
public:
  Tool(std::string name, std::string summary);

  /// Adds a command; the first word of a command line names it.
  Command &command(std::string name, std::string summary, std::function<int(const Command &)> run);
  /// The options of a tool that has no commands.
  Command &options(std::function<int(const Command &)> run);

  /// Understands the command line and runs what it asks for.
  int run(int argc, char **argv);

private:
  struct Entry {
    std::unique_ptr<Command> command;
    std::function<int(const Command &)> run;
  };
  void addCompletion();
  int help(bool asked) const;
  int runEntry(Entry &entry, const std::vector<std::string> &words) const;

  std::string name, summary, shell;
  std::vector<Entry> commands;
  Entry root;
};

/// Splits "M=512,N=512" at commas and signs of equality; returns false if the text is not of
/// that form.
bool parsePairs(const std::string &text, std::vector<std::pair<std::string, std::string>> &pairs);
/// Reads a number and nothing else.
bool parseInteger(const std::string &text, int64_t &value);
bool parseInteger(const std::string &text, uint64_t &value);
bool parseReal(const std::string &text, double &value);

/// Returns what is wrong with a value that must be one of \p choices, or "".
std::string checkChoice(const std::string &text, const std::vector<std::string> &choices);

/// The completion script of a tool for a shell: "bash", "zsh" or "fish".
std::string completionScript(const std::string &shell, const std::string &tool,
                             const std::vector<const Command *> &commands);

} // namespace penstock::cli

#endif // PENSTOCK_COMMANDLINE_COMMANDLINE_H
