//===- Directory.cpp - Entries as files -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Directory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace penstock::cache;

namespace {

constexpr int64_t hour = 3600;
/// No kernel comes near it; a file that is larger is not ours.
constexpr int64_t maxEntryBytes = int64_t(1) << 30;

class FileDescriptor {
public:
  explicit FileDescriptor(int fd) : fd(fd) {}
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int get() const { return fd; }
  /// Returns 0 or the errno: on some file systems only this reports a full disk.
  int close() { return ::close(std::exchange(fd, -1)) == 0 ? 0 : errno; }

private:
  int fd;
};

int makeDirectories(const std::string &path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      // A read-only file system says EROFS even for what exists.
      int error = errno;
      struct stat info;
      if (::stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        return error;
    }
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return errno;
  return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

int writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    bytes.remove_prefix(size_t(written));
  }
  return 0;
}

/// Different for all threads and processes of all hosts that write at the same time.
std::string uniqueName() {
  static std::atomic<uint64_t> count{0};
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) != 0)
    std::strcpy(host, "host");
  auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return std::string(host) + "." + std::to_string(::getpid()) + "." + std::to_string(now) + "-" +
         std::to_string(++count);
}

/// Calls \p each with the names in a directory.
void listDirectory(const std::string &path, const std::function<void(const char *)> &each) {
  DIR *directory = ::opendir(path.c_str());
  if (!directory)
    return;
  while (const dirent *entry = ::readdir(directory))
    if (entry->d_name[0] != '.')
      each(entry->d_name);
  ::closedir(directory);
}

/// Entries are code. Directories that other users can write to are refused.
std::string checkOwner(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return std::strerror(errno);
  if (!S_ISDIR(info.st_mode))
    return "it is not a directory";
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return "it belongs to another user (uid " + std::to_string(info.st_uid) + ")";
  if (info.st_mode & S_IWOTH)
    return "every user can write to it";
  return "";
}

} // namespace

std::optional<std::string> penstock::cache::readRegularFile(const std::string &path) {
  // A pipe would block without O_NONBLOCK.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return std::nullopt;
  if (!S_ISREG(info.st_mode) || info.st_size > maxEntryBytes) {
    errno = EINVAL;
    return std::nullopt;
  }
  std::string bytes(size_t(info.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t count = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return std::nullopt;
    if (count == 0)
      break; // the file has become shorter; its reader notices
    at += size_t(count);
  }
  bytes.resize(at);
  return bytes;
}

bool Directory::isName(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string Directory::pathOf(const std::string &name) const {
  return root + "/v1/" + name.substr(0, 2) + "/" + name;
}

std::string Directory::prepare() {
  if (int error = makeDirectories(root + "/v1/tmp"))
    return std::strerror(error);
  for (const std::string &path : {root, root + "/v1"})
    if (std::string reason = checkOwner(path); !reason.empty())
      return reason;
  return "";
}

std::string Directory::checkSeed() const {
  struct stat info;
  if (::stat((root + "/v1").c_str(), &info) != 0)
    return std::strerror(errno);
  for (const std::string &path : {root, root + "/v1"})
    if (std::string reason = checkOwner(path); !reason.empty())
      return reason;
  return "";
}

std::optional<std::string> Directory::read(const std::string &name) const {
  return readRegularFile(pathOf(name));
}

int Directory::write(const std::string &name, std::string_view bytes) {
  std::string folder = root + "/v1/" + name.substr(0, 2), temporary;
  int fd = -1;
  for (int attempt = 0; attempt < 2 && fd < 0; ++attempt) {
    temporary = root + "/v1/tmp/" + uniqueName();
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    // Somebody may have removed the whole directory since it was opened.
    if (fd < 0 && (errno != ENOENT || makeDirectories(root + "/v1/tmp") != 0))
      return errno;
  }
  if (fd < 0)
    return errno;
  FileDescriptor file(fd);
  // Not synchronized with the disk: a file that a power failure cuts off has a wrong checksum.
  int error = writeAll(file.get(), bytes);
  if (int closing = file.close(); !error)
    error = closing;
  if (!error && ::rename(temporary.c_str(), pathOf(name).c_str()) != 0) {
    error = errno;
    if (error == ENOENT) {
      error = makeDirectories(folder);
      if (!error && ::rename(temporary.c_str(), pathOf(name).c_str()) != 0)
        error = errno;
    }
  }
  if (error)
    ::unlink(temporary.c_str());
  return error;
}

void Directory::remove(const std::string &name) { ::unlink(pathOf(name).c_str()); }

void Directory::touch(const std::string &name) {
  std::string path = pathOf(name);
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && info.st_mtime + hour < ::time(nullptr))
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

void Directory::forEach(const std::function<void(const File &)> &each) const {
  listDirectory(root + "/v1", [&](const char *folder) {
    if (std::strlen(folder) != 2)
      return;
    std::string path = root + "/v1/" + folder;
    listDirectory(path, [&](const char *name) {
      struct stat info;
      if (isName(name) && ::stat((path + "/" + name).c_str(), &info) == 0 && S_ISREG(info.st_mode))
        each({name, int64_t(info.st_size), int64_t(info.st_mtime)});
    });
  });
}

bool Directory::pruningIsDue() const {
  struct stat info;
  return ::stat((root + "/v1/pruned").c_str(), &info) != 0 ||
         info.st_mtime + hour < ::time(nullptr);
}

uint64_t Directory::prune(int64_t maxBytes) {
  FileDescriptor mark(::open((root + "/v1/pruned").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (mark.get() >= 0)
    ::futimens(mark.get(), nullptr);
  listDirectory(root + "/v1/tmp", [&](const char *name) {
    std::string path = root + "/v1/tmp/" + name;
    struct stat info;
    if (::stat(path.c_str(), &info) == 0 && info.st_mtime + hour < ::time(nullptr))
      ::unlink(path.c_str());
  });
  std::vector<File> files;
  int64_t total = 0;
  forEach([&](const File &file) {
    files.push_back(file);
    total += file.bytes;
  });
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) {
    return std::pair(a.seconds, a.name) < std::pair(b.seconds, b.name);
  });
  uint64_t removed = 0;
  for (const File &file : files) {
    if (total <= maxBytes)
      break;
    if (::unlink(pathOf(file.name).c_str()) == 0)
      ++removed;
    total -= file.bytes;
  }
  return removed;
}
