//===- Completion.cpp - Scripts that complete command lines ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bash completes by a function that looks at the words; zsh runs the same function;
// fish is told each option. Values of a list of choices are offered, files
// elsewhere, and the kernels of a library behind its name.
//
//===----------------------------------------------------------------------===//
#include "CommandLine/CommandLine.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::cli;

namespace {

std::string joined(const std::vector<std::string> &words) {
  std::string all;
  for (const std::string &word : words)
    all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string functionName(std::string tool) {
  std::replace(tool.begin(), tool.end(), '-', '_');
  return "_" + tool;
}

std::vector<std::string> optionNames(const Command &command) {
  std::vector<std::string> names;
  for (const OptionSpec &option : command.options())
    names.push_back("--" + option.name);
  names.push_back("--help");
  return names;
}

/// Returns the bash statement that completes a value.
std::string bashValue(const OptionSpec &spec) {
  switch (spec.complete) {
  case Complete::Choices:
    return "words='" + joined(spec.choices) + "'";
  case Complete::Files:
    return "files=1";
  case Complete::Kernels:
    return "words=$(\"${COMP_WORDS[0]}\" list \"${positional[0]}\" 2>/dev/null | "
           "sed -n 's/^\\([^ ]\\{1,\\}\\)  .*/\\1/p')";
  case Complete::Nothing:
    break;
  }
  return ":";
}

std::string bashCommand(const Command &command) {
  std::string text = "    " + command.name() + ")\n";
  // Words that are neither options nor their values are arguments.
  std::string withValue;
  for (const OptionSpec &option : command.options())
    if (!option.value.empty())
      withValue += (withValue.empty() ? "--" : "|--") + option.name +
                   (option.letter ? std::string("|-") + option.letter : "");
  text += "      local positional=() i\n"
          "      for ((i = 2; i < COMP_CWORD; ++i)); do\n"
          "        case \"${COMP_WORDS[i]}\" in\n";
  if (!withValue.empty())
    text += "          " + withValue + ") ((++i)); [ \"${COMP_WORDS[i]}\" = = ] && ((++i)) ;;\n";
  text += "          -*) ;;\n"
          "          *) positional+=(\"${COMP_WORDS[i]}\") ;;\n"
          "        esac\n"
          "      done\n"
          "      case \"$previous\" in\n";
  for (const OptionSpec &option : command.options())
    if (!option.value.empty())
      text += "        --" + option.name +
              (option.letter ? std::string("|-") + option.letter : "") + ") " + bashValue(option) +
              " ;;\n";
  text += "        *)\n"
          "          case \"$current\" in\n"
          "            -*) words='" +
          joined(optionNames(command)) +
          "' ;;\n"
          "            *)\n"
          "              case ${#positional[@]} in\n";
  const auto &arguments = command.positionals();
  for (size_t i = 0; i < arguments.size(); ++i) {
    // "bash|zsh|fish" lists what there is.
    std::string choices = arguments[i].name;
    std::replace(choices.begin(), choices.end(), '|', ' ');
    bool listed = arguments[i].complete == Complete::Nothing && choices != arguments[i].name;
    text += "                " + (arguments[i].repeated ? "*" : std::to_string(i)) + ") " +
            (listed ? "words='" + choices + "'" : bashValue(arguments[i])) + " ;;\n";
  }
  return text + "                *) ;;\n"
                "              esac ;;\n"
                "          esac ;;\n"
                "      esac ;;\n";
}

std::string bashScript(const std::string &tool, const std::vector<const Command *> &commands) {
  std::string function = functionName(tool), names;
  for (const Command *command : commands)
    names += command->name() + " ";
  std::string text =
      "# Completion of " + tool + "; source this file.\n" + function +
      "() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local words='' files=0\n"
      "  COMPREPLY=()\n"
      "  # bash takes `--option=value` for three words.\n"
      "  if [ \"$current\" = = ]; then\n"
      "    current=''\n"
      "  elif [ \"$previous\" = = ]; then\n"
      "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  fi\n"
      "  if [ \"$COMP_CWORD\" -le 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '" +
      names +
      "--help --version' -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Command *command : commands)
    text += bashCommand(*command);
  return text +
         "  esac\n"
         "  if [ \"$files\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F " +
         function + " " + tool + "\n";
}

/// Text between single quotes.
std::string quoted(const std::string &text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fishScript(const std::string &tool, const std::vector<const Command *> &commands) {
  std::string text = "# Completion of " + tool + "; source this file.\n";
  for (const Command *command : commands) {
    text += "complete -c " + tool + " -n __fish_use_subcommand -f -a " + command->name() + " -d " +
            quoted(command->summary()) + "\n";
    for (const OptionSpec &option : command->options()) {
      text += "complete -c " + tool + " -n '__fish_seen_subcommand_from " + command->name() +
              "' -l " + option.name;
      if (option.letter)
        text += std::string(" -s ") + option.letter;
      if (!option.value.empty())
        text += option.complete == Complete::Files ? " -r" : " -x";
      if (!option.choices.empty())
        text += " -a " + quoted(joined(option.choices));
      text += " -d " + quoted(option.help) + "\n";
    }
  }
  return text;
}

} // namespace

std::string cli::completionScript(const std::string &shell, const std::string &tool,
                                  const std::vector<const Command *> &commands) {
  if (shell == "bash")
    return bashScript(tool, commands);
  if (shell == "zsh")
    return "#compdef " + tool + "\nautoload -U +X bashcompinit && bashcompinit\n" +
           bashScript(tool, commands);
  return shell == "fish" ? fishScript(tool, commands) : "";
}
