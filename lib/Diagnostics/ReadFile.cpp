//===- ReadFile.cpp - Reading whole files, with a bound -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/ReadFile.h"
#include "Diagnostics/Codes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock {
namespace {

Diagnostic unreadable(const std::string &name, const std::string &reason) {
  Diagnostic d;
  d.code = ToolFile;
  d.message = "`" + name + "` cannot be read: " + reason;
  return d;
}

Diagnostic tooLarge(const std::string &name, size_t limit) {
  return unreadable(name, "it has more than " + std::to_string(limit) + " bytes");
}

std::optional<Diagnostic> readAll(int file, const std::string &name, std::string &text,
                                  size_t limit) {
  constexpr size_t step = size_t(64) << 10;
  text.clear();
  while (true) {
    size_t have = text.size();
    // One byte more than allowed tells a text that is too long from one that fits.
    text.resize(std::min(have + std::max(step, have), limit + 1));
    ssize_t got = read(file, text.data() + have, text.size() - have);
    text.resize(have + size_t(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return unreadable(name, std::strerror(errno));
    if (got == 0)
      return std::nullopt;
    if (text.size() > limit)
      return tooLarge(name, limit);
  }
}

} // namespace

std::optional<Diagnostic> readFile(const std::string &path, std::string &text, size_t limit) {
  text.clear();
  struct stat status;
  // Before it is opened, which may already have an effect on a device.
  if (stat(path.c_str(), &status) != 0)
    return unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    return unreadable(path, "it is a directory");
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    return unreadable(path, "it is neither a regular file nor a pipe");
  if (S_ISREG(status.st_mode) && uint64_t(status.st_size) > limit)
    return tooLarge(path, limit);
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return unreadable(path, std::strerror(errno));
  auto problem = readAll(file, path, text, limit);
  close(file);
  return problem;
}

std::optional<Diagnostic> readStandardInput(std::string &text, size_t limit) {
  return readAll(STDIN_FILENO, "<stdin>", text, limit);
}

} // namespace penstock
