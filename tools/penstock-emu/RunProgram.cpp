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
#include <unistd.h>

namespace penstock::emu {

int runCommand(const Arguments &args) {
  constexpr const char *usage =
      "usage: penstock-emu run [--device h100|b200] [--no-checks] [--timing T] "
      "[--format text|json|sarif] PROGRAM [arguments]\n";
  size_t i = 0;
  for (; i < args.size() && args[i].rfind("--", 0) == 0; ++i) {
    bool more = i + 1 < args.size();
    if (args[i] == "--no-checks") {
      setenv("PENSTOCK_EMU_CHECKS", "0", 1);
    } else if (args[i] == "--device" && more) {
      setenv("PENSTOCK_EMU_DEVICE", args[++i].c_str(), 1);
    } else if (args[i] == "--format" && more) {
      setenv("PENSTOCK_EMU_FORMAT", args[++i].c_str(), 1);
    } else if (args[i] == "--timing" && more) {
      LaunchOptions ignored;
      if (!parseTiming(args[++i], ignored)) {
        fputs(usage, stderr);
        return 2;
      }
      setenv("PENSTOCK_EMU_TIMING", args[i].c_str(), 1);
    } else {
      fputs(usage, stderr);
      return 2;
    }
  }
  if (i >= args.size()) {
    fputs(usage, stderr);
    return 2;
  }
  // Installed, the libraries lie beside the tool; in a build, where CMake says.
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path shim = self.parent_path() / ".." / "lib" / "cuda-shim";
  if (!std::filesystem::exists(shim / "libcudart.so.13", error))
    shim = PENSTOCK_SHIM_DIR;
  std::string path = shim.string();
  if (const char *old = getenv("LD_LIBRARY_PATH"))
    path += std::string(":") + old;
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  setenv("PENSTOCK_EMU_SUMMARY", "1", 1);
  std::vector<char *> argv;
  for (size_t j = i; j < args.size(); ++j)
    argv.push_back(const_cast<char *>(args[j].c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fprintf(stderr, "penstock-emu: cannot start `%s`\n", argv[0]);
  return 127;
}

} // namespace penstock::emu
