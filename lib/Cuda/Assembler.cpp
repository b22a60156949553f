//===- Assembler.cpp - PTX to machine code, by ptxas ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Assembler.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace penstock::cuda;

extern char **environ;

namespace {

bool isProgram(const std::string &path) { return access(path.c_str(), X_OK) == 0; }

/// An empty file in the temporary folder that goes away with the object.
struct TemporaryFile {
  TemporaryFile() {
    const char *folder = getenv("TMPDIR");
    path = std::string(folder && *folder ? folder : "/tmp") + "/penstock-XXXXXX";
    descriptor = mkostemp(path.data(), O_CLOEXEC);
  }
  ~TemporaryFile() {
    if (descriptor < 0)
      return;
    close(descriptor);
    unlink(path.c_str());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  bool write(const std::string &text) const {
    for (size_t done = 0; done < text.size();) {
      ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
      if (wrote < 0 && errno == EINTR)
        continue;
      if (wrote <= 0)
        return false;
      done += size_t(wrote);
    }
    return true;
  }
  /// Returns the contents of the file at the path, which the assembler may have replaced.
  std::string read() const {
    std::string text;
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
      return text;
    char piece[65536];
    ssize_t count;
    while ((count = ::read(file, piece, sizeof piece)) > 0 || (count < 0 && errno == EINTR))
      if (count > 0)
        text.append(piece, size_t(count));
    close(file);
    return text;
  }
  std::string path;
  int descriptor = -1;
};

} // namespace

std::string penstock::cuda::findPtxas() {
  if (const char *stated = getenv("PENSTOCK_PTXAS"))
    return stated;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = getenv(variable))
      if (std::string path = std::string(folder) + "/bin/ptxas"; isProgram(path))
        return path;
  if (const char *search = getenv("PATH")) {
    std::string folders = search;
    for (size_t begin = 0; begin <= folders.size();) {
      size_t end = std::min(folders.find(':', begin), folders.size());
      if (std::string path = folders.substr(begin, end - begin) + "/ptxas"; isProgram(path))
        return path;
      begin = end + 1;
    }
  }
  return isProgram("/usr/local/cuda/bin/ptxas") ? "/usr/local/cuda/bin/ptxas" : "";
}

/// Runs a program with its output in a file. An error text if it cannot be started or fails.
static std::string runInto(const TemporaryFile &output, std::vector<std::string> words) {
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor, 1);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor, 2);
  pid_t child = 0;
  int failed = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return "`" + words[0] + "` cannot be run: " + strerror(failed);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : "`" + words[0] + "` failed";
}

std::string penstock::cuda::ptxasVersion(const std::string &ptxas) {
  static std::mutex mutex;
  static auto *versions = new std::map<std::string, std::string>;
  std::lock_guard lock(mutex);
  auto [known, added] = versions->try_emplace(ptxas);
  TemporaryFile report;
  if (added && report.descriptor >= 0 && runInto(report, {ptxas, "--version"}).empty()) {
    known->second = report.read();
    while (known->second.ends_with('\n'))
      known->second.pop_back();
    std::replace(known->second.begin(), known->second.end(), '\n', ' ');
  }
  return known->second;
}

Assembly penstock::cuda::runPtxas(const std::string &ptxas, const std::string &ptx,
                                  const std::string &architecture) {
  Assembly run;
  TemporaryFile source, code, report;
  if (source.descriptor < 0 || code.descriptor < 0 || report.descriptor < 0 || !source.write(ptx)) {
    run.report = std::string("no temporary file can be written: ") + strerror(errno);
    return run;
  }
  std::string failed =
      runInto(report, {ptxas, "-arch=" + architecture, "-v", source.path, "-o", code.path});
  run.report = report.read();
  if (run.report.empty())
    run.report = failed;
  if (failed.empty())
    run.cubin = code.read();
  run.ok = !run.cubin.empty();
  return run;
}
