//===- RunProgram.cpp - penstock-emu run ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts a CUDA program with our libcudart and libcuda in front of any others.
// The program must have been built with `nvcc -cudart shared --no-compress`.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace penstock::emu {

namespace {

struct RunOptions {
  // Empty: as the environment says.
  std::string device, format, timing, kernels, mutated, failOn;
  bool noChecks = false;
  std::vector<std::string> program;
};

/// Where our CUDA libraries are; empty: nowhere. A program that is started without
/// them would run on a GPU, or not at all.
std::filesystem::path shimFolder() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char *folder : {PENSTOCK_SHIM_DIRS}) {
    std::filesystem::path candidate = (self.parent_path() / folder).lexically_normal();
    if (std::filesystem::exists(candidate / "libcudart.so.13", error))
      return candidate;
  }
  return {};
}

/// Returns the file that execvp starts, or "".
std::filesystem::path fileOf(const std::string &program) {
  if (program.find('/') != std::string::npos)
    return program;
  std::error_code error;
  const char *path = getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::path file = std::filesystem::path(folder) / program;
        access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, error))
      return file;
  return {};
}

/// Returns whether a program contains kernels and CUDA's runtime library, instead of linking to
/// libcudart.so. nvcc links the static library unless told otherwise.
bool hasStaticRuntime(const std::string &program) {
  std::ifstream file(fileOf(program), std::ios::binary);
  char magic[4] = {};
  if (!file.read(magic, 4) || std::string_view(magic, 4) != "\x7f"
                                                            "ELF")
    return false;
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  return bytes.find(".nv_fatbin") != std::string::npos &&
         bytes.find("libcudart.so") == std::string::npos;
}

/// Returns what is wrong, or "".
std::string parseRegex(const std::string &text, std::string &to) {
  try {
    std::regex compiled(text, std::regex::extended);
  } catch (const std::regex_error &) {
    return "expected a regular expression";
  }
  to = text;
  return "";
}

int run(const RunOptions &options) {
  if (options.noChecks)
    setenv("PENSTOCK_EMU_CHECKS", "0", 1);
  auto set = [](const char *name, const std::string &value) {
    if (!value.empty())
      setenv(name, value.c_str(), 1);
  };
  set("PENSTOCK_EMU_DEVICE", options.device);
  set("PENSTOCK_EMU_FORMAT", options.format);
  set("PENSTOCK_EMU_TIMING", options.timing);
  set("PENSTOCK_EMU_KERNELS", options.kernels);
  set("PENSTOCK_EMU_MUTATE", options.mutated);
  set("PENSTOCK_EMU_FAIL_ON", options.failOn);
  std::filesystem::path shim = shimFolder();
  if (shim.empty()) {
    fputs("penstock-emu: its CUDA libraries are not installed beside it\n", stderr);
    return 1;
  }
  if (hasStaticRuntime(options.program[0]))
    fprintf(stderr,
            "penstock-emu: `%s` contains the static CUDA runtime, so its launches cannot be "
            "intercepted; link it with `nvcc -cudart shared --no-compress`\n",
            options.program[0].c_str());
  std::string path = shim.string();
  if (const char *old = getenv("LD_LIBRARY_PATH"))
    path += std::string(":") + old;
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  setenv("PENSTOCK_EMU_SUMMARY", "1", 1);
  std::vector<char *> argv;
  for (const std::string &word : options.program)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fprintf(stderr, "penstock-emu: cannot start `%s`\n", argv[0]);
  return 127;
}

} // namespace

void addRun(cli::Tool &tool) {
  auto options = std::make_shared<RunOptions>();
  tool.command("run", "Runs a CUDA program on the emulator.",
               [options](const cli::Command &) { return run(*options); })
      .program("PROGRAM", options->program)
      .choice("device", {"h100", "b200"}, "the GPU that the program sees", options->device)
      .flag("no-checks", "disables the race checker", options->noChecks)
      .values("kernel", "REGEX",
              "checks kernels whose name, mangled or not, contains a match; others run unchecked",
              [options](const std::string &text) { return parseRegex(text, options->kernels); })
      .values("mutate", "REGEX",
              "before the first launch of a kernel that matches, runs its mutants and lists those "
              "that are not detected",
              [options](const std::string &text) { return parseRegex(text, options->mutated); })
      .choice("fail-on", tierNames,
              "exits with 1 on findings of this tier or a more serious one; without it the exit "
              "code is the program's",
              options->failOn)
      .values("timing", timingForms, "completion time of asynchronous operations",
              [options](const std::string &text) -> std::string {
                LaunchOptions ignored;
                if (!parseTiming(text, ignored))
                  return std::string("expected ") + timingForms;
                options->timing = text;
                return "";
              })
      .format(options->format)
      .example("penstock-emu run --device b200 ./program 1024");
}

} // namespace penstock::emu
